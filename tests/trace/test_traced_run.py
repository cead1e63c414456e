"""A run out of its trace is the run, as far as it can be looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from traced_runs import crosser, travelled, traveller

import koogbook as kb
from koogbook.agents.traced_run import TracedRun, load_run, run_of
from koogbook.errors import ProviderError, TraceError
from koogbook.events import (
    Event,
    LLMCallFailed,
    LLMCallStarting,
    RunCompleted,
    RunFailed,
    RunStarting,
    StrategyStarting,
)
from koogbook.llm.call_record import Calls, calls_of
from koogbook.llm.retrying import RetryingExecutor
from koogbook.pipeline import Interceptor

STORIES: list[tuple[Callable[..., kb.Agent], str]] = [
    (make, end) for make in (traveller, crosser) for end in ("", "error", "wait")
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a trace can be."""
    return tmp_path / "run.jsonl"


@pytest.mark.parametrize(("make", "end"), STORIES)
async def test_a_run_comes_back_with_all_that_can_be_seen_of_it(
    path: Path, make: Callable[..., kb.Agent], end: str
) -> None:
    """Completed, failed and cancelled; with a subgraph, tools, a stream, a compression, branches. [AGT-03]"""
    run = await travelled(make(end=end))
    back = load_run(kb.save_trace(run, path))

    assert back.events == run.events
    assert back.calls == run.calls == calls_of(run.events)
    assert str(back.report()) == str(run.report())
    for name in (
        "run_id",
        "session_id",
        "agent_id",
        "state",
        "output",
        "iterations",
        "usage",
        "usage_by_node",
    ):
        assert getattr(back, name) == getattr(run, name), name
    assert (back.compressions, back.cost, back.resumed, back.last_checkpoint) == (
        run.compressions,
        run.cost,
        run.resumed,
        run.last_checkpoint,
    )
    assert (
        str(back.error) == ("" if run.error is None else f"{type(run.error).__name__}: {run.error}")
        or not end
    )


async def test_the_calls_of_a_run_that_retried_and_failed_come_back(path: Path) -> None:
    """With what was counted for attempts in vain. [AGT-03]"""

    class Empty(kb.ScriptedExecutor):
        """Counts, and gives nothing."""

        async def execute(self, request: kb.Request) -> kb.Message:
            raise ProviderError("no answer", kind="overloaded", model="acme:a", usage=kb.Usage(7, 0))

    waiting = RetryingExecutor(Empty(lambda request: ""), attempts=2, first_wait=0.001)
    run = await travelled(traveller(executor=waiting))
    back = load_run(kb.save_trace(run, path))

    assert back.calls == run.calls
    assert [len(record.spent) for record in run.calls] == [2]
    assert str(back.report()) == str(run.report())


class Guide(Interceptor):
    """Puts a message in, and marks another one."""

    def __init__(self) -> None:
        self.key = self.feature = "Guide"
        self.subscriptions: tuple[Any, ...] = ()
        self.interceptors = (self,)

    def install(self, agent: Any) -> Guide:
        """Itself."""
        return self

    def bind(self, context: Any) -> Any:
        """Mark what is there."""
        context.llm.calls.layers.mark(
            "memory", [one.id for one in context.llm.committed.prompt.messages], by="x"
        )

    async def close(self) -> None:
        """Nothing."""

    async def around_llm_call(self, request: kb.Request, call: Any) -> kb.Message:
        """One message more."""
        return await call(replace(request, messages=(*request.messages, kb.user("By the way.", id="way"))))


async def test_what_interceptors_changed_and_marked_comes_back(path: Path) -> None:
    """So that a view of the trace knows who put what in. [AGT-03]"""
    run = await travelled(traveller().install(Guide()))
    back = load_run(kb.save_trace(run, path))

    assert back.calls == run.calls
    assert [change.feature for change in back.calls[0].changes] == ["Guide"]
    assert [one.layer for one in back.calls[0].layers] == [one.layer for one in run.calls[0].layers]
    assert back.calls[0].layers[0].loaded_by == "x"


async def test_the_calls_of_a_run_grow_with_its_events() -> None:
    """Each event is looked at once, and at every moment they are those of the events so far. [AGT-03]"""
    run = await travelled(traveller())
    known, so_far = Calls(), []
    for event in run.events:
        so_far.append(event)
        assert tuple(known.read(so_far)) == calls_of(so_far)


