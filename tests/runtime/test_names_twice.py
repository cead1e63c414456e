"""A name that two definitions of one run of the code take: one of them is nowhere, and that is told."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import MaxIterationsError, StrategyCheckError


async def step(ctx: kb.Context, value: Any) -> Any:
    """A node that passes its input on."""
    return value


def test_two_definitions_of_two_lines_are_told() -> None:
    """With both places, and what to do [GRA-12]."""
    trip = kb.strategy("trip")
    trip.node(name="ask")(step)
    trip.node(name="ask")(step)
    trip.start >> "ask" >> trip.finish
    (found,) = trip.check()

    assert (found.level, found.kind) == ("warning", "defined_twice")
    assert "trip/ask is defined twice, at test_names_twice.py:" in found.text
    assert found.text.endswith("; the second one is in force.")
    assert found.remedy == "Give one of them name=."


def _gives(value: Any) -> Any:
    async def look(ctx: kb.Context, text: Any) -> Any:
        return value

    return look


@pytest.mark.parametrize(
    "define",
    [
        lambda graph, city: graph.node(_gives(city)),
        lambda graph, city: graph.node(name="look")(step),
        lambda graph, city: graph.llm_request(name="look"),
    ],
    ids=["functions", "one function", "ready nodes"],
)
async def test_definitions_of_one_line_are_told(define: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a loop the last one counts: check(), every report and the errors of what comes of it say so [GRA-12]."""
    monkeypatch.delattr(sys, "ps1", raising=False)  # which a shell of another test has left
    trip = kb.strategy("trip")
    for city in ("Paris", "Rome"):
        node = define(trip, city)
    trip.start >> node >> trip.finish
    (found,) = trip.check()

    assert (found.level, found.kind, found.path) == ("warning", "defined_twice", "trip/look")
    assert "trip/look is defined more than once at test_names_twice.py:" in found.text
    assert found.text.endswith("; the last one is in force.")
    assert found.remedy == "Give each a name= of its own."
    for _ in range(2):
        run = await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("x")
        assert found.text in str(run.report())


async def test_what_comes_of_two_definitions_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circle, or two ways out of one node, may be two nodes that were meant to be [GRA-04, GRA-05]."""
    monkeypatch.delattr(sys, "ps1", raising=False)
    trip = kb.strategy("trip")
    first, second = (trip.node(name="ask")(step) for _ in range(2))
    trip.start >> first >> second >> trip.finish
    words = "trip/ask is defined more than once at test_names_twice.py:"

    with pytest.raises(StrategyCheckError, match=f"Note that {words}"):
        kb.Agent(kb.OfflineExecutor(), "offline", trip)
    trip.remove(trip.find_edge("ask", "finish"))
    trip.edge(first, "finish", when=lambda value: False)
    trip.remove(trip.find_edge("ask", "ask"))
    trip.edge(first, second)
    with pytest.raises(MaxIterationsError, match=words):
        await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("x")


@pytest.mark.parametrize("same", [True, False])
def test_in_a_shell_the_same_line_may_run_again(monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    """Where koogbook knows of no cells, one function at one place is no loop; another one is [GRA-12]."""
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    trip = kb.strategy("trip")
    for function in (_gives(1), _gives(1 if same else 2)):
        trip.node(function)

    assert [one.kind for one in trip.check() if one.kind == "defined_twice"] == ["defined_twice"] * (not same)


def test_what_is_typed_again_is_not_told() -> None:
    """In a shell all that is typed comes of one file without a name, and is there to be typed again [GRA-12]."""
    trip = kb.strategy("trip")
    for code in ("trip.node(step, name='a')", "\ntrip.node(step, name='a')"):
        exec(compile(code, "<stdin>", "exec"), {"trip": trip, "step": step})
    for code in ("trip.node(step, name='b')", "\ntrip.node(step, name='b')"):
        exec(compile(code, "one.py", "exec"), {"trip": trip, "step": step})

    assert [one.path for one in trip.check() if one.kind == "defined_twice"] == ["trip/b"]


def test_ready_nodes_branches_and_subgraphs_are_told_of_too() -> None:
    """Whatever takes a name that is taken [GRA-12]."""
    trip = kb.strategy("trip")
    block = trip.parallel("block", merge=kb.fold(0, lambda one, other: one))
    trip.llm_request()
    trip.llm_request()
    block.node(name="x")(step)
    block.node(name="x")(step)
    trip.node(name="part")(step)
    trip.subgraph("part")

    twice = {finding.path: finding.remedy for finding in trip.check() if finding.kind == "defined_twice"}
    assert twice == {
        "trip/llm_request": "Give one of them name=.",
        "trip/block/x": "Give one of them name=.",
        "trip/part": "Give one of them another name.",
    }


def test_what_is_meant_is_not_told() -> None:
    """A subgraph that is asked for again, and replace=True [GRA-12]."""
    trip = kb.strategy("trip")
    trip.subgraph("part")
    trip.subgraph("part")
    trip.node(name="b")(step)
    trip.node(name="b", replace=True)(step)

    assert "defined_twice" not in [finding.kind for finding in trip.check()]


def test_a_task_that_is_defined_twice_is_told_once() -> None:
    """As the subgraph that it is, and not as each of its nodes [GRA-12]."""
    trip = kb.strategy("trip")
    trip.subgraph_with_task("book a train", name="book", output=str)
    trip.subgraph_with_task("book a bus", name="book", output=str)

    assert [finding.path for finding in trip.check() if finding.kind == "defined_twice"] == ["trip/book"]
