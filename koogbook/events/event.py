"""What all events have in common."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct


class Event(Struct, frozen=True, kw_only=True):
    """Something that happened."""

    time: float = 0.0
    at: float = 0.0
    run_id: str = ""
    session_id: str = ""
    path: str = ""

    @property
    def name(self) -> str:
        """The kind of event: the class's name."""
        return type(self).__name__

    @property
    def parent(self) -> str:
        """The path of what ``path`` stands in: ``strategy/sub`` for ``strategy/sub/node``, empty for a strategy."""
        return self.path.rpartition("/")[0]

    @property
    def when(self) -> datetime:
        """Wall time, aware, UTC."""
        return datetime.fromtimestamp(self.time, UTC)
