"""Whether a trace that was read tells of each run once, and from its beginning to its end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from koogbook.events import (
    BranchCompleted,
    BranchFailed,
    BranchStarting,
    CompressionCompleted,
    CompressionFailed,
    CompressionStarting,
    Event,
    LLMCallCompleted,
    LLMCallFailed,
    LLMCallStarting,
    LLMStreamingCompleted,
    LLMStreamingFailed,
    LLMStreamingFrame,
    LLMStreamingStarting,
    NodeCompleted,
    NodeFailed,
    NodeStarting,
    Notice,
    RunCompleted,
    RunFailed,
    RunStarting,
    SessionClosed,
    SessionOpened,
    SessionRefused,
    SessionTimedOut,
    StrategyCompleted,
    StrategyFailed,
    StrategyStarting,
    SubgraphCompleted,
    SubgraphFailed,
    SubgraphStarting,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallStarting,
    ToolValidationFailed,
)

#: The kind of the notice that lines of a run are missing.
GAP: Final = "trace_gap"
#: The kind of the notice that a run stands in a file several times.
DOUBLED: Final = "trace_doubled"

_NAMED = 3  # of those that are missing
_END = (RunCompleted, RunFailed)
#: A trace that has none of these was written of kinds that somebody chose.
_AROUND = frozenset((RunStarting, StrategyStarting, StrategyCompleted, StrategyFailed))

#: What begins and ends: its noun, its beginnings, its ends, what they have in common, and how it is named.
_PAIRED: tuple[tuple[str, tuple[type[Event], ...], tuple[type[Event], ...], tuple[str, ...], str], ...] = (
    ("run", (RunStarting,), _END, ("run_id",), "run_id"),
    ("strategy", (StrategyStarting,), (StrategyCompleted, StrategyFailed), ("strategy",), "strategy"),
    ("subgraph", (SubgraphStarting,), (SubgraphCompleted, SubgraphFailed), ("path",), "path"),
    ("branch", (BranchStarting,), (BranchCompleted, BranchFailed), ("path", "order"), "path"),
    ("node", (NodeStarting,), (NodeCompleted, NodeFailed), ("path", "visit"), "path"),
    (
        "request",
        (LLMCallStarting, LLMStreamingStarting),
        (LLMCallCompleted, LLMCallFailed, LLMStreamingCompleted, LLMStreamingFailed),
        ("call",),
        "call",
    ),
    ("tool call", (ToolCallStarting,), (ToolCallCompleted, ToolCallFailed), ("number", "tool"), "tool"),
    ("compression", (CompressionStarting,), (CompressionCompleted, CompressionFailed), ("path",), "path"),
    ("session", (SessionOpened,), (SessionClosed, SessionRefused, SessionTimedOut), ("session",), "place"),
)


class _Side(NamedTuple):
    """What an event of some kind is: a beginning or an end, of what, and by what that is known and named."""

    noun: str
    begins: bool
    fails: bool
    known_by: attrgetter[Any]
    name: attrgetter[Any]


_SIDES: dict[type[Event], _Side] = {
    kind: _Side(noun, kind in begins, kind.__name__.endswith("Failed"), attrgetter(*by), attrgetter(name))
    for noun, begins, ends, by, name in _PAIRED
    for kind in (*begins, *ends)
}
#: What is counted from 1 within a run, and the field with its number.
_NUMBERED: Final = {"request": "call", "tool call": "number"}
_COUNTED: dict[type[Event], str] = {
    **{kind: side.noun for kind, side in _SIDES.items() if side.noun in _NUMBERED},
    ToolValidationFailed: "tool call",
}


class _Pairs:
    """How often one thing began and ended."""

    __slots__ = ("_completed", "beginless", "name", "open")

    def __init__(self, name: str) -> None:
        self.name = name
        self.open = 0
        self.beginless = 0
        self._completed = False

    def begin(self) -> None:
        """It began."""
        self.open += 1

    def end(self, *, failed: bool) -> None:
        """It ended; what completed fails as well where a listener raised on that."""
        if self.open:
            self.open -= 1
        elif not (failed and self._completed):
            self.beginless += 1
        self._completed = not failed


class _Telling:
    """One of the times that a run stands in a file: where its events are, and what their lines were."""

    __slots__ = ("begun", "ends", "hashes", "line", "places", "version")

    def __init__(self, line: int, version: int) -> None:
        self.line = line
        self.version = version
        self.places: list[int] = []
        self.hashes: list[int] = []
        self.begun = False
        self.ends: set[type[Event]] = set()

    @property
    def is_over(self) -> bool:
        """Whether what begins now is not this any more; one completes or fails, and does not do both."""
        return self.begun or len(self.ends) == 1

    def begins(self, other: _Telling) -> bool:
        """Whether another one tells the same, and perhaps more."""
        return self.hashes == other.hashes[: len(self.hashes)]


class Tellings:
    """The runs of a file, as they are read."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: dict[str, list[_Telling]] = {}

    def add(self, event: Event, place: int, number: int, line: bytes, version: int) -> None:
        """An event, its place among those that were read, and the line that it was, with its number and version."""
        if not event.run_id:
            return
        told = self._runs.get(event.run_id)
        if told is None:
            told = self._runs[event.run_id] = [_Telling(number, version)]
        elif type(event) is RunStarting and told[-1].is_over:
            told.append(_Telling(number, version))
        last = told[-1]
        last.places.append(place)
        last.hashes.append(hash(line.rstrip()))
        last.begun = last.begun or type(event) is RunStarting
        if isinstance(event, _END):
            last.ends.add(type(event))

    def once(self, events: Sequence[Event], name: str) -> list[Event]:
        """The events of a file of this name, each run told once, and behind them what is to notice about its runs.

        Where a run stands in the file several times, the telling of most events is taken; of equals, the first.
        """
        left_out: set[int] = set()
        notices: list[Notice] = []
        for run_id, told in self._runs.items():
            taken = max(told, key=lambda one: len(one.places))
            for other in told:
                if other is not taken:
                    left_out.update(other.places)
            found = [events[place] for place in taken.places]
            said = {(event.kind, event.text) for event in found if isinstance(event, Notice)}
            doubled = _doubled(run_id, told, taken, name) if len(told) > 1 else ""
            # Not everything that had an end in version 1 had a beginning.
            gaps = gaps_of(found) if taken.version > 1 else ""
            for kind, text in ((DOUBLED, doubled), (GAP, gaps)):
                # A trace that was read and saved again has what was noticed then.
                if text and (kind, text) not in said:
                    notices.append(_notice(found[-1], kind, text))
        kept = events if not left_out else [one for place, one in enumerate(events) if place not in left_out]
        return [*kept, *notices]


