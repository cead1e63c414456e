"""A report says how far a run is, what it did, and what changed before it."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

import koogbook as kb
from koogbook import events
from koogbook.agents.report import in_dollars
from koogbook.clock import FixedClock
from koogbook.errors import ProviderError
from koogbook.llm import usage
from koogbook.llm.cached import CachedExecutor
from koogbook.llm.fallback import FallbackExecutor
from koogbook.llm.retrying import RetryingExecutor
from koogbook.runtime.builder import Strategy


async def _step(ctx: kb.Context, value: Any) -> Any:
    return value


def _line(*names: str) -> Strategy:
    line = kb.strategy("line")
    nodes = [line.start, *(line.node(name=name)(_step) for name in names), line.finish]
    for left, right in pairwise(nodes):
        line.edge(left, right)
    return line


def _agent(strategy: Strategy) -> kb.Agent:
    return kb.Agent(kb.OfflineExecutor(), "offline", strategy)


# ------------------------------------------------------------------------------------------- how it stands


async def test_a_run_that_goes_on_is_running(fixed_clock: FixedClock) -> None:
    """Nothing says that it has completed [AGT-01]."""
    waiting, go = asyncio.Event(), asyncio.Event()
    graph = _line("a")

    async def wait(ctx: kb.Context, value: Any) -> None:
        fixed_clock.advance(2)
        async with ctx.llm.read_session():
            waiting.set()
            await go.wait()

    graph.node(name="a")(wait)
    agent = _agent(graph)
    running = asyncio.ensure_future(agent.run("x", "chat-1"))
    await waiting.wait()
    run = agent.last_run
    assert run is not None
    seen = (run.state, run.report().outcome, repr(run))
    go.set()
    await running

    assert seen[0] == "running"
    assert seen[1].endswith("is running; its last event was 2.00 s after its first.")
    assert "running" in seen[2]
    assert run.state == "completed"


async def test_a_cancelled_run_was_cancelled(fixed_clock: FixedClock) -> None:
    """It neither completed nor failed [AGT-06]."""
    graph = _line("a")

    async def cancel(ctx: kb.Context, value: Any) -> None:
        fixed_clock.advance(1.5)
        raise asyncio.CancelledError

    graph.node(name="a")(cancel)
    agent = _agent(graph)
    with pytest.raises(asyncio.CancelledError):
        await agent.run("x", "chat-1")
    run = agent.last_run
    assert run is not None

    assert run.state == "cancelled"
    assert run.report().outcome.endswith("of 'chat-1' was cancelled after 1.50 s.")
    assert "cancelled" in repr(run)


async def test_a_run_whose_last_listener_raised_has_failed() -> None:
    """Though its strategy completed [AGT-01]."""

    def broken(event: events.Event) -> None:
        raise ValueError("listener")

    agent = _agent(_line("a")).on(broken, events.RunCompleted)
    with pytest.raises(ValueError, match="listener"):
        await agent.run("x")
    assert agent.last_run is not None

    assert agent.last_run.state == "failed"
    assert "failed: ValueError: listener" in agent.last_run.report().outcome


async def test_the_node_runs_before_a_resume_are_told_apart() -> None:
    """A resumed run counts its own [AGT-01]."""
    graph = _line("a", "b", "c")
    broken = [True]

    async def fails_once(ctx: kb.Context, value: Any) -> Any:
        if broken:
            broken.clear()
            raise OSError("gone")
        return value

    graph.node(name="c")(fails_once)
    agent = _agent(graph).install(kb.Persistence(storage=kb.MemoryCheckpoints()))
    with pytest.raises(OSError, match="gone"):
        await agent.run("x", "chat-1")
    run = await agent.run("x", "chat-1")

    assert ("nodes", "1 run of 1 node (2 before the resume): c") in run.report().rows


# ------------------------------------------------------------------------------------------- what changed


def _changes(run: kb.Run) -> list[str]:
    return [
        one.text for one in run.events if isinstance(one, events.Notice) and one.kind == "strategy changed"
    ]


async def test_the_first_run_after_a_redefinition_says_what_changed() -> None:
    """Once, right after its start, and in its report [GRA-12]."""
    graph = _line("a", "b")
    agent = _agent(graph)
    await agent.run("x")

    async def other(ctx: kb.Context, value: str) -> Any:
        return value * 2

    graph.node(name="a")(other)
    run, later = await agent.run("x"), await agent.run("x")

    assert [event.name for event in run.events[:2]] == ["RunStarting", "Notice"]
    assert _changes(run) == ["node a redefined (input Any -> str)"]
    assert "strategy changed: node a redefined (input Any -> str)" in run.report().attention
    assert _changes(later) == []


async def test_a_change_that_came_several_times_is_told_once() -> None:
    """Whatever agent runs the strategy next [GRA-12]."""
    graph = _line("a", "b")
    sub = graph.subgraph("sub")
    sub.remove(sub.node(name="x")(_step))
    sub.remove(sub.node(name="x")(_step))
    graph.remove(sub)
    first, second = _agent(graph), _agent(graph)

    assert _changes(await first.run("x")) == [
        "in line/sub: node x removed: checkpoints saved after line/sub/x can no longer be resumed",
        "node sub removed: checkpoints saved after or inside line/sub can no longer be resumed",
    ]
    assert _changes(await second.run("x")) == []


async def test_a_strategy_that_was_built_once_tells_no_changes() -> None:
    """There are none [GRA-12]."""
    assert _changes(await _agent(_line("a")).run("x")) == []


async def test_a_node_that_was_stopped_has_not_failed() -> None:
    """Stopping on purpose is told as such, without the name of an exception [AGT-03]."""
    slow = kb.strategy("slow", input=str, output=str)

    @slow.node
    async def rest(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session():
            await asyncio.sleep(30)
        return text

    slow.start >> rest >> slow.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", slow)
    task = asyncio.ensure_future(agent.run("x"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert agent.last_run is not None
    attention = agent.last_run.report().attention

    assert [line.partition(" at ")[0] for line in attention] == [
        "session discarded: rest",
        "node stopped: slow/rest",
    ]
    assert "CancelledError" not in str(attention)


async def test_a_condition_that_raises_is_named_in_the_run_that_it_ended() -> None:
    """What failed was no node, so the event of the run says which edge [GRA-05]."""
    fork = kb.strategy("fork", input=str, output=str)

    @fork.node
    async def ask(ctx: kb.Context, text: str) -> str:
        return text

    fork.start >> ask >> fork.finish
    fork.edge(ask, ask, when=lambda output: output.nothing, label="broken")
    agent = kb.Agent(kb.OfflineExecutor(), "offline", fork)
    with pytest.raises(AttributeError):
        await agent.run("x")
    assert agent.last_run is not None
    failed = agent.last_run.events[-1]

    assert isinstance(failed, events.RunFailed)
    assert failed.error.endswith("(in when= of the edge fork/ask >> ask)")


def _group(*found: Exception) -> ExceptionGroup[Exception]:
    return ExceptionGroup("several", found)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (_group(ValueError("no city")), "several (1 sub-exception): ValueError: no city"),
        (
            _group(ValueError("a"), _group(OSError("b")), OSError("c")),
            "several (3 sub-exceptions): ValueError: a; OSError: b; OSError: c",
        ),
        (
            _group(*[ValueError(str(number)) for number in range(7)]),
            "several (7 sub-exceptions): ValueError: 0; ValueError: 1; ValueError: 2; ValueError: 3; ValueError: 4; "
            "and 2 more",
        ),
    ],
    ids=["one", "nested", "many"],
)
async def test_the_exceptions_in_a_group_are_named(group: Any, words: str, tmp_path: Path) -> None:
    """Up to five of them, in the report of the run and in that of its trace [AGT-03]."""
    strategy = kb.strategy("trip")

    @strategy.node
    async def book(ctx: kb.Context, value: Any) -> Any:
        raise group

    strategy.start >> book >> strategy.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", strategy)
    with pytest.raises(ExceptionGroup):
        await agent.run("x")
    assert agent.last_run is not None
    back = kb.load_run(kb.save_trace(agent.last_run, tmp_path / "run.jsonl"))

    assert agent.last_run.report().outcome.endswith(f" failed: ExceptionGroup: {words}")
    assert back.report() == agent.last_run.report()


async def test_features_that_only_listen_have_changed_nothing(tmp_path: Path) -> None:
    """They did what they are for, and are not called idle; a trace says the same [AGT-02]."""
    told: list[Any] = []
    agent = kb.Agent(kb.OfflineExecutor(), "offline")
    agent.install(kb.EventHandler(on_event=told.append)).install(kb.Tracing(tmp_path / "runs.jsonl"))
    run = await agent.run("x")
    await agent.close()

    assert told
    assert ("features", "changed nothing in the run: EventHandler, Tracing") in run.report().rows
    assert kb.load_run(tmp_path / "runs.jsonl").report() == run.report()


# ------------------------------------------------------------------------------------------- sessions


def _sessions(run: kb.Run) -> str:
    return dict(run.report().rows)["sessions"]


def _of_sessions(body: Any) -> kb.Agent:
    graph = kb.strategy("trip", input=str, output=str)
    node = graph.node(name="ask")(body)
    graph.start >> node >> graph.finish
    return kb.Agent(kb.OfflineExecutor(), "offline", graph)


async def test_a_session_that_got_the_lock_at_once_did_not_wait() -> None:
    """However long the machine took for it: it never stood in the queue [SES-14]."""

    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session():
            return text

    run = await _of_sessions(ask).run("x")
    slowed = [
        msgspec.structs.replace(event, waited=2.0) if isinstance(event, events.SessionAcquired) else event
        for event in run.events
    ]
    run._context.log.events[:] = slowed

    assert _sessions(run) == "1 committed, 0 discarded, 0 reads, none waited"


async def test_the_waits_in_a_report_are_those_of_the_lock_view(fixed_clock: FixedClock) -> None:
    """Also of a session that gave up in time, and of one that was cancelled in the queue [SES-14]."""

    async def ask(ctx: kb.Context, text: str) -> str:
        async def hold() -> None:
            async with ctx.llm.write_session():
                held.set()
                await go.wait()

        async def come(timeout: float = 60.0) -> None:
            async with ctx.llm.read_session(timeout=timeout):
                pass

        held, go = asyncio.Event(), asyncio.Event()
        holds = asyncio.ensure_future(hold())
        await held.wait()
        waits = asyncio.ensure_future(come())
        cancelled = asyncio.ensure_future(come())
        in_time = asyncio.ensure_future(come(timeout=0.02))
        await asyncio.sleep(0)
        fixed_clock.advance(1)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        fixed_clock.advance(2)
        await asyncio.gather(in_time, return_exceptions=True)
        fixed_clock.advance(0.25)
        go.set()
        await asyncio.gather(holds, waits)
        return text

    run = await _of_sessions(ask).run("x")
    rows = [row for lane in kb.locks(run).state.lanes for row in lane.sessions]
    waited = [row.waited for row in rows if row.queued]

    assert sorted(row.outcome for row in rows) == ["committed", "ended", "gave up", "timed out"]
    assert len(waited) == 3
    assert f", 3 waited, the longest {max(waited) * 1000:.0f} ms" in _sessions(run)
    assert "the longest 3250 ms" in _sessions(run)


async def test_a_wait_that_was_given_up_ends_there(fixed_clock: FixedClock) -> None:
    """What came after it is no part of it [SES-11]."""

    async def ask(ctx: kb.Context, text: str) -> str:
        async def come() -> None:
            async with ctx.llm.read_session():
                pass

        async with ctx.llm.write_session():
            waits = asyncio.ensure_future(come())
            await asyncio.sleep(0)
            fixed_clock.advance(2)
            waits.cancel()
            await asyncio.wait([waits])
            fixed_clock.advance(5)
        return text

    run = await _of_sessions(ask).run("x")

    assert _sessions(run).endswith(", 1 waited, the longest 2000 ms")


async def test_a_session_that_was_refused_did_not_wait() -> None:
    """It never stood in the queue [SES-10]."""

    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session():
            with pytest.raises(kb.errors.NestedSessionError):
                async with ctx.llm.read_session():
                    pass
        return text

    run = await _of_sessions(ask).run("x")

    assert _sessions(run).endswith("none waited")


async def test_a_wait_of_a_run_that_goes_on_lasts_until_its_last_event(fixed_clock: FixedClock) -> None:
    """And its open sessions are nothing to look at yet [SES-14]."""
    seen: list[kb.agents.report.Report] = []

    async def ask(ctx: kb.Context, text: str) -> str:
        async def come() -> None:
            async with ctx.llm.read_session():
                pass

        async with ctx.llm.write_session():
            waits = asyncio.ensure_future(come())
            await asyncio.sleep(0)
            fixed_clock.advance(1.5)
            ctx.log.notice("look", "now")
            assert agent.last_run is not None
            seen.append(agent.last_run.report())
        await waits
        return text

    agent = _of_sessions(ask)
    await agent.run("x")

    assert "1 waited, the longest 1500 ms" in dict(seen[0].rows)["sessions"]
    assert [line for line in seen[0].attention if "never closed" in line] == []


async def test_a_session_that_was_left_open_is_to_look_at() -> None:
    """The run is over, and the lock was not given back; who waits for it still waits [SES-11]."""
    left: list[Any] = []

    async def ask(ctx: kb.Context, text: str) -> str:
        async def come() -> None:
            async with ctx.llm.read_session():
                pass

        scope = ctx.llm.write_session()
        await scope.__aenter__()
        waits = asyncio.ensure_future(come())
        await asyncio.sleep(0)
        left.extend((scope, waits))
        return text

    run = await _of_sessions(ask).run("x")
    told = [line for line in run.report().attention if line.startswith("session never closed: ")]
    scope, waits = left
    await scope.__aexit__(None, None, None)
    await waits
    later = [line for line in run.report().attention if "never closed" in line]

    assert [line.partition(" at ")[0] for line in told] == ["session never closed: ask"] * 2
    assert [line.partition(" still ")[2] for line in told] == ["holds the lock", "waits for the lock"]
    assert "test_run_report.py:" in told[0]
    assert later == []


async def test_sessions_that_were_closed_are_nothing_to_look_at() -> None:
    """In whatever way they ended [SES-11]."""

    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session():
            with pytest.raises(kb.errors.NestedSessionError):
                async with ctx.llm.read_session():
                    pass
        with pytest.raises(OSError, match="gone"):
            async with ctx.llm.write_session():
                raise OSError("gone")
        async with ctx.llm.read_session():
            return text

    run = await _of_sessions(ask).run("x")

    assert [line for line in run.report().attention if "never closed" in line] == []


# ------------------------------------------------------------------------------------------- what it cost


@pytest.fixture
def own_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cent for a token of one model; others have no price."""

    def price_of(model: kb.LLModel, counted: kb.Usage, *, when: Any) -> Decimal | None:
        return counted.total * Decimal("0.01") if str(model) == "openai:a" else None

    monkeypatch.setattr(usage, "price_of", price_of)


