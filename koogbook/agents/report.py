"""A run in words. Nothing that was lost, skipped or repaired is missing from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from koogbook.events import (
    BranchesMerged,
    CheckpointSaved,
    CheckpointSkipped,
    CompressionFailed,
    HandlerFailed,
    LLMCallCached,
    LLMCallFailed,
    LLMCallFellBack,
    LLMCallRetrying,
    NodeFailed,
    NodeStarting,
    Notice,
    RunFailed,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionEvent,
    SessionRefused,
    SessionSlow,
    SessionTimedOut,
    SessionWaiting,
    TombstoneSaved,
    ToolCallCompleted,
    ToolCallFailed,
    ToolValidationFailed,
)
from koogbook.llm.usage import NodeUsage, Spending, spent_in_vain, usage_of_all

if TYPE_CHECKING:
    from koogbook.agents.run import Run
    from koogbook.events import Event
    from koogbook.messages.ledger import Ledger


#: So many nodes have a row of their own.
_MOST_NODES = 8

#: After one of these a session neither holds the lock nor waits for it.
_OVER = (SessionCommitted, SessionDiscarded, SessionClosed, SessionRefused, SessionTimedOut)


class Report(Struct, frozen=True):
    """A report; ``str()`` gives it as text. ``rows`` are (subject, what happened), ``attention`` needs a look."""

    outcome: str
    rows: tuple[tuple[str, str], ...]
    attention: tuple[str, ...]

    def __str__(self) -> str:
        body = [self.outcome, *(f"  {subject:<10}{text}" for subject, text in self.rows)]
        if self.attention:
            body += ["", f"  {len(self.attention)} to look at:", *(f"  ! {line}" for line in self.attention)]
        return "\n".join(body)

    __repr__ = __str__


def _count(number: int, one: str) -> str:
    """A number with its noun: ``1 node``, ``1,204 nodes``."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def report_of(run: Run) -> Report:
    """The report of a run, finished or not."""
    events = run.events
    outcome = f"Run {run.run_id} of {run.session_id!r} {_state(run, events)}"
    rows = [
        ("nodes", _nodes(events, run)),
        ("sessions", _sessions(events)),
        ("requests", _calls(run)),
        *_by_node(run.usage_by_node),
        *_cost(usage_of_all(run.calls)),
        *_in_vain(run),
        *_asked_otherwise(events),
    ]
    if run.resumed_from is not None:
        restored = run.resumed_from
        rows.insert(
            0, ("resumed", f"from {restored.checkpoint} (version {restored.version}) after {restored.path}")
        )
    rows += _tools(events)
    rows += [("merged", _merged(event)) for event in events if isinstance(event, BranchesMerged)]
    rows += [("compress", _compression(ledger)) for ledger in run.compressions]
    saved = [event for event in events if isinstance(event, CheckpointSaved)]
    ended = any(isinstance(event, TombstoneSaved) for event in events)
    if saved or ended:
        span = f", version {saved[0].version}" if len(saved) == 1 else ""
        if len(saved) > 1:
            span = f", versions {saved[0].version} to {saved[-1].version}"
        rows.append(("saved", f"{_count(len(saved), 'checkpoint')}{span}{', and the end' if ended else ''}"))
    if run.installed:
        rows.append(("features", _features(run.installed, run.acted)))
    return Report(outcome, tuple(rows), tuple(_attention(events, goes_on=run.state == "running")))


def _features(installed: Sequence[str], acted: Sequence[str]) -> str:
    """Which ones changed or kept something; the others may have listened or had nothing to do, which no trace tells."""
    others = [name for name in installed if name not in acted]
    told = [f"acted: {', '.join(acted)}"] if acted else []
    if others:
        told.append(f"changed nothing in the run: {', '.join(others)}")
    return "; ".join(told)


