"""Nodes and edges belong to the cell that has defined them, and go when it does not define them any more."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.code_place import Cell, calling_place, defining_cell, set_notebook
from koogbook.errors import ForeignNodeError, RedefinitionError, StrategyCheckError
from koogbook.runtime.builder import Strategy, Subgraph
from koogbook.runtime.cells import cell_ended, forget_cell
from koogbook.runtime.shape import EdgeShape


class Cells:
    """A notebook whose cells run when a test says so; ``cell 3`` is the third run of any of them."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.running: Cell | None = None
        self.names: dict[str, str] = {}
        self.seen: set[str] = set()

    def cell(self) -> Cell | None:
        """The cell that is running now."""
        return self.running

    def file_name(self, path: str) -> str | None:
        """The name of the cell whose code has this file name."""
        return self.names.get(path)

    @contextmanager
    def run(self, id: str) -> Iterator[Cell]:
        """Run a cell: the body of the block is its code."""
        number = next(self.numbers)
        self.running = cell = Cell(id, number, f"cell {number}")
        self.seen.add(id)
        try:
            yield cell
        except BaseException:
            cell_ended(cell, failed=True)
            raise
        else:
            cell_ended(cell, failed=False)
        finally:
            self.running = None

    @contextmanager
    def run_and_fail(self, id: str) -> Iterator[Cell]:
        """Run a cell that raises behind its last line."""
        with pytest.raises(ZeroDivisionError), self.run(id) as cell:
            yield cell
            raise ZeroDivisionError


@contextmanager
def notebook() -> Iterator[Cells]:
    """A fresh notebook."""
    cells = Cells()
    set_notebook(cells)
    try:
        yield cells
    finally:
        set_notebook(None)
        for id in cells.seen:
            forget_cell(id)


@pytest.fixture
def cells() -> Iterator[Cells]:
    """A fresh notebook."""
    with notebook() as made:
        yield made


def _adds(graph: Subgraph, name: str, text: str = "", **options: Any) -> Any:
    """A node that puts a text behind its input."""

    async def add(ctx: kb.Context, value: Any) -> Any:
        return f"{value}{text or name}"

    return graph.node(name=name, **options)(add)


def _trip(cells: Cells) -> Strategy:
    """A strategy that the cell ``make`` has made, with ``prepare`` and ``answer`` of the cell ``nodes``."""
    with cells.run("make"):
        trip = kb.strategy("trip")
    with cells.run("nodes"):
        _adds(trip, "prepare")
        _adds(trip, "answer")
    return trip


def _edges(graph: Subgraph) -> list[str]:
    return [repr(edge) for edge in graph.edges]


def _names(graph: Subgraph) -> list[str]:
    return list(graph.nodes)[2:]


def _agent(strategy: Strategy) -> kb.Agent:
    return kb.Agent(kb.OfflineExecutor(), "offline", strategy)


# ------------------------------------------------------------------------------------------- places


def _place_in_cell(path: str) -> str:
    """What a call in the third line of a cell's code takes for its place."""
    scope: dict[str, Any] = {"calling_place": calling_place}
    exec(compile("\n\nplace = calling_place()", path, "exec"), scope)
    return str(scope["place"])


def test_a_place_in_a_cell_is_its_name_and_line(cells: Cells) -> None:
    """Nobody knows the file name of a cell's code [NBK-03]."""
    cells.names["/tmp/run_1/2.py"] = "cell 3"

    assert _place_in_cell("/tmp/run_1/2.py") == "cell 3:3"


def test_a_place_in_a_file_is_its_name_and_line(cells: Cells) -> None:
    """Also where the code is called from a cell [NBK-03]."""
    assert _place_in_cell("/home/me/steps.py") == "steps.py:3"


def test_the_name_of_a_cell_is_the_one_of_its_last_run(cells: Cells) -> None:
    """The same code has the same file name when it runs again [NBK-03]."""
    before = _place_in_cell("/tmp/run_1/2.py")
    cells.names["/tmp/run_1/2.py"] = "cell 3"
    first = _place_in_cell("/tmp/run_1/2.py")
    cells.names["/tmp/run_1/2.py"] = "cell 8"
    second = _place_in_cell("/tmp/run_1/2.py")
    set_notebook(None)

    assert [before, first, second] == ["2.py:3", "cell 3:3", "cell 8:3"]
    assert _place_in_cell("/tmp/run_1/2.py") == "2.py:3"


def test_nothing_belongs_to_a_cell_outside_of_notebooks() -> None:
    """A definition that comes again replaces the one before, wherever it stands [GRA-12]."""
    trip = kb.strategy("trip")
    plan = _adds(trip, "plan", "1")
    edge = trip.start >> plan >> trip.finish
    _adds(trip, "plan", "2")

    assert (defining_cell(), plan.cell, trip.edges[0].cell, edge.cell) == (None, None, None, None)
    assert trip.changes == ["node plan redefined"]


# ------------------------------------------------------------------------------------------- ownership


