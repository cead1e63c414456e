"""Mistakes that a beginner makes end in a sentence that says what to write."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import WrongLoopError
from koogbook.runtime.storage import Storage


def agent_with(**fields: Any) -> kb.Agent:
    """An agent with these arguments."""
    return kb.Agent(**{"executor": kb.OfflineExecutor(), "model": "offline", **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"executor": "gpt-4"}, "executor is what answers requests"),
        (
            {"executor": kb.OfflineExecutor},
            r"not the class OfflineExecutor\. Make one: kb\.OfflineExecutor\(",
        ),
        (
            {"strategy": kb.chat_strategy},
            r"the function chat_strategy\. Call it: strategy=kb\.chat_strategy\(",
        ),
        ({"strategy": lambda: None}, r"Make one: kb\.strategy\(name\)"),
        ({"strategy": "chat"}, r"not 'chat'\. Make one: kb\.strategy\(name\)"),
        ({"strategy": kb.strategy("trip").subgraph("part")}, r"of one, 'trip/part'\. Give the whole: 'trip'"),
        ({"strategy": kb.strategy("trip").finish}, r"of one, 'trip/finish'\. Give the whole: 'trip'"),
        ({"model": None}, "A model is a name"),
        ({"system_prompt": 5}, "system_prompt is a text"),
        ({"tools": len}, "tools is a list"),
        ({"tools": "weather"}, "tools is a list"),
        ({"session_wait_seconds": "10"}, "bounded by 0 or more seconds"),
    ],
)
def test_an_argument_of_another_kind_is_named(fields: dict[str, Any], words: str) -> None:
    """The message names the argument and shows the form that is meant. [AGT-01]"""
    with pytest.raises((TypeError, ValueError), match=words):
        agent_with(**fields)


async def test_a_session_id_is_a_text() -> None:
    """A number would be another conversation than the same number as text. [AGT-01]"""
    session_id: Any = 5

    with pytest.raises(TypeError, match="session_id is a text"):
        await agent_with().run("x", session_id)


async def test_storage_takes_keys_and_no_names() -> None:
    """The message shows how a key is made. [GRA-11]"""
    strategy = kb.strategy("s")

    @strategy.node
    async def keep(ctx: kb.Context, value: Any) -> Any:
        name: Any = "count"
        ctx.storage.set(name, 1)

    strategy.start >> keep >> strategy.finish
    with pytest.raises(kb.errors.StorageKeyError, match=r"kb\.storage_key"):
        await agent_with(strategy=strategy).run("x")


@pytest.mark.parametrize(
    ("use", "line"),
    [
        (lambda storage, key: storage[key], "ctx.storage.get(kb.storage_key('wish', str))"),
        (lambda storage, key: storage["wish"], "ctx.storage.get(kb.storage_key('count', int))"),
        (
            lambda storage, key: storage.__setitem__(key, "x"),
            "ctx.storage.set(kb.storage_key('wish', str), value)",
        ),
        (lambda storage, key: key in storage, "ctx.storage.get(kb.storage_key('wish', str)) is not None"),
    ],
    ids=["read", "name", "set", "in"],
)
def test_storage_is_no_dictionary(use: Any, line: str) -> None:
    """The message is the line to write. [GRA-11]"""
    with pytest.raises(kb.errors.StorageKeyError) as refused:
        use(Storage(), kb.storage_key("wish", str))

    assert str(refused.value) == f"ctx.storage is no dictionary. Nothing was changed. Write: {line}."


def test_storage_is_nothing_to_go_through() -> None:
    """That it has brackets, to say what to write, makes no sequence of it. [GRA-11]"""
    storage: Any = Storage()
    with pytest.raises(TypeError, match="not iterable"):
        list(storage)


@pytest.mark.parametrize(
    ("name", "type", "words"),
    [
        (5, str, r"name of a storage key is a text, not 5\. No key was made"),
        ("wish", "str", r"'str' is none\. .* without quotation marks: kb\.storage_key\('wish', str\)"),
        ("wish", "a text", r"'a text' is none\. .*kb\.storage_key\('wish', str\)"),
        ("wish", (int, str), r"\(<class 'int'>, <class 'str'>\) is none"),
    ],
)
def test_a_storage_key_is_of_a_name_and_a_type(name: Any, type: Any, words: str) -> None:
    """What is neither is refused where the key is made, and not where it is saved. [GRA-11]"""
    with pytest.raises(kb.errors.StorageKeyError, match=words):
        kb.storage_key(name, type)


class Forgot:
    """A strategy whose method is no coroutine."""

    def compress(self, session: Any, memory_messages: Any) -> None:
        """Plain instead of async."""


@pytest.mark.parametrize(
    "strategy", [kb.WholeHistory, Forgot(), "whole"], ids=["class", "plain method", "word"]
)
async def test_what_is_no_compression_strategy_is_named(strategy: Any) -> None:
    """A class in place of an object, a plain method, a word: nothing is changed. [CMP-10]"""
    with pytest.raises(kb.errors.CompressionError, match="Nothing was changed"):
        await kb.compress([kb.user("x")], strategy, executor=kb.OfflineExecutor())


@pytest.mark.parametrize("script", ["hello", kb.ToolCall("f"), {"a": 1}], ids=repr)
def test_a_script_is_a_list_of_answers(script: Any) -> None:
    """A text would be taken letter by letter. [EXE-03]"""
    with pytest.raises(TypeError, match=r"ScriptedExecutor\(\["):
        kb.ScriptedExecutor(script)


@pytest.mark.parametrize("answer", [None, 5, {"text": "hi"}, ["hi"]], ids=repr)
async def test_an_answer_of_another_kind_is_named(answer: Any) -> None:
    """The message says which answer it is. [EXE-03]"""
    with pytest.raises(kb.errors.ExecutorError, match="Answer 1 of the script"):
        await kb.ScriptedExecutor([answer]).execute(kb.Request(messages=(), model=kb.LLModel("m")))


def test_a_path_in_place_of_a_store_is_named() -> None:
    """The line to write is in the message. [PER-03]"""
    path: Any = "x.db"

    with pytest.raises(TypeError, match=r"kb\.SqliteCheckpoints"):
        kb.Persistence(path)


def test_a_script_without_a_loop_runs_at_once() -> None:
    """``run_sync`` is what one tries first. [KB-131]"""
    assert kb.Agent(kb.OfflineExecutor(), "offline").run_sync("hi").output == "user messages: 1"


async def test_where_a_loop_runs_it_says_what_to_write() -> None:
    """One line, nothing is run, and no coroutine is left that nobody awaits. [KB-131]"""
    agent = kb.Agent(kb.OfflineExecutor(), "offline")
    with pytest.raises(WrongLoopError, match=r"Write: run = await agent\.run\(...\)"):
        agent.run_sync("hi")

    assert agent.last_run is None
