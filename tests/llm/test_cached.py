"""Answers that were given once: which request they are for, where they are kept, and what is said of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from around_world import Broken, Named, asked, busy, frames, in_a_run, text_of, told, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import koogbook as kb
from koogbook.clock import FixedClock
from koogbook.errors import ExecutorClosedError, ExecutorError, ProviderError
from koogbook.events import LLMCallCached, Notice
from koogbook.llm.cached import CachedExecutor, request_key
from koogbook.llm.fallback import FallbackExecutor
from koogbook.llm.request import Request
from koogbook.llm.retrying import RetryingExecutor
from koogbook.llm.usage import usage_of_all
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams, ToolChoice
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.tools.tool import ToolSpec

Settle = Callable[[], Awaitable[None]]

# ------------------------------------------------------------------------------------------- which request

#: Few and short, so that two that are alike come often; lone surrogates, and what looks like their escape.
TEXTS = st.sampled_from(["", "a", "b", "a:b", "\ud83d", "\\ud83d", "\ud83d\ude00", "😀", '"', "[]"])
NAMES = st.none() | TEXTS
PARTS = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Reasoning, TEXTS, NAMES, NAMES),
    st.builds(lambda data: Attachment("file", data=data), st.binary(max_size=1)),
    st.builds(lambda url: Attachment("file", url=url), TEXTS),
    st.builds(Foreign, TEXTS, TEXTS),
)
CALLS = st.builds(ToolCall, TEXTS, TEXTS, NAMES)
RESULTS = st.builds(ToolResult, TEXTS, TEXTS, NAMES, st.booleans())
MESSAGES = st.one_of(
    st.tuples(st.sampled_from(["system", "user"]), st.lists(PARTS, max_size=2)),
    st.tuples(st.just("assistant"), st.lists(PARTS | CALLS, max_size=2)),
    st.tuples(st.just("tool"), st.lists(RESULTS, max_size=2)),
).flatmap(
    lambda made: st.builds(
        lambda name: kb.Message(
            role=made[0], parts=tuple(made[1]), name=name, id="m", time=datetime(2026, 1, 1, tzinfo=UTC)
        ),
        NAMES,
    )
)
CHOICES = st.sampled_from([None, ToolChoice("auto"), ToolChoice("required"), ToolChoice("named", "a")])
PARAMS = st.builds(
    LLMParams,
    temperature=st.sampled_from([None, 0.0, 0.5]),
    max_tokens=st.sampled_from([None, 1]),
    choices=st.sampled_from([None, 1, 2]),
    seed=st.sampled_from([None, 0]),
    stop=st.lists(TEXTS, max_size=2).map(tuple),
    tool_choice=CHOICES,
    user=NAMES,
)
TOOLS = st.builds(ToolSpec, TEXTS, TEXTS, TEXTS)
REQUESTS = st.builds(
    Request,
    messages=st.lists(MESSAGES, max_size=2).map(tuple),
    model=st.builds(LLModel, TEXTS, TEXTS),
    tools=st.lists(TOOLS, max_size=2).map(tuple),
    params=PARAMS,
    schema=NAMES,
    choice=st.sampled_from([None, 0, 1]),
)


def seen_by_a_model(request: Request) -> tuple[Any, ...]:
    """All of a request that makes an answer its own."""
    params = request.params.with_changes(choices=None) if request.params.choices == 1 else request.params
    return (
        (request.model.provider, request.model.id),
        params,
        tuple((one.role, one.name, one.parts) for one in request.messages),
        request.tools,
        request.schema,
        request.choice,
    )


@settings(max_examples=300)
@given(REQUESTS, REQUESTS)
def test_two_requests_have_one_key_if_a_model_sees_the_same(first: Request, second: Request) -> None:
    """And only then [EXE-04]."""
    same = seen_by_a_model(first) == seen_by_a_model(second)

    assert (request_key(first) == request_key(second)) is same


@settings(max_examples=150)
@given(REQUESTS, st.data())
def test_a_change_of_anything_that_a_model_sees_changes_the_key(
    request: Request, data: st.DataObject
) -> None:
    """Near by, where two requests that were made apart seldom are [EXE-04]."""
    other = data.draw(REQUESTS)
    field = data.draw(st.sampled_from(["messages", "model", "tools", "params", "schema", "choice"]))
    changed = replace(request, **{field: getattr(other, field)})
    same = seen_by_a_model(request) == seen_by_a_model(changed)

    assert (request_key(request) == request_key(changed)) is same


@settings(max_examples=150)
@given(REQUESTS, st.text(max_size=3), st.datetimes(timezones=st.just(UTC)), st.integers(1, 9))
def test_what_no_model_sees_does_not_change_the_key(
    request: Request, id: str, time: datetime, number: int
) -> None:
    """Ids, times, usage, metadata, the purpose, what is known of a model [EXE-04]."""
    other = replace(
        request,
        purpose="flush",
        model=replace(request.model, context_tokens=number, max_output_tokens=number),
        messages=tuple(
            replace(
                one, id=id, time=time, usage=kb.Usage(number), finish_reason="stop", metadata_json='{"a":1}'
            )
            for one in request.messages
        ),
    )

    assert request_key(other) == request_key(request)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"provider_parts": [["text", 0, {"id": "1"}]]}, {}),
        ({"answered_by": "openai:a"}, {"answered_by": "anthropic:b"}),
    ],
    ids=["its own fields", "who answered"],
)
def test_what_a_provider_wants_back_of_its_answers_is_seen(one: Any, other: Any) -> None:
    """It goes out with the next request, though it stands in the metadata [EXE-04]."""
    first, second = (
        Request(messages=(kb.assistant("x", metadata=metadata),), model=LLModel("m"))
        for metadata in (one, other)
    )

    assert request_key(first) != request_key(second)


def test_two_lone_surrogates_are_not_the_character_that_they_would_encode() -> None:
    """Beside another one, where both have to be written in the slow way [EXE-01]."""
    apart, together = (asked(text, schema="\ud800") for text in ("\ud83d\ude00", "😀"))

    assert request_key(apart) != request_key(together)


def test_a_key_is_a_name_that_a_file_can_have() -> None:
    """Whatever was asked, and the same on every machine [EXE-04]."""
    request = Request(
        messages=(kb.user("../../etc/passwd\0", id="m", time=datetime(2026, 1, 1, tzinfo=UTC)),),
        model=LLModel("gpt", "openai"),
    )

    assert request_key(request) == "efb3ae62590e87b17c050793a89a8100a173d38134a52ec8c2d5bd048fbe1603"


# ------------------------------------------------------------------------------------------- given again


async def test_an_equal_request_gets_the_same_answer_without_being_sent() -> None:
    """Parts and metadata are as they were; id, time and usage are not [EXE-04]."""
    inner = Named(
        [kb.assistant(["x", Reasoning("y")], usage=kb.Usage(5, 7), metadata={"answered_by": "a:b"})]
    )
    executor = CachedExecutor(inner)
    first, second = await executor.execute(asked()), await executor.execute(asked())

    assert (first.parts, len(inner.requests)) == (second.parts, 1)
    assert second.metadata == {"answered_by": "a:b", "cached": True}
    assert (first.id != second.id, second.usage, first.usage) == (True, None, kb.Usage(5, 7))


async def test_an_answer_that_was_there_has_a_time_of_its_own(fixed_clock: FixedClock) -> None:
    """It is given now [EXE-04]."""
    executor = CachedExecutor(Named(["x"]))
    first = await executor.execute(asked())
    fixed_clock.advance(60)

    assert ((await executor.execute(asked())).time - first.time).total_seconds() == 60


async def test_a_temperature_is_no_reason_to_ask_again() -> None:
    """Who wants another answer each time wants no cache [EXE-04]."""
    inner = Named(["x"])
    executor = CachedExecutor(inner)
    request = asked(params=LLMParams(temperature=1.5))
    await executor.execute(request)
    await executor.execute(request)

    assert len(inner.requests) == 1


async def test_an_answer_from_the_cache_is_told_and_costs_nothing() -> None:
    """In no sum are its tokens [EXE-04]."""
    calls = in_a_run(CachedExecutor(Named([kb.assistant("x", usage=kb.Usage(5, 7))])))
    await calls.execute(asked())
    await calls.execute(asked(purpose="flush"))
    events = told(calls, LLMCallCached)
    spent = usage_of_all(calls.records[1:])

    assert [(one.call, one.model, one.key) for one in events] == [(2, "openai:a", request_key(asked()))]
    assert (spent.calls, spent.cached, spent.input_tokens, spent.cost) == (0, 1, 0, Decimal(0))


async def test_a_failure_is_not_kept() -> None:
    """The next request is sent [EXE-04]."""
    executor = CachedExecutor(Named([busy(), "here"]))
    with pytest.raises(ProviderError):
        await executor.execute(asked())

    assert (await executor.execute(asked())).text == "here"


async def test_a_request_for_several_choices_is_always_sent() -> None:
    """Each of them would get the first one [EXE-04]."""
    inner = Named(["a", "b", "c"])
    executor = CachedExecutor(inner)
    request = asked(params=LLMParams(choices=2))
    texts = [(await executor.execute(request)).text for _ in range(2)]

    assert [*texts, whole(await frames(executor, request)).text] == ["a", "b", "c"]


async def test_one_choice_is_the_same_as_none_said() -> None:
    """There is one answer either way [EXE-04]."""
    inner = Named(["a", "b"])
    executor = CachedExecutor(inner)
    texts = [(await executor.execute(asked(params=LLMParams(choices=choices)))).text for choices in (None, 1)]

    assert texts == ["a", "a"]
    assert text_of(await frames(executor, asked(params=LLMParams(choices=1)))) == "a"


async def test_each_of_several_wanted_answers_is_one_of_its_own() -> None:
    """And asked again, they are the same ones; a request for one has its own, too [EXE-04, SES-06]."""
    inner = Named(["a", "b", "c"])
    executor = CachedExecutor(inner)
    wanted = [asked(choice=0), asked(choice=1), asked()]
    texts = [(await executor.execute(request)).text for request in (*wanted, *wanted)]

    assert texts == ["a", "b", "c", "a", "b", "c"]
    assert len(inner.requests) == 3


async def test_an_answer_that_says_it_is_incomplete_is_not_kept() -> None:
    """Whether it came whole or in frames [EXE-04, EXE-05]."""
    inner = Named(
        [
            kb.assistant("ha", metadata={"incomplete": True}),
            kb.assistant("hal", metadata={"incomplete": True}),
            "half",
        ]
    )
    executor = CachedExecutor(inner)
    texts = [
        (await executor.execute(asked())).text,
        text_of(await frames(executor, asked())),
        (await executor.execute(asked())).text,
        (await executor.execute(asked())).text,
    ]

    assert texts == ["ha", "hal", "half", "half"]


class Placed(Named):
    """Sends requests to one server, and says to which."""

    def __init__(self, script: Any, place: str) -> None:
        super().__init__(script)
        self.place = place

    def cache_place(self, model: LLModel) -> str:
        """The server and the provider."""
        return f"{self.place} {model.provider}"


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: inner,
        RetryingExecutor,
        lambda inner: FallbackExecutor(RetryingExecutor(inner), ["b:c"]),
    ],
    ids=["alone", "in a wrapper", "in two"],
)
async def test_an_answer_of_another_server_is_another_one(tmp_path: Path, around: Any) -> None:
    """The model may be of the same name; whole and in frames [EXE-04]."""
    first, second = Placed(["one"], "http://a"), Placed(["two"], "http://b")
    made = [CachedExecutor(around(inner), folder=tmp_path) for inner in (first, second, first, second)]
    texts = [(await executor.execute(asked())).text for executor in made]
    streamed = [text_of(await frames(executor, asked())) for executor in made[:2]]

    assert texts == ["one", "two", "one", "two"]
    assert streamed == ["one", "two"]


async def test_an_answer_of_a_stand_in_is_not_kept() -> None:
    """The model that was asked for may be back [EXE-04]."""
    inner = Named([busy(), kb.assistant("stands in"), kb.assistant("itself")])
    executor = CachedExecutor(FallbackExecutor(inner, ["b:c"]))
    texts = [(await executor.execute(asked())).text for _ in range(3)]

    assert texts == ["stands in", "itself", "itself"]


async def test_the_longest_unused_answer_goes_first() -> None:
    """With two places, the third pushes one out [EXE-04]."""
    inner = Named(lambda request: request.messages[0].text)
    executor = CachedExecutor(inner, entries=2)
    for text in "abacabc":
        await executor.execute(asked(text))

    assert [request.messages[0].text for request in inner.requests] == ["a", "b", "c", "b", "c"]


async def test_a_cache_can_be_emptied(tmp_path: Path) -> None:
    """In memory and in a folder, where other files stay [EXE-04]."""
    (tmp_path / "notes.json").write_text("mine", encoding="utf-8")
    inner = Named(lambda request: "x")
    for executor in (CachedExecutor(inner), CachedExecutor(inner, folder=tmp_path)):
        await executor.execute(asked())
        executor.clear()
        await executor.execute(asked())

    assert len(inner.requests) == 4
    executor.clear()
    assert os.listdir(tmp_path) == ["notes.json"]


def test_a_cache_shows_how_much_it_holds() -> None:
    """And nothing of what was asked [EXE-06]."""
    assert repr(CachedExecutor(Named([]))) == "<CachedExecutor around Named, 0 answers kept>"


@pytest.mark.parametrize("entries", [0, -1])
def test_a_cache_for_nothing_is_refused(entries: int) -> None:
    """When it is made [EXE-04]."""
    with pytest.raises(ValueError, match="At least one answer"):
        CachedExecutor(Named([]), entries=entries)


async def test_closing_it_closes_what_is_inside() -> None:
    """Nor does it give what it has any more [EXE-03a]."""
    inner = Named(["x"])
    async with CachedExecutor(inner) as executor:
        await executor.execute(asked())

    assert inner.is_closed
    with pytest.raises(ExecutorClosedError, match="CachedExecutor was closed"):
        await executor.execute(asked())
    with pytest.raises(ExecutorClosedError):
        await frames(executor, asked())


# ------------------------------------------------------------------------------------------- streams


async def test_an_answer_that_is_there_comes_in_frames() -> None:
    """And one that came in frames is there [EXE-05]."""
    inner = Named(["two words"])
    executor = CachedExecutor(inner)
    read = [await frames(executor, asked()) for _ in range(2)]
    reply = await executor.execute(asked())

    assert [text_of(one) for one in read] == ["two words", "two words"]
    assert [whole(one).metadata.get("cached") for one in read] == [None, True]
    assert (reply.text, len(inner.requests)) == ("two words", 1)


async def test_a_stream_that_was_left_is_not_kept() -> None:
    """The one inside is closed, and the next request is sent [EXE-05]."""
    inner = Named(["two words", "other words"])
    executor = CachedExecutor(inner)
    stream = executor.stream(asked())
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    assert (await executor.execute(asked())).text == "other words"


async def test_a_stream_that_broke_off_is_not_kept() -> None:
    """Its pieces are no answer [EXE-05]."""
    inner = Broken(2, busy())
    executor = CachedExecutor(inner)
    for _ in range(2):
        with pytest.raises(ProviderError):
            await frames(executor, asked())

    assert (len(inner.requests), inner.left) == (2, 2)


async def test_a_stream_waits_for_an_equal_request() -> None:
    """And gets its answer in frames [EXE-05]."""
    go = asyncio.Event()
    inner = _waiting(go, "two words")
    executor = CachedExecutor(inner)
    first = asyncio.ensure_future(executor.execute(asked()))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(frames(executor, asked()))
    await asyncio.sleep(0)
    go.set()

    assert text_of(await second) == (await first).text == "two words"
    assert len(inner.requests) == 1


async def test_a_request_does_not_wait_for_the_reader_of_a_stream() -> None:
    """Who may be the one who makes it [EXE-05]."""
    inner = Named(["two words", "other words"])
    executor = CachedExecutor(inner)
    stream = executor.stream(asked())
    await anext(stream)
    reply = await asyncio.wait_for(executor.execute(asked()), 5)
    await stream.aclose()  # type: ignore[attr-defined]

    assert reply.text == "other words"


# ------------------------------------------------------------------------------------------- at once


def _waiting(go: asyncio.Event, *answers: Any) -> Named:
    """Answers when it may, one after another."""
    left = list(answers)

    async def rule(request: Request) -> Any:
        await go.wait()
        return left.pop(0)

    return Named(rule)


async def _started(executor: CachedExecutor, settle: Settle, count: int) -> list[asyncio.Task[Message]]:
    tasks = []
    for _ in range(count):
        tasks.append(asyncio.ensure_future(executor.execute(asked())))
        await settle()
    return tasks


async def test_of_equal_requests_at_once_one_is_sent(settle: Settle) -> None:
    """The others get its answer as one that was there [EXE-04]."""
    go = asyncio.Event()
    inner = _waiting(go, "x")
    tasks = await _started(CachedExecutor(inner), settle, 3)
    go.set()
    replies = await asyncio.gather(*tasks)

    assert [reply.metadata.get("cached") for reply in replies] == [None, True, True]
    assert (len(inner.requests), len({reply.id for reply in replies})) == (1, 3)


async def test_a_cancelled_request_does_not_cancel_those_that_wait_for_it(settle: Settle) -> None:
    """The next one of them is sent [EXE-04]."""
    go = asyncio.Event()
    inner = _waiting(go, "x")
    tasks = await _started(CachedExecutor(inner), settle, 3)
    tasks[0].cancel()
    await settle()
    go.set()
    replies = await asyncio.gather(*tasks[1:])

    assert [reply.metadata.get("cached") for reply in replies] == [None, True]
    assert (len(inner.requests), tasks[0].cancelled()) == (2, True)


async def test_who_stops_waiting_does_not_cancel_the_request(settle: Settle) -> None:
    """Nor the others that wait [EXE-04]."""
    go = asyncio.Event()
    inner = _waiting(go, "x")
    tasks = await _started(CachedExecutor(inner), settle, 3)
    tasks[1].cancel()
    await settle()
    go.set()

    assert [(await tasks[place]).text for place in (0, 2)] == ["x", "x"]
    assert (len(inner.requests), tasks[1].cancelled()) == (1, True)


async def test_those_that_wait_for_a_failure_get_it(settle: Settle) -> None:
    """Each its own: what one notes on it is not on the others', and all of it is there [EXE-04]."""
    go = asyncio.Event()
    error = ProviderError("The provider is busy.", kind="rate_limited", status=429, retry_after=2.0)
    error.add_note("first")
    inner = _waiting(go, error, "here")
    executor = CachedExecutor(inner)
    tasks = await _started(executor, settle, 2)
    go.set()
    first, second = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(second, ProviderError)
    second.add_note("second")

    assert (first is error, second is error, len(inner.requests)) == (True, False, 1)
    assert (str(second), second.kind, second.status, second.retry_after) == (
        "The provider is busy.",
        "rate_limited",
        429,
        2.0,
    )
    assert (error.__notes__, second.__notes__) == (["first"], ["first", "second"])
    assert (await executor.execute(asked())).text == "here"


