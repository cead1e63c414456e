"""A trace that lost lines, or holds a run again, says so where it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from traced_runs import crosser, travelled, traveller

import koogbook as kb
from koogbook import events
from koogbook.agents.traced_run import load_run
from koogbook.events import Event, Notice
from koogbook.trace.wholeness import gaps_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a trace can be."""
    return tmp_path / "run.jsonl"


def noticed(path: Path, kind: str) -> list[str]:
    """What was noticed of this kind when a file was read."""
    return [event.text for event in kb.load_trace(path) if isinstance(event, Notice) and event.kind == kind]


def put(path: Path, content: bytes) -> None:
    """Let a file hold this."""
    path.write_bytes(content)


def again(path: Path, times: int = 2) -> None:
    """Put a file behind itself."""
    path.write_bytes(path.read_bytes() * times)


def without(told: Sequence[Event], kind: type[Event], path: str = "") -> list[Event]:
    """Events without the first one of a kind, at a path."""
    lost = next(one for one in told if isinstance(one, kind) and one.path.endswith(path))
    return [one for one in told if one is not lost]


def is_whole_in_itself(lost: Sequence[Event]) -> bool:
    """Whether everything that begins or ends in these events does both, by the names of their kinds."""
    balance: Counter[tuple[str, str]] = Counter()
    for event in lost:
        for word, step in (("Starting", 1), ("Opened", 1), ("Completed", -1), ("Failed", -1), ("Closed", -1)):
            if event.name.endswith(word) and event.name != "ToolValidationFailed":
                balance[event.name.removesuffix(word), event.path] += step
    return not any(balance.values())


# ------------------------------------------------------------------------------------------- lost lines


@pytest.mark.parametrize("make", [traveller, crosser])
@pytest.mark.parametrize("end", ["", "error", "wait"])
async def test_a_whole_run_has_no_gap(make: Callable[..., kb.Agent], end: str) -> None:
    """Completed, failed and cancelled; with a subgraph, tools, a stream, a compression, branches. [AGT-03]"""
    assert gaps_of((await travelled(make(end=end))).events) == ""


@pytest.mark.parametrize("make", [traveller, crosser])
async def test_wherever_lines_are_lost_it_is_told(path: Path, make: Callable[..., kb.Agent]) -> None:
    """Six lines in the middle are a gap, or a session that never closed, unless each thing of them ended there."""
    run = await travelled(make())
    for first in range(1, len(run.events) - 7):
        kb.save_trace([*run.events[:first], *run.events[first + 6 :]], path)
        if is_whole_in_itself(run.events[first : first + 6]):
            continue
        told = load_run(path).report().attention

        assert [line for line in told if line.startswith(("trace_gap: ", "session never closed: "))], first


async def test_frames_that_are_lost_are_counted(path: Path) -> None:
    """A stream says at its end how many it had. [AGT-03]"""
    run = await travelled(traveller())
    frames = [event for event in run.events if isinstance(event, events.LLMStreamingFrame)]
    kb.save_trace([event for event in run.events if event not in frames[:3]], path)

    (said,) = noticed(path, "trace_gap")
    assert f"of the {len(frames)} frames of request 3, 3 are in no line" in said


async def test_a_trace_without_frames_is_whole(path: Path) -> None:
    """Who chooses kinds leaves them out first. [AGT-04]"""
    run = await travelled(traveller())
    chosen = tuple(event for event in run.events if not isinstance(event, events.LLMStreamingFrame))

    assert kb.load_trace(kb.save_trace(chosen, path)) == chosen


async def test_lines_that_are_taken_out_of_the_file_are_told(path: Path) -> None:
    """What the others refer to is still there. [AGT-03]"""
    lines = (
        kb.save_trace(await travelled(traveller(end="error")), path).read_bytes().splitlines(keepends=True)
    )
    beginning = next(
        place for place, line in enumerate(lines) if b'"NodeStarting"' in line and b"/ask" in line
    )
    put(path, b"".join([*lines[:beginning], *lines[beginning + 1 :]]))

    assert noticed(path, "trace_gap") == [
        "The trace of this run is not whole: 1 node (trip/look/ask) ends and never began. Lines were lost, or not "
        "written, as with kb.Tracing(path, events=...). What is shown of the run is what "
        "the others tell."
    ]
    assert repr(kb.load_trace(path)).endswith("with gaps>")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (events.RunStarting, "1 run ("),
        (events.StrategyStarting, "1 strategy (trip) ends and never began"),
        (events.StrategyCompleted, "1 strategy (trip) begins and never ended"),
        (events.SubgraphStarting, "1 subgraph (trip/look) ends and never began"),
        (events.SubgraphCompleted, "1 subgraph (trip/look) begins and never ended"),
        (events.NodeStarting, "1 node (trip/start) ends and never began"),
        (events.NodeCompleted, "1 node (trip/start) begins and never ended"),
        (events.LLMCallStarting, "1 request (1) ends and never began"),
        (events.LLMCallCompleted, "1 request (1) begins and never ended"),
        (events.LLMStreamingStarting, "1 request (3) ends and never began"),
        (events.ToolCallStarting, "1 tool call (weather) ends and never began"),
        (events.ToolCallCompleted, "1 tool call (weather) begins and never ended"),
        (events.CompressionStarting, "1 compression (trip/shorten) ends and never began"),
        (events.CompressionCompleted, "1 compression (trip/shorten) begins and never ended"),
        (events.SessionOpened, "1 session (traced_runs.py:"),
    ],
)
async def test_a_single_line_that_is_lost_is_named(path: Path, kind: type[Event], text: str) -> None:
    """Each beginning and each end. [AGT-03]"""
    run = await travelled(traveller())
    kb.save_trace(without(run.events, kind), path)

    (said,) = noticed(path, "trace_gap")
    assert text in said