def _state(run: Run, events: tuple[Event, ...]) -> str:
    seconds = events[-1].at - events[0].at if events else 0.0
    match run.state:
        case "failed":
            ended = next((event for event in reversed(events) if isinstance(event, RunFailed)), None)
            error = f"{type(run.error).__name__}: {run.error}" if ended is None else ended.error
            return f"failed: {error}"
        case "cancelled":
            return f"was cancelled after {seconds:.2f} s."
        case "completed":
            return f"completed in {seconds:.2f} s."
        case "running":
            return f"is running; its last event was {seconds:.2f} s after its first."


def _nodes(events: tuple[Event, ...], run: Run) -> str:
    started = Counter(event.path for event in events if isinstance(event, NodeStarting))
    counting = {node.path for node in run.strategy.graph.all_nodes() if node.counts}
    inner = [path.rpartition("/")[2] for path in started if path in counting]
    more = ", ..." if len(inner) > 12 else ""
    own = sum(count for path, count in started.items() if path in counting)
    before = f" ({run.iterations - own} before the resume)" if run.resumed else ""
    listed = f": {', '.join(inner[:12])}{more}" if inner else ""
    return f"{_count(own, 'run')} of {_count(len(inner), 'node')}{before}{listed}"


def _sessions(events: tuple[Event, ...]) -> str:
    acquired = [event for event in events if isinstance(event, SessionAcquired)]
    waits = [wait for told in _each_session(events) if (wait := _wait(told, events[-1].at)) is not None]
    committed = sum(isinstance(event, SessionCommitted) for event in events)
    discarded = sum(isinstance(event, SessionDiscarded) for event in events)
    reads = sum(event.mode == "read" for event in acquired)
    longest = f", {len(waits)} waited, the longest {max(waits) * 1000:.0f} ms" if waits else ", none waited"
    return f"{committed} committed, {discarded} discarded, {_count(reads, 'read')}{longest}"


def _each_session(events: tuple[Event, ...]) -> list[list[SessionEvent]]:
    """The events of each session, in the order in which they were asked for."""
    found: dict[int, list[SessionEvent]] = {}
    for event in events:
        if isinstance(event, SessionEvent):
            found.setdefault(event.session, []).append(event)
    return list(found.values())


def _wait(told: list[SessionEvent], now: float) -> float | None:
    """Seconds from asking to having the lock or giving up, so far for one that waits; None without a wait."""
    if not any(isinstance(event, SessionWaiting) for event in told):
        return None
    end = next((event.at for event in told if isinstance(event, (SessionAcquired, *_OVER))), now)
    return end - told[0].at


def _never_closed(told: list[SessionEvent]) -> str:
    if any(isinstance(event, _OVER) for event in told):
        return ""
    holds = any(isinstance(event, SessionAcquired) for event in told)
    does = "holds the lock" if holds else "waits for the lock"
    return f"session never closed: {told[0].who or 'a task'} at {told[0].place} still {does}"


def _calls(run: Run) -> str:
    if not run.usage:
        return "none"
    parts = [f"{_asked(spent)} for {spent.purpose} ({_spent(spent)})" for spent in run.usage]
    answered = {
        str(record.reply.metadata.get("answered_by"))
        for record in run.calls
        if record.reply is not None and record.reply.metadata.get("model") is False
    }
    by = f"; answered by {', '.join(sorted(answered))}, not by a model" if answered else ""
    return f"{', '.join(parts)}{by}"


def _by_node(spent: tuple[NodeUsage, ...]) -> list[tuple[str, str]]:
    """A row for each node that asked, where there are several; the last of very many stand together."""
    if len(spent) < 2:
        return []
    first = spent if len(spent) <= _MOST_NODES else spent[: _MOST_NODES - 1]
    rows = [("by node", f"{_asked(one)} in {one.path or 'no node'} ({_spent(one)})") for one in first]
    rest = spent[len(first) :]
    if rest:
        calls = sum(one.calls + one.cached for one in rest)
        tokens = sum(one.input_tokens + one.output_tokens for one in rest)
        many, all_tokens = _count(len(rest), "more node"), _count(tokens, "token")
        rows.append(("by node", f"{calls} in {many} ({all_tokens} in and out; run.usage_by_node has all)"))
    return rows


