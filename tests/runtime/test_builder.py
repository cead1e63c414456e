"""Building a strategy node by node, and defining it again."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import ForeignNodeError, GraphError, RedefinitionError
from koogbook.runtime.builder import Strategy, Subgraph


async def step(ctx: kb.Context, value: int) -> int:
    """A node that hands its input on."""
    return value


class Callable:
    """A callable object as a node."""

    async def __call__(self, ctx: kb.Context, value: int) -> str:
        """A node's function."""
        return str(value)


def _line(*names: str) -> Strategy:
    line = kb.strategy("line")
    nodes = [line.node(name=name)(step) for name in names]
    for left, right in zip([line.start, *nodes], [*nodes, line.finish], strict=True):
        line.edge(left, right)
    return line


def _edges(graph: Subgraph) -> list[str]:
    return [repr(edge) for edge in graph.edges]


def test_a_chain_reads_as_it_runs() -> None:
    """``a >> b >> c`` [GRA-02]."""
    chain = kb.strategy("chain")
    a, b = chain.node(name="a")(step), chain.node(name="b")(step)
    chain.start >> a >> b >> chain.finish

    assert _edges(chain) == ["<edge start >> a>", "<edge a >> b>", "<edge b >> finish>"]


def test_a_node_takes_name_and_types_from_its_function() -> None:
    """Annotations are the contract [GRA-01]."""
    graph = kb.strategy("s")

    @graph.node
    async def shout(ctx: kb.Context, text: str) -> bytes:
        return text.encode()

    assert (shout.name, shout.input_type, shout.output_type) == ("shout", str, bytes)


def test_identity_is_the_path() -> None:
    """``strategy/subgraph/node``, to any depth [GRA-01]."""
    deep = kb.strategy("s").subgraph("a").subgraph("b").node(name="c")(step)

    assert deep.path == "s/a/b/c"


def test_names_are_unique_per_parent_only() -> None:
    """The same name elsewhere is another node [GRA-01]."""
    graph = kb.strategy("s")
    outer, inner = graph.node(name="x")(step), graph.subgraph("sub").node(name="x")(step)

    assert (outer.path, inner.path) == ("s/x", "s/sub/x")
    assert graph.changes == []


@pytest.mark.parametrize("name", ["", "a/b", "/", 5], ids=repr)
@pytest.mark.parametrize("what", ["strategy", "subgraph", "node", "compress"])
def test_a_slash_or_no_name_is_refused(name: Any, what: str) -> None:
    """It parts the steps of a path [GRA-01]."""
    graph = kb.strategy("s")
    make: Any = {
        "strategy": kb.strategy,
        "subgraph": graph.subgraph,
        "node": lambda name: graph._put(type(graph.start)(name, step, graph)),
        "compress": lambda name: graph.compress_history(name=name),
    }[what]

    with pytest.raises(GraphError, match="without '/'"):
        make(name)


@pytest.mark.parametrize("make", [kb.strategy, lambda name: kb.strategy("s").subgraph(name)])
def test_none_is_no_name(make: Any) -> None:
    """A variable that was never set names nothing [GRA-01]."""
    with pytest.raises(GraphError, match="got None"):
        make(None)


@pytest.mark.parametrize("name", ["start", "finish"])
def test_start_and_finish_are_taken(name: str) -> None:
    """Every graph has them [GRA-01]."""
    with pytest.raises(GraphError, match="every graph has"):
        kb.strategy("s").node(name=name)(step)


def _sync(ctx: Any, value: Any) -> Any:
    return value


async def _one(ctx: Any) -> None:
    """One argument."""


async def _three(ctx: Any, value: Any, more: Any) -> None:
    """Three arguments."""


async def _by_name(ctx: Any, *, value: Any) -> None:
    """An input that cannot be given by position."""


async def _unknown(ctx: Any, value: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
    """An annotation that is not there."""


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_sync, "async function"),
        (lambda ctx, value: value, "async function"),
        (_one, "takes 1 arguments"),
        (_three, "takes 3 arguments"),
        (_by_name, "by position"),
        (_unknown, "cannot be resolved"),
    ],
    ids=["sync", "lambda", "one", "three", "keyword", "annotation"],
)
def test_a_function_that_is_no_node_is_refused_when_it_is_defined(function: Any, words: str) -> None:
    """Async, of context and input; the message shows the form [GRA-01]."""
    with pytest.raises(GraphError, match=words):
        kb.strategy("s").node(name="x")(function)


