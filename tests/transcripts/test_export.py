"""Writing conversations: the format is chosen, what has no place is listed, and files appear whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import TranscriptError
from koogbook.transcripts.export import Export
from koogbook.transcripts.formats import Loss, written_formats

CALL = kb.ToolCall("weather", '{"city": "Suzhou"}', "call_9x")
TALK = [
    kb.system("Be brief."),
    kb.user("Rain?"),
    kb.assistant(calls=[CALL]),
    kb.tool_result(CALL, "light rain"),
    kb.assistant("A little."),
]


def saved(folder: Path, value: object, name: str = "chat.json") -> Path:
    """A file with this JSON."""
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", written_formats())
def test_every_written_format_keeps_roles_texts_and_pairs(name: str, tmp_path: Path) -> None:
    """What was said, called and answered comes back from a file of each [EXE-07]."""
    kb.save_transcript(TALK, tmp_path / "talk.json", name)
    back = kb.load_transcript(tmp_path / "talk.json", format=name)

    assert [(one.role, one.text) for one in back] == [(one.role, one.text) for one in TALK]
    assert [(part.tool, json.loads(part.args)) for one in back for part in one.calls] == [
        ("weather", {"city": "Suzhou"})
    ]
    assert [defect for defect in back.defects if defect.kind != "reused_call_id"] == []


def test_a_transcript_goes_back_to_the_format_that_it_came_from(tmp_path: Path) -> None:
    """Where none is named [EXE-07]."""
    value = {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}

    done = kb.export_transcript(kb.load_transcript(saved(tmp_path, value)))

    assert (done.format, done.value, done.losses) == ("sharegpt", value, ())


def test_messages_built_in_code_become_openai_chat() -> None:
    """The format that most programs read."""
    assert kb.export_transcript(TALK).format == "openai-chat"


def test_a_format_that_is_only_read_goes_to_openai_chat(tmp_path: Path) -> None:
    """Nothing else could be meant where none is named."""
    node = {"id": "a", "parent": None, "children": []}
    said = {
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["Hi"]},
        "create_time": 1.0,
    }
    tree = [{"title": "t", "current_node": "a", "mapping": {"a": {**node, "message": said}}}]

    assert kb.export_transcript(kb.load_transcript(saved(tmp_path, tree))).format == "openai-chat"


def test_a_format_that_is_only_read_is_refused_where_it_is_named() -> None:
    """With those that are written."""
    with pytest.raises(TranscriptError, match=r"read and not written\. Choose one of: sharegpt, langchain"):
        kb.export_transcript(TALK, "chatgpt")


def test_an_unknown_format_is_refused_with_the_nearest_name() -> None:
    """A slip of the pen costs nothing."""
    with pytest.raises(TranscriptError, match="Did you mean 'anthropic'"):
        kb.export_transcript(TALK, "antropic")


def test_what_a_file_says_besides_its_messages_is_a_loss_in_another_format(tmp_path: Path) -> None:
    """It is the format's own; in its own format it stays [EXE-07]."""
    path = saved(tmp_path, {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    loaded = kb.load_transcript(path)

    assert str(kb.export_transcript(loaded, "sharegpt").losses[0]) == (
        "what the file said besides the messages ('model') is openai-chat's own"
    )
    assert kb.export_transcript(loaded, "openai-chat").value["model"] == "m"


def test_an_id_that_a_program_gave_is_a_loss_where_there_is_no_place_for_it() -> None:
    """ShareGPT has no ids of calls [EXE-07]."""
    assert Loss(2, "the id 'call_9x' of a call of weather") in kb.export_transcript(TALK, "sharegpt").losses


def test_losses_of_one_kind_are_told_in_one_line() -> None:
    """Sixty messages without a place for their time are one fact for a reader."""
    told = repr(Export("sharegpt", [], tuple(Loss(at, "its time") for at in range(60))))

    assert told == "<sharegpt: 60 things have no place in it\n  60 messages: its time>"


def test_losses_that_differ_are_told_one_by_one_up_to_a_limit() -> None:
    """The rest is counted; all of them are in the list."""
    told = repr(Export("sharegpt", [], tuple(Loss(at, f"thing {at}") for at in range(30))))

    assert told.splitlines()[1] == "  message 0: thing 0"
    assert told.splitlines()[-1] == "  and 10 more>"


def test_a_file_of_lines_gets_one_line(tmp_path: Path) -> None:
    """So that others can follow [EXE-07]."""
    kb.save_transcript(TALK, tmp_path / "talk.jsonl")

    assert (tmp_path / "talk.jsonl").read_text(encoding="utf-8").count("\n") == 1
    assert len(kb.load_transcript(tmp_path / "talk.jsonl")) == len(TALK)


def test_many_are_written_one_on_a_line(tmp_path: Path) -> None:
    """And come back one by one [EXE-07]."""
    done = kb.save_transcripts(([kb.user(f"Question {n}")] for n in range(3)), tmp_path / "many.jsonl")

    assert [one.messages[0].text for one in kb.load_transcripts(tmp_path / "many.jsonl")] == [
        "Question 0",
        "Question 1",
        "Question 2",
    ]
    assert [one.value for one in done] == [None] * 3


def test_a_file_is_replaced_only_when_all_is_written(tmp_path: Path) -> None:
    """A history that fails half-way leaves what was there."""

    def histories() -> Iterator[list[kb.Message]]:
        yield [kb.user("new")]
        raise RuntimeError("no more")

    path = saved(tmp_path, [{"role": "user", "content": "old"}], "many.jsonl")
    with pytest.raises(RuntimeError):
        kb.save_transcripts(histories(), path)

    assert kb.load_transcript(path).messages[0].text == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["many.jsonl"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Nothing was written."""
    with pytest.raises(TranscriptError, match="Choose another folder"):
        kb.save_transcript(TALK, tmp_path / "none" / "talk.json")


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([{"role": "user", "content": "Hi"}], "Item 0 of the history is dict, no message"),
        ([kb.user("Hi"), 7], "Item 1 of the history is int, no message"),
        ({"messages": []}, "not dict"),
        ("Hi", "not str"),
        (None, "not NoneType"),
    ],
)
def test_what_is_no_history_is_a_type_error_that_names_the_first_such_item(history: Any, says: str) -> None:
    """With the line that makes one of JSON values [KB-090]."""
    with pytest.raises(
        TypeError, match=rf"{says}\. Nothing was written.*kb\.as_transcript\(values\)"
    ) as caught:
        kb.export_transcript(history)

    assert isinstance(caught.value, TranscriptError)


@pytest.mark.parametrize("name", [["anthropic"], 7, {}], ids=repr)
def test_a_format_that_is_no_name_is_refused(name: Any) -> None:
    """With those that there are."""
    with pytest.raises(TranscriptError, match="There is no format"):
        kb.export_transcript(TALK, name)


HALF = {"role": "user", "content": "cut \ud83d"}


@pytest.mark.parametrize(
    "value",
    [
        [HALF],
        {
            "model": "m",
            "messages": [HALF, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}],
        },
        {"conversations": [{"from": "human", "value": "cut \ud83d"}]},
    ],
    ids=["openai-chat", "anthropic", "sharegpt"],
)
def test_what_was_mended_stays_mended(value: Any) -> None:
    """A server refuses every request with half a character; the defect says where it was [KB-041]."""
    done = kb.export_transcript(kb.as_transcript(value))

    assert "cut \\ufffd" in json.dumps(done.value)
    assert "half of a pair" not in str(done.losses)


def test_half_a_character_of_a_message_made_in_code_is_replaced_and_listed(tmp_path: Path) -> None:
    """Nobody has heard of it before [KB-041]."""
    done = kb.save_transcript(
        [kb.user("fine"), kb.assistant("cut \ud83d")], tmp_path / "chat.json", "sharegpt"
    )

    assert Loss(1, "half of a pair of characters, replaced by U+FFFD") in done.losses
    assert not any(loss.position == 0 and "half" in loss.text for loss in done.losses)
    assert kb.load_transcript(tmp_path / "chat.json").defects == ()


@pytest.mark.parametrize(
    "value",
    [
        {"traj": [{"role": "user", "content": "Hi"}], "reward": 1},
        {"conversation": [{"role": "user", "content": "Hi"}]},
    ],
)
def test_the_list_of_messages_keeps_its_name(value: dict[str, Any]) -> None:
    """Whoever reads the file looks for it there [EXE-07]."""
    done = kb.export_transcript(kb.as_transcript(value))

    assert (done.value, done.losses) == (value, ())


def test_the_name_of_the_list_is_no_loss_and_no_field_of_another_format() -> None:
    """It is how the file was spelled."""
    done = kb.export_transcript(kb.as_transcript({"traj": [{"role": "user", "content": "Hi"}]}), "anthropic")

    assert (done.value, done.losses) == ([{"role": "user", "content": "Hi"}], ())


def test_a_file_that_has_the_key_of_the_name_itself_keeps_it() -> None:
    """No file is misread for it."""
    value = {"traj": [{"role": "user", "content": "Hi"}], "openai_list": 7}
    done = kb.export_transcript(kb.as_transcript(value))

    assert done.value == {"messages": value["traj"], "openai_list": 7}


@pytest.mark.parametrize("name", ["anthropic", "langchain", "openai-chat"])
@pytest.mark.parametrize("field", ["create_time", "created", "timestamp"])
def test_a_time_that_goes_out_is_no_loss(name: str, field: str) -> None:
    """It stands in the file where it stood [EXE-07]."""
    said = {"role": "user", "content": "Hi", field: 1714585031}
    forms = {
        "anthropic": [
            said,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        ],
        "langchain": [{"type": "human", "content": "Hi", field: 1714585031}],
        "openai-chat": [said],
    }
    found = kb.as_transcript(forms[name])
    done = kb.export_transcript(found)

    assert (done.format, done.value, done.losses) == (name, forms[name], ())


def test_several_conversations_are_referred_to_the_call_for_them() -> None:
    """A list of transcripts is none [EXE-07]."""
    with pytest.raises(TypeError, match=r"Item 0 of the history is Transcript.*kb\.save_transcripts"):
        kb.export_transcript([kb.as_transcript([{"role": "user", "content": "a"}])])  # type: ignore[list-item]
