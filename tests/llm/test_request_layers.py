"""To which layer of a request each message belongs, and how a feature says it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import koogbook as kb
from koogbook.errors import ExecutorError, MessageError
from koogbook.llm.call_record import CallRecord, RequestChange
from koogbook.llm.calls import ModelCalls
from koogbook.llm.layers import (
    LAYERS,
    MESSAGE_LAYERS,
    Layers,
    Mark,
    in_order,
    layer_of,
    layer_tag,
    tool_tokens,
)
from koogbook.llm.request import Request
from koogbook.messages.message import MEMORY_FACTS_MARKER, REFERENCE_NAME, SUMMARY_NAME
from koogbook.messages.model import LLModel
from koogbook.pipeline import EventLog
from koogbook.tools.tool import ToolSpec

Call = Callable[[Request], Awaitable[kb.Message]]
MODEL = LLModel("m")
NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)


class Changes(kb.Interceptor):
    """Hands on other messages than it got."""

    def __init__(
        self, feature: str, change: Callable[[tuple[kb.Message, ...]], Sequence[kb.Message]], **fields: Any
    ) -> None:
        self.feature = feature
        self.change = change
        self.fields = fields

    async def around_llm_call(self, request: Request, call: Call) -> kb.Message:
        """Send what the change makes of it."""
        return await call(replace(request, messages=tuple(self.change(request.messages)), **self.fields))


class Passes(kb.Interceptor):
    """Changes nothing."""

    async def around_llm_call(self, request: Request, call: Call) -> kb.Message:
        """Send it as it is."""
        return await call(request)


def request(*messages: kb.Message, **fields: Any) -> Request:
    """A request of these messages."""
    return Request(messages=messages, model=MODEL, **fields)


def calls(*interceptors: kb.Interceptor, executor: Any = None) -> ModelCalls:
    """The way to an executor through these interceptors."""
    return ModelCalls(executor or kb.OfflineExecutor(), EventLog("run-1", "chat-1"), interceptors)


def added(message: kb.Message, feature: str = "Notes") -> Changes:
    """An interceptor that puts a message at the end."""
    return Changes(feature, lambda messages: [*messages, message])


# ------------------------------------------------------------------------------------------- one message


@pytest.mark.parametrize(
    ("message", "layer"),
    [
        (kb.system("rules"), "system"),
        (kb.user("hello"), "history"),
        (kb.assistant("hello"), "history"),
        (kb.user(f"{MEMORY_FACTS_MARKER}: likes museums"), "memory"),
        (kb.user("likes museums", metadata={"memory": True}), "memory"),
        (kb.assistant("in short", name=SUMMARY_NAME), "compression"),
        (kb.user("a page", metadata=layer_tag("retrieval")), "retrieval"),
        (kb.system("a page", metadata={"layer": "file memory"}), "file memory"),
    ],
)
def test_a_message_says_its_layer_itself(message: kb.Message, layer: str) -> None:
    """By its role, its name, its marker or its tag. [NBK-07]"""
    assert layer_of(message) == layer


def test_a_tag_goes_before_a_mark_and_a_mark_before_the_rest() -> None:
    """Who says it goes before who put it there. [NBK-07]"""
    tagged, plain = kb.user("x", metadata=layer_tag("retrieval")), kb.user("x")
    mark = Mark("memory", "ChatMemory")

    assert layer_of(tagged, mark=mark, feature="Notes") == "retrieval"
    assert layer_of(plain, mark=mark, feature="Notes") == "memory"
    assert layer_of(plain, feature="Notes", made_for_it=True) == "added by Notes"
    assert layer_of(plain, made_for_it=True) == "instruction"


@pytest.mark.parametrize(
    ("given_layer", "near"), [("retreival", "'retrieval'"), ("file_memory", "'file memory'")]
)
def test_an_unknown_layer_is_refused_with_the_nearest_name(given_layer: str, near: str) -> None:
    """In a tag and in the registry, which keeps what it had. [NBK-07]"""
    layers = Layers()
    with pytest.raises(MessageError, match=f"Did you mean {near}"):
        layer_tag(given_layer)
    with pytest.raises(MessageError, match="Nothing was marked"):
        layers.mark(given_layer, ["a"])

    assert dict(layers.marks) == {}


@pytest.mark.parametrize("layer", ["tools", "added by Notes", "", None, 3])
def test_tools_and_what_was_added_are_no_layers_to_claim(layer: Any) -> None:
    """The one are no messages, the other is what nobody said anything of. [NBK-07]"""
    with pytest.raises(MessageError, match="There is system, history, memory"):
        layer_tag(layer)


def test_a_mark_is_given_by_ids() -> None:
    """Messages in place of ids are told so, and nothing is marked. [NBK-07]"""
    layers = Layers()
    with pytest.raises(TypeError, match=r"message\.id for message in messages"):
        layers.mark("memory", [kb.user("x")])  # type: ignore[list-item]

    assert dict(layers.marks) == {}


def test_layers_have_one_order() -> None:
    """What interceptors added comes last, in the order in which it was met. [NBK-07]"""
    assert in_order(["added by B", "memory", "added by A", "system", "memory"]) == [
        "system",
        "memory",
        "added by B",
        "added by A",
    ]
    assert set(MESSAGE_LAYERS) == set(LAYERS) - {"tools"}


def test_a_tool_costs_what_its_definition_is_long() -> None:
    """Name, description and schema go with each request. [NBK-07]"""
    short, long = (ToolSpec("find", words, '{"type":"object"}') for words in ("Find it.", "Find it. " * 50))

    assert 0 < tool_tokens(short) < tool_tokens(long)


# ------------------------------------------------------------------------------------------- a feature says it


async def test_a_feature_tags_what_it_makes() -> None:
    """A small one that puts a page into each request. [NBK-07] [EXE-03]"""

    class Pages(kb.Interceptor):
        feature = "Pages"

        async def around_llm_call(self, request: Request, call: Call) -> kb.Message:
            page = kb.user("It closes at five.", id="page", metadata=layer_tag("retrieval"))
            return await call(replace(request, messages=(*request.messages, page)))

    sent = calls(Pages())
    await sent.execute(request(kb.system("rules"), kb.user("when?")))
    layers = sent.records[0].layers

    assert [(one.layer, one.added_by) for one in layers] == [
        ("system", ""),
        ("history", ""),
        ("retrieval", "Pages"),
    ]


async def test_a_feature_marks_what_it_loads() -> None:
    """A small one that puts an old conversation into the prompt as it was, to the byte. [NBK-07]"""
    old = (kb.user("I am vegan.", id="old-1"), kb.assistant("Noted.", id="old-2"))

    class Loads(kb.Interceptor):
        feature = "Loads"

        async def around_run(self, run: Any, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
            async with run.llm.write_session() as session:
                session.append(*old)
            run.llm.calls.layers.mark("memory", [message.id for message in old], by=self.feature)
            return await call(value)

    class Installed:
        key, subscriptions, interceptors = "Loads", (), (Loads(),)

        def bind(self, context: Any) -> None:
            """Nothing for nodes."""

        async def close(self) -> None:
            """Nothing to flush."""

    class Feature:
        key = "Loads"

        def install(self, agent: Any) -> Installed:
            return Installed()

    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return (await session.request()).text

    trip.start >> answer >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip, system_prompt="rules").install(Feature())
    (record,) = (await agent.run("And now?")).calls

    assert [(one.layer, one.loaded_by) for one in record.layers] == [
        ("system", ""),
        ("memory", "Loads"),
        ("memory", "Loads"),
        ("history", ""),
    ]
    assert record.request.messages[1:3] == old


def test_a_later_mark_takes_the_place_of_an_earlier_one_and_of_no_other() -> None:
    """Several features may mark, each its own messages. [NBK-07]"""
    layers = Layers()
    layers.mark("memory", ["a", "b"], by="ChatMemory")
    layers.mark("retrieval", ["b", "c"])

    assert dict(layers.marks) == {
        "a": Mark("memory", "ChatMemory"),
        "b": Mark("retrieval"),
        "c": Mark("retrieval"),
    }


async def test_a_call_keeps_the_marks_of_its_time() -> None:
    """What is marked later is a fact of later calls. [NBK-07]"""
    sent, old = calls(), kb.user("old")
    await sent.execute(request(old))
    sent.layers.mark("memory", [old.id])
    await sent.execute(request(old))

    assert [[one.layer for one in record.layers] for record in sent.records] == [["history"], ["memory"]]


async def test_what_an_interceptor_says_nothing_of_is_added_by_it() -> None:
    """Under the name by which its feature is installed, system messages included. [NBK-07]"""
    sent = calls(added(kb.system("Be brief."), "Tone"))
    await sent.execute(request(kb.system("rules"), kb.user("x")))

    assert [one.layer for one in sent.records[0].layers] == ["system", "history", "added by Tone"]


async def test_a_tag_that_names_no_layer_is_kept_and_said() -> None:
    """The message stays where it would be without it. [NBK-07]"""
    sent = calls()
    await sent.execute(
        request(kb.user("x", metadata={"layer": "memroy"}), kb.user("y", metadata={"layer": 3}))
    )

    assert [(one.layer, one.wrong_tag) for one in sent.records[0].layers] == [
        ("history", "memroy"),
        ("history", "3"),
    ]


# ------------------------------------------------------------------------------------------- what a request adds


async def test_the_instruction_of_an_answer_that_is_data_is_a_layer(make_context: Any) -> None:
    """With the answers that did not fit, and what was wrong with them. [EXE-05] [NBK-07]"""
    context = make_context(
        kb.ScriptedExecutor(["no", "nor this", "[1]"]),
        [kb.system("rules"), kb.user("numbers?", name=REFERENCE_NAME), kb.user("which?")],
    )
    async with context.read_session() as session:
        await session.request_structured(list[int])
    first, _, third = context.calls.records

    assert [one.layer for one in first.layers] == ["system", "history", "history", "instruction"]
    assert [one.layer for one in third.layers] == ["system", "history", "history", *["instruction"] * 5]


async def test_a_request_for_a_summary_has_an_instruction_of_its_own(make_context: Any) -> None:
    """It stands in place of the agent's system message, and the conversation is quoted. [NBK-07]"""
    context = make_context(
        kb.ExtractiveExecutor(), [kb.system("rules"), kb.user("The museum opens at nine.")]
    )
    async with context.write_session() as session:
        await session.replace_history_with_tldr()
    (record,) = context.calls.records

    assert (record.request.purpose, [one.layer for one in record.layers]) == (
        "compression",
        ["instruction", "history"],
    )


