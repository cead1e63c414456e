"""JSONL: broken lines cost themselves only, and reading is lazy."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from koogbook.errors import TranscriptError
from koogbook.transcripts.load import load_transcript, load_transcripts
from koogbook.transcripts.transcript import Defect

HELLO = '{"role": "user", "content": "Hello"}'
BYE = '{"role": "user", "content": "Bye"}'


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """A function that writes lines to a file and returns its path."""

    def write_file(*lines: str, name: str = "chat.jsonl", end: str = "\n") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines) + end, encoding="utf-8")
        return path

    return write_file


def places(defects: tuple[Defect, ...]) -> list[tuple[str, int, str]]:
    """Kind, position and place of each defect."""
    return [(defect.kind, defect.position, defect.where) for defect in defects]


def test_lines_with_a_message_each_are_one_conversation(write: Any) -> None:
    """Logs are often written message by message [EXE-07]."""
    found = list(load_transcripts(write(HELLO, BYE)))

    assert [[one.text for one in transcript] for transcript in found] == [["Hello", "Bye"]]
    assert found[0].format == "jsonl"


def test_lines_with_a_conversation_each_are_as_many(write: Any) -> None:
    """Training files have one conversation per line [EXE-07]."""
    found = list(load_transcripts(write(f'{{"messages": [{HELLO}]}}', f"[{BYE}]")))

    assert [(one.index, one.messages[0].text) for one in found] == [(0, "Hello"), (1, "Bye")]


def test_lines_are_recognised_without_the_suffix(write: Any) -> None:
    """The content decides."""
    assert len(load_transcript(write(HELLO, BYE, name="log.json"))) == 2


def test_one_document_is_recognised_in_spite_of_the_suffix(write: Any) -> None:
    """A pretty-printed document is one value over many lines."""
    assert len(load_transcript(write("[", HELLO + ",", BYE, "]"))) == 2


def test_a_torn_last_line_is_a_defect(write: Any) -> None:
    """A program that was stopped while writing leaves half a line; the rest is good [EXE-07]."""
    transcript = load_transcript(write(HELLO, BYE, '{"role": "us', end=""))

    assert (len(transcript), places(transcript.defects)) == (2, [("torn_line", 3, "line 3")])


def test_a_broken_line_in_the_middle_is_a_defect_with_its_number(write: Any) -> None:
    """The lines before and after it load [EXE-07]."""
    transcript = load_transcript(write(HELLO, "", "{broken", BYE))

    assert (len(transcript), places(transcript.defects)) == (2, [("broken_line", 3, "line 3")])


def test_a_broken_first_line_is_a_defect(write: Any) -> None:
    """It belongs to the first conversation that follows [EXE-07]."""
    transcript = load_transcript(write("{broken", HELLO, BYE))

    assert (len(transcript), places(transcript.defects)) == (2, [("broken_line", 1, "line 1")])


def test_a_line_that_is_no_utf8_is_a_defect(tmp_path: Path) -> None:
    """One wrong byte does not cost the file [EXE-07]."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(HELLO.encode() + b'\n{"role": "user", "content": "\xff"}\n' + BYE.encode())
    transcript = load_transcript(path)

    assert (len(transcript), places(transcript.defects)) == (2, [("broken_line", 2, "line 2")])


def test_a_line_of_another_kind_among_conversations_is_a_defect(write: Any) -> None:
    """It is listed with the conversation before it [EXE-07]."""
    first, second = load_transcripts(write(f"[{HELLO}]", '{"event": "saved"}', f"[{BYE}]"))

    assert (places(first.defects), places(second.defects)) == ([("broken_line", 2, "line 2")], [])


def test_a_message_defect_names_its_line(write: Any) -> None:
    """Positions count messages, places count lines [EXE-07]."""
    transcript = load_transcript(write(HELLO, "", '{"role": "user", "content": ""}'))

    assert places(transcript.defects) == [("empty_content", 1, "line 3.content")]


def test_the_first_line_in_another_format_is_refused_by_its_name(write: Any) -> None:
    """Foreign formats come as JSONL as well [EXE-07]."""
    path = write('{"conversations": [{"from": "human", "value": "Hi"}]}', "{}")

    with pytest.raises(TranscriptError, match="looks like ShareGPT"):
        load_transcript(path)


@pytest.mark.parametrize("lines", [("{broken", "{worse"), ('{"event": 1}', '{"event": 2}')])
def test_a_file_without_one_readable_conversation_is_refused(write: Any, lines: tuple[str, ...]) -> None:
    """A list of defects alone would be no transcript."""
    with pytest.raises(TranscriptError, match=r"No line|no conversation"):
        load_transcript(write(*lines))


def test_a_line_over_the_limit_is_refused(write: Any) -> None:
    """A file without line breaks must not fill the memory."""
    with pytest.raises(TranscriptError, match=r"Line 1 of .* is longer than 20 bytes"):
        list(load_transcripts(write(HELLO, BYE), max_bytes=20))


def test_an_index_needs_only_the_lines_up_to_it(write: Any) -> None:
    """What is broken further on does not matter to the first conversation."""
    path = write(f"[{HELLO}]", f"[{BYE}]", f"[{HELLO}]", '{"messages": [{"from": "human", "value": "x"}]}')

    assert load_transcript(path, index=1).messages[0].text == "Bye"


def test_many_conversations_are_read_in_little_memory(tmp_path: Path) -> None:
    """A file of 20 MB needs room for a few of its conversations of 100 kB, not for all."""
    line = json.dumps({"messages": [{"role": "user", "content": "x" * 100_000}]}) + "\n"
    path = tmp_path / "large.jsonl"
    path.write_text(line * 200, encoding="utf-8")

    tracemalloc.start()
    count = sum(1 for _ in load_transcripts(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (count, peak < 3_000_000) == (200, True)
