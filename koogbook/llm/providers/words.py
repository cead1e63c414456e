"""What a provider's error says: its words, its status, how long to wait."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite, nan
from typing import Any

from koogbook import clock
from koogbook.llm.providers.exchange import Exchange


def quoted(words: str) -> str:
    """The words of others behind a colon; nothing where there are none."""
    return f": {words!r}" if words else ""


def refusal_status(problem: BaseException) -> int | None:
    """The status of an answer that is a refusal; libraries give that of a good one, too, when they cannot read it."""
    status = getattr(problem, "status_code", None)
    return status if isinstance(status, int) and status >= 300 else None


def chain_of(problem: BaseException) -> Iterator[BaseException]:
    """An exception and what it came from."""
    seen: set[int] = set()
    one: BaseException | None = problem
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def said_in(body: Any) -> str:
    """The message in the body of an error, wherever this provider puts it."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return str(body)
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return ""
    for key in ("error", "Error", "message", "Message", "detail", "msg"):
        inner = body.get(key)
        if isinstance(inner, str) and inner:
            code = body.get("code") or body.get("type") or body.get("Code")
            return f"{inner} ({code})" if isinstance(code, str) and code not in inner else inner
        if isinstance(inner, dict | list):
            said = said_in(inner)
            if said:
                return said
    return json.dumps(body, ensure_ascii=False, default=str)


def error_in(body: str) -> tuple[str, int | None] | None:
    """The message and the HTTP status of an error that came as a good answer; None where the body is none."""
    try:
        found = json.loads(body) if '"error"' in body else None
    except ValueError:
        return None
    error = found.get("error") if isinstance(found, dict) and not found.get("choices") else None
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    return said_in(found), code if isinstance(code, int) and 400 <= code < 600 else None


def retry_after(problem: Exception, seen: Exchange) -> float | None:
    """Seconds to wait, from a number, a date, or the body."""
    header = seen.headers.get("retry-after", "")
    try:
        seconds = float(header)
    except ValueError:
        seconds = nan
    if isfinite(seconds) and seconds >= 0:
        return seconds
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        until = None
    if until is not None:
        aware = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, (aware - clock.now()).total_seconds())
    given = getattr(problem, "retry_after", None)
    return float(given) if isinstance(given, int | float) and given >= 0 else None
