from __future__ import annotations

import asyncio
from typing import Any

import pytest
from checkpoint_runs import CountingCheckpoints, answer_with_a_number, ids, live

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.notebook.views.checkpoint_view.checkpoints import CheckpointView
from koogbook.notebook.views.checkpoint_view.watching import WATCHED_EVERY
from koogbook.notebook.views.look.markup import render, render_static

# ------------------------------------------------------------------------------------------- choosing


async def test_a_head_sorts_up_then_down_then_back_to_the_tree(view: CheckpointView) -> None:
    """Three clicks. [NBK-08]"""
    tree = ids(view)
    orders = []
    for _ in range(3):
        view.act("sort", "version")
        orders.append((view.state.choice.sort, view.state.choice.descending, ids(view)))

    assert orders == [("version", False, tree), ("version", True, tree[::-1]), ("", False, tree)]


async def test_a_filter_that_cannot_be_read_leaves_the_table_as_it_was(view: CheckpointView) -> None:
    """While somebody types, half a condition is no reason to lose the rows. [NBK-08]"""
    view.act("filter", "node:answer")
    with pytest.raises(ViewError, match="takes a number"):
        view.act("filter", "node:answer tokens>")

    assert (view.state.choice.filter, len(ids(view))) == ("node:answer", 1)


async def test_a_filter_that_nothing_passes_says_so(view: CheckpointView) -> None:
    """An empty table is no answer. [NBK-08]"""
    view.filter("nowhere")

    assert view.state.sentence == "3 checkpoints: 2 resumable, 1 ended; 0 pass the filter"
    assert "No checkpoint passes the filter." in str(view)
    assert "No checkpoint passes the filter." in render_static(view.element)


async def test_pages_are_turned_by_words_and_numbers(agent: kb.Agent) -> None:
    """Each is a click and a Python call. [NBK-08]"""
    for number in range(45):
        await agent.run("again", f"chat-{number}")
    view = kb.checkpoints(agent, sort="time")
    seen = []
    for word in ("next", "next", "next", "previous", "last", "first", "2"):
        view.act("page", word)
        seen.append(view.state.pages.number)

    assert (view.state.pages.pages, seen) == (3, [2, 3, 3, 2, 3, 1, 2])
    assert "51 to 100 of 135" in str(view)
    with pytest.raises(ViewError, match="There is no page 4; the last one is 3"):
        view.turn_to(4)
    with pytest.raises(ViewError, match="first, previous, next, last"):
        view.act("page", "middle")


async def test_selecting_by_id_turns_to_its_page(agent: kb.Agent) -> None:
    """What is selected is seen. [NBK-08]"""
    for number in range(45):
        await agent.run("again", f"chat-{number}")
    view = kb.checkpoints(agent, sort="time")
    last = kb.checkpoints(agent, sort="time", descending=True).state.rows[0]
    view.select(last.id)  # type: ignore[union-attr]

    assert view.state.pages.number == 3


async def test_a_run_is_opened_and_folded_again(agent: kb.Agent) -> None:
    """Both by a click. [NBK-08]"""
    trip: Any = agent.strategy
    loops = trip.edge("prepare", "prepare", when=lambda ctx, text: ctx.iterations < 75, label="again")
    assert loops is not None
    agent.max_iterations = 200
    await agent.run("To Beijing", "chat-1")
    view = kb.checkpoints(agent, "chat-1")
    folded = len(view.state.rows)
    view.act("open", view.state.rows[0].key)
    opened = view.state.pages.rows
    view.act("fold")

    assert (folded, opened > 60, len(view.state.rows)) == (21, True, 21)


async def test_what_is_chosen_can_be_said_when_the_table_is_made(
    view: CheckpointView, agent: kb.Agent
) -> None:
    """Where there is no front end, nothing waits for a click. [NBK-08]"""
    first, second, _ = ids(view)
    made = kb.checkpoints(
        agent, "chat-1", filter="verdict:resumable", sort="version", descending=True, selected=first
    )

    assert ids(made) == [second, first]
    assert made.info().id == first
    assert "filter: verdict:resumable; sorted by version, largest first; 1 to 2 of 2" in str(made)
    with pytest.raises(ViewError, match="There is no page 2"):
        kb.checkpoints(agent, page=2)
    with pytest.raises(ViewError, match="cannot be sorted by 'size'"):
        kb.checkpoints(agent, sort="size")


async def test_every_click_of_the_live_form_is_an_action(view: CheckpointView) -> None:
    """A button that does nothing is worse than none. [NBK-08]"""
    view.select(ids(view)[0])
    found = {one[1]["data-do"] for one in live(view) if "data-do" in one[1]}

    assert found <= set(view.actions())
    assert {
        "select",
        "sort",
        "filter",
        "refresh",
        "back",
        "fork",
        "fork_to",
        "inspect",
        "diff",
        "export",
    } <= found