def _asked(spent: Spending) -> str:
    cached = f" and {spent.cached} from the cache" if spent.cached else ""
    return f"{spent.calls}{cached}"


def _spent(spent: Spending) -> str:
    price = ""
    if spent.priced or spent.unpriced or spent.in_vain:
        price = ", no price" if spent.cost is None else f", {in_dollars(spent.cost)}"
        unknown = spent.unpriced + spent.in_vain_unpriced
        if spent.cost is not None and unknown:
            price += f" and {unknown} without a price"
    return f"{_count(spent.input_tokens, 'token')} in, {spent.output_tokens:,} out{price}"


def _cost(spent: Spending) -> list[tuple[str, str]]:
    """What all cost together; nothing to say where no model answered or counted."""
    answered = spent.priced + spent.unpriced
    if not answered and not spent.in_vain:
        return []
    unknown = f"no price is known for {'the model' if answered == 1 else 'the models'} that answered"
    if spent.cost is None:
        told = unknown if answered else "no price is known for what was asked in vain"
    elif not spent.priced and spent.in_vain:
        told = f"{in_dollars(spent.cost)} in vain{f'; {unknown}' if answered else ''}"
    else:
        told = in_dollars(spent.cost)
        if spent.unpriced:
            told += f" for {spent.priced} of {answered} answers; no price is known for {spent.unpriced}"
    estimated = f"; the tokens of {spent.estimated} are estimates" if spent.estimated else ""
    return [("cost", f"{told}{estimated}")]


def _in_vain(run: Run) -> list[tuple[str, str]]:
    """What was counted for attempts without an answer, where that was any; the sums have it as well."""
    spent = spent_in_vain(run.calls)
    if not spent.in_vain:
        return []
    attempts = "attempt was" if spent.in_vain == 1 else "attempts were"
    return [("in vain", f"{spent.in_vain} {attempts} counted and not answered ({_spent(spent)})")]


def in_dollars(cost: Decimal) -> str:
    """An amount for people, to a hundredth of a cent."""
    return "less than 0.0001 USD" if 0 < cost < Decimal("0.0001") else f"{cost:,.4f} USD"


def _asked_otherwise(events: tuple[Event, ...]) -> list[tuple[str, str]]:
    """What executors did besides asking."""
    retries = [event for event in events if isinstance(event, LLMCallRetrying)]
    fallbacks = [event for event in events if isinstance(event, LLMCallFellBack)]
    cached = sum(isinstance(event, LLMCallCached) for event in events)
    rows = []
    if retries:
        rows.append(
            ("retries", f"{len(retries)} planned, with pauses of {sum(one.wait for one in retries):.1f} s")
        )
    if fallbacks:
        to = ", ".join(dict.fromkeys(event.to for event in fallbacks))
        rows.append(("fallbacks", f"{len(fallbacks)}, to {to}"))
    if cached:
        rows.append(("cache", f"{cached} {'answer was' if cached == 1 else 'answers were'} there already"))
    return rows


def _tools(events: tuple[Event, ...]) -> list[tuple[str, str]]:
    """How often which tools were called; nothing to say where none was."""
    ended = [
        event
        for event in events
        if isinstance(event, ToolCallCompleted | ToolCallFailed | ToolValidationFailed)
    ]
    if not ended:
        return []
    called = Counter(event.tool for event in ended)
    listed = ", ".join(f"{name} {count}" if count > 1 else name for name, count in called.items())
    bad = sum(not isinstance(event, ToolCallCompleted) for event in ended)
    failed = f", {bad} without success" if bad else ""
    return [("tools", f"{_count(len(ended), 'call')}: {listed}{failed}")]


def _merged(event: BranchesMerged) -> str:
    """How the branches of a block became one, and what goes on."""
    name = event.path.rpartition("/")[2]
    took = f" took {event.winner}" if event.winner else ""
    more = f" and {len(event.failed) - 5} more" if len(event.failed) > 5 else ""
    without = f", without {', '.join(event.failed[:5])}{more}, which failed" if event.failed else ""
    return f"{name}: {event.merge}{took}{without}; history {event.history}, storage {event.storage}"