# ------------------------------------------------------------------------------------------- on the way


async def test_a_record_has_the_request_as_it_was_asked_and_as_it_went_out() -> None:
    """And what each interceptor changed, in order. [NBK-07] [AGT-03]"""
    one, two, note = (kb.user(text, id=text) for text in ("one", "two", "note"))
    sent = calls(
        Changes("Drops", lambda messages: messages[1:]),
        Passes(),
        Changes("Edits", lambda messages: [messages[0].with_text("two, edited"), note]),
    )
    asked = request(one, two)
    await sent.execute(asked)
    record = sent.records[0]

    assert record.asked is asked
    assert [message.text for message in record.request.messages] == ["two, edited", "note"]
    assert [(c.feature, c.added, c.taken_out, c.changed) for c in record.changes] == [
        ("Drops", (), (0,), ()),
        ("Edits", (1,), (), ((0, 0),)),
    ]
    assert [(one.added_by, one.changed_by) for one in record.layers] == [("", ("Edits",)), ("Edits", ())]


async def test_without_interceptors_nothing_more_is_recorded() -> None:
    """What was asked is what went out. [NBK-07]"""
    sent, asked = calls(), request(kb.user("x"))
    await sent.execute(asked)

    assert (sent.records[0].asked, sent.records[0].changes) == (asked, ())
    assert sent.records[0].asked is sent.records[0].request


