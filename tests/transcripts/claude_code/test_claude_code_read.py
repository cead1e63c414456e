"""Logs of Claude Code: one line out of a tree of entries, with rewinds, compactions and results beside the line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from chat_strategies import kinds
from claude_code_entries import PARALLEL, REWOUND, model, result, text, use, user

from koogbook.errors import TranscriptError
from koogbook.messages.message import REFERENCE_NAME, SUMMARY_NAME, Message, Usage
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.claude_code.format import FORMAT
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.load import load_transcript
from koogbook.transcripts.transcript import Defect


def read(*entries: Any, branch: str | None = None) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages and defects of a log with these entries."""
    return FORMAT.read(Conversation(entries, "$", branch=branch))


def texts(messages: tuple[Message, ...]) -> list[str]:
    """What the messages say."""
    return [one.text for one in messages]


MAIN = ["Begin", "ready", "try two", "two done", "Summary: two done.", "after"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A file with a rewind and a compaction."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in REWOUND), encoding="utf-8")
    return path


def test_the_main_line_leads_from_the_last_leaf_to_the_root(log: Path) -> None:
    """Through the logical parent of the compaction, and past what was rewound [KB-157]."""
    transcript = load_transcript(log)

    assert (texts(transcript.messages), transcript.format) == (MAIN, "claude-code")


def test_a_title_that_the_program_wrote_first_is_part_of_the_log(tmp_path: Path) -> None:
    """It is no broken line, and no message [EXE-07]."""
    path = tmp_path / "log.jsonl"
    lines = [{"type": "ai-title", "title": "Rain"}, *REWOUND]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in lines), encoding="utf-8")
    transcript = load_transcript(path)

    assert texts(transcript.messages) == MAIN
    assert "broken_line" not in kinds(transcript.defects)
    assert any("of type ai-title" in one.text for one in transcript.defects)


def test_the_summary_of_a_compaction_is_not_the_users_words(log: Path) -> None:
    """The log has it as a user's message [KB-157]."""
    messages = load_transcript(log).messages

    assert [one.is_summary for one in messages] == [False] * 4 + [True, False]
    assert [one.text for one in messages if one.is_from_user] == ["Begin", "try two", "after"]


def test_the_context_of_the_model_is_the_summary_and_what_came_after(log: Path) -> None:
    """The transcript has all six, the model had two before it [KB-157]."""
    assert texts(load_transcript(log).context) == ["Summary: two done.", "after"]


def test_a_branch_that_was_rewound_is_listed_with_its_number_of_messages(log: Path) -> None:
    """And nothing else is odd about this log [KB-157]."""
    defects = load_transcript(log).defects

    assert [(one.kind, one.position, one.where) for one in defects] == [("other_branch", 1, "line 3")]
    assert "1 message" in defects[0].text
    assert "branch='x1'" in defects[0].text


@pytest.mark.parametrize("branch", ["x1", "1"])
def test_a_branch_is_read_when_it_is_asked_for(log: Path, branch: str) -> None:
    """By an id on it, or by its number among those that are listed [KB-157]."""
    assert texts(load_transcript(log, branch=branch).messages) == ["Begin", "ready", "try one"]


def test_an_id_on_the_main_line_asks_for_the_main_line() -> None:
    """It is the line that goes through this entry."""
    assert texts(read(*REWOUND, branch="a1")[0]) == MAIN


@pytest.mark.parametrize("branch", ["2", "0", "nope", "-1"])
def test_a_branch_that_is_not_there_is_an_error(branch: str) -> None:
    """The message names those that are."""
    with pytest.raises(TranscriptError, match=r"no branch .*Nothing was loaded.*1 \(x1\)"):
        read(*REWOUND, branch=branch)


def test_a_circle_of_parents_is_an_error_and_no_endless_walk() -> None:
    """Such a file has no first message [KB-157]."""
    with pytest.raises(TranscriptError, match="parents of each other in a circle"):
        read({**REWOUND[0], "parentUuid": "z1"}, *REWOUND[1:])


def test_the_last_leaf_counts_and_not_the_last_entry() -> None:
    """Entries may be written out of order."""
    messages, _ = read(
        user("u", None, text("go")), model("a2", "a1", "n", text("done")), model("a1", "u", "m", text("well"))
    )

    assert texts(messages) == ["go", "well", "done"]


