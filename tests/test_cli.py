"""The command: what it prints, what it refuses, and with which exit code it ends."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from demo_chats import OPEN_CALL, EventfulClock, chat, write

from koogbook import clock
from koogbook.cli import main


def fail() -> None:
    """Stand for a full disk or a defect of any part."""
    raise OSError("no space left")


def interrupt() -> None:
    """What Ctrl-C does."""
    signal.raise_signal(signal.SIGINT)


def test_the_command_prints_the_report_and_the_path(
    in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user sees what happened and where the page is."""
    code = main(["demo"])
    printed = capsys.readouterr().out
    page = re.search(r"^Page: +(\S+)$", printed, re.MULTILINE)

    assert code == 0
    assert "compress" in printed
    assert page is not None
    assert Path(page[1]).is_file()


def test_a_fact_that_was_lost_is_named_in_the_terminal(
    in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who asked for a fact to survive learns there that it did not. [CMP-16]"""
    main(["demo", "--keep", "peanut"])

    assert re.search(r"^! peanut is lost in compression 2$", capsys.readouterr().out, re.MULTILINE)


def test_two_demos_in_a_row_do_not_disturb_each_other(in_folder: Path) -> None:
    """Each demo has a fresh folder and deletes nothing."""
    first, second = main(["demo"]), main(["demo"])

    assert (first, second, len(list((in_folder / ".koogbook/demo").iterdir()))) == (0, 0, 2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"%PDF-1.7 \x00\x01", "PDF"),
        (b'{"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}', "Gemini"),
        (b'[{"role": "system", "content": "only this"}]', "system messages only"),
        (
            b'[{"role": "system", "content": "s"}, {"role": "tool", "tool_call_id": "a", "content": "lost"}]',
            "a result of ? without a call was taken out: lost",
        ),
        (
            b'[{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", '
            b'"function": {"name": "trains", "arguments": "{}"}}]}]',
            "a call of trains without a result was taken out",
        ),
    ],
)
def test_a_file_that_is_no_conversation_is_one_clear_line(
    in_folder: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    """Bad input ends with exit code 2 and a sentence, and leaves nothing behind."""
    file = in_folder / "bad.json"
    file.write_bytes(content)
    code = main(["demo", str(file)])
    said = capsys.readouterr().err

    assert (code, words in said, said.count("\n")) == (2, True, 1)
    assert not (in_folder / ".koogbook").exists()


@pytest.mark.parametrize(
    ("switch", "value", "words"),
    [
        ("--budget", "-5", "'-5' is no whole number from 1 on"),
        ("--budget", "0", "'0' is no whole number from 1 on"),
        ("--budget", "many", "'many' is no whole number from 1 on"),
        ("--most", "0", "'0' is no whole number from 1 on"),
        ("--index", "-1", "'-1' is no whole number from 0 on"),
        ("--keep", " ", "an empty text stands in every message"),
    ],
)
def test_a_switch_with_a_useless_value_is_refused_before_anything_is_made(
    in_folder: Path, capsys: pytest.CaptureFixture[str], switch: str, value: str, words: str
) -> None:
    """The message names the switch and what would do."""
    with pytest.raises(SystemExit) as ended:
        main(["demo", f"{switch}={value}"])
    said = capsys.readouterr().err

    assert (ended.value.code, f"argument {switch}: {words}" in said) == (2, True)
    assert not (in_folder / ".koogbook").exists()


def test_a_conversation_up_to_the_limit_is_replayed(in_folder: Path) -> None:
    """The limit is the reader's to set."""
    assert main(["demo", str(write(in_folder / "chat.json", chat())), "--most", "25"]) == 0


def test_a_failure_on_the_way_leaves_nothing(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No folder with half a demo in it."""
    with clock.use(EventfulClock(fail)):
        code = main(["demo"])

    assert (code, "no space left" in capsys.readouterr().err) == (2, True)
    assert list(in_folder.iterdir()) == []


def test_a_failure_on_the_way_leaves_the_demos_before_it(in_folder: Path) -> None:
    """Only what this demo made is removed."""
    main(["demo"])
    before = sorted(in_folder.rglob("*"))
    with clock.use(EventfulClock(fail)):
        main(["demo"])

    assert sorted(in_folder.rglob("*")) == before


def test_an_interrupt_is_one_line_and_leaves_nothing(
    in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is no defect: no traceback, and the exit code that shells know."""
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored where this runs in the background
    try:
        with clock.use(EventfulClock(interrupt)):
            code = main(["demo"])
    finally:
        signal.signal(signal.SIGINT, before)

    assert (code, capsys.readouterr().err) == (130, "koogbook: stopped before the end\n")
    assert list(in_folder.iterdir()) == []


def test_what_a_file_says_cannot_steer_the_terminal(
    in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A defect quotes the file: escape codes are escaped, half a character is the sign for one that was lost."""
    lost = {"role": "tool", "tool_call_id": "nowhere", "content": "\x1b[2J \ud83c"}
    code = main(["demo", str(write(in_folder / "chat.json", chat(lost)))])
    printed = capsys.readouterr().out

    assert (code, "\x1b" in printed, "taken out: \\x1b[2J \ufffd" in printed) == (0, False, True)


def test_a_missing_file_is_one_clear_line(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong path is named."""
    code = main(["demo", "nowhere.json"])

    assert (code, "nowhere.json" in capsys.readouterr().err) == (2, True)


def test_the_command_prints_what_was_repaired(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reader of the terminal sees it too."""
    main(["demo", str(write(in_folder / "chat.json", chat(OPEN_CALL)))])

    assert "  repair at messages[25]: a call of trains" in capsys.readouterr().out