@pytest.mark.parametrize(
    "define",
    [
        lambda trip: _adds(trip, "plan"),
        lambda trip: trip.compress_history(),
        lambda trip: trip.subgraph("part").as_node,
        lambda trip: trip.edge("prepare", "answer"),
        lambda trip: trip.edge("prepare", "answer").when(bool).map(str),
        lambda trip: (trip.nodes["prepare"] >> trip.nodes["answer"]) and trip.edges[-1],
    ],
    ids=["node", "compress", "subgraph", "edge", "when", "chain"],
)
def test_what_a_cell_defines_belongs_to_its_last_run(cells: Cells, define: Callable[[Strategy], Any]) -> None:
    """However it is defined [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a") as first:
        defined = define(trip).cell
    with cells.run("a") as second:
        again = define(trip).cell

    assert (defined, again) == (first, second)


def test_a_condition_that_another_cell_adds_leaves_the_edge_with_its_cell(cells: Cells) -> None:
    """The edge was defined where it was made [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a") as first:
        edge = trip.edge("prepare", "answer")
    with cells.run("b"):
        edge.when(bool)

    assert edge.cell == first


def test_a_condition_that_another_cell_adds_brings_no_older_edge_back(cells: Cells) -> None:
    """The cell that has run twice has one edge [KB-139]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer")
    with cells.run("a"):
        edge = trip.edge("prepare", "answer")
    with cells.run("b"):
        edge.when(bool)

    assert _edges(trip) == ["<edge prepare >> answer when bool>"]


# ------------------------------------------------------------------------------------------- run again


async def test_a_cell_that_runs_again_replaces_its_node(cells: Cells) -> None:
    """The new body runs, the edges stay, and one line says so [KB-139]."""
    trip = kb.strategy("trip")
    with cells.run("a"):
        plan = _adds(trip, "plan", "old")
    with cells.run("b"):
        trip.start >> plan >> trip.finish
    edges = _edges(trip)
    with cells.run("a"):
        again = _adds(trip, "plan", "new")

    assert (await _agent(trip).run("")).output == "new"
    assert again is plan
    assert _edges(trip) == edges
    assert trip.changes == ["node plan redefined"]


def test_a_cell_that_runs_again_unchanged_changes_nothing(cells: Cells) -> None:
    """Neither the order of the nodes nor that in which conditions are tried [NBK-03]."""
    trip = _trip(cells)

    def define() -> None:
        plan = _adds(trip, "plan")
        trip.edge("prepare", plan, when=lambda value: value > 5)
        trip.edge("prepare", plan, when=lambda value: value > 6)
        trip.start >> plan

    with cells.run("a"):
        define()
    with cells.run("b"):
        trip.edge("prepare", _adds(trip, "book"), label="other", when=bool)
    before = (list(trip.nodes.values()), _edges(trip))
    with cells.run("a"):
        define()

    assert (list(trip.nodes.values()), _edges(trip)) == before
    assert trip.changes == []


def test_an_edge_that_the_cell_does_not_define_any_more_is_withdrawn(cells: Cells) -> None:
    """And told [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer")
        trip.edge("prepare", "finish", when=bool, label="short")
    with cells.run("a") as cell:
        trip.edge("start", "prepare")

    assert _edges(trip) == ["<edge start >> prepare>"]
    assert trip.changes == [
        f"edge prepare >> answer withdrawn: {cell.name} does not define it any more",
        f"edge prepare >> finish when short withdrawn: {cell.name} does not define it any more",
    ]


def test_a_node_that_the_cell_does_not_define_any_more_is_withdrawn_with_its_edges(cells: Cells) -> None:
    """Edges of other cells as well; the change names them and the lost checkpoints [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
        trip.edge("start", "plan")
    with cells.run("b"):
        trip.edge("prepare", "plan")
        trip.edge("plan", "answer")
    with cells.run("a") as cell:
        pass

    assert _names(trip) == ["prepare", "answer"]
    assert trip.edges == []
    assert trip.changes == [
        f"edge start >> plan withdrawn: {cell.name} does not define it any more",
        f"node plan withdrawn: {cell.name} does not define it any more; prepare >> plan, plan >> answer went with "
        "it; checkpoints saved after trip/plan can no longer be resumed",
    ]


def test_a_node_that_was_given_another_name_leaves_no_second_one(cells: Cells) -> None:
    """Never two nodes of one definition [KB-139]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
    with cells.run("a"):
        _adds(trip, "plan_days")

    assert _names(trip) == ["prepare", "answer", "plan_days"]


def test_a_withdrawal_in_a_subgraph_is_told_by_the_strategy_too(cells: Cells) -> None:
    """With the path of the graph that it happened in [GRA-12a]."""
    trip = _trip(cells)
    part = trip.subgraph("part")
    with cells.run("a"):
        part.edge("start", "finish")
    with cells.run("a") as cell:
        pass

    assert part.edges == []
    assert trip.changes == [
        f"in trip/part: edge start >> finish withdrawn: {cell.name} does not define it any more"
    ]


def test_a_condition_that_was_edited_keeps_its_place_in_the_order(cells: Cells) -> None:
    """It is the edge from before in the eyes of who wrote it, though nothing else says so [NBK-03]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer", when=lambda value: value > 5)
    with cells.run("b"):
        trip.edge("prepare", "finish", when=bool)
    trip.take_untold_changes()
    with cells.run("a"):
        edited = trip.edge("prepare", "answer", when=lambda value: value > 6)

    assert trip.edges[0] is edited
    assert len(trip.edges) == 2
    assert trip.take_untold_changes() == ("edge prepare >> answer redefined",)


def test_an_edge_that_is_kept_takes_no_other_place(cells: Cells) -> None:
    """Only a new one may be the edited one [NBK-03]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer", when=lambda value: value > 5)
        trip.edge("prepare", "finish", when=bool)
        trip.edge("prepare", "answer", when=any)
    with cells.run("a") as cell:
        trip.edge("prepare", "finish", when=bool)
        trip.edge("prepare", "answer", when=any)

    assert _edges(trip) == ["<edge prepare >> finish when bool>", "<edge prepare >> answer when any>"]
    assert trip.changes == [
        f"edge prepare >> answer when condition withdrawn: {cell.name} does not define it any more"
    ]


def test_one_edited_condition_takes_the_place_of_one(cells: Cells) -> None:
    """The others are withdrawn [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer", when=lambda value: value > 5)
        trip.edge("prepare", "answer", when=lambda value: value > 6)
    with cells.run("a") as cell:
        trip.edge("prepare", "answer", when=lambda value: value > 7)

    assert _edges(trip) == ["<edge prepare >> answer when condition>"]
    assert trip.changes == [
        "edge prepare >> answer redefined",
        f"edge prepare >> answer when condition withdrawn: {cell.name} does not define it any more",
    ]


def test_an_edge_with_another_label_is_another_edge(cells: Cells) -> None:
    """Its place is behind the ones that were there [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer", when=bool, label="long")
    with cells.run("b"):
        trip.edge("prepare", "finish", when=bool, label="short")
    with cells.run("a"):
        trip.edge("prepare", "answer", when=bool, label="late")

    assert _edges(trip) == ["<edge prepare >> finish when short>", "<edge prepare >> answer when late>"]


def test_what_belongs_to_no_cell_is_never_withdrawn(cells: Cells) -> None:
    """The front end gave no id when it was defined [GRA-12a]."""
    trip = kb.strategy("trip")
    _adds(trip, "plan")
    trip.edge("start", "plan")
    with cells.run("a"):
        trip.edge("plan", "finish")
    with cells.run("a"):
        pass

    assert _edges(trip) == ["<edge start >> plan>"]


# ------------------------------------------------------------------------------------------- in the middle of a cell


@pytest.mark.parametrize(
    "look",
    [lambda trip: trip.shape(), lambda trip: trip.check(), lambda trip: trip.to_mermaid()],
    ids=["shape", "check", "mermaid"],
)
def test_who_looks_in_the_middle_of_a_cell_sees_nothing_stale(
    cells: Cells, look: Callable[[Any], Any]
) -> None:
    """The drawing under the cell is the graph that the cell makes [NBK-03]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer")
    with cells.run("a") as cell:
        look(trip)
        seen, told = _edges(trip), list(trip.changes)

    assert seen == []
    assert told == [f"edge prepare >> answer withdrawn: {cell.name} does not define it any more"]
    assert trip.changes == told


async def test_a_run_in_the_middle_of_a_cell_takes_no_stale_edge(cells: Cells) -> None:
    """The run says what was withdrawn, once [KB-139]."""
    trip = _trip(cells)
    with cells.run("b"):
        trip.edge("start", "prepare")
        trip.edge("answer", "finish")
    with cells.run("a"):
        trip.edge("prepare", "answer")
        agent = _agent(trip)
    with cells.run("a") as cell:
        trip.edge("prepare", "finish")
        run = await agent.run("")
    later = await agent.run("")

    assert run.output == "prepare"
    assert [getattr(event, "text", "") for event in run.events if "withdrawn" in str(event)] == [
        f"edge prepare >> answer withdrawn: {cell.name} does not define it any more"
    ]
    assert not any("withdrawn" in str(event) for event in later.events)


def test_a_look_withdraws_only_what_the_running_cell_has_defined(cells: Cells) -> None:
    """What other cells define stays, however long ago they ran [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer")
    with cells.run("b"):
        trip.check()

    assert _edges(trip) == ["<edge prepare >> answer>"]


def test_a_node_that_is_defined_behind_a_look_is_the_one_from_before(cells: Cells) -> None:
    """With its place and the edges of other cells, and nothing was changed [NBK-03]."""
    trip = _trip(cells)
    with cells.run("a"):
        plan = _adds(trip, "plan")
        trip.subgraph("part")
    with cells.run("b"):
        trip.edge("prepare", "plan")
        _adds(trip, "book")
    before = (list(trip.nodes.values()), _edges(trip))
    with cells.run("a"):
        assert "trip/plan" not in [node.path for node in trip.shape().nodes]
        again = _adds(trip, "plan")
        trip.check()
        trip.subgraph("part")

    assert again is plan
    assert (list(trip.nodes.values()), _edges(trip)) == before
    assert trip.changes == []


@pytest.mark.parametrize(
    "use",
    [
        lambda trip, part: trip.start >> part,
        lambda trip, part: part >> trip.finish,
        lambda trip, part: trip.edge("start", "plan"),
        lambda trip, part: _adds(part, "inner"),
        lambda trip, part: trip.remove("plan"),
    ],
    ids=["to subgraph", "from subgraph", "edge", "inner", "remove"],
)
def test_whatever_is_done_behind_a_look_is_done_to_the_whole_graph(cells: Cells, use: Any) -> None:
    """The cell may still define what it uses [NBK-03]."""
    trip = _trip(cells)
    with cells.run("b"):
        trip.edge("prepare", "answer")
    with cells.run("a"):
        _adds(trip, "plan")
        part = trip.subgraph("part")
    with cells.run("a"):
        trip.check()
        use(trip, part)
        _adds(trip, "plan")
        trip.subgraph("part")

    assert {"plan", "part"} <= set(trip.nodes)
    assert not any("withdrawn" in change for change in trip.changes)


def test_a_node_that_is_removed_behind_a_look_stays_removed(cells: Cells) -> None:
    """When the cell goes on to define what the look did not find [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
    with cells.run("a"):
        trip.check()
        trip.remove("prepare")
        _adds(trip, "plan")

    assert _names(trip) == ["answer", "plan"]


def test_an_edge_that_gets_its_condition_behind_a_look_replaces_no_other(cells: Cells) -> None:
    """It looked like the one of another cell until then [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("b"):
        trip.edge("prepare", "answer")
    with cells.run("a"):
        _adds(trip, "plan")
    with cells.run("a"):
        edge = trip.edge("prepare", "answer")
        trip.check()
        edge.when(bool)
        _adds(trip, "plan")

    assert _edges(trip) == ["<edge prepare >> answer>", "<edge prepare >> answer when bool>"]


def test_what_a_look_withdrew_is_gone_when_the_cell_has_ended(cells: Cells) -> None:
    """The next cell does not bring it back [KB-139]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
    with cells.run("a"):
        trip.check()
    with cells.run("b"):
        _adds(trip, "book")

    assert _names(trip) == ["prepare", "answer", "book"]


# ------------------------------------------------------------------------------------------- failed cells


@pytest.mark.parametrize("looks", [False, True], ids=["unseen", "looked at"])
def test_a_cell_that_failed_withdraws_nothing(cells: Cells, looks: bool) -> None:
    """What it did not reach stays [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
        trip.edge("prepare", "plan")
    with cells.run_and_fail("a") as failed:
        if looks:
            trip.check()

    assert _names(trip) == ["prepare", "answer", "plan"]
    assert _edges(trip) == ["<edge prepare >> plan>"]
    assert (trip.nodes["plan"].cell, trip.edges[0].cell) == (failed, failed)
    assert trip.changes == []


def test_what_a_failed_cell_did_not_reach_goes_when_the_cell_runs_again_without_it(cells: Cells) -> None:
    """And stays when it is defined again [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
        trip.edge("prepare", "answer")
    with cells.run_and_fail("a"):
        pass
    with cells.run("a"):
        trip.edge("prepare", "answer")

    assert _names(trip) == ["prepare", "answer"]
    assert _edges(trip) == ["<edge prepare >> answer>"]


def test_an_end_that_is_told_late_withdraws_nothing_newer(cells: Cells) -> None:
    """The numbers of the runs grow [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a") as first:
        pass
    with cells.run("a"):
        trip.edge("prepare", "answer")
    cell_ended(first, failed=False)

    assert _edges(trip) == ["<edge prepare >> answer>"]


# ------------------------------------------------------------------------------------------- two cells, one name


@pytest.mark.parametrize(
    ("define", "take_over"),
    [
        (lambda trip, **options: _adds(trip, "plan", "new", **options), "@trip.node(replace=True)"),
        (
            lambda trip, **options: trip.compress_history(name="plan", **options),
            "trip.compress_history(..., name='plan', replace=True)",
        ),
        (
            lambda trip, **options: trip.subgraph("plan", **options),
            "trip.subgraph('plan', ..., replace=True)",
        ),
    ],
    ids=["node", "compress", "subgraph"],
)
def test_a_node_of_another_cell_is_replaced_on_request_only(
    cells: Cells, define: Any, take_over: str
) -> None:
    """Otherwise the error names both cells, their places and the remedies, and changes nothing [KB-139]."""
    trip = _trip(cells)
    with cells.run("a") as first:
        plan = _adds(trip, "plan")
        function = plan.function
    with pytest.raises(RedefinitionError) as refused, cells.run("b") as second:
        define(trip)

    for words in (
        f"'trip/plan' is defined by {first.name} (test_cells.py:",
        f"and {second.name} (test_cells.py:",
        "Nothing was changed. Choose another name",
        f"run {first.name} again",
        "trip.remove('plan')",
        f"let {second.name} take it over with {take_over}",
    ):
        assert words in str(refused.value)
    assert (plan.function, plan.cell, trip.changes) == (function, first, [])

    with cells.run("b") as third:
        define(trip, replace=True)

    assert (trip.nodes["plan"], plan.cell) == (plan, third)


def test_a_conflict_names_the_lines_in_the_cells(cells: Cells) -> None:
    """A place in a cell is not told twice [KB-139]."""
    code = compile("@trip.node\nasync def plan(ctx, value): ...", "/tmp/run_1/2.py", "exec")
    trip = _trip(cells)
    with cells.run("a") as first:
        cells.names["/tmp/run_1/2.py"] = first.name
        exec(code, {"trip": trip})
    with pytest.raises(RedefinitionError) as refused, cells.run("b") as second:
        cells.names["/tmp/run_1/2.py"] = second.name
        exec(code, {"trip": trip})

    assert f"is defined by {first.name}:1, and {second.name}:1 defines it as well" in str(refused.value)


def test_a_node_that_was_taken_over_is_the_other_cells(cells: Cells) -> None:
    """The first cell, run again with its definition, is in conflict now [KB-139]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
    with cells.run("b"):
        _adds(trip, "plan", replace=True)
    with pytest.raises(RedefinitionError), cells.run("a"):
        _adds(trip, "plan")
    with cells.run("a"):
        pass

    assert "plan" in trip.nodes


@pytest.mark.parametrize("remedy", ["run again", "remove", "no cell"])
def test_a_name_that_the_other_cell_gave_up_is_free(cells: Cells, remedy: str) -> None:
    """Each remedy that the message names works [KB-139]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip, "plan")
    if remedy == "run again":
        with cells.run("a"):
            pass
    elif remedy == "remove":
        trip.remove("plan")
    else:
        _adds(trip, "plan")
    with cells.run("b") as cell:
        _adds(trip, "plan")

    assert trip.nodes["plan"].cell == cell


def test_a_node_that_another_cell_defines_now_goes_with_that_cell(cells: Cells) -> None:
    """Though that cell has defined nothing else in the strategy [GRA-12a]."""
    trip = kb.strategy("trip")
    _adds(trip, "plan")
    with cells.run("b"):
        _adds(trip, "plan")
    with cells.run("b"):
        pass

    assert "plan" not in trip.nodes


def test_redefine_false_refuses_replace_too(cells: Cells) -> None:
    """It was said of the whole strategy [GRA-12]."""
    trip = kb.strategy("trip", redefine=False)
    with cells.run("a"):
        _adds(trip, "plan")

    with pytest.raises(RedefinitionError, match="redefine=False"), cells.run("b"):
        _adds(trip, "plan", replace=True)


def test_an_edge_that_two_cells_define_moves_to_the_later_one(cells: Cells) -> None:
    """Both say the same; the first cell does not withdraw it [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer", when=bool)
        trip.edge("prepare", "finish", when=any)
    with cells.run("b") as second:
        trip.edge("prepare", "answer", when=bool)
    with cells.run("a"):
        trip.edge("prepare", "finish", when=any)

    assert _edges(trip) == ["<edge prepare >> answer when bool>", "<edge prepare >> finish when any>"]
    assert trip.edges[0].cell == second
    assert trip.changes == []


# ------------------------------------------------------------------------------------------- subgraphs


def test_a_subgraph_is_asked_for_in_other_cells(cells: Cells) -> None:
    """To put nodes in; it stays the cell's that has defined it [KB-139]."""
    trip = _trip(cells)
    with cells.run("a") as first:
        part = trip.subgraph("part")
        place = part.as_node.place
    with cells.run("b") as second:
        same = trip.subgraph("part")
        inner = _adds(same, "inner")
    with cells.run("b"):
        inner = _adds(part, "inner")

    assert same is part
    assert (part.as_node.cell, part.as_node.place) == (first, place)
    assert inner.cell is not None
    assert inner.cell.id == second.id
    assert trip.changes == []


def test_a_subgraph_that_belongs_to_no_cell_is_not_withdrawn_by_who_asks_for_it(cells: Cells) -> None:
    """It was there before [GRA-12a]."""
    trip = _trip(cells)
    trip.subgraph("part")
    with cells.run("a"):
        trip.subgraph("part")
    with cells.run("a"):
        pass

    assert "part" in trip.nodes


def test_a_subgraph_is_taken_over_with_its_nodes(cells: Cells) -> None:
    """``replace=True`` moves it to the cell [KB-139]."""
    trip = _trip(cells)
    with cells.run("a"):
        part = trip.subgraph("part")
        _adds(part, "inner")
    with cells.run("b") as cell:
        same = trip.subgraph("part", replace=True)

    assert same is part
    assert part.as_node.cell == cell
    assert _names(part) == ["inner"]


def test_a_subgraph_that_is_not_defined_any_more_is_withdrawn_as_a_whole(cells: Cells) -> None:
    """The change names the checkpoints inside of it [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        _adds(trip.subgraph("part"), "inner")
    with cells.run("a") as cell:
        pass

    assert _names(trip) == ["prepare", "answer"]
    assert trip.changes == [
        f"node part withdrawn: {cell.name} does not define it any more; "
        "checkpoints saved after or inside trip/part can no longer be resumed"
    ]


def test_a_subgraph_that_another_cell_has_put_nodes_in_stays_and_is_its_own(cells: Cells) -> None:
    """Nothing that another cell defines inside is lost; its end is the other cell's end [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        part = trip.subgraph("part")
        _adds(part, "mine")
    with cells.run("b") as second:
        _adds(part, "other")
    with cells.run("a"):
        pass

    assert _names(part) == ["other"]
    assert part.as_node.cell == second

    with cells.run("b"):
        pass

    assert "part" not in trip.nodes


def test_a_subgraph_that_is_defined_behind_a_look_takes_in_what_it_took(cells: Cells) -> None:
    """It and those inside it are the ones from before, by whichever variable [NBK-03]."""
    trip = _trip(cells)
    with cells.run("a"):
        part = trip.subgraph("part")
        deep = part.subgraph("deep")
        _adds(deep, "inner")
    with cells.run("a"):
        trip.check()
        assert "part" not in trip.nodes
        _adds(deep, "first")
        trip.check()
        same = trip.subgraph("part").subgraph("deep")
        _adds(same, "second")
        deep.edge("start", "second")

    assert same is deep
    assert part.as_node is trip.nodes["part"]
    assert _names(deep) == ["first", "second"]
    assert trip.nodes["part"].subgraph is part


def test_a_subgraph_that_was_withdrawn_takes_nothing_in_until_it_is_defined_again(cells: Cells) -> None:
    """What is put into the object from before would be nowhere [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        part = trip.subgraph("part")
        deep = part.subgraph("deep")
    with cells.run("a"):
        pass

    for graph in (part, deep):
        with pytest.raises(ForeignNodeError, match="'trip/part' was taken out of 'trip'"), cells.run("b"):
            _adds(graph, "inner")
    with cells.run("a"):
        part = trip.subgraph("part")
        _adds(part.subgraph("deep"), "inner")

    assert "trip/part/deep/inner" in [node.path for node in trip.shape().nodes]


def test_a_subgraph_that_the_cell_still_fills_stays(cells: Cells) -> None:
    """By a variable from before [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        part = trip.subgraph("part")
    with cells.run("a") as cell:
        _adds(part, "inner")

    assert part.as_node.cell == cell


# ------------------------------------------------------------------------------------------- deleted cells


def test_what_a_deleted_cell_has_defined_stays_and_is_nobodys(cells: Cells) -> None:
    """In subgraphs too; another cell may define it now [KB-139]."""
    trip = _trip(cells)
    with cells.run("a"):
        part = trip.subgraph("part")
        inner = _adds(part, "inner")
        trip.edge("prepare", "answer")
    forget_cell("a")

    assert (part.as_node.cell, inner.cell, trip.edges[0].cell) == (None, None, None)

    with cells.run("b") as cell:
        _adds(part, "inner", "new")
    with cells.run("a"):
        pass

    assert inner.cell == cell
    assert _edges(trip) == ["<edge prepare >> answer>"]


def test_a_cell_that_is_deleted_while_it_runs_withdraws_nothing(cells: Cells) -> None:
    """Nor what was withdrawn for a look at it [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        trip.edge("prepare", "answer")
    with cells.run("a"):
        trip.check()
        forget_cell("a")

    assert _edges(trip) == ["<edge prepare >> answer>"]


def test_a_cell_keeps_no_strategy_alive(cells: Cells) -> None:
    """A notebook that runs for days makes many [GRA-12a]."""
    gone = weakref.ref(_trip(cells))
    gc.collect()

    assert gone() is None


# ------------------------------------------------------------------------------------------- a strategy made again


def test_a_node_of_the_strategy_before_names_the_cell_to_run(cells: Cells) -> None:
    """The variable means the old object, though all names are equal [GRA-12a]."""
    with cells.run("make"):
        trip = kb.strategy("trip")
    with cells.run("a") as cell:
        plan = _adds(trip, "plan")
    with cells.run("make"):
        trip = kb.strategy("trip")

    with pytest.raises(ForeignNodeError) as refused, cells.run("b"):
        trip.start >> plan
    for words in (
        "'trip/plan' (defined at test_cells.py:",
        "does not belong to this 'trip': it is in another object of that name",
        "as when the cell that makes the strategy is run again",
        f"Run {cell.name} again, so that it joins this object",
    ):
        assert words in str(refused.value)

    with cells.run("a"):
        plan = _adds(trip, "plan")
    with cells.run("b"):
        trip.start >> plan

    assert _edges(trip) == ["<edge start >> plan>"]


def test_an_edge_from_the_strategy_before_names_the_cells_of_its_nodes(cells: Cells) -> None:
    """Not that of the newer object, which would only make yet another one [GRA-12a]."""
    with cells.run("make"):
        trip = kb.strategy("trip")
    with cells.run("a") as first:
        plan = _adds(trip, "plan")
    with cells.run("b") as second:
        _adds(trip, "book")
        _adds(trip, "pay")
    with cells.run("make") as made_again:
        trip = kb.strategy("trip")

    for late in (trip.finish, _adds(trip, "late")):
        with pytest.raises(ForeignNodeError) as refused, cells.run("c"):
            plan >> late
        told = str(refused.value)
        assert "does not belong to this 'trip', which is the object from before: it is in" in told
        assert f"join the newer one: {first.name} (plan), {second.name} (book, pay)." in told
        assert f"Run {made_again.name} again" not in told

    with cells.run("a"):
        plan = _adds(trip, "plan")
    with cells.run("c"):
        plan >> trip.finish

    assert _edges(trip) == ["<edge plan >> finish>"]


def test_a_node_of_a_subgraph_is_in_no_other_object(cells: Cells) -> None:
    """The message of a strategy that was made again is for that alone [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a"):
        inner = _adds(trip.subgraph("part"), "inner")

    with pytest.raises(ForeignNodeError, match=r"is inside 'trip/part'; edges join nodes of one graph\."):
        trip.start >> inner


def test_a_withdrawn_node_names_the_cell_to_run(cells: Cells) -> None:
    """A variable does not bring it back [GRA-12a]."""
    trip = _trip(cells)
    with cells.run("a") as cell:
        plan = _adds(trip, "plan")
    with cells.run("a"):
        pass

    with pytest.raises(ForeignNodeError, match=rf"was taken out of 'trip'\. Run {cell.name} again"):
        trip.start >> plan


async def test_a_strategy_that_was_made_again_stays_as_it_was(cells: Cells) -> None:
    """An agent that holds it runs it as ever, and says that there is a newer one [GRA-12a]."""

    def make() -> Strategy:
        trip = kb.strategy("trip")
        trip.start >> _adds(trip, "plan") >> trip.finish
        return trip

    with cells.run("a"):
        old = make()
    with cells.run("b"):
        agent = _agent(old)
        _adds(old, "beside")
    with cells.run("a") as cell:
        make()
        gc.collect()  # nobody holds the newer one
        assert not any(finding.level == "error" for finding in old.check())
    with cells.run("b"):
        run = await agent.run("")

    assert run.output == "plan"
    assert _names(old) == ["plan", "beside"]
    assert old.changes == [
        f"strategy trip made again by {cell.name}: this is the one from before, and stays as it was; run the cells "
        "that use it again"
    ]


def test_a_strategy_that_was_made_again_keeps_the_nodes_of_other_cells(cells: Cells) -> None:
    """They run again to fill the newer one, and are in both then [GRA-12a]."""
    with cells.run("make"):
        old = kb.strategy("trip")
    with cells.run("a"):
        _adds(old, "plan")
    with cells.run("make"):
        new = kb.strategy("trip")
    with cells.run("a"):
        _adds(new, "plan")

    assert (_names(old), _names(new)) == (["plan"], ["plan"])


def test_a_strategy_that_is_looked_at_before_it_is_made_again_stays_as_it_was(cells: Cells) -> None:
    """The look withdrew for a moment only [GRA-12a]."""
    with cells.run("a"):
        old = kb.strategy("trip")
        _adds(old, "plan")
    with cells.run("a"):
        old.check()
        kb.strategy("trip")

    assert _names(old) == ["plan"]


async def test_a_cell_that_only_fills_a_strategy_withdraws_from_it(cells: Cells) -> None:
    """The object stays, as with a magic that keeps it; there is no newer one [GRA-12a]."""
    with cells.run("a"):
        trip = kb.strategy("trip")
        trip.start >> _adds(trip, "plan") >> trip.finish
    with cells.run("a"):
        kb.strategy("other")
        trip.start >> _adds(trip, "book")

    assert _names(trip) == ["book"]
    with pytest.raises(StrategyCheckError):
        await _agent(trip).run("")


# ------------------------------------------------------------------------------------------- any sequence of cells

Definition = tuple[str, ...]


def _define(trip: Strategy, definition: Definition) -> None:
    kind, *names = definition
    if kind == "node":
        _adds(trip, *names)
    elif kind == "inner":
        _adds(trip.subgraph("part"), *names)
    else:
        source, target, label = names
        trip.edge(source, target, label=label, when=bool if label else None)


def _base() -> Strategy:
    """What all cells use, and none of them defines."""
    trip = kb.strategy("trip")
    for name in ("s", "t"):
        _adds(trip, name)
    trip.subgraph("part")
    return trip


def _run(cells: Cells, trip: Strategy, id: str, code: Iterable[Definition]) -> None:
    with cells.run(id):
        for definition in code:
            _define(trip, definition)


def _graph(trip: Strategy) -> tuple[list[str], list[EdgeShape]]:
    """Nodes and edges in their order, those of the subgraph included."""
    shape = trip.shape()
    return [node.path for node in shape.nodes], list(shape.edges)


def _pool(cell: str, *, shared: bool) -> list[Definition]:
    """What a cell may define; its own nodes come before the edges between them."""
    nodes = [f"{cell}0", f"{cell}1"]
    labels = ["", "x", "y"] if shared else [f"x of {cell}", f"y of {cell}"]
    ends = [(source, target) for source in ["s", "t", *nodes] for target in ["t", *nodes]]
    return [
        *(("node", name) for name in nodes),
        ("inner", f"{cell}2"),
        *(("edge", source, target, label) for label in labels for source, target in ends),
    ]


def _whole(code: list[Definition]) -> list[Definition]:
    """A code that can run: each own node that its edges name is defined before them."""
    named = {name for kind, *names in code if kind == "edge" for name in names[:2] if name not in ("s", "t")}
    nodes = sorted({("node", name) for name in named} | {one for one in code if one[0] == "node"})
    return [*nodes, *(one for one in code if one[0] != "node")]


def _codes(cell: str, *, shared: bool) -> st.SearchStrategy[list[Definition]]:
    pool = _pool(cell, shared=shared)
    picked = st.sets(st.integers(0, len(pool) - 1), max_size=6)
    return picked.map(lambda places: _whole([pool[place] for place in sorted(places)]))


@given(
    codes=st.fixed_dictionaries({cell: _codes(cell, shared=True) for cell in "abc"}),
    sequence=st.lists(st.sampled_from("abc"), max_size=9),
)
def test_cells_run_in_any_sequence_leave_the_graph_of_each_run_once(
    codes: dict[str, list[Definition]], sequence: list[str]
) -> None:
    """In the order of their first runs, the order in which edges are tried included [NBK-03]."""
    with notebook() as cells:
        trip, once = _base(), _base()
        for cell in sequence:
            _run(cells, trip, cell, codes[cell])
        for cell in dict.fromkeys(sequence):
            _run(cells, once, f"{cell} once", codes[cell])

        assert _graph(trip) == _graph(once)
        assert trip.changes == []


@given(
    codes=st.fixed_dictionaries(
        {cell: st.lists(_codes(cell, shared=False), min_size=3, max_size=3) for cell in "ab"}
    ),
    sequence=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 8), st.booleans()), max_size=9
    ),
)
def test_cells_that_are_edited_leave_the_graph_of_their_last_versions(
    codes: dict[str, list[list[Definition]]], sequence: list[tuple[str, int, int, bool]]
) -> None:
    """However often they failed half-way or were looked at; what no version leaves out keeps its order [GRA-12a]."""
    with notebook() as cells:
        trip, once = _base(), _base()
        last: dict[str, list[Definition]] = {}  # in the order of the first runs
        for cell, version, stop, fails in sequence:
            code = codes[cell][version]
            if fails:
                with cells.run_and_fail(cell):
                    for definition in code[:stop]:
                        _define(trip, definition)
            else:
                with cells.run(cell):
                    for place, definition in enumerate(code):
                        if place == stop:
                            trip.check()
                        _define(trip, definition)
            last[cell] = code
        for cell, code in last.items():
            _run(cells, trip, cell, code)
            _run(cells, once, f"{cell} once", code)

        nodes, edges = _graph(trip)
        nodes_once, edges_once = _graph(once)
        assert sorted(nodes) == sorted(nodes_once)
        assert sorted(map(_unordered, edges)) == sorted(map(_unordered, edges_once))
        for cell in last:
            kept = {one[1:] for one in codes[cell][0] if all(one in code for code in codes[cell])}
            assert _of(kept, edges) == _of(kept, edges_once)


def _unordered(edge: EdgeShape) -> tuple[str, ...]:
    return (edge.source.rpartition("/")[2], edge.target.rpartition("/")[2], edge.label)


def _of(kept: set[Definition], edges: list[EdgeShape]) -> list[tuple[str, ...]]:
    """Some edges in the order in which they are tried, source by source."""
    return [found for found in map(_unordered, edges) if found in kept]


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (
            {},
            r"take it over with trip\.llm_request\(\.\.\., replace=True\), or give it a name of its own, name=",
        ),
        (
            {"name": "other"},
            r"take it over with replace=True in its call, or give it a name of its own, name=",
        ),
    ],
)
def test_a_ready_node_is_taken_over_by_its_own_method(
    cells: Cells, options: dict[str, Any], remedy: str
) -> None:
    """Not by the decorator of functions [GRA-12]."""
    trip = kb.strategy("trip")
    with cells.run("a"):
        trip.llm_request(**options)

    with pytest.raises(RedefinitionError, match=remedy), cells.run("b"):
        trip.llm_request(**options)
    with cells.run("b"):
        trip.llm_request(replace=True, **options)


def test_a_cell_that_runs_again_defines_nothing_twice(cells: Cells) -> None:
    """Also where its lines have moved; two definitions in one run are told until it runs without [GRA-12]."""
    trip = kb.strategy("trip")

    def kinds() -> list[str]:
        return [finding.kind for finding in trip.check() if finding.kind == "defined_twice"]

    with cells.run("a"):
        trip.llm_request()
    with cells.run("a"):
        trip.llm_request()
    assert kinds() == []
    with cells.run("a"):
        trip.llm_request()
        trip.llm_request()
    assert kinds() == ["defined_twice"]
    with cells.run("a"):
        trip.llm_request()
    assert kinds() == []
