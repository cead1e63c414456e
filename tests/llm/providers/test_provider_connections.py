"""Connections are kept, closed, and belong to their event loop; nothing heavy is loaded before its time."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from typing import Any

import pytest
from provider_world import Aimock, Wire, ask, chat, reply

from koogbook.errors import ExecutorClosedError, ExecutorError, ProviderError
from koogbook.llm.providers.connections import Lines, is_local
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
        clients: list[Any] = []
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


async def test_clients_are_made_beside_the_event_loop() -> None:
    """The first one loads libraries for a second or more, in which other tasks go on [EXE-04]."""
    made_by: list[str] = []

    class Noted(Target):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            if threading.current_thread() is not threading.main_thread():
                made_by.append(sys._getframe(1).f_code.co_name)
            return super().__getattribute__(name)

    lines = Lines(1.0)
    target = Noted(PROVIDERS["openai"], "http://127.0.0.1:1/v1", "a-key-1")
    model = await lines.model(target, "m")
    again = await lines.model(target, "m")
    await lines.close()

    assert model is again
    assert {"client_for", "model_at"} <= set(made_by)


async def test_requests_that_come_together_share_one_client() -> None:
    """Although the first is still making it [EXE-04]."""
    lines = Lines(1.0)
    target = Target(PROVIDERS["openai"], "http://127.0.0.1:1/v1", "a-key-1")
    models = await asyncio.gather(*(lines.model(target, name) for name in ("m", "m", "n")))
    clients = list(lines._clients.values())
    await lines.close()

    assert len(clients) == 1
    assert models[0] is models[1] is not models[2]


async def test_a_client_that_was_made_too_late_is_closed() -> None:
    """The executor was closed meanwhile [EXE-03a]."""
    lines = Lines(1.0)
    making = asyncio.create_task(lines.model(Target(PROVIDERS["openai"], None, "a-key-1"), "m"))
    await asyncio.sleep(0)
    await lines.close()
    model = await making

    assert model.client.is_closed()
    assert lines._clients == {}


async def test_any_number_of_requests_may_be_out() -> None:
    """One that waited here for a line would count as a slow answer [EXE-04]."""
    async with Wire([None] * 130) as wire, ProviderExecutor(wire.url, timeout=30.0) as executor:
        asking = [asyncio.create_task(executor.execute(ask(OPENAI))) for _ in range(130)]
        async with asyncio.timeout(20):
            while len(wire.asked) < 130:  # noqa: ASYNC110  the server has no event for it
                await asyncio.sleep(0.01)
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    assert wire.connections == 130


# ------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://printer.local/v1", True),
        ("http://my.localhost:1/v1", True),
        ("http://host.docker.internal/v1", True),
        ("http://vllm:8000", True),
        ("http://192.168.1.4", True),
        ("http://8.8.8.8", False),
        ("https://api.local.example", False),
        ("http://[", False),
        (None, False),
    ],
)
def test_what_is_nearby_is_known_by_its_address(url: str | None, local: bool) -> None:
    """Servers there ask for no key [EXE-06]."""
    assert is_local(url) is local


@pytest.mark.parametrize(
    ("variable", "model"),
    [("OLLAMA_BASE_URL", "ollama:qwen3"), ("OPENAI_BASE_URL", OPENAI), ("ANTHROPIC_BASE_URL", "anthropic:c")],
)
@pytest.mark.parametrize(
    "address", ["127.0.0.1:11434", "localhost:8000", "u:secret-pw@h:1", "http://", "http://h/?k=v"]
)
def test_an_address_in_the_environment_that_is_none_is_refused(
    variable: str, model: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is sent, by the name of the variable, and with the line to type [EXE-04]."""
    monkeypatch.setenv(variable, address)
    with pytest.raises(ExecutorError, match="Nothing was sent") as caught:
        ProviderExecutor().resolve(model)

    assert f"os.environ['{variable}'] = 'http" in str(caught.value)
    assert "secret-pw" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["http://", "https:///v1", "http://h:port", "http://h/v1?api-key=Q", "http://h/#a"]
)
def test_an_address_that_requests_cannot_go_to_is_refused(address: str) -> None:
    """When the executor is made; what may be a key in it is not shown [EXE-04]."""
    with pytest.raises(ValueError, match="base_url") as caught:
        ProviderExecutor(address)

    assert "api-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (OPENAI, "https://api.openai.com/v1"),
        ("ollama:qwen3", "http://127.0.0.1:11434/v1"),
        ("bedrock:m", "https://bedrock-runtime.eu-central-1.amazonaws.com"),
    ],
)
def test_a_model_has_a_place_where_it_is_asked(model: str, place: str) -> None:
    """An answer of another place is another answer [EXE-07]."""
    assert ProviderExecutor().cache_place(model) == place


def test_a_place_follows_the_address_and_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept with answers [EXE-07]."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:7/v1")

    assert ProviderExecutor().cache_place(OPENAI) == "http://127.0.0.1:7/v1"
    assert ProviderExecutor("https://u:secret@host/v1").cache_place(OPENAI) == "https://host/v1"
