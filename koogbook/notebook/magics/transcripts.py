"""Conversations from files and into files: ``%koog_import`` and ``%koog_export``."""

from __future__ import annotations

from typing import Any

import koogbook as kb
from koogbook.agents.run import Run
from koogbook.messages.message import Message
from koogbook.notebook.magics.current import Current
from koogbook.notebook.magics.parsing import Given
from koogbook.notebook.magics.wrong_use import WrongUse
from koogbook.transcripts.export import Export
from koogbook.transcripts.transcript import Transcript

_SHOWN_DEFECTS = 20


def import_magic(current: Current, given: Given) -> Transcript:
    """``%koog_import``: the conversation; what is odd about it is printed."""
    code = current.code
    target = code.new_name(given.text("--to") or "history", "--to")
    number = given.text("--index") or "0"
    if not (number.isascii() and number.isdigit()):
        raise WrongUse(f"--index is a whole number from 0 on, not {number!r}.")
    found = kb.load_transcript(
        given.text("FILE") or "",
        index=int(number),
        format=given.text("--format"),
        branch=given.text("--branch"),
    )
    if given.switch("--repair"):
        found = found.repaired()
    for defect in found.defects[:_SHOWN_DEFECTS]:
        print(defect)
    if len(found.defects) > _SHOWN_DEFECTS:
        print(f"and {len(found.defects) - _SHOWN_DEFECTS:,} more: {target}.defects")
    code.assign(target, found)
    return found


def export_magic(current: Current, given: Given) -> Export:
    """``%koog_export``: what was written where, and what the format had no place for."""
    history = _history(current, given.text("HISTORY") or "")
    done = kb.save_transcript(history, given.text("FILE") or "", given.text("--format"))
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
