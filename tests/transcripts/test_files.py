"""Files on the disk: refused with a reason, offered in an earlier version, replaced in one step."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from koogbook.errors import TranscriptError
from koogbook.messages.message import user
from koogbook.transcripts.export import save_transcript, save_transcripts
from koogbook.transcripts.files import replaced_file
from koogbook.transcripts.load import load_transcript

TALK = [user("Hello")]


def mode(path: Path) -> str:
    """The permissions of a file, as ``chmod`` takes them."""
    return f"{path.stat().st_mode & 0o777:o}"


@pytest.mark.parametrize("name", ["chat.json.bak", "chat.json~", "chat.json.old", "chat.bak"])
def test_an_earlier_version_is_offered_by_any_of_its_names(name: str, tmp_path: Path) -> None:
    """Editors differ in how they call it [KB-113]."""
    (tmp_path / "chat.json").touch()
    (tmp_path / name).write_text("[1]", encoding="utf-8")

    with pytest.raises(TranscriptError) as caught:
        load_transcript(tmp_path / "chat.json")

    assert f"3 bytes is beside it: kb.load_transcript({str(tmp_path / name)!r})" in str(caught.value)


def test_an_earlier_version_that_is_empty_too_is_not_offered(tmp_path: Path) -> None:
    """It would be refused as well."""
    (tmp_path / "chat.json").touch()
    (tmp_path / "chat.json.bak").touch()

    with pytest.raises(TranscriptError, match="Export the conversation again"):
        load_transcript(tmp_path / "chat.json")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"PAR1\x15\x04", "is a Parquet file"),
        (b"[" + b"\0" * 70, "is a binary file"),
        (b"\0" * 70, "nothing but zero bytes"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_its_kind(body: bytes, says: str, tmp_path: Path) -> None:
    """Its first bytes say what it is."""
    (tmp_path / "chat.json").write_bytes(body)

    with pytest.raises(TranscriptError, match=says):
        load_transcript(tmp_path / "chat.json")


def test_zero_bytes_far_into_the_first_line_are_damage_of_a_text(tmp_path: Path) -> None:
    """A crash may leave them in a line that is text for the rest [KB-113]."""
    line = b'{"role": "user", "content": "' + b"x" * 70 + b'\0"}\n'
    (tmp_path / "chat.jsonl").write_bytes(line + b'{"role": "user", "content": "fine"}\n')
    found = load_transcript(tmp_path / "chat.jsonl")

    assert ([one.text for one in found], [one.kind for one in found.defects]) == (["fine"], ["broken_line"])


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    """Those of a temporary file would shut out the others of a group."""
    before = os.umask(0o027)
    try:
        save_transcript(TALK, tmp_path / "chat.json")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)

    assert mode(tmp_path / "chat.json") == "640"


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    """A private conversation stays private [KB-113]."""
    path = tmp_path / "chat.json"
    path.write_text("[]", encoding="utf-8")
    path.chmod(0o600)
    save_transcript(TALK, path)

    assert (mode(path), load_transcript(path).messages[0].text) == ("600", "Hello")


def test_a_file_behind_a_link_is_replaced_where_it_lies(tmp_path: Path) -> None:
    """The link stays one [KB-113]."""
    (tmp_path / "there").mkdir()
    link, path = tmp_path / "chat.json", tmp_path / "there" / "chat.json"
    path.write_text("[]", encoding="utf-8")
    link.symlink_to(path)
    save_transcript(TALK, link)

    assert link.is_symlink()
    assert load_transcript(path).messages[0].text == "Hello"


def test_the_bytes_are_on_the_disk_before_the_file_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a crash could leave the new name with nothing in it [KB-113]."""
    path = tmp_path / "chat.json"
    path.write_text("old", encoding="utf-8")
    seen: list[tuple[int, str]] = []

    def fsync(handle: int) -> None:
        seen.append((os.fstat(handle).st_size, path.read_text(encoding="utf-8")))

    monkeypatch.setattr(os, "fsync", fsync)
    save_transcript(TALK, path)

    assert seen == [(path.stat().st_size, "old")]


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may become larger than a few bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("words", ["Hello", "Hello " * 10_000], ids=["in the end", "on the way"])
def test_a_full_disk_leaves_the_old_file_and_says_so(words: str, tmp_path: Path, full_disk: None) -> None:
    """What was there is worth more than half of the new [KB-113]."""
    path = tmp_path / "chat.json"
    path.write_text("[1]", encoding="utf-8")

    with pytest.raises(TranscriptError, match=r"cannot be written: .*as it was\. Make room on the disk"):
        save_transcript([user(words)], path)

    assert (path.read_text(encoding="utf-8"), os.listdir(tmp_path)) == ("[1]", ["chat.json"])


def test_a_failure_of_the_histories_is_their_own(tmp_path: Path) -> None:
    """It says nothing of the file that they go to."""

    def histories() -> Iterator[list[object]]:
        yield TALK
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        save_transcripts(histories(), tmp_path / "all.jsonl")  # type: ignore[arg-type]

    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_file_to_write(tmp_path: Path) -> None:
    """A name inside it is proposed."""
    with pytest.raises(
        TranscriptError, match=r"is a folder\. Nothing was written\. Name a file in it: '.*json'"
    ):
        save_transcript(TALK, tmp_path)


@pytest.mark.parametrize("path", ["no\0name.json", "/dev/null/chat.json"])
def test_a_name_that_no_file_can_have_is_refused(path: str) -> None:
    """By the library, not by the system."""
    with pytest.raises(TranscriptError, match=r"cannot be written.*Nothing was written: no file was made"):
        save_transcript(TALK, path)


def test_a_folder_of_nobody_is_refused_by_its_name() -> None:
    """In reading and in writing."""
    with pytest.raises(TranscriptError, match=r"begins with ~nobody-here.*Write the whole path"):
        load_transcript("~nobody-here/chat.json")
    with (
        pytest.raises(TranscriptError, match="no user of that name"),
        replaced_file("~nobody-here/chat.json"),
    ):
        pass


@pytest.mark.parametrize("source", [b"[]", {"role": "user"}, 5, None])
def test_what_is_no_path_is_refused_with_the_call_to_make(source: Any) -> None:
    """JSON values that are loaded already have a call of their own [KB-090]."""
    with pytest.raises(
        TypeError, match=r"A path is wanted, not \w+\. Nothing was loaded\..*kb\.as_transcript"
    ):
        load_transcript(source)


def test_an_address_is_not_fetched() -> None:
    """Nothing here asks the network, and the error says so [EXE-07]."""
    with pytest.raises(TranscriptError, match="is an address, and nothing is fetched"):
        load_transcript("https://chat.example/share/1")