async def test_a_request_that_is_lost_as_a_whole_leaves_its_number(path: Path) -> None:
    """They are counted from 1; so are the calls of tools. [AGT-03]"""
    run = await travelled(traveller())
    told = [
        event for event in run.events if getattr(event, "call", 0) != 2 and getattr(event, "number", 0) != 1
    ]
    kb.save_trace(told, path)

    (said,) = noticed(path, "trace_gap")
    assert "of 4 requests, request 2 is in no line; of 3 tool calls, tool call 1 is in no line" in said


async def test_a_run_whose_end_is_missing_is_not_over(path: Path) -> None:
    """It may go on, or its process was stopped: nothing is called lost. [AGT-03]"""
    run = await travelled(traveller())
    kb.save_trace(run.events[:30], path)

    assert kb.load_trace(path) == run.events[:30]


async def test_a_trace_of_chosen_kinds_is_what_it_is(path: Path) -> None:
    """Where none says that a run or its graph began. [AGT-04]"""
    run = await travelled(traveller())
    chosen = [event for event in run.events if isinstance(event, events.NodeCompleted | events.RunCompleted)]

    assert kb.load_trace(kb.save_trace(chosen, path)) == tuple(chosen)


async def test_a_run_without_its_graph_has_a_report(path: Path) -> None:
    """The nodes are counted by what they are seen to be, and the gap is told. [AGT-03]"""
    for make in (traveller, crosser):
        run = await travelled(make())
        back = load_run(kb.save_trace(without(run.events, events.StrategyStarting), path))

        assert back.report().rows == run.report().rows
        assert "trace_gap: " in str(back.report())


async def test_a_gap_of_one_run_is_not_another_ones(path: Path) -> None:
    """Each has its own notice. [AGT-03a]"""
    first, second = await travelled(traveller()), await travelled(traveller(), session_id="chat-2")
    kb.save_trace([*without(first.events, events.NodeStarting), *second.events], path)

    assert load_run(path, second.run_id).events == second.events
    assert "trace_gap: " in str(load_run(path, first.run_id).report())


async def test_a_gap_that_was_told_is_not_told_again(path: Path) -> None:
    """A trace that was read and saved is read as it is. [AGT-03]"""
    kb.save_trace(without((await travelled(traveller())).events, events.NodeStarting), path)
    told = kb.load_trace(path)

    assert kb.load_trace(kb.save_trace(told, path)) == told


async def test_what_fails_after_it_completed_is_no_gap() -> None:
    """A listener that raises on the completion makes two ends of it. [AGT-03]"""
    agent = traveller()
    agent.install(kb.EventHandler(on_strategy_completed=lambda event: 1 / 0))
    run = await travelled(agent)

    assert (run.state, gaps_of(run.events)) == ("failed", "")


async def test_a_call_that_its_tool_refuses_is_no_gap() -> None:
    """What began may turn out not to fit, and what did not fit need not have begun. [AGT-03]"""
    told = [
        replace(event, number=2) if isinstance(event, events.ToolValidationFailed) else event
        for event in without((await travelled(traveller())).events, events.ToolCallFailed)
    ]
    fitting = [
        replace(event, tool="weather") if isinstance(event, events.ToolValidationFailed) else event
        for event in told
    ]

    assert gaps_of(fitting) == ""
    assert "1 tool call (weather) begins and never ended" in gaps_of(told)


async def test_a_session_that_is_left_open_is_no_gap() -> None:
    """Its report says so, and who asked in it may wait still. [AGT-03]"""
    told = list((await travelled(traveller())).events)
    closed = without(told, events.SessionClosed)

    assert gaps_of(closed) == ""
    assert gaps_of(without(closed, events.LLMCallCompleted)) == ""


def test_a_number_that_is_far_too_large_takes_no_time() -> None:
    """A line that was changed by hand may have any. [AGT-03]"""
    told: list[Any] = [
        events.RunStarting(run_id="9f0c", agent_id="a", strategy="s"),
        events.ToolValidationFailed(run_id="9f0c", tool="t", call_id=None, number=2**62, error="x"),
        events.RunCompleted(run_id="9f0c"),
    ]

    assert "tool calls, from 1 on, are in no line" in gaps_of(told)