async def test_what_is_handed_on_as_it_is_is_no_change() -> None:
    """Neither the same request, nor an equal one. [NBK-07]"""
    sent = calls(Passes(), Changes("Copies", lambda messages: messages))
    await sent.execute(request(kb.user("x")))

    assert [(change.feature, change.is_empty) for change in sent.records[0].changes] == [("Copies", True)]


async def test_other_parts_of_a_request_that_changed_are_named() -> None:
    """Tools, model, parameters, schema, purpose; and another order. [NBK-07]"""
    sent = calls(Changes("Turns", lambda messages: messages[::-1], model=LLModel("other")))
    await sent.execute(request(kb.user("x"), kb.user("y")))
    (change,) = sent.records[0].changes

    assert (change.fields, change.reordered, change.changed) == (("model",), True, ())


async def test_each_of_several_attempts_has_its_own_changes() -> None:
    """An interceptor may ask again, with something else, or at once. [NBK-07]"""

    class Asks(kb.Interceptor):
        feature = "Asks"

        async def around_llm_call(self, request: Request, call: Call) -> kb.Message:
            await asyncio.gather(*(call(replace(request, messages=(kb.user(text),))) for text in "ab"))
            await call(replace(request, messages=(kb.user("c"),)))
            return await call(request)

    sent = calls(Asks(), added(kb.user("note")))
    await sent.execute(request(kb.user("x")))

    assert [[change.feature for change in record.changes] for record in sent.records] == [
        ["Asks", "Notes"],
        ["Asks", "Notes"],
        ["Asks", "Notes"],
        ["Notes"],
    ]