def _compression(ledger: Ledger) -> str:
    return (
        f"{ledger.strategy} {ledger.status}: {len(ledger.before)} -> {_count(len(ledger.after), 'message')}, "
        f"{ledger.tokens_before:,} -> {_count(ledger.tokens_after, 'token')}; {ledger.count('kept')} kept, "
        f"{ledger.count('memory')} memory, {ledger.count('summarised')} summarised, {ledger.count('dropped')} dropped"
    )


def _attention(events: tuple[Event, ...], *, goes_on: bool) -> list[str]:
    found: dict[str, int] = {}
    # While a run goes on its sessions may be open.
    left_open = [] if goes_on else map(_never_closed, _each_session(events))
    for line in (*_lines(events), *left_open):
        if line:
            found[line] = found.get(line, 0) + 1
    return [line if count == 1 else f"{line} ({count} times)" for line, count in found.items()]


def _lines(events: tuple[Event, ...]) -> Iterator[str]:
    """What is to say of each event; the error of a request is told once, and named where it went on from there."""
    failed: list[LLMCallFailed] = []
    for event in events:
        if isinstance(event, LLMCallFailed) and not event.cancelled:
            failed.append(event)
        elif isinstance(event, NodeFailed | SessionDiscarded):
            # The event of a request has the notes of its error as well.
            told = (one for one in reversed(failed) if f"{one.error} (".startswith(f"{event.error} ("))
            request = next(told, None)
            if request is not None:
                event = replace(event, error=f"by the error of request {request.call}")
        yield _line(event)


def _line(event: Event) -> str:
    match event:
        case Notice(kind=kind, text=text):
            return f"{kind}: {text}"
        case CheckpointSkipped(reason=reason):
            return f"checkpoint skipped: {reason}"
        case SessionDiscarded(who=who, place=place, error=error):
            why = f" ({error})" if error.rstrip(": ") != "CancelledError" else ""
            return f"session discarded: {who} at {place}, nothing was committed{why}"
        case SessionRefused(who=who, place=place, first=first, waits=waits):
            why = f", whose task waits for it ({waits})" if waits else ""
            return f"nested session refused: {who} at {place}, while {first} was open{why}"
        case SessionTimedOut(who=who, place=place, holders=holders):
            return f"session gave up waiting: {who} at {place}, held by {', '.join(holders)}"
        case SessionSlow(who=who, place=place, held=held):
            return f"slow session: {who} at {place} has held the lock for {held:.0f} s"
        case NodeFailed(path=path, cancelled=True):
            return f"node stopped: {path}"
        case NodeFailed(path=path, error=error):
            return f"node failed: {path}: {error}"
        case LLMCallFailed(call=call, purpose=purpose, cancelled=True):
            return f"request {call} ({purpose}) was stopped before its answer was whole"
        case LLMCallFailed(call=call, purpose=purpose, error=error):
            return f"request {call} ({purpose}) failed: {error}"
        case LLMCallRetrying(call=call, model=model, attempt=attempt, wait=wait, error=error):
            why = f"since attempt {attempt} failed: {error}"
            return f"request {call} to {model} is to be made again in {wait:.1f} s, {why}"
        case LLMCallFellBack(call=call, model=model, to=to, error=error):
            return f"request {call} went to {to}, since {model} did not answer: {error}"
        case ToolCallFailed(tool=tool, cancelled=True):
            return f"tool {tool} was stopped before it had returned"
        case ToolValidationFailed(tool=tool, error=error) | ToolCallFailed(tool=tool, error=error):
            return f"tool {tool}: {error}"
        case CompressionFailed(strategy=strategy, cancelled=True):
            return f"compression {strategy} was stopped, the history is as it was"
        case CompressionFailed(strategy=strategy, error=error):
            return f"compression {strategy} failed, the history is as it was: {error}"
        case HandlerFailed(handler=handler, event=name, error=error):
            return f"listener {handler} failed on {name}: {error}"
        case _:
            return ""
