"""Experiment E9: a process dies after the first node's checkpoint, and another one goes on at the second node."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import koogbook as kb

PROGRAM = Path(__file__).with_name("persist_demo_program.py")


def run(folder: Path, mode: str, session_id: str = "persistent-session") -> subprocess.CompletedProcess[str]:
    """One process of its own, with the database below this folder."""
    return subprocess.run(
        [sys.executable, PROGRAM, mode, session_id, f"agent-{mode}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What it printed, without the process id, which is another one each time."""
    return re.sub(r"pid=\d+ ", "", done.stdout).splitlines()


@pytest.fixture
def killed(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """The first process, which was killed in its second node."""
    return run(tmp_path, "save")


def test_the_first_process_saves_and_is_killed(killed: subprocess.CompletedProcess[str]) -> None:
    """It reads its checkpoint from the store inside the second node; the ephemeral key is not in it [E9]."""
    assert lines(killed) == [
        "PREPARE agent=agent-save session=persistent-session input=ORIGINAL",
        "SAVED node=agent-save/persist-demo/prepare keys=[business-state]",
    ]
    assert killed.returncode == -signal.SIGKILL


def test_the_second_process_goes_on_at_the_second_node(
    killed: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    """Another agent id and another input: no PREPARE, the old output, the state back, no request [E9]."""
    resumed = run(tmp_path, "resume")

    assert lines(resumed) == [
        "RESTORED agent=agent-resume session=persistent-session state=(Alice, 42) previous=prepared:ORIGINAL "
        "firstExecuted=false",
        "EPHEMERAL readable=false",
        "RESULT prepared:ORIGINAL",
        "REQUESTS 0",
    ]
    assert (resumed.returncode, resumed.stderr) == (0, "")


def test_the_two_processes_are_different_ones(
    killed: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    """Nothing of the first one's memory can have helped [E9]."""
    resumed = run(tmp_path, "resume")

    ids = [re.findall(r"pid=(\d+)", done.stdout)[0] for done in (killed, resumed)]
    assert ids[0] != ids[1]


def test_without_a_kill_both_nodes_run_and_see_everything(tmp_path: Path) -> None:
    """The ephemeral value is readable in the run that made it [E9b]."""
    assert lines(run(tmp_path, "fresh")) == [
        "PREPARE agent=agent-fresh session=persistent-session input=NEW-IGNORED",
        "RESTORED agent=agent-fresh session=persistent-session state=(Alice, 42) previous=prepared:NEW-IGNORED "
        "firstExecuted=true",
        "EPHEMERAL readable=true",
        "RESULT prepared:NEW-IGNORED",
        "REQUESTS 0",
    ]


@pytest.mark.parametrize("session_id", ["persistent-session", "another-session"])
def test_after_completion_and_in_another_session_a_run_starts_afresh(
    killed: subprocess.CompletedProcess[str], tmp_path: Path, session_id: str
) -> None:
    """With its own input from the first node on [E9c]."""
    run(tmp_path, "resume")

    again = lines(run(tmp_path, "resume", session_id))

    assert again[0] == f"PREPARE agent=agent-resume session={session_id} input=NEW-IGNORED"
    assert again[1].endswith("previous=prepared:NEW-IGNORED firstExecuted=true")
    assert again[3] == "RESULT prepared:NEW-IGNORED"


def test_a_completed_session_ends_with_a_tombstone(
    killed: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    """That is why the next run starts afresh [E9c]."""
    run(tmp_path, "resume")

    store = kb.SqliteCheckpoints(tmp_path / "state" / "koogbook.db")
    assert [info.kind for info in store.list_infos("persistent-session")] == ["node", "node", "tombstone"]
