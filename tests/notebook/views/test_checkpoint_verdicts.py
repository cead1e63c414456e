from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import koogbook as kb
from koogbook.features.persistence.checkpoint import SCHEMA_VERSION
from koogbook.features.persistence.fingerprint import Difference, compare
from koogbook.notebook.views.checkpoint_view.judging import code_now, judge
from koogbook.notebook.views.look.markup import render_static
from koogbook.runtime.compiled import compile_strategy


def trip_strategy(price: Any = float) -> kb.Strategy:
    """``prepare``, then ``check_price``, which gives a price of this type."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def prepare(ctx: kb.Context, text: str) -> str:
        return text

    async def check_price(ctx: kb.Context, text: str) -> Any:
        return price()

    async def answer(ctx: kb.Context, given: Any) -> str:
        return str(given)

    check_price.__annotations__["return"] = price
    answer.__annotations__["given"] = price
    checked, answered = trip.node(check_price), trip.node(answer)
    trip.start >> prepare >> checked >> answered >> trip.finish
    return trip


@pytest.fixture
async def agent() -> kb.Agent:
    """It has run once, as ``chat-1``, with a price that is a float."""
    made = kb.Agent(kb.OfflineExecutor(), "offline", strategy=trip_strategy())
    made.install(kb.Persistence(storage=kb.MemoryCheckpoints()))
    await made.run("To Beijing", "chat-1")
    return made


def verdicts(
    agent: kb.Agent, strategy: kb.Strategy, change: Callable[[Any], Any] = lambda info: info
) -> list[Any]:
    """Those on all checkpoints of an agent against another strategy."""
    store = agent.feature("Persistence").storage
    infos = [change(info) for info in store.list_infos()]
    found = judge(compile_strategy(strategy), infos, store)
    return [found(info) for info in infos]


async def test_what_fits_can_be_resumed_and_a_tombstone_is_an_end(agent: kb.Agent) -> None:
    """The code is as it was. [NBK-08]"""
    assert [one.word for one in verdicts(agent, trip_strategy())] == ["resumable"] * 3 + ["ended"]


async def test_a_changed_output_concerns_the_node_itself_most(agent: kb.Agent) -> None:
    """After that node the run cannot go on; elsewhere it is to be known. [NBK-08]"""
    found = verdicts(agent, trip_strategy(int))

    assert [one.word for one in found] == ["with warning", "not resumable", "with warning", "ended"]


async def test_a_verdict_has_both_sides_of_what_differs(agent: kb.Agent) -> None:
    """Stored and now, exactly, and the same in words. [NBK-08]"""
    found = verdicts(agent, trip_strategy(int))[1]

    assert found.differences[0] == Difference("output of trip/check_price", "float", "int")
    assert found.reasons[0] == "output of trip/check_price: stored float, now int"


async def test_a_node_that_is_gone_is_said_once(agent: kb.Agent) -> None:
    """With the types that it had. [NBK-08]"""
    strategy = kb.strategy("trip", input=str, output=str)

    @strategy.node
    async def prepare(ctx: kb.Context, text: str) -> str:
        return text

    strategy.start >> prepare >> strategy.finish
    found = verdicts(agent, strategy)[1]
    assert found.word == "not resumable"
    assert [str(one) for one in found.differences] == [
        "node trip/check_price: is gone",
        "node trip/answer: is gone",
    ]
    assert found.differences[0].stored == "str -> float"


async def test_a_checkpoint_of_a_newer_form_cannot_be_resumed(agent: kb.Agent) -> None:
    """It is what a run would say, too. [NBK-08]"""
    newer = verdicts(agent, trip_strategy(), lambda info: replace(info, schema_version=SCHEMA_VERSION + 1))

    assert newer[0].word == "not resumable"
    assert newer[0].differences[0].what == "form of the checkpoint"


async def test_a_checkpoint_without_a_known_strategy_is_a_warning(agent: kb.Agent) -> None:
    """Nobody can say what has changed. [NBK-08]"""
    unknown = verdicts(agent, trip_strategy(), lambda info: replace(info, fingerprint="another"))

    assert (unknown[0].word, unknown[0].reasons) == (
        "with warning",
        ("the strategy it was saved under is not known",),
    )


async def test_what_was_left_out_is_a_warning(agent: kb.Agent) -> None:
    """The run goes on without it. [NBK-08]"""
    left_out = verdicts(agent, trip_strategy(), lambda info: replace(info, left_out=("browser",)))

    assert [one.word for one in left_out] == ["with warning"] * 3 + ["ended"]


def test_a_difference_reads_as_a_sentence() -> None:
    """Changed, gone, new, and what has no sides. [NBK-08]"""
    both, gone = Difference("input", "str", "int"), Difference("node a", stored="str -> str")
    new, plain = Difference("node b", now="str -> str"), Difference("it is damaged")

    assert [str(one) for one in (both, gone, new, plain)] == [
        "input: stored str, now int",
        "node a: is gone",
        "node b: is new",
        "it is damaged",
    ]


def test_damaged_bytes_of_a_strategy_are_one_difference() -> None:
    """A store that is damaged must still be shown. [NBK-08]"""
    found = compare(b"{]", compile_strategy(trip_strategy()), "trip/prepare")

    assert found.level == "incompatible"
    assert found.differences[0].startswith("the stored description of the strategy is damaged")


# ------------------------------------------------------------------------------------------- no code to check


async def test_a_strategy_that_cannot_run_leaves_the_verdicts_out_and_says_what_to_do(
    agent: kb.Agent,
) -> None:
    """A view never breaks because of the code that it looks at. [NBK-08]"""
    strategy: Any = agent.strategy
    strategy.remove("answer")
    view = kb.checkpoints(agent)

    assert view.state.sentence == "4 checkpoints, not checked"
    assert "strategy 'trip' cannot run now: trip" in view.state.not_checked
    assert "To do: Add an edge: NODE >> finish (1 more in strategy.check())" in " ".join(str(view).split())
    assert "press Refresh" in render_static(view.element)


async def test_the_verdicts_come_back_when_the_strategy_can_run_again(agent: kb.Agent) -> None:
    """Each look is at the code as it is. [NBK-08]"""
    strategy: Any = agent.strategy
    strategy.remove("answer")
    view = kb.checkpoints(agent)
    assert {row.word for row in view.state.rows if hasattr(row, "id")} == {"not checked", "ended"}

    strategy.edge("check_price", strategy.finish, map=str)
    view.refresh()

    assert view.state.sentence == "4 checkpoints: 2 with warning, 1 not resumable, 1 ended"


async def test_a_store_alone_has_no_code_to_check_against(agent: kb.Agent) -> None:
    """Nothing is wrong then, and nothing is claimed. [NBK-08]"""
    state = kb.checkpoints(agent.feature("Persistence").storage).state

    assert state.sentence == "4 checkpoints: 1 ended, 3 not checked"
    assert state.not_checked == ""
    assert code_now(None).why_not == ""
