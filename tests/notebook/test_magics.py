"""Building a strategy by magics, each the same as its plain Python call."""

from __future__ import annotations

import pytest
from notebook_cells import LOUD, PREPARE, Cells, edges

import koogbook as kb

# ------------------------------------------------------------------------------------------- strategies


async def test_a_strategy_is_made_in_a_variable_and_shown(cells: Cells) -> None:
    """With its types and version; the graph says what is to do. [NBK-03]"""
    view = await cells("%koog_strategy trip --input str --output 'list[str]' --version 2")
    trip = cells["trip"]

    assert (trip.name, trip.input_type, trip.output_type, trip.version) == ("trip", str, list[str], "2")
    assert "TO DO: trip has no first node." in str(view)


async def test_a_strategy_stays_the_same_object(cells: Cells, trip: kb.Strategy) -> None:
    """Running the cell again keeps nodes, and takes over what is given. [NBK-03]"""
    await cells("%koog_strategy trip --input int")

    assert cells["trip"] is trip
    assert (trip.input_type, trip.start.output_type, trip.output_type) == (int, int, str)
    assert "prepare" in trip.nodes


async def test_a_reset_empties_a_strategy(cells: Cells, trip: kb.Strategy) -> None:
    """Nodes and edges go, the object stays. [NBK-03]"""
    await cells("%koog_strategy trip --reset")

    assert (cells["trip"], list(trip.nodes), trip.edges) == (trip, ["start", "finish"], [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "",
            "NAME is missing: the variable, and the strategy's name. Nothing was changed. Write, for example: "
            "%koog_strategy trip --input str --output str",
        ),
        ("a-b", "NAME is the name of a variable, not 'a-b'. Nothing was changed. Use letters, digits and _."),
        (
            "kb2",
            "kb2 holds an int, not a strategy. Nothing was changed. Choose another name, or let go of it first: "
            "del kb2",
        ),
        (
            "trip --input strr",
            "--input: there is no 'strr' in this notebook. Nothing was changed. Did you mean 'str'?",
        ),
        (
            "trip --input 'str'x[",
            "--input: 'strx[' cannot be evaluated (SyntaxError: '[' was never closed). Nothing was "
            "changed. An expression with spaces or quotation marks stands in quotation marks of the other kind.",
        ),
        (
            "trip --output kb2",
            "--output: 'kb2' is 3 and no type. Nothing was changed. Write, for example: --output str",
        ),
    ],
)
async def test_wrong_use_of_a_strategy_changes_nothing(cells: Cells, line: str, message: str) -> None:
    """One line, with the nearest name. [NBK-02]"""
    await cells("kb2 = 3")

    assert await cells.refused(f"%koog_strategy {line}") == f"%koog_strategy: {message}"
    assert ("trip" in cells, cells["kb2"]) == (False, 3)


# ------------------------------------------------------------------------------------------- nodes


async def test_the_name_of_the_function_becomes_the_node(cells: Cells, trip: kb.Strategy) -> None:
    """As with ``@trip.node`` above it. [NBK-03]"""
    assert cells["prepare"] is trip.nodes["prepare"]
    assert edges(trip) == ["start >> prepare", "prepare >> answer", "answer >> finish"]


async def test_a_node_cell_run_again_replaces_the_node_in_place(cells: Cells, trip: kb.Strategy) -> None:
    """The node, its place and its edges stay; the new body runs. [NBK-03] [KB-139]"""
    before = cells["answer"]
    await cells(LOUD.replace("loud", "answer").replace(" --after start", ""))
    await cells("%koog_agent")
    await cells("%%koog_run\nhello")

    assert cells["answer"] is before
    assert edges(trip) == ["start >> prepare", "prepare >> answer", "answer >> finish"]
    assert cells["run"].output == "HELLO"