def _notice(last: Event, kind: str, text: str) -> Notice:
    return Notice(
        time=last.time, at=last.at, run_id=last.run_id, session_id=last.session_id, kind=kind, text=text
    )


def _doubled(run_id: str, told: Sequence[_Telling], taken: _Telling, name: str) -> str:
    lines = _listed([str(one.line) for one in told])
    others = [one for one in told if one is not taken]
    left_out = sum(len(one.places) for one in others)
    events = f"{left_out:,} {'event' if left_out == 1 else 'events'}"
    begins = f"Run {run_id} begins {len(told)} times in {name}, in the lines {lines}"
    if all(one.begins(taken) for one in others):
        return f"{begins}, with the same events: {events} more in all, left out so that each one counts once."
    return (
        f"{begins}, and not with the same events. Those from line {taken.line} on are taken, which are the most; "
        f"{events} of the rest are left out. To see each by itself, part the file where it was put together."
    )


def gaps_of(events: Sequence[Event]) -> str:
    """What shows that the events of a run that ended are not all there, for a person; empty where nothing does.

    A session that never ended is none: a run may leave one open, and its report says so.
    """
    kinds = {type(event) for event in events}
    # One completes or fails: events that have both are no run's.
    if _AROUND.isdisjoint(kinds) or sum(kind in kinds for kind in _END) != 1:
        return ""
    pairs: dict[tuple[str, Any], _Pairs] = {}
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    frames: Counter[int] = Counter()
    streamed: dict[int, int] = {}
    for event in events:
        kind = type(event)
        if isinstance(event, LLMStreamingFrame):
            frames[event.call] += 1
        elif isinstance(event, LLMStreamingCompleted | LLMStreamingFailed):
            streamed[event.call] = event.frames
        if (side := _SIDES.get(kind)) is not None:
            key = side.noun, side.known_by(event)
            pair = pairs.get(key)
            if pair is None:
                pair = pairs[key] = _Pairs(str(side.name(event)))
            if side.begins:
                pair.begin()
            else:
                pair.end(failed=side.fails)
        elif kind is ToolValidationFailed:
            # The arguments may not fit before the call begins, or after.
            key = "tool call", _SIDES[ToolCallFailed].known_by(event)
            if key in pairs:
                pairs[key].end(failed=True)
        if (noun := _COUNTED.get(kind)) is not None:
            numbers[noun].add(getattr(event, _NUMBERED[noun]))
    found = [*_unpaired(pairs), *_not_counted(numbers), *_not_streamed(frames, streamed)]
    if not found:
        return ""
    return (
        f"The trace of this run is not whole: {'; '.join(found)}. Lines were lost, or not written, as with "
        f"kb.Tracing(path, events=...). What is shown of the run is what the others tell."
    )