def _asking(executor: Any, *nodes: str, model: str = "openai:a") -> kb.Agent:
    """An agent whose nodes ask one after another."""
    line = kb.strategy("line", input=str, output=str)

    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return (await session.request_without_tools()).text

    steps = [line.start, *(line.node(name=name)(ask) for name in nodes), line.finish]
    for left, right in pairwise(steps):
        line.edge(left, right)
    return kb.Agent(executor, model, line)


def _answer(text: str = "x", **fields: Any) -> kb.Message:
    return kb.assistant(text, usage=kb.Usage(1_000, 50), **fields)


def _rows(run: kb.Run, *subjects: str) -> list[tuple[str, str]]:
    return [row for row in run.report().rows if row[0] in subjects]


@pytest.mark.usefixtures("own_prices")
async def test_a_report_says_what_a_run_cost() -> None:
    """For its purposes, and in all [AGT-01]."""
    run = await _asking(kb.ScriptedExecutor([_answer(), kb.assistant("x")]), "a", "b").run("x")
    estimated = run.calls[1].request.tokens + kb.assistant("x").tokens
    cost = f"{Decimal('10.50') + estimated * Decimal('0.01'):.4f} USD"
    given, made = 1_000 + run.calls[1].request.tokens, 50 + kb.assistant("x").tokens

    assert _rows(run, "requests", "cost") == [
        ("requests", f"2 for conversation ({given:,} tokens in, {made} out, {cost})"),
        ("cost", f"{cost}; the tokens of 1 are estimates"),
    ]


