"""What needs a look, and listeners that failed."""

from __future__ import annotations

from typing import Literal

from koogbook.events.event import Event


class Notice(Event, frozen=True, kw_only=True):
    """Something was skipped, repaired, ignored or needs a look; ``kind`` is a stable word for it."""

    kind: str
    text: str
    level: Literal["info", "warning"] = "warning"


class HandlerFailed(Event, frozen=True, kw_only=True):
    """A listener raised and was told to log it (``on_handler_error="log"``)."""

    handler: str
    event: str
    error: str