async def test_features_and_what_they_did_stand_in_the_report_of_a_trace(path: Path) -> None:
    """As its first and last events tell of them. [AGT-02]"""
    run = await travelled(traveller())
    events = [
        replace(event, features=("Persistence", "Tracing"))
        if isinstance(event, RunStarting)
        else replace(event, acted=("Persistence",))
        if isinstance(event, RunCompleted)
        else event
        for event in run.events
    ]
    back = load_run(kb.save_trace(events, path))

    assert ("features", "acted: Persistence; changed nothing in the run: Tracing") in back.report().rows


async def test_of_several_runs_one_is_named(path: Path) -> None:
    """The message lists them. [AGT-03a]"""
    first, second = await travelled(traveller()), await travelled(crosser(), session_id="chat-2")
    kb.save_trace([*first.events, *second.events], path)

    assert load_run(path, second.run_id).events == second.events
    with pytest.raises(
        TraceError, match=f"of 2 runs. There is {first.run_id}, {second.run_id}. Say which: run_id="
    ):
        load_run(path)
    with pytest.raises(TraceError, match=f"There is no run 'zzz' in these events. There is {first.run_id}"):
        load_run(path, "zzz")


def test_events_of_no_run_are_refused() -> None:
    """There is nothing to look at. [AGT-03a]"""
    with pytest.raises(TraceError, match=r"of no run\. kb\.save_trace"):
        run_of([Event()])


async def test_a_trace_that_ends_in_the_middle_is_a_run_as_far_as_it_went(path: Path) -> None:
    """What stopped may have been the process. [AGT-03]"""
    run = await travelled(traveller())
    back = run_of(run.events[:30])

    assert (back.state, back.output, back.error) == ("running", None, None)
    assert "is running; its last event was" in str(back.report())


async def test_what_no_trace_holds_is_refused(path: Path) -> None:
    """Instead of being empty. [AGT-03]"""
    back = run_of((await travelled(traveller())).events)

    with pytest.raises(TraceError, match=r"The prompt of run .* is in no trace"):
        _ = back.prompt
    with pytest.raises(TraceError, match=r"The storage of run .* is in no trace"):
        _ = back.storage


async def test_a_trace_that_begins_later_than_its_run_says_why_it_has_no_graph() -> None:
    """And not that it is of an older version; the report counts the nodes that are seen. [AGT-03]"""
    run = await travelled(traveller())
    late = run_of(run.events[20:])
    lost = run_of([event for event in run.events if not isinstance(event, StrategyStarting)])

    with pytest.raises(
        TraceError, match=r"begins later than the run: .*StrategyStarting.*kb\.graph\(strategy, path\)"
    ):
        _ = late.strategy.shape
    with pytest.raises(
        TraceError, match=r"in its trace, since the event that holds it, StrategyStarting, was lost"
    ):
        _ = lost.strategy.shape
    assert late.report().rows[0] == ("nodes", "4 runs of 4 nodes: call, tell, shorten, sum_up")


async def test_a_run_out_of_a_trace_takes_notices() -> None:
    """Views tell of what went wrong with them. [AGT-03]"""
    back = run_of((await travelled(traveller())).events)
    back.notice("view", "It was slow.")

    assert "view: It was slow." in str(back.report())


async def test_a_traced_run_shows_itself_as_one() -> None:
    """Not as one that ran here. [AGT-03]"""
    back = run_of((await travelled(traveller(end="error"))).events)

    assert isinstance(back, TracedRun)
    assert repr(back).endswith("failed, 56 events, traced>") or "failed" in repr(back)


@pytest.mark.parametrize("make", [traveller, crosser])
async def test_every_event_of_a_cancelled_run_has_its_reason(make: Callable[..., kb.Agent]) -> None:
    """The run says that it was cancelled, and no request failed. [AGT-03]"""
    events = (await travelled(make(end="wait"))).events

    assert [event.cancelled for event in events if isinstance(event, RunFailed)] == [True]
    assert [event for event in events if isinstance(event, LLMCallFailed)] == []


@pytest.mark.parametrize("changes", [5, [1], "abc", {"a": 1}, [{"a": 1}]])
async def test_what_is_no_list_of_changes_is_refused_where_the_calls_are_read(
    path: Path, changes: Any
) -> None:
    """A trace that was changed by hand may hold anything there. [AGT-03]"""
    run = await travelled(traveller())
    events = [
        replace(event, changes=changes) if isinstance(event, LLMCallStarting) else event
        for event in run.events
    ]
    back = load_run(kb.save_trace(events, path))

    with pytest.raises(TraceError, match=r"What was done to request 1 .* is no list of changes"):
        _ = back.calls