@pytest.mark.usefixtures("own_prices")
async def test_a_report_tells_nodes_apart_where_there_are_several() -> None:
    """One row for each [AGT-01]."""
    several = await _asking(kb.ScriptedExecutor([_answer(), _answer()]), "a", "b").run("x")
    one = await _asking(kb.ScriptedExecutor([_answer()]), "a").run("x")

    assert _rows(several, "by node") == [
        ("by node", "1 in line/a (1,000 tokens in, 50 out, 10.5000 USD)"),
        ("by node", "1 in line/b (1,000 tokens in, 50 out, 10.5000 USD)"),
    ]
    assert _rows(one, "by node") == []


async def test_very_many_nodes_have_one_row_at_the_end() -> None:
    """With what they spent together, and where all of it is [AGT-01]."""
    run = await _asking(kb.ScriptedExecutor(lambda request: _answer()), *"abcdefghij").run("x")
    rows = [text for _, text in _rows(run, "by node")]

    assert len(rows) == 8
    assert rows[-1] == "3 in 3 more nodes (3,150 tokens in and out; run.usage_by_node has all)"


@pytest.mark.usefixtures("own_prices")
@pytest.mark.parametrize(
    ("answers", "cost"),
    [
        ([_answer(metadata={"answered_by": "b:c"})] * 2, "no price is known for the models that answered"),
        (
            [_answer(), _answer(metadata={"answered_by": "b:c"})],
            "10.5000 USD for 1 of 2 answers; no price is known for 1",
        ),
    ],
    ids=["none", "some"],
)
async def test_a_report_says_where_no_price_is_known(answers: list[kb.Message], cost: str) -> None:
    """It is not 0 [EXE-04]."""
    script = [one.with_parts(one.parts) for one in answers]
    run = await _asking(
        kb.ScriptedExecutor([msgspec.structs.replace(one, id=f"m{at}") for at, one in enumerate(script)]),
        "a",
        "b",
    ).run("x")

    assert _rows(run, "cost") == [("cost", cost)]


