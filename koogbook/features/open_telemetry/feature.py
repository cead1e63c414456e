"""The feature as a user installs it."""

from __future__ import annotations

import asyncio
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from koogbook.errors import FeatureInstallError
from koogbook.events import Event, RunCompleted, RunFailed, RunStarting
from koogbook.features.listening import Listening
from koogbook.features.open_telemetry.names import SCHEMA_URL
from koogbook.pipeline import OnHandlerError, Subscription

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import TracerProvider

    from koogbook.features.open_telemetry.spans import RunSpans

_INSTALL = "pip install 'koogbook[otel]'"


@dataclass(frozen=True)
class OpenTelemetry:
    """Makes spans of what happens, by OpenTelemetry's conventions for generative AI (Koog's ``OpenTelemetry``).

    A run is a span ``invoke_agent``, in which are its strategy, in that nodes, subgraphs and branches, and in those
    requests (``chat``) and tool calls (``execute_tool``). Retries, fallbacks, compressions, checkpoints and notices
    are events of the span that they happened in. Conversations are sessions: ``gen_ai.conversation.id`` is the session
    id. What the conventions have no word for is ``koogbook.*``. A run that is cancelled has ``koogbook.cancelled`` and
    no error.

    Args:
        tracer_provider: Where spans go; without it and without ``exporter``, the provider that is set for the process.
        exporter: For a provider of the feature's own, which hands spans on in batches, and is flushed and shut down
            with the agent.
        capture_content: Whether spans hold messages, arguments and results of tools, and the texts of errors.
        on_handler_error: ``"log"`` makes what goes wrong here an event ``HandlerFailed``, ``"raise"`` lets the run
            fail.

    Raises:
        FeatureInstallError: Both a provider and an exporter are given, or something that is none; or, when it is
            installed, the package is not there, or no provider is set.
    """

    key: ClassVar[str] = "OpenTelemetry"
    tracer_provider: TracerProvider | None = None
    _: KW_ONLY
    exporter: SpanExporter | None = None
    capture_content: bool = False
    on_handler_error: OnHandlerError = "log"

    def __post_init__(self) -> None:
        if self.tracer_provider is not None and self.exporter is not None:
            raise FeatureInstallError(
                "OpenTelemetry takes a tracer_provider, which has exporters of its own, or an exporter. Nothing was "
                "installed. Leave out one of them."
            )
        for name, method in (("tracer_provider", "get_tracer"), ("exporter", "export")):
            given = getattr(self, name)
            if given is not None and not callable(getattr(given, method, None)):
                raise FeatureInstallError(
                    f"{name} has a method {method}, and {given!r:.60} has none. Nothing was installed."
                )
        Subscription(print, (), self.on_handler_error)

    def install(self, agent: Any) -> InstalledOpenTelemetry:
        """Make one installation, with a provider of its own where an exporter is given."""
        return InstalledOpenTelemetry(self)


class InstalledOpenTelemetry(Listening):
    """One installation of :class:`OpenTelemetry` on one agent."""

    def __init__(self, config: OpenTelemetry) -> None:
        try:
            from opentelemetry import trace

            from koogbook.features.open_telemetry.spans import RunSpans

            provider: Any = config.tracer_provider
            self._own: Any = None
            if config.exporter is not None:
                provider = self._own = _provider_of(config.exporter)
        except ImportError as problem:
            raise FeatureInstallError(
                f"OpenTelemetry needs a package that is not there ({problem.name}). Nothing was installed. "
                f"Install it: {_INSTALL}"
            ) from problem
        if provider is None:
            provider = trace.get_tracer_provider()
            if isinstance(provider, trace.ProxyTracerProvider):
                raise FeatureInstallError(
                    "No tracer provider is set for this process, so that spans would go nowhere. Nothing was "
                    "installed. Give an exporter: kb.OpenTelemetry(exporter=ConsoleSpanExporter()); or set one before: "
                    "opentelemetry.trace.set_tracer_provider(provider)."
                )
        self._make = RunSpans
        self._tracer = provider.get_tracer("koogbook", schema_url=SCHEMA_URL)
        self._content = config.capture_content
        self._closed = False
        self._runs: dict[str, RunSpans] = {}
        super().__init__("OpenTelemetry", [Subscription(self._take, (), config.on_handler_error)])

    def _take(self, event: Event) -> None:
        if isinstance(event, RunStarting):
            if self._closed:
                raise FeatureInstallError(
                    "Its exporter is shut down, since its agent is closed. Of this run no span is made. Make a new "
                    "agent."
                )
            self._runs[event.run_id] = self._make(self._tracer, content=self._content)
        spans = self._runs.get(event.run_id)
        if isinstance(event, RunCompleted | RunFailed):
            self._runs.pop(event.run_id, None)
        if spans is not None:
            spans.take(event)

    async def close(self) -> None:
        """Hand on what is left, where the provider is the feature's own; any other belongs to whoever made it."""
        if self._own is not None:
            self._closed = True
            # It may wait for the other side: that is not to hold up other runs.
            await asyncio.to_thread(self._shut_down)

    def _shut_down(self) -> None:
        self._own.force_flush()
        self._own.shutdown()


def _provider_of(exporter: SpanExporter) -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
