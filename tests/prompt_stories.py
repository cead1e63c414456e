"""A run with everything that a prompt view shows, and small ones, for the tests of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from msgspec.structs import replace

import koogbook as kb
from koogbook import clock
from koogbook.agents.run import Run
from koogbook.clock import FixedClock
from koogbook.errors import ExecutorError
from koogbook.llm.layers import layer_tag
from koogbook.llm.request import Request
from koogbook.messages.parts import Attachment, Foreign
from koogbook.notebook.views.prompt_view.model import MessageRow
from koogbook.notebook.views.prompt_view.prompt import PromptView

Call = Callable[[Request], Awaitable[kb.Message]]

LOADED = (
    kb.user("I have a peanut allergy and travel with a pushchair.", id="old-1"),
    kb.assistant("Noted: no peanuts, and everything has to be step-free.", id="old-2"),
)


class FeatureOf:
    """A feature of the test's own: one interceptor, and nothing else."""

    subscriptions = ()

    def __init__(self, key: str, interceptor: kb.Interceptor) -> None:
        self.key = key
        self.interceptors = (interceptor,)

    def install(self, agent: Any) -> FeatureOf:
        """It is its own installation."""
        return self

    def bind(self, context: Any) -> None:
        """Nothing for nodes."""

    async def close(self) -> None:
        """Nothing to flush."""


class Loads(kb.Interceptor):
    """Puts an old conversation into the prompt and marks it."""

    async def around_run(self, run: Any, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """Load before the first node."""
        async with run.llm.write_session() as session:
            session.append(*LOADED)
        run.llm.calls.layers.mark("memory", [message.id for message in LOADED], by=self.feature)
        return await call(value)


class Changes(kb.Interceptor):
    """Hands on other messages than it got."""

    def __init__(
        self, change: Callable[[tuple[kb.Message, ...]], Sequence[kb.Message]], **fields: Any
    ) -> None:
        self.change = change
        self.fields = fields

    async def around_llm_call(self, request: Request, call: Call) -> kb.Message:
        """Leave requests for summaries alone."""
        if request.purpose != "conversation":
            return await call(request)
        return await call(replace(request, messages=tuple(self.change(request.messages)), **self.fields))


def with_pages(messages: Sequence[kb.Message]) -> list[kb.Message]:
    """The messages with a page that was found, which says its layer, and a line that does not."""
    page = kb.user(
        "From the guide: the tile museum is step-free and closes on Mondays; line 2 has a lift at Bolhao.",
        id="page",
        metadata=layer_tag("retrieval"),
    )
    return [*messages[:1], page, *messages[1:], kb.system("Prices in euro, with the source.", id="tone")]


def without_small_talk(messages: Sequence[kb.Message]) -> list[kb.Message]:
    """The messages without thanks, and with dates written out."""
    return [
        one.with_text(one.text.replace("Fri", "Friday 5 June"))
        if one.role == "user" and "Fri" in one.text
        else one
        for one in messages
        if one.text != "Thanks!"
    ]


def find_hotels(near: str, step_free: bool = False) -> str:
    """Hotels near a place, with price per night and whether a lift is there.

    The list has at most nine entries, the quietest first.
    """
    return f"9 hotels near the {near}: h-07 at 64 euro, h-12 at 71 euro, h-31 at 88 euro with a lift. " * 4


def reserve(hotel_id: str, nights: int) -> str:
    """Reserve a room."""
    return f"{hotel_id} is reserved for {nights} nights."


def turn(number: int, place: str) -> list[kb.Message]:
    """A question, a call, its result and an answer."""
    call = kb.ToolCall("find_hotels", f'{{"near": "{place}", "step_free": true}}', f"c{number}")
    return [
        kb.user(f"Where is a quiet hotel near the {place}?", id=f"u{number}"),
        kb.assistant(calls=[call], id=f"a{number}"),
        kb.tool_result(call, find_hotels(place), id=f"r{number}"),
        kb.assistant(
            f"Hotel h-{number} near the {place} is quiet, has a lift and costs 8{number % 10} euro.",
            id=f"b{number}",
        ),
    ]


PLACES = (
    "river",
    "station",
    "harbour",
    "market",
    "park",
    "river",
    "bridge",
    "tower",
    "beach",
    "museum",
    "garden",
    "old town",
    "hill",
)


def rich_executor(fixed: FixedClock) -> kb.ScriptedExecutor:
    """Answers after a while; fails once."""
    answers: list[Any] = [
        kb.assistant(
            "Three trains fit; the 14:05 is the cheapest.", usage=kb.Usage(1_148, 24), finish_reason="stop"
        ),
        ExecutorError("the provider closed the connection"),
        kb.assistant(
            "WholeHistory: the traveller wants a quiet, step-free hotel. h-31 at 88 euro has a lift."
        ),
        kb.assistant(
            "I would take h-31 by the river: quiet, a lift, 88 euro. 河边安静的酒店。",
            usage=kb.Usage(2_410, 61, cache_read_tokens=1_024),
            finish_reason="stop",
        ),
        kb.assistant('{"hotel": "h-31", "nights": 2}', usage=kb.Usage(640, 14)),
    ]

    def answer(request: Request) -> kb.Message:
        fixed.advance(0.84)
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, kb.Message)
        return found

    return kb.ScriptedExecutor(answer)