def test_a_log_that_is_nothing_but_a_circle_is_an_error() -> None:
    """There is no leaf to begin at."""
    with pytest.raises(TranscriptError, match="parents of each other in a circle"):
        read(user("a", "b", text("one")), user("b", "a", text("two")))


def test_each_branch_is_listed_at_the_message_that_it_leaves() -> None:
    """In the order of these messages, whichever was written first."""
    _, defects = read(
        user("u", None, text("Begin")),
        model("a", "u", "m1", text("ready")),
        user("x", "a", text("later")),
        model("y", "u", "m2", text("sooner")),
        user("z", "a", text("go on")),
    )

    assert [(one.position, one.where) for one in defects] == [(0, "$[3]"), (1, "$[2]")]


def test_branches_are_numbered_as_they_are_listed() -> None:
    """Also where an entry further on is of an earlier message [KB-157]."""
    log = [
        user("u", None, text("both")),
        model("a1", "u", "m", use("A")),
        user("rA", "a1", result("A")),
        user("x", "rA", text("stop")),
        model("a2", "rA", "m", use("B")),
        user("y", "a2", text("wait")),
        user("rB", "a2", result("B")),
        model("a3", "rB", "n", text("done")),
    ]
    listed = [one.text for one in read(*log)[1]]

    assert ["stop" in listed[0], "wait" in listed[1]] == [True, True]
    assert [read(*log, branch=number)[0][-1].text for number in ("1", "2")] == ["stop", "wait"]


