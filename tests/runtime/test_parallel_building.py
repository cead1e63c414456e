"""A parallel block in a graph that is being built, drawn, checked, and defined again."""

from __future__ import annotations

from typing import Any

import pytest
from parallel_world import agent_of, block_of, gives

import koogbook as kb
from koogbook.code_place import Cell, set_notebook
from koogbook.errors import ForeignNodeError, GraphError, RedefinitionError, StrategyCheckError
from koogbook.runtime.cells import cell_ended
from koogbook.runtime.parallel.merges import fold, select_by_max

ALL = fold([], lambda found, output: [*found, output])


class Cells:
    """A notebook whose cell is set by hand."""

    now: Cell | None = None

    def cell(self) -> Cell | None:
        """The cell that runs."""
        return self.now

    def file_name(self, path: str) -> str | None:
        """No code is in a cell."""
        return None

    def ran(self, cell: Cell, define: Any) -> None:
        """Run a cell that defines something."""
        self.now = cell
        try:
            define()
        finally:
            self.now = None
        cell_ended(cell, failed=False)


@pytest.fixture
def cells() -> Any:
    """A notebook."""
    made = Cells()
    set_notebook(made)
    yield made
    set_notebook(None)


# ------------------------------------------------------------------------------------------- as a graph


def test_a_block_is_a_graph_of_start_branches_and_merge() -> None:
    """Its edges follow from the branches [GRA-08]."""
    trip, block = block_of(ALL, {"museums": gives(1)})
    block.subgraph("parks")
    block.compress_history(name="pack")
    shape = trip.shape()
    own = ("trip/research", *(f"trip/research/{name}" for name in block.nodes))

    assert [(node.path, node.kind) for node in shape.nodes if node.path in own] == [
        ("trip/research", "parallel"),
        ("trip/research/start", "start"),
        ("trip/research/finish", "merge"),
        ("trip/research/museums", "node"),
        ("trip/research/parks", "subgraph"),
        ("trip/research/pack", "compress"),
    ]
    ends = [(edge.source, edge.target, edge.order) for edge in shape.edges if edge.source in own[1:]]
    assert ends == [
        ("trip/research/start", "trip/research/museums", 0),
        ("trip/research/start", "trip/research/parks", 1),
        ("trip/research/start", "trip/research/pack", 2),
        ("trip/research/museums", "trip/research/finish", 0),
        ("trip/research/parks", "trip/research/finish", 0),
        ("trip/research/pack", "trip/research/finish", 0),
    ]


def test_the_merge_says_what_it_is() -> None:
    """In the note of its node, as a drawing shows it [GRA-08]."""
    trip, _ = block_of(select_by_max(len), {"a": gives(1)})

    assert [node.note for node in trip.shape().nodes if node.kind == "merge"] == ["select_by_max(len)"]


def test_what_each_branch_takes_is_checked_and_what_it_gives_goes_into_the_merge() -> None:
    """The merge takes anything, the block gives what was declared [GRA-08]."""
    trip = kb.strategy("trip", input=str, output=list)
    block = trip.parallel("research", merge=ALL, input=str, output=list)

    @block.node
    async def counts(ctx: kb.Context, text: str) -> int:
        return len(text)

    trip.start >> block >> trip.finish
    assert trip.check() == ()
    assert [one.input_type for one in trip.shape().nodes if one.kind == "merge"] == ["Any"]

    @block.node
    async def wrong(ctx: kb.Context, number: int) -> int:
        return number

    assert [finding.path for finding in trip.check()] == ["trip/research/wrong"]


def test_a_block_without_branches_cannot_run() -> None:
    """The check says so, and what to write [GRA-08]."""
    trip, _ = block_of(ALL, {})

    with pytest.raises(StrategyCheckError, match=r"parallel block without a branch.*@research.node"):
        agent_of(trip)


@pytest.mark.parametrize(
    "add",
    [
        lambda block: block.edge("a", "b"),
        lambda block: block.nodes["a"] >> block.nodes["b"],
        lambda block: block.start >> block.nodes["a"],
        lambda block: block.edge("a", block.finish, when=bool),
    ],
)
def test_other_edges_are_refused(add: Any) -> None:
    """With what to write in place of them [GRA-08]."""
    trip, block = block_of(ALL, {"a": gives(1), "b": gives(2)})
    before = trip.shape().edges

    with pytest.raises(GraphError, match="put a subgraph in") as caught:
        add(block)
    assert "Nothing was changed" in str(caught.value)
    assert trip.shape().edges == before


def test_an_edge_from_outside_goes_to_the_block() -> None:
    """And not to a branch [GRA-08]."""
    trip, block = block_of(ALL, {"a": gives(1)})

    with pytest.raises(ForeignNodeError):
        trip.edge("before", block.nodes["a"])


def test_the_edges_of_a_block_cannot_be_taken_out() -> None:
    """The branch can [GRA-08]."""
    trip, block = block_of(ALL, {"a": gives(1), "b": gives(2)})

    with pytest.raises(GraphError, match=r"research.remove\('name'\)"):
        block.remove(block.edges[0])
    block.remove("a")

    assert [edge.target.name for edge in block.edges if edge.source is block.start] == ["b"]
    assert trip.changes == [
        "in trip/research: node a removed: checkpoints saved after trip/research/a can no longer be resumed"
    ]


