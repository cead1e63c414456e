"""Tracing: what happens, in a file and in a log, while it happens."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from traced_runs import crosser, travelled, traveller

import koogbook as kb
from koogbook.agents.traced_run import load_run
from koogbook.errors import FeatureInstallError, TraceError
from koogbook.events import Event, HandlerFailed, LLMCallStarting, NodeCompleted, NodeStarting, Notice
from koogbook.features.event_handler import EventHandler
from koogbook.features.tracing import Tracing, in_one_line
from koogbook.trace import TraceFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a trace can be."""
    return tmp_path / "runs.jsonl"


def events_of(path: Path, run_id: str) -> tuple[Event, ...]:
    """Those of one run, without what is said of the file."""
    return tuple(
        event
        for event in kb.load_trace(path)
        if event.run_id == run_id and not (isinstance(event, Notice) and event.kind == "trace_torn")
    )


def text_of(path: Path) -> str:
    """What the file holds."""
    return path.read_text(encoding="utf-8")


def cut(path: Path, size: int) -> None:
    """Take so many bytes off its end."""
    path.write_bytes(path.read_bytes()[:-size])


# ------------------------------------------------------------------------------------------- the file


@pytest.mark.parametrize("make", [traveller, crosser])
@pytest.mark.parametrize("end", ["", "error", "wait"])
async def test_the_file_has_the_events_of_the_run(path: Path, make: Any, end: str) -> None:
    """All of them, in their order, however it ends. [AGT-04]"""
    async with make(end=end).install(Tracing(path)) as agent:
        run = await travelled(agent)

    assert kb.load_trace(path) == run.events
    assert load_run(path).calls == run.calls


async def test_an_event_is_in_the_file_when_it_has_happened(path: Path) -> None:
    """Nothing waits in a buffer: what was written outlives the process. [AGT-04]"""
    seen: list[int] = []
    look = EventHandler(on_event=lambda event: seen.append(len(kb.load_trace(path))))
    run = await travelled(traveller().install(Tracing(path)).install(look))

    assert seen == list(range(1, len(run.events) + 1))


async def test_several_runs_at_once_share_a_file(path: Path) -> None:
    """Each has its own id on each line. [AGT-03a] [AGT-04]"""
    async with crosser().install(Tracing(path)) as agent:
        runs = await asyncio.gather(*(agent.run(text) for text in "abc"))
    for run in runs:
        assert events_of(path, run.run_id) == run.events


async def test_two_agents_write_to_one_file_by_turns(path: Path) -> None:
    """Each with a file of its own on it. [AGT-04]"""
    first, second = traveller().install(Tracing(path)), crosser().install(Tracing(path))
    runs = await asyncio.gather(first.run("a"), second.run("b"))
    for run in runs:
        assert events_of(path, run.run_id) == run.events


async def test_a_message_is_written_once_for_all_runs(path: Path) -> None:
    """The system message of an agent is the same in each. [AGT-03]"""
    async with traveller().install(Tracing(path)) as agent:
        await travelled(agent)
        await travelled(agent)

    assert text_of(path).count('"text":"Be brief."') == 1


ANOTHER = """
import asyncio, sys
from traced_runs import traveller
from koogbook.features.tracing import Tracing
agent = traveller().install(Tracing(sys.argv[1]))
print(asyncio.run(agent.run("again")).run_id)
"""


async def test_a_new_process_adds_to_the_file(path: Path) -> None:
    """What was there stays. [AGT-04]"""
    async with traveller().install(Tracing(path)) as agent:
        run = await travelled(agent)
    tests = Path(__file__).parent.parent
    done = subprocess.run(  # noqa: ASYNC221
        [sys.executable, "-c", ANOTHER, str(path)], cwd=tests, capture_output=True, text=True, check=True
    )

    assert events_of(path, run.run_id) == run.events
    assert len(events_of(path, done.stdout.strip())) == len(run.events)


