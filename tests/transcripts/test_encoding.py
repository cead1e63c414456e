"""Files are UTF-8 whatever the machine takes for its default."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import json, sys
from pathlib import Path
from koogbook.transcripts.export import export_transcript, save_transcript, save_transcripts
from koogbook.transcripts.load import load_transcript, load_transcripts

folder = Path(sys.argv[1])
for name in ("chat.json", "chat.jsonl", "turns.json", "utf16.json"):
    found = load_transcript(folder / name)
    save_transcript(found, folder / f"saved-{name}")
    save_transcripts(load_transcripts(folder / name), folder / f"lines-{name}.jsonl")
    (folder / f"exported-{name}").write_bytes(ascii(export_transcript(found).value).encode("ascii"))
"""
TEXT = "It\u2019s \U0001f642 in the \u5ba4"


def chats(folder: Path) -> Path:
    """Files with a curly quote, an emoji and a Chinese character, in several formats and encodings."""
    folder.mkdir()
    message = f'{{"role": "user", "content": "{TEXT}"}}'
    (folder / "chat.json").write_text(f"[{message}]", encoding="utf-8")
    (folder / "chat.jsonl").write_text(f"{message}\n{message}\n", encoding="utf-8")
    turns = f'{{"conversations": [{{"from": "human", "value": "{TEXT}"}}]}}'
    (folder / "turns.json").write_text(turns, encoding="utf-8")
    (folder / "utf16.json").write_text(f"[{message}]", encoding="utf-16")
    return folder


def run(folder: Path, *options: str, **environment: str) -> dict[str, bytes]:
    """Import, export and save in a process of its own; the files that are there then."""
    done = subprocess.run(
        [sys.executable, *options, "-c", CODE, str(chats(folder))],
        env={"PATH": "", **environment},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_machine_with_another_encoding_writes_the_same_bytes(tmp_path: Path) -> None:
    """Every read and write names its encoding [KB-047]."""
    warned = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    usual = run(tmp_path / "usual", "-X", "utf8=1")
    other = run(tmp_path / "other", "-X", "utf8=0", *warned, LC_ALL="C", PYTHONCOERCECLOCALE="0")

    assert other == usual
    assert TEXT.encode() in other["saved-chat.json"]


@pytest.mark.parametrize("name", ["saved-chat.json", "lines-utf16.json.jsonl", "saved-turns.json"])
def test_what_is_written_is_utf8_in_readable_letters(tmp_path: Path, name: str) -> None:
    """A person can read the file, and a search finds its words [KB-047]."""
    assert TEXT in run(tmp_path / "usual", "-X", "utf8=1")[name].decode("utf-8")
