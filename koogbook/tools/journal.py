"""The journal of tool executions: what ran, with which arguments, and how it ended.

It is a fact of its own beside the messages: a history may be shortened, and it never says what was cut off in the
middle. :func:`tool_executions` reads it from the events of a run, a :class:`JournalStorage` keeps it durably.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from koogbook.events import Event, ToolCallCompleted, ToolCallFailed, ToolCallStarting, ToolValidationFailed

Status = Literal["started", "succeeded", "failed", "cancelled"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ToolExecution(Struct, frozen=True, kw_only=True):
    """One execution of a tool.

    ``number`` counts from 1: in the session where a store has kept it, in the run where it was read from events.
    ``status`` is ``"started"`` where nothing says how it ended, as after a kill: its effect may have happened or not.
    So it may where it was cancelled; ``error`` says so where its function ran on in a thread. ``args`` is the model's
    JSON text, ``output`` what the model got where it succeeded. ``error`` says why it did not, without the words that
    are around it for the model. ``started`` is aware, UTC; ``seconds`` is None where it has not ended.
    """

    number: int
    session_id: str
    run_id: str
    path: str
    call_id: str | None
    tool: str
    args: str
    status: Status = "started"
    output: str = ""
    error: str = ""
    started: datetime = _EPOCH
    seconds: float | None = None


class JournalStorage(Protocol):
    """Keeps executions per session id, in order of their numbers."""

    async def begin(self, execution: ToolExecution) -> int:
        """Keep one that is about to start, and give it the next number of its session, from 1.

        The number is allotted in the same step as the row is written, so that no two get the same, in other processes
        neither; the one that the execution has does not count. When it returns, the row survives the death of the
        process.
        """

    async def end(
        self, session_id: str, number: int, *, status: Status, output: str, error: str, seconds: float
    ) -> None:
        """Say how it ended.

        Raises:
            FeatureError: There is none of this number that has not ended.
        """

    def executions(self, session_id: str, run_id: str | None = None) -> tuple[ToolExecution, ...]:
        """Those of a session, or of one run in it, lowest number first; none where it is unknown."""


def not_begun(session_id: str, number: int) -> str:
    """The message for the end of an execution that is not there, or has ended."""
    return (
        f"The journal of session {session_id!r} has no tool execution {number} that has begun and not ended. Nothing "
        "was changed. End each once, with the number that begin() gave."
    )


def tool_executions(events: Iterable[Event]) -> tuple[ToolExecution, ...]:
    """The tool executions that these events tell of, in the order in which they began.

    A call that was refused, since there is no such tool or its arguments do not fit, is a failed one. Events of one
    call belong together by their number; where they have none, an end belongs to the oldest open call of the same id
    and tool at the same place.
    """
    found: list[ToolExecution] = []
    began: list[float] = []
    still_open: dict[tuple[object, ...], list[int]] = {}
    for event in events:
        match event:
            case ToolCallStarting(args=args):
                still_open.setdefault(_key(event), []).append(len(found))
                found.append(_begun(event, len(found), args))
                began.append(event.at)
            case ToolCallCompleted(seconds=seconds, output=output):
                at = _at(event, found, began, still_open)
                found[at] = replace(found[at], status="succeeded", output=output, seconds=seconds)
            case ToolCallFailed(seconds=seconds, error=error, cancelled=cancelled):
                at = _at(event, found, began, still_open)
                status: Status = "cancelled" if cancelled else "failed"
                found[at] = replace(found[at], status=status, error=error, seconds=seconds)
            case ToolValidationFailed(error=error):
                at = _at(event, found, began, still_open)
                seconds = event.at - began[at]
                found[at] = replace(found[at], status="failed", error=error, seconds=seconds)
    return tuple(found)


_ToolEvent = ToolCallStarting | ToolCallCompleted | ToolCallFailed | ToolValidationFailed


def _key(event: _ToolEvent) -> tuple[object, ...]:
    if event.number:
        return (event.run_id, event.number)
    return (event.run_id, event.path, event.call_id, event.tool)


def _at(
    event: _ToolEvent,
    found: list[ToolExecution],
    began: list[float],
    still_open: dict[tuple[object, ...], list[int]],
) -> int:
    """Where the execution stands that ends with this event; a new one where its beginning is not told."""
    waiting = still_open.get(_key(event))
    if waiting:
        return waiting.pop(0)
    args = event.args if isinstance(event, ToolValidationFailed) else ""
    found.append(_begun(event, len(found), args))
    began.append(event.at)
    return len(found) - 1


def _begun(event: _ToolEvent, before: int, args: str) -> ToolExecution:
    return ToolExecution(
        number=event.number or before + 1,
        session_id=event.session_id,
        run_id=event.run_id,
        path=event.path,
        call_id=event.call_id,
        tool=event.tool,
        args=args,
        started=event.when,
    )
