"""An exception in words, as events and reports have it."""

from __future__ import annotations

from koogbook.tools.failures import exceptions_in, text_of

_MOST_INSIDE = 5  # of the exceptions of a group


def error_in_words(problem: BaseException) -> str:
    """The class and the text of an exception; of a group also those of the exceptions inside, wherever they are nested.

    The first five of them are told.
    """
    told = f"{type(problem).__name__}: {text_of(problem)}"
    if not isinstance(problem, BaseExceptionGroup):
        return told
    inside = list(exceptions_in(problem))
    more = f"; and {len(inside) - _MOST_INSIDE} more" if len(inside) > _MOST_INSIDE else ""
    return f"{told}: {'; '.join(map(error_in_words, inside[:_MOST_INSIDE]))}{more}"
