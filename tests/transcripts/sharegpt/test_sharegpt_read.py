"""One conversation of ShareGPT turns: what becomes of them, and what is listed as odd."""

from __future__ import annotations

import json
from typing import Any

import pytest

from koogbook.messages.parts import Text, ToolCall, ToolResult
from koogbook.transcripts.load import as_transcript
from koogbook.transcripts.transcript import Transcript


def turn(who: str, value: Any) -> dict[str, Any]:
    """One turn."""
    return {"from": who, "value": value}


def call(name: str, arguments: Any) -> dict[str, Any]:
    """A turn with one call."""
    return turn("function_call", json.dumps({"name": name, "arguments": arguments}))


def read(*turns: Any, **beside: Any) -> Transcript:
    """The conversation of these turns."""
    return as_transcript({"conversations": list(turns), **beside})


def odd(found: Transcript) -> list[tuple[str, int, str]]:
    """Kind, position and place of each defect."""
    return [(one.kind, one.position, one.where) for one in found.defects]


AREAS = [
    turn("human", "area?"),
    turn("function_call", '{"name":"area","arguments":{"w":5}}'),
    turn("function_call", '{"name":"area","arguments":{"w":6}}'),
    turn("observation", '{"a":15}'),
    turn("observation", '{"a":18}'),
    turn("gpt", "15 and 18"),
]


def test_calls_in_a_row_are_one_message_and_observations_answer_them_in_order() -> None:
    """A data set with several calls in a row loads whole [KB-151]."""
    found = read(*AREAS, tools="[]")
    calls, (first,), (second,) = (one.parts for one in found.messages[1:4])

    assert [one.role for one in found] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [(part.tool, json.loads(part.args)) for part in found.messages[1].calls] == [
        ("area", {"w": 5}),
        ("area", {"w": 6}),
    ]
    assert (first, second) == (
        ToolResult('{"a":15}', "area", calls[0].id),
        ToolResult('{"a":18}', "area", calls[1].id),
    )
    assert (found.format, found.defects) == ("sharegpt", ())


def test_tools_that_are_json_text_are_parsed() -> None:
    """They are often text within the JSON [KB-151]."""
    found = read(*AREAS, tools='[{"name": "area"}]')

    assert found.extra["tools"] == [{"name": "area"}]


def test_tools_that_are_a_list_stay_one() -> None:
    """Both spellings are in use."""
    assert read(*AREAS, tools=[{"name": "area"}]).extra == {"tools": [{"name": "area"}]}


def test_tools_that_are_no_json_are_listed_and_kept() -> None:
    """A broken field beside the turns does not cost the conversation [EXE-07]."""
    found = read(*AREAS, tools="[area")

    assert (odd(found), found.extra["tools"]) == ([("bad_content", 0, "$.tools")], "[area")


def test_no_tools_are_no_defect() -> None:
    """An empty text says that there are none."""
    assert read(*AREAS, tools="").defects == ()


def test_an_unknown_speaker_is_listed_with_its_index_and_kept() -> None:
    """It is not dropped [KB-151]."""
    found = read(turn("human", "Hi"), turn("gpt", "Hello"), turn("narrator", "It rains."))

    assert odd(found) == [("unknown_role", 2, "$.conversations[2].from")]
    assert found.messages[2].text == "It rains."


@pytest.mark.parametrize(
    ("who", "role"),
    [
        ("system", "system"),
        ("human", "user"),
        ("user", "user"),
        ("gpt", "assistant"),
        ("chatgpt", "assistant"),
        ("assistant", "assistant"),
        ("bing", "assistant"),
        ("bard", "assistant"),
        ("tool", "tool"),
        ("function_response", "tool"),
        ("observation", "tool"),
    ],
)
def test_a_speaker_becomes_one_of_the_four_roles(who: str, role: str) -> None:
    """Sets name them in many ways."""
    assert read(turn("human", "Hi"), call("f", {}), turn(who, "x")).messages[-1].role == role


def test_a_text_right_before_calls_is_in_their_message() -> None:
    """A model says something and calls in one answer."""
    found = read(turn("human", "Hi"), turn("gpt", "Let me see."), call("clock", {}))

    assert found.messages[1].parts == (Text("Let me see."), ToolCall("clock", "{}", "call_2"))
    assert [one.kind for one in found.defects] == ["open_call"]


def test_calls_in_a_list_are_as_many() -> None:
    """Some sets write parallel calls into one turn."""
    calls = [{"name": "clock", "arguments": {}}, {"name": "rain", "arguments": '{"in": "Bonn"}'}]
    found = read(turn("human", "Hi"), turn("function_call", json.dumps(calls)))

    assert [(one.tool, one.args) for one in found.messages[1].calls] == [
        ("clock", "{}"),
        ("rain", '{"in": "Bonn"}'),
    ]


def test_an_observation_with_a_list_answers_the_calls_of_a_list() -> None:
    """Where calls stand in one turn, so do their results."""
    calls = [{"name": "clock", "arguments": {}}, {"name": "rain", "arguments": {}}]
    found = read(
        turn("human", "Hi"),
        turn("function_call", json.dumps(calls)),
        turn("observation", '["12:00", {"mm": 3}]'),
    )

    assert [(one.output, one.tool) for one in found.messages[2].results] == [
        ("12:00", "clock"),
        ('{"mm": 3}', "rain"),
    ]
    assert found.defects == ()