async def test_a_long_table_scrolls_under_its_head_where_it_is_live(agent: kb.Agent) -> None:
    """A click and the panel that it opens are in sight together; a page shows all rows. [NBK-08]"""
    for number in range(10):
        await agent.run("again", f"chat-{number}")
    view = kb.checkpoints(agent)
    boxes = [one for one in live(view) if one[1].get("class") == "kb-scroll"]

    assert ["max-height" in one[1].get("style", "") for one in boxes] == [True]
    assert "max-height" not in render_static(view.element) + render(view.element)


async def test_every_key_has_a_button(view: CheckpointView) -> None:
    """What is in the foot can be clicked, too. [NBK-08]"""
    view.select(ids(view)[0])

    assert {one[1]["data-key"] for one in live(view) if "data-key" in one[1]} == {
        "/",
        "Escape",
        "i",
        "d",
        "f",
    }


async def test_the_page_form_has_no_controls(view: CheckpointView) -> None:
    """Nothing is there that does nothing. [NBK-08]"""
    view.select(ids(view)[0])
    both = render(view.element) + render_static(view.element)

    assert [word for word in ("<button", "<input", "data-do", "kbd") if word in both] == []


async def test_a_session_that_is_not_there_is_told_the_nearest_ones(
    view: CheckpointView, agent: kb.Agent
) -> None:
    """An empty table is no answer. [NBK-08]"""
    await agent.run("again", "chat-2")
    missing = kb.checkpoints(agent, "chta-1")

    assert missing.state.sentence == (
        "no checkpoints of session 'chta-1'; of the 2 in the store the nearest is 'chat-1', then 'chat-2'"
    )
    assert "Nothing saved yet" not in str(missing) + render_static(missing.element)


async def test_a_session_of_an_empty_store_says_how_the_first_checkpoint_is_made(agent: kb.Agent) -> None:
    """There is nothing near it. [NBK-08]"""
    assert "after the first node of a run" in str(kb.checkpoints(agent, "chat-1"))


# ------------------------------------------------------------------------------------------- looking again


async def test_a_click_does_not_read_the_store_again(
    view: CheckpointView, store: CountingCheckpoints
) -> None:
    """A hundred thousand checkpoints take a second to list. [NBK-08]"""
    str(view)
    before = store.listed
    for do, value in (("sort", "tokens"), ("filter", "trip"), ("select", ids(view)[0]), ("back", "")):
        view.act(do, value)
        str(view)
    with pytest.raises(ViewError):
        view.act("filter", "x>1")
    view.refresh()  # what a live view does to show the trouble
    str(view)

    assert store.listed == before


async def test_refresh_reads_the_store_again(view: CheckpointView, agent: kb.Agent) -> None:
    """By its button, and in Python. [NBK-08]"""
    ids(view)
    await agent.fork("chat-1", ids(view)[0], to="one")
    view.act("refresh")
    assert len(ids(view)) == 4

    await agent.fork("chat-1", ids(view)[0], to="two")
    view.refresh()
    assert len(ids(view)) == 5


async def test_a_table_that_is_watched_follows_the_runs_of_its_agent(
    view: CheckpointView, agent: kb.Agent
) -> None:
    """A table above is never of before the run below. [NBK-08]"""
    ids(view)
    drawn: list[int] = []
    stop = view.watch(lambda: drawn.append(len(ids(view))))
    await agent.run("again", "chat-1")
    await asyncio.sleep(WATCHED_EVERY * 1.5)
    stop()
    await agent.run("and again", "chat-1")
    await asyncio.sleep(WATCHED_EVERY * 1.5)

    assert drawn == [6]


async def test_a_store_that_is_slow_to_list_is_read_again_when_somebody_asks(
    agent: kb.Agent, store: CountingCheckpoints
) -> None:
    """A kernel that stands still after every run would be worse than a table of before. [NBK-08]"""
    await agent.run("To Beijing", "chat-1")
    store.takes = 0.2
    view = kb.checkpoints(agent, "chat-1")
    ids(view)
    await agent.run("again", "chat-1")
    view.follow()
    assert view.state.sentence == "3 checkpoints: 2 resumable, 1 ended; a run has saved more since"

    view.act("refresh")
    assert view.state.sentence == "6 checkpoints: 4 resumable, 2 ended"


async def test_a_table_that_nobody_watches_is_not_kept(agent: kb.Agent) -> None:
    """A timer would hold it for ever. [NBK-08]"""
    import gc
    from weakref import ref

    made = kb.checkpoints(agent)
    gone = ref(made)
    made.watch(lambda: None)
    del made
    gc.collect()

    assert gone() is None


async def test_changed_code_is_seen_at_the_next_look(view: CheckpointView, agent: kb.Agent) -> None:
    """Which checkpoints a change concerns is what the head counts. [NBK-08]"""
    assert view.state.sentence == "3 checkpoints: 2 resumable, 1 ended"
    answer_with_a_number(agent)
    view.refresh()

    assert view.state.sentence == "3 checkpoints: 1 with warning, 1 not resumable, 1 ended"
