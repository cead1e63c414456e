"""From the events of one run to spans, which begin and end at the times of the events.

A span is the current one while what it stands for goes on, so that what a node, a tool or a client of HTTP makes of
spans, or an agent that runs inside of a tool, stands in it.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from koogbook.events import (
    BranchCompleted,
    BranchFailed,
    BranchStarting,
    Event,
    LLMCallCompleted,
    LLMCallFailed,
    LLMCallStarting,
    LLMStreamingFrame,
    LLMStreamingStarting,
    NodeCompleted,
    NodeFailed,
    NodeStarting,
    Notice,
    RunCompleted,
    RunFailed,
    RunStarting,
    StrategyCompleted,
    StrategyFailed,
    StrategyStarting,
    SubgraphCompleted,
    SubgraphFailed,
    SubgraphStarting,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallStarting,
    ToolValidationFailed,
)
from koogbook.features.open_telemetry import names
from koogbook.features.open_telemetry.content import messages_text, plain, tools_text, value_text
from koogbook.features.open_telemetry.told import (
    NANOSECONDS,
    NOTED,
    Attributes,
    Key,
    clean,
    counted,
    if_text,
    place_of,
    set_attributes,
    time_of,
    tool_key,
)
from koogbook.llm.request import Request
from koogbook.messages.message import Message
from koogbook.tools.tool import LONGEST_NAME


class RunSpans:
    """The spans of one run, as far as it has come.

    ``content`` says that they hold messages, arguments, results and the texts of errors.
    """

    __slots__ = (
        "_around_of",
        "_content",
        "_first_frame",
        "_offered",
        "_open",
        "_outside",
        "_run",
        "_standing",
        "_tracer",
        "_usage",
    )

    def __init__(self, tracer: Tracer, *, content: bool) -> None:
        self._tracer = tracer
        self._content = content
        self._run: Span | None = None
        #: What goes on, the inner ones later.
        self._open: dict[Key, Span] = {}
        #: What each of these stands in.
        self._around_of: dict[Key, Span | None] = {}
        #: What was current before the run.
        self._outside = context.get_current()
        #: By path: the keys of the spans that what happens there can stand in.
        self._standing: dict[str, list[Key]] = {}
        self._first_frame: set[int] = set()
        #: Names of tools that a model was told of.
        self._offered: set[str] = set()
        self._usage = [0, 0]

    def take(self, event: Event) -> None:
        """Make of an event what it means. With the end of the run all of its spans are closed."""
        match event:
            case RunStarting():
                self._run_starts(event)
            case RunCompleted():
                if self._content and self._run is not None:
                    set_attributes(self._run, {names.OUTPUT_MESSAGES: value_text(event.output, "assistant")})
                self._run_ends(event)
            case RunFailed():
                if self._run is not None:
                    self._fails(self._run, event.error, cancelled=event.cancelled)
                self._run_ends(event)
            case StrategyStarting() | SubgraphStarting() | BranchStarting() | NodeStarting():
                self._graph_goes_in(event)
            case (
                StrategyCompleted()
                | StrategyFailed()
                | SubgraphCompleted()
                | SubgraphFailed()
                | BranchCompleted()
                | BranchFailed()
                | NodeCompleted()
                | NodeFailed()
            ):
                self._graph_comes_out(event)
            case LLMCallStarting():
                self._call_starts(event)
            case LLMStreamingFrame():
                self._frame_comes(event)
            case LLMCallCompleted():
                self._call_ends(event)
            case LLMCallFailed():
                self._close(("call", event.call), event, error=event.error, cancelled=event.cancelled)
            case ToolCallStarting():
                self._tool_starts(event)
            case ToolCallCompleted():
                result = {names.TOOL_CALL_RESULT: plain(event.output)} if self._content else {}
                self._close(tool_key(event), event, result)
            case ToolCallFailed():
                self._close(tool_key(event), event, error=event.error, cancelled=event.cancelled)
            case ToolValidationFailed():
                if tool_key(event) not in self._open:
                    self._tool_starts(event, begun=False)
                self._close(tool_key(event), event, error=f"ToolValidationFailed: {event.error}")
            case _:
                self._is_noted(event)

    # ------------------------------------------------------------------------------------- the run and its graph

    def _run_starts(self, event: RunStarting) -> None:
        attributes: Attributes = {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT_ID: event.agent_id,
            names.AGENT_NAME: event.agent_id,
            names.CONVERSATION_ID: event.session_id,
            "koogbook.run.id": event.run_id,
            "koogbook.strategy": event.strategy,
        }
        if self._content:
            attributes[names.INPUT_MESSAGES] = value_text(event.input, "user")
        # In whatever span the caller is: a request that a server answers, a cell.
        self._run = self._tracer.start_span(
            plain(f"{names.INVOKE_AGENT} {event.agent_id}".rstrip()),
            kind=SpanKind.INTERNAL,
            attributes=clean(attributes),
            start_time=time_of(event),
        )
        context.attach(trace.set_span_in_context(self._run))

    def _run_ends(self, event: Event) -> None:
        for key in reversed(tuple(self._open)):
            self._close(key, event, cut_short=True)
        if self._run is not None:
            set_attributes(
                self._run,
                {names.INPUT_TOKENS: self._usage[0] or None, names.OUTPUT_TOKENS: self._usage[1] or None},
            )
            self._run.end(time_of(event))
            # Also where one inside was left open, as that of a stream that nobody read to its end.
            if _trace_of(trace.get_current_span()) == _trace_of(self._run):
                context.attach(self._outside)

    def _graph_goes_in(
        self, event: StrategyStarting | SubgraphStarting | BranchStarting | NodeStarting
    ) -> None:
        name = event.path.rpartition("/")[2]
        if isinstance(event, SubgraphStarting) and (around := self._standing.get(event.path)):
            # A subgraph is a node, and its span is there already.
            self._open[around[-1]].update_name(plain(f"subgraph {name}"))
            return
        word, key, attributes = place_of(event)
        self._begin(key, f"{word} {name}", event, attributes)
        self._standing.setdefault(event.path, []).append(key)

    def _graph_comes_out(self, event: Any) -> None:
        key = place_of(event)[1]
        error = getattr(event, "error", "")
        self._close(key, event, error=error, cancelled=getattr(event, "cancelled", False))

    # ------------------------------------------------------------------------------------- requests and tools

    def _call_starts(self, event: LLMCallStarting) -> None:
        request = event.request
        attributes: Attributes = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: names.provider_name(event.model.partition(":")[0] if ":" in event.model else ""),
            names.REQUEST_MODEL: event.model,
            names.CONVERSATION_ID: event.session_id,
            "koogbook.purpose": event.purpose,
            "koogbook.call": event.call,
            "koogbook.messages": event.messages,
        }
        if isinstance(event, LLMStreamingStarting):
            attributes[names.REQUEST_STREAM] = True
        if isinstance(request, Request):
            self._offered.update(tool.name for tool in request.tools)
            attributes |= self._asked(request)
        if self._run is not None:
            set_attributes(self._run, {one: attributes[one] for one in (names.PROVIDER, names.REQUEST_MODEL)})
        model = attributes[names.REQUEST_MODEL]
        self._begin(("call", event.call), f"{names.CHAT} {model}", event, attributes, kind=SpanKind.CLIENT)

    def _asked(self, request: Request) -> Attributes:
        params = request.params
        attributes: Attributes = {
            names.PROVIDER: names.provider_name(request.model.provider),
            names.REQUEST_MODEL: request.model.id,
            names.REQUEST_TEMPERATURE: params.temperature,
            names.REQUEST_MAX_TOKENS: params.max_tokens,
            names.REQUEST_SEED: params.seed,
            names.REQUEST_STOP_SEQUENCES: params.stop or None,
            names.REQUEST_CHOICE_COUNT: params.choices if params.choices != 1 else None,
            names.OUTPUT_TYPE: None if request.schema is None else "json",
        }
        if self._content:
            attributes[names.INPUT_MESSAGES] = messages_text(request.messages)
            attributes[names.TOOL_DEFINITIONS] = tools_text(request.tools) if request.tools else None
        return attributes

    def _frame_comes(self, event: LLMStreamingFrame) -> None:
        span = self._open.get(("call", event.call))
        if span is not None and event.call not in self._first_frame:
            self._first_frame.add(event.call)
            started = getattr(span, "start_time", None)
            if isinstance(started, int):
                span.set_attribute(names.TIME_TO_FIRST_CHUNK, (time_of(event) - started) / NANOSECONDS)

    def _call_ends(self, event: LLMCallCompleted) -> None:
        attributes = counted(event.usage)
        attributes[names.FINISH_REASONS] = None if event.finish_reason is None else (event.finish_reason,)
        if isinstance(event.reply, Message):
            told = event.reply.metadata
            attributes[names.RESPONSE_MODEL] = if_text(told.get("model"))
            attributes[names.RESPONSE_ID] = if_text(told.get("response_id"))
            if self._content:
                attributes[names.OUTPUT_MESSAGES] = messages_text([event.reply], answered=True)
        if event.usage is not None:
            self._usage[0] += event.usage.input_tokens or 0
            self._usage[1] += event.usage.output_tokens or 0
        self._close(("call", event.call), event, attributes)

    def _tool_starts(self, event: ToolCallStarting | ToolValidationFailed, *, begun: bool = True) -> None:
        # Of a call that was refused the name may be anything: the model wrote it, as it does arguments.
        known = begun or self._content or event.tool in self._offered
        name = event.tool if known else None
        attributes: Attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: None if name is None else name[:LONGEST_NAME],
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: event.call_id,
        }
        if self._content:
            attributes[names.TOOL_CALL_ARGUMENTS] = event.args or None
        title = f"{names.EXECUTE_TOOL} {(name or '')[:LONGEST_NAME]}".rstrip()
        self._begin(tool_key(event), title, event, attributes)

    # ------------------------------------------------------------------------------------- what is no span of its own

    def _is_noted(self, event: Event) -> None:
        """What happened in between, as an event of the span that it happened in."""
        make = NOTED.get(type(event))
        if make is None:
            return
        name, attributes = make(event)
        error = getattr(event, "error", "")
        if error:
            attributes |= self._error(error)
        if self._content and isinstance(event, Notice):
            attributes["koogbook.text"] = event.text
        call = getattr(event, "call", None)
        span = self._open.get(("call", call)) if call is not None else None
        span = span or self._around(event.path) or self._run
        if span is not None:
            span.add_event(f"koogbook.{name}", clean(attributes), timestamp=time_of(event))

    # ------------------------------------------------------------------------------------- spans

    def _begin(
        self,
        key: Key,
        name: str,
        event: Event,
        attributes: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        around = self._around(event.path) or self._run
        self._open[key] = span = self._tracer.start_span(
            plain(name),
            context=_with(around),
            kind=kind,
            attributes=clean({**attributes, "koogbook.path": event.path, "koogbook.run.id": event.run_id}),
            start_time=time_of(event),
        )
        self._around_of[key] = around
        context.attach(trace.set_span_in_context(span))

    def _around(self, path: str) -> Span | None:
        """The innermost span that stands at a path, or at what the path stands in."""
        while path:
            keys = self._standing.get(path)
            if keys:
                return self._open[keys[-1]]
            path = path.rpartition("/")[0]
        return None

    def _close(
        self,
        key: Key,
        event: Event,
        attributes: Attributes | None = None,
        *,
        error: str = "",
        cancelled: bool = False,
        cut_short: bool = False,
    ) -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        around = self._around_of.pop(key)
        # No token: an end may be told in another task than the beginning, and there is nothing to go back to then.
        if trace.get_current_span() is span:
            context.attach(_with(around) or self._outside)
        for path in [path for path, keys in self._standing.items() if key in keys]:
            self._standing[path].remove(key)
            if not self._standing[path]:
                del self._standing[path]
        set_attributes(span, attributes or {})
        if cut_short:
            span.set_attribute("koogbook.cut_short", True)
        if error:
            self._fails(span, error, cancelled=cancelled)
        span.end(time_of(event))

    def _fails(self, span: Span, error: str, *, cancelled: bool) -> None:
        """Who stops a run makes no error: its spans are marked, and end."""
        if cancelled:
            span.set_attribute("koogbook.cancelled", True)
            return
        told = self._error(error)
        set_attributes(span, told)
        span.set_status(Status(StatusCode.ERROR, told.get("koogbook.error")))

    def _error(self, error: str) -> Attributes:
        """The class of an exception; with content, what it says as well."""
        kind = error.partition(":")[0]
        told: Attributes = {names.ERROR_TYPE: kind if kind.isidentifier() else names.OTHER_ERROR}
        if self._content:
            told["koogbook.error"] = plain(error)
        return told


def _with(span: Span | None) -> Context | None:
    return None if span is None else trace.set_span_in_context(span)


def _trace_of(span: Span) -> int:
    return span.get_span_context().trace_id
