from __future__ import annotations

from typing import Any

import pytest
from checkpoint_runs import CountingCheckpoints, answer_with_a_number, ids, live
from msgspec.structs import replace

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.notebook.views.checkpoint_view.checkpoints import CheckpointView
from koogbook.notebook.views.look.markup import render, render_static

# ------------------------------------------------------------------------------------------- selecting


async def test_what_is_selected_is_the_checkpoint_itself(view: CheckpointView) -> None:
    """The picture navigates, Python has the object. [NBK-08]"""
    view.act("select", ids(view)[1])

    assert isinstance(view.selected, kb.CheckpointInfo)
    assert (view.selected.id, view.selected.path) == (ids(view)[1], "trip/answer")


async def test_a_second_click_and_escape_let_go_of_it(view: CheckpointView) -> None:
    """As everywhere. [NBK-08]"""
    first = ids(view)[0]
    view.act("select", first)
    view.act("select", first)
    assert view.selected is None

    view.act("select", first)
    view.act("back")
    assert view.selected is None


async def test_the_id_may_be_cut_short(view: CheckpointView) -> None:
    """As the text form prints it. [NBK-08]"""
    view.select(ids(view)[2][:8])

    assert view.info().id == ids(view)[2]


@pytest.mark.parametrize("given", ["nothing", "[", '["chat-1", "nothing"]', '["chat-1"]', "[1, 2]"])
async def test_an_id_that_is_not_there_is_one_clear_error(view: CheckpointView, given: str) -> None:
    """And what was selected stays. [NBK-08]"""
    view.select(ids(view)[0])

    with pytest.raises(ViewError, match="There is no checkpoint"):
        view.act("select", given)
    assert view.info().id == ids(view)[0]


async def test_a_wrong_id_is_told_the_nearest_one(view: CheckpointView) -> None:
    """A slip of the finger has one clear answer. [NBK-08]"""
    right = ids(view)[0]
    with pytest.raises(ViewError, match=f"Did you mean {right}"):
        view.select("z" + right[1:])


async def named(store: CountingCheckpoints, view: CheckpointView, id: str, session: str) -> None:
    """Save one under this id as the first of this session."""
    whole = await view.checkpoint(ids(view)[0])
    info = replace(whole.info, id=id, session_id=session, version=0, parent=None)
    await store.save_checkpoint(session, replace(whole, info=info))


async def test_a_beginning_of_several_ids_names_them(
    view: CheckpointView, store: CountingCheckpoints
) -> None:
    """Nobody guesses which one was meant. [NBK-08]"""
    await named(store, view, "zz-1", "one")
    await named(store, view, "zz-2", "two")

    with pytest.raises(ViewError, match=r"2 checkpoints begin with 'zz': zz-1, zz-2. Give more of the id."):
        kb.checkpoints(store).select("zz")


async def test_an_id_of_two_sessions_needs_the_session_too(
    view: CheckpointView, store: CountingCheckpoints
) -> None:
    """The error gives the form that says both. [NBK-08]"""
    await named(store, view, "same", "one")
    await named(store, view, "same", "two")
    both = kb.checkpoints(store)

    with pytest.raises(ViewError, match="2 checkpoints have the id 'same', of the sessions 'one', 'two'"):
        both.select("same")
    both.select('["two", "same"]')
    assert both.info().session_id == "two"


async def test_an_id_of_any_characters_can_be_clicked(
    view: CheckpointView, store: CountingCheckpoints
) -> None:
    """What comes back from the front end is what was sent. [NBK-08]"""
    hostile = "</td>\u202e \ud83c \n[\"'"
    await named(store, view, hostile, hostile)
    table = kb.checkpoints(store, hostile)
    row = next(one for one in live(table) if one[0] == "tr" and one[1].get("data-do") == "select")
    table.act("select", row[1]["data-value"])

    assert table.info().id == hostile
    assert str(table).isascii()
    assert "</td>\\u202e" not in render(table.element)


async def test_all_tables_of_an_agent_have_one_selection(view: CheckpointView, agent: kb.Agent) -> None:
    """Also those of another session or another order. [NBK-08]"""
    other = kb.checkpoints(agent, sort="tokens")
    view.act("select", ids(view)[1])

    assert other.selected == view.selected
    assert [row.selected for row in other.state.rows if hasattr(row, "id")].count(True) == 1


async def test_the_panel_says_what_it_is_what_differs_and_what_one_can_do(view: CheckpointView) -> None:
    """With the magic and the Python line of each. [NBK-08]"""
    first = ids(view)[0]
    view.select(first)
    html = render_static(view.element)

    words = [
        f"{first} can be resumed with the code as it is now",
        "version           0, the newest is 2",
        f"%koog_fork {first} --session chat-1 --as chat-1-fork",
        f'await agent.fork("chat-1", "{first}", to="chat-1-fork")',
        "%%koog_run --session chat-1-fork --input None",
        'run = await agent.run(None, session_id="chat-1-fork")',
        f'await view.checkpoint("{first}")',
        f'await view.export("{first}", "checkpoint-{first}.json")',
    ]
    assert [word for word in words if word not in str(view)] == []
    assert "What you can do" in html


async def test_a_checkpoint_that_does_not_fit_shows_both_sides_and_the_last_one_that_fits(
    view: CheckpointView, agent: kb.Agent
) -> None:
    """The exact difference, and the way out. [NBK-08]"""
    answer_with_a_number(agent)
    first, second, _ = ids(view)
    view.select(second)
    selection = view.state.selection

    assert selection is not None
    assert [(one.what, one.stored, one.now) for one in selection.differences] == [
        ("output of trip/answer", "str", "int")
    ]
    assert (selection.fits or ("", ""))[1] == first
    assert "- stored  str" in str(view)
    assert "+ now     int" in str(view)


async def test_an_end_offers_no_fork_and_names_the_one_before(view: CheckpointView) -> None:
    """Nothing comes after it. [NBK-08]"""
    view.select(ids(view)[2])
    selection = view.state.selection

    assert selection is not None
    assert (selection.fork_to, (selection.fits or ("", ""))[1]) == ("", ids(view)[1])
    assert not [one for one in live(view) if one[1].get("data-do") == "fork"]


async def test_the_newest_checkpoint_says_that_its_own_session_can_go_on(agent: kb.Agent) -> None:
    """An interrupted run needs no fork. [NBK-08]"""
    trip: Any = agent.strategy

    @trip.node
    async def answer(ctx: kb.Context, text: str) -> str:
        raise RuntimeError("gone")

    trip.edge("prepare", answer)
    trip.edge(answer, trip.finish)
    with pytest.raises(RuntimeError, match="gone"):
        await agent.run("To Beijing", "chat-1")
    view = kb.checkpoints(agent, "chat-1")
    view.select(ids(view)[-1])

    assert 'run = await agent.run(None, session_id="chat-1")' in str(view)


async def test_a_selected_checkpoint_that_the_filter_hides_keeps_its_panel(view: CheckpointView) -> None:
    """And the panel says that its row is not there. [NBK-08]"""
    view.select(ids(view)[0])
    view.filter("node:answer")

    assert "its row is not on the page" in str(view)
    assert "Its row is not on the page" in render(view.element)
