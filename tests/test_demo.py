"""The main job: a conversation through a strategy, and a page about it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb
from koogbook.cli import main
from koogbook.demo import Demo, facts_in, run_demo, turns_of

HOSTILE = "</script><img src=x onerror=alert(1)>"


def chat(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation in OpenAI's form, long enough to be compressed."""
    talk = [
        {
            "role": role,
            "content": f"{role} says that platform {number} is closed until {number}:30 for repairs. " * 4,
        }
        for number in range(12)
        for role in ("user", "assistant")
    ]
    return [{"role": "system", "content": "Plan trips."}, *talk, *messages]


def write(path: Path, value: Any) -> Path:
    """The value as a JSON file."""
    path.write_text(json.dumps(value), encoding="ascii")
    return path


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


def test_two_demos_in_a_row_do_not_disturb_each_other(in_folder: Path) -> None:
    """Each demo has a fresh folder and deletes nothing."""
    first, second = main(["demo"]), main(["demo"])

    assert (first, second, len(list((in_folder / ".koogbook/demo").iterdir()))) == (0, 0, 2)


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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"%PDF-1.7 \x00\x01", "PDF"),
        (b'{"conversations": [{"from": "human", "value": "hi"}]}', "ShareGPT"),
        (b'[{"role": "system", "content": "only this"}]', "system messages only"),
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


def test_a_missing_file_is_one_clear_line(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong path is named."""
    code = main(["demo", "nowhere.json"])

    assert (code, "nowhere.json" in capsys.readouterr().err) == (2, True)


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
