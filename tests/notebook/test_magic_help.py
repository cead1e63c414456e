"""The table of magics, and the help and the errors that are made from it."""

from __future__ import annotations

import pytest
from notebook_cells import Cells

from koogbook.notebook.magics.help import help_text
from koogbook.notebook.magics.magic import Magic
from koogbook.notebook.magics.parsing import parse, wants_help
from koogbook.notebook.magics.table import BY_NAME, MAGICS
from koogbook.notebook.magics.wrong_use import WrongUse

FIRST = {"strategy", "node", "edge", "run", "graph", "locks", "diff", "checkpoints"}
FLAGS = [(magic, flag.name) for magic in MAGICS for flag in magic.flags]
each = pytest.mark.parametrize("magic", MAGICS, ids=lambda magic: magic.name)


def test_eight_magics_are_taught_first() -> None:
    """A newcomer needs no more. [NBK-02]"""
    assert {magic.name.removeprefix("koog_") for magic in MAGICS if magic.first} == FIRST


@each
def test_every_magic_has_the_one_prefix(magic: Magic) -> None:
    """They stand together where names are completed. [NBK-02]"""
    assert magic.name.startswith("koog_")


@each
def test_every_example_can_be_read_by_the_table(magic: Magic) -> None:
    """What the help shows is right use. [NBK-02]"""
    lines = [line for line in magic.example.splitlines() if line.startswith("%")]

    assert [parse(magic, line.lstrip("%").removeprefix(magic.name)).magic for line in lines] == [magic] * len(
        lines
    )
    assert lines[0].startswith(magic.sign)


@each
def test_help_names_all_flags_and_the_plain_python(magic: Magic) -> None:
    """Everything a magic does has a call, and nothing is left out of the help. [NBK-01]"""
    text = help_text(magic)

    assert all(flag.name in text for flag in magic.flags)
    assert text.endswith(f"In Python:\n    {magic.call}")
    assert max(map(len, text.splitlines())) <= 132


@each
async def test_a_question_mark_shows_the_help(
    cells: Cells, magic: Magic, capsys: pytest.CaptureFixture[str]
) -> None:
    """``%koog_x?`` works for every one. [NBK-02]"""
    await cells(f"%{magic.name}?")

    assert help_text(magic) in capsys.readouterr().out


@each
async def test_the_help_flag_shows_the_help(
    cells: Cells, magic: Magic, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything that is required, and whatever else stands there. [NBK-02]"""
    await cells(f"%{magic.name} --help")
    await cells(f"%{magic.name} --no-such-flag 'open --help")

    assert capsys.readouterr().out == f"{help_text(magic)}\n" * 2


@pytest.mark.parametrize("name", ["koog_node", "koog_run"])
@pytest.mark.parametrize(
    "cell",
    ["%%{} --help", "%%{} --help\n", "%%{} --help\nasync def f(c, x): 1 / 0", "# why\n\n%%{} --help\n1 / 0"],
)
async def test_cell_magics_show_their_help_with_and_without_a_body(
    cells: Cells, name: str, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of the body runs. [NBK-02]"""
    await cells(cell.format(name))

    assert capsys.readouterr().out == f"{help_text(BY_NAME[name])}\n"


@pytest.mark.parametrize("name", ["koog_node", "koog_run"])
@pytest.mark.parametrize("cell", ["%%{}?", "# why\n%%{}?"])
async def test_a_question_mark_after_a_cell_magic_shows_the_help(
    cells: Cells, name: str, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leading comments do not change that. [NBK-02]"""
    await cells(cell.format(name))

    assert help_text(BY_NAME[name]) in capsys.readouterr().out


@pytest.mark.parametrize(("magic", "flag"), FLAGS, ids=lambda one: getattr(one, "name", one))
async def test_a_wrong_flag_is_one_line_with_the_nearest_one(cells: Cells, magic: Magic, flag: str) -> None:
    """For every flag of every magic, a letter short. [NBK-02]"""
    body = "\nasync def f(ctx, x): return x" if magic.form == "cell" else ""
    message = await cells.refused(f"{magic.sign} {flag[:-1]} x{body}")

    assert message.startswith(
        f"{magic.sign}: There is no flag {flag[:-1]}. Nothing was changed. Did you mean "
    )
    assert f"{flag}," in message or f"{flag}." in message or f"{flag!r}" in message


async def test_a_flag_of_a_magic_without_flags_is_refused(cells: Cells) -> None:
    """It has none but the help. [NBK-02]"""
    message = await cells.refused("%koog_freeze --hepl")

    assert message == (
        "%koog_freeze: There is no flag --hepl. Nothing was changed. Did you mean '--help'? It has none but --help."
    )


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%koog_grph", "There is no magic %koog_grph. Nothing was run. Did you mean '%koog_graph'? There is"),
        (
            "x = 1\n%koog_lock run",
            "There is no magic %koog_lock. Nothing was run. Did you mean '%koog_locks'?",
        ),
        (
            "%%koog_nod\nasync def f(c, x): ...",
            "There is no magic %koog_nod. Nothing was run. Did you mean '%koog_node'?",
        ),
    ],
)
async def test_an_unknown_magic_is_one_line_with_the_nearest_one(
    cells: Cells, cell: str, message: str
) -> None:
    """Our prefix is known, the rest is a slip. [NBK-02]"""
    assert (await cells.refused(cell)).startswith(message)
    assert "x" not in cells


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("--note don't", "A quotation mark or backslash is left open (no closing quotation)."),
        ("--after", "--after needs a value."),
        ("--replace=yes", "--replace: ignored explicit argument 'yes'."),
        ("--name a --name b", "--name stands there twice."),
        ("prepare", "'prepare' is one value too many; it takes no value without a flag."),
        ("-x", "There is no flag -x."),
    ],
)
def test_what_is_wrong_with_a_line_is_said(line: str, what: str) -> None:
    """In words of the line, not of a parser. [NBK-02]"""
    with pytest.raises(WrongUse) as caught:
        parse(BY_NAME["koog_node"], line)

    assert caught.value.what == what


@pytest.mark.parametrize(
    ("line", "flag", "value"),
    [
        ('--when "len(output) < 200"', "--when", "len(output) < 200"),
        ("--when 'output == \"yes\"'", "--when", 'output == "yes"'),
        ('--note "it\'s done"', "--note", "it's done"),
        ('--note "see --help below"', "--note", "see --help below"),
        ("--label=-1", "--label", "-1"),
        ("--label -1", "--label", "-1"),
        ('--label "-x is less"', "--label", "-x is less"),
        ("--label ''", "--label", ""),
        ("--label 北京", "--label", "北京"),
    ],
)
def test_values_are_read_as_a_shell_reads_them(line: str, flag: str, value: str) -> None:
    """Quotation marks keep spaces and each other. [NBK-02]"""
    assert not wants_help(line)
    assert parse(BY_NAME["koog_node"], line).text(flag) == value


def test_a_repeatable_flag_keeps_all_its_values_in_order() -> None:
    """An edge from each of them. [NBK-02]"""
    assert parse(BY_NAME["koog_node"], "--after b --after a").texts("--after") == ("b", "a")