async def test_a_request_inside_an_interceptor_has_no_changes_of_the_outer_one() -> None:
    """Whether it goes through interceptors of its own or not. [NBK-07]"""
    plain, own = calls(), calls(Passes())

    class Looks(kb.Interceptor):
        async def around_llm_call(self, request: Request, call: Call) -> kb.Message:
            await plain.execute(request)
            await own.execute(request)
            return await call(request)

    await calls(added(kb.user("note")), Looks()).execute(request(kb.user("x")))

    assert [record.changes for record in (*plain.records, *own.records)] == [(), ()]


async def test_a_failed_call_keeps_what_was_changed() -> None:
    """What went out is what one wants to see of it. [NBK-07]"""
    sent = calls(added(kb.user("note")), executor=kb.OfflineExecutor(fail=True))
    with pytest.raises(ExecutorError):
        await sent.execute(request(kb.user("x")))
    record = sent.records[0]

    assert (record.error[:13], [change.added for change in record.changes]) == ("ExecutorError", [(1,)])


async def test_a_streamed_call_says_so_and_keeps_what_was_changed() -> None:
    """The chain of interceptors is the same. [EXE-05] [NBK-07]"""
    sent = calls(added(kb.user("note")))
    frames = sent.stream(request(kb.user("x")))
    while await frames.next() is not None:
        pass

    assert (sent.records[0].streamed, sent.records[0].layers[-1].layer) == (True, "added by Notes")


async def test_a_request_that_is_none_is_refused_with_the_name_of_the_interceptor() -> None:
    """Nothing is sent, and nothing recorded. [AGT-02]"""

    class Forgets(kb.Interceptor):
        feature = "Forgets"

        async def around_llm_call(self, request: Request, call: Any) -> Any:
            return await call(request.messages)

    sent = calls(Forgets())
    with pytest.raises(ExecutorError, match="The interceptor Forgets handed on tuple"):
        await sent.execute(request(kb.user("x")))

    assert sent.records == []


# ------------------------------------------------------------------------------------------- laws

IDS = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(IDS, IDS, st.sets(st.sampled_from("abcdef")))
def test_the_changes_of_a_request_account_for_every_message(
    before: list[str], after: list[str], edited: set[str]
) -> None:
    """Each is kept, changed, added or taken out, and no two stand for one; also where ids come twice."""
    old = tuple(kb.Message(role="user", parts=(), id=id, time=NOON) for id in before)
    one = {message.id: message for message in old}
    new = tuple(
        one[id].with_text("edited")
        if id in edited and id in one
        else one.get(id, kb.Message(role="user", parts=(), id=id, time=NOON))
        for id in after
    )
    change = RequestChange(feature="F", before=request(*old), after=request(*new))

    kept = [place for place in range(len(new)) if place not in change.added]
    assert sorted(new[place].id for place in kept) == sorted(
        message.id for place, message in enumerate(old) if place not in change.taken_out
    )
    assert {new[place].id for _, place in change.changed} == {
        new[place].id for place in kept if new[place].id in edited
    }
    assert change.is_empty == (old == new)


@given(st.lists(st.sampled_from(["system", "user", "assistant"]), max_size=9))
def test_every_message_has_a_layer(roles: list[Any]) -> None:
    """One each, in order."""
    messages = [kb.Message(role=role, parts=(), id=str(n), time=NOON) for n, role in enumerate(roles)]
    record = CallRecord(number=1, path="", request=request(*messages), reply=None, seconds=0.0)

    assert [one.layer for one in record.layers] == [
        "system" if role == "system" else "history" for role in roles
    ]