@pytest.mark.parametrize(
    ("function", "output"), [(Callable(), str), (partial(step), int)], ids=["object", "partial"]
)
def test_a_callable_object_and_a_partial_are_nodes_with_their_types(function: Any, output: Any) -> None:
    """Whatever can be awaited with context and input [GRA-01]."""
    node = kb.strategy("s").node(name="x")(function)

    assert (node.input_type, node.output_type) == (int, output)


async def _plain(ctx: "Nowhere", value: int) -> str:  # type: ignore[name-defined]  # noqa: F821, UP037
    return str(value)


async def _closer(ctx: "Nowhere", value: list[int]) -> str | None:  # type: ignore[name-defined]  # noqa: F821, UP037
    return str(value)


@pytest.mark.parametrize(("function", "types"), [(_plain, (int, str)), (_closer, (list[int], str | None))])
def test_the_class_of_the_context_need_not_be_there(function: Any, types: Any) -> None:
    """It may be imported for type checking alone [GRA-01]."""
    node = kb.strategy("s").node(function)

    assert (node.input_type, node.output_type) == types


async def test_a_node_can_still_be_called() -> None:
    """To try it without a run [GRA-01]."""
    node = kb.strategy("s").node(step)

    assert await node(None, 5) == 5


# ------------------------------------------------------------------------------------------- edges


def test_an_edge_to_a_name_that_is_not_there_is_refused() -> None:
    """The message lists the names that are [GRA-05]."""
    with pytest.raises(GraphError, match="It has: start, finish, a, b"):
        _line("a", "b").edge("a", "c")


@pytest.mark.parametrize("wrong", [None, 5, step], ids=["None", "number", "function"])
def test_an_edge_joins_nodes_only(wrong: Any) -> None:
    """A plain function was not decorated [GRA-05]."""
    with pytest.raises(GraphError, match=r"@line\.node"):
        _line("a").edge("a", wrong)


def test_the_finish_node_has_no_way_out() -> None:
    """It ends the graph [GRA-02]."""
    with pytest.raises(GraphError, match="no way out"):
        _line("a").edge("finish", "a")


def test_nothing_leads_back_to_the_start_node() -> None:
    """The message says to aim at the node after it [GRA-02]."""
    with pytest.raises(GraphError, match="back to the start"):
        _line("a").edge("a", "start")


@pytest.mark.parametrize("function", [lambda: True, lambda a, b, c: True, 5], ids=["none", "three", "number"])
@pytest.mark.parametrize("kind", ["when", "map"])
def test_a_condition_of_other_arguments_is_refused_when_it_is_defined(function: Any, kind: str) -> None:
    """One or two: the output, with or without the context [GRA-02]."""
    with pytest.raises(GraphError, match=rf"{kind}= takes a function"):
        _line("a").edge("a", "finish", **{kind: function})


def test_a_node_of_another_strategy_is_refused() -> None:
    """The message names where it was defined and what to do [GRA-12a]."""
    mine, other = _line("a"), _line("b")

    with pytest.raises(ForeignNodeError, match=r"line/b.*test_builder\.py:"):
        mine.nodes["a"] >> other.nodes["b"]


def test_a_node_of_a_strategy_that_was_made_again_is_refused() -> None:
    """The old variable means the old object, though all names are equal [GRA-12a]."""
    old, new = _line("a"), _line("a")

    with pytest.raises(ForeignNodeError, match="Run the cell"):
        new.edge(new.start, old.nodes["a"])


def test_an_edge_to_the_finish_of_a_strategy_that_was_made_again_is_refused() -> None:
    """The code of the old nodes has to run again, and not that of the new strategy [GRA-12a]."""
    old, new = _line("a", "b"), _line()
    place = old.nodes["a"].place

    with pytest.raises(ForeignNodeError) as refused:
        old.nodes["a"] >> new.finish
    assert "to this 'line', which is the object from before" in str(refused.value)
    assert f"so that they join the newer one: {place} (a, b). Nothing was changed." in str(refused.value)


def test_a_node_inside_a_subgraph_is_foreign_outside_of_it() -> None:
    """Edges join nodes of one graph [GRA-01]."""
    graph = _line("a")
    inner = graph.subgraph("sub").node(name="x")(step)

    with pytest.raises(ForeignNodeError, match="line/sub/x"):
        graph.nodes["a"] >> inner