def test_the_start_and_the_merge_stay() -> None:
    """They belong to every block [GRA-08]."""
    _, block = block_of(ALL, {"a": gives(1)})

    for name in ("start", "finish"):
        with pytest.raises(GraphError):
            block.remove(name)
        with pytest.raises(GraphError):
            block.node(name=name)(gives(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge": 3}, r"merge= takes kb.fold\(...\)"),
        ({"merge": ALL, "on_error": "ignore"}, "on_error of the parallel block 'research' is"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    """And no block is made [GRA-08]."""
    trip = kb.strategy("trip")

    with pytest.raises(GraphError, match=message):
        trip.parallel("research", **options)
    assert "research" not in trip.nodes


# ------------------------------------------------------------------------------------------- again


async def test_a_branch_that_is_defined_again_keeps_its_place() -> None:
    """In the results too [GRA-12]."""
    trip, block = block_of(ALL, {"a": gives(1), "b": gives(2)})
    block.node(name="a")(gives(9))

    assert (await agent_of(trip).run("x")).output == [9, 2]


async def test_a_block_that_is_asked_for_again_keeps_its_branches() -> None:
    """It has the merge that is given now, and that is told [GRA-12]."""
    trip, block = block_of(ALL, {"a": gives(1), "b": gives(2)})
    again = trip.parallel("research", merge=fold(0, max), on_error="collect")

    assert again is block
    assert (await agent_of(trip).run("x")).output == 2
    assert trip.changes == [
        "node research redefined (fold([], <lambda>) -> fold(0, max), on_error='cancel' -> on_error='collect')"
    ]


def test_the_same_merge_again_is_no_change() -> None:
    """A cell that is run again changes nothing [GRA-12]."""
    trip = kb.strategy("trip")
    for _ in range(2):
        block = trip.parallel("research", merge=lambda results: len(results))
        block.node(name="a")(gives(1))

    assert trip.changes == []


def test_another_function_of_the_same_name_is_a_change() -> None:
    """Though it looks the same [GRA-12]."""
    trip = kb.strategy("trip")
    trip.parallel("research", merge=lambda results: 1)
    trip.parallel("research", merge=lambda results: 2)

    assert trip.changes == ["node research redefined (its merge)"]


def test_a_subgraph_becomes_a_block_and_the_other_way_round() -> None:
    """Its nodes are gone, and that is told [GRA-12]."""
    trip = kb.strategy("trip")
    trip.subgraph("research")
    block = trip.parallel("research", merge=ALL)

    assert trip.nodes["research"].subgraph is block
    assert "subgraph -> parallel" in trip.changes[0]
    assert trip.subgraph("research") is not block


def test_without_redefinition_a_block_is_made_once() -> None:
    """With ``redefine=False`` [GRA-12]."""
    trip = kb.strategy("trip", redefine=False)
    trip.parallel("research", merge=ALL)

    with pytest.raises(RedefinitionError):
        trip.parallel("research", merge=ALL)


def test_a_cell_that_does_not_define_a_branch_any_more_withdraws_it(cells: Cells) -> None:
    """Its edges go with it, and the others stay in place [GRA-12a]."""
    trip = kb.strategy("trip")

    def define(*names: str) -> None:
        block = trip.parallel("research", merge=ALL)
        for name in names:
            block.node(name=name)(gives(name))

    cells.ran(Cell("c", 1, "cell 1"), lambda: define("a", "b", "c"))
    cells.ran(Cell("c", 2, "cell 2"), lambda: define("a", "c"))
    block = trip.nodes["research"].subgraph
    assert block is not None

    assert list(block.nodes) == ["start", "finish", "a", "c"]
    assert [(edge.source.name, edge.target.name) for edge in block.edges] == [
        ("start", "a"),
        ("a", "finish"),
        ("start", "c"),
        ("c", "finish"),
    ]
    assert {edge.cell for edge in block.edges} == {Cell("c", 2, "cell 2")}


def test_a_cell_that_does_not_define_a_block_any_more_withdraws_it(cells: Cells) -> None:
    """The merge, which nobody has defined, does not hold it [GRA-12a]."""
    trip = kb.strategy("trip")

    def define() -> None:
        trip.parallel("research", merge=ALL).node(name="a")(gives(1))

    cells.ran(Cell("c", 1, "cell 1"), define)
    cells.ran(Cell("c", 2, "cell 2"), lambda: trip.node(name="other")(gives(1)))

    assert list(trip.nodes) == ["start", "finish", "other"]


def test_a_block_stays_for_the_branch_of_another_cell(cells: Cells) -> None:
    """And loses only its own cell's branches [GRA-12a]."""
    trip = kb.strategy("trip")

    def define() -> None:
        trip.parallel("research", merge=ALL).node(name="a")(gives(1))

    cells.ran(Cell("one", 1, "cell 1"), define)
    block = trip.nodes["research"].subgraph
    assert block is not None
    cells.ran(Cell("two", 2, "cell 2"), lambda: block.node(name="b")(gives(2)))
    cells.ran(Cell("one", 3, "cell 3"), lambda: trip.node(name="other")(gives(1)))

    assert list(block.nodes) == ["start", "finish", "b"]
    assert trip.nodes["research"].subgraph is block
    cells.ran(Cell("two", 4, "cell 4"), lambda: trip.node(name="more")(gives(1)))
    assert "research" not in trip.nodes


async def test_a_run_in_progress_keeps_the_block_that_it_began_with() -> None:
    """Redefinition in the middle of it does not touch it [GRA-12a]."""
    trip, block = block_of(ALL, {})

    async def redefine(ctx: kb.Context, value: Any) -> str:
        trip.parallel("research", merge=fold(0, max))
        block.node(name="b")(gives(99))
        return "old"

    block.node(name="a")(redefine)
    block.node(name="b")(gives("old too"))

    assert (await agent_of(trip).run("x")).output == ["old", "old too"]
