"""One request of a run: as it was asked, what was done to it on its way, as it went out, and what came back.

The records are made from the events of a run and from nothing else, so that those of a trace are the same.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from koogbook.errors import TraceError
from koogbook.events import (
    Event,
    LLMCallCompleted,
    LLMCallFailed,
    LLMCallFellBack,
    LLMCallRetrying,
    LLMCallStarting,
    LLMStreamingStarting,
)
from koogbook.llm.layers import Mark, layer_of, tag_of, tool_tokens
from koogbook.llm.request import Request
from koogbook.messages.message import REFERENCE_NAME, Message, Usage


class RequestChange(Struct, frozen=True, kw_only=True, dict=True):
    """What the interceptor of one feature did to a request: as it got it, and as it handed it on.

    ``added`` are positions in the messages of ``after``, ``taken_out`` in those of ``before``, ``changed`` are pairs of
    both. Messages are told by their ids.
    """

    feature: str
    before: Request
    after: Request

    @cached_property
    def added(self) -> tuple[int, ...]:
        """Positions, in ``after``, of messages that were not there before."""
        known = {after for _, after in self._pairs}
        return tuple(place for place in range(len(self.after.messages)) if place not in known)

    @cached_property
    def taken_out(self) -> tuple[int, ...]:
        """Positions, in ``before``, of messages that are not there any more."""
        known = {before for before, _ in self._pairs}
        return tuple(place for place in range(len(self.before.messages)) if place not in known)

    @cached_property
    def changed(self) -> tuple[tuple[int, int], ...]:
        """Positions, in ``before`` and ``after``, of messages that are not what they were."""
        old, new = self.before.messages, self.after.messages
        return tuple(pair for pair in self._pairs if old[pair[0]] != new[pair[1]])

    @cached_property
    def reordered(self) -> bool:
        """Whether messages that stayed stand in another order."""
        places = [after for _, after in self._pairs]
        return places != sorted(places)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """What else of the request is not what it was: ``tools``, ``model``, ``params``, ``schema`` and so on."""
        names = (name for name in self.before.__struct_fields__ if name != "messages")
        return tuple(name for name in names if getattr(self.before, name) != getattr(self.after, name))

    @property
    def is_empty(self) -> bool:
        """It handed on an equal request."""
        return not (self.added or self.taken_out or self.changed or self.reordered or self.fields)

    @cached_property
    def _pairs(self) -> tuple[tuple[int, int], ...]:
        """Positions before and after of each message that is on both sides, by the order before."""
        places: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, message in enumerate(self.after.messages):
            places[message.id].append(place)
        return tuple(
            (place, places[message.id].popleft())
            for place, message in enumerate(self.before.messages)
            if places.get(message.id)
        )


class SentLayer(Struct, frozen=True, kw_only=True):
    """The layer of one message that was sent, and who is behind it.

    ``added_by`` is the feature that put it in on the way, ``loaded_by`` the one that marked it in the registry,
    ``changed_by`` those that edited it on the way. ``wrong_tag`` is a tag that names no layer.
    """

    layer: str
    added_by: str = ""
    loaded_by: str = ""
    changed_by: tuple[str, ...] = ()
    made_for_it: bool = False
    wrong_tag: str = ""


class SpentInVain(Struct, frozen=True, kw_only=True):
    """What a provider counted for an attempt that gave no answer; ``model`` is ``provider:model``."""

    model: str
    usage: Usage
    time: datetime


class CallRecord(Struct, frozen=True, kw_only=True, dict=True):
    """One request as it went out, and what came back; numbers count from 1 within the run.

    ``changes`` is what interceptors did to it on its way, the outermost first, and ``marks`` the layers of loaded
    messages as the run knew them then. ``reply`` is what the executor answered. Without a reply and an ``error`` the
    request is on its way. ``spent`` is what was counted for attempts in vain: those after which it was asked again, and
    the last one where that failed.
    """

    number: int
    path: str
    request: Request
    reply: Message | None
    seconds: float
    error: str = ""
    changes: tuple[RequestChange, ...] = ()
    marks: Mapping[str, Mark] = {}
    streamed: bool = False
    spent: tuple[SpentInVain, ...] = ()

    @property
    def asked(self) -> Request:
        """The request as the session made it."""
        return self.changes[0].before if self.changes else self.request

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of all that was sent: messages and definitions of tools."""
        return self.request.tokens + sum(map(tool_tokens, self.request.tools))

    @cached_property
    def layers(self) -> tuple[SentLayer, ...]:
        """The layer of each message that was sent, in order."""
        return tuple(self._layers())

    def _layers(self) -> Iterator[SentLayer]:
        added, changed = self._on_the_way()
        own = _made_for_it(self.asked)
        for message in self.request.messages:
            mark = self.marks.get(message.id)
            feature = added.get(message.id, "")
            made_for_it = not feature and message.id in own
            layer = layer_of(message, mark=mark, feature=feature, made_for_it=made_for_it)
            tag = tag_of(message)
            yield SentLayer(
                layer=layer,
                added_by=feature,
                loaded_by=mark.by if mark is not None else "",
                changed_by=tuple(changed.get(message.id, ())),
                made_for_it=made_for_it,
                wrong_tag="" if tag is None or tag == layer else str(tag),
            )

    def _on_the_way(self) -> tuple[dict[str, str], dict[str, dict[str, None]]]:
        """By message id: which feature put it in, and which ones changed it."""
        added: dict[str, str] = {}
        changed: dict[str, dict[str, None]] = {}
        for change in self.changes:
            for place in change.added:
                added[change.after.messages[place].id] = change.feature
            for _, place in change.changed:
                changed.setdefault(change.after.messages[place].id, {})[change.feature] = None
        return added, changed


