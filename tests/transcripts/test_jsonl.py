"""JSONL: broken lines cost themselves only, and reading is lazy."""

from __future__ import annotations

import io
import json
import re
import tracemalloc
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest

from koogbook.clock import FixedClock
from koogbook.errors import TranscriptError
from koogbook.transcripts.load import load_transcript, load_transcripts
from koogbook.transcripts.transcript import Defect

HELLO = '{"role": "user", "content": "Hello"}'
BYE = '{"role": "user", "content": "Bye"}'


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        """It is one."""
        return True


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
    assert found[0].format == "openai-chat"


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


def test_a_broken_last_line_with_a_line_break_is_no_torn_one(write: Any) -> None:
    """Who was stopped while writing did not get to the line break [KB-158]."""
    transcript = load_transcript(write(HELLO, BYE, '{"role": "us'))

    assert (len(transcript), places(transcript.defects)) == (2, [("broken_line", 3, "line 3")])


def test_two_records_on_one_line_cost_this_line_only(write: Any) -> None:
    """A record was appended to half of another one [KB-110]."""
    torn = '{"role":"assistant","content":"tw' + HELLO
    transcript = load_transcript(write(HELLO, torn, BYE))

    assert ([one.text for one in transcript], places(transcript.defects)) == (
        ["Hello", "Bye"],
        [("broken_line", 2, "line 2")],
    )


def test_a_line_torn_in_the_middle_of_a_character_is_torn(tmp_path: Path) -> None:
    """Three bytes make one Chinese character [KB-158]."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(HELLO.encode() + b'\n{"role": "user", "content": "\xe9\x9b')
    transcript = load_transcript(path)

    assert (len(transcript), places(transcript.defects)) == (1, [("torn_line", 2, "line 2")])


def test_zero_bytes_cost_their_line_only(tmp_path: Path) -> None:
    """A crash of the machine leaves them at the end, or inside [KB-112]."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(HELLO.encode() + b"\n" + b"\0" * 20 + b"\n" + BYE.encode() + b"\n" + b"\0" * 9)
    transcript = load_transcript(path)

    assert (len(transcript), places(transcript.defects)) == (
        2,
        [("broken_line", 2, "line 2"), ("torn_line", 4, "line 4")],
    )


def test_many_broken_lines_in_a_row_are_counted(write: Any) -> None:
    """The first hundred are listed; a list of a million would help nobody [KB-158]."""
    transcript = load_transcript(write(HELLO, *["{broken"] * 250, BYE))

    assert (len(transcript), len(transcript.defects)) == (2, 101)
    assert str(transcript.defects[-1]) == (
        "line 251: 150 more lines in a row could not be read (broken_line)"
    )


def test_a_torn_line_after_many_broken_ones_is_listed(write: Any) -> None:
    """It is no damage like theirs, and not one of those that are counted [KB-158]."""
    transcript = load_transcript(write(f"[{HELLO}]", *["{broken"] * 102, '{"role": "us', end=""))

    assert places(transcript.defects)[-2:] == [
        ("torn_line", 104, "line 104"),
        ("broken_line", 103, "line 103"),
    ]
    assert transcript.defects[-1].text.startswith("2 more lines")


def test_lines_with_messages_of_two_formats_do_not_cost_the_conversations_around_them(write: Any) -> None:
    """They are left out and listed, as on one line [EXE-07]."""
    first, second = load_transcripts(write(f"[{HELLO}]", ANTHROPIC, CALL, f"[{BYE}]"))

    assert ([one.text for one in first], [one.text for one in second]) == (["Hello"], ["Bye"])
    assert (places(first.defects), second.defects) == ([("mixed_formats", 2, "line 2")], ())
    assert "and line 3 is of openai-chat" in first.defects[0].text
    assert first.defects[0].text.endswith("lines 2 to 3 were left out")


def test_lines_with_messages_of_another_format_than_the_chosen_one_are_refused(write: Any) -> None:
    """Their calls would be lost [EXE-07]."""
    with pytest.raises(TranscriptError, match="line 2 is of the format openai-chat"):
        load_transcript(write(HELLO, CALL), format="anthropic")


def test_an_empty_file_has_no_conversation_and_is_no_damage(tmp_path: Path) -> None:
    """A log to which nothing was written yet is legal [KB-112]."""
    path = tmp_path / "chat.jsonl"
    path.touch()

    assert list(load_transcripts(path)) == []
    with pytest.raises(TranscriptError, match="has no conversation; index=0 is not among them"):
        load_transcript(path)


SHAREGPT = '{"conversations": [{"from": "human", "value": "Hi"}]}'
ANTHROPIC = '{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "a", "input": {}}]}'
CALL = '{"role": "assistant", "content": null, "tool_calls": []}'
ITEM = '{"type": "function_call", "name": "a", "arguments": "{}", "call_id": "c"}'


def test_each_line_with_a_conversation_is_read_by_its_own_format(write: Any) -> None:
    """Where the format changes, there is a defect [EXE-07]."""
    found = list(load_transcripts(write(f"[{HELLO}]", SHAREGPT, SHAREGPT, f"[{BYE}]")))

    assert [(one.format, [defect.kind for defect in one.defects]) for one in found] == [
        ("openai-chat", []),
        ("sharegpt", ["mixed_formats"]),
        ("sharegpt", []),
        ("openai-chat", ["mixed_formats"]),
    ]
    assert places(found[1].defects) == [("mixed_formats", 0, "line 2: $.conversations")]


