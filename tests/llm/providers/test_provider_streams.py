"""Streams that break off, stand still, or are left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from provider_world import HELD, Aimock, Wire, ask, chunk, events, reply

import koogbook as kb
from koogbook.errors import ProviderError
from koogbook.llm.executor import EndFrame, Frame, ReasoningFrame, TextFrame
from koogbook.llm.providers.executor import ProviderExecutor

OPENAI = "openai:gpt-4o"
_EVENTS = "text/event-stream"


def _unfinished(*texts: str) -> bytes:
    """The beginning of a stream, as long as it says, of which nothing more comes."""
    whole = reply(events(*(chunk(text) for text in texts), end=""), 200, _EVENTS)
    return whole.replace(b"Content-Length: ", b"Content-Length: 9")


async def _read(executor: ProviderExecutor, *said: Any) -> tuple[list[Frame], Any]:
    """The frames that came, and the error at their end."""
    frames: list[Frame] = []
    with pytest.raises(ProviderError) as caught:
        async for frame in executor.stream(ask(OPENAI, *said)):
            frames.append(frame)  # noqa: PERF401  what came before the error is kept
    return frames, caught.value


async def test_a_line_that_is_cut_breaks_the_stream(aimock: Aimock) -> None:
    """What came has come, and there is no last frame [EXE-05]."""
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        frames, error = await _read(executor, "break off")

    assert error.kind == "broken"
    assert error.may_pass

    assert not any(isinstance(frame, EndFrame) for frame in frames)


async def test_a_stream_that_ends_politely_without_its_last_event_is_broken() -> None:
    """A proxy that cuts leaves half an answer that looks whole [EXE-05]."""
    cut = reply(events(chunk("Half a"), chunk(" sen"), end=""), 200, _EVENTS)
    async with Wire([cut]) as wire, ProviderExecutor(wire.url) as executor:
        frames, error = await _read(executor)

    assert [frame.text for frame in frames if isinstance(frame, TextFrame)] == ["Half a", " sen"]
    assert error.kind == "broken"
    assert error.__context__ is None


async def test_a_compatible_server_need_not_say_why_it_ended() -> None:
    """Some never do [EXE-05]."""
    body = events(chunk("All of it."))
    async with Wire([reply(body, 200, _EVENTS)]) as wire, ProviderExecutor(wire.url) as executor:
        frames = [frame async for frame in executor.stream(ask("openai-compatible:qwen3"))]

    assert isinstance(frames[-1], EndFrame)


async def test_a_stream_that_stands_still_is_given_up() -> None:
    """The limit is for each piece [EXE-05]."""
    async with (
        Wire([_unfinished("Half") + HELD]) as wire,
        ProviderExecutor(wire.url, timeout=0.2) as executor,
    ):
        frames, error = await _read(executor)

    assert frames == [TextFrame("Half")]
    assert error.kind == "timeout"
    assert "wrote nothing more for 0.2 s" in str(error)


async def test_an_error_in_the_middle_of_a_stream_is_told() -> None:
    """With the provider's words [EXE-05]."""
    body = events(chunk("Half"), {"error": {"message": "The engine stopped.", "code": "server_error"}})
    async with Wire([reply(body, 200, _EVENTS)]) as wire, ProviderExecutor(wire.url) as executor:
        frames, error = await _read(executor)

    assert frames == [TextFrame("Half")]
    assert "The engine stopped." in str(error)


async def test_a_refused_stream_has_no_frame() -> None:
    """The status is known before the first [EXE-05]."""
    refused = reply({"error": {"message": "No."}}, 429, Retry_After="3")
    async with Wire([refused]) as wire, ProviderExecutor(wire.url) as executor:
        frames, error = await _read(executor)

    assert (frames, error.kind, error.retry_after) == ([], "rate_limited", 3.0)