def test_a_subgraph_stands_in_edges_like_a_node() -> None:
    """On either side [GRA-01]."""
    graph = kb.strategy("s")
    sub = graph.subgraph("sub")
    graph.start >> sub >> graph.finish

    assert _edges(graph) == ["<edge start >> sub>", "<edge sub >> finish>"]


def test_a_whole_strategy_stands_in_no_other_graph() -> None:
    """It is a root [GRA-01]."""
    with pytest.raises(GraphError, match="whole strategy"):
        kb.strategy("s").edge("start", kb.strategy("t"))


# ------------------------------------------------------------------------------------------- again


def test_a_node_defined_again_replaces_the_function_and_keeps_its_edges() -> None:
    """A notebook's cells are run again and again [GRA-12]."""
    graph = _line("a")

    async def other(ctx: kb.Context, value: int) -> int:
        return value + 1

    before, edges = graph.nodes["a"], _edges(graph)
    after = graph.node(name="a")(other)

    assert after is before
    assert after.function is other
    assert _edges(graph) == edges


def test_what_changed_in_a_node_is_reported() -> None:
    """With the types, since they decide about checkpoints [GRA-12]."""
    graph = _line("a")

    @graph.node
    async def a(ctx: kb.Context, value: str) -> int:
        return 1

    assert graph.changes == ["node a redefined (input int -> str)"]


def test_a_changed_output_names_the_checkpoints_that_it_makes_unusable() -> None:
    """Nobody learns only at the next start that a checkpoint no longer fits. [GRA-12]"""
    graph = kb.strategy("trip")

    @graph.node(name="a")
    async def before(ctx: kb.Context, value: int) -> int:
        return value

    @graph.node(name="a")
    async def now(ctx: kb.Context, value: int) -> str:
        return str(value)

    assert "checkpoints saved after trip/a can no longer be resumed" in graph.changes[-1]


def test_a_node_that_is_defined_again_as_it_was_is_no_change() -> None:
    """Running a cell twice changes nothing, so nothing is told [GRA-12]."""
    graph = kb.strategy("s")
    _define_a(graph)
    _define_a(graph)

    assert graph.changes == []


def _define_a(graph: Strategy) -> None:
    @graph.node
    async def a(ctx: kb.Context, value: int) -> int:
        return value + 1


def test_a_variable_that_holds_the_old_node_means_the_new_one() -> None:
    """Other cells need not be run again [GRA-12]."""
    graph = kb.strategy("s")
    old, new = [graph.node(name="a", replace=True)(step) for _ in range(2)]
    graph.start >> old >> graph.finish

    assert old is new
    assert graph.check() == ()


def test_an_edge_defined_again_keeps_its_place_in_the_order() -> None:
    """The order in which edges are tried does not change by running a cell again [GRA-12]."""
    graph = _line("a", "b")
    graph.edge("a", "finish", when=lambda value: value == 1, label="one")
    graph.edge("a", "b", when=lambda value: value == 2, label="two")
    order = [edge.label for edge in graph.edges]
    again = graph.edge("a", "finish", when=lambda value: value == 3, label="one")

    assert [edge.label for edge in graph.edges] == order
    assert again in graph.edges
    assert graph.changes == ["edge a >> finish redefined"]


def test_an_else_edge_does_not_replace_a_conditional_one() -> None:
    """Two edges of the same ends, one of them with a condition, are two edges [GRA-02]."""
    graph = kb.strategy("s")
    a = graph.node(name="a")(step)
    graph.start >> a
    graph.edge(a, graph.finish, when=lambda value: value > 9, map=lambda value: 9, label="too much")
    a >> graph.finish

    assert _edges(graph)[1:] == ["<edge a >> finish when too much>", "<edge a >> finish>"]
    assert graph.changes == []


def test_edges_of_one_label_are_two_when_only_one_has_a_condition() -> None:
    """The label alone does not make them the same [GRA-02]."""
    graph = _line("a")
    graph.edge("a", "a", when=bool, label="again")
    graph.edge("a", "a", label="again")

    assert [edge.conditional for edge in graph.edges if edge.label == "again"] == [True, False]


def test_a_conditional_edge_does_not_replace_an_else_edge() -> None:
    """Nor the other way round [GRA-02]."""
    graph = _line("a")
    graph.edge("a", "finish", when=lambda value: value > 9, map=lambda value: 9)

    assert len(graph.edges) == 3


