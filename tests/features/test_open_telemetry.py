"""OpenTelemetry: runs as spans, by the semantic conventions for generative AI."""

from __future__ import annotations

import asyncio
import json
from contextvars import copy_context
from typing import Any

import pytest
from golden_events import golden_events
from msgspec.structs import replace
from opentelemetry.trace import SpanKind, StatusCode
from span_trees import named, of, the, tree
from traced_runs import answers, crosser, travelled, traveller

import koogbook as kb
from koogbook.errors import ProviderError
from koogbook.events import CheckpointSaved, LLMCallCompleted, RunStarting
from koogbook.features.open_telemetry import OpenTelemetry
from koogbook.features.open_telemetry.spans import RunSpans
from koogbook.features.open_telemetry.told import time_of
from koogbook.llm.retrying import RetryingExecutor
from koogbook.tools.tool import ToolException

# ------------------------------------------------------------------------------------------- what they say


async def test_the_run_says_whose_it_is(watch: Any) -> None:
    """The conversation is the session. [AGT-04] [AGT-03a]"""
    run, spans = await watch(traveller())
    whole = the(spans, "invoke_agent trip")

    assert whole.kind is SpanKind.INTERNAL
    assert of(whole) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": "trip",
        "gen_ai.agent.name": "trip",
        "gen_ai.conversation.id": "chat-1",
        "gen_ai.provider.name": "koogbook",
        "gen_ai.request.model": "offline",
        "koogbook.run.id": run.run_id,
        "koogbook.strategy": "trip",
    }


class Answering(kb.ScriptedExecutor):
    """As a provider would: with what it counted."""

    async def execute(self, request: kb.Request) -> kb.Message:
        """What is scripted, and what it cost."""
        reply = await super().execute(request)
        usage = kb.Usage(100, 20, 80, 5, 7)
        told = {"model": "large-2026", "response_id": "r1"}
        return replace(reply, usage=usage, finish_reason="stop", metadata_json=json.dumps(told))


async def test_a_request_says_what_was_asked_and_counted(provider: Any, memory: Any) -> None:
    """By the names of the conventions. [AGT-04]"""
    params = kb.LLMParams(temperature=0.5, max_tokens=300, seed=7, stop=("END",))
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return (await session.request()).text

    trip.start >> ask >> trip.finish
    agent = kb.Agent(Answering(answers), "openai-responses:large", trip, params=params)
    await agent.install(OpenTelemetry(provider)).run("x", "chat-1")
    spans = memory.get_finished_spans()
    chat = the(spans, "chat large")

    assert chat.kind is SpanKind.CLIENT
    assert {name: value for name, value in of(chat).items() if not name.startswith("koogbook.")} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "large",
        "gen_ai.conversation.id": "chat-1",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 300,
        "gen_ai.request.seed": 7,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.response.model": "large-2026",
        "gen_ai.response.id": "r1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 80,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 7,
    }
    assert of(the(spans, "invoke_agent trip"))["gen_ai.usage.input_tokens"] == 100


async def test_a_streamed_request_says_when_it_began_to_come(watch: Any) -> None:
    """In seconds from its start. [AGT-04]"""
    _, spans = await watch(traveller())
    streamed = [span for span in spans if of(span).get("gen_ai.request.stream")]

    assert [of(span)["koogbook.path"] for span in streamed] == ["trip/tell"]
    assert 0 < of(streamed[0])["gen_ai.response.time_to_first_chunk"] < 1


