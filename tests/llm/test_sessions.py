"""What a session sees, what it commits, and when the model is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import (
    DuplicateMessageError,
    ExecutorError,
    KoogbookError,
    SessionClosedError,
    ToolPairingError,
)
from koogbook.llm.context import LLMContext
from koogbook.messages.model import LLMParams, ToolChoice


def weather(city: str) -> str:
    """The weather of a city."""
    return "rain"


def _offline(context: LLMContext) -> kb.OfflineExecutor:
    executor = context.calls.executor
    assert isinstance(executor, kb.OfflineExecutor)
    return executor


# ------------------------------------------------------------------------------------------- reading


async def test_a_read_session_sees_prompt_tools_and_model(make_context: Any) -> None:
    """All three as they were committed last [SES-01]."""
    context = make_context(messages=[kb.user("x")], tools=[weather])
    async with context.read_session() as session:
        seen = (session.messages, session.tools.names, str(session.model))

    assert seen == (context.committed.prompt.messages, ("weather",), "offline")


@pytest.mark.parametrize("name", ["prompt", "tools", "model", "params"])
async def test_a_read_session_cannot_be_assigned_to(context: LLMContext, name: str) -> None:
    """Nothing done in it reaches the context [SES-01]."""
    async with context.read_session() as session:
        with pytest.raises(AttributeError):
            setattr(session, name, getattr(session, name, None))


async def test_a_read_session_leaves_the_context_as_it_was(context: LLMContext) -> None:
    """Not even a request changes the committed state [SES-01]."""
    before = context.committed
    async with context.read_session() as session:
        await session.request()

    assert context.committed is before


# ------------------------------------------------------------------------------------------- writing


async def test_prompt_tools_and_model_are_written_back_together(context: LLMContext) -> None:
    """One commit on a normal exit, for all three [SES-02]."""
    async with context.write_session() as session:
        session.append(kb.user("more", id="more"))
        session.tools = [weather]
        session.model = "other:large"
        session.params = session.params.with_changes(temperature=0.25)
        before_exit = context.committed

    assert (len(before_exit.prompt), before_exit.tools.names, str(before_exit.model)) == (2, (), "offline")
    assert context.committed.prompt[-1].id == "more"
    assert context.committed.tools.names == ("weather",)
    assert str(context.committed.model) == "other:large"
    assert context.committed.prompt.params.temperature == 0.25


async def test_an_exception_that_leaves_the_scope_commits_nothing(context: LLMContext) -> None:
    """Neither messages nor tools nor model [SES-03]."""
    before = context.committed
    with pytest.raises(RuntimeError, match="broken"):
        async with context.write_session() as session:
            session.append(kb.user("lost"))
            session.tools = [weather]
            session.model = "other"
            raise RuntimeError("broken")

    assert context.committed is before


async def test_a_cancellation_that_leaves_the_scope_commits_nothing(context: LLMContext) -> None:
    """A cancelled node leaves no half of its work behind [SES-03]."""
    before = context.committed

    async def write() -> None:
        async with context.write_session() as session:
            session.append(kb.user("lost"))
            await asyncio.Event().wait()

    task = asyncio.ensure_future(write())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert context.committed is before


async def test_an_exception_that_is_caught_inside_commits(context: LLMContext) -> None:
    """The scope is left normally then [SES-03]."""
    async with context.write_session() as session:
        session.append(kb.user("kept", id="kept"))
        with pytest.raises(RuntimeError):
            raise RuntimeError

    assert context.committed.prompt[-1].id == "kept"


async def test_a_discarded_session_does_not_undo_what_was_spent(context: LLMContext) -> None:
    """The commit covers the context only [SES-04]."""
    with pytest.raises(RuntimeError):
        async with context.write_session() as session:
            await session.request()
            raise RuntimeError

    assert len(_offline(context).prompts) == 1
    assert context.calls.usage()[0].calls == 1
    assert len(context.committed.prompt) == 2


# ------------------------------------------------------------------------------------------- requests


async def test_appending_never_asks_the_model(context: LLMContext) -> None:
    """Nor does leaving the scope [SES-05]."""
    async with context.write_session() as session:
        session.append(kb.user("more"))

    assert _offline(context).prompts == []


async def test_a_request_asks_at_that_moment(context: LLMContext) -> None:
    """With the messages that the session has then, inside the scope [SES-05]."""
    async with context.write_session() as session:
        session.append(kb.user("more"))
        await session.request()
        asked_inside = [len(prompt) for prompt in _offline(context).prompts]
        session.append(kb.user("later"))

    assert asked_inside == [3]
    assert [len(prompt) for prompt in _offline(context).prompts] == [3]


@pytest.mark.parametrize("method", ["request", "request_without_tools"])
async def test_a_request_in_a_write_session_appends_the_reply_once(context: LLMContext, method: str) -> None:
    """The history grows by exactly one, inside the session and after it [SES-06, SES-07]."""
    async with context.write_session() as session:
        reply = await getattr(session, method)()
        inside = len(session.prompt)

    assert (inside, len(context.committed.prompt)) == (3, 3)
    assert context.committed.prompt[-1] is reply


@pytest.mark.parametrize("method", ["request", "request_without_tools"])
async def test_a_request_in_a_read_session_only_returns_the_reply(context: LLMContext, method: str) -> None:
    """The history is as it was [SES-06]."""
    async with context.read_session() as session:
        reply = await getattr(session, method)()
        inside = len(session.prompt)

    assert reply.text == "user messages: 1"
    assert (inside, len(context.committed.prompt)) == (2, 2)


async def test_what_is_sent_beside_the_history_is_never_appended(context: LLMContext) -> None:
    """Summaries and extractions stay out of the conversation [SES-06]."""
    async with context.write_session() as session:
        await session.send([kb.user("sum it up")], purpose="compression")

    assert len(context.committed.prompt) == 2
    assert [spent.purpose for spent in context.calls.usage()] == ["compression"]


async def test_appending_a_reply_again_is_refused(context: LLMContext) -> None:
    """The request has appended it already, and the error names the position [SES-06a]."""
    async with context.write_session() as session:
        reply = await session.request()
        with pytest.raises(DuplicateMessageError, match="position 2") as caught:
            session.append(reply)

    assert caught.value.position == 2
    assert len(context.committed.prompt) == 3


async def test_a_duplicate_can_be_asked_for(context: LLMContext) -> None:
    """``allow_duplicate=True`` gives Koog's silent doubling [SES-06a]."""
    async with context.write_session() as session:
        reply = await session.request()
        session.append(reply, allow_duplicate=True)

    assert len(context.committed.prompt) == 4