def test_an_edge_that_gets_its_condition_afterwards_is_the_same_when_defined_again() -> None:
    """``edge(a, b).when(f)`` in a cell that is run twice [GRA-12]."""
    graph = kb.strategy("s")
    a = graph.node(name="a")(step)

    def is_big(value: int) -> bool:
        return value > 9

    graph.start >> a >> graph.finish
    graph.edge(a, a).when(is_big)
    graph.edge(a, a).when(is_big)

    assert [edge.label for edge in graph.edges if edge.target is a and edge.source is a] == ["is big"]


def _conditions(graph: Subgraph) -> list[Any]:
    return [step.function for edge in graph.edges for step in edge.steps if step.kind == "when"]


def test_two_lambdas_between_the_same_nodes_are_two_edges() -> None:
    """Neither condition is lost, though neither has a name [GRA-02]."""
    graph = _line("a", "b")
    graph.edge("a", "b", when=lambda value: value > 5)
    graph.edge("a", "b", when=lambda value: value < 0)

    assert [condition(9) for condition in _conditions(graph)] == [True, False]
    assert graph.changes == []


def test_two_edges_that_cannot_be_told_apart_are_a_warning() -> None:
    """A lambda that was changed in its cell leaves the old edge behind; a label would replace it [GRA-05]."""
    graph = _line("a", "b")
    graph.edge("a", "b", when=lambda value: value > 5)
    graph.edge("a", "b", when=lambda value: value < 0)
    found = graph.check()

    assert [(finding.level, finding.kind, finding.path) for finding in found] == [
        ("warning", "same_edge", "line/a")
    ]
    assert "label=" in found[0].remedy


def test_a_lambda_of_the_same_text_is_the_same_condition() -> None:
    """A cell that is run again has new functions of the same code, wherever they stand [GRA-12]."""
    graph = _line("a", "b")
    graph.edge("a", "b", when=lambda value: any(one > 5 for one in value))
    again = graph.edge("a", "b", when=lambda value: any(one > 5 for one in value))

    assert [edge for edge in graph.edges if edge.conditional] == [again]
    assert graph.changes == []


def _over(limit: int) -> Any:
    def is_over(value: int) -> bool:
        return value > limit

    return is_over


@pytest.mark.parametrize(
    "make",
    [_over, lambda limit: lambda value, limit=limit: value > limit, lambda limit: partial(max, limit)],
    ids=["enclosed", "default", "partial"],
)
def test_conditions_of_one_factory_are_different_edges(make: Any) -> None:
    """The same code with another limit is another condition [GRA-02]."""
    graph = _line("a", "b")
    graph.edge("a", "b", when=make(5))
    graph.edge("a", "b", when=make(9))
    graph.edge("a", "b", when=make(5))

    assert len(_conditions(graph)) == 2


def test_a_named_condition_with_another_body_replaces_the_one_before() -> None:
    """The cell of a ``def`` was changed and run again [GRA-12]."""
    graph = _line("a", "b")

    def is_big(value: int) -> bool:
        return value > 5

    graph.edge("a", "b", when=is_big)

    def is_big(value: int) -> bool:  # type: ignore[no-redef]
        return value > 9

    graph.edge("a", "b", when=is_big)

    assert _conditions(graph) == [is_big]
    assert graph.changes == ["edge a >> b redefined"]


def test_a_label_that_is_added_later_keeps_the_edge() -> None:
    """The condition says that it is the same one [GRA-12]."""
    graph = _line("a", "b")
    graph.edge("a", "b", when=bool)
    graph.edge("a", "b", when=bool, label="anything")

    assert [edge.label for edge in graph.edges if edge.conditional] == ["anything"]


def test_labels_tell_edges_of_one_condition_apart() -> None:
    """Who wrote two labels meant two edges [GRA-02]."""
    graph = _line("a", "b")
    graph.edge("a", "b", when=bool, label="first")
    graph.edge("a", "b", when=bool, label="second")

    assert [edge.label for edge in graph.edges if edge.conditional] == ["first", "second"]


def test_an_else_edge_is_kept_when_another_gets_its_condition_afterwards() -> None:
    """Until then both looked the same [GRA-02]."""
    graph = _line("a", "b")
    graph.edge("a", "b").when(lambda value: value > 5)

    assert [edge.conditional for edge in graph.edges if edge.target.name == "b"] == [False, True]
    assert graph.changes == []


