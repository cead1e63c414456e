"""The main job: a conversation through a strategy, and a page about it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from demo_chats import OPEN_CALL, chat, write

import koogbook as kb
from koogbook.demo import Demo, facts_in, run_demo, turns_of
from koogbook.errors import TranscriptError

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
async def sample_demo(in_folder: Path) -> Demo:
    """The demo on the sample."""
    return await run_demo()


async def test_the_sample_runs_through_every_node(sample_demo: Demo) -> None:
    """The whole strategy is used, compression included."""
    visited = {event.path for event in sample_demo.run.events if event.name == "NodeCompleted"}

    assert visited == {f"replay/{name}" for name in sample_demo.run.strategy.graph.nodes}


async def test_the_sample_is_compressed_and_every_message_has_a_fate(sample_demo: Demo) -> None:
    """The ledger is complete for each compression."""
    complete = [len(ledger.fates) == len(ledger.before) for ledger in sample_demo.run.compressions]

    assert complete
    assert all(complete)


async def test_sessions_wait_for_each_other(sample_demo: Demo) -> None:
    """The readers at the end make the writer wait."""
    assert [event.mode for event in sample_demo.run.events if event.name == "SessionWaiting"] == ["write"]


async def test_the_fork_runs_on_from_the_middle(sample_demo: Demo) -> None:
    """The fork does not start afresh: it goes on after the node whose checkpoint was forked."""
    restored = sample_demo.fork.resumed_from

    assert sample_demo.forked_from is not None
    assert restored is not None
    assert restored.path == sample_demo.forked_from.path


async def test_both_lines_stay_in_the_store(sample_demo: Demo) -> None:
    """A fork takes nothing from the line that it comes from."""
    infos = kb.SqliteCheckpoints(sample_demo.database).list_infos("demo", with_forks=True)

    assert {(info.session_id, info.is_tombstone) for info in infos} == {
        ("demo", False),
        ("demo", True),
        ("demo-fork", False),
        ("demo-fork", True),
    }


async def test_the_page_asks_nothing_of_the_network(sample_demo: Demo) -> None:
    """The page opens offline."""
    html = sample_demo.page.read_text(encoding="utf-8")

    assert re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*\"|url\((?!data:)", html) == []
    assert "<script" not in html


async def test_the_page_stays_small(sample_demo: Demo) -> None:
    """A page about sixty messages is under half a megabyte."""
    assert sample_demo.page.stat().st_size < 500_000


async def test_hostile_text_is_shown_and_not_obeyed(in_folder: Path) -> None:
    """Text of a model, a tool or a user is never markup."""
    file = write(in_folder / "chat.json", chat({"role": "user", "content": HOSTILE}))
    made = await run_demo(file)

    assert "<img src=x" not in made.page.read_text(encoding="utf-8")


async def test_a_broken_history_is_repaired_and_each_repair_is_listed(in_folder: Path) -> None:
    """Orphan results do not stop the demo, and none is taken out in silence."""
    orphan = {"role": "tool", "tool_call_id": "nowhere", "content": "lost"}
    made = await run_demo(
        write(in_folder / "chat.json", chat(orphan, {"role": "user", "content": "And now?"}))
    )

    assert "nowhere" in " ".join(str(defect) for defect in made.transcript.defects)


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param([{"role": "user", "content": "half an emoji \ud83c"}], id="lone surrogate"),
        pytest.param(
            [
                {"role": "assistant", "content": None, "tool_calls": [_call]}
                if kind == "call"
                else {"role": "tool", "tool_call_id": "same", "content": "ok"}
                for _ in range(2)
                for kind, _call in (
                    (
                        "call",
                        {"id": "same", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    ),
                    ("result", None),
                )
            ],
            id="null content and an id used twice",
        ),
        pytest.param([{"role": "user", "content": ""}], id="empty content"),
        pytest.param([{"role": "user", "content": "\u202eright to left\x00"}], id="direction marks and NUL"),
    ],
)
async def test_odd_messages_run_through(in_folder: Path, extra: list[dict[str, Any]]) -> None:
    """What occurs in real files does not stop the demo."""
    made = await run_demo(write(in_folder / "chat.json", chat(*extra)))

    assert made.run.error is None


@pytest.mark.parametrize("options", [{"budget": 0}, {"most": 0}, {"must_keep": [""]}], ids=str)
async def test_a_useless_option_is_refused_before_anything_is_made(
    in_folder: Path, options: dict[str, Any]
) -> None:
    """The function checks as the command does."""
    with pytest.raises(ValueError, match="Nothing was made"):
        await run_demo(**options)

    assert not (in_folder / ".koogbook").exists()


async def test_an_index_without_a_file_is_refused(in_folder: Path) -> None:
    """The sample is one conversation, and an index that is ignored would mislead."""
    with pytest.raises(TranscriptError, match="sample is one conversation"):
        await run_demo(index=3)


async def test_a_conversation_over_the_limit_is_refused_with_the_ways_out(in_folder: Path) -> None:
    """Nobody waits for minutes without a word."""
    file = write(in_folder / "chat.json", chat())

    with pytest.raises(TranscriptError, match=r"has 25 messages.*at most 24.*--index N.*--most 25"):
        await run_demo(file, most=24)

    assert not (in_folder / ".koogbook").exists()


@pytest.fixture
async def demo_with_an_open_call(in_folder: Path) -> Demo:
    """The demo on a conversation that was saved while a tool was at work."""
    asked = {"role": "user", "content": "Which train?"}
    return await run_demo(write(in_folder / "chat.json", chat(asked, OPEN_CALL)))


async def test_a_conversation_that_ends_in_an_open_call_runs_through(demo_with_an_open_call: Demo) -> None:
    """The demo asks a question at the end, and a call must have its result before that."""
    assert (demo_with_an_open_call.run.error, demo_with_an_open_call.fork.error) == (None, None)
    assert demo_with_an_open_call.transcript.messages[-1].text == "Let me see."


async def test_an_open_call_that_is_not_replayed_is_listed(demo_with_an_open_call: Demo) -> None:
    """It is among the defects of the file and among the repairs, with its place."""
    assert [(one.kind, one.position) for one in demo_with_an_open_call.transcript.defects] == [
        ("open_call", 26),
        ("repaired", 26),
    ]


async def test_the_page_says_what_was_repaired(demo_with_an_open_call: Demo) -> None:
    """Apart from the defects of the file, which are those before the repair."""
    html = demo_with_an_open_call.page.read_text(encoding="utf-8")

    assert "Repairs, so that the conversation can be replayed: 1" in html
    assert "a call of trains without a result was taken out" in html
    assert "Defects in the file: 1" in html


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Поезд в Казань отправляется утром. ", id="Cyrillic"),
        pytest.param("يغادر القطار إلى القاهرة صباحا ", id="Arabic"),
        pytest.param("रेलगाड़ी सुबह चलती है। ", id="Devanagari"),
        pytest.param("รถไฟไปเชียงใหม่ออกตอนเช้า", id="Thai"),
        pytest.param("x = f(y)\n", id="code"),
        pytest.param("and then it went on and on ", id="without punctuation"),
        pytest.param("ok\n", id="short lines"),
        pytest.param("A" * 50, id="one long word"),
    ],
)
async def test_a_conversation_in_any_script_runs_through(in_folder: Path, text: str) -> None:
    """And it is compressed on the way."""
    talk = [{"role": role, "content": text * 40} for _ in range(8) for role in ("user", "assistant")]
    made = await run_demo(write(in_folder / "chat.json", talk))

    assert made.run.compressions


def test_turns_begin_at_user_messages_and_part_no_pair() -> None:
    """A call and its result are in one turn, whatever stands around them."""
    call = kb.ToolCall("trains", "{}", "1")
    asked = kb.assistant("", calls=[call])
    history = [kb.user("a"), asked, kb.tool_result(call, "9:00"), kb.assistant("At nine."), kb.user("b")]

    assert [len(turn) for turn in turns_of(history)] == [4, 1]


def test_the_turns_of_the_sample_hold_every_message_once() -> None:
    """Nothing is lost in the cutting."""
    messages = kb.sample_transcript().messages

    assert [message for turn in turns_of(messages) for message in turn] == list(messages)


def test_figures_that_a_user_named_are_the_facts_of_an_unknown_conversation() -> None:
    """Amounts, times and codes are what one would miss first."""
    history = [kb.user("At most $1,200, after 9:30, for booking EHGLP3."), kb.assistant("That is $999.")]

    assert facts_in(history) == ("$1,200", "9:30", "EHGLP3")
