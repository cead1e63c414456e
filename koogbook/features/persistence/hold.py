"""One run's hold on its session id: in this process by a turn, over processes by a lease."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Self

from koogbook import clock
from koogbook.errors import SessionBusyError, StoreError
from koogbook.features.persistence.storage import (
    CheckpointStorage,
    LeaseHolder,
    LeasesSessions,
    NoPersistence,
)
from koogbook.features.persistence.turns import SessionKey, Turn
from koogbook.runtime.context import Context

_LEASE_SECONDS = 30.0
_RENEWAL_SECONDS = 10.0
_RENEWAL_RETRY_SECONDS = 1.0
_BUSY_POLL_SECONDS = 0.2
_WRITER_POLL_SECONDS = 0.01
_WRITER_LIMIT_SECONDS = 10.0

_held_here: ContextVar[tuple[Turn, ...]] = ContextVar("koogbook_held_sessions", default=())


class SessionHold:
    """Keeps other runs of a session away as long as its block lasts.

    A second run in this process waits for the first one, on whatever thread and event loop; one in another process is
    refused or waits. The lease is renewed while the block lasts; a holder that was away too long and lost it finds
    that out at its next save.

    Raises:
        SessionBusyError: On entering: another process runs this session, or a run that this one is inside of does, or
            one that waits for a run that this one is inside of.
        StoreError: On entering: the store cannot be written.
    """

    def __init__(self, storage: CheckpointStorage, ctx: Context, on_busy: Literal["raise", "wait"]) -> None:
        self._storage = storage
        self._ctx = ctx
        self._on_busy = on_busy
        self._turn: Turn | None = None
        self._renewal: clock.TimerHandle | None = None
        self.token = ""

    async def __aenter__(self) -> Self:
        if isinstance(self._storage, NoPersistence):
            return self
        key = _key_of(self._storage, self._ctx.session_id)
        outer = tuple(turn for turn in _held_here.get() if turn.is_held)
        if any(turn.key == key for turn in outer):
            raise SessionBusyError(
                f"A run of session {self._ctx.session_id!r} was started from inside a run of the same session and "
                "would wait for itself. Nothing was changed. Use another session id for the inner run."
            )
        turn = Turn(key, outer)
        await turn.take(self._say_waiting)
        try:
            if isinstance(self._storage, LeasesSessions):
                await self._take_lease(self._storage)
        except BaseException:
            turn.give_up()
            raise
        self._turn = turn
        _held_here.set((*outer, turn))
        return self

    async def __aexit__(self, *_: object) -> None:
        # No await in here: a run that is thrown away unfinished is closed where nothing can be awaited.
        turn, self._turn = self._turn, None
        if turn is None:
            return
        if self._renewal is not None:
            self._renewal.cancel()
        try:
            if self.token and isinstance(self._storage, LeasesSessions):
                self._storage.release_lease(self._ctx.session_id, self.token)
        except (StoreError, TimeoutError) as problem:
            self._ctx.log.notice(
                "lease not released",
                f"other processes can run {self._ctx.session_id!r} in {_LEASE_SECONDS:g} s only: {problem}",
            )
        finally:
            turn.give_up()

    def _say_waiting(self) -> None:
        self._ctx.log.notice(
            "waiting for session",
            f"another run of session {self._ctx.session_id!r} is going on here",
            level="info",
        )

    async def _take_lease(self, storage: LeasesSessions) -> None:
        ctx = self._ctx
        # The process stands in it, so that two that fix their ids with one seed have different tokens.
        token = f"{os.getpid()}-{clock.new_id()}"
        holder = await self._ask_for_lease(storage, token)
        if holder is not None and self._on_busy == "raise":
            raise SessionBusyError(
                f"Session {ctx.session_id!r} is being run by process {holder.pid} on {holder.host} (its lease ends "
                f"{holder.expires:%H:%M:%S} UTC unless it is renewed). Nothing was changed. Wait and run again, use "
                "another session id, or install kb.Persistence(..., on_busy='wait')."
            )
        if holder is not None:
            ctx.log.notice(
                "waiting for session", f"process {holder.pid} on {holder.host} runs {ctx.session_id!r}"
            )
        while holder is not None:
            await clock.sleep(_BUSY_POLL_SECONDS)
            holder = await self._ask_for_lease(storage, token)
        self.token = token
        self._renew_after(_RENEWAL_SECONDS)

    async def _ask_for_lease(self, storage: LeasesSessions, token: str) -> LeaseHolder | None:
        started = clock.monotonic()
        while True:
            try:
                return storage.take_lease(self._ctx.session_id, token, _LEASE_SECONDS)
            except TimeoutError as busy:
                if clock.monotonic() - started > _WRITER_LIMIT_SECONDS:
                    raise StoreError(
                        f"Session {self._ctx.session_id!r} could not be reserved, since the store has been busy for "
                        f"{_WRITER_LIMIT_SECONDS:g} s: {busy} Nothing was run."
                    ) from busy
            await clock.sleep(_WRITER_POLL_SECONDS)

    def _renew_after(self, seconds: float) -> None:
        self._renewal = clock.call_later(seconds, self._renew)

    def _renew(self) -> None:
        storage, log = self._storage, self._ctx.log
        assert isinstance(storage, LeasesSessions)
        try:
            is_ours = storage.renew_lease(self._ctx.session_id, self.token, _LEASE_SECONDS)
        except (StoreError, TimeoutError) as problem:
            log.notice("lease not renewed", f"it is tried again: {problem}")
            self._renew_after(_RENEWAL_RETRY_SECONDS)
            return
        if is_ours:
            self._renew_after(_RENEWAL_SECONDS)
        else:
            log.notice(
                "lease lost",
                f"another run has taken over session {self._ctx.session_id!r}; this one saves no more",
            )


@contextmanager
def kept_free(storage: CheckpointStorage, session_id: str) -> Iterator[None]:
    """Keep runs of this process away from a session that none of them holds, as long as the block lasts.

    Raises:
        SessionBusyError: One of them holds it, or waits for it.
    """
    turn = Turn(_key_of(storage, session_id))
    if not turn.take_now():
        raise SessionBusyError(
            f"Session {session_id!r} is being run in this process, and a fork begins a new session. Nothing was "
            "changed. Choose another session id for the fork."
        )
    try:
        yield
    finally:
        turn.give_up()


def _key_of(storage: CheckpointStorage, session_id: str) -> SessionKey:
    return getattr(storage, "identity", id(storage)), session_id