async def test_a_report_of_a_run_without_a_model_has_no_cost() -> None:
    """There is nothing to say [EXE-03]."""
    run = await _asking(kb.OfflineExecutor(), "a").run("x")

    assert (_rows(run, "cost"), "USD" in str(run.report()), "price" in str(run.report())) == (
        [],
        False,
        False,
    )


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("0", "0.0000 USD"),
        ("0.00001", "less than 0.0001 USD"),
        ("0.0001", "0.0001 USD"),
        ("1234.5", "1,234.5000 USD"),
    ],
)
def test_an_amount_is_told_to_a_hundredth_of_a_cent(cost: str, words: str) -> None:
    """A little is not nothing [AGT-01]."""
    assert in_dollars(Decimal(cost)) == words


async def test_a_report_tells_what_was_done_besides_asking(fixed_clock: FixedClock) -> None:
    """Retries, fallbacks and answers that were there, summed up, and the first two one by one [AGT-03]."""
    script = [
        ProviderError("busy", kind="overloaded", retry_after=2.0),
        ProviderError("down", kind="refused"),
        _answer("same", metadata={"n": 1}),
    ]
    inner = kb.ScriptedExecutor(script)
    executor = FallbackExecutor(CachedExecutor(RetryingExecutor(inner)), ["b:c"])
    agent = _asking(executor, "a")
    first = await agent.run("x")
    inner.requests.clear()
    second = await _asking(executor, "a", model="b:c").run("x")

    assert _rows(first, "retries", "fallbacks", "cache") == [
        ("retries", "1 planned, with pauses of 2.0 s"),
        ("fallbacks", "1, to b:c"),
    ]
    assert first.report().attention == (
        "request 1 to openai:a is to be made again in 2.0 s, since attempt 1 failed: ProviderError: busy",
        "request 1 went to b:c, since openai:a did not answer: ProviderError: down",
    )
    assert _rows(second, "requests", "cache") == [
        ("requests", "0 and 1 from the cache for conversation (0 tokens in, 0 out)"),
        ("cache", "1 answer was there already"),
    ]


