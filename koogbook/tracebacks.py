"""Tracebacks that begin where the user's own code does."""

from __future__ import annotations

from types import TracebackType

from koogbook.errors import KoogbookError


def from_users_code(problem: BaseException) -> TracebackType | None:
    """The traceback of an exception without the frames of koogbook that led to somebody else's code.

    Where it never came to other code, an error that koogbook raises on purpose has its message for all of them; of any
    other one, which is a fault of koogbook, all frames stay.
    """
    at = problem.__traceback__
    while at is not None and at.tb_frame.f_globals.get("__name__", "").startswith("koogbook."):
        at = at.tb_next
    return problem.__traceback__ if at is None and not isinstance(problem, KoogbookError) else at
