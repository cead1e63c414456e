"""An answer in frames: whole and appended once, or left, broken off, cancelled, and nothing of it kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook import events
from koogbook.errors import DuplicateMessageError, ExecutorError, SessionClosedError, StreamOpenError
from koogbook.llm.context import LLMContext
from koogbook.llm.executor import Frame, LocalExecutor, frames_of
from koogbook.pipeline import Subscription

Settle = Callable[[], Awaitable[None]]
WORDS = "one two three four"


def _made(make_context: Any, *answers: Any, **options: Any) -> LLMContext:
    made: LLMContext = make_context(
        kb.ScriptedExecutor(answers or [WORDS]), [kb.system("rules"), kb.user("x")], **options
    )
    return made


def _kinds(context: LLMContext) -> list[str]:
    return [event.name for event in context.log.events if event.name.startswith("LLM")]


def _notices(context: LLMContext) -> list[str]:
    return [event.text for event in context.log.events if isinstance(event, events.Notice)]


class Frames(LocalExecutor):
    """Streams what it is given; notes that it was closed."""

    def __init__(self, *frames: Any) -> None:
        super().__init__()
        self.frames = frames
        self.was_closed = False

    async def stream(self, request: kb.Request) -> AsyncIterator[Frame]:
        """The frames; one that is an exception is raised, one that is an event is waited for."""
        try:
            for frame in self.frames:
                if isinstance(frame, BaseException):
                    raise frame
                if isinstance(frame, asyncio.Event):
                    await frame.wait()
                    continue
                yield frame
        finally:
            await asyncio.sleep(0)
            self.was_closed = True


# ------------------------------------------------------------------------------------------- whole


async def test_a_stream_gives_frames_and_ends_with_the_answer(make_context: Any) -> None:
    """Words as they come; the last frame holds the message that the history gets [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        frames = [frame async for frame in session.request_streaming()]

    assert [frame.text for frame in frames[:-1]] == ["one ", "two ", "three ", "four"]
    assert isinstance(frames[-1], kb.EndFrame)
    assert context.committed.prompt[-1] is frames[-1].message


async def test_the_assembled_answer_is_appended_when_the_last_frame_is_read(make_context: Any) -> None:
    """Once, and not before [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        lengths = [len(session.prompt) async for _ in session.request_streaming()]
        with pytest.raises(DuplicateMessageError):
            session.append(session.messages[-1])

    assert lengths == [2, 2, 2, 2, 3]
    assert len(context.committed.prompt) == 3


async def test_nothing_is_sent_before_the_first_frame_is_asked_for(make_context: Any) -> None:
    """A stream that nobody reads costs nothing, and is no open stream [SES-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        session.request_streaming()
        session.append(kb.user("y"))

    assert context.calls.records == []
    assert len(context.committed.prompt) == 3


async def test_what_is_sent_is_the_history_when_the_first_frame_is_asked_for(make_context: Any) -> None:
    """Not that of the moment when the stream was made [SES-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        stream = session.request_streaming()
        session.append(kb.user("y"))
        async for _ in stream:
            pass

    assert [message.text for message in context.calls.records[0].request.messages] == ["rules", "x", "y"]


async def test_a_stream_knows_its_text_and_its_message(make_context: Any) -> None:
    """The text so far, and the message once it is whole [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        stream = session.request_streaming()
        await anext(stream)
        await anext(stream)
        so_far, message = stream.text, stream.message
        async for _ in stream:
            pass

    assert (so_far, message) == ("one two ", None)
    assert stream.message is not None
    assert stream.message.text == stream.text == WORDS


async def test_a_stream_that_is_over_gives_no_more(make_context: Any) -> None:
    """And asks nobody again [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        stream = session.request_streaming()
        first = [frame async for frame in stream]
        second = [frame async for frame in stream]

    assert (len(first), second) == (5, [])
    assert len(context.calls.records) == 1


async def test_calls_and_reasoning_are_frames_too(make_context: Any) -> None:
    """A call comes whole [EXE-05]."""
    call = kb.ToolCall("weather", '{"city": "x"}', "1")
    answer = kb.assistant([kb.Reasoning("hm"), kb.Text("well")], calls=[call])
    context = _made(make_context, answer)
    async with context.write_session() as session:
        frames = [frame async for frame in session.request_streaming()]

    assert frames == [
        kb.ReasoningFrame("hm"),
        kb.TextFrame("well"),
        kb.ToolCallFrame(call),
        kb.EndFrame(answer),
    ]


@given(texts=st.lists(st.text(), max_size=4))
def test_the_pieces_of_an_answer_are_the_answer(texts: list[str]) -> None:
    """Whatever stands in it, nothing is lost and nothing added on the way [EXE-05]."""
    message = kb.assistant(texts)
    pieces = [frame.text for frame in frames_of(message) if isinstance(frame, kb.TextFrame)]

    assert "".join(pieces) == "".join(texts)


async def test_a_stream_tells_its_life_in_events(make_context: Any) -> None:
    """Start, each frame, end with the number of frames [EXE-05]."""
    context = _made(make_context, "one two")
    async with context.write_session() as session:
        async for _ in session.request_streaming():
            pass

    assert _kinds(context) == [
        "LLMStreamingStarting",
        "LLMStreamingFrame",
        "LLMStreamingFrame",
        "LLMStreamingCompleted",
    ]
    last = next(one for one in context.log.events if isinstance(one, events.LLMStreamingCompleted))
    assert last.frames == 2


# ------------------------------------------------------------------------------------------- left


async def test_a_stream_that_is_left_appends_nothing(make_context: Any) -> None:
    """And the report says so [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        async with session.request_streaming() as stream:
            async for _ in stream:
                break
        session.append(kb.user("after"))

    assert [message.text for message in context.committed.prompt] == ["rules", "x", "after"]
    assert _notices(context) == ["A streamed answer was left before its end: nothing of it was appended."]


async def test_a_stream_that_is_left_keeps_its_text_when_that_was_asked_for(make_context: Any) -> None:
    """As a message that says that it is partial [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        async with session.request_streaming(keep_partial=True) as stream:
            await anext(stream)
            await anext(stream)

    kept = context.committed.prompt[-1]
    assert (kept.text, kept.metadata, kept.finish_reason) == ("one two ", {"partial": True}, "partial")
    assert len(context.committed.prompt) == 3


async def test_a_stream_that_is_left_before_any_text_keeps_nothing(make_context: Any) -> None:
    """There is no empty message [EXE-05]."""
    context = make_context(Frames(kb.ReasoningFrame("hm"), kb.TextFrame("x")), [kb.user("x")])
    async with context.write_session() as session:
        async with session.request_streaming(keep_partial=True) as stream:
            await anext(stream)

    assert len(context.committed.prompt) == 1


async def test_leaving_closes_the_executors_stream(make_context: Any) -> None:
    """Its clean-up may wait, and is over when leaving is [EXE-05]."""
    executor = Frames(kb.TextFrame("a"), kb.TextFrame("b"))
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        async with session.request_streaming() as stream:
            await anext(stream)
        assert executor.was_closed


async def test_a_stream_left_open_ends_with_its_session(make_context: Any) -> None:
    """The lock is free, the executor's stream closed, nothing was appended [EXE-05, SES-08]."""
    executor = Frames(kb.TextFrame("a"), kb.TextFrame("b"))
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        stream = session.request_streaming()
        async for _ in stream:
            break

    assert executor.was_closed
    assert len(context.committed.prompt) == 1
    assert context.statistics().writer is None
    with pytest.raises(SessionClosedError, match="before this streamed answer was whole"):
        await anext(stream)


async def test_a_partial_answer_is_part_of_the_commit(make_context: Any) -> None:
    """Also where it was the end of the session that ended the stream [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        async for _ in session.request_streaming(keep_partial=True):
            break

    assert context.committed.prompt[-1].text == "one "


async def test_a_stream_cannot_be_begun_after_its_session(make_context: Any) -> None:
    """Nothing is sent [SES-08]."""
    context = _made(make_context)
    async with context.write_session() as session:
        stream = session.request_streaming()

    with pytest.raises(SessionClosedError):
        await anext(stream)
    assert context.calls.records == []


async def test_a_call_that_was_left_is_a_failed_one_without_fault(make_context: Any) -> None:
    """The record has an end, marked as stopped [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        async with session.request_streaming() as stream:
            await anext(stream)

    last = context.log.events[-4:]
    failed = next(event for event in context.log.events if isinstance(event, events.LLMStreamingFailed))
    assert (failed.cancelled, failed.frames) == (True, 1)
    assert "left" in context.calls.records[0].error
    assert last[-1].name == "SessionClosed"


async def test_leaving_twice_changes_nothing(make_context: Any) -> None:
    """Neither before the first frame nor after the last [EXE-05]."""
    context = _made(make_context, WORDS, WORDS)
    async with context.write_session() as session:
        never = session.request_streaming()
        await never.aclose()
        await never.aclose()
        whole = session.request_streaming()
        async for _ in whole:
            pass
        await whole.aclose()

    assert [frame async for frame in never] == []
    assert len(context.committed.prompt) == 3


# ------------------------------------------------------------------------------------------- broken


async def test_a_stream_that_breaks_appends_nothing(make_context: Any) -> None:
    """The provider's own exception comes through, with a note on what became of the answer [EXE-05]."""
    context = _made(make_context, kb.BrokenAnswer("half an", ConnectionError("reset")))
    seen: list[Any] = []
    async with context.write_session() as session:
        with pytest.raises(ConnectionError, match="reset") as caught:
            async for frame in session.request_streaming():
                seen = [*seen, frame]
        session.append(kb.user("after"))

    assert [frame.text for frame in seen] == ["half ", "an"]
    assert caught.value.__notes__ == [
        "The streamed answer broke off after 2 pieces of text: nothing of it was appended."
    ]
    assert [message.text for message in context.committed.prompt] == ["rules", "x", "after"]
    assert _notices(context) == []  # the event of the request says that it failed


async def test_a_stream_that_breaks_keeps_its_text_when_that_was_asked_for(make_context: Any) -> None:
    """The exception comes all the same [EXE-05]."""
    context = _made(make_context, kb.BrokenAnswer("half an", ConnectionError("reset")))
    async with context.write_session() as session:
        with pytest.raises(ConnectionError):
            async for _ in session.request_streaming(keep_partial=True):
                pass

    assert context.committed.prompt[-1].text == "half an"
    assert _notices(context) == [
        "A streamed answer broke off: its text so far was appended to the session's history as a partial message."
    ]


async def test_a_stream_without_its_last_frame_broke_off(make_context: Any) -> None:
    """Silence at the end is no answer [EXE-05]."""
    context = make_context(Frames(kb.TextFrame("a"), kb.TextFrame("b")), [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match=r"after 2 frames without the last one") as caught:
            async for _ in session.request_streaming():
                pass

    assert "nothing of it was appended" in caught.value.__notes__[0]
    assert len(context.committed.prompt) == 1


@pytest.mark.parametrize(
    "wrong", ["a text", kb.TextFrame(None), kb.TextFrame(5), kb.ToolCallFrame("x"), None]
)  # type: ignore[arg-type]
async def test_a_frame_that_is_none_is_refused(make_context: Any, wrong: Any) -> None:
    """The error says which kinds there are, and the lock is free [EXE-05, SES-11]."""
    context = make_context(Frames(kb.TextFrame("a"), wrong), [kb.user("x")])
    async with context.write_session() as session:
        stream = session.request_streaming(keep_partial=True)
        await anext(stream)
        with pytest.raises(ExecutorError, match="is none: a TextFrame"):
            await anext(stream)

    assert context.statistics().writer is None


async def test_a_stream_that_ends_with_something_else_is_refused(make_context: Any) -> None:
    """The answer is an assistant message [EXE-05]."""
    context = make_context(Frames(kb.EndFrame(kb.user("me"))), [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match="role user"):
            await anext(session.request_streaming())

    assert len(context.committed.prompt) == 1


async def test_a_cancelled_stream_leaves_lock_and_history(make_context: Any, settle: Settle) -> None:
    """Wherever it waits, the executor's stream is closed, too [EXE-05, SES-03, SES-11]."""
    executor = Frames(kb.TextFrame("a"), asyncio.Event())
    context = make_context(executor, [kb.user("x")])

    async def read() -> None:
        async with context.write_session() as session:
            session.append(kb.user("lost"))
            async for _ in session.request_streaming():
                pass

    task = asyncio.ensure_future(read())
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert executor.was_closed
    assert context.statistics().writer is None
    assert len(context.committed.prompt) == 1


async def test_a_timeout_around_one_frame_ends_the_stream(make_context: Any) -> None:
    """The session can go on without it [EXE-05]."""
    context = make_context(Frames(kb.TextFrame("a"), asyncio.Event()), [kb.user("x")])
    async with context.write_session() as session:
        stream = session.request_streaming()
        await anext(stream)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(stream)
        session.append(kb.user("after"))

    assert [message.text for message in context.committed.prompt] == ["x", "after"]
    assert _notices(context) == ["A streamed answer was left before its end: nothing of it was appended."]


async def test_a_listener_that_breaks_the_end_of_a_stream_leaves_the_lock_free(make_context: Any) -> None:
    """Its exception comes when the lock is free [EXE-05, SES-11]."""

    def stop(event: events.Event) -> None:
        raise KeyboardInterrupt

    subscription = Subscription(stop, (events.Notice,), "log")
    context = make_context(Frames(kb.TextFrame("a")), [kb.user("x")], listeners=[subscription])
    with pytest.raises(KeyboardInterrupt):
        async with context.write_session() as session:
            await anext(session.request_streaming())

    assert context.statistics().writer is None


@pytest.mark.parametrize("name", ["sync list", "coroutine", "nothing"])
async def test_an_executor_without_a_stream_is_named(make_context: Any, name: str) -> None:
    """With what it needs; a whole answer can be had all the same [EXE-05]."""

    class Odd(kb.OfflineExecutor):
        def stream(self, request: kb.Request) -> Any:
            if name == "coroutine":
                return super().execute(request)
            return [kb.TextFrame("a")] if name == "sync list" else None

    context = make_context(Odd(), [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match="Odd gives no stream"):
            await anext(session.request_streaming())
        await session.request()

    assert len(context.committed.prompt) == 2


async def test_an_executor_whose_execute_is_not_async_is_named(make_context: Any) -> None:
    """With what to write [EXE-03]."""

    class Odd(kb.OfflineExecutor):
        def execute(self, request: kb.Request) -> Any:
            return kb.assistant("x")

    context = make_context(Odd(), [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match="async def execute"):
            await session.request()


async def test_frames_that_are_not_the_answer_are_told(make_context: Any) -> None:
    """The history gets the answer of the last frame, and the report says that its reader saw another [EXE-05]."""
    executor = Frames(kb.TextFrame("seen"), kb.EndFrame(kb.assistant("other")))
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        async for _ in session.request_streaming():
            pass

    assert context.committed.prompt[-1].text == "other"
    assert "is not the text of the answer" in _notices(context)[0]


async def test_an_answer_that_comes_twice_is_a_fault_of_the_executor(make_context: Any) -> None:
    """The user appended nothing, and the error does not say so [SES-06a]."""
    same = kb.assistant("from a cache")
    context = _made(make_context, same, same)
    async with context.write_session() as session:
        await session.request()
        with pytest.raises(DuplicateMessageError, match="The executor answered with message") as caught:
            await session.request()

    assert caught.value.position == 2
    assert len(context.committed.prompt) == 3


# ------------------------------------------------------------------------------------------- several tasks


async def test_a_stream_has_one_reader_at_a_time(make_context: Any, settle: Settle) -> None:
    """A second one is refused, and the first one reads on [EXE-05]."""
    gate = asyncio.Event()
    context = make_context(Frames(gate, kb.TextFrame("a"), kb.EndFrame(kb.assistant("a"))), [kb.user("x")])
    async with context.write_session() as session:
        stream = session.request_streaming()
        first = asyncio.ensure_future(anext(stream))
        await settle()
        with pytest.raises(StreamOpenError, match="Another task reads"):
            await anext(stream)
        gate.set()
        assert await first == kb.TextFrame("a")
        async for _ in stream:
            pass

    assert context.committed.prompt[-1].text == "a"


async def test_leaving_ends_the_wait_of_a_reader_in_another_task(make_context: Any, settle: Settle) -> None:
    """It gets no more frames, and the executor's stream is closed [EXE-05]."""
    executor = Frames(kb.TextFrame("a"), asyncio.Event())
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        stream = session.request_streaming()

        async def read() -> list[Any]:
            return [frame async for frame in stream]

        reader = asyncio.ensure_future(read())
        await settle()
        await stream.aclose()
        seen = await reader

    assert seen == [kb.TextFrame("a")]
    assert executor.was_closed
    assert len(context.committed.prompt) == 1


async def test_the_end_of_the_session_is_told_to_a_reader_in_another_task(
    make_context: Any, settle: Settle
) -> None:
    """It does not take a part for the whole answer, and nothing is appended [EXE-05, SES-08]."""
    executor = Frames(kb.TextFrame("a"), asyncio.Event())
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        stream = session.request_streaming()

        async def read() -> list[Any]:
            return [frame async for frame in stream]

        reader = asyncio.ensure_future(read())
        await settle()

    with pytest.raises(SessionClosedError, match="before this streamed answer was whole"):
        await reader
    assert len(context.committed.prompt) == 1


async def test_in_a_read_session_a_partial_answer_is_in_the_stream_alone(make_context: Any) -> None:
    """And the report does not say that it was appended [EXE-05, SES-01]."""
    context = _made(make_context)
    async with context.read_session() as session:
        async with session.request_streaming(keep_partial=True) as stream:
            await anext(stream)

    assert stream.message is not None
    assert stream.message.text == "one "
    assert _notices(context)[0].endswith("its text so far is in stream.message.")


# ------------------------------------------------------------------------------------------- meanwhile

CHANGES: list[Any] = [
    lambda session: session.append(kb.user("y")),
    lambda session: setattr(session, "prompt", kb.Prompt()),
    lambda session: session.rewrite_prompt(lambda prompt: kb.Prompt()),
    lambda session: session.clear_history(),
    lambda session: session.request(),
    lambda session: session.request_structured(int),
    lambda session: session.request_streaming(),
    lambda session: session.replace_history_with_tldr(),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
async def test_the_history_cannot_be_changed_before_a_streamed_answer_is_whole(
    make_context: Any, number: int
) -> None:
    """The answer would stand behind what comes now; the error says how to leave the stream [EXE-05]."""
    context = _made(make_context)
    async with context.write_session() as session:
        stream = session.request_streaming()
        await anext(stream)
        with pytest.raises(StreamOpenError, match=r"Nothing was changed.*aclose"):
            given = CHANGES[number](session)
            if given is not None:
                await given
        async for _ in stream:
            pass

    assert [message.text for message in context.committed.prompt] == ["rules", "x", WORDS]


async def test_a_read_session_may_read_several_streams_at_once(make_context: Any) -> None:
    """None of them is appended to anything [EXE-05, SES-01]."""
    context = _made(make_context, "a b", "c d")
    async with context.read_session() as session:
        first, second = session.request_streaming(), session.request_streaming()
        seen = [await anext(first), await anext(second), await anext(first), await anext(second)]

    assert [frame.text for frame in seen] == ["a ", "c ", "b", "d"]
    assert len(context.committed.prompt) == 2


# ------------------------------------------------------------------------------------------- interceptors


class Changing(kb.Interceptor):
    """Adds a message to what is sent, and a word to the answer."""

    async def around_llm_call(self, request: kb.Request, call: Any) -> kb.Message:
        """See the class."""
        import msgspec

        reply = await call(msgspec.structs.replace(request, messages=(*request.messages, kb.user("added"))))
        return reply.with_text(reply.text + "!")


async def test_interceptors_wrap_a_stream_as_they_wrap_a_request(make_context: Any) -> None:
    """They change what is sent and what the history gets; frames go through as they come [EXE-05]."""
    context = _made(make_context, interceptors=[Changing()])
    async with context.write_session() as session:
        frames = [frame async for frame in session.request_streaming()]

    assert [message.text for message in context.calls.records[0].request.messages][-1] == "added"
    assert [frame.text for frame in frames[:-1]] == ["one ", "two ", "three ", "four"]
    assert context.committed.prompt[-1].text == WORDS + "!"


class Answering(kb.Interceptor):
    """Answers by itself."""

    async def around_llm_call(self, request: kb.Request, call: Any) -> kb.Message:
        """See the class."""
        await asyncio.sleep(0)
        return kb.assistant("from a cache")


async def test_an_interceptor_that_answers_by_itself_streams_its_answer(make_context: Any) -> None:
    """Nobody is asked [EXE-05]."""
    context = _made(make_context, interceptors=[Answering()])
    async with context.write_session() as session:
        frames = [frame async for frame in session.request_streaming()]

    assert [frame.text for frame in frames[:-1]] == ["from ", "a ", "cache"]
    assert context.calls.records == []


class Again(kb.Interceptor):
    """Asks once more after a failure."""

    async def around_llm_call(self, request: kb.Request, call: Any) -> kb.Message:
        """See the class."""
        try:
            return await call(request)
        except ConnectionError:
            return await call(request)


async def test_an_interceptor_may_ask_again_before_the_first_frame(make_context: Any) -> None:
    """The reader sees the second answer alone [EXE-05]."""
    context = _made(make_context, ConnectionError("busy"), "fine", interceptors=[Again()])
    async with context.write_session() as session:
        frames = [frame async for frame in session.request_streaming()]

    assert [frame.text for frame in frames[:-1]] == ["fine"]


async def test_an_interceptor_cannot_ask_again_after_a_frame_was_given(make_context: Any) -> None:
    """Its reader cannot take back what it saw [EXE-05]."""
    broken = kb.BrokenAnswer("half", ConnectionError("reset"))
    context = _made(make_context, broken, "other", interceptors=[Again()])
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match="cannot take it"):
            async for _ in session.request_streaming():
                pass

    assert len(context.committed.prompt) == 2


class Hurrying(kb.Interceptor):
    """Gives a request so much time, in a task of its own."""

    async def around_llm_call(self, request: kb.Request, call: Any) -> kb.Message:
        """See the class."""
        reply: kb.Message = await asyncio.wait_for(asyncio.ensure_future(call(request)), 5)
        return reply


async def test_an_interceptor_may_ask_in_another_task(make_context: Any) -> None:
    """As one does that limits the time [EXE-05]."""
    context = _made(make_context, interceptors=[Hurrying()])
    async with context.write_session() as session:
        frames = [frame async for frame in session.request_streaming()]

    assert [frame.text for frame in frames[:-1]] == ["one ", "two ", "three ", "four"]
    assert context.committed.prompt[-1].text == WORDS


async def test_a_session_opened_by_an_interceptor_inside_a_stream_is_refused(make_context: Any) -> None:
    """Its task works for the one that holds the lock and reads the stream [EXE-05, SES-10]."""

    class Nesting(kb.Interceptor):
        async def around_llm_call(self, request: kb.Request, call: Any) -> kb.Message:
            async with context.read_session():
                return await call(request)  # type: ignore[no-any-return]

    context = _made(make_context, interceptors=[Nesting()])
    async with context.write_session() as session:
        with pytest.raises(kb.errors.NestedSessionError):
            await anext(session.request_streaming())
