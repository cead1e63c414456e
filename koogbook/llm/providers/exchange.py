"""What is seen of a request on the wire: where it went, and what kind of answer came back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

from koogbook.llm.providers.keys import shown_url

#: Of a page that came instead of an answer, this much is read to say what it is.
_PAGE_BYTES = 8_000

#: The last event of a stream in OpenAI's form, for servers that say nothing else of their end.
_LAST_EVENT = re.compile(rb"\ndata: ?\[DONE\]")
_TAIL = 64


class Exchange:
    """One request of ours: the last address it went to, and what came back.

    ``page`` is what came where JSON was expected, ``body`` the JSON of a good answer, ``done`` whether a stream had
    its last event.
    """

    __slots__ = ("body", "content_type", "done", "headers", "page", "requests", "status", "url")

    def __init__(self) -> None:
        self.requests = 0
        self.url = ""
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.content_type = ""
        self.page: str | None = None
        self.body = ""
        self.done = False


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
            seen.page = await _beginning(response)
            raise NoAnswerError(seen.content_type)
        if not response.is_success:
            return
        if seen.content_type == "application/json" and "content-length" in seen.headers:
            # The library reads it whole, too; what it makes of an error in it does not have its words. Without a length
            # it may be a stream, under the wrong name.
            await response.aread()
            seen.body = response.text
        else:
            response.stream = _noting_the_end(response.stream, seen)


async def _beginning(response: Any) -> str:
    """The text of a page, as far as it is needed; the line is closed, whatever there is of it."""
    read = b""
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) >= _PAGE_BYTES:
            break
    await response.aclose()
    return read[:_PAGE_BYTES].decode("utf-8", "replace")


def _noting_the_end(stream: Any, seen: Exchange) -> Any:
    """The bytes of a stream; where they hold its last event, that is noted."""
    import httpx2

    class Noted(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            tail = b"\n"
            async for piece in stream:
                tail += piece
                seen.done = seen.done or _LAST_EVENT.search(tail) is not None
                tail = tail[-_TAIL:]
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Noted()