async def rich_run(fixed: FixedClock) -> Run:
    """Five calls: one that went well, one that failed, a summary, one with sixty messages, one for data."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> str:
        picture = Attachment("image", "image/png", data=b"\x89PNG" * 11_000, name="ticket.png")
        async with ctx.llm.write_session() as session:
            session.append(kb.user([text, picture], id="q"), *turn(1, "river"))
            session.append(kb.user("And now by train on Fri, please.", id="fri"))
            await session.request()
            session.append(kb.user("Thanks!", id="thanks"))
        return text

    @trip.node
    async def fail(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.read_session() as session:
            with suppress(ExecutorError):
                await session.request()
        return text

    @trip.node
    async def compress(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            await session.replace_history_with_tldr(kb.WholeHistory())
        return text

    @trip.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            for number, place in enumerate(PLACES, start=2):
                session.append(*turn(number, place))
            session.append(
                kb.user("河边有没有安静、无障碍的酒店？预算五百元。", id="zh"),
                kb.user("Here are the relevant facts from memory: prefers the quiet car.", id="fact"),
                kb.user(
                    [Foreign("web_search", '{"results": ["' + "QUJD" * 400 + '"]}'), kb.Text("See these.")],
                    id="web",
                ),
                kb.user("<script>alert('no')</script> Which one?", id="which"),
            )
            reply = await session.request()
        return reply.text

    @trip.node
    async def choose(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.read_session() as session:
            await session.request_structured(dict[str, str | int])
        return text

    trip.start >> ask >> fail >> compress >> answer >> choose >> trip.finish
    agent = kb.Agent(
        rich_executor(fixed),
        kb.LLModel("gpt-story", "scripted", context_tokens=128_000),
        trip,
        system_prompt="Plan short rail trips; name sources, keep to the budget and stay step-free.",
        tools=[find_hotels, reserve],
        params=kb.LLMParams(temperature=0.2, max_tokens=800, stop=("END",)),
    )
    agent.install(FeatureOf("ChatMemory", Loads()))
    agent.install(FeatureOf("Guide", Changes(with_pages)))
    agent.install(FeatureOf("Tidy", Changes(without_small_talk)))
    return await agent.run("Two days in Porto, at most 220 euro.", session_id="chat-1")


def asking(*texts: str, **agent: Any) -> kb.Agent:
    """An agent whose only node sends each of these texts in a request of its own."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            for one in texts:
                session.append(kb.user(one))
                await session.request()
        return text

    trip.start >> ask >> trip.finish
    return kb.Agent(agent.pop("executor", kb.OfflineExecutor()), agent.pop("model", "offline"), trip, **agent)


@cache
def story() -> Run:
    """The run with everything in it, made once for all tests of a process."""
    fixed = FixedClock()
    with clock.use(fixed):
        return asyncio.run(rich_run(fixed))


def rows(view: PromptView) -> list[MessageRow]:
    """The rows with a message each."""
    return [row for row in view.state.rows if isinstance(row, MessageRow)]


def origin(view: PromptView) -> str:
    """Where the selected message came from, in words."""
    assert view.state.detail is not None
    return "; ".join(view.state.detail.origin)


def html(view: PromptView) -> str:
    """The words of the static form, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", view.to_html()))
