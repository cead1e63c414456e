"""Clients and the models that speak through them, one set for each event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from koogbook.errors import ExecutorError, UnknownModelError
from koogbook.llm.providers.models import Target, client_for, model_at
from koogbook.llm.providers.names import Provider


def base_url_of(provider: Provider, given: str | None) -> str | None:
    """The address that was given, or that of the environment; None for the provider's own.

    Raises:
        UnknownModelError: A compatible server has no address of its own.
        ExecutorError: What the environment has is no address.
    """
    found = given or os.environ.get(provider.base_url_variable, "").strip() or None
    if found is None and provider.name == "ollama":
        return provider.default_url
    if found is None and not provider.default_url:
        raise UnknownModelError(
            f"{provider.name!r} stands for any server that speaks OpenAI's protocol, and nothing says which. Nothing "
            "was sent. Give its address: kb.ProviderExecutor(base_url='http://127.0.0.1:8000/v1')."
        )
    problem = address_problem(found) if found is not None and not given else None
    if problem is not None:
        raise ExecutorError(
            f"The address in the environment variable {provider.base_url_variable} {problem}. Nothing was sent. Set it "
            f"like this: os.environ[{provider.base_url_variable!r}] = "
            f"{'http://127.0.0.1:11434/v1' if provider.name == 'ollama' else provider.default_url!r}."
        )
    return found


def address_problem(url: str) -> str | None:
    """Why requests cannot go there, without the address itself: it may be a key in the wrong place."""
    if not url.startswith(("http://", "https://")):
        return "does not begin with http:// or https://"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "cannot be read: look at its host and port"
    if not host:
        return "names no host"
    if parts.query or parts.fragment:
        return "ends in a query (what comes after ? or #), and the paths of requests would come behind it"
    return None


def is_local(base_url: str | None) -> bool:
    """Whether an address is on this machine or in a private network, where servers ask for no key."""
    if base_url is None:
        return False
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        return False
    if host in ("localhost", "host.docker.internal") or host.endswith((".localhost", ".local")):
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host and bool(host)


class Lines:
    """The clients of one event loop, and the models made with them."""

    __slots__ = ("_clients", "_closed", "_making", "_models", "_timeout")

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._clients: dict[tuple[str, str | None, str | None], Any] = {}
        self._models: dict[tuple[tuple[str, str | None, str | None], str], Any] = {}
        self._making = asyncio.Lock()
        self._closed = False

    async def model(self, target: Target, name: str) -> Any:
        """A model of pydantic-ai that asks there; the same one each time.

        What it takes to make the first one, libraries of a second or more, is loaded beside the event loop.
        """
        found = self._models.get((target.place, name))
        if found is not None:
            return found
        async with self._making:
            if (target.place, name) in self._models:
                return self._models[(target.place, name)]
            client = self._clients.get(target.place)
            if client is None:
                client = await asyncio.to_thread(client_for, target, self._timeout)
                self._clients[target.place] = client
            made = await asyncio.to_thread(model_at, target, name, client)
            self._models[(target.place, name)] = made
            if self._closed:
                await self.close()
        return made

    async def close(self) -> None:
        """Close every client. Idempotent."""
        self._closed = True
        clients = list(self._clients.values())
        self._clients.clear()
        self._models.clear()
        for client in clients:
            if hasattr(client, "aclose"):
                await client.aclose()
            else:
                client.close()


class Connections:
    """The lines of each event loop that an executor was used on.

    A connection belongs to the loop that opened it. A loop that ends the way ``asyncio.run`` does closes the async
    generators that were begun on it, so one that waits for this closes our clients in time.
    """

    __slots__ = ("_lines", "_timeout")

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lines: dict[asyncio.AbstractEventLoop, tuple[Lines, AsyncGenerator[None, None]]] = {}

    async def lines(self) -> Lines:
        """Those of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._lines.get(loop)
        if found is None:
            made = Lines(self._timeout)
            keeper = self._until_its_end(loop, made)
            found = self._lines[loop] = (made, keeper)
            await anext(keeper)
        return found[0]

    async def close(self) -> None:
        """Close what was opened on the running loop; other loops close theirs when they end."""
        found = self._lines.get(asyncio.get_running_loop())
        if found is not None:
            await found[1].aclose()

    async def _until_its_end(
        self, loop: asyncio.AbstractEventLoop, lines: Lines
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._lines.pop(loop, None)
            await lines.close()