def _unpaired(pairs: dict[tuple[str, Any], _Pairs]) -> Iterable[str]:
    open_session = any(noun == "session" and pair.open for (noun, _), pair in pairs.items())
    for noun, *_ in _PAIRED:
        endless = [pair.name for key, pair in pairs.items() if key[0] == noun and pair.open]
        beginless = [pair.name for key, pair in pairs.items() if key[0] == noun and pair.beginless]
        # Who leaves a session open may have asked in it, and wait for the answer still.
        if noun == "session" or (open_session and noun in ("request", "compression")):
            endless = []
        if endless:
            yield f"{_some(noun, endless)} {'begins' if len(endless) == 1 else 'begin'} and never ended"
        if beginless:
            yield f"{_some(noun, beginless)} {'ends' if len(beginless) == 1 else 'end'} and never began"


def _not_counted(numbers: dict[str, set[int]]) -> Iterable[str]:
    for noun, seen in numbers.items():
        last = max(seen)
        # No longer than what was read, whatever number stands in a line.
        missing = last - sum(number > 0 for number in seen)
        if missing > 0:
            first = next(number for number in range(1, last + 1) if number not in seen)
            which = f"{noun} {first}" if missing == 1 else f"{missing:,} {noun}s, from {first} on,"
            yield f"of {last:,} {noun}s, {which} {'is' if missing == 1 else 'are'} in no line"


def _not_streamed(frames: Counter[int], streamed: dict[int, int]) -> Iterable[str]:
    # There may be very many, and who chooses kinds leaves them out first.
    if frames:
        for call, said in streamed.items():
            if said > frames[call]:
                lost = said - frames[call]
                yield f"of the {said:,} frames of request {call}, {lost:,} {'is' if lost == 1 else 'are'} in no line"


def _some(noun: str, names: list[str]) -> str:
    plural = f"{noun}es" if noun == "branch" else f"{noun[:-1]}ies" if noun == "strategy" else f"{noun}s"
    return f"{len(names):,} {noun if len(names) == 1 else plural} ({_listed(list(dict.fromkeys(names)))})"


def _listed(names: list[str]) -> str:
    first, more = names[:_NAMED], len(names) - _NAMED
    if more > 0:
        return f"{', '.join(first)} and {more:,} more"
    return " and ".join((", ".join(first[:-1]), first[-1])) if len(first) > 1 else first[0]