async def test_a_tool_says_which_call_it_was(watch: Any) -> None:
    """Its name, and the id that the model gave it. [AGT-04]"""
    _, spans = await watch(traveller())
    good, bad = named(spans, "execute_tool weather")

    assert (of(good)["gen_ai.operation.name"], of(good)["gen_ai.tool.name"]) == ("execute_tool", "weather")
    assert (of(good)["gen_ai.tool.type"], of(good)["gen_ai.tool.call.id"]) == ("function", "c1")
    assert (good.status.status_code, bad.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert of(bad)["error.type"] == "ValueError"
    assert of(the(spans, "execute_tool"))["error.type"] == "ToolValidationFailed"


async def test_calls_of_one_id_at_once_have_a_span_each(provider: Any, memory: Any) -> None:
    """Each begins with its tool, and ends as it ended. [AGT-04]"""
    meet = asyncio.Barrier(3)
    say = kb.strategy("say", input=str, output=str)

    async def weather(city: str) -> str:
        """The weather."""
        await meet.wait()
        if city == "b":
            raise ToolException("Not there.")
        await meet.wait()
        return city

    @say.node
    async def tell(ctx: kb.Context, text: str) -> str:
        await ctx.run_tools(
            [kb.ToolCall("weather", f'{{"city":"{one}"}}', "c1") for one in "abc"], parallel=3
        )
        return text

    say.start >> tell >> say.finish
    meeting: asyncio.Task[Any] | None = None

    def joined(event: kb.events.ToolValidationFailed) -> None:
        nonlocal meeting
        meeting = asyncio.ensure_future(meet.wait())  # in place of the one that has refused

    agent = kb.Agent(kb.OfflineExecutor(), "offline", say, tools=[weather])
    agent.install(OpenTelemetry(provider)).on(joined, kb.events.ToolValidationFailed)  # type: ignore[arg-type]
    run = await agent.run("x")
    assert meeting is not None
    await meeting
    tools = named(memory.get_finished_spans(), "execute_tool weather")
    began = [event for event in run.events if isinstance(event, kb.events.ToolCallStarting)]

    assert sorted(span.start_time or 0 for span in tools) == sorted(map(time_of, began))
    failed = [span.start_time for span in tools if span.status.status_code is StatusCode.ERROR]
    assert failed == [time_of(began[1])]
    assert not any(of(span).get("koogbook.cut_short") for span in tools)


async def test_a_run_has_the_tokens_of_all_its_requests(provider: Any, memory: Any) -> None:
    """Those that were counted. [AGT-04]"""
    say = kb.strategy("say", input=str, output=str)

    @say.node
    async def twice(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.read_session() as session:
            await session.request()
            return (await session.request()).text

    say.start >> twice >> say.finish
    counted = [kb.assistant("x", usage=kb.Usage(30, 4)), kb.assistant("y", usage=kb.Usage(100, 20))]
    agent = kb.Agent(kb.ScriptedExecutor(counted), "offline", say)
    await agent.install(OpenTelemetry(provider)).run("x")
    whole = of(the(memory.get_finished_spans(), "invoke_agent say"))

    assert (whole["gen_ai.usage.input_tokens"], whole["gen_ai.usage.output_tokens"]) == (130, 24)


async def test_the_spans_of_runs_that_are_over_are_let_go(provider: Any) -> None:
    """An agent may live for weeks. [AGT-04]"""
    agent = traveller().install(OpenTelemetry(provider))
    await travelled(agent)
    installed: Any = agent._features["OpenTelemetry"]

    assert installed._runs == {}


async def test_a_refused_call_is_named_where_there_is_such_a_tool(provider: Any, memory: Any) -> None:
    """Any other name is a text of the model's, and stands with content alone. [AGT-04] [EXE-06]"""
    ask = kb.strategy("ask", input=str, output=str)

    @ask.node
    async def both(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            reply = await session.request()
        await ctx.run_tools([*reply.calls, kb.ToolCall("SECRET " * 40, "{}")])
        return text

    def weather(city: str) -> str:
        """The weather."""
        return city

    ask.start >> both >> ask.finish
    for content in (False, True):
        memory.clear()
        answer = kb.assistant(kb.ToolCall("weather", '{"city":5}', "c1"))
        agent = kb.Agent(kb.ScriptedExecutor([answer]), "offline", ask, tools=[weather])
        await agent.install(OpenTelemetry(provider, capture_content=content)).run("x")
        provider.force_flush()
        tools = [span for span in memory.get_finished_spans() if span.name.startswith("execute_tool")]

        assert [span.name for span in tools] == [
            "execute_tool weather",
            f"execute_tool {('SECRET ' * 40)[:64].rstrip()}" if content else "execute_tool",
        ]
        assert ("SECRET" in " ".join(span.to_json() for span in tools)) is content


# ------------------------------------------------------------------------------------------- errors and cancellation


async def test_an_error_is_on_every_span_that_it_went_through(watch: Any) -> None:
    """With its class, and no word of it. [AGT-04]"""
    _, spans = await watch(traveller(end="error"))
    failed = {span.name: span for span in spans if span.status.status_code is StatusCode.ERROR}

    for name in ("invoke_agent trip", "strategy trip", "node tell"):
        assert of(failed[name])["error.type"] == "LookupError"
        assert failed[name].status.description is None
    assert "chat offline" not in failed


@pytest.mark.parametrize("make", [traveller, crosser])
async def test_a_cancelled_run_has_no_error_and_no_open_span(watch: Any, make: Any) -> None:
    """What was stopped says so. [AGT-04]"""
    _, spans = await watch(make(end="wait"))
    stopped = [span.name for span in spans if of(span).get("koogbook.cancelled")]

    assert {"invoke_agent trip", "strategy trip"} <= set(stopped)
    assert len(stopped) >= 3
    assert not any("koogbook.cut_short" in of(span) for span in spans)
    assert all(of(span).get("error.type") in (None, "ValueError", "ToolValidationFailed") for span in spans)


async def test_a_listener_that_raises_at_the_end_leaves_no_span_open(provider: Any, memory: Any) -> None:
    """Also where it stands before the telemetry. [AGT-02] [AGT-04]"""

    def broken(event: kb.events.Event) -> None:
        raise ValueError("broken")

    agent = traveller().install(kb.EventHandler(on_run_completed=broken)).install(OpenTelemetry(provider))
    with pytest.raises(ValueError, match="broken"):
        await agent.run("Where is Bonn?")
    provider.force_flush()

    assert tree(memory.get_finished_spans())[0] == "invoke_agent trip"


async def test_spans_that_nothing_ended_are_closed_with_the_run(provider: Any, memory: Any) -> None:
    """And say so. [AGT-04]"""
    run = await travelled(crosser())
    spans = RunSpans(provider.get_tracer("x"), content=False)
    for event in run.events:
        if not isinstance(event, LLMCallCompleted):
            spans.take(event)
    cut = [span.name for span in memory.get_finished_spans() if of(span).get("koogbook.cut_short")]

    assert cut == ["chat offline", "chat offline"]


async def test_retries_and_compressions_are_events_of_their_spans(watch: Any) -> None:
    """With numbers, and the class of the error. [AGT-04]"""

    class Once(kb.ScriptedExecutor):
        """Fails at the first time."""

        failed = False

        async def execute(self, request: kb.Request) -> kb.Message:
            if not self.failed:
                self.failed = True
                raise ProviderError("busy with Bonn", kind="overloaded", model="acme:a")
            return await super().execute(request)

    executor = RetryingExecutor(Once(answers), first_wait=0.001)
    _, spans = await watch(traveller(executor=executor))
    told = {event.name: (span.name, dict(event.attributes or {})) for span in spans for event in span.events}

    span, attributes = told["koogbook.retry"]
    assert (span, attributes["koogbook.attempt"], attributes["error.type"]) == (
        "chat offline",
        1,
        "ProviderError",
    )
    span, attributes = told["koogbook.compression"]
    assert (span, attributes["koogbook.compression.status"]) == ("node shorten", "applied")
    assert "Bonn" not in str(told)


async def test_checkpoints_are_events_of_the_node(provider: Any, memory: Any) -> None:
    """Saved after it, within the strategy. [AGT-04]"""
    agent = traveller().install(kb.Persistence(kb.MemoryCheckpoints()))
    run = await travelled(agent.install(OpenTelemetry(provider)))
    told = [event for span in memory.get_finished_spans() for event in span.events]
    saved = [event for event in told if event.name == "koogbook.checkpoint.saved"]

    assert len(saved) == len([event for event in run.events if isinstance(event, CheckpointSaved)]) > 0


# ------------------------------------------------------------------------------------------- content


async def test_no_span_holds_content_unless_it_is_wanted(watch: Any) -> None:
    """Neither messages, nor arguments, results or the texts of errors. [AGT-04] [EXE-06]"""
    for end in ("", "error"):
        _, spans = await watch(traveller(end=end))
        said = " ".join(span.to_json() for span in spans)

        for word in (
            "Bonn",
            "coat",
            "rain",
            "brief",
            "slowly",
            "Nowhere",
            "nowhere",
            "such place",
            "on offer",
        ):
            assert word not in said


@pytest.mark.parametrize("content", [False, True])
async def test_the_text_of_a_notice_is_content(provider: Any, memory: Any, content: bool) -> None:
    """It may hold what a user has said; its kind stands in any case. [AGT-04] [EXE-06]"""
    say = kb.strategy("say", input=str, output=str)

    @say.node
    async def tell(ctx: kb.Context, text: str) -> str:
        ctx.log.notice("odd wish", f"it was about {text}")
        return text

    say.start >> tell >> say.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", say)
    await agent.install(OpenTelemetry(provider, capture_content=content)).run("Timbuktu")
    (noticed,) = [event for span in memory.get_finished_spans() for event in span.events]

    assert "odd wish" in str(dict(noticed.attributes or {}))
    assert ("Timbuktu" in str(dict(noticed.attributes or {}))) is content


async def test_content_is_in_the_form_of_the_conventions(watch: Any) -> None:
    """Messages with role and parts, calls with their arguments, results. [AGT-04]"""
    _, spans = await watch(traveller(), capture_content=True)
    first, second, *_ = named(spans, "chat offline")
    good, bad = named(spans, "execute_tool weather")
    whole = the(spans, "invoke_agent trip")

    asked = json.loads(of(first)["gen_ai.input.messages"])
    assert asked[0] == {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}
    [answer] = json.loads(of(first)["gen_ai.output.messages"])
    assert answer["finish_reason"] == "stop"
    assert answer["parts"][0] == {
        "type": "tool_call",
        "id": "c1",
        "name": "weather",
        "arguments": {"city": "Bonn"},
    }
    assert json.loads(of(second)["gen_ai.input.messages"])[4]["parts"] == [
        {"type": "tool_call_response", "id": "c1", "response": "rain"}
    ]
    assert json.loads(of(first)["gen_ai.tool.definitions"])[0]["name"] == "weather"
    assert (of(good)["gen_ai.tool.call.arguments"], of(good)["gen_ai.tool.call.result"]) == (
        '{"city":"Bonn"}',
        "rain",
    )
    assert bad.status.description == "ValueError: there is no such place"
    assert json.loads(of(whole)["gen_ai.input.messages"])[0]["parts"][0]["content"] == "Where is Bonn?"
    assert json.loads(of(whole)["gen_ai.output.messages"])[0]["role"] == "assistant"


@pytest.mark.parametrize("content", [False, True])
def test_every_kind_of_event_is_taken(provider: Any, memory: Any, content: bool) -> None:
    """Whatever stands in it, and in whatever order it comes. [AGT-04]"""
    spans = RunSpans(provider.get_tracer("x"), content=content)
    events = golden_events()
    alone = copy_context()  # what no run ends stays current
    for event in [*(one for one in events if isinstance(one, RunStarting)), *events]:
        alone.run(spans.take, event)

    for span in memory.get_finished_spans():
        json.loads(span.to_json())
