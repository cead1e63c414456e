"""The journal of tool executions in memory: gone with the object, good for trying things out and for tests."""

from __future__ import annotations

import threading

from msgspec.structs import replace

from koogbook.errors import FeatureError
from koogbook.tools.journal import Status, ToolExecution, not_begun


class MemoryJournal:
    """Keeps tool executions in this object."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[ToolExecution]] = {}
        self._guard = threading.Lock()

    async def begin(self, execution: ToolExecution) -> int:
        """See :class:`koogbook.tools.journal.JournalStorage`."""
        with self._guard:
            line = self._sessions.setdefault(execution.session_id, [])
            line.append(replace(execution, number=len(line) + 1))
            return len(line)

    async def end(
        self, session_id: str, number: int, *, status: Status, output: str, error: str, seconds: float
    ) -> None:
        """See :class:`koogbook.tools.journal.JournalStorage`."""
        with self._guard:
            line = self._sessions.get(session_id, [])
            if not 0 < number <= len(line) or line[number - 1].status != "started":
                raise FeatureError(not_begun(session_id, number))
            line[number - 1] = replace(
                line[number - 1], status=status, output=output, error=error, seconds=seconds
            )

    def executions(self, session_id: str, run_id: str | None = None) -> tuple[ToolExecution, ...]:
        """See :class:`koogbook.tools.journal.JournalStorage`."""
        found = tuple(self._sessions.get(session_id, ()))
        return found if run_id is None else tuple(one for one in found if one.run_id == run_id)

    def __repr__(self) -> str:
        many = len(self._sessions)
        return f"MemoryJournal({many} {'session' if many == 1 else 'sessions'})"
