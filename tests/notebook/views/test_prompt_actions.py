"""What can be done in a prompt view, and how it follows a run that goes on."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from typing import Any

import pytest
from prompt_stories import Changes, FeatureOf, asking, story

import koogbook as kb
from koogbook.agents.run import Run
from koogbook.errors import ExecutorError, ViewError
from koogbook.llm.layers import layer_tag
from koogbook.llm.request import Request
from koogbook.notebook.views.look.markup import live_tree
from koogbook.notebook.views.prompt_view.model import CutRow, MessageRow
from koogbook.notebook.views.prompt_view.prompt import PromptView, prompt
from koogbook.notebook.widgets.patch import changes


@pytest.fixture(scope="module")
def run() -> Run:
    """A run of five calls with everything in it."""
    return story()


@pytest.fixture
def view(run: Run) -> PromptView:
    """Its fourth call, with nothing selected."""
    made = prompt(run, call=4)
    made.select("")
    return made


def long() -> PromptView:
    """A history of 2,000 messages."""
    return prompt([kb.user(f"message {number}", id=f"m{number}") for number in range(2_000)])


def positions(view: PromptView) -> list[int]:
    """The messages that have a row of their own."""
    return [row.position for row in view.state.rows if isinstance(row, MessageRow)]


# ------------------------------------------------------------------------------------------- selection


def test_a_message_is_selected_and_let_go_of(view: PromptView) -> None:
    """It is an object in Python. [NBK-07]"""
    view.act("select", "57")
    first = view.selected
    view.act("select", "57")

    assert first is not None
    assert (first.call, first.position, first.layer, first.message.id) == (4, 57, "memory", "fact")
    assert view.selected is None


def test_all_views_of_a_run_have_one_selection_for_each_call(run: Run, view: PromptView) -> None:
    """One call's is not lost by what is selected in another. [NBK-11]"""
    twin, other = prompt(run, call=4), prompt(run, call=2)
    view.act("select", "3")
    other.act("select", "9")
    shown = [None if one.selected is None else one.selected.position for one in (view, twin, other)]
    twin.act("back")

    assert (shown, view.selected) == ([3, 3, 9], None)
    assert other.selected is not None


def test_the_next_new_message_is_found_around_the_end(run: Run) -> None:
    """From the selected one on. [NBK-07]"""
    view = prompt(run, call=5)
    view.select("")
    found = []
    for _ in range(3):
        view.act("new")
        assert view.selected is not None
        found.append(view.selected.position)

    assert found == [60, 61, 60]


@pytest.mark.parametrize(
    ("call", "why"), [(1, "first call of its purpose"), (3, "first call of its purpose")]
)
def test_where_nothing_is_new_it_is_said_why(run: Run, call: int, why: str) -> None:
    """There is nothing before it to compare with. [NBK-07]"""
    with pytest.raises(ViewError, match=why):
        prompt(run, call=call).act("new")


@pytest.mark.parametrize("value", ["61", "-1", "x", "", "9" * 40])
def test_a_message_that_is_not_there_is_refused(view: PromptView, value: str) -> None:
    """The message names the range. [NBK-07]"""
    with pytest.raises(ViewError, match=r"in call 4\. There are 0 to 60\."):
        view.act("select", value)

    assert view.selected is None


# ------------------------------------------------------------------------------------------- layers


def test_a_layer_is_switched_off_and_on(view: PromptView) -> None:
    """Its messages go, and come back. [NBK-07]"""
    before = view.state
    view.act("switch", "history")
    off = view.state
    view.act("switch", "history")

    assert (off.off, off.left) == (("history",), before.left - 2783)
    assert positions(view) == [row.position for row in before.rows if isinstance(row, MessageRow)]
    assert view.state == before


def test_only_one_layer_and_all_of_them(view: PromptView) -> None:
    """In one click each. [NBK-07]"""
    view.act("only", "memory")
    alone = positions(view)
    view.act("all")

    assert (alone, view.state.off) == ([2, 57], ())


def test_what_is_off_stays_off_in_other_calls(view: PromptView) -> None:
    """So that calls can be compared. [NBK-07]"""
    view.act("switch", "tools")
    view.act("call", "2")

    assert view.state.off == ("tools",)


