"""What the tests of sessions and executors share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

import koogbook as kb
from koogbook.compression.compress import compress_session
from koogbook.llm.calls import ModelCalls
from koogbook.llm.context import LLMContext
from koogbook.pipeline import EventLog, Subscription
from koogbook.tools.tool import ToolRegistry

ContextMaker = Callable[..., LLMContext]


def _make_context(
    executor: Any = None,
    messages: Sequence[kb.Message] = (),
    *,
    tools: Sequence[Any] = (),
    listeners: Sequence[Subscription] = (),
    interceptors: Sequence[kb.Interceptor] = (),
    **options: Any,
) -> LLMContext:
    log = EventLog("run-1", "chat-1", listeners)
    return LLMContext(
        "trip",
        prompt=kb.Prompt(messages, id="prompt"),
        tools=ToolRegistry(tools),
        model=kb.LLModel("offline"),
        calls=ModelCalls(kb.OfflineExecutor() if executor is None else executor, log, interceptors),
        compressor=compress_session,
        **options,
    )


@pytest.fixture
def make_context() -> ContextMaker:
    """Makes LLM contexts, offline unless an executor is given."""
    return _make_context


@pytest.fixture
def context() -> LLMContext:
    """An LLM context with one system and one user message, offline."""
    return _make_context(messages=[kb.system("rules", id="s"), kb.user("hello", id="u")])


@pytest.fixture
def settle() -> Callable[[], Awaitable[None]]:
    """Lets every task run until it has to wait."""

    async def run_the_others() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    return run_the_others
