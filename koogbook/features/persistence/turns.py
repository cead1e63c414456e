"""Who runs a session in this process: one run at a time over all threads and event loops, first come first served."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain

from koogbook.errors import SessionBusyError

#: A store's identity and a session id.
SessionKey = tuple[object, str]

# Re-entrant: a run that the garbage collector closes gives up its turn wherever the collector happens to run.
_guard = threading.RLock()
_LOOK_SECONDS = 1.0
_holders: dict[SessionKey, Turn] = {}
_lines: dict[SessionKey, list[Turn]] = {}


class Turn:
    """One run's turn at a session.

    Args:
        key: The session that it wants.
        inside: The turns of the runs that this one was started from inside of, which go on only after it.
    """

    __slots__ = ("_inside", "_loop", "_woken", "key")

    def __init__(self, key: SessionKey, inside: tuple[Turn, ...] = ()) -> None:
        self.key = key
        self._inside = inside
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = asyncio.Event()

    @property
    def is_held(self) -> bool:
        """Whether it is this one's turn just now."""
        return _holders.get(self.key) is self

    def take_now(self) -> bool:
        """Take the turn, if nobody has it and nobody was first."""
        with _guard:
            if self.key in _holders or any(other._is_waiting for other in self._ahead()):
                return False
            _holders[self.key] = self
            return True

    async def take(self, on_wait: Callable[[], None]) -> None:
        """Take the turn when it comes; ``on_wait`` is called before the first wait.

        Raises:
            SessionBusyError: The session's run waits, itself or through others, for a run that this one is inside of.
        """
        with _guard:
            if self.take_now():
                return
            self._refuse_crossing()
            self._loop = asyncio.get_running_loop()
            _lines.setdefault(self.key, []).append(self)
        try:
            on_wait()
            while not self.take_now():
                # A look now and then as well: who was woken and is first in line may sit on a loop that has stopped.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), _LOOK_SECONDS)
                self._woken.clear()
        finally:
            self._leave_line()

    def give_up(self) -> None:
        """Let the next one have it."""
        with _guard:
            if self.is_held:
                del _holders[self.key]
            self._wake_others()

    @property
    def _is_waiting(self) -> bool:
        # A loop that was stopped or closed with a run in the line never takes its turn.
        return self._loop is not None and self._loop.is_running()

    def _ahead(self) -> Iterator[Turn]:
        for other in _lines.get(self.key, ()):
            if other is self:
                return
            yield other

    def _leave_line(self) -> None:
        with _guard:
            line = _lines[self.key]
            line.remove(self)
            if not line:
                del _lines[self.key]
            if self.key not in _holders:
                self._wake_others()

    def _wake_others(self) -> None:
        for other in tuple(_lines.get(self.key, ())):
            if other._loop is not None:
                with suppress(RuntimeError):  # its loop is closed
                    other._loop.call_soon_threadsafe(other._woken.set)

    def _refuse_crossing(self) -> None:
        known: set[Turn] = set()
        open_ends = [_holders.get(self.key)]
        while open_ends:
            holder = open_ends.pop()
            if holder is None or holder in known:
                continue
            if holder in self._inside:
                raise SessionBusyError(
                    f"A run of session {self.key[1]!r} was started from inside a run of session {holder.key[1]!r}, and "
                    f"the run of {self.key[1]!r} that is going on waits for that one: both would wait for ever. "
                    "Nothing was changed. Use other session ids for the inner runs, or let the outer runs go one "
                    "after the other."
                )
            known.add(holder)
            open_ends += [
                _holders.get(waiting.key)
                for waiting in chain.from_iterable(tuple(_lines.values()))
                if holder in waiting._inside
            ]