async def test_a_last_line_that_was_torn_is_ended_and_told_of(path: Path) -> None:
    """The process before was killed in the middle of it. [AGT-04]"""
    async with traveller().install(Tracing(path)) as agent:
        first = await travelled(agent)
    cut(path, 9)
    async with traveller().install(Tracing(path)) as agent:
        second = await travelled(agent)

    assert events_of(path, first.run_id) == first.events[:-1]
    assert events_of(path, second.run_id) == second.events
    torn = [event for event in kb.load_trace(path) if isinstance(event, Notice)]
    assert [one.kind for one in torn] == ["trace_torn"]
    assert torn[0].text.startswith("Line ")
    assert "breaks off after" in torn[0].text


async def test_a_last_line_without_its_end_is_whole(path: Path) -> None:
    """Only the break is missing. [AGT-04]"""
    async with traveller().install(Tracing(path)) as agent:
        first = await travelled(agent)
    cut(path, 1)
    async with traveller().install(Tracing(path)) as agent:
        second = await travelled(agent)

    assert kb.load_trace(path) == first.events + second.events


async def test_kinds_can_be_chosen(path: Path) -> None:
    """Others are not written. [AGT-04]"""
    async with traveller().install(Tracing(path, events=[NodeCompleted, LLMCallStarting])) as agent:
        run = await travelled(agent)

    assert kb.load_trace(path) == tuple(
        event for event in run.events if isinstance(event, NodeCompleted | LLMCallStarting)
    )


def broken(event: Event) -> None:
    """It raises."""
    raise ValueError("broken")


@pytest.mark.parametrize("kind", ["on_node_starting", "on_run_completed"])
async def test_what_other_listeners_failed_on_is_in_the_file(path: Path, kind: str) -> None:
    """Also what comes after the last event of the run. [AGT-02] [AGT-04]"""
    handler: Any = EventHandler(**{kind: broken, "on_handler_error": "log"})  # type: ignore[arg-type]
    async with traveller().install(Tracing(path)).install(handler) as agent:
        run = await travelled(agent)

    assert any(isinstance(event, HandlerFailed) for event in run.events)
    assert kb.load_trace(path) == run.events


async def test_what_a_listener_emits_stands_behind_what_it_is_about(path: Path) -> None:
    """The file has the order of the run, though the first listener was told of it first. [AGT-04]"""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def go(ctx: kb.Context, text: str) -> str:
        return text

    trip.start >> go >> trip.finish

    def remark(event: NodeStarting) -> None:
        if agent.last_run is not None and event.path == "trip/go":
            agent.last_run.notice("remark", "here")

    agent = kb.Agent(kb.OfflineExecutor(), "m", trip)
    agent.install(EventHandler(on_node_starting=remark)).install(Tracing(path))
    run = await agent.run("x")

    assert "remark" in [event.kind for event in run.events if isinstance(event, Notice)]
    assert kb.load_trace(path) == run.events


async def test_an_agent_that_never_ran_leaves_no_file(tmp_path: Path) -> None:
    """It is made with the first event. [AGT-04]"""
    async with traveller().install(Tracing(tmp_path / "runs.jsonl")):
        pass

    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("content", [b"hello\n", b'{"messages":[]}\n'])
def test_a_file_that_is_no_trace_is_refused(path: Path, content: bytes) -> None:
    """When the feature is made, and it stays as it was. [AGT-04]"""
    path.write_bytes(content)

    with pytest.raises(TraceError, match=r"is there already, and is no trace\. Nothing was written"):
        Tracing(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, FeatureInstallError, r"got neither\. Nothing was installed\. Write: kb\.Tracing"),
        ({"log": "koogbook"}, TypeError, r"log is a logging\.Logger or True, not 'koogbook'"),
        ({"log": True, "events": [int]}, TypeError, "events are kinds of events"),
        ({"log": True, "on_handler_error": "x"}, FeatureInstallError, "on_handler_error is 'raise' or 'log'"),
        ({"path": 3}, TypeError, "takes the path of a file"),
        ({"path": ""}, TraceError, "The path is empty"),
        ({"path": "/nowhere/runs.jsonl"}, TraceError, "is in a folder that is not there"),
        ({"path": "/dev/null"}, TraceError, "is no regular file"),
    ],
)
def test_a_wrong_option_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    """When the feature is made. [AGT-04]"""
    with pytest.raises(error, match=message):
        Tracing(**arguments)