def test_an_edge_that_gets_another_transformation_is_a_change() -> None:
    """Also when it is added afterwards [GRA-12]."""
    graph = _line("a")
    graph.edge("a", "finish").map(str)

    assert graph.changes == ["edge a >> finish redefined"]


def test_an_edge_with_a_condition_added_afterwards_that_runs_again_is_no_change() -> None:
    """It looked like the one without, until it got its condition [GRA-12]."""
    graph = _line("a", "b")
    for _ in range(3):
        graph.edge("a", "b").when(bool)

    assert graph.changes == []


def test_a_condition_beside_another_is_told_after_the_first_run() -> None:
    """It may be the first one, edited; both count, and the first is tried first [GRA-12]."""
    graph = _line("a", "b")
    graph.edge("a", "b", when=lambda value: value > 5)
    assert graph.take_untold_changes() == ()

    graph.edge("a", "b", when=lambda value: value > 6)

    (told,) = graph.take_untold_changes()
    assert "edge a >> b added beside another one, which is tried first" in told


def test_what_was_noted_of_an_edge_too_early_is_taken_back_and_hides_nothing() -> None:
    """In a subgraph, the graph around it forgets it as well [GRA-12]."""
    graph = kb.strategy("s")
    inner = graph.subgraph("part")
    inner.edge(inner.start, inner.finish, label="only")
    half = inner.edge(inner.start, inner.finish, map=str, label="only")
    assert graph.take_untold_changes() == ("in s/part: edge start >> finish redefined",)

    half.when(bool)
    graph.compress_history()
    graph.compress_history(kb.NoCompression())

    assert graph.take_untold_changes() == (
        "node compress_history redefined (WholeHistory() -> NoCompression())",
    )


def test_a_note_that_is_taken_back_leaves_the_same_one_from_before_told() -> None:
    """What a run has told is not told again [GRA-12]."""
    graph = _line("a")
    graph.edge("a", "finish", map=str)
    assert graph.take_untold_changes() == ("edge a >> finish redefined",)

    graph.edge("a", "finish", map=int).when(bool)

    assert graph.take_untold_changes() == ()


# ------------------------------------------------------------------------------------------- compression nodes


def test_a_compression_node_that_is_defined_again_takes_the_place_of_the_first() -> None:
    """Its name is fixed, like that of any node; what became of it is told [GRA-12]."""
    graph = kb.strategy("s")
    graph.compress_history()
    graph.compress_history(kb.NoCompression())

    assert list(graph.nodes) == ["start", "finish", "compress_history"]
    assert graph.changes == [
        "node compress_history redefined (WholeHistory() -> NoCompression())",
    ]


def test_two_compression_nodes_have_names_of_their_own() -> None:
    """As any two nodes of one graph [GRA-12]."""
    graph = kb.strategy("s")
    graph.compress_history(name="early")
    graph.compress_history(name="late")

    assert list(graph.nodes) == ["start", "finish", "early", "late"]
    assert graph.changes == []


def test_a_compression_node_names_a_strategy_of_ones_own_by_its_class() -> None:
    """An address would be another one in every process [GRA-12]."""

    class Mine:
        async def compress(self, session: kb.LLMSession, memory_messages: Any) -> None: ...

    graph = kb.strategy("s")
    graph.compress_history()
    graph.compress_history(Mine())

    assert graph.changes == ["node compress_history redefined (WholeHistory() -> Mine)"]


def test_a_cell_with_a_compression_node_that_runs_again_changes_nothing() -> None:
    """The strategies that come along are compared by what they are made of [GRA-12]."""
    graph = kb.strategy("s")
    for _ in range(2):
        graph.compress_history(kb.NoCompression())

    assert graph.changes == []


# ------------------------------------------------------------------------------------------- subgraphs again


def test_a_subgraph_defined_again_is_the_same_object_with_its_nodes() -> None:
    """The cells of its nodes need not be run again [GRA-12]."""
    graph = kb.strategy("s")
    before = graph.subgraph("sub")
    node = before.node(name="a")(step)
    after = graph.subgraph("sub")

    assert after is before
    assert after.nodes["a"] is node
    assert graph.changes == []


