"""Calls of tools: ``number`` counts them from 1 within the run, since models reuse and leave out ``call_id``."""

from __future__ import annotations

from koogbook.events.event import Event


class ToolCallStarting(Event, frozen=True, kw_only=True):
    """A tool is about to run (Koog's ToolCallStarting); ``args`` is the raw JSON text."""

    tool: str
    call_id: str | None
    number: int = 0
    args: str


class ToolCallCompleted(Event, frozen=True, kw_only=True):
    """A tool returned (Koog's ToolCallCompleted)."""

    tool: str
    call_id: str | None
    number: int = 0
    seconds: float
    output: str


class ToolValidationFailed(Event, frozen=True, kw_only=True):
    """An unknown tool, or arguments that do not fit: an error result (Koog's ToolValidationFailed)."""

    tool: str
    call_id: str | None
    number: int = 0
    error: str
    args: str = ""


class ToolCallFailed(Event, frozen=True, kw_only=True):
    """A tool raised, and the model gets an error result; or it was cancelled (Koog's ToolCallFailed)."""

    tool: str
    call_id: str | None
    number: int = 0
    seconds: float
    error: str
    cancelled: bool = False
