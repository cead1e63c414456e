"""Answers that came to an end and are not whole: what is said of them, for every executor."""

from __future__ import annotations

import json
from typing import Any

import pytest
from around_world import asked, in_a_run, told
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import StructuredOutputError
from koogbook.events import Notice
from koogbook.llm.cached import CachedExecutor
from koogbook.llm.cut_answers import is_whole_json
from koogbook.messages.model import LLMParams


def _cut(text: str = "half an", finish_reason: str | None = "length", **fields: Any) -> kb.Message:
    return kb.assistant(text, finish_reason=finish_reason, **fields)


async def _notices(*answers: kb.Message, **fields: Any) -> list[str]:
    calls = in_a_run(kb.ScriptedExecutor(answers))
    for _ in answers:
        await calls.execute(asked(**fields))
    assert {one.kind for one in told(calls, Notice)} <= {"answer cut"}
    return [one.text for one in told(calls, Notice)]


@pytest.mark.parametrize("reason", ["length", "LENGTH", "max_tokens", "max_output_tokens"])
async def test_an_answer_that_a_limit_cut_is_told(reason: str) -> None:
    """With the limit, and how to allow more [EXE-04]."""
    notices = await _notices(_cut(finish_reason=reason), params=LLMParams(max_tokens=50))

    assert notices == [
        f"request 1: the answer was cut by the limit of tokens (finish_reason {reason!r}, max_tokens=50) and is not "
        "whole. Allow more, session.change_params(max_tokens=None), or ask for less."
    ]


async def test_where_nobody_set_a_limit_the_notice_says_how_to() -> None:
    """The provider has one of its own [EXE-04]."""
    notices = await _notices(_cut())

    assert "(finish_reason 'length') and is not whole" in notices[0]
    assert "session.change_params(max_tokens=...)" in notices[0]


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "refusal"])
async def test_an_answer_that_a_filter_ended_is_told(reason: str) -> None:
    """Asking again does not help [EXE-04]."""
    notices = await _notices(_cut(finish_reason=reason))

    assert notices == [
        f"request 1: the answer was ended by a filter (finish_reason {reason!r}) and may not be whole. Change what is "
        "asked; the same request will be stopped again."
    ]


@pytest.mark.parametrize("reason", [None, "stop", "tool_call", "end_turn", ""])
async def test_an_answer_that_ended_by_itself_is_whole(reason: str | None) -> None:
    """There is nothing to say [EXE-04]."""
    assert await _notices(_cut(finish_reason=reason)) == []


@pytest.mark.parametrize(
    ("args", "half"), [('{"city": "Bei', True), ('{"city": "Beijing"}', False), ("", False)]
)
async def test_a_tool_call_that_was_cut_is_named(args: str, half: bool) -> None:
    """Its arguments are no JSON; those of a whole one are [EXE-04]."""
    notices = await _notices(_cut("", calls=[kb.ToolCall("search", args)]))

    assert ("not whole, nor are the arguments of its call of search." in notices[0]) is half


async def test_a_cut_answer_is_told_in_a_stream_and_from_the_cache_as_well(make_context: Any) -> None:
    """Every time that it is given [EXE-04, EXE-05]."""
    context = make_context(CachedExecutor(kb.ScriptedExecutor([_cut()])), [kb.user("x")])
    async with context.read_session() as session:
        async for _ in session.request_streaming():
            pass
        await session.request()

    notices = [one for one in context.log.events if isinstance(one, Notice)]
    assert [(one.kind, one.text.partition(" by ")[0]) for one in notices] == [
        ("answer cut", "request 1: the answer was cut"),
        ("answer cut", "request 2: the answer was cut"),
    ]


# ------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("text", ["[1, 2", "```json\n[1, 2", "", "Here are the numbers: "], ids=repr)
async def test_data_that_a_limit_cut_is_not_paid_for_again(make_context: Any, text: str) -> None:
    """The next answer would be cut as well; the error says what to change [EXE-05]."""
    executor = kb.ScriptedExecutor([_cut(text), "[1]"])
    context = make_context(executor, [kb.user("x")])
    async with context.write_session() as session:
        with pytest.raises(StructuredOutputError, match=r"cut by the limit of tokens.*max_tokens=") as caught:
            await session.request_structured(list[int])
        assert len(session.prompt) == 1

    assert len(executor.requests) == 1
    assert [answer.text for answer in caught.value.answers] == [text]


async def test_data_that_is_whole_and_wrong_is_asked_for_again_though_a_limit_was_met(
    make_context: Any,
) -> None:
    """The limit is not why it does not fit [EXE-05]."""
    context = make_context(kb.ScriptedExecutor([_cut('["a"]'), "[1]"]), [kb.user("x")])
    async with context.write_session() as session:
        reply = await session.request_structured(list[int])

    assert (reply.value, reply.attempts) == ([1], 2)


async def test_data_that_fits_is_taken_though_a_limit_was_met(make_context: Any) -> None:
    """What came is all that was wanted [EXE-05]."""
    context = make_context(kb.ScriptedExecutor([_cut("```json\n[1]\n```")]), [kb.user("x")])
    async with context.write_session() as session:
        reply = await session.request_structured(list[int])

    assert (reply.value, reply.attempts) == ([1], 1)


@given(st.lists(st.text(max_size=3) | st.integers(), min_size=1, max_size=3), st.data())
def test_what_was_cut_off_a_json_list_is_seen(value: list[Any], data: st.DataObject) -> None:
    """Wherever that was [EXE-05]."""
    whole = json.dumps(value)
    cut = data.draw(st.integers(0, len(whole) - 1))

    assert is_whole_json(whole)
    assert not is_whole_json(whole[:cut])