def test_lines_with_messages_of_two_formats_are_refused_with_both_places(write: Any) -> None:
    """They would be one conversation [EXE-07]."""
    path = write(HELLO, ANTHROPIC, BYE, CALL)

    with pytest.raises(
        TranscriptError, match="line 2 is of the format anthropic and line 4 is of openai-chat"
    ):
        load_transcript(path)


@pytest.mark.parametrize(
    ("lines", "format"),
    [
        ((HELLO, ANTHROPIC), "anthropic"),
        ((HELLO, CALL), "openai-chat"),
        ((HELLO, ITEM), "openai-responses"),
        (('{"from": "human", "value": "Hi"}', '{"from": "gpt", "value": "Hello"}'), "sharegpt"),
        (
            ('{"type": "human", "data": {"content": "Hi"}}', '{"type": "ai", "data": {"content": ""}}'),
            "langchain",
        ),
        (('{"sender": "human", "text": "Hi"}', '{"sender": "assistant", "text": "Hello"}'), "claude-export"),
        (
            (
                '{"type": "user", "uuid": "a", "parentUuid": null, "message": {"role": "user", "content": "Hi"}}',
                '{"type": "user", "uuid": "b", "parentUuid": "a", "message": {"role": "user", "content": "Ho"}}',
            ),
            "claude-code",
        ),
    ],
)
def test_lines_with_a_message_each_are_known_in_every_format(
    write: Any, lines: tuple[str, ...], format: str
) -> None:
    """Plain messages belong to the format of those that have a mark [EXE-07]."""
    found = list(load_transcripts(write(*lines)))

    assert [(one.format, len(one)) for one in found] == [(format, 2)]


def test_a_torn_tail_is_a_defect_in_every_format(write: Any) -> None:
    """The lines before it load [KB-158]."""
    turn = '{"from": "human", "value": "Hi"}'
    transcript = load_transcript(write(turn, '{"from": "gp', end=""))

    assert (transcript.format, len(transcript)) == ("sharegpt", 1)
    assert places(transcript.defects) == [("torn_line", 2, "line 2")]


def test_a_line_may_hold_a_list_of_conversations(write: Any) -> None:
    """An export of one line is such a file."""
    found = list(load_transcripts(write(f"[[{HELLO}], [{BYE}]]")))

    assert [one.messages[0].text for one in found] == ["Hello", "Bye"]


def test_the_first_line_in_a_format_that_is_not_read_is_refused_by_its_name(write: Any) -> None:
    """Foreign formats come as JSONL as well [EXE-07]."""
    path = write('{"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}', "{}")

    with pytest.raises(TranscriptError, match="looks like a Gemini"):
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
    path = write(f"[{HELLO}]", f"[{BYE}]", f"[{HELLO}]", "x" * 200)

    assert load_transcript(path, index=1, max_bytes=100).messages[0].text == "Bye"


def test_many_conversations_are_read_in_little_memory(tmp_path: Path) -> None:
    """A file of 16 MB needs room for a few of its conversations of 80 kB, not for all."""
    turns = [{"from": who, "value": f"{who} says " + "x" * 4_000} for who in ("human", "gpt") * 10]
    path = tmp_path / "large.jsonl"
    path.write_text((json.dumps({"conversations": turns}) + "\n") * 200, encoding="utf-8")

    tracemalloc.start()
    count = sum(1 for _ in load_transcripts(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (count, peak < 3_000_000) == (200, True)


def test_a_long_file_shows_how_far_it_is_read(
    write: Any, monkeypatch: pytest.MonkeyPatch, fixed_clock: FixedClock
) -> None:
    """One line stays in the terminal, with what was found [NBK-13]."""
    monkeypatch.delenv("KOOGBOOK_STATIC", raising=False)
    terminal = Terminal()
    path = write(f"[{HELLO}]", f"[{BYE}]", f"[{BYE}]")
    with redirect_stderr(terminal):
        for _ in load_transcripts(path):
            fixed_clock.advance(2.0)

    assert ("reading chat.jsonl" in terminal.getvalue(), terminal.getvalue().rpartition("\r")[2]) == (
        True,
        f"chat.jsonl: 3 conversations in {path.stat().st_size} bytes\n",
    )


def test_a_long_document_shows_how_far_its_conversations_are_read(
    write: Any, monkeypatch: pytest.MonkeyPatch, fixed_clock: FixedClock
) -> None:
    """Each of them is its share of the bytes [NBK-13]."""
    monkeypatch.delenv("KOOGBOOK_STATIC", raising=False)
    terminal = Terminal()
    path = write(f"[[{HELLO}], [{BYE}], [{BYE}], [{BYE}]]", name="chat.json")
    shown = []
    with redirect_stderr(terminal):
        for _ in load_transcripts(path):
            fixed_clock.advance(2.0)
            shown.append(re.findall(r"(\d+)%", terminal.getvalue())[-1:])

    assert shown[:2] == [[], ["50"]]
    assert terminal.getvalue().endswith(f"chat.json: 4 conversations in {path.stat().st_size} bytes\n")
