"""A trace whose file was lost says so in a run, whatever goes wrong before it can be written to again."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from traced_runs import travelled, traveller

import koogbook as kb
from koogbook.errors import TraceError
from koogbook.events import Event, NodeCompleted, NodeStarting, Notice
from koogbook.features.tracing import Tracing
from koogbook.trace import TraceFile


def step(number: int) -> NodeCompleted:
    """An event of a run."""
    return NodeCompleted(visit=number, seconds=0.5, output=f"step {number}")


def outputs(path: Path) -> list[Any]:
    """What the steps in a trace gave."""
    return [event.output for event in kb.load_trace(path) if isinstance(event, NodeCompleted)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in a folder of its own, which can be away for a time."""
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs" / "t.jsonl"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Lets all writes fail, until it is undone."""

    def write(file: Any, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("koogbook.trace.appending._write_all", write)
    return monkeypatch


# ------------------------------------------------------------------------------------------- the file


def test_that_it_was_begun_anew_is_told_once(path: Path) -> None:
    """Where the next write does it already [AGT-04]."""
    file = TraceFile(path)
    told = [file.write([step(1)])]
    path.unlink()
    told += [file.write([step(number)]) for number in (2, 3)]
    file.close()

    assert (told, outputs(path)) == ([False, True, False], ["step 2", "step 3"])


def test_a_write_that_fails_in_between_does_not_take_it_along(path: Path) -> None:
    """The folder is away with the file, and then it is there again, without it [AGT-04]."""
    file = TraceFile(path)
    file.write([step(1)])
    path.unlink()
    path.parent.rmdir()
    for number in (2, 3):
        with pytest.raises(TraceError, match="cannot be written"):
            file.write([step(number)])
    path.parent.mkdir()
    told = [file.write([step(number)]) for number in (4, 5)]
    file.close()

    assert (told, outputs(path)) == ([True, False], ["step 4", "step 5"])


def test_an_event_that_cannot_be_written_does_not_take_it_along(path: Path) -> None:
    """The one before it is the first in the new file, and the write raises all the same [AGT-04]."""

    class Odd(Event, frozen=True, kw_only=True):
        """Something that no file can hold."""

        what: complex

    file = TraceFile(path)
    file.write([step(1)])
    path.unlink()
    with pytest.raises(TraceError, match="Odd"):
        file.write([step(2), Odd(what=1j)])
    told = file.write([step(3)])
    file.close()

    assert (told, outputs(path)) == (True, ["step 2", "step 3"])


def test_a_write_of_no_events_does_not_take_it_along(path: Path, request: pytest.FixtureRequest) -> None:
    """As of kinds that are not wanted, after a write that has failed with the new file open [AGT-04]."""
    file = TraceFile(path)
    file.write([step(1)])
    path.unlink()
    full = request.getfixturevalue("full")
    with pytest.raises(TraceError, match="No space left"):
        file.write([step(9)])
    full.undo()
    told = [file.write([]), file.write([step(2)])]
    file.close()

    assert (told, outputs(path)) == ([False, True], ["step 2"])


@pytest.mark.parametrize("how", ["removed", "replaced", "emptied", "left"])
def test_a_file_that_is_lost_after_a_write_has_failed_is_begun_anew(
    path: Path, how: str, request: pytest.FixtureRequest
) -> None:
    """As one that is removed to make room on a full disk; nobody has it open then [AGT-04]."""
    file = TraceFile(path)
    file.write([step(1)])
    full = request.getfixturevalue("full")
    with pytest.raises(TraceError, match="No space left"):
        file.write([step(2)])
    full.undo()
    if how == "removed":
        path.unlink()
    elif how == "replaced":
        kb.save_trace([step(9)], path)
    elif how == "emptied":
        path.write_bytes(b"")
    told = [file.write([step(number)]) for number in (3, 4)]
    file.close()

    assert told == [how != "left", False]
    assert outputs(path) == [*{"left": ["step 1"], "replaced": ["step 9"]}.get(how, []), "step 3", "step 4"]


def test_a_file_that_nothing_was_written_to_is_not_lost(path: Path, full: pytest.MonkeyPatch) -> None:
    """There was nothing before [AGT-04]."""
    file = TraceFile(path)
    with pytest.raises(TraceError, match="No space left"):
        file.write([step(1)])
    full.undo()
    path.unlink()
    told = file.write([step(2)])
    file.close()

    assert (told, outputs(path)) == (False, ["step 2"])


def test_a_path_that_leads_nowhere_any_more_is_an_error(path: Path) -> None:
    """Nothing goes to a file that nobody can open [AGT-04]."""
    file = TraceFile(path)
    file.write([step(1)])
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.write_text("no folder")
    with pytest.raises(TraceError, match=r"cannot be (read|written)"):
        file.write([step(2)])
    file.close()

    assert outputs(path.parent.with_name("moved") / "t.jsonl") == ["step 1"]


def test_a_path_that_nobody_may_look_at_is_written_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is open, and nothing says that it is another one [AGT-04]."""
    file = TraceFile(path)
    file.write([step(1)])

    def stat(one: Path, **options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", stat)
        told = file.write([step(2)])
    file.close()

    assert (told, outputs(path)) == (False, ["step 1", "step 2"])


# ------------------------------------------------------------------------------------------- the run


def notices(run: kb.Run) -> list[str]:
    """What its report says of files that were begun anew."""
    return [line for line in run.report().attention if line.startswith("trace begun anew")]


async def test_the_run_says_that_its_trace_was_begun_anew_after_writes_that_failed(path: Path) -> None:
    """The failures themselves say only that nothing was written [AGT-04]."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def gone(ctx: kb.Context, text: str) -> str:
        path.unlink()  # noqa: ASYNC240
        path.parent.rmdir()
        return text

    @trip.node
    async def back(ctx: kb.Context, text: str) -> str:
        path.parent.mkdir()
        return text

    trip.start >> gone >> back >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip)
    async with agent.install(Tracing(path, on_handler_error="log")):
        run = await agent.run("go")

    assert len(notices(run)) == 1
    assert [event.path for event in kb.load_trace(path) if isinstance(event, NodeStarting)] == ["trip/finish"]


async def test_a_run_that_is_over_leaves_it_to_the_next_one_to_say(path: Path) -> None:
    """However much is still noticed of it [AGT-04]."""
    async with traveller().install(Tracing(path)) as agent:
        first, second = await travelled(agent), await travelled(agent)
        path.unlink()  # noqa: ASYNC240
        for text in ("one", "two", "three"):
            first.notice("later", text)
        third = await travelled(agent)

    later = [
        event.text for event in kb.load_trace(path) if isinstance(event, Notice) and event.kind == "later"
    ]
    assert later == ["one", "two", "three"]
    assert [len(notices(run)) for run in (first, second, third)] == [0, 0, 1]