async def test_what_is_no_failure_of_the_executor_is_not_shared(settle: Settle) -> None:
    """A listener that raised belongs to one run alone; the next request is sent [EXE-04]."""
    go = asyncio.Event()
    inner = _waiting(go, ValueError("listener"), "here")
    tasks = await _started(CachedExecutor(inner), settle, 2)
    go.set()
    first, second = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(first, ValueError)
    assert isinstance(second, Message)
    assert (second.text, second.metadata.get("cached")) == ("here", None)


async def test_an_answer_that_is_not_kept_is_shared_all_the_same(settle: Settle) -> None:
    """It came for all who asked at once [EXE-04]."""
    go = asyncio.Event()
    inner = _waiting(go, busy(), kb.assistant("stands in"))
    tasks = await _started(CachedExecutor(FallbackExecutor(inner, ["b:c"])), settle, 2)
    go.set()

    assert [(await task).text for task in tasks] == ["stands in", "stands in"]
    assert len(inner.requests) == 2


def test_a_cache_serves_one_loop_after_another() -> None:
    """What was cut off with one loop holds up nobody on the next [EXE-04]."""

    async def cut_off() -> None:
        task = asyncio.ensure_future(executor.execute(asked()))
        await asyncio.sleep(0)
        assert not task.done()

    async def rule(request: Request) -> str:
        if len(inner.requests) == 1:
            await asyncio.Event().wait()
        return "x"

    inner = Named(rule)
    executor = CachedExecutor(inner)
    asyncio.run(cut_off())

    assert asyncio.run(executor.execute(asked())).text == "x"


