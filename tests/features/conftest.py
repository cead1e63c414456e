"""Stores of each kind for the tests of persistence, and where spans go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from persisted_runs import PlainCheckpoints
from span_trees import Spans
from traced_runs import travelled

import koogbook as kb
from koogbook.agents.run import Run
from koogbook.features.open_telemetry import OpenTelemetry


@pytest.fixture(params=["memory", "sqlite", "plain"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh store of each kind; the plain one has the three methods only."""
    kinds: dict[str, Any] = {
        "memory": kb.MemoryCheckpoints,
        "sqlite": lambda: kb.SqliteCheckpoints(tmp_path / "kb.db"),
        "plain": PlainCheckpoints,
    }
    made = kinds[request.param]()
    yield made
    getattr(made, "close", lambda: None)()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[kb.SqliteCheckpoints]:
    """A fresh SQLite store."""
    made = kb.SqliteCheckpoints(tmp_path / "kb.db")
    yield made
    made.close()


@pytest.fixture
def memory() -> InMemorySpanExporter:
    """Where spans go."""
    return InMemorySpanExporter()


@pytest.fixture
def provider(memory: InMemorySpanExporter) -> Iterator[TracerProvider]:
    """Hands each span on at once."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(memory))
    yield made
    made.shutdown()


@pytest.fixture
def watch(provider: TracerProvider, memory: InMemorySpanExporter) -> Callable[..., Any]:
    """Run an agent, and give the run and its spans."""

    async def watched(agent: kb.Agent, **options: Any) -> tuple[Run, Spans]:
        agent.install(OpenTelemetry(provider, on_handler_error="raise", **options))
        run = await travelled(agent)
        return run, list(memory.get_finished_spans())

    return watched