async def test_a_request_that_fails_leaves_the_history(make_context: Any) -> None:
    """Caught inside, the session goes on as it was [SES-06]."""
    context = make_context(kb.OfflineExecutor(fail=True), [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError):
            await session.request()

    assert len(context.committed.prompt) == 1


async def test_request_offers_the_current_tools_and_the_other_one_none(make_context: Any) -> None:
    """``request`` offers what the session has now; ``request_without_tools`` offers nothing [SES-07]."""
    executor = kb.ScriptedExecutor(["a", "b", "c"])
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        await session.request()
        session.tools = [weather]
        await session.request()
        await session.request_without_tools()

    assert [[spec.name for spec in request.tools] for request in executor.requests] == [[], ["weather"], []]


async def test_params_and_model_of_the_session_are_sent(make_context: Any) -> None:
    """A change counts for the next request, before any commit [SES-02]."""
    executor = kb.ScriptedExecutor(["a"])
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        session.params = LLMParams(temperature=0.125)
        session.model = "other"
        await session.request()

    assert executor.requests[0].params.temperature == 0.125
    assert executor.requests[0].model.id == "other"


async def test_without_tools_no_tool_choice_is_sent(make_context: Any) -> None:
    """A provider refuses to be forced to a tool that is not on offer; other params go as they are [SES-07]."""
    executor = kb.ScriptedExecutor(["a"])
    context = make_context(executor, [kb.user("x")], tools=[weather])
    async with context.write_session() as session:
        session.params = LLMParams(tool_choice=ToolChoice("required"), temperature=0.25, stop=("END",))
        await session.request_without_tools()

    assert executor.requests[0].params == LLMParams(temperature=0.25, stop=("END",))
    assert context.committed.prompt.params.tool_choice == ToolChoice("required")


async def test_with_tools_the_tool_choice_is_sent(make_context: Any) -> None:
    """It belongs to the tools that are on offer [SES-07]."""
    executor = kb.ScriptedExecutor(["a"])
    context = make_context(executor, [kb.user("x")], tools=[weather])
    async with context.write_session() as session:
        session.params = LLMParams(tool_choice=ToolChoice("named", "weather"))
        await session.request()

    assert executor.requests[0].params.tool_choice == ToolChoice("named", "weather")


async def test_what_is_sent_beside_the_history_leaves_params_of_the_conversation_out(
    make_context: Any,
) -> None:
    """No tool choice, no number of choices, no stop texts; the stored params stay [CMP-08a]."""
    executor = kb.ScriptedExecutor(["a"])
    context = make_context(executor, [kb.user("x")], tools=[weather])
    params = LLMParams(tool_choice=ToolChoice("required"), choices=3, stop=("END",), temperature=0.25)
    async with context.write_session() as session:
        session.params = params
        await session.send([kb.user("sum it up")])

    assert executor.requests[0].params == LLMParams(temperature=0.25)
    assert context.committed.prompt.params == params


async def test_params_given_for_what_is_sent_keep_their_stop_texts(make_context: Any) -> None:
    """They are meant for this request; without tools and with one reply, choices of both kinds are not [CMP-08a]."""
    executor = kb.ScriptedExecutor(["a"])
    context = make_context(executor, [kb.user("x")])
    async with context.read_session() as session:
        params = LLMParams(tool_choice=ToolChoice("required"), choices=3, stop=("END",))
        await session.send([kb.user("sum it up")], params=params)

    assert executor.requests[0].params == LLMParams(stop=("END",))


async def test_without_tools_calls_and_results_are_sent_as_text(make_context: Any) -> None:
    """Providers refuse them beside an empty tool list; the history keeps its parts [SES-07]."""
    call = kb.ToolCall("weather", '{"city":"Bonn"}', "c1")
    history = [kb.user("x"), kb.assistant(calls=[call]), kb.tool_result(call, "rain")]
    executor = kb.ScriptedExecutor(["fine"])
    context = make_context(executor, history)
    async with context.write_session() as session:
        await session.request_without_tools()

    sent = executor.requests[0].messages
    assert [message.role for message in sent] == ["user", "assistant", "user"]
    assert not any(message.calls or message.results for message in sent)
    assert "rain" in sent[2].text
    assert context.committed.prompt.messages[:3] == tuple(history)


async def test_a_broken_history_is_refused_before_it_is_sent(make_context: Any) -> None:
    """The executor never sees it [EXE-02]."""
    executor = kb.OfflineExecutor()
    orphan = kb.tool_result("call-9", "x")
    context = make_context(executor, [kb.user("x"), orphan])
    async with context.write_session() as session:
        with pytest.raises(ToolPairingError, match="call-9"):
            await session.request()

    assert executor.prompts == []


@pytest.mark.parametrize(
    "broken",
    [kb.tool_result("call-9", "x"), kb.assistant(calls=[kb.ToolCall("weather", "{}", "call-9")])],
    ids=["a result without a call", "a call without a result"],
)
async def test_broken_messages_beside_the_history_are_refused_before_they_are_sent(
    context: LLMContext, broken: kb.Message
) -> None:
    """``send`` holds to the rule of ``request``, and the error names it [EXE-02]."""
    async with context.read_session() as session:
        with pytest.raises(ToolPairingError, match=r"^send\(\).*call-9"):
            await session.send([kb.user("x"), broken])

    assert _offline(context).prompts == []


async def test_a_call_that_waits_for_its_result_is_not_sent_with_tools(make_context: Any) -> None:
    """The error says to append the result; a read session without tools sends it as text [EXE-02]."""
    executor = kb.OfflineExecutor()
    context = make_context(executor, [kb.user("x"), kb.assistant(calls=[kb.ToolCall("weather", "{}", "c1")])])
    async with context.write_session() as session:
        with pytest.raises(ToolPairingError, match="'c1'"):
            await session.request()
    async with context.read_session() as reading:
        await reading.request_without_tools()

    assert len(executor.prompts) == 1


@pytest.mark.parametrize("answer", ["text", None, kb.user("I am no assistant")], ids=["str", "None", "user"])
async def test_an_executor_that_answers_with_something_else_is_refused(
    make_context: Any, answer: Any
) -> None:
    """Nothing is appended, and the error names the executor [EXE-03]."""

    class Odd(kb.OfflineExecutor):
        async def answer(self, request: kb.Request) -> Any:
            return answer

    context = make_context(Odd(), [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match="Odd"):
            await session.request()

    assert len(context.committed.prompt) == 1


# ------------------------------------------------------------------------------------------- after the end

USES: list[Any] = [
    lambda session: session.prompt,
    lambda session: session.messages,
    lambda session: session.tools,
    lambda session: session.model,
    lambda session: session.request(),
    lambda session: session.request_without_tools(),
    lambda session: session.send([kb.user("x")]),
    lambda session: session.params,
    lambda session: session.append(kb.user("x")),
    lambda session: session.replace_history_with_tldr(),
    lambda session: setattr(session, "prompt", kb.Prompt()),
    lambda session: setattr(session, "tools", []),
    lambda session: setattr(session, "model", "other"),
    lambda session: setattr(session, "params", LLMParams()),
]


@pytest.mark.parametrize("number", range(len(USES)))
async def test_a_session_that_has_ended_refuses_every_use(context: LLMContext, number: int) -> None:
    """With Koog's words, and what to do instead; the executor is not asked [SES-08]."""
    async with context.write_session() as session:
        pass

    with pytest.raises(SessionClosedError, match=r"^Cannot use session after it was closed.*Keep the call"):
        found = USES[number](session)
        await found
    assert _offline(context).prompts == []


@pytest.mark.parametrize("number", range(7))
async def test_a_read_session_that_has_ended_refuses_every_use(context: LLMContext, number: int) -> None:
    """A reader is closed as well as a writer [SES-08]."""
    async with context.read_session() as session:
        pass

    with pytest.raises(SessionClosedError):
        found = USES[number](session)
        await found


async def test_a_session_that_ended_by_an_exception_is_closed_too(context: LLMContext) -> None:
    """However the scope was left [SES-08]."""
    with pytest.raises(RuntimeError):
        async with context.write_session() as session:
            raise RuntimeError

    with pytest.raises(SessionClosedError):
        session.append(kb.user("x"))


async def test_a_plain_value_taken_out_stays_usable(context: LLMContext) -> None:
    """A count, a text, a prompt: values know nothing of sessions [SES-08]."""
    async with context.read_session() as session:
        prompt, texts = session.prompt, [message.text for message in session.messages]

    assert (len(prompt), texts) == (2, ["rules", "hello"])


async def test_a_reply_that_comes_after_the_end_is_refused(make_context: Any) -> None:
    """A task that outlives the block cannot append behind its back [SES-08]."""
    go = asyncio.Event()

    async def slowly(request: kb.Request) -> str:
        await go.wait()
        return "late"

    context = make_context(kb.ScriptedExecutor(slowly), [kb.user("x")])
    async with context.write_session() as session:
        asking = asyncio.ensure_future(session.request())
        await asyncio.sleep(0)
    go.set()

    with pytest.raises(SessionClosedError):
        await asking
    assert len(context.committed.prompt) == 1


async def test_a_scope_is_entered_once(context: LLMContext) -> None:
    """A second block with the same scope would share its place in the queue [SES-08]."""
    scope = context.write_session()
    async with scope:
        pass

    with pytest.raises(SessionClosedError, match="for one block"):
        async with scope:
            pass
    assert context.statistics().writer is None


async def test_a_scope_that_is_left_twice_commits_once(context: LLMContext) -> None:
    """The second time is refused and changes nothing [SES-08]."""
    scope = context.write_session()
    session = await scope.__aenter__()
    session.append(kb.user("once", id="once"))
    await scope.__aexit__(None, None, None)
    committed = context.committed

    with pytest.raises(SessionClosedError, match="is not open"):
        await scope.__aexit__(None, None, None)
    assert context.committed is committed


# ------------------------------------------------------------------------------------------- rewriting


async def test_a_filtered_list_alone_changes_nothing(context: LLMContext) -> None:
    """Only assigning to the session's prompt replaces a history [SES-12]."""
    async with context.write_session() as session:
        kept = [message for message in session.messages if message.role == "system"]
        session.prompt.with_messages(kept)

    assert len(context.committed.prompt) == 2


async def test_assigning_a_prompt_replaces_the_history(context: LLMContext) -> None:
    """``prompt.with_messages`` is the idiom [SES-12]."""
    async with context.write_session() as session:
        session.prompt = session.prompt.with_messages(session.messages[:1])

    assert [message.role for message in context.committed.prompt] == ["system"]


async def test_a_list_cannot_be_assigned_as_prompt(context: LLMContext) -> None:
    """It would lose id and params; the error shows the idiom [SES-12]."""
    wrong: Any = [kb.user("x")]
    async with context.write_session() as session:
        with pytest.raises(TypeError, match="with_messages"):
            session.prompt = wrong


@pytest.mark.parametrize("wrong", ["hello", {"role": "user"}, None], ids=repr)
async def test_only_messages_can_be_appended(context: LLMContext, wrong: Any) -> None:
    """A text is no message; the error shows how to make one, and nothing is committed of it [SES-05]."""
    async with context.write_session() as session:
        with pytest.raises(KoogbookError, match=r"kb\.user"):
            session.append(wrong)

    assert len(context.committed.prompt) == 2


async def test_the_committed_state_can_be_read_at_any_time(context: LLMContext) -> None:
    """Inside a session it is the state before it, without any lock [SES-16]."""
    async with context.write_session() as session:
        session.append(kb.user("more"))
        inside = len(context.committed.prompt)
        held = context.statistics().writer is not None

    assert (inside, held, len(context.committed.prompt)) == (2, True, 3)


def test_the_committed_state_is_immutable(context: LLMContext) -> None:
    """Handlers, tools and views may keep it [SES-16]."""
    with pytest.raises(AttributeError):
        context.committed.model = kb.LLModel("x")  # type: ignore[misc]


async def test_the_lock_guards_one_context_only(make_context: Any) -> None:
    """Writers of two contexts do not wait for each other, even with one session id [SES-13]."""
    first, second = make_context(), make_context()
    async with first.write_session(), second.write_session():
        held = [one.statistics().writer is not None for one in (first, second)]

    assert held == [True, True]


@pytest.mark.parametrize("text", ["\ud83d", "\ud83d\ude00", "\x00", "x" * 100_000], ids=ascii)
async def test_any_text_goes_through_a_session(make_context: Any, text: str) -> None:
    """Lone surrogates, NUL and long texts are appended, sent and answered [EXE-01]."""
    executor = kb.ScriptedExecutor(lambda request: request.messages[-1].text)
    context = make_context(executor)
    async with context.write_session() as session:
        session.append(kb.user(text))
        reply = await session.request()

    assert reply.text == text
    assert context.committed.prompt.messages[-1].text == text


async def test_compat_koog_doubles_an_appended_message(make_context: Any) -> None:
    """All named options go over to Koog's behaviour at once. [SES-06a]"""
    context = make_context()
    context.compat = "koog"
    again = kb.user("again")
    async with context.write_session() as session:
        session.append(again)
        session.append(again)

    assert context.committed.prompt.messages[-2:] == (again, again)
