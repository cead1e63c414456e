"""What is seen of a request on the wire: where it went, and what kind of answer came back."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from koogbook.llm.providers.keys import shown_url

#: Of a page that came instead of an answer, this much is read to say what it is.
_PAGE_CHARS = 2_000


class Exchange:
    """One request of ours: the last address it went to, and the page that came where JSON was expected."""

    __slots__ = ("content_type", "headers", "page", "requests", "status", "url")

    def __init__(self) -> None:
        self.requests = 0
        self.url = ""
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.content_type = ""
        self.page: str | None = None


exchange: ContextVar[Exchange | None] = ContextVar("koogbook_exchange", default=None)


class NoAnswerError(Exception):
    """The body is a page for people; what it says is in :class:`Exchange`."""


class Watch:
    """Hooks of an HTTP client: note each exchange, keep our limits of time, stop at a page that is no answer."""

    __slots__ = ("_limits",)

    def __init__(self, limits: dict[str, float | None]) -> None:
        self._limits = limits

    async def requested(self, request: Any) -> None:
        """Before a request: SDKs put limits of their own on each one, and these would let a connection take minutes."""
        request.extensions["timeout"] = dict(self._limits)
        seen = exchange.get()
        if seen is not None:
            seen.requests += 1
            seen.url = shown_url(str(request.url))

    async def responded(self, response: Any) -> None:
        """After the head of an answer."""
        seen = exchange.get()
        if seen is None:
            return
        seen.status = response.status_code
        seen.headers = {name.lower(): value for name, value in response.headers.items()}
        seen.content_type = seen.headers.get("content-type", "").partition(";")[0].strip().lower()
        if seen.content_type in ("text/html", "application/xhtml+xml"):
            seen.page = (await _beginning(response))[:_PAGE_CHARS]
            if response.is_success:
                raise NoAnswerError(seen.content_type)


async def _beginning(response: Any) -> str:
    """The text of a page; reading it whole lets the SDK read it again."""
    await response.aread()
    text: str = response.text
    return text