def test_a_subgraph_defined_again_has_the_types_of_the_last_definition() -> None:
    """On its node, and on its start and finish; the change is reported [GRA-12]."""
    graph = kb.strategy("s")
    graph.subgraph("sub", input=int, output=str)
    sub = graph.subgraph("sub", input=str, output=bytes)

    assert (sub.as_node.input_type, sub.start.output_type) == (str, str)
    assert (sub.as_node.output_type, sub.finish.input_type) == (bytes, bytes)
    assert graph.changes == [
        "node sub redefined (input int -> str, output str -> bytes: checkpoints saved after or inside s/sub can no "
        "longer be resumed)"
    ]


def test_a_node_in_the_place_of_a_subgraph_says_what_is_lost() -> None:
    """All nodes of the subgraph are gone [GRA-12]."""
    graph = kb.strategy("s")
    graph.subgraph("sub")
    graph.node(name="sub")(step)

    assert "its nodes are gone: checkpoints saved after or inside s/sub" in graph.changes[-1]


def test_a_change_in_a_subgraph_is_a_change_of_the_strategy() -> None:
    """With the path of the graph that it happened in, to any depth [GRA-12]."""
    graph = kb.strategy("s")
    deep = graph.subgraph("a").subgraph("b")
    deep.node(name="c")(step)
    deep.remove("c")
    text = "node c removed: checkpoints saved after s/a/b/c can no longer be resumed"

    assert deep.changes == [text]
    assert graph.changes == [f"in s/a/b: {text}"]


@pytest.mark.parametrize(
    "again",
    [
        lambda graph: graph.node(name="a")(step),
        lambda graph: graph.edge("a", "finish"),
        lambda graph: graph.subgraph("sub"),
        lambda graph: graph.compress_history(name="a"),
    ],
    ids=["node", "edge", "subgraph", "compress"],
)
def test_redefine_false_refuses_and_leaves_the_graph(again: Any) -> None:
    """Outside notebooks a second definition is a mistake [GRA-12]."""
    graph = kb.strategy("line", redefine=False)
    a = graph.node(name="a")(step)
    graph.start >> a >> graph.finish
    graph.subgraph("sub")
    before = (_edges(graph), {name: node.function for name, node in graph.nodes.items()})

    with pytest.raises(RedefinitionError, match="redefine=False"):
        again(graph)
    assert (_edges(graph), {name: node.function for name, node in graph.nodes.items()}) == before


def test_redefine_false_holds_in_subgraphs() -> None:
    """They inherit it [GRA-12]."""
    sub = kb.strategy("s", redefine=False).subgraph("sub")
    sub.node(name="a")(step)

    with pytest.raises(RedefinitionError):
        sub.node(name="a")(step)


def test_a_removed_node_takes_its_edges_along() -> None:
    """And the graph says so [GRA-12a]."""
    graph = _line("a", "b")
    graph.remove("a")

    assert list(graph.nodes) == ["start", "finish", "b"]
    assert _edges(graph) == ["<edge b >> finish>"]
    assert graph.changes == ["node a removed: checkpoints saved after line/a can no longer be resumed"]


def test_an_edge_can_be_removed() -> None:
    """By the object that made it [GRA-12a]."""
    graph = _line("a")
    extra = graph.edge("a", "a", when=lambda value: False, label="again")
    graph.remove(extra)

    assert extra not in graph.edges
    assert graph.changes == ["edge a >> a removed"]


@pytest.mark.parametrize("name", ["start", "finish", "nothing"])
def test_what_belongs_to_every_graph_or_is_not_there_cannot_be_removed(name: str) -> None:
    """Start and finish stay [GRA-12a]."""
    with pytest.raises(GraphError):
        _line("a").remove(name)


def test_an_edge_is_removed_once() -> None:
    """The second time it is not there [GRA-12a]."""
    graph = _line("a")
    edge = graph.edges[0]
    graph.remove(edge)

    with pytest.raises(GraphError, match="is not in"):
        graph.remove(edge)


def test_a_removed_node_is_foreign() -> None:
    """An old variable does not bring it back [GRA-12a]."""
    graph = _line("a", "b")
    old = graph.nodes["a"]
    graph.remove("a")

    with pytest.raises(ForeignNodeError):
        graph.start >> old


def test_a_removed_subgraph_says_so() -> None:
    """Instead of a bare KeyError [GRA-12a]."""
    graph = _line("a")
    sub = graph.subgraph("sub")
    graph.remove(sub)

    with pytest.raises(GraphError, match="was removed"):
        graph.start >> sub
