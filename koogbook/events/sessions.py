"""Sessions on an LLM context, from the wish for the lock to its release."""

from __future__ import annotations

from typing import Literal

from koogbook.code_place import CodeExcerpt
from koogbook.events.event import Event

SessionMode = Literal["read", "write"]


# There are many, and they hold numbers and texts alone: nothing for the garbage collector, which leaves them out.
class SessionEvent(Event, frozen=True, kw_only=True, gc=False):
    """Something about one session on one LLM context.

    ``context`` names the lock's owner (``trip`` for the root context), ``session`` is unique in the process,
    ``who`` the node or task, ``place`` the code (``file:line`` or ``cell 3:2``).
    """

    context: str
    session: int
    mode: SessionMode
    who: str
    place: str


class SessionOpened(SessionEvent, frozen=True, kw_only=True):
    """A session was asked for."""


class SessionWaiting(SessionEvent, frozen=True, kw_only=True):
    """The session has to wait; ``ahead`` are the sessions that hold the lock or stand before it.

    The first 64 of them are named, ``ahead_more`` is how many there are besides.
    """

    ahead: tuple[int, ...] = ()
    ahead_more: int = 0


class SessionAcquired(SessionEvent, frozen=True, kw_only=True):
    """The session holds the lock."""

    waited: float = 0.0


class SessionCommitted(SessionEvent, frozen=True, kw_only=True):
    """A write session ended normally; prompt, tools and model were written back."""

    messages: int = 0
    tokens: int = 0


class SessionDiscarded(SessionEvent, frozen=True, kw_only=True):
    """A write session ended by an exception or a cancellation; nothing was written back."""

    error: str = ""


class SessionClosed(SessionEvent, frozen=True, kw_only=True):
    """The session is over: it released the lock, which it had held for so many seconds, or left the queue (0)."""

    held: float = 0.0


class SessionRefused(SessionEvent, frozen=True, kw_only=True):
    """A nested session was refused; ``first`` is the place of the one that is still open.

    ``first_code`` and ``code`` are the lines around both places, None where the code cannot be read. ``waits`` says
    how the holder waits for the task that asked, empty where both are one task.
    """

    first: str
    first_mode: SessionMode
    first_code: CodeExcerpt | None = None
    code: CodeExcerpt | None = None
    waits: str = ""


class SessionTimedOut(SessionEvent, frozen=True, kw_only=True):
    """A session gave up waiting."""

    waited: float = 0.0
    holders: tuple[str, ...] = ()


class SessionSlow(SessionEvent, frozen=True, kw_only=True):
    """A session has held the lock for long; it goes on."""

    held: float


class PromptChanged(Event, frozen=True, kw_only=True):
    """The committed prompt is another one. ``replaced`` says that it is not just the old one with more at its end."""

    context: str
    messages_before: int
    messages: int
    tokens_before: int
    tokens: int
    replaced: bool = False