async def test_a_request_that_was_stopped_in_its_pause_is_not_told_as_made_again() -> None:
    """The report says what was planned, and what came of it [AGT-03]."""
    refused = asyncio.Event()

    def refuse(request: Any) -> ProviderError:
        refused.set()
        return ProviderError("busy", kind="overloaded", retry_after=20.0)

    inner = kb.ScriptedExecutor(refuse)
    agent = _asking(RetryingExecutor(inner), "a")
    running = asyncio.ensure_future(agent.run("x"))
    await refused.wait()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert agent.last_run is not None
    report = agent.last_run.report()

    assert len(inner.requests) == 1
    assert report.attention[:2] == (
        "request 1 to openai:a is to be made again in 20.0 s, since attempt 1 failed: ProviderError: busy",
        "request 1 (conversation) was stopped before its answer was whole",
    )
    assert [line.partition(" at ")[0] for line in report.attention[2:]] == [
        "session discarded: a",
        "node stopped: line/a",
    ]
    assert report.attention[2].endswith("nothing was committed")


async def test_the_error_of_a_request_is_told_once() -> None:
    """What it ended is named, and refers to the request; a stream that broke was not left [AGT-03, EXE-05]."""
    line = kb.strategy("line", input=str, output=str)

    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            async for _ in session.request_streaming():
                pass
        return text

    node = line.node(name="a")(ask)
    line.start >> node >> line.finish
    script = [kb.BrokenAnswer("half an", ProviderError("the line broke", kind="broken"))]
    agent = kb.Agent(kb.ScriptedExecutor(script), "openai:a", line)
    with pytest.raises(ProviderError, match="the line broke"):
        await agent.run("x")
    assert agent.last_run is not None
    attention = agent.last_run.report().attention

    assert attention[0] == "request 1 (conversation) failed: ProviderError: the line broke"
    assert [text.partition(" at ")[0] for text in attention[1:]] == [
        "session discarded: a",
        "node failed: line/a: by the error of request 1",
    ]
    assert attention[1].endswith("nothing was committed (by the error of request 1)")


