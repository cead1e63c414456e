"""An exception of a tool in words, for the model and for the record of what ran."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from koogbook.tools.results import ResultError
from koogbook.tools.tool import ToolException

_MOST_INSIDE = 3  # of the exceptions of a group
_NO_REASON = "The tool refused the call and gave no reason."


def in_words(problem: BaseException) -> str:
    """An exception in words: a refusal as it stands, what is no result with its reason, any other with its type.

    Of a group it tells the exceptions inside, wherever they are nested, the first three of them.
    """
    if isinstance(problem, ToolException):
        return refusal(problem)
    if isinstance(problem, ResultError):
        return text_of(problem)
    if isinstance(problem, BaseExceptionGroup):
        return _group_in_words(problem)
    name = type(problem).__name__
    if type(problem).__module__.startswith("pydantic_core"):
        from koogbook.tools.schema import is_validation_error, misfit  # is imported: pydantic has raised this

        if is_validation_error(problem):
            return f"{name}: {misfit(problem)}"
    text = text_of(problem)
    return f"{name}: {text}" if text.strip() else name


def refusal(problem: ToolException) -> str:
    """What a refusal tells the model."""
    text = text_of(problem)
    return text if text.strip() else _NO_REASON


def text_of(problem: BaseException) -> str:
    """The text of an exception, whatever its class makes of it."""
    try:
        return str.__str__(str(problem))
    except Exception as other:
        return f"its text cannot be had, {type(other).__name__}"


def _group_in_words(group: BaseExceptionGroup[BaseException]) -> str:
    inside = list(exceptions_in(group))
    told = [in_words(one) for one in inside[:_MOST_INSIDE]]
    if len(inside) > _MOST_INSIDE:
        told.append(f"and {len(inside) - _MOST_INSIDE} more")
    return f"{type(group).__name__}: {group.message}: {'; '.join(told)}"


def exceptions_in(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """The exceptions of a group and of the groups in it, in order."""
    waiting = deque(group.exceptions)
    while waiting:
        one = waiting.popleft()
        if isinstance(one, BaseExceptionGroup):
            waiting.extendleft(reversed(one.exceptions))
        else:
            yield one
