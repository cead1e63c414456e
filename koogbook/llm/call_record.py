"""One request of a run as it went out, and what came back."""

from __future__ import annotations

from msgspec import Struct

from koogbook.llm.request import Request
from koogbook.messages.message import Message


class CallRecord(Struct, frozen=True, kw_only=True):
    """One request as it went out, and what came back; numbers count from 1 within the run."""

    number: int
    path: str
    request: Request
    reply: Message | None
    seconds: float
    error: str = ""
