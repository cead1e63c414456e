"""Cells with magics that wait or that hold a node, as the Python that they stand for."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from notebook_cells import Cells

import koogbook as kb
from koogbook.notebook.cell_transformer import CellTransformer

RUN = "await get_ipython().find_line_magic('koog_run').awaited("
FORK = "await get_ipython().find_line_magic('koog_fork').awaited("
NODE = "get_ipython().find_line_magic('koog_node')"
PLAN = "async def plan(ctx, text):\n    return text"

PIECES = [
    "",
    "# why",
    "%%koog_run agent",
    "%%koog_node --after start",
    "%%time",
    "%%writefile notes.txt",
    "%koog_run agent --input 1",
    "x = %koog_fork 3f2a --as b",
    "%koog_run agent \\",
    "    --input 1",
    "    %koog_run agent",
    '"""',
    "To Beijing.",
    "async def plan(ctx, text): return text",
    "from __future__ import annotations",
    "%koog_graph",
]


class Waiting:
    """What the transformer asks a shell: whether cells may await."""

    autoawait = True


def transformed(cell: str) -> str:
    """The cell as Python."""
    shell: Any = Waiting()
    return "".join(CellTransformer(shell)(cell.splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%%koog_run a --to b\nhello\n", f"{RUN}'a --to b', 'hello\\n')\n"),
        ("%%koog_run\n", f"{RUN}'', '')\n"),
        ("# why\n\n%%koog_run\nhello", f"# why\n\n{RUN}'', 'hello')\n"),
        ("%koog_run a --input 1\n", f"{RUN}'a --input 1')\n"),
        ("%koog_fork 3f2a --as b\n", f"{FORK}'3f2a --as b')\n"),
        ("x = %koog_fork 3f2a --as b", f"x = {FORK}'3f2a --as b', assigned=True)\n"),
        ("a = 1\n%koog_run --input a\na", f"a = 1\n{RUN}'--input a')\na"),
        ("%koog_run a \\\n  --input 1\nb", f"{RUN}'a    --input 1')\n\nb"),
        ("%%time\n%%koog_run\nhello", f"\n{RUN}'', 'hello', timed=True)\n"),
        ("# a\n%%time\n# b\n%%koog_run\nhello", f"# a\n\n# b\n{RUN}'', 'hello', timed=True)\n"),
        ("%%time\nx = %koog_run --input 1\n", f"\nx = {RUN}'--input 1', assigned=True, timed=True)\n"),
    ],
)
def test_a_magic_that_waits_becomes_an_await(cell: str, python: str) -> None:
    """At the top level of the cell, on the kernel's own loop. [NBK-04]"""
    assert transformed(cell) == python


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "\n\n# only a comment",
        "a = 1\nb = a % 2",
        "%%koog_run?",
        "# why\n%%koog_run?",
        "%koog_run?",
        "%koog_run agent?",
        "%koog_run --help",
        "%koog_graph trip",
        "%pinfo %koog_run",
        "%%koog_graph\ntrip",
        "if True:\n    %koog_run --input 1",
        'text = """\n%koog_run --input 1\n"""',
        "call(\n%koog_run\n)",
        "%%writefile notes.txt\n%%koog_run\nhello",
        "%%bash\necho '\n%koog_run --input 1\n'",
        "%%markdown\n%koog_fork",
        "%%capture out\n%koog_graph",
        "%%capture out\n%%koog_run --help",
        "%%time\n%koog_run --help",
        "x = y = %koog_run --input 1",
    ],
)
def test_other_cells_stay_as_they_are(cell: str) -> None:
    """Help, what is text, what is inside of something, and what waits for nothing. [NBK-02]"""
    assert transformed(cell) == cell


@given(st.lists(st.sampled_from(PIECES), max_size=6))
def test_what_was_transformed_is_left_alone(pieces: list[str]) -> None:
    """A cell may come by several times, as under ``%%time``. [NBK-04]"""
    try:
        once = transformed("\n".join(pieces))
    except UsageError:
        return

    assert transformed(once) == once