async def test_an_error_that_is_not_that_of_a_request_is_told_in_full() -> None:
    """Though a request had failed before it with an error of its kind [AGT-03]."""
    line = kb.strategy("line", input=str, output=str)

    async def ask(ctx: kb.Context, text: str) -> str:
        with pytest.raises(ValueError, match="a longer story"):
            async with ctx.llm.read_session() as session:
                await session.request_without_tools()
        raise ValueError("a")

    node = line.node(name="a")(ask)
    line.start >> node >> line.finish
    agent = kb.Agent(kb.ScriptedExecutor([ValueError("a longer story")]), "openai:a", line)
    with pytest.raises(ValueError, match=r"\Aa\n"):
        await agent.run("x")
    assert agent.last_run is not None

    assert agent.last_run.report().attention[-1] == "node failed: line/a: ValueError: a"


@pytest.mark.parametrize("counted", [kb.Usage(-10, 5), kb.Usage(10, -5), kb.Usage(10, 5, 50)], ids=str)
async def test_impossible_usage_does_not_break_a_report(counted: kb.Usage) -> None:
    """With the real prices: what cannot be is estimated, or has no price [EXE-04]."""
    agent = _asking(kb.ScriptedExecutor([kb.assistant("x", usage=counted)]), "a", model="openai:gpt-4o")
    run = await agent.run("x")
    spent = run.usage[0]

    assert "requests" in dict(run.report().rows)
    assert run.cost is None or run.cost >= 0
    assert (spent.input_tokens >= 0, spent.output_tokens >= 0) == (True, True)
    assert (spent.estimated, spent.unpriced) in ((1, 0), (0, 1))