@pytest.mark.parametrize("name", ["memroy", "Memory"])
def test_an_unknown_layer_is_refused_with_the_nearest_name(run: Run, view: PromptView, name: str) -> None:
    """In a click, and from Python. [NBK-07]"""
    with pytest.raises(ViewError, match="Did you mean 'memory'"):
        view.act("switch", name)
    with pytest.raises(ViewError, match=r"It has: system, tools, history, memory"):
        prompt(run, call=4, off=[name])


def test_a_layer_of_another_call_can_be_off(run: Run) -> None:
    """A call need not have each. [NBK-07]"""
    assert prompt(run, call=3, off=["added by Guide", "file memory"]).state.off == ()


# ------------------------------------------------------------------------------------------- calls and pages


def test_calls_are_stepped_through(view: PromptView) -> None:
    """Earlier, later, by number, and the last one. [NBK-07]"""
    shown = []
    for value in ("earlier", "1", "later", "last"):
        view.act("call", value)
        shown.append(view.record.number)

    assert shown == [3, 1, 2, 5]


@pytest.mark.parametrize("value", ["0", "6", "x", "later", "9" * 30])
def test_a_call_that_is_not_there_is_refused(run: Run, value: str) -> None:
    """The message names the range; the view shows what it showed. [NBK-07]"""
    view = prompt(run)
    with pytest.raises(ViewError, match="There are 1 to 5"):
        view.act("call", value)

    assert view.record.number == 5


def test_a_history_has_no_calls() -> None:
    """That is said. [NBK-07]"""
    with pytest.raises(ViewError, match=r"kb\.prompt\(run, call=1\)"):
        prompt([kb.user("x")]).act("call", "1")


def test_a_long_request_is_paged(run: Run) -> None:
    """First the start and the end, then a hundred at a time. [NBK-07]"""
    view = long()
    (cut,) = [row for row in view.state.rows if isinstance(row, CutRow)]
    ends = positions(view)
    view.act("page", str(cut.page))
    first = positions(view)
    view.act("page", "later")

    assert (len(ends) + cut.messages, ends[0], ends[-1]) == (2_000, 0, 1_999)
    assert (first, positions(view)) == (list(range(100)), list(range(100, 200)))
    assert view.state.page.words == "messages 100 to 199"
    assert len(view.to_html()) < 300_000


def test_a_selection_turns_to_its_page() -> None:
    """What is selected is seen. [NBK-07]"""
    view = long()
    view.act("select", "1234")
    there = view.state.page.number
    view.act("select", "3")

    assert (there, view.state.page.number, 3 in positions(view)) == (13, 1, True)


@pytest.mark.parametrize(
    ("value", "why"), [("21", "There are 1 to 20"), ("earlier", "There are 1 to 20"), ("x", "1 to")]
)
def test_a_page_that_is_not_there_is_refused(value: str, why: str) -> None:
    """The message names the range. [NBK-07]"""
    with pytest.raises(ViewError, match=why):
        long().act("page", value)


def test_a_short_request_has_one_page(view: PromptView) -> None:
    """That is said. [NBK-07]"""
    with pytest.raises(ViewError, match="it has one page"):
        view.act("page", "1")


def test_fewer_rows_have_fewer_pages(view: PromptView) -> None:
    """A page that is gone is not shown. [NBK-07]"""
    of = [kb.system("rules"), *(kb.user(str(number), id=str(number)) for number in range(500))]
    paged = prompt(of)
    paged.act("page", "6")
    paged.act("switch", "history")

    assert (paged.state.page.count, len(paged.state.rows)) == (0, 2)


def test_the_last_page_is_shown_where_there_is_none_so_late_any_more() -> None:
    """A layer that is switched off may take several pages away. [NBK-07]"""
    found = [kb.user(str(number), id=f"r{number}", metadata=layer_tag("retrieval")) for number in range(300)]
    paged = prompt([*(kb.user(str(number), id=str(number)) for number in range(250)), *found])
    paged.act("page", "6")
    paged.act("switch", "retrieval")

    assert (paged.state.page.number, paged.state.page.count) == (3, 3)


def test_a_click_sends_little() -> None:
    """What is sent does not grow with what is shown. [NBK-07]"""
    view = long()
    before = live_tree(view.live_element(view.element))
    view.act("select", "3")
    after = live_tree(view.live_element(view.element))

    assert len(json.dumps(changes(before, after))) < 6_000


def test_every_action_has_a_word_and_an_unknown_one_is_refused(view: PromptView) -> None:
    """With the nearest one. [NBK-07]"""
    assert sorted(view.actions()) == ["all", "back", "call", "new", "only", "page", "select", "switch"]
    with pytest.raises(ViewError, match="Did you mean 'switch'"):
        view.act("swich", "memory")


