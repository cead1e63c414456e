"""Several processes on one file: nobody is told that the database is locked, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from stored_values import WHEN, checkpoint, draft

import koogbook as kb
from koogbook.errors import SessionBusyError

PROGRAM = Path(__file__).with_name("saving_process.py")
PROCESSES = 4
SAVES = 50


def start(path: Path, *arguments: object) -> subprocess.Popen[str]:
    """One more process on this file."""
    return subprocess.Popen(
        [sys.executable, PROGRAM, path, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def all_ended(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Exit code and last words of each."""
    ended = [(process, *process.communicate(timeout=60)) for process in processes]
    return [(process.returncode, errors[-500:]) for process, _, errors in ended]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that does not exist yet."""
    return tmp_path / "kb.db"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lease of session ``s``."""
    process = start(path, "hold", "s")
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_four_processes_append_to_one_session_without_a_collision(path: Path) -> None:
    """Versions are allotted in the same step as the save: 200 of them, each once [PER-21]."""
    processes = [start(path, "store", "s", f"p{number}", SAVES) for number in range(PROCESSES)]

    assert all_ended(processes) == [(0, "")] * PROCESSES
    versions = [info.version for info in kb.SqliteCheckpoints(path).list_infos("s")]
    assert versions == list(range(PROCESSES * SAVES))


def test_four_processes_run_agents_on_one_file(path: Path) -> None:
    """Each with its own session: leases, saves and tombstones get in nobody's way [PER-05c]."""
    processes = [start(path, "agent", f"s{number}", "a", SAVES) for number in range(PROCESSES)]

    assert all_ended(processes) == [(0, "")] * PROCESSES
    store = kb.SqliteCheckpoints(path)
    assert [len(store.list_infos(f"s{number}")) for number in range(PROCESSES)] == [SAVES + 1] * PROCESSES


async def test_histories_of_several_processes_do_not_mix(path: Path) -> None:
    """Each checkpoint holds the messages of the process that saved it [PER-21]."""
    all_ended([start(path, "store", "s", f"p{number}", 20) for number in range(PROCESSES)])

    found = await kb.SqliteCheckpoints(path).get_checkpoints("s")

    names = [
        (one.info.id.partition(" ")[0], {text.text.partition(" ")[0] for text in one.messages})
        for one in found
    ]
    assert all(texts == {name} for name, texts in names)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_uses_a_connection_of_its_own(path: Path) -> None:
    """An open connection must not be used on both sides of a fork, nor closed on the other one."""
    assert all_ended([start(path, "fork")]) == [(0, "")]
    ids = [info.id for info in kb.SqliteCheckpoints(path).list_infos("s")]
    assert ids == ["parent before", "child", "parent after"]


def test_the_lease_of_a_living_process_is_respected(path: Path, holder: subprocess.Popen[str]) -> None:
    """The answer names the process [PER-05c]."""
    found = kb.SqliteCheckpoints(path).take_lease("s", "ours", 30.0)

    assert found is not None
    assert (found.pid, found.token) == (holder.pid, "theirs")


def test_the_lease_of_another_session_is_free(path: Path, holder: subprocess.Popen[str]) -> None:
    """A lease is for one session id [PER-05c]."""
    assert kb.SqliteCheckpoints(path).take_lease("other", "ours", 30.0) is None


@pytest.mark.parametrize("reaped", [True, False])
def test_the_lease_of_a_killed_process_is_taken_over_at_once(
    path: Path, holder: subprocess.Popen[str], reaped: bool
) -> None:
    """Its time is not waited for, not even where its parent has not noticed its death yet [PER-05c]."""
    os.kill(holder.pid, signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | (0 if reaped else os.WNOWAIT))

    assert kb.SqliteCheckpoints(path).take_lease("s", "ours", 30.0) is None


async def test_a_reader_sees_what_another_process_has_saved(path: Path) -> None:
    """A store that is open already reads the newest state."""
    store = kb.SqliteCheckpoints(path)
    await store.save_checkpoint("t", checkpoint("t"))

    all_ended([start(path, "store", "s", "p", 3)])

    assert len(store.list_infos("s")) == 3


async def test_appending_goes_on_after_another_process(path: Path) -> None:
    """What is remembered of the session does not stand in the way [PER-21]."""
    store = kb.SqliteCheckpoints(path)
    await store.append_checkpoint(draft("s", "mine"))

    all_ended([start(path, "store", "s", "p", 3)])

    assert (await store.append_checkpoint(draft("s", "mine again"))).version == 4


async def test_a_session_that_another_process_holds_is_no_place_for_a_fork(
    path: Path, holder: subprocess.Popen[str]
) -> None:
    """Its run would go on over the fork; nothing is changed [PER-20]."""
    store = kb.SqliteCheckpoints(path)
    await store.save_checkpoint("origin", checkpoint("origin"))

    with pytest.raises(SessionBusyError, match=f"by process {holder.pid} on "):
        await store.fork_checkpoint("origin", "c0", "s", fork_id="f", created=WHEN)

    assert store.list_infos("s") == []


async def test_a_session_whose_holder_is_dead_can_take_a_fork(
    path: Path, holder: subprocess.Popen[str]
) -> None:
    """Its lease counts for nothing [PER-20]."""
    store = kb.SqliteCheckpoints(path)
    await store.save_checkpoint("origin", checkpoint("origin"))
    holder.kill()
    holder.communicate()

    info = await store.fork_checkpoint("origin", "c0", "s", fork_id="f", created=WHEN)

    assert info.kind == "fork"


def test_a_file_that_several_make_at_once_is_theirs(tmp_path: Path) -> None:
    """Whoever looks while another one makes the tables does not take the file for another program's [PER-05c]."""
    made = [tmp_path / f"{number}.db" for number in range(60)]
    problems: list[str] = []

    def open_all(start: threading.Barrier) -> None:
        for path in made:
            start.wait()
            store = kb.SqliteCheckpoints(path)
            try:
                store.list_infos()
            except kb.KoogbookError as problem:
                problems.append(str(problem))
            finally:
                store.close()

    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=open_all, args=(barrier,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