def test_entries_of_one_message_id_are_one_message() -> None:
    """A line is written per block; usage and reason are those of the last [KB-157]."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    messages, defects = read(
        user("u", None, text("go")),
        model("a1", "u", "m", thinking, usage={"input_tokens": 3, "output_tokens": 1}, stop_reason=None),
        model(
            "a2",
            "a1",
            "m",
            text("well"),
            usage={"input_tokens": 3, "output_tokens": 5},
            stop_reason="end_turn",
        ),
    )

    assert messages[1].parts == (Reasoning("hm", "s"), Text("well"))
    assert (messages[1].usage, messages[1].finish_reason, defects) == (Usage(3, 5), "end_turn", ())


def test_results_of_parallel_calls_belong_to_the_line() -> None:
    """Each has its own call as its parent, so that only the last is an ancestor of what follows [EXE-02]."""
    messages, defects = read(*PARALLEL)

    assert [one.role for one in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [part.call_id for one in messages for part in one.results] == ["A", "B"]
    assert (defects, pair_messages(messages).defects) == ((), ())


def test_calls_of_one_message_stay_together_when_results_come_between() -> None:
    """A program may run the first call while the model still writes the second [EXE-02]."""
    messages, defects = read(
        user("u", None, text("both")),
        model("a1", "u", "m", use("A")),
        user("rA", "a1", result("A")),
        model("a2", "rA", "m", use("B")),
        user("rB", "a2", result("B")),
    )

    assert messages[1].calls == (ToolCall("look", "{}", "A"), ToolCall("look", "{}", "B"))
    assert ([one.role for one in messages[2:]], defects) == (["tool", "tool"], ())


def test_calls_of_one_message_stay_together_when_one_is_beside_the_line() -> None:
    """The log may go on from the result of the first call, and the second is of the same message [EXE-02]."""
    messages, defects = read(
        user("u", None, text("both")),
        model("a1", "u", "m", use("A")),
        model("a2", "a1", "m", use("B")),
        user("rB", "a2", result("B")),
        user("rA", "a1", result("A")),
        model("a3", "rA", "n", text("done")),
    )

    assert messages[1].calls == (ToolCall("look", "{}", "A"), ToolCall("look", "{}", "B"))
    assert [part.call_id for one in messages for part in one.results] == ["B", "A"]
    assert kinds(defects) == ["out_of_order"]


def test_a_second_result_beside_the_line_is_a_branch() -> None:
    """A call has one result [EXE-02]."""
    again = user("r3", "a1", {**result("A"), "content": "again"})
    messages, defects = read(*PARALLEL[:4], again, *PARALLEL[4:])

    assert [part.output for one in messages for part in one.results] == ["seen A", "seen B"]
    assert kinds(defects) == ["other_branch"]


def test_another_result_of_a_call_is_a_branch() -> None:
    """A tool that was run again after a rewind has one result on the line [EXE-02]."""
    messages, defects = read(
        user("u", None, text("go")),
        model("a1", "u", "m", use("A")),
        user("r1", "a1", {**result("A"), "content": "old"}),
        user("r2", "a1", {**result("A"), "content": "new"}),
        model("a2", "r2", "n", text("done")),
    )

    assert messages[2].results == (ToolResult("new", "look", "A"),)
    assert kinds(defects) == ["other_branch"]


def test_a_side_chain_is_listed_as_such() -> None:
    """What another agent did for this one is a conversation of its own [EXE-07]."""
    side = [
        user("s1", None, text("look it up"), isSidechain=True),
        {**model("s2", "s1", "n", text("found")), "isSidechain": True},
    ]
    messages, defects = read(user("u", None, text("go")), *side)

    assert texts(messages) == ["go"]
    assert "a side chain" in defects[0].text
    assert "2 messages" in defects[0].text


def test_a_log_of_one_side_chain_is_read() -> None:
    """Agents have files of their own."""
    assert texts(read(user("s1", None, text("look it up"), isSidechain=True))[0]) == ["look it up"]


def test_what_the_program_says_for_the_user_is_not_the_users_words() -> None:
    """Reminders and the texts of skills [EXE-07]."""
    messages, _ = read(user("u", None, text("Caveat: ..."), isMeta=True))

    assert (messages[0].name, messages[0].is_from_user) == (REFERENCE_NAME, False)


def test_entries_that_are_no_messages_are_listed_by_their_types() -> None:
    """Some stand on the line, some outside of the tree [EXE-07]."""
    messages, defects = read(
        {"type": "summary", "summary": "A title", "leafUuid": "a1"},
        user("u", None, text("go")),
        {"type": "progress", "uuid": "p1", "parentUuid": "u"},
        {"type": "progress", "uuid": "p2", "parentUuid": "p1"},
        model("a1", "p2", "m", text("done")),
    )

    assert texts(messages) == ["go", "done"]
    assert [(one.kind, one.where) for one in defects] == [
        ("unknown_entry", "$[0]"),
        ("unknown_entry", "$[2]"),
    ]
    assert "A title" in defects[0].text
    assert defects[1].text.startswith("2 entries of type progress")


def test_a_parent_that_is_not_in_the_file_is_listed() -> None:
    """What came before is in another file, or lost [EXE-07]."""
    messages, defects = read(user("u", "gone", text("go on")))

    assert (texts(messages), kinds(defects)) == (["go on"], ["missing_parent"])
    assert "'gone'" in defects[0].text


def test_an_id_that_comes_again_is_listed() -> None:
    """A session that is resumed may write its entries again; the first counts [EXE-07]."""
    messages, defects = read(*REWOUND[:2], REWOUND[0])

    assert (texts(messages), kinds(defects)) == (["Begin", "ready"], ["duplicate_id"])


def test_an_entry_keeps_its_id_its_time_and_its_fields() -> None:
    """The fields are in the metadata, the content is not there a second time [EXE-07]."""
    more = {"timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/home", "toolUseResult": {"a": 1}}
    messages, _ = read(user("u", None, text("go"), **more))
    kept = messages[0].metadata["claude_code"]["entries"][0]

    assert (messages[0].id, messages[0].time) == ("u", datetime(2026, 1, 2, 3, 4, 5, 678000, UTC))
    assert kept == {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user"}, **more}


def test_the_compaction_is_kept_with_the_summary() -> None:
    """How much was compacted stands in its entry [EXE-07]."""
    boundary = {**REWOUND[5], "compactMetadata": {"trigger": "auto", "preTokens": 9}}
    messages, _ = read(*REWOUND[:5], boundary, *REWOUND[6:])

    assert messages[4].name == SUMMARY_NAME
    assert messages[4].metadata["claude_code"]["compact_boundary"]["compactMetadata"]["preTokens"] == 9


def test_half_an_emoji_is_replaced() -> None:
    """The session that wrote it could not go on [KB-041]."""
    messages, defects = read(user("u", None, text("cut \ud83d")))

    assert (texts(messages), kinds(defects)) == (["cut \ufffd"], ["lone_surrogate"])
    assert defects[0].where == "$[0].message.content[0].text"
