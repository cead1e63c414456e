"""Servers that answer as providers do: one that nobody here wrote, and one that says any bytes a test wants."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from msgspec import Struct

import koogbook as kb
from koogbook.errors import ExecutorError
from koogbook.llm.executor import teller
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.request import Request
from koogbook.messages.model import as_model
from koogbook.tools.tool import Tool

ROOT = Path(__file__).parents[3]
FIXTURES = Path(__file__).with_name("aimock.json")
MISSING = (
    "aimock is not there: npm install --prefix .aimock '@copilotkit/aimock@~1.43', or name its llmock program in the "
    "variable AIMOCK"
)

#: One for each variable, and none like another, so that a leak shows whose it was.
KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-anthropic-key-0001",
    "AWS_ACCESS_KEY_ID": "AKIABEDROCKKEY000002",
    "AWS_REGION": "eu-central-1",
    "AWS_SECRET_ACCESS_KEY": "bedrock/secret+key/0003",
    "DEEPSEEK_API_KEY": "deepseek-key-0004",
    "GOOGLE_API_KEY": "AIzaGoogleKey0005",
    "MISTRAL_API_KEY": "mistral-key-0006",
    "OPENAI_API_KEY": "sk-openai-key-0007",
    "OPENROUTER_API_KEY": "sk-or-openrouter-key-0008",
}


def weather(city: str) -> str:
    """The weather in a city."""
    return f"mild in {city}"


TOOLS = (Tool(weather).spec,)


def ask(model: str, *messages: kb.Message | str, **fields: Any) -> Request:
    """A request; texts are user messages."""
    said = tuple(kb.user(one) if isinstance(one, str) else one for one in messages)
    return Request(messages=said or (kb.user("hello"),), model=as_model(model), **fields)


@contextmanager
def listening() -> Iterator[list[str]]:
    """What is said in the block beside answers, as a run would have it in its report."""
    heard: list[str] = []
    token = teller.set(lambda kind, fields: heard.append(fields["text"]))
    try:
        yield heard
    finally:
        teller.reset(token)


# ------------------------------------------------------------------------------------------- aimock


class Aimock:
    """A running aimock; ``url`` is where it listens."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url

    def journal(self, path: str = "") -> list[dict[str, Any]]:
        """What it was asked since the last :meth:`forget`."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal?path={path}", timeout=10) as answer:
            entries: list[dict[str, Any]] = json.load(answer)
        return entries

    def forget(self) -> None:
        """Empty the journal."""
        request = urllib.request.Request(f"{self.url}/__aimock/reset/journal", method="POST")
        urllib.request.urlopen(request, timeout=10).close()

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait(10)


def aimock_program() -> str | None:
    """Where its program is: in the variable AIMOCK, in the checkout, on the path."""
    named = os.environ.get("AIMOCK")
    in_checkout = ROOT / ".aimock" / "node_modules" / ".bin" / "llmock"
    return named or (str(in_checkout) if in_checkout.exists() else shutil.which("llmock"))


def start_aimock(program: str) -> Aimock:
    """Start it on a free port of this machine, and wait until it answers."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [program, "--port", str(port), "--fixtures", str(FIXTURES), "--log-level", "silent", "--strict"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    running = Aimock(process, f"http://127.0.0.1:{port}")
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{running.url}/__aimock/health", timeout=5).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
        else:
            return running
    running.stop()
    raise RuntimeError(f"{program} did not answer on port {port}.")


# ------------------------------------------------------------------------------------------- any bytes


class Asked(Struct):
    """A request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: Any


def reply(body: Any = "", status: int = 200, content_type: str = "application/json", **headers: str) -> bytes:
    """An HTTP answer; a body that is no text is sent as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    lines = [
        f"HTTP/1.1 {status} Word",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(text.encode())}",
        "Connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + text).encode()


def events(*data: Any, end: str = "data: [DONE]\n\n") -> str:
    """The body of a stream in OpenAI's form."""
    return "".join(f"data: {json.dumps(one)}\n\n" for one in data) + end


def chat(message: dict[str, Any] | str, finish_reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """An answer of OpenAI's chat protocol."""
    said = {"role": "assistant", "content": message} if isinstance(message, str) else message
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": said, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        **fields,
    }


def chunk(text: str, finish_reason: str | None = None) -> dict[str, Any]:
    """A piece of a streamed answer of OpenAI's chat protocol."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "gpt-4o",
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
        ],
    }


class Wire:
    """A server that gives the answers of a list, one for each request; ``asked`` keeps what came.

    An answer of None is never given: the server waits until the other side goes, and counts it in ``left``.
    """

    def __init__(self, answers: Sequence[bytes | None]) -> None:
        self._answers = list(answers)
        self._server: asyncio.Server | None = None
        self.asked: list[Asked] = []
        self.connections = 0
        self.left = asyncio.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.asked.append(Asked(first.split()[1], headers, json.loads(body) if body else None))
            answer = self._answers.pop(0)
            held = answer is None or answer.endswith(HELD)
            writer.write((answer or b"").removesuffix(HELD))
            await writer.drain()
            if held:
                await reader.read()
                self.left.set()
        finally:
            writer.close()


#: At the end of an answer: the line stays open, and nothing more comes.
HELD = b"\0held"


async def error_for(answer: bytes | None, model: str = "openai:gpt-4o", timeout: float = 5.0) -> Any:
    """The error for one answer of a server."""
    async with Wire([answer]) as wire, ProviderExecutor(wire.url, timeout=timeout) as executor:
        with pytest.raises(ExecutorError) as caught:
            await executor.execute(ask(model, params=kb.LLMParams(max_tokens=100)))
    return caught.value