class Calls:
    """The records of the calls in a list of events that grows; each event is looked at once."""

    __slots__ = ("_looked_at", "_places", "_records")

    def __init__(self) -> None:
        self._looked_at = 0
        #: Where the record of a call stands, by its run and its number there.
        self._places: dict[tuple[str, int], int] = {}
        self._records: list[CallRecord] = []

    def read(self, events: Sequence[Event]) -> list[CallRecord]:
        """The records as they are after all of these events, which begin with those that were given before."""
        while self._looked_at < len(events):
            event = events[self._looked_at]
            self._looked_at += 1
            if isinstance(event, LLMCallStarting):
                self._places[event.run_id, event.call] = len(self._records)
                self._records.append(_begun(event))
            elif (
                isinstance(event, LLMCallCompleted | LLMCallFailed | LLMCallRetrying | LLMCallFellBack)
                and (place := self._places.get((event.run_id, event.call))) is not None
            ):
                self._records[place] = _after(self._records[place], event)
        return self._records


def calls_of(events: Iterable[Event]) -> tuple[CallRecord, ...]:
    """The requests that events tell of, in the order in which they went out: of one run they equal ``run.calls``.

    Raises:
        TraceError: An event does not hold its request, as in a trace of version 1.
    """
    return tuple(Calls().read(tuple(events)))


def _begun(event: LLMCallStarting) -> CallRecord:
    if not isinstance(event.request, Request):
        raise TraceError(
            f"What was asked in request {event.call} of run {event.run_id} is not in its event, as it is in no trace "
            "of version 1. Save the run again with this koogbook: kb.save_trace(run, path)."
        )
    if not isinstance(event.changes, tuple | list) or not all(map(_is_whole, event.changes)):
        raise TraceError(
            f"What was done to request {event.call} of run {event.run_id} on its way is no list of changes, but "
            f"{event.changes!r:.60}. The trace was changed after it was written: save the run again, or take the "
            "event out."
        )
    return CallRecord(
        number=event.call,
        path=event.path,
        request=event.request,
        reply=None,
        seconds=0.0,
        changes=tuple(event.changes),
        marks=event.marks or {},
        streamed=isinstance(event, LLMStreamingStarting),
    )


def _is_whole(change: object) -> bool:
    return (
        isinstance(change, RequestChange)
        and isinstance(change.before, Request)
        and isinstance(change.after, Request)
    )


def _after(
    record: CallRecord, event: LLMCallCompleted | LLMCallFailed | LLMCallRetrying | LLMCallFellBack
) -> CallRecord:
    """The record of a call after what happened to it."""
    if isinstance(event, LLMCallCompleted):
        return replace(record, reply=event.reply, seconds=event.seconds)
    spent = record.spent
    if event.usage is not None:
        spent = (*spent, SpentInVain(model=event.spent_by, usage=event.usage, time=event.when))
    if isinstance(event, LLMCallFailed):
        return replace(record, seconds=event.seconds, error=event.error, spent=spent)
    return replace(record, spent=spent)


def _made_for_it(request: Request) -> frozenset[str]:
    """Ids of what a request holds beside its history.

    With a schema it is the end: the instruction, then each answer that did not fit, with what was wrong. A request
    that is no part of the conversation has an instruction of its own in place of the agent's system message.
    """
    messages = request.messages
    found: set[str] = set()
    if request.schema is not None:
        place = len(messages)
        while place and messages[place - 1].name == REFERENCE_NAME:
            place -= 1
            found.add(messages[place].id)
            if (
                place > 1
                and messages[place - 1].role == "assistant"
                and messages[place - 2].name == REFERENCE_NAME
            ):
                place -= 1
                found.add(messages[place].id)
    if request.purpose != "conversation":
        found.update(
            one.id for one in messages if one.role == "system" and not one.metadata.get("from_agent")
        )
    return frozenset(found)