class Full:
    """A file on a disk that is full from some byte on."""

    def __init__(self, file: Any, room: int) -> None:
        self.file = file
        self.room = room

    def write(self, data: Any) -> int:
        """A part, and then nothing."""
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written: int = self.file.write(data[: self.room])
        self.room -= written
        return written

    def close(self) -> None:
        """As a file is."""
        self.file.close()

    def fileno(self) -> int:
        """That of the file."""
        number: int = self.file.fileno()
        return number


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file has room for 3,000 bytes, those that are opened after it have all."""
    rooms = iter([3_000])
    opened = TraceFile._opened

    def one(file: TraceFile) -> Any:
        made, begin = opened(file)
        room = next(rooms, None)
        return (made if room is None else Full(made, room)), begin

    monkeypatch.setattr(TraceFile, "_opened", one)


@pytest.mark.usefixtures("small_disk")
async def test_a_full_disk_ends_the_run(path: Path) -> None:
    """That is how it is without another word. [AGT-04]"""
    agent = traveller().install(Tracing(path))

    with pytest.raises(
        TraceError, match=r"cannot be written: No space left on device\. The last .* in part\."
    ):
        await agent.run("x")
    await agent.close()


@pytest.mark.usefixtures("small_disk")
async def test_a_full_disk_is_an_event_where_that_is_wanted(path: Path) -> None:
    """The run goes on; the file holds what was written before and what came later, and where it broke. [AGT-04]"""
    async with traveller().install(Tracing(path, on_handler_error="log")) as agent:
        run = await travelled(agent)
    failed = [event for event in run.events if isinstance(event, HandlerFailed)]
    loaded = kb.load_trace(path)

    assert (run.state, len(failed)) == ("completed", 1)
    assert "No space left on device" in failed[0].error
    kinds = [event.kind for event in loaded if isinstance(event, Notice)]
    assert sorted(kinds) == ["trace_gap", "trace_torn"]  # the line, and what began on it or ended
    assert run.events[-1] in loaded[-2:]
    assert len(loaded) == len(run.events) + 1


def fail_on_each_other() -> EventHandler:
    """Two listeners; nobody is told of the second one's failure, so that one event waits for the end."""
    return EventHandler(on_run_completed=broken, on_handler_failed=broken, on_handler_error="log")