async def test_a_stream_with_nothing_in_it_is_an_error() -> None:
    """As a whole answer would be [EXE-05]."""
    body = events(chunk(""), chunk("", "stop"))
    async with Wire([reply(body, 200, _EVENTS)]) as wire, ProviderExecutor(wire.url) as executor:
        _, error = await _read(executor)

    assert error.kind == "bad_answer"


async def test_nothing_is_sent_before_the_first_frame_is_asked_for() -> None:
    """A stream that nobody reads costs nothing [EXE-05]."""
    async with Wire([]) as wire, ProviderExecutor(wire.url) as executor:
        frames = executor.stream(ask(OPENAI))
        await frames.aclose()  # type: ignore[attr-defined]

    assert wire.asked == []


async def test_leaving_a_stream_closes_its_line() -> None:
    """So that the provider need not go on, and is not paid for it [EXE-05]."""
    async with Wire([_unfinished("One", "Two") + HELD]) as wire, ProviderExecutor(wire.url) as executor:
        frames: Any = executor.stream(ask(OPENAI))
        first = await anext(frames)
        await frames.aclose()
        async with asyncio.timeout(5):
            await wire.left.wait()

    assert first == TextFrame("One")


async def test_cancelling_the_reader_closes_the_line() -> None:
    """While it waits for a frame [EXE-05]."""
    async with Wire([_unfinished("One") + HELD]) as wire, ProviderExecutor(wire.url) as executor:

        async def read() -> list[Frame]:
            return [frame async for frame in executor.stream(ask(OPENAI))]

        reader = asyncio.create_task(read())
        while not wire.asked:  # noqa: ASYNC110  the server has no event for it
            await asyncio.sleep(0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        async with asyncio.timeout(5):
            await wire.left.wait()

    assert reader.cancelled()


async def test_cancelling_a_question_closes_the_line() -> None:
    """While it waits for the answer [AGT-06]."""
    async with Wire([None]) as wire, ProviderExecutor(wire.url) as executor:
        asking = asyncio.create_task(executor.execute(ask(OPENAI)))
        while not wire.asked:  # noqa: ASYNC110  the server has no event for it
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        async with asyncio.timeout(5):
            await wire.left.wait()

    assert asking.cancelled()


async def test_thoughts_come_in_frames_of_their_own(aimock: Aimock) -> None:
    """They are no part of the text [EXE-05]."""
    model = "anthropic:claude-sonnet-5"
    async with ProviderExecutor(aimock.url) as executor:
        frames = [frame async for frame in executor.stream(ask(model, "think first"))]
    thoughts = [frame.text for frame in frames if isinstance(frame, ReasoningFrame)]
    whole: Any = frames[-1]

    assert "".join(thoughts) == "I should look."
    assert whole.message.text == ""


async def test_streams_at_once_do_not_mix() -> None:
    """Each reads its own line [EXE-05]."""
    answers = [
        reply(events(*(chunk(f"{name}{number} ") for number in range(5)), chunk("", "stop")), 200, _EVENTS)
        for name in "ab"
    ]
    async with Wire(answers) as wire, ProviderExecutor(wire.url) as executor:

        async def read() -> str:
            frames = [frame async for frame in executor.stream(ask(OPENAI))]
            return "".join(frame.text for frame in frames if isinstance(frame, TextFrame))

        texts = await asyncio.gather(read(), read())

    assert sorted(texts) == ["a0 a1 a2 a3 a4 ", "b0 b1 b2 b3 b4 "]


async def test_a_run_whose_stream_breaks_appends_nothing(aimock: Aimock) -> None:
    """Half an answer is not in the history [EXE-05]."""
    stream = kb.strategy("stream", input=str, output=str)

    @stream.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            try:
                return "".join(
                    [
                        frame.text
                        async for frame in session.request_streaming()
                        if isinstance(frame, TextFrame)
                    ]
                )
            except ProviderError as error:
                return error.kind

    stream.start >> answer >> stream.finish
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        run = await kb.Agent(executor, model=OPENAI, strategy=stream).run("break off")

    assert run.output == "broken"
    assert [message.role for message in run.prompt.messages] == ["user"]
