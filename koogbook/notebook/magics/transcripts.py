"""Conversations from files and into files: ``%koog_import`` and ``%koog_export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import koogbook as kb
from koogbook.agents.run import Run
from koogbook.messages.message import Message
from koogbook.notebook.magics.current import Current
from koogbook.notebook.magics.parsing import Given
from koogbook.notebook.magics.wrong_use import WrongUse
from koogbook.transcripts.export import Export
from koogbook.transcripts.files import MAX_BYTES
from koogbook.transcripts.transcript import Transcript

_SHOWN_DEFECTS = 20


def import_magic(current: Current, given: Given) -> Transcript:
    """``%koog_import``: the conversation; what is odd about it is printed, and what else the file holds."""
    code = current.code
    target = code.new_name(given.text("--to") or "history", "--to")
    number = given.text("--index") or "0"
    if not (number.isascii() and number.isdigit()):
        raise WrongUse(f"--index is a whole number from 0 on, not {number!r}.")
    found = _loaded(given, int(number))
    if given.switch("--repair"):
        found = found.repaired()
    for defect in found.defects[:_SHOWN_DEFECTS]:
        print(defect)
    if len(found.defects) > _SHOWN_DEFECTS:
        print(f"and {len(found.defects) - _SHOWN_DEFECTS:,} more: {target}.defects")
    code.assign(target, found)
    return found


def _loaded(given: Given, index: int) -> Transcript:
    """The conversation; the others are counted on the way, so that nobody takes it for all there is."""
    file, format, branch = given.text("FILE") or "", given.text("--format"), given.text("--branch")
    limit = given.number("--max-bytes") or MAX_BYTES
    found, count, odd = None, 0, 0
    for one in kb.load_transcripts(file, format=format, progress=True, max_bytes=limit):
        count += 1
        if one.index == index:
            found = one
        else:
            odd += len(one.defects)
    if count > 1:
        defects = "" if not odd else f"; the others have {odd:,} {'defect' if odd == 1 else 'defects'}"
        print(f"Conversation {index} of {count:,} in {file}: --index 0 to {count - 1}{defects}")
    if found is not None and found.messages and branch is None:
        return found
    # What is missing, empty or a branch has words of its own there.
    return kb.load_transcript(file, index=index, format=format, branch=branch, max_bytes=limit)


def export_magic(current: Current, given: Given) -> Export:
    """``%koog_export``: what was written where, and what the format had no place for."""
    history = _history(current, given.text("HISTORY") or "")
    file = given.text("FILE") or ""
    if Path(file).expanduser().is_file() and not given.switch("--replace"):
        raise WrongUse(
            f"There is a file {file} already, and it may hold more than this.",
            "Choose another name, or write over it with --replace.",
        )
    done = kb.save_transcript(history, file, given.text("--format"))
    to = given.text("--to")
    if to is not None:
        current.code.assign(current.code.new_name(to, "--to"), done)
    return done


def _history(current: Current, text: str) -> Any:
    found = current.code.evaluate(text, "HISTORY")
    if isinstance(found, Run):
        return found.prompt
    messages = getattr(found, "messages", found)
    if isinstance(messages, list | tuple) and all(isinstance(one, Message) for one in messages):
        return found
    raise WrongUse(
        f"HISTORY: {text} is {type(found).__name__}, and no history.",
        "It takes a run, a prompt, a transcript, a checkpoint or a list of messages.",
    )
