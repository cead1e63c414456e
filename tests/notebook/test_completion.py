"""What can come next in the line of a magic, as a kernel asks for it."""

from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter, rectify_completions
from notebook_cells import Cells

import koogbook as kb
from koogbook.notebook.magics.magic import Magic
from koogbook.notebook.magics.table import MAGICS


def offered(cells: Cells, cell: str) -> list[str]:
    """The texts that complete a cell at the mark ``|``, from the beginning of the word at hand."""
    at = cell.index("|")
    text = cell.replace("|", "")
    with provisionalcompleter():
        found = list(rectify_completions(text, cells.shell.Completer.completions(text, at)))
    return [one.text for one in found]


@pytest.mark.parametrize("magic", MAGICS, ids=lambda magic: magic.name)
def test_all_flags_of_a_magic_are_offered(cells: Cells, magic: Magic) -> None:
    """On its line, and nothing else. [NBK-02]"""
    body = "\nasync def f(ctx, x): ..." if magic.form == "cell" else ""

    assert offered(cells, f"{magic.sign} --|{body}") == [*(flag.name for flag in magic.flags), "--help"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%koog_node --st|", ["--strategy"]),
        ("# why\n%%koog_node --a|\nasync def f(ctx, x): ...", ["--after"]),
        ("x = 1\n%koog_edge start >> finish --l|", ["--label"]),
        ("view = %koog_graph --se|", ["--selected"]),
        ("%%koog_node --after start --w|", ["--when"]),
        ("%%koog_node --after start --after p|", ["prepare"]),
        ("%%koog_node --name x --n|", ["--note", "--no-graph"]),
        ("%koog_agent --executor e|", ["extractive"]),
        ("%koog_agent --checkpoints |", ["none", "memory", "sqlite"]),
        ("%koog_graph --no-such|", []),
    ],
)
def test_a_word_is_completed(cells: Cells, trip: kb.Strategy, cell: str, words: list[str]) -> None:
    """From as much of it as is there; what stands there already is not offered again. [NBK-02]"""
    assert offered(cells, cell) == words


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("%%koog_node --after |", ["start", "finish", "prepare", "answer"]),
        ("%%koog_node --after an|\nasync def f(ctx, x): ...", ["answer"]),
        ("%koog_edge pre|", ["prepare"]),
        ("%koog_edge prepare >> |", ["start", "finish", "prepare", "answer"]),
        ("%koog_edge prepare >>an|", ["answer"]),
        ("%koog_edge prepare >> answer >> fi|", ["finish"]),
        ("%koog_graph --selected a|", ["answer"]),
        ("%koog_graph other --selected l|", ["look"]),
        ("%koog_edge --strategy other l|", ["look"]),
        ("%koog_edge --strategy other inner/s|", ["inner/start"]),
    ],
)
async def test_names_of_nodes_are_offered(
    cells: Cells, trip: kb.Strategy, cell: str, names: list[str]
) -> None:
    """Of the current strategy, or of the one that the line names. [NBK-02]"""
    await cells(
        "other = kb.strategy('other')\n@other.node\nasync def look(ctx, x): ...\nother.subgraph('inner')"
    )

    assert [name for name in offered(cells, cell) if name[0] != "-"] == names


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("%koog_graph |", ["trip", "agent", "run"]),
        ("%koog_locks |", ["run"]),
        ("%koog_diff run r|", ["run"]),
        ("%%koog_run a|\nhello", ["agent"]),
        ("%koog_edge --strategy |", ["trip"]),
        ("%koog_checkpoints --agent |", ["agent"]),
        ("%koog_strategy t|", ["trip"]),
    ],
)
async def test_variables_of_the_right_kind_are_offered(
    cells: Cells, agent: kb.Agent, cell: str, names: list[str]
) -> None:
    """No others. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nhello")

    assert [name for name in offered(cells, cell) if name[0] != "-"] == names


@pytest.mark.parametrize(
    "cell",
    [
        "%koog_checkpoints ch|",
        "%%koog_run --session ch|\nhello",
        "%%koog_run agent --session chat-|",
        "%koog_fork x --session c|",
        "%koog_checkpoints --agent agent ch|",
    ],
)
async def test_session_ids_are_offered(cells: Cells, agent: kb.Agent, cell: str) -> None:
    """Those that the agent's store has, each once. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nhello")
    await cells("%%koog_run --session chat-2\nhello")

    assert offered(cells, cell) == ["chat-1", "chat-2"]


async def test_checkpoint_ids_are_offered(cells: Cells, agent: kb.Agent) -> None:
    """Of the last run's session, or of the one that the line names; the newest first. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nhello")
    await cells("%%koog_run --session chat-2\nhello")
    store = agent.feature("Persistence").storage
    first, second = ([info.id for info in reversed(store.list_infos(f"chat-{number}"))] for number in (1, 2))

    assert [one for one in offered(cells, "%koog_fork |") if one[0] != "-"] == second
    assert [one for one in offered(cells, "%koog_fork --session chat-1 |") if one[0] != "-"] == first
    assert offered(cells, f"%koog_fork {second[0][:5]}|") == [second[0]]


@pytest.mark.parametrize(
    "cell", ["%koog_checkpoints ch|", "%%koog_run --session c|", "%koog_edge sta|", "%koog_fork 1|"]
)
async def test_where_nothing_is_known_nothing_is_said(
    cells: Cells, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several strategies, no agent, no store: that is told when the cell runs. [NBK-02]"""
    await cells("a = kb.strategy('a'); b = kb.strategy('b')")
    offered(cells, cell)

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("cell", ["tri|", "%%koog_node\nasync def f(ctx, x): return tri|", "x = 1\ntri|"])
def test_other_lines_are_completed_as_ever(cells: Cells, trip: kb.Strategy, cell: str) -> None:
    """The body of a cell is Python. [NBK-02]"""
    assert "trip" in offered(cells, cell)


def test_the_names_of_magics_are_offered(cells: Cells) -> None:
    """The shell knows them as its own. [NBK-02]"""
    assert {one.lstrip("%") for one in offered(cells, "%koog_c|")} == {"koog_checkpoints"}


async def test_completion_works_without_jedi(cells: Cells, trip: kb.Strategy) -> None:
    """It may be switched off. [NBK-02]"""
    cells.shell.Completer.use_jedi = False

    assert offered(cells, "%koog_edge pre|") == ["prepare"]
