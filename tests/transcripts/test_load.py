"""Files: which shapes and encodings load, and how those that do not are refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from koogbook.errors import TranscriptError
from koogbook.transcripts.load import load_transcript, load_transcripts, sample_transcript

HELLO = {"role": "user", "content": "Hello"}
BYE = {"role": "user", "content": "Bye"}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """A function that writes a file and returns its path; values that are no bytes become JSON."""

    def write_file(content: Any, name: str = "chat.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write_file


@pytest.mark.parametrize(
    "document",
    [
        [HELLO],
        {"messages": [HELLO]},
        {"messages": [HELLO], "model": "m"},
        [{"messages": [HELLO]}],
        [{"traj": [HELLO], "reward": 1.0}],
        [{"conversation": [HELLO]}],
        [[HELLO]],
        {"conversations": [{"messages": [HELLO]}]},
        HELLO,
    ],
)
def test_a_conversation_is_found_in_every_usual_shape(write: Any, document: Any) -> None:
    """A bare list, an object around it, and lists of these are all in use [EXE-07]."""
    transcript = load_transcript(write(document))

    assert [one.text for one in transcript.messages] == ["Hello"]
    assert (transcript.format, transcript.source, transcript.defects) == ("openai-chat", "chat.json", ())


def test_the_index_chooses_among_several_conversations(write: Any) -> None:
    """Counting starts at 0."""
    transcript = load_transcript(write([{"messages": [HELLO]}, {"messages": [BYE]}]), index=1)

    assert (transcript.messages[0].text, transcript.index) == ("Bye", 1)


def test_an_index_out_of_range_says_how_many_there_are(write: Any) -> None:
    """The reader learns which indexes would do."""
    path = write([{"messages": [HELLO]}, {"messages": [BYE]}])

    with pytest.raises(TranscriptError, match=r"has 2 conversations; index=2 .* Use index=0 to index=1"):
        load_transcript(path, index=2)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["chat.json", "chat.jsonl"])
def test_the_byte_order_mark_tells_the_encoding(write: Any, encoding: str, name: str) -> None:
    """Windows programs write one; without it the file is UTF-8."""
    body = json.dumps({"messages": [{"role": "user", "content": "你好,雨"}]}, ensure_ascii=False)

    assert load_transcript(write(body.encode(encoding), name)).messages[0].text == "你好,雨"


def test_what_stands_beside_the_messages_is_kept(write: Any) -> None:
    """Tools and model belong to the conversation [EXE-07]."""
    transcript = load_transcript(write({"model": "m", "messages": [HELLO], "tools": []}))

    assert transcript.extra == {"model": "m", "tools": []}


def test_a_path_and_its_text_load_the_same(write: Any) -> None:
    """A source may be a string or a Path."""
    path = write([HELLO])

    assert load_transcript(str(path)) == load_transcript(path)


FOREIGN = {
    "Gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "a Gemini conversation": [{"role": "user", "parts": [{"text": "Hi"}]}],
    "AI Studio": {"chunkedPrompt": {"chunks": [{"text": "Hi"}]}},
    "Gemini API": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]},
    "Jupyter notebook": {"cells": [], "nbformat": 4},
    "Alpaca": [{"instruction": "Say hi", "output": "Hi"}],
    "pairs of a prompt": [{"prompt": "Say hi", "completion": "Hi"}],
    "choices": {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_another_format_is_refused_by_its_name(write: Any, name: str) -> None:
    """The reader learns what the file is, not just that it is wrong [EXE-07]."""
    path = write(FOREIGN[name])

    with pytest.raises(TranscriptError, match=rf"looks like .*{name}.* is not read. Nothing was loaded. "):
        load_transcript(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"%PDF-1.7 ...", "is a PDF document"),
        (b"PK\x03\x04 ...", "is a zip archive"),
        (b"\x1f\x8b\x08 ...", "is a gzip archive"),
        (b"\x00\x01\x02\x03", "is a binary file"),
        (b"<!DOCTYPE html><html>", "looks like an HTML page: .* probably asked for a login"),
        (b"name,age\nanna,3\nben,4\n", "looks like comma-separated values"),
        (b"Dear diary,\nnothing happened.", "looks like plain text"),
        (b" \n \n", "nothing but white space"),
        (b"", "is empty .0 bytes., likely an interrupted save. Export"),
        (b"\0" * 9, "has nothing but zero bytes"),
        (b'[{"role": "user", "content": "Hel', "ends in the middle of the JSON"),
        (b'[{"role": "user", "content": NaN}]', "NaN is no JSON number"),
        (b'[{"role": user}]', "is broken JSON"),
        (b'[{"role": "user", "content": "\xff"}]', "is no utf-8 text"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "no messages inside"),
        (b'{"messages": []}', "no messages inside"),
        (b'{"weather": "sunny"}', "is no conversation: an object with 'weather'"),
        (b"[1, 2, 3]", "is no conversation: a list of 3"),
    ],
)
def test_a_file_that_is_no_conversation_is_refused_with_the_reason(
    write: Any, content: bytes, says: str
) -> None:
    """One clear message each, in place of whatever the decoder would say [EXE-07]."""
    path = write(content)

    with pytest.raises(TranscriptError, match=says):
        load_transcript(path)


def test_an_earlier_version_of_an_empty_file_is_offered(write: Any) -> None:
    """An editor or a program may have kept one [KB-112]."""
    write([HELLO], "chat.json.bak")
    path = write(b"")

    with pytest.raises(TranscriptError, match=r"A previous version of 38 bytes .*chat.json.bak'\)"):
        load_transcript(path)


def test_a_zip_archive_says_which_file_to_unpack(tmp_path: Path) -> None:
    """Exports come as such archives [EXE-07]."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", "{}")
        archive.writestr("data/conversations.json", "[]")

    with pytest.raises(TranscriptError, match=r"'data/conversations.json' and 1 more inside.*Unpack it"):
        load_transcript(path)


