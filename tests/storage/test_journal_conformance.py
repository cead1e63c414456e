"""One contract for every journal of tool executions, and what the SQLite one holds against other processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from stored_values import WHEN, checkpoint

import koogbook as kb
from koogbook.errors import CorruptStoreError, FeatureError, StoreError
from koogbook.storage.memory_journal import MemoryJournal
from koogbook.storage.sqlite_journal import SqliteJournal
from koogbook.storage.sqlite_schema import MIGRATIONS
from koogbook.tools.journal import ToolExecution

PROGRAM = Path(__file__).with_name("journalling_process.py")
HOSTILE = [
    "",
    " ",
    "../x",
    "with\0nul",
    "with",
    "'; DROP TABLE tool_call; --",
    "%_*?",
    "\ud800",
    "🦊",
    "x" * 10_000,
]


def execution(session_id: str = "s", **fields: Any) -> ToolExecution:
    """One that is about to start, with every field set."""
    given: dict[str, Any] = {
        "number": 0,
        "session_id": session_id,
        "run_id": "run",
        "path": "trip/ask",
        "call_id": "c1",
        "tool": "look",
        "args": '{"x": 1}',
        "started": WHEN,
    }
    return ToolExecution(**{**given, **fields})


END: dict[str, Any] = {"status": "succeeded", "output": "done", "error": "", "seconds": 0.125}


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh journal of each kind."""
    made: Any = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "kb.db")
    yield made
    getattr(made, "close", lambda: None)()


async def test_what_has_begun_is_there(journal: Any) -> None:
    """Every field of it, open still [PER-12a]."""
    number = await journal.begin(execution())

    assert journal.executions("s") == (execution(number=number),)


async def test_an_execution_has_its_end(journal: Any) -> None:
    """How it ended, what it gave, and how long it took [PER-12a]."""
    number = await journal.begin(execution())
    await journal.end("s", number, **END)

    assert journal.executions("s") == (replace(execution(number=number), **END),)


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
async def test_every_end_comes_back(journal: Any, status: str) -> None:
    """Only what succeeded is undone by a rollback [PER-12a]."""
    number = await journal.begin(execution())
    await journal.end("s", number, status=status, output="", error="why", seconds=1.0)

    assert [(one.status, one.error) for one in journal.executions("s")] == [(status, "why")]


async def test_numbers_count_from_one_in_each_session(journal: Any) -> None:
    """Over runs; whatever number an execution brings [PER-12a]."""
    found = [
        await journal.begin(execution(session, run_id=run, number=99))
        for session, run in [("a", "r1"), ("a", "r2"), ("b", "r3"), ("a", "r2")]
    ]

    assert found == [1, 2, 1, 3]


async def test_executions_that_overlap_keep_their_ends_apart(journal: Any) -> None:
    """By number, though all else is equal [KB-019]."""
    first, second = await journal.begin(execution()), await journal.begin(execution())
    await journal.end("s", second, **{**END, "output": "second"})
    await journal.end("s", first, **{**END, "output": "first"})

    assert [one.output for one in journal.executions("s")] == ["first", "second"]


async def test_the_executions_of_one_run_can_be_asked_for(journal: Any) -> None:
    """In order [AGT-03a]."""
    for run in ("r1", "r2", "r1"):
        await journal.begin(execution(run_id=run))

    assert [one.number for one in journal.executions("s", "r1")] == [1, 3]


async def test_an_unknown_session_has_nothing(journal: Any) -> None:
    """No error: there is just nothing."""
    assert journal.executions("nobody") == ()
    assert journal.executions("nobody", "r") == ()


@pytest.mark.parametrize(("session", "number"), [("s", 2), ("s", 0), ("s", -1), ("other", 1)])
async def test_an_end_without_a_beginning_is_refused(journal: Any, session: str, number: int) -> None:
    """Nothing is changed [PER-12a]."""
    await journal.begin(execution())

    with pytest.raises(FeatureError, match="has begun and not ended"):
        await journal.end(session, number, **END)

    assert [one.status for one in journal.executions("s")] == ["started"]


async def test_a_second_end_is_refused(journal: Any) -> None:
    """The first one stays [PER-12a]."""
    number = await journal.begin(execution())
    await journal.end("s", number, **END)

    with pytest.raises(FeatureError, match="has begun and not ended"):
        await journal.end("s", number, **{**END, "status": "failed"})

    assert [one.status for one in journal.executions("s")] == ["succeeded"]


async def test_hostile_session_ids_do_not_mix(journal: Any) -> None:
    """Each is a session of its own [PER-04]."""
    for at, session in enumerate(HOSTILE):
        await journal.begin(execution(session, args=str(at)))

    assert [[one.args for one in journal.executions(session)] for session in HOSTILE] == [
        [str(at)] for at in range(len(HOSTILE))
    ]


