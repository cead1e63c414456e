"""Every way to ask the model: what is sent, what the history gets, and for how long a choice holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import (
    ExecutorError,
    KoogbookError,
    SessionClosedError,
    StreamOpenError,
    ToolError,
    WrongLoopError,
)
from koogbook.events import LLMCallStarting, Notice
from koogbook.llm.cached import CachedExecutor
from koogbook.llm.context import LLMContext


def weather(city: str) -> str:
    """The weather of a city."""
    return "rain"


def museums(city: str) -> str:
    """The museums of a city."""
    return "two"


async def _read_all(session: Any) -> kb.Message:
    frames = [frame async for frame in session.request_streaming()]
    return frames[-1].message


#: Every request method with an answer that suits it.
METHODS: dict[str, tuple[Any, Callable[[Any], Awaitable[Any]]]] = {
    "request": ("hello", lambda session: session.request()),
    "request_without_tools": ("hello", lambda session: session.request_without_tools()),
    "request_only_calling_tools": (
        kb.ToolCall("weather", id="1"),
        lambda session: session.request_only_calling_tools(),
    ),
    "request_force_one_tool": (
        kb.ToolCall("weather", id="1"),
        lambda session: session.request_force_one_tool(weather),
    ),
    "request_multiple_choices": ("hello", lambda session: session.request_multiple_choices(3)),
    "request_structured": ("[1, 2]", lambda session: session.request_structured(list[int])),
    "request_streaming": ("hello there", _read_all),
}


def _made(make_context: Any, answers: list[Any], **options: Any) -> tuple[LLMContext, kb.ScriptedExecutor]:
    executor = kb.ScriptedExecutor(answers)
    options.setdefault("messages", [kb.system("rules"), kb.user("x")])
    return make_context(executor, tools=[weather, museums], **options), executor


def _notices(context: LLMContext) -> list[str]:
    return [event.text for event in context.log.events if isinstance(event, Notice)]


# ------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("method", METHODS)
async def test_the_history_grows_by_one_for_each_way_to_ask(make_context: Any, method: str) -> None:
    """Inside a write session and after it; of several choices by the chosen one only [SES-06, SES-07]."""
    answer, ask = METHODS[method]
    context, _ = _made(make_context, [answer] * 3)
    async with context.write_session() as session:
        await ask(session)
        inside = len(session.prompt)

    assert (inside, len(context.committed.prompt)) == (3, 3)
    assert context.committed.prompt[-1].role == "assistant"


@pytest.mark.parametrize("method", METHODS)
async def test_a_read_session_returns_the_answer_and_keeps_the_history(
    make_context: Any, method: str
) -> None:
    """Whichever way it asks [SES-01, SES-06, SES-07]."""
    answer, ask = METHODS[method]
    context, executor = _made(make_context, [answer] * 3)
    async with context.read_session() as session:
        given = await ask(session)
        inside = len(session.prompt)

    assert given is not None
    assert executor.requests
    assert (inside, len(context.committed.prompt)) == (2, 2)


@pytest.mark.parametrize("method", METHODS)
async def test_a_failed_request_of_any_kind_changes_nothing(make_context: Any, method: str) -> None:
    """The session goes on with the history that it had [SES-06, SES-07]."""
    _, ask = METHODS[method]
    context, _ = _made(make_context, [ConnectionError("gone")] * 3)
    async with context.write_session() as session:
        before = session.prompt
        with pytest.raises(ConnectionError, match="gone"):
            await ask(session)
        assert session.prompt is before

    assert len(context.committed.prompt) == 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["read_session", "write_session"])
async def test_a_closed_session_asks_nobody(make_context: Any, method: str, kind: str) -> None:
    """Neither of the two kinds, and the executor is not reached [SES-08, EXE-03a]."""
    answer, ask = METHODS[method]
    context, executor = _made(make_context, [answer])
    async with getattr(context, kind)() as session:
        pass

    with pytest.raises(SessionClosedError, match="Cannot use session after it was closed"):
        await ask(session)
    assert executor.requests == []


@pytest.mark.parametrize("kind", ["read_session", "write_session"])
@pytest.mark.parametrize("method", METHODS)
async def test_a_call_without_a_result_is_sent_as_text_in_a_read_session_alone(
    make_context: Any, method: str, kind: str
) -> None:
    """With tools a provider would refuse it, and in a history the answer would part it from its result [EXE-02]."""
    answer, ask = METHODS[method]
    history = [kb.user("x"), kb.assistant(calls=[kb.ToolCall("weather", id="open")])]
    context, executor = _made(make_context, [answer], messages=history)
    async with getattr(context, kind)() as session:
        if kind == "read_session" and method in ("request_without_tools", "request_structured"):
            await ask(session)
            assert all(not message.calls for message in executor.requests[0].messages)
        else:
            with pytest.raises(KoogbookError, match="'open'"):
                await ask(session)
            assert executor.requests == []


@pytest.mark.parametrize("method", METHODS)
def test_a_session_is_used_on_its_own_loop(make_context: Any, method: str) -> None:
    """On another one it refuses, and sends nothing [SES-13, KB-109]."""
    answer, ask = METHODS[method]
    context, executor = _made(make_context, [answer])

    async def keep() -> Any:
        scope = context.write_session()
        return scope, await scope.__aenter__()

    async def leave(scope: Any) -> None:
        await scope.__aexit__(None, None, None)

    with asyncio.Runner() as first, asyncio.Runner() as second:
        scope, session = first.run(keep())
        with pytest.raises(WrongLoopError, match="Nothing was sent"):
            second.run(_awaited(ask(session)))
        first.run(leave(scope))
    assert executor.requests == []
    assert len(context.committed.prompt) == 2


async def _awaited(given: Awaitable[Any]) -> Any:
    return await given


# ------------------------------------------------------------------------------------------- tools


async def test_only_calling_tools_forces_a_call_for_this_request_only(make_context: Any) -> None:
    """The next one is as free as before [SES-07]."""
    context, executor = _made(make_context, [kb.ToolCall("weather", id="1"), "done"])
    async with context.write_session() as session:
        reply = await session.request_only_calling_tools()
        session.append(kb.tool_result(reply.calls[0], "rain"))
        await session.request()

    choices = [request.params.tool_choice for request in executor.requests]
    assert choices == [kb.ToolChoice("required"), None]
    assert context.committed.prompt.params.tool_choice is None


async def test_forcing_one_tool_names_it_for_this_request_only(make_context: Any) -> None:
    """All tools are on offer, the choice names one [SES-07]."""
    context, executor = _made(make_context, [kb.ToolCall("museums", id="1")])
    async with context.write_session() as session:
        session.set_tool_choice("none")
        await session.request_force_one_tool("museums")

    assert executor.requests[0].params.tool_choice == kb.ToolChoice("named", "museums")
    assert [spec.name for spec in executor.requests[0].tools] == ["weather", "museums"]
    assert context.committed.prompt.params.tool_choice == kb.ToolChoice("none")


@pytest.mark.parametrize("tool", ["weather", weather, kb.Tool(weather)])
async def test_a_tool_is_forced_by_name_by_function_or_by_itself(make_context: Any, tool: Any) -> None:
    """Koog takes a descriptor or a tool [SES-07]."""
    context, executor = _made(make_context, [kb.ToolCall("weather", id="1")])
    async with context.read_session() as session:
        await session.request_force_one_tool(tool)

    assert executor.requests[0].params.tool_choice == kb.ToolChoice("named", "weather")


async def test_forcing_a_tool_that_the_session_lacks_lists_those_it_has(make_context: Any) -> None:
    """Nothing is sent [SES-07]."""
    context, executor = _made(make_context, ["x"])
    async with context.write_session() as session:
        with pytest.raises(ToolError, match=r"no tool 'boats'; it has: weather, museums"):
            await session.request_force_one_tool("boats")

    assert executor.requests == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda session: session.request_only_calling_tools(),
        lambda session: session.request_force_one_tool("weather"),
    ],
)
async def test_without_tools_no_call_can_be_forced(make_context: Any, ask: Any) -> None:
    """A provider would refuse it; here the error says how to go on, before anything is sent [SES-07]."""
    context, executor = _made(make_context, ["x"])
    async with context.write_session() as session:
        session.tools = []
        with pytest.raises(ToolError, match=r"session.tools = \[...\]"):
            await ask(session)

    assert executor.requests == []


async def test_a_lasting_choice_of_a_tool_that_was_taken_away_is_refused(make_context: Any) -> None:
    """Before it is sent, with the name [SES-07]."""
    context, executor = _made(make_context, ["x"])
    async with context.write_session() as session:
        session.set_tool_choice("named", "museums")
        session.tools = [weather]
        with pytest.raises(ToolError, match="no tool 'museums'"):
            await session.request()

    assert executor.requests == []


@pytest.mark.parametrize(
    ("ask", "answer", "said"),
    [
        (lambda session: session.request_only_calling_tools(), "no", "called none"),
        (lambda session: session.request_force_one_tool("weather"), "no", "called none"),
        (
            lambda session: session.request_force_one_tool("weather"),
            kb.ToolCall("museums", id="1"),
            "called museums",
        ),
    ],
)
async def test_an_answer_that_does_not_obey_is_kept_and_told(
    make_context: Any, ask: Any, answer: Any, said: str
) -> None:
    """It was paid for: the history gets it, and the report says that the model did something else [SES-07]."""
    context, _ = _made(make_context, [answer])
    async with context.write_session() as session:
        await ask(session)

    assert len(context.committed.prompt) == 3
    assert said in _notices(context)[0]


async def test_reasoning_before_a_forced_call_stays_beside_it(make_context: Any) -> None:
    """The call counts wherever it stands among the parts [SES-07]."""
    answer = kb.assistant([kb.Reasoning("hm"), kb.Text("well")], calls=[kb.ToolCall("weather", id="1")])
    context, _ = _made(make_context, [answer])
    async with context.write_session() as session:
        reply = await session.request_only_calling_tools()

    assert reply is answer
    assert _notices(context) == []


# ------------------------------------------------------------------------------------------- choices


async def test_of_several_choices_the_first_is_taken(make_context: Any) -> None:
    """Unless somebody chooses; all of them are given back [SES-07]."""
    context, executor = _made(make_context, ["a", "b", "c"])
    async with context.write_session() as session:
        choices = await session.request_multiple_choices(3)

    assert [answer.text for answer in choices.messages] == ["a", "b", "c"]
    assert (choices.chosen, choices.reply.text) == (0, "a")
    assert context.committed.prompt[-1] is choices.reply
    assert len(executor.requests) == 3


async def test_each_of_several_wanted_answers_says_which_one_it_is(make_context: Any) -> None:
    """So that the same ones are there in the next run; a single one is a request like any other [SES-07, EXE-04]."""
    executor = kb.ScriptedExecutor(["a", "b", "c"])
    cached = CachedExecutor(executor)
    runs = []
    for _ in range(2):
        context = make_context(cached, [kb.user("x")])
        async with context.read_session() as session:
            several = await session.request_multiple_choices(2)
            single = await session.request_multiple_choices(1)
            same = await session.request()
        runs.append([one.text for one in (*several.messages, *single.messages, same)])

    assert runs == [["a", "b", "c", "c"]] * 2
    assert [request.choice for request in executor.requests] == [0, 1, None]


def _last(answers: Any) -> int:
    return len(answers) - 1


async def _longest(answers: Any) -> kb.Message:
    await asyncio.sleep(0)
    return max(answers, key=lambda answer: len(answer.text))


@pytest.mark.parametrize(("choose", "chosen"), [(_last, "c"), (_longest, "bbb")])
async def test_a_function_chooses_by_place_or_by_answer(make_context: Any, choose: Any, chosen: str) -> None:
    """Sync or async; the history gets that one and no other [SES-07]."""
    context, _ = _made(make_context, ["a", "bbb", "c"])
    async with context.write_session() as session:
        choices = await session.request_multiple_choices(3, choose=choose)

    assert choices.reply.text == chosen
    assert [message.text for message in context.committed.prompt] == ["rules", "x", chosen]


@pytest.mark.parametrize("picked", [3, -1, True, None, "b", kb.assistant("b")])
async def test_a_choice_that_is_none_of_the_answers_is_refused(make_context: Any, picked: Any) -> None:
    """Nothing is appended [SES-07]."""
    context, _ = _made(make_context, ["a", "b", "c"])
    async with context.write_session() as session:
        with pytest.raises(ValueError, match="Nothing was appended"):
            await session.request_multiple_choices(3, choose=lambda answers: picked)
        assert len(session.prompt) == 2


async def test_a_chooser_that_raises_leaves_the_history(make_context: Any) -> None:
    """Its own exception comes through [SES-07]."""
    context, _ = _made(make_context, ["a", "b"])

    def choose(answers: Any) -> int:
        raise LookupError("none is good")

    async with context.write_session() as session:
        with pytest.raises(LookupError, match="none is good"):
            await session.request_multiple_choices(2, choose=choose)
        assert len(session.prompt) == 2


async def test_the_number_of_choices_may_stand_in_the_params(make_context: Any) -> None:
    """It is not sent, since each answer has a request of its own [SES-07]."""
    context, executor = _made(make_context, ["a", "b"])
    async with context.write_session() as session:
        session.change_params(choices=2)
        choices = await session.request_multiple_choices()

    assert len(choices.messages) == 2
    assert [request.params.choices for request in executor.requests] == [None, None]
    assert context.committed.prompt.params.choices == 2


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2", None])
async def test_a_number_of_choices_below_one_is_refused(make_context: Any, count: Any) -> None:
    """Nothing is sent [SES-07]."""
    context, executor = _made(make_context, ["a"])
    async with context.write_session() as session:
        with pytest.raises(ValueError, match="at least 1"):
            await session.request_multiple_choices(count)

    assert executor.requests == []


async def test_where_one_of_several_choices_fails_the_others_end(make_context: Any) -> None:
    """Its exception comes by itself, not in a group, and no request is left behind [SES-07, SES-11]."""
    started, cancelled = [], []

    async def rule(request: kb.Request) -> str:
        started.append(request)
        if len(started) == 2:
            raise ExecutorError("no")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(request)
            raise
        return "never"

    context = make_context(kb.ScriptedExecutor(rule), [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match="no"):
            await session.request_multiple_choices(3)
        assert len(session.prompt) == 1

    assert (len(started), len(cancelled)) == (3, 2)


async def test_each_of_several_choices_is_a_request_in_the_record(make_context: Any) -> None:
    """With its own events and its own cost [SES-07]."""
    context, _ = _made(make_context, ["a", "b", "c"])
    async with context.write_session() as session:
        await session.request_multiple_choices(3)

    asked = [event.call for event in context.log.events if isinstance(event, LLMCallStarting)]
    assert asked == [1, 2, 3]
    assert context.calls.usage()[0].calls == 3


# ------------------------------------------------------------------------------------------- on the way


def _slow(answers: list[str]) -> tuple[kb.ScriptedExecutor, asyncio.Event]:
    gate = asyncio.Event()
    waiting = iter(answers)

    async def rule(request: kb.Request) -> str:
        await gate.wait()
        return next(waiting)

    return kb.ScriptedExecutor(rule), gate


IN_FLIGHT: dict[str, Callable[[Any], Awaitable[Any]]] = {
    name: METHODS[name][1]
    for name in ("request", "request_without_tools", "request_multiple_choices", "request_structured")
}


@pytest.mark.parametrize("method", IN_FLIGHT)
async def test_a_request_that_outlives_its_session_asks_no_more_and_says_what_was_sent(
    make_context: Any, settle: Any, method: str
) -> None:
    """What was on its way is answered and paid for; nothing more is sent, nothing appended [SES-08, SES-04]."""
    executor, gate = _slow(["five"] * 9)
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        asked = asyncio.ensure_future(IN_FLIGHT[method](session))
        await settle()
        sent = len(executor.requests)
    gate.set()

    with pytest.raises(SessionClosedError, match="Cannot use session after it was closed"):
        await asked
    assert len(executor.requests) == sent
    assert len(context.committed.prompt) == 1


async def test_an_answer_that_comes_too_late_was_sent_and_the_error_says_so(
    make_context: Any, settle: Any
) -> None:
    """It stands in the record of the run [SES-08]."""
    executor, gate = _slow(["late"])
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        asked = asyncio.ensure_future(session.request())
        await settle()
    gate.set()

    with pytest.raises(SessionClosedError, match="was sent and answered"):
        await asked
    assert [record.reply.text for record in context.calls.records if record.reply] == ["late"]


@pytest.mark.parametrize(
    "change",
    [
        lambda session: session.append(kb.user("y")),
        lambda session: session.clear_history(),
        lambda session: session.request(),
    ],
)
async def test_the_history_cannot_be_changed_while_a_request_is_on_its_way(
    make_context: Any, settle: Any, change: Any
) -> None:
    """The answer would stand behind what comes now [SES-06]."""
    executor, gate = _slow(["first", "second"])
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        asked = asyncio.ensure_future(session.request())
        await settle()
        with pytest.raises(StreamOpenError, match="on its way in another task"):
            given = change(session)
            await given
        gate.set()
        await asked
        session.append(kb.user("y"))

    assert [message.text for message in context.committed.prompt] == ["x", "first", "y"]


async def test_a_read_session_may_ask_several_things_at_once(make_context: Any) -> None:
    """Nothing is appended, so nothing can stand in a wrong place [SES-06]."""
    context, executor = _made(make_context, ["a", "b"])
    async with context.read_session() as session:
        replies = await asyncio.gather(session.request(), session.request())

    assert [reply.text for reply in replies] == ["a", "b"]
    assert len(executor.requests) == 2


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("hi",), KoogbookError),
        (([kb.user("x")], {"purpose": "bogus"}), ValueError),
        (([kb.user("x")], {"params": {}}), TypeError),
    ],
)
async def test_what_cannot_be_sent_is_refused(make_context: Any, given: Any, error: Any) -> None:
    """With what is wrong; nothing is sent [SES-07]."""
    context, executor = _made(make_context, ["a"])
    messages, *rest = given
    async with context.write_session() as session:
        with pytest.raises(error):
            await session.send(messages, **(rest[0] if rest else {}))

    assert executor.requests == []


async def test_a_call_where_no_tools_were_offered_is_told(make_context: Any) -> None:
    """It is in the history, since the model wrote it, and the report says so [SES-07]."""
    context, _ = _made(make_context, [kb.ToolCall("weather", id="1")])
    async with context.write_session() as session:
        await session.request_without_tools()

    assert _notices(context) == ["The model was offered no tools and called weather."]