@pytest.mark.parametrize(
    ("cell", "magic", "other"),
    [
        ("%%capture\n%%koog_run\nhello", "%%koog_run", "%%capture"),
        ("# why\n%%capture out\n# how\n%%koog_run\nhello", "%%koog_run", "%%capture"),
        ("%%capture\nx = %koog_fork 3f2a --as b", "%koog_fork", "%%capture"),
        ("%%timeit\n%koog_run --input 1", "%koog_run", "%%timeit"),
        ("%%time\na = 1\n%koog_run --input a", "%koog_run", "%%time"),
        ("%%time --no-raise-error\n%%koog_run\nhello", "%%koog_run", "%%time"),
    ],
)
async def test_under_another_cell_magic_it_is_refused_with_the_remedy(
    cells: Cells, cell: str, magic: str, other: str
) -> None:
    """Nothing can wait there; a variable does what the capture was for. [NBK-02]"""
    message = await cells.refused(cell)

    assert message.startswith(
        f"{magic}: It has to wait, and under {other} nothing can wait. Nothing was run."
    )
    assert "--to NAME" in message


@pytest.mark.parametrize("line", ["%time %koog_run --input 1", "x = %timeit -n 1 %koog_fork 3f2a --as b"])
async def test_inside_of_another_line_magic_it_is_refused_with_the_remedy(cells: Cells, line: str) -> None:
    """A line magic runs its text where nothing can wait. [NBK-02]"""
    message = await cells.refused(f"a = 1\n{line}")

    assert message.endswith(
        " nothing can wait. Nothing was run. Write it alone in its line; for the time it takes, with %%time in the "
        "line above."
    )
    assert "a" not in cells


async def test_without_top_level_await_it_is_refused(cells: Cells) -> None:
    """The switch to set is named. [NBK-04]"""
    await cells("%autoawait False")

    assert await cells.refused("%%koog_run\nhello") == (
        "%koog_run: It has to wait, and top-level await is switched off. Nothing was run. "
        "Switch it on: %autoawait asyncio"
    )


def test_nothing_is_refused_while_somebody_is_typing(cells: Cells) -> None:
    """A front end asks whether the lines are complete; that is no time for errors. [NBK-02]"""
    assert cells.shell.check_complete("%%capture\n%%koog_run\nhello\n\n")[0] == "complete"


# ------------------------------------------------------------------------------------------- cells of nodes


def test_a_node_cell_gets_a_statement_before_and_one_after() -> None:
    """And the lines between keep their numbers. [NBK-03]"""
    assert transformed(f"# why\n%%koog_node --after start\n{PLAN}") == (
        f"# why\n{NODE}.begin('--after start', 'plan')\n{PLAN}\n{NODE}.end()\n"
    )


def test_a_future_import_stays_first() -> None:
    """Python takes it nowhere else. [NBK-03]"""
    cell = "%%koog_node\n# why\nfrom __future__ import annotations  # 北京\n" + PLAN

    assert transformed(cell) == (
        f"\n# why\nfrom __future__ import annotations; {NODE}.begin('', 'plan')  # 北京\n{PLAN}\n{NODE}.end()\n"
    )


@pytest.mark.parametrize("above", ["", "# why\n\n", "\n\n# why\n# really\n"])
async def test_the_source_of_a_node_can_be_read(cells: Cells, above: str) -> None:
    """With its own text, its own lines, and the place that the page shows. [NBK-03]"""
    await cells("trip = kb.strategy('trip')")
    await cells(f"{above}%%koog_node --no-graph\nn = 1\n\n{PLAN}\n# the end\n")
    plan = cells["plan"]
    line = f"{above}%%koog_node\nn = 1\n\n".lstrip("\n").count("\n") + 1

    assert inspect.getsource(plan.function) == f"{PLAN}\n"
    assert plan.place == f"cell 3:{line}"


async def test_a_future_import_works_in_a_node_cell(cells: Cells) -> None:
    """Its annotations are texts then, and are read all the same. [NBK-03]"""
    await cells("trip = kb.strategy('trip')")
    await cells(
        "%%koog_node --no-graph\nfrom __future__ import annotations\n\nasync def plan(ctx, x: int) -> str: ..."
    )

    assert (cells["plan"].input_type, cells["plan"].output_type) == (int, str)


async def test_a_syntax_error_in_the_body_is_pythons_own(cells: Cells) -> None:
    """At the line where it is. [NBK-03]"""
    await cells("trip = kb.strategy('trip')")
    result = await cells.run("# why\n%%koog_node\nasync def plan(ctx, text):\n    return return")

    assert isinstance(result.error_before_exec, SyntaxError)
    assert result.error_before_exec.lineno == 4
    assert list(cells["trip"].nodes) == ["start", "finish"]