def test_a_zip_archive_of_something_else_is_no_conversation(tmp_path: Path) -> None:
    """A text document is one."""
    path = tmp_path / "letter.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")

    with pytest.raises(TranscriptError, match=r"is a zip archive .or an Office document., no conversation"):
        load_transcript(path)


@pytest.mark.parametrize("document", [[HELLO], {"chat_messages": [{"sender": "human", "text": "Hi"}]}])
def test_a_branch_of_what_is_no_tree_is_refused(write: Any, document: Any) -> None:
    """It is not ignored."""
    path = write(document)

    with pytest.raises(TranscriptError, match="is no tree, and has no branches"):
        load_transcript(path, branch=1)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """The folder it was looked for from is named, since paths are relative."""
    with pytest.raises(TranscriptError, match="There is no file"):
        load_transcript(tmp_path / "nowhere.json")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """Loading is about one file."""
    with pytest.raises(TranscriptError, match="is a folder"):
        load_transcript(tmp_path)


def test_json_text_in_place_of_a_path_is_refused() -> None:
    """An easy mistake, with a message of its own."""
    with pytest.raises(TranscriptError, match=r"not the path of a file.*kb.as_transcript"):
        load_transcript('[{"role": "user"}]')


def test_an_unreadable_file_is_refused(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions differ between users of one machine."""
    path = write([HELLO])

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(TranscriptError, match="may not be read by this user"):
        load_transcript(path)


def test_a_document_over_the_limit_is_refused_with_both_sizes(write: Any) -> None:
    """The message holds the size, the limit, and two ways out."""
    path = write([HELLO])

    with pytest.raises(TranscriptError, match=r"of 38 bytes, and the limit is 30.*max_bytes=38.*JSONL"):
        load_transcript(path, max_bytes=30)


def test_an_empty_conversation_among_others_keeps_its_index(write: Any) -> None:
    """Indexes must agree with the file, so an empty one is given with a defect [EXE-07]."""
    found = list(load_transcripts(write([{"messages": []}, {"messages": [BYE]}])))

    assert [(one.index, len(one), [defect.kind for defect in one.defects]) for one in found] == [
        (0, 0, ["empty_conversation"]),
        (1, 1, []),
    ]


def test_the_representation_counts_and_shows_no_content(write: Any) -> None:
    """A transcript is looked at in a notebook; what people said stays in it."""
    shown = repr(load_transcript(write([HELLO, {"role": "critic", "content": "secret"}])))

    assert shown == "Transcript(2 messages, about 11 tokens, 1 defect, openai-chat from 'chat.json')"


def test_an_unknown_sample_lists_the_known_ones() -> None:
    """A typing error should not need the documentation."""
    with pytest.raises(TranscriptError, match="Choose one of: travel"):
        sample_transcript("travle")
