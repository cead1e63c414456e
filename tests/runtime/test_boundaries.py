"""What comes into a graph and what leaves it is of the declared type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NewType, Protocol, TypedDict

import pytest
from case_names import without_address

import koogbook as kb
from koogbook import events
from koogbook.errors import BoundaryTypeError
from koogbook.runtime.builder import Strategy
from koogbook.runtime.checking.boundaries import acceptor
from koogbook.runtime.parallel.merges import fold
from koogbook.storage.memory_checkpoints import MemoryCheckpoints

Name = NewType("Name", str)


class HasText(Protocol):
    """Not to be asked at run time."""

    text: str


class Row(TypedDict):
    """A typed dictionary."""

    city: str


class Plan:
    """A class of the user."""


def _plan_again() -> type:
    """The class of the same name, as a cell that runs again makes it."""
    return type("Plan", (), {"__module__": Plan.__module__, "__qualname__": Plan.__qualname__})


def _agent(strategy: Strategy[Any, Any]) -> kb.Agent:
    return kb.Agent(kb.OfflineExecutor(), "offline", strategy)


def _gives(given: Any, /, **types: Any) -> Strategy[Any, Any]:
    trip = kb.strategy("trip", **types)

    @trip.node
    async def ask(ctx: Any, value: Any) -> Any:
        return given

    trip.start >> ask >> trip.finish
    return trip


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (str, "a"),
        (int, True),
        (float, 1),
        (None, None),
        (str | None, None),
        (str | int, 3),
        (list[int], ["not looked at"]),
        (dict[str, int], {}),
        (tuple[int, ...], ()),
        (Literal["a", 1], 1),
        (Annotated[str, "note"], "a"),
        (Plan, Plan()),
        (_plan_again(), Plan()),
        (Plan, _plan_again()()),
        (type[Plan], Plan),
    ],
    ids=without_address,
)
def test_what_is_of_the_type_goes_through(declared: Any, value: Any) -> None:
    """A whole number does for a real one, and a class that was defined again is the same class [GRA-11]."""
    accepts = acceptor(declared)

    assert accepts is not None
    assert accepts(value)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (str, None),
        (int, "1"),
        (int, 1.0),
        (str | None, 1),
        (list[int], (1,)),
        (Literal["a", 1], True),
        (Plan, object()),
        (None, 0),
    ],
    ids=without_address,
)
def test_what_is_of_another_type_does_not(declared: Any, value: Any) -> None:
    """Told from the class alone [GRA-01]."""
    accepts = acceptor(declared)

    assert accepts is not None
    assert not accepts(value)


@pytest.mark.parametrize(
    "declared",
    [Any, object, HasText, Row, Name, Sequence[int], Callable[[int], int], str | Row, "a name"],
    ids=without_address,
)
def test_what_cannot_be_told_is_not_asked(declared: Any) -> None:
    """A protocol, a typed dictionary, a new type; and a union with one of them [GRA-01]."""
    assert acceptor(declared) is None


async def test_an_output_of_another_type_names_the_edge_and_the_remedy() -> None:
    """The declared and the real type, the edge it came by, and ``map=`` [GRA-01]."""
    with pytest.raises(BoundaryTypeError) as caught:
        await _agent(_gives(3, input=str, output=str)).run("x")

    assert (caught.value.node, caught.value.value) == ("trip/finish", 3)
    text = str(caught.value)
    assert "trip/finish got int 3 by the edge ask >> finish, and strategy 'trip' gives str" in text
    assert "map=" in text
    assert "output=int" in text


async def test_an_input_of_another_type_stops_the_run_before_its_first_node() -> None:
    """Nothing behind the boundary has run [GRA-01]."""
    agent = _agent(_gives("y", input=str, output=str))
    with pytest.raises(
        BoundaryTypeError, match="The run was started with int 7, and strategy 'trip' takes str"
    ):
        await agent.run(7)

    assert agent.last_run is not None
    begun = [one.path for one in agent.last_run.events if isinstance(one, events.NodeStarting)]
    assert begun == ["trip/start"]


async def test_a_run_without_an_input_says_what_to_give() -> None:
    """``None`` is told as what it is: nothing was given [GRA-01]."""
    with pytest.raises(BoundaryTypeError, match=r"without an input.*takes str.*agent\.run\(\.\.\.\)"):
        await _agent(_gives("y", input=str, output=str)).run()


async def test_a_strategy_that_takes_nothing_runs_without_an_input() -> None:
    """``input=None``, an optional one, and one that is not declared [GRA-01]."""
    for types in ({"input": None}, {"input": str | None}, {}):
        assert (await _agent(_gives("y", **types)).run()).output == "y"


async def test_a_resumed_run_needs_no_input() -> None:
    """It goes on behind its start [PER-03]."""
    trip = kb.strategy("trip", input=str, output=str)
    fails = [True]

    @trip.node
    async def ask(ctx: Any, text: str) -> str:
        return text

    @trip.node
    async def answer(ctx: Any, text: str) -> str:
        if fails.pop():
            raise OSError("once")
        return f"{text}!"

    trip.start >> ask >> answer >> trip.finish
    agent = _agent(trip).install(kb.Persistence(storage=MemoryCheckpoints()))
    with pytest.raises(OSError, match="once"):
        await agent.run("x", session_id="s")
    fails.append(False)

    assert (await agent.run(None, session_id="s")).output == "x!"


async def test_a_subgraph_refuses_what_it_does_not_take() -> None:
    """The edge is the one that leads to it [GRA-01]."""
    trip = kb.strategy("trip", input=str, output=str)
    sub = trip.subgraph("sub", input=int, output=int)

    @trip.node
    async def ask(ctx: Any, value: Any) -> Any:
        return "no number"

    sub.start >> sub.finish
    trip.start >> ask
    trip.edge(ask, sub)
    trip.edge(sub, trip.finish, map=str)

    with pytest.raises(BoundaryTypeError, match="by the edge ask >> sub, and subgraph 'trip/sub' takes int"):
        await _agent(trip).run("x")


async def test_a_block_refuses_what_its_merge_must_not_give() -> None:
    """No edge leads there, so the merge is named [GRA-08]."""
    trip = kb.strategy("trip", input=int, output=str)
    block = trip.parallel("block", merge=fold(0, lambda total, one: total + one), input=int, output=str)

    @block.node
    async def one(ctx: Any, number: int) -> int:
        return number

    trip.start >> block >> trip.finish

    with pytest.raises(BoundaryTypeError, match="the block 'trip/block' gives str") as caught:
        await _agent(trip).run(2)
    assert "output=int" in str(caught.value)


async def test_ordinary_nodes_are_not_checked() -> None:
    """Between nodes the annotations are for the check of the graph and for type checkers [GRA-05]."""
    trip = kb.strategy("trip")

    @trip.node
    async def ask(ctx: Any, value: str) -> Any:
        return value

    trip.start >> ask >> trip.finish

    assert (await _agent(trip).run(5)).output == 5