# ------------------------------------------------------------------------------------------- runs that stand again


@pytest.mark.parametrize("times", [2, 3])
async def test_a_run_that_stands_in_a_file_again_counts_once(path: Path, times: int) -> None:
    """A file that was put behind itself is the same run, and says so. [AGT-03a]"""
    run = await travelled(traveller())
    kb.save_trace(run, path)
    again(path, times)
    back = load_run(path)

    assert back.events[:-1] == run.events
    assert (back.usage, back.report().rows) == (run.usage, run.report().rows)
    (said,) = noticed(path, "trace_doubled")
    assert said.startswith(f"Run {run.run_id} begins {times} times in run.jsonl, in the lines 2")
    assert f"with the same events: {len(run.events) * (times - 1)} events more" in said
    assert f"trace_doubled: {said}" in back.report().attention


@pytest.mark.parametrize("part_first", [True, False])
async def test_of_a_run_and_its_beginning_the_run_is_taken(path: Path, part_first: bool) -> None:
    """A copy was made while it went on. [AGT-03a]"""
    run = await travelled(traveller())
    whole = kb.save_trace(run, path).read_bytes()
    part = kb.save_trace(run.events[:30], path).read_bytes()
    put(path, part + whole if part_first else whole + part)

    assert kb.load_trace(path)[:-1] == run.events
    (said,) = noticed(path, "trace_doubled")
    assert "with the same events: 30 events more" in said


async def test_of_tellings_that_differ_the_longest_is_taken(path: Path) -> None:
    """And it is told that they do. [AGT-03a]"""
    run = await travelled(traveller())
    whole = kb.save_trace(run, path).read_bytes()
    gap = kb.save_trace([*run.events[:10], *run.events[20:]], path).read_bytes()
    put(path, gap + whole)

    assert kb.load_trace(path)[:-1] == run.events
    (said,) = noticed(path, "trace_doubled")
    assert "not with the same events" in said
    assert f"{len(run.events) - 10} events of the rest are left out" in said
    assert noticed(path, "trace_gap") == []


async def test_a_run_whose_beginning_is_lost_and_that_stands_again_is_taken_once(path: Path) -> None:
    """Its end says that what begins is not what went on. [AGT-03a]"""
    run = await travelled(traveller())
    whole = kb.save_trace(run, path).read_bytes()
    rest = kb.save_trace(run.events[20:], path).read_bytes()
    put(path, rest + whole)

    assert kb.load_trace(path)[:-1] == run.events


async def test_of_several_runs_each_counts_once(path: Path) -> None:
    """Also where they stand by turns. [AGT-03a]"""
    first, second = await travelled(traveller()), await travelled(crosser(), session_id="chat-2")
    turns = [event for pair in zip(first.events, second.events, strict=False) for event in pair]
    told = [*turns, *first.events[len(second.events) :]]
    kb.save_trace(told, path)
    again(path)

    assert load_run(path, first.run_id).events[:-1] == first.events
    assert load_run(path, second.run_id).events[:-1] == second.events
    assert len(noticed(path, "trace_doubled")) == 2


async def test_a_doubled_file_may_be_torn(path: Path) -> None:
    """All of it is told. [AGT-03a]"""
    run = await travelled(traveller())
    whole = kb.save_trace(run, path).read_bytes() * 2
    put(path, whole[:-9])
    read = kb.load_trace(path)

    assert read[:-2] == run.events
    assert [event.kind for event in read[-2:] if isinstance(event, Notice)] == ["trace_doubled", "trace_torn"]
    assert f"The {len(run.events) + 1:,} events before it are whole" in str(read[-1])
    assert repr(read).endswith(", torn at its end, without what stood in it again>")


async def test_what_is_added_to_a_run_that_is_over_is_no_second_one(path: Path) -> None:
    """It begins once. [AGT-04]"""
    run = await travelled(traveller())
    late = [Notice(run_id=run.run_id, session_id=run.session_id, kind="later", text="x")] * 2

    assert kb.load_trace(kb.save_trace([*run.events, *late], path)) == (*run.events, *late)


async def test_a_trace_of_a_doubled_one_is_read_as_it_is(path: Path) -> None:
    """What was noticed stays, and nothing is left to notice. [AGT-03a]"""
    kb.save_trace(await travelled(traveller()), path)
    again(path)
    told = kb.load_trace(path)

    assert kb.load_trace(kb.save_trace(told, path)) == told


async def test_events_of_no_run_are_never_doubled(path: Path) -> None:
    """They have no run that could stand again. [AGT-03a]"""
    run = await travelled(traveller())
    told = [replace(event, run_id="") for event in run.events] * 2

    assert kb.load_trace(kb.save_trace(told, path)) == tuple(told)