def test_what_waits_on_a_loop_that_was_closed_is_let_go() -> None:
    """Where the request is cleared away after its loop, nobody can be told any more [EXE-04]."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # two tasks are destroyed that wait
    executor = CachedExecutor(_waiting(asyncio.Event(), "x"))
    sent, waits = executor.execute(asked()), executor.execute(asked())
    tasks = [loop.create_task(one) for one in (sent, waits)]
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert not any(task.done() for task in tasks)

    sent.close()
    waits.close()
    assert executor._on_the_way == {}


# ------------------------------------------------------------------------------------------- in a folder


async def test_a_folder_keeps_answers_for_the_next_start(tmp_path: Path) -> None:
    """With all that a message may hold [EXE-04]."""
    folder = tmp_path / "new" / "answers"
    parts = [Reasoning("why", signature="s"), Text("\ud83d broken"), ToolCall("t", "{", "c")]
    answer = kb.assistant(parts, metadata={"n": 1})
    await CachedExecutor(Named([answer]), folder=folder).execute(asked())
    executor = CachedExecutor(Named([]), folder=str(folder))
    reply = await executor.execute(asked())

    assert (reply.parts, reply.metadata) == (answer.parts, {"n": 1, "cached": True})
    assert (os.listdir(folder), executor.defects) == ([f"{request_key(asked())}.json"], [])


def _flipped(whole: bytes) -> bytes:
    return whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut off": lambda whole: whole[:-5],
    "one bit": _flipped,
    "another version": lambda whole: whole.replace(b'"version": 1', b'"version": 2'),
    "no header": lambda whole: whole.partition(b"\n")[2],
    "another file": lambda whole: b"[" * 100_000,
    "no text": lambda whole: b"\xff\xfe\x00\n\x00",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
async def test_a_damaged_answer_is_told_and_asked_for_anew(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """Once: the new one takes its place [EXE-04]."""
    inner = Named(["first", "second"])
    calls = in_a_run(CachedExecutor(inner, folder=tmp_path))
    await calls.execute(asked())
    file = tmp_path / f"{request_key(asked())}.json"
    file.write_bytes(damage(file.read_bytes()))
    texts = [(await calls.execute(asked())).text for _ in range(2)]
    notices = told(calls, Notice)

    assert (texts, len(inner.requests)) == (["second", "second"], 2)
    assert [one.kind for one in notices] == ["cached answers"]
    assert notices[0].text.startswith("request 2: a kept answer cannot be read and is asked for anew: ")
    assert str(file) in notices[0].text


async def test_an_answer_in_the_place_of_another_is_no_answer(tmp_path: Path) -> None:
    """The check sum is of the request as well [EXE-04]."""
    executor = CachedExecutor(Named(["a", "b"]), folder=tmp_path)
    await executor.execute(asked("a"))
    (tmp_path / f"{request_key(asked('a'))}.json").rename(tmp_path / f"{request_key(asked('b'))}.json")

    assert (await executor.execute(asked("b"))).text == "b"
    assert len(executor.defects) == 1


async def test_an_answer_that_cannot_be_kept_is_given_all_the_same(tmp_path: Path) -> None:
    """Outside of a run, the executor remembers what went wrong [EXE-04]."""
    folder = tmp_path / "answers"
    executor = CachedExecutor(Named(["x", "y"]), folder=folder)
    folder.write_text("in the way", encoding="utf-8")
    texts = [(await executor.execute(asked())).text for _ in range(2)]

    assert texts == ["x", "y"]
    assert "a kept answer cannot be read and is asked for anew" in executor.defects[0]
    assert "an answer cannot be kept and will be asked for again" in executor.defects[1]


async def test_a_file_that_could_not_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither half of it nor a name [EXE-04]."""

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    executor = CachedExecutor(Named(["x"]), folder=tmp_path)

    assert (await executor.execute(asked())).text == "x"
    assert (os.listdir(tmp_path), "No space left" in executor.defects[0]) == ([], True)