async def test_an_error_in_the_body_has_its_own_line(cells: Cells) -> None:
    """A traceback points into the cell as it was written. [NBK-03]"""
    await cells("trip = kb.strategy('trip')")
    result = await cells.run(f"%%koog_node\n{PLAN}\n\n1 / 0")
    problem = result.error_in_exec

    assert isinstance(problem, ZeroDivisionError)
    assert problem.__traceback__ is not None
    assert inspect.getinnerframes(problem.__traceback__)[-1].lineno == 5


async def test_other_magics_in_the_body_work(cells: Cells) -> None:
    """It is an ordinary cell below its first line. [NBK-03]"""
    await cells("trip = kb.strategy('trip')")
    await cells(f"%%koog_node --no-graph\nfolder = %pwd\n{PLAN}")

    assert (cells["trip"].nodes["plan"], cells["folder"]) == (
        cells["plan"],
        cells.shell.run_line_magic("pwd", ""),
    )


@pytest.mark.parametrize("other", ["%%time", "%%capture"])
async def test_a_node_cell_works_under_another_cell_magic(cells: Cells, other: str) -> None:
    """It has nothing to wait for. [NBK-02]"""
    await cells("trip = kb.strategy('trip')")
    await cells(f"{other}\n%%koog_node --no-graph\n{PLAN}")

    assert cells["trip"].nodes["plan"] is cells["plan"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "n = 1",
            "There is no async function at the top level of the cell, no function at all. Nothing was changed. "
            "Write: async def prepare(ctx, value)",
        ),
        (
            "def plan(ctx, text): return text",
            "There is no async function at the top level of the cell, only def plan. Nothing was changed. "
            "Write: async def plan(ctx, value); or, for one that blocks: --thread",
        ),
        (
            "if True:\n    async def plan(ctx, text): ...",
            "There is no async function at the top level of the cell, no function at all. Nothing was changed. "
            "Write: async def prepare(ctx, value)",
        ),
        (
            "async def a(ctx, x): ...\nasync def b(ctx, x): ...",
            "There are 2 async functions here: a, b. Nothing was changed. "
            "Say which one is the node, the others stay as they are: --name a. Or split the cell.",
        ),
        (
            f"@trip.node(name='other')\n{PLAN}",
            "plan is a node already, by @trip.node(name='other') above it. Nothing was changed. "
            "Drop one of both: the decorator, or %%koog_node.",
        ),
    ],
)
async def test_a_body_without_exactly_one_node_does_not_run(cells: Cells, body: str, message: str) -> None:
    """What was found is said, and what to do. [NBK-03]"""
    await cells("trip = kb.strategy('trip')")

    assert await cells.refused(f"%%koog_node\nran = True\n{body}") == f"%%koog_node: {message}"
    assert "ran" not in cells
    assert list(cells["trip"].nodes) == ["start", "finish"]


async def test_of_several_functions_the_named_one_is_the_node(cells: Cells) -> None:
    """The others stay what they are. [NBK-03]"""
    await cells("trip = kb.strategy('trip')")
    await cells(
        "%%koog_node --name b --no-graph\nasync def a(x): return x\nasync def b(ctx, x): return await a(x)"
    )

    assert (list(cells["trip"].nodes), inspect.isfunction(cells["a"])) == (["start", "finish", "b"], True)


def test_a_body_that_fails_without_the_transformer_leaves_the_old_node(cells: Cells) -> None:
    """As in a cell. [NBK-03]"""
    shell: InteractiveShell = cells.shell
    shell.user_ns["trip"] = trip = kb.strategy("trip")
    shell.run_cell_magic("koog_node", "--no-graph", PLAN)
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("koog_node", "--no-graph", f"{PLAN}\n1 / 0")

    assert shell.user_ns["plan"] is trip.nodes["plan"]


def test_a_node_cell_runs_without_the_transformer(cells: Cells) -> None:
    """In a script that calls the magic. [NBK-02]"""
    shell: InteractiveShell = cells.shell
    shell.user_ns["trip"] = trip = kb.strategy("trip")
    shell.run_cell_magic("koog_node", "--after start --no-graph", PLAN)

    assert (trip.nodes["plan"], len(trip.edges)) == (shell.user_ns["plan"], 1)
