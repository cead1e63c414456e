"""Conversations from files and into files, by magics."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from notebook_cells import Cells

import koogbook as kb

ODD = {
    "conversations": [
        {"from": "human", "value": "Trains?"},
        {"from": "function_call", "value": '{"name": "trains", "arguments": {}}'},
        {"from": "gpt", "value": "None today."},
    ]
}


@pytest.fixture
def odd(cells: Cells) -> Path:
    """A file with a call that has no result, in the folder of the notebook."""
    path = Path("odd.json")
    path.write_text(json.dumps(ODD), encoding="utf-8")
    return path


async def test_a_file_becomes_a_variable(cells: Cells, odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is called history where no name is given, and what is odd about it is printed. [NBK-02]"""
    await cells("%koog_import odd.json")

    assert (cells["history"].format, len(cells["history"])) == ("sharegpt", 3)
    assert "without a result (tool trains" in capsys.readouterr().out


async def test_it_can_be_repaired_on_its_way(cells: Cells, odd: Path) -> None:
    """What was done stands among the defects. [NBK-02, EXE-07]"""
    await cells("%koog_import odd.json --repair --to mended")

    assert [part for message in cells["mended"] for part in message.calls] == []
    assert cells["mended"].defects[-1].kind == "repaired"


async def test_a_history_becomes_a_file_of_any_format(cells: Cells, odd: Path) -> None:
    """And says what has no place there. [NBK-02, EXE-07]"""
    await cells("%koog_import odd.json")
    await cells("%koog_export history out.json --format anthropic --to done")

    assert kb.load_transcript("out.json").format == "anthropic"
    assert cells["done"].path == "out.json"


async def test_a_run_is_exported_with_its_last_prompt(cells: Cells, agent: kb.Agent) -> None:
    """The conversation as it was committed. [NBK-02]"""
    await cells("%%koog_run\nTo Beijing.")
    await cells("%koog_export run out.json")

    assert kb.load_transcript("out.json").messages[0].text == "To Beijing."


async def test_what_else_the_file_holds_is_told(
    cells: Cells, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of many is not taken for all there is. [NBK-02]"""
    lines = [json.dumps({"messages": [{"role": "user", "content": f"Question {n}"}]}) for n in range(3)]
    await cells(
        f"from pathlib import Path; Path('many.jsonl').write_text({chr(10).join([*lines, 'no line'])!r})"
    )
    await cells("%koog_import many.jsonl --index 1")

    assert cells["history"].messages[0].text == "Question 1"
    assert (
        "Conversation 1 of 3 in many.jsonl: --index 0 to 2; the others have 1 defect"
        in capsys.readouterr().out
    )


async def test_a_file_that_is_there_is_written_over_only_when_told(cells: Cells, odd: Path) -> None:
    """It may hold more than what is exported. [NBK-02]"""
    await cells("%koog_import odd.json")
    told = await cells.refused("%koog_export history odd.json")
    before = kb.load_transcript("odd.json").format
    await cells("%koog_export history odd.json --format openai-chat --replace")

    assert "There is a file odd.json already" in told
    assert (before, kb.load_transcript("odd.json").format) == ("sharegpt", "openai-chat")


async def test_a_larger_file_can_be_allowed(cells: Cells, odd: Path) -> None:
    """As in Python. [NBK-02]"""
    told = await cells.refused("%koog_import odd.json --max-bytes 10")
    await cells("%koog_import odd.json --max-bytes 10000")

    assert "limit is 10" in told
    assert len(cells["history"]) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%koog_import", "FILE is missing"),
        ("%koog_import none.json", "There is no file none.json"),
        ("%koog_import odd.json --index x", "--index is a whole number from 0 on, not 'x'."),
        ("%koog_import odd.json --index 3", "index=3 is not among them"),
        ("%koog_import odd.json --format antropic", "Did you mean 'anthropic'?"),
        ("%koog_export kb out.json", "HISTORY: kb is module, and no history."),
        ("%koog_export history", "FILE is missing"),
        ("%koog_export history out.json --format chatgpt", "read and not written"),
    ],
)
async def test_wrong_use_is_one_line(cells: Cells, odd: Path, line: str, message: str) -> None:
    """It says what is wrong, fails the cell, and writes nothing. [NBK-02]"""
    await cells("%koog_import odd.json")
    before = cells["history"]
    told = await cells.refused(line)

    assert message in told
    assert "\n" not in told.strip()
    assert (cells["history"] is before, "out.json" in os.listdir()) == (True, False)