_ANY = st.text(st.characters(), max_size=8)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(_ANY, min_size=7, max_size=7),
    call_id=st.none() | _ANY,
    started=st.datetimes(timezones=st.just(UTC)),
    seconds=st.floats(0, 1e9),
)
def test_everything_comes_back_equal(
    journal: Any, texts: list[str], call_id: str | None, started: datetime, seconds: float
) -> None:
    """Any text and any time, to the microsecond [EXE-01]."""
    session, run, path, tool, args, output, error = texts
    begun = execution(session, run_id=run, path=path, call_id=call_id, tool=tool, args=args, started=started)

    async def keep() -> int:
        number: int = await journal.begin(begun)
        await journal.end(session, number, status="failed", output=output, error=error, seconds=seconds)
        return number

    number = asyncio.run(keep())

    expected = replace(begun, number=number, status="failed", output=output, error=error, seconds=seconds)
    assert journal.executions(session)[-1] == expected


async def test_a_time_of_another_zone_is_the_same_moment(journal: Any) -> None:
    """It is kept as UTC or as it is [PER-12a]."""
    zone = timezone(timedelta(hours=8))
    await journal.begin(execution(started=WHEN.astimezone(zone)))

    assert journal.executions("s")[0].started == WHEN


def test_threads_never_share_a_number(journal: Any) -> None:
    """Each has a loop of its own [PER-21]."""

    def begin() -> None:
        async def many() -> None:
            for _ in range(20):
                await journal.begin(execution())

        asyncio.run(many())

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [one.number for one in journal.executions("s")] == list(range(1, 81))


# ------------------------------------------------------------------------------------------- in a file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that does not exist yet."""
    return tmp_path / "kb.db"


def start(path: Path, *arguments: object) -> subprocess.Popen[str]:
    """One more process on this file."""
    return subprocess.Popen(
        [sys.executable, PROGRAM, path, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_never_share_a_number(path: Path) -> None:
    """The number is allotted in the same step as the row is written [PER-21]."""
    processes = [start(path, "store", f"p{number}", 40) for number in range(3)]
    ended = [(process.communicate(timeout=60)[1][-500:], process.returncode) for process in processes]

    assert ended == [("", 0)] * 3
    found = SqliteJournal(path).executions("s")
    assert [one.number for one in found] == list(range(1, 121))
    assert all(one.output == f"{one.run_id} {one.args}" for one in found)


def test_what_was_running_at_a_kill_can_be_read(path: Path) -> None:
    """As started: its effect may have happened or not [PER-12a, PER-18]."""
    process = start(path, "hang")
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()

    (found,) = SqliteJournal(path).executions("s")

    assert (found.number, found.tool, found.args, found.call_id) == (1, "book", '{"city":"Bonn"}', "c1")
    assert (found.status, found.seconds) == ("started", None)


async def test_checkpoints_may_be_in_the_same_file(path: Path) -> None:
    """Both write to it in turn [PER-02]."""
    journal, checkpoints = SqliteJournal(path), kb.SqliteCheckpoints(path)
    for version in range(3):
        await checkpoints.save_checkpoint("s", checkpoint(version=version))
        await journal.begin(execution())

    assert [info.version for info in checkpoints.list_infos("s")] == [0, 1, 2]
    assert len(journal.executions("s")) == 3


async def test_a_file_from_before_the_journal_gets_its_table(path: Path) -> None:
    """What it held stays [PER-02]."""
    await kb.SqliteCheckpoints(path).save_checkpoint("s", checkpoint())
    old = sqlite3.connect(path)
    old.execute("DROP TABLE tool_call")
    old.execute("PRAGMA user_version=1")
    old.close()

    assert await SqliteJournal(path).begin(execution()) == 1
    assert len(kb.SqliteCheckpoints(path).list_infos("s")) == 1
    changed = sqlite3.connect(path)
    assert changed.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    changed.close()


@pytest.mark.parametrize(
    "change", ["status = 'lost'", "seconds = 'long'", "args = 5", "args = x'ff'", "started = 1e300"]
)
async def test_a_damaged_row_is_said_to_be_one(path: Path, change: str) -> None:
    """With its number and session [PER-21]."""
    journal = SqliteJournal(path)
    await journal.begin(execution())
    other = sqlite3.connect(path)
    other.execute(f"UPDATE tool_call SET {change}")
    other.commit()
    other.close()

    with pytest.raises(CorruptStoreError, match="Tool execution 1 of session 's' is damaged"):
        journal.executions("s")


async def test_a_file_of_another_program_is_not_touched(path: Path) -> None:
    """It is refused before anything is written [PER-02]."""
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs(x)")
    other.commit()
    other.close()

    with pytest.raises(StoreError, match="another program"):
        await SqliteJournal(path).begin(execution())
