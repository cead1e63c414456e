"""Setting OpenTelemetry up: its words, where spans go, and what is refused."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from traced_runs import travelled, traveller

import koogbook as kb
from koogbook.errors import FeatureInstallError
from koogbook.events import Event
from koogbook.features.open_telemetry import OpenTelemetry, names
from koogbook.features.open_telemetry.content import messages_text, value_text
from koogbook.features.open_telemetry.spans import RunSpans


@pytest.mark.parametrize(
    "name", [name for name in vars(names) if name.isupper() and not name.startswith("_")]
)
def test_every_word_is_one_of_the_conventions(name: str) -> None:
    """As their own package has it. [AGT-04]"""
    from opentelemetry.semconv.attributes import error_attributes
    from opentelemetry.semconv.schemas import Schemas

    value = getattr(names, name)
    known = {one for one in vars(gen_ai_attributes).values() if isinstance(one, str)}
    known |= {one.value for one in gen_ai_attributes.GenAiOperationNameValues}
    known |= {error_attributes.ERROR_TYPE, "_OTHER", *(one.value for one in Schemas)}

    assert value in known


def test_every_name_of_a_provider_is_one_of_the_conventions() -> None:
    """Where koogbook has another one. [AGT-04]"""
    known = {one.value for one in gen_ai_attributes.GenAiProviderNameValues}

    assert {names.provider_name(one) for one in names._PROVIDERS} <= known
    assert {names.provider_name(one) for one in ("openai", "anthropic", "deepseek")} <= known


def test_any_text_can_be_exported() -> None:
    """Lone surrogates are escaped: an exporter writes UTF-8. [EXE-01]"""
    for text in (messages_text([kb.user("\ud83d \x00")]), value_text("\ud83d", "user") or ""):
        assert "ud83d" in text
        text.encode("utf-8")
    assert value_text(3, "user") is None


class Flushed(InMemorySpanExporter):
    """Says whether it was shut down."""

    closed = False

    def shutdown(self) -> None:
        """As the SDK does it."""
        self.closed = True


async def test_a_provider_of_its_own_is_flushed_and_shut_down_with_the_agent() -> None:
    """Spans go out in batches, and none is left behind. [AGT-04]"""
    exporter = Flushed()
    async with traveller().install(OpenTelemetry(exporter=exporter)) as agent:
        await travelled(agent)

    assert (len(exporter.get_finished_spans()), exporter.closed) == (19, True)


async def test_a_run_of_a_closed_agent_says_that_it_has_no_spans() -> None:
    """The exporter is shut down, and would take them without a word. [AGT-04]"""
    async with traveller().install(OpenTelemetry(exporter=Flushed())) as agent:
        first = await travelled(agent)
    second = await travelled(agent)

    assert not any("OpenTelemetry" in line for line in first.report().attention)
    assert any("no span is made. Make a new agent." in line for line in second.report().attention)


def test_without_any_provider_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans would go nowhere, silently. [AGT-04]"""
    monkeypatch.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)

    with pytest.raises(FeatureInstallError, match=r"spans would go nowhere.*kb\.OpenTelemetry\(exporter="):
        traveller().install(OpenTelemetry())


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of the extra; to have the feature at hand needs nothing. [AGT-04]"""
    for name in [one for one in sys.modules if one.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "koogbook.features.open_telemetry.spans", raising=False)

    with pytest.raises(FeatureInstallError, match=r"Install it: pip install 'koogbook\[otel\]'"):
        traveller().install(OpenTelemetry())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tracer_provider": 3}, "tracer_provider has a method get_tracer, and 3 has none"),
        ({"exporter": 3}, "exporter has a method export, and 3 has none"),
        ({"on_handler_error": "x"}, "on_handler_error is 'raise' or 'log'"),
    ],
)
def test_a_wrong_option_is_refused(options: Any, message: str) -> None:
    """When the feature is made. [AGT-04]"""
    with pytest.raises(FeatureInstallError, match=message):
        OpenTelemetry(**options)


def test_a_provider_and_an_exporter_are_refused() -> None:
    """A provider has exporters of its own. [AGT-04]"""
    with pytest.raises(FeatureInstallError, match="Leave out one of them"):
        OpenTelemetry(TracerProvider(shutdown_on_exit=False), exporter=InMemorySpanExporter())


async def test_a_provider_of_others_is_left_alone(provider: TracerProvider) -> None:
    """It belongs to whoever made it. [AGT-04] [AGT-01a]"""
    exporter = Flushed()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    async with traveller().install(OpenTelemetry(provider)) as agent:
        await travelled(agent)

    assert (len(exporter.get_finished_spans()), exporter.closed) == (19, False)


async def test_the_provider_of_the_process_is_taken_where_none_is_given(
    provider: TracerProvider, memory: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As all instrumentation does. [AGT-04]"""
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    await travelled(traveller().install(OpenTelemetry()))

    assert len(memory.get_finished_spans()) == 19


async def test_a_fault_of_the_telemetry_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch, provider: Any
) -> None:
    """It is an event, and stands in the report. [AGT-02] [AGT-04]"""

    def take(spans: RunSpans, event: Event) -> None:
        raise OSError("gone")

    monkeypatch.setattr(RunSpans, "take", take)
    run = await travelled(traveller().install(OpenTelemetry(provider)))

    assert run.state == "completed"
    assert "OSError: gone" in str(run.report())