def _empty(model: str) -> ProviderError:
    """The error for an empty answer, which was paid for."""
    return ProviderError("empty", kind="bad_answer", model=model, usage=kb.Usage(1_000, 0))


@pytest.mark.usefixtures("own_prices")
async def test_a_report_tells_what_was_counted_in_vain() -> None:
    """It is part of the cost [EXE-04]."""
    executor = FallbackExecutor(kb.ScriptedExecutor([_empty("openai:a"), _answer()]), ["b:c"])
    run = await _asking(executor, "a").run("x")

    assert _rows(run, "requests", "cost", "in vain") == [
        ("requests", "1 for conversation (2,000 tokens in, 50 out, 10.0000 USD and 1 without a price)"),
        ("cost", "10.0000 USD in vain; no price is known for the model that answered"),
        ("in vain", "1 attempt was counted and not answered (1,000 tokens in, 0 out, 10.0000 USD)"),
    ]


@pytest.mark.usefixtures("own_prices")
@pytest.mark.parametrize(
    ("model", "rows"),
    [
        ("openai:a", [("cost", "10.0000 USD in vain"), ("in vain", "1,000 tokens in, 0 out, 10.0000 USD")]),
        (
            "b:c",
            [
                ("cost", "no price is known for what was asked in vain"),
                ("in vain", "1,000 tokens in, 0 out, no price"),
            ],
        ),
    ],
)
async def test_a_report_of_a_run_that_failed_tells_what_was_counted(
    model: str, rows: list[tuple[str, str]]
) -> None:
    """Though nobody answered [EXE-04]."""
    agent = _asking(kb.ScriptedExecutor([_empty(model)]), "a", model=model)
    with pytest.raises(ProviderError):
        await agent.run("x")
    assert agent.last_run is not None
    cost, in_vain = _rows(agent.last_run, "cost", "in vain")

    assert [cost, ("in vain", in_vain[1].partition("(")[2].rstrip(")"))] == rows


def _empty_files_of(folder: Path) -> None:
    for file in folder.iterdir():
        file.write_bytes(b"")


async def test_a_damaged_answer_stands_in_the_report(tmp_path: Path) -> None:
    """It was asked for anew [EXE-04]."""
    executor = CachedExecutor(kb.ScriptedExecutor(lambda request: "x"), folder=tmp_path)
    agent = _asking(executor, "a")
    await agent.run("x")
    _empty_files_of(tmp_path)
    run = await agent.run("x")

    assert [line[:56] for line in run.report().attention] == [
        "cached answers: request 1: a kept answer cannot be read "
    ]


async def test_one_of_something_is_told_in_the_singular() -> None:
    """One run of one node, one read, one checkpoint, one token [AGT-05]."""
    once = kb.strategy("once", input=str, output=str)

    @once.node
    async def look(ctx: kb.Context, text: str) -> str:
        await ctx.run_tools([kb.ToolCall("beep")])
        async with ctx.llm.read_session() as session:
            reply = await session.request()
        return reply.text

    def beep() -> str:
        """Beep."""
        return "beep"

    once.start >> look >> once.finish
    answer = kb.assistant("x", usage=kb.Usage(1, 1))
    agent = kb.Agent(kb.ScriptedExecutor([answer]), "offline", once, tools=[beep])
    run = await agent.install(kb.Persistence(kb.MemoryCheckpoints())).run("x")

    assert _rows(run, "nodes", "sessions", "requests", "tools", "saved") == [
        ("nodes", "1 run of 1 node: look"),
        ("sessions", "0 committed, 0 discarded, 1 read, none waited"),
        ("requests", "1 for conversation (1 token in, 1 out, no price)"),
        ("tools", "1 call: beep"),
        ("saved", "1 checkpoint, version 0, and the end"),
    ]