def test_a_call_that_is_no_json_is_listed_and_kept_as_text() -> None:
    """What the model wrote is still there [EXE-07]."""
    found = read(turn("human", "Hi"), turn("function_call", "clock()"))

    assert odd(found) == [("bad_call", 1, "$.conversations[1].value")]
    assert found.messages[1].parts == (Text("clock()"),)


def test_broken_arguments_are_listed_and_kept() -> None:
    """The arguments are the model's words, broken or not."""
    found = read(turn("human", "Hi"), call("clock", "{zone"), turn("observation", "12"))

    assert ([one.kind for one in found.defects], found.messages[1].calls[0].args) == (
        ["broken_arguments"],
        "{zone",
    )


@pytest.mark.parametrize(
    ("turns", "defects"),
    [
        ([("gpt", "Hello"), ("human", "Hi")], [("missing_turn", 0, "$.conversations[0]")]),
        ([("human", "Hi"), ("human", "You?")], [("missing_turn", 1, "$.conversations[1]")]),
        ([("human", "Hi"), ("gpt", "a"), ("gpt", "b")], [("missing_turn", 2, "$.conversations[2]")]),
        ([("human", "Hi"), ("gpt", "")], [("empty_content", 1, "$.conversations[1].value")]),
        ([("human", "Hi"), ("gpt", None)], [("empty_content", 1, "$.conversations[1].value")]),
        ([("human", "Hi"), ("gpt", {"a": 1})], [("bad_content", 1, "$.conversations[1].value")]),
        ([("human", "Hi"), ("observation", "3")], [("orphan_result", 1, "$.conversations[1]")]),
        ([("system", "Be brief."), ("human", "Hi")], []),
    ],
)
def test_a_turn_that_is_missing_or_empty_is_listed_and_all_others_are_kept(
    turns: list[tuple[str, Any]], defects: list[tuple[str, int, str]]
) -> None:
    """A sample is not dropped because of its order [KB-151]."""
    found = read(*(turn(*one) for one in turns))

    assert (len(found), odd(found)) == (len(turns), defects)


def test_what_is_no_turn_is_listed() -> None:
    """The turns around it load [EXE-07]."""
    found = read(turn("human", "Hi"), 7, turn("gpt", "Hello"))

    assert ([one.text for one in found], odd(found)) == (
        ["Hi", "Hello"],
        [("bad_message", 1, "$.conversations[1]")],
    )


def test_a_system_prompt_beside_the_turns_is_the_first_message() -> None:
    """The model had it before it."""
    found = read(turn("human", "Hi"), turn("gpt", "Hello"), system="Be brief.")

    assert (found.messages[0].role, found.messages[0].text) == ("system", "Be brief.")


@pytest.mark.parametrize(
    "document",
    [
        [turn("human", "Hi")],
        {"items": [turn("human", "Hi")], "id": "x"},
        {"messages": [turn("human", "Hi")]},
        {"messages": [{"role": "human", "content": "Hi"}]},
        {"conversations": [{"role": "user", "content": "Hi"}, {"role": "function_call", "content": "{}"}]},
        turn("human", "Hi"),
        {"conversations": [{"role": "user", "value": "Hi"}, {"role": "assistant", "value": "Hello"}]},
        {"conversations": [{"from": "human", "content": "Hi"}, {"from": "gpt", "content": "Hello"}]},
        [{"role": "User", "content": "Hi"}, {"role": "Assistant", "content": "Hello"}],
        [{"role": "human", "content": "Hi"}, {"role": "ai", "content": "Hello"}],
    ],
)
def test_the_format_is_known_in_every_shape(document: Any) -> None:
    """Sets differ in the name of the list and of its fields."""
    found = as_transcript(document)

    assert (found.format, found.messages[0].role, found.messages[0].text) == ("sharegpt", "user", "Hi")
    assert [one.role for one in found][1:2] in ([], ["assistant"])
    assert "unknown_role" not in [one.kind for one in found.defects]


def test_edges_of_a_graph_are_no_turns() -> None:
    """They have the same names for their fields."""
    with pytest.raises(TypeError, match="no conversation"):
        as_transcript([{"from": "user", "to": "model", "value": 3}])


def test_an_observation_with_another_number_of_results_is_one_result() -> None:
    """Nobody knows which of them belongs to which call."""
    calls = [{"name": "clock", "arguments": {}}, {"name": "rain", "arguments": {}}]
    found = read(
        turn("human", "Hi"), turn("function_call", json.dumps(calls)), turn("observation", "[1, 2, 3]")
    )

    assert [(one.output, one.tool) for one in found.messages[2].results] == [("[1, 2, 3]", "clock")]


def test_a_chat_message_that_says_whom_it_is_from_is_no_turn() -> None:
    """Some programs add a name of their own."""
    assert as_transcript([{"role": "user", "content": "Hi", "from": "user"}]).format == "openai-chat"