@pytest.mark.parametrize("policy", ["raise", "log"])
async def test_what_cannot_be_written_at_the_end_follows_the_policy(
    path: Path, policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing an agent raises where that is wanted, and else the run has it. [AGT-04]"""
    agent = traveller().install(Tracing(path, on_handler_error=policy)).install(fail_on_each_other())
    run = await travelled(agent)

    def full(file: Any, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("koogbook.trace.appending._write_all", full)
    if policy == "raise":
        with pytest.raises(TraceError, match="No space left on device"):
            await agent.close()
    else:
        await agent.close()
        assert "listener Tracing.close failed on AgentClosing: TraceError" in str(run.report())


async def test_what_waits_for_the_end_is_written_there(path: Path) -> None:
    """Nothing that a run has is left out of its trace. [AGT-04]"""
    agent = traveller().install(Tracing(path)).install(fail_on_each_other())
    run = await travelled(agent)
    before = len(kb.load_trace(path))
    await agent.close()

    assert (before, kb.load_trace(path)) == (len(run.events) - 1, run.events)


async def test_what_is_noticed_of_a_run_that_is_over_is_written(path: Path) -> None:
    """Each time, also while another run goes on. [AGT-04]"""
    async with traveller().install(Tracing(path)) as agent:
        first = await travelled(agent)
        for text in ("one", "two", "three"):
            first.notice("later", text)
        second = await travelled(agent)
        first.notice("later", "four")
        second.notice("later", "five")

    assert events_of(path, first.run_id) == first.events
    assert events_of(path, second.run_id) == second.events


async def test_the_events_of_runs_that_are_over_are_let_go(path: Path) -> None:
    """An agent may live for weeks. [AGT-04]"""
    async with traveller().install(Tracing(path)) as agent:
        for _ in range(3):
            last = await travelled(agent)
        installed: Any = agent._features["Tracing"]

        assert list(installed._open) == [last.run_id]


@pytest.mark.parametrize("what", ["removed", "replaced"])
async def test_a_file_that_somebody_removes_or_replaces_is_begun_anew(path: Path, what: str) -> None:
    """What follows is there, and the run says what is not; nothing goes to a file that nobody can open. [AGT-04]"""
    async with traveller().install(Tracing(path)) as agent:
        first = await travelled(agent)
        if what == "removed":
            path.unlink()  # noqa: ASYNC240
        else:
            kb.save_trace(first, path)
        second = await travelled(agent)

    assert events_of(path, second.run_id) == second.events
    assert events_of(path, first.run_id) == (() if what == "removed" else first.events)
    assert [line for line in second.report().attention if "trace begun anew" in line] == [
        f"trace begun anew: {path} was removed or replaced while it was written to. What was written before is not in "
        "it; it goes on from here."
    ]


async def test_a_run_of_a_closed_agent_says_so(path: Path) -> None:
    """Its file is closed. [AGT-04]"""
    agent = traveller().install(Tracing(path))
    await agent.close()

    with pytest.raises(
        TraceError, match=r"is closed, since its agent is\. Nothing was written\. Make a new agent"
    ):
        await agent.run("x")


async def test_an_event_that_cannot_be_written_is_left_out_alone(path: Path) -> None:
    """Those before and after it are there. [AGT-04]"""

    class Odd(Event, frozen=True, kw_only=True):
        """Something that no file can hold."""

        what: complex

    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def go(ctx: kb.Context, text: str) -> str:
        ctx.log.emit(Odd, what=1j)
        return text

    trip.start >> go >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "m", trip).install(Tracing(path, on_handler_error="log"))
    async with agent:
        run = await agent.run("x")

    assert "An event Odd cannot be written" in str(run.report())
    assert kb.load_trace(path) == tuple(event for event in run.events if not isinstance(event, Odd))


# ------------------------------------------------------------------------------------------- the log


async def test_the_log_has_a_line_for_each_event(caplog: pytest.LogCaptureFixture) -> None:
    """What, where and in which run. [AGT-04]"""
    caplog.set_level(logging.INFO, "koogbook")
    async with traveller().install(Tracing(log=True)) as agent:
        run = await travelled(agent)
    lines = [record.getMessage() for record in caplog.records]

    assert [line.split(" ")[0] for line in lines] == [*(event.name for event in run.events), "AgentClosing"]
    assert f"StrategyStarting trip run={run.run_id} strategy=trip" in lines
    assert {record.levelname for record in caplog.records} == {"INFO"}


async def test_the_log_has_no_text_of_a_message(caplog: pytest.LogCaptureFixture) -> None:
    """Neither of requests and answers, nor of tools, inputs and errors. [AGT-04] [EXE-06]"""
    caplog.set_level(logging.INFO, "mine")
    for end in ("", "error"):
        async with traveller(end=end).install(Tracing(log=logging.getLogger("mine"))) as agent:
            await travelled(agent, "Where is Bonn?")
    text = caplog.text

    for word in ("Bonn", "coat", "rain", "brief", "slowly", "Nowhere", "such place", "on offer"):
        assert word not in text
    assert "error=LookupError" in text


async def test_a_logger_that_does_not_listen_costs_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are not even made. [AGT-04]"""
    made: list[Event] = []
    monkeypatch.setattr("koogbook.features.tracing.in_one_line", made.append)
    logger = logging.getLogger("quiet")
    logger.setLevel(logging.ERROR)
    await travelled(traveller().install(Tracing(log=logger)))

    assert made == []


def test_a_line_is_one_line_whatever_stands_in_names() -> None:
    """And of no great length. [AGT-04]"""
    line = in_one_line(Notice(kind="a\nb\u2028" * 50, text="secret", run_id="9f0c", path="trip/x"))

    assert line.startswith("Notice trip/x run=9f0c kind=a\\nb\\u2028")
    assert len(line.splitlines()) == 1
    assert "secret" not in line
    assert len(line) < 300


# ------------------------------------------------------------------------------------------- keys


async def test_no_key_is_in_a_traced_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment gets in. [EXE-06]"""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    async with traveller().install(Tracing(path)) as agent:
        await travelled(agent)

    assert "very-secret" not in text_of(path)
    assert all(json.loads(line) for line in text_of(path).splitlines())