async def test_a_folder_holds_no_more_than_it_may(tmp_path: Path) -> None:
    """The tenth that was longest unused goes, and no file of somebody else [EXE-04]."""
    (tmp_path / "notes.json").write_text("mine", encoding="utf-8")
    inner = Named(lambda request: "x")
    executor = CachedExecutor(inner, folder=tmp_path, entries=10)
    for number in range(10):
        await executor.execute(asked(str(number)))
        os.utime(tmp_path / f"{request_key(asked(str(number)))}.json", (number, number))
    await executor.execute(asked("0"))  # used again
    await executor.execute(asked("10"))
    kept = {number for number in range(11) if (tmp_path / f"{request_key(asked(str(number)))}.json").exists()}

    assert (kept, len(os.listdir(tmp_path))) == ({0, 3, 4, 5, 6, 7, 8, 9, 10}, 10)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """It is left as it is [EXE-04]."""
    file = tmp_path / "answers"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(NotADirectoryError, match="is no folder"):
        CachedExecutor(Named([]), folder=file)

    assert file.read_text(encoding="utf-8") == "mine"


async def test_nothing_is_made_before_there_is_something_to_keep(tmp_path: Path) -> None:
    """Not even the folder [EXE-04]."""
    executor = CachedExecutor(Named([busy()]), folder=tmp_path / "answers")
    with pytest.raises(ExecutorError):
        await executor.execute(asked())

    assert os.listdir(tmp_path) == []


def test_a_folder_without_a_name_is_refused() -> None:
    """Answers would lie about in the current folder [EXE-04]."""
    with pytest.raises(ValueError, match="has no name"):
        CachedExecutor(Named([]), folder=" ")


def test_a_folder_at_home_is_the_one_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none of the name ~ here [EXE-04]."""
    monkeypatch.setenv("HOME", str(tmp_path))
    executor = CachedExecutor(Named([]), folder="~/answers")

    assert executor._answers.folder == tmp_path / "answers"  # type: ignore[attr-defined]