async def test_a_node_cell_shows_what_is_to_do(cells: Cells, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the cell, as a to-do and not as a stack trace. [NBK-03]"""
    await cells("%koog_strategy trip --input str --output str")
    capsys.readouterr()
    await cells(PREPARE.replace(" --no-graph", ""))

    assert "TO DO: trip/prepare has no way out. Add an edge: prepare >> finish." in capsys.readouterr().out


async def test_a_node_can_follow_several_others(cells: Cells, trip: kb.Strategy) -> None:
    """With one condition for all of these edges. [NBK-03]"""
    await cells(
        "%%koog_node --after prepare --after answer --when 'len(output) < 3' --note short --no-graph\n"
        "async def again(ctx, text: str) -> str: return text"
    )

    assert edges(trip)[3:] == ["prepare >> again (len(output) < 3)", "answer >> again (len(output) < 3)"]
    assert trip.nodes["again"].note == "short"


async def test_a_node_can_be_put_in_a_subgraph(cells: Cells, trip: kb.Strategy) -> None:
    """Which is a variable as a strategy is. [NBK-03]"""
    await cells("inner = trip.subgraph('inner', input=str, output=str)")
    await cells(
        "%%koog_node --strategy inner --after start --no-graph\nasync def look(ctx, text: str) -> str: return text"
    )

    assert (list(cells["inner"].nodes), "look" in trip.nodes) == (["start", "finish", "look"], False)


async def test_a_plain_function_becomes_a_node_in_a_thread(cells: Cells, trip: kb.Strategy) -> None:
    """With ``--thread``, as ``@trip.node(thread=True)``; it stays callable. [NBK-03]"""
    await cells("%%koog_node --thread --no-graph\ndef slow(ctx, text: str) -> str: return text.upper()")

    assert trip.nodes["slow"].thread
    assert cells["slow"](None, "a") == "A"


async def test_a_node_in_a_thread_is_no_async_function(cells: Cells, trip: kb.Strategy) -> None:
    """The line says what to write. [NBK-02]"""
    message = await cells.refused("%%koog_node --thread\nasync def slow(ctx, text): ...")

    assert message == (
        "%%koog_node: There is no plain function at the top level of the cell, only async def slow. Nothing was "
        "changed. Write: def slow(ctx, value)"
    )


async def test_a_block_of_branches_takes_nodes_by_its_variable(cells: Cells, trip: kb.Strategy) -> None:
    """``--strategy`` names a strategy, a subgraph or a parallel block. [NBK-03, GRA-08]"""
    await cells("ideas = trip.parallel('ideas', merge=lambda results: len(results))")
    await cells("%%koog_node --strategy ideas --no-graph\nasync def tea(ctx, text: str) -> str: return text")

    assert list(trip.nodes["ideas"].subgraph.nodes) == ["start", "finish", "tea"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--after prepar",
            "There is no node 'prepar' in 'trip'. Nothing was changed. Did you mean 'prepare'? It has: "
            "start, finish, prepare, answer.",
        ),
        ("--after finish", "The finish node of 'trip' has no way out. Nothing was changed."),
        (
            "--when 'output'",
            "--when belongs to an edge, and there is none. Nothing was changed. Add --after NODE",
        ),
        (
            "--after start --when 'len(output'",
            "--when: 'len(output' is no expression ('(' was never closed). Nothing was changed.",
        ),
        (
            "--after start --when 3",
            "--when: '3' is an int and no function, and does not name output or ctx. Nothing was "
            'changed. Write, for example: --when "len(output) < 200".',
        ),
        (
            "--after start --when value",
            "--when: there is no 'value' in this notebook. Nothing was changed. What the node gave is called output "
            'on an edge, and the context ctx: --when "len(output) < 200".',
        ),
        (
            "--after start --when 'len(value) < prepar'",
            "--when: there is no 'value' in this notebook. Nothing was changed. What the node gave is called output "
            'on an edge, and the context ctx: --when "len(output) < 200".',
        ),
        (
            "--after start --when prepar",
            "--when: there is no 'prepar' in this notebook. Nothing was changed. Did you mean 'prepare'? What the "
            'node gave is called output on an edge, and the context ctx: --when "len(output) < 200".',
        ),
        (
            "--after start --when 'lambda a, b, c: a'",
            "--when: when= takes a function of (output) or (ctx, output); "
            "'<lambda>' takes 3 arguments. Nothing was changed.",
        ),
        (
            "--strategy tripp",
            "--strategy: there is no 'tripp' in this notebook. Nothing was changed. Did you mean 'trip'?",
        ),
        (
            "--strategy prepare",
            "--strategy: prepare is a Node, not a strategy. Nothing was changed. There is trip.",
        ),
    ],
)
async def test_a_wrong_line_of_a_node_is_found_before_its_body_runs(
    cells: Cells, trip: kb.Strategy, line: str, message: str
) -> None:
    """Nothing is changed, no name is taken. [NBK-02]"""
    cell = f"%%koog_node {line}\nran = True\nasync def plan(ctx, text): ..."

    assert await cells.refused(cell) == f"%%koog_node: {message}"
    assert ("ran" in cells, "plan" in cells, len(trip.nodes)) == (False, False, 4)


async def test_a_function_that_cannot_be_a_node_leaves_the_old_one(cells: Cells, trip: kb.Strategy) -> None:
    """In the strategy and in its variable. [NBK-02]"""
    before = cells["prepare"]
    message = await cells.refused("%%koog_node\nasync def prepare(text): ...")

    assert message.startswith("%%koog_node: Node 'prepare' takes 1 arguments")
    assert cells["prepare"] is before


async def test_a_body_that_fails_leaves_the_old_node(cells: Cells, trip: kb.Strategy) -> None:
    """Its variable holds the node still, and the next cell works. [NBK-03]"""
    before = cells["prepare"]
    await cells.run("%%koog_node\nasync def prepare(ctx, text): ...\n1 / 0")
    await cells("1")

    assert (cells["prepare"], trip.nodes["prepare"]) == (before, before)


async def test_another_cell_has_to_say_that_it_takes_a_node_over(cells: Cells) -> None:
    """``--replace`` says so. [KB-139]"""
    await cells("%koog_strategy trip", id="a")
    await cells(LOUD, id="b")
    message = await cells.refused(LOUD, id="c")
    await cells(LOUD.replace("--no-graph", "--no-graph --replace"), id="c")

    assert message.startswith("%%koog_node: 'trip/loud' is defined by cell 3:2, and cell 4")
    assert message.endswith("Here that is --replace.")
    assert cells["loud"].cell.id == "c"


async def test_a_decorator_by_another_name_is_found_when_the_body_has_run(
    cells: Cells, trip: kb.Strategy
) -> None:
    """The cell is told to drop one of both. [NBK-03]"""
    message = await cells.refused("%%koog_node\nmark = trip.node\n@mark\nasync def plan(ctx, x): ...")

    assert message == (
        "%%koog_node: plan is a node already, by @trip.node above the function. Nothing was changed. "
        "Drop one of both: the decorator, or %%koog_node."
    )


async def test_a_node_without_a_body_is_told_where_it_goes(cells: Cells) -> None:
    """The single sign is for the help alone. [NBK-02]"""
    assert await cells.refused("%koog_node --after start") == (
        "%%koog_node: The function is missing. Nothing was changed. "
        "Write %%koog_node in the first line of a cell, and the async function below it."
    )


# ------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize(
    "chain", ["a >> b >> finish", "a>>b>>finish", "a >>b>> finish", "trip/a >> trip/b >> finish"]
)
async def test_a_chain_is_as_many_edges(cells: Cells, chain: str) -> None:
    """Spaces do not matter. [NBK-03]"""
    await cells("%koog_strategy trip")
    for name in "ab":
        await cells(LOUD.replace("loud", name).replace("--after start", ""))
    view = await cells(f"%koog_edge start >> a\n%koog_edge {chain}")

    assert edges(cells["trip"]) == ["start >> a", "a >> b", "b >> finish"]
    assert "TO DO" not in str(view)


async def test_an_edge_inside_a_subgraph_is_named_by_its_path(cells: Cells, trip: kb.Strategy) -> None:
    """It is an edge of the subgraph. [NBK-03]"""
    await cells("inner = trip.subgraph('inner', input=str, output=str)")
    await cells("%koog_edge inner/start >> inner/finish\n%koog_edge prepare >> inner >> answer")

    assert (edges(cells["inner"]), edges(trip)[3:]) == (
        ["start >> finish"],
        ["prepare >> inner", "inner >> answer"],
    )


@pytest.mark.parametrize(
    ("when", "label", "takes"),
    [
        ('"len(output) < 200"', "len(output) < 200", "output"),
        ('"ctx.session_id == output"', "ctx.session_id == output", "ctx, output"),
        ('"any(word in output for word in words)"', "any(word in output for word in words)", "output"),
        ("is_short", "is short", "output"),
        ('"lambda output: len(output) < 2"', "lambda output: len(output) < 2", "output"),
        ('"kb.history_over(max_tokens=2000)"', "over 2,000 tokens", "ctx, output"),
        ("is_short --label brief", "brief", "output"),
    ],
)
async def test_a_condition_is_an_expression_or_a_function(
    cells: Cells, trip: kb.Strategy, when: str, label: str, takes: str
) -> None:
    """One that names output or ctx is the body of a function of them; its text is its label. [NBK-03]"""
    await cells("words = ['a']\ndef is_short(output): return len(output) < 2")
    await cells(f"%koog_edge answer >> prepare --when {when}")
    step = trip.edges[-1].steps[0]

    assert edges(trip)[-1] == f"answer >> prepare ({label})"
    assert step.with_context == takes.startswith("ctx")


async def test_a_condition_means_what_it_says(cells: Cells, trip: kb.Strategy) -> None:
    """Also where it uses a variable of the notebook. [NBK-03]"""
    await cells("limit = 3\n%koog_edge answer >> prepare --when 'len(output) < limit, 1' --no-graph")
    await cells("%koog_edge answer >> prepare --when 'len(output) < limit' --map 'output * 2' --no-graph")
    condition, change = (step.function for step in trip.edges[-1].steps)
    await cells("limit = 2")

    assert [condition("a"), condition("ab"), change("ab")] == [True, False, "abab"]


async def test_the_same_edge_again_is_one_edge(cells: Cells, trip: kb.Strategy) -> None:
    """A cell may be run again. [NBK-03]"""
    cell = "%koog_edge answer >> prepare --when 'len(output) < 3'"
    await cells(cell)
    await cells(cell)

    assert edges(trip)[3:] == ["answer >> prepare (len(output) < 3)"]


async def test_an_edge_can_be_taken_out(cells: Cells, trip: kb.Strategy) -> None:
    """By its ends, and by its label where there are several. [NBK-03]"""
    for limit in (3, 5):
        await cells(f"%koog_edge answer >> prepare --when 'len(output) < {limit}'")
    await cells("%koog_edge answer >> finish --remove")
    message = await cells.refused("%koog_edge answer >> prepare --remove")
    await cells("%koog_edge answer >> prepare --remove --label 'len(output) < 3'")
    await cells("%koog_edge prepare >> answer --remove")
    await cells("%koog_edge answer >> prepare --remove --when 'len(output) < 5'")

    assert edges(trip) == ["start >> prepare"]
    assert message == (
        "%koog_edge: There are 2 edges answer >> prepare: 'len(output) < 3', 'len(output) < 5'. Nothing was changed. "
        "Say which one: --label TEXT"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "",
            "A >> B is missing: names of nodes, start and finish; inside a subgraph sub/node; any number in a row. "
            "Nothing was changed. Write, for example: %koog_edge prepare >> answer >> finish",
        ),
        (
            "prepare",
            "'prepare' is no chain of nodes. Nothing was changed. Write, for example: "
            "%koog_edge prepare >> answer",
        ),
        (
            "prepare answer",
            "'prepare answer' is no chain of nodes. Nothing was changed. Write, for example: "
            "%koog_edge prepare >> answer",
        ),
        (
            "prepare >> anwser",
            "There is no node 'anwser' in 'trip'. Nothing was changed. Did you mean 'answer'? It has: "
            "start, finish, prepare, answer, inner, inner/start, inner/finish, inner/look.",
        ),
        (
            "inner/lok >> finish",
            "There is no node 'inner/lok' in 'trip'. Nothing was changed. Did you mean 'inner/look'? "
            "It has: start, finish, prepare, answer, inner, inner/start, inner/finish, inner/look.",
        ),
        (
            "inner/look >> finish",
            "trip/inner/look and trip/finish are in different graphs, and no edge leads from one to "
            "the other. Nothing was changed. Lead the edge to the subgraph itself; inside, it begins at start and ends "
            "at finish.",
        ),
        ("finish >> prepare", "The finish node of 'trip' has no way out. Nothing was changed."),
        ("prepare >> start", "Nothing leads back to the start node of 'trip'. Nothing was changed."),
        (
            "start >> answer >> finish --label x",
            "--label belongs to one edge, and this is a chain of 2. Nothing was "
            "changed. Write that edge in a line of its own.",
        ),
        (
            "start >> finish --remove",
            "There is no edge start >> finish. Nothing was changed. There is start >> prepare, "
            "prepare >> answer, answer >> finish.",
        ),
        (
            "start >> prepare >> finish --remove",
            "There is no edge prepare >> finish. Nothing was changed. There is "
            "start >> prepare, prepare >> answer, answer >> finish.",
        ),
        (
            "start >> prepare --remove --label x",
            "There is no edge start >> prepare called 'x'. Nothing was changed. There is start >> prepare.",
        ),
        (
            "start >> prepare --remove --map output",
            "--map does not tell edges apart. Nothing was changed. With --remove, "
            "say which one by --label or --when.",
        ),
    ],
)
async def test_a_wrong_edge_changes_nothing(cells: Cells, trip: kb.Strategy, line: str, message: str) -> None:
    """Not even the first edge of a chain. [NBK-02]"""
    await cells("inner = trip.subgraph('inner')\n@inner.node\nasync def look(ctx, x): ...")
    before = edges(trip)

    assert await cells.refused(f"%koog_edge {line}") == f"%koog_edge: {message}"
    assert edges(trip) == before


async def test_a_chain_that_may_not_be_defined_again_is_not_begun(cells: Cells) -> None:
    """All of its edges, or none. [NBK-02]"""
    await cells(
        "trip = kb.strategy('trip', redefine=False)\n@trip.node\nasync def a(ctx, x): ...\na >> trip.finish"
    )
    message = await cells.refused("%koog_edge start >> a >> finish")

    assert "redefine=False" in message
    assert edges(cells["trip"]) == ["a >> finish"]
