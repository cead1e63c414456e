"""Connections are kept, closed, and belong to their event loop; nothing heavy is loaded before its time."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import warnings

import pytest
from provider_world import Aimock, Wire, ask, chat, reply

from koogbook.errors import ExecutorClosedError, ProviderError
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.providers.models import Target, client_for
from koogbook.llm.providers.names import PROVIDERS

OPENAI = "openai:gpt-4o"


async def test_a_closed_executor_refuses() -> None:
    """Both ways of asking, and nothing is sent [EXE-03a]."""
    async with Wire([]) as wire:
        executor = ProviderExecutor(wire.url)
        await executor.close()
        await executor.close()
        with pytest.raises(ExecutorClosedError, match="Nothing was sent"):
            await executor.execute(ask(OPENAI))
        with pytest.raises(ExecutorClosedError):
            [frame async for frame in executor.stream(ask(OPENAI))]

    assert wire.asked == []


async def test_a_line_is_used_again(aimock: Aimock) -> None:
    """A new one for each request would cost a handshake [EXE-04]."""
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        clients = []
        for _ in range(3):
            await executor.execute(ask(OPENAI))
            lines = await executor._connections.lines()
            clients += lines._clients.values()

    assert len(clients) == 3
    assert len({id(client) for client in clients}) == 1


async def test_closing_closes_the_client(aimock: Aimock) -> None:
    """Every one that was opened [EXE-03a]."""
    executor = ProviderExecutor(aimock.url + "/v1")
    await executor.execute(ask(OPENAI))
    await executor.execute(ask("ollama:qwen3"))
    clients = list((await executor._connections.lines())._clients.values())
    await executor.close()

    assert [client.is_closed for client in clients] == [True, True]


def test_an_executor_works_on_one_event_loop_after_another(aimock: Aimock) -> None:
    """And leaves no open socket on any of them [EXE-04]."""
    executor = ProviderExecutor(aimock.url + "/v1")

    async def once() -> str:
        return (await executor.execute(ask(OPENAI))).text

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts = [asyncio.run(once()) for _ in range(3)]
        gc.collect()

    assert texts == ["Good morning from the other side."] * 3
    assert executor._connections._lines == {}


def test_an_executor_that_nobody_closed_leaves_no_socket(aimock: Aimock) -> None:
    """The loop closes what was begun on it [EXE-03a]."""

    async def once() -> None:
        await ProviderExecutor(aimock.url + "/v1").execute(ask(OPENAI))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(once())
        gc.collect()


def test_a_stream_that_is_dropped_leaves_no_socket(aimock: Aimock) -> None:
    """Whoever reads one frame and goes [EXE-05]."""

    async def once() -> None:
        async with ProviderExecutor(aimock.url + "/v1") as executor:
            async for _ in executor.stream(ask(OPENAI)):
                break

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(once())
        gc.collect()


async def test_many_requests_at_once_are_answered(aimock: Aimock) -> None:
    """Each with its own answer, through one client [EXE-04]."""
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        answers = await asyncio.gather(*(executor.execute(ask(OPENAI)) for _ in range(30)))

    assert {answer.text for answer in answers} == {"Good morning from the other side."}
    assert len({answer.id for answer in answers}) == 30


async def test_after_a_failure_the_next_request_is_answered() -> None:
    """One line that broke takes no other with it [EXE-04]."""
    answers = [reply(chat("cut"))[:-8], reply({"error": {"message": "No."}}, 500), reply(chat("Hello."))]
    async with Wire(answers) as wire, ProviderExecutor(wire.url) as executor:
        for _ in range(2):
            with pytest.raises(ProviderError):
                await executor.execute(ask(OPENAI))
        answer = await executor.execute(ask(OPENAI))

    assert answer.text == "Hello."


def test_nothing_heavy_is_loaded_before_the_first_request() -> None:
    """Neither by the import nor by making an executor [EXE-04]."""
    code = (
        "import sys; from koogbook.llm.providers.executor import ProviderExecutor; ProviderExecutor(); "
        "print([name for name in ('pydantic_ai', 'pydantic', 'openai', 'anthropic', 'boto3', 'httpx2', 'genai_prices') "
        "if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"


async def test_a_library_does_not_set_the_limits() -> None:
    """Each puts one of its own on a request, and to open a line would be allowed minutes [EXE-04]."""
    client = client_for(Target(PROVIDERS["openai"], None, None), 60.0)
    request = client.build_request("POST", "http://127.0.0.1:1", timeout=600)
    for hook in client.event_hooks["request"]:
        await hook(request)
    await client.aclose()

    assert (request.extensions["timeout"]["connect"], request.extensions["timeout"]["read"]) == (10.0, 60.0)