# ------------------------------------------------------------------------------------------- what it takes


async def test_a_failed_run_is_shown_by_its_error() -> None:
    """``error.run`` has the call that failed. [NBK-07]"""
    agent = asking("x", executor=kb.OfflineExecutor(fail=True))
    with pytest.raises(ExecutorError) as raised:
        await agent.run("")
    view = prompt(raised.value.run)  # type: ignore[attr-defined]

    assert (view.state.call.state, view.state.answer.error[:13]) == ("failed", "ExecutorError")


async def test_a_run_that_asked_no_model_is_told_what_to_do() -> None:
    """There is a line to write. [NBK-07]"""
    run = await asking().run("", session_id="chat-9")
    with pytest.raises(ViewError, match=r"'chat-9' has asked no model, so .* await session\.request"):
        prompt(run)


@pytest.mark.parametrize("call", [0, 6, -1, True, "1", 1.0])
def test_a_call_out_of_range_is_refused(run: Run, call: Any) -> None:
    """The message names the range. [NBK-07]"""
    with pytest.raises(ViewError, match=r"has 5 calls and no .*: there are 1 to 5"):
        prompt(run, call=call)


@pytest.mark.parametrize("of", [None, 3, "a text", ["a text"], {"role": "user"}, object()])
def test_what_is_no_run_and_no_history_is_refused(of: Any) -> None:
    """Nothing is shown. [NBK-07]"""
    with pytest.raises(TypeError, match=r"prompt takes a run, or a history.*Nothing is shown"):
        prompt(of)


def test_a_call_of_a_history_is_refused() -> None:
    """It is one of a run's. [NBK-07]"""
    with pytest.raises(TypeError, match=r"kb\.prompt\(run, call=1\)"):
        prompt([kb.user("x")], call=1)


# ------------------------------------------------------------------------------------------- live


async def test_it_follows_a_run_that_goes_on() -> None:
    """A new call appears; one that a reader turned to stays. [NBK-07] [NBK-11]"""
    gate, asked = asyncio.Event(), asyncio.Event()

    async def answer(request: Request) -> str:
        if len(request.messages) > 1:
            asked.set()
            await gate.wait()
        return "fine"

    agent = asking("a", "b", executor=kb.ScriptedExecutor(answer))
    task = asyncio.create_task(agent.run(""))
    await asked.wait()
    following, first = prompt(agent.last_run), prompt(agent.last_run, call=1)
    on_the_way = following.state.call
    gate.set()
    await task

    assert (on_the_way.number, on_the_way.state) == (2, "running")
    assert (following.goes_on, following.state.call.state, first.state.call.number) == (False, "done", 1)
    assert "on its way" not in str(following)


async def test_a_streamed_answer_is_seen_as_it_comes() -> None:
    """The text so far stands where the answer will be. [NBK-07] [EXE-05]"""
    trip = kb.strategy("trip", input=str, output=str)
    seen: list[str] = []

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            async with session.request_streaming() as stream:
                seen.extend([prompt(agent.last_run).state.answer.text async for _ in stream])
        return "x"

    trip.start >> ask >> trip.finish
    agent = kb.Agent(kb.ScriptedExecutor(["one two three"]), "offline", trip)
    view = prompt(await agent.run("count"))

    assert seen[0]
    assert "one two three".startswith(seen[0])
    assert (view.state.call.streamed, view.state.answer.text) == (True, "one two three")
    assert "answered in frames in" in str(view)


async def test_a_cancelled_call_says_so() -> None:
    """It neither failed nor was answered. [NBK-07]"""
    asked = asyncio.Event()

    async def answer(request: Request) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    agent = asking("a", executor=kb.ScriptedExecutor(answer))
    task = asyncio.create_task(agent.run(""))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert prompt(agent.last_run).state.call.state == "stopped"
    assert "cancelled after" in str(prompt(agent.last_run))


async def test_nothing_holds_a_view_that_is_closed() -> None:
    """Nor the run that it was of. [NBK-11]"""
    run = (
        await asking("x")
        .install(FeatureOf("Notes", Changes(lambda messages: [*messages, kb.user("n")])))
        .run("")
    )
    view = prompt(run)
    _ = (str(view), view.to_html())
    view.close()
    gone = weakref.ref(view), weakref.ref(run)
    del view, run
    gc.collect()

    assert [one() for one in gone] == [None, None]
