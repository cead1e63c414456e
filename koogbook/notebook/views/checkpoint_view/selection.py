"""The checkpoint that is selected in a table: what it is, what differs, and what one can do with it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from msgspec import Struct

from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo
from koogbook.features.persistence.fingerprint import Difference
from koogbook.notebook.views.checkpoint_view.judging import RowWord
from koogbook.notebook.views.checkpoint_view.table import CheckpointTable, checkpoint_key
from koogbook.notebook.views.look.isolates import path_apart, set_apart
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.look.measure import cut_end, thousands

_LONGEST_OUTPUT = 2_000  # characters of a stored output that are shown
_MOST_KEYS = 20
_SENTENCES: dict[RowWord, str] = {
    "resumable": "can be resumed with the code as it is now",
    "with warning": "can be resumed with the code as it is now, with a warning",
    "not resumable": "cannot be resumed with the code as it is now",
    "ended": "is the end of a run: nothing comes after it",
    "not checked": "was not checked against the code",
}


class Inside(Struct, frozen=True):
    """What is in a checkpoint, in words: pairs of a name and a sentence; the output as it is stored."""

    facts: tuple[tuple[str, str], ...]
    output: str


class Compared(Struct, frozen=True):
    """The histories of two checkpoints side by side."""

    before: str
    after: str
    element: Element
    text: str


class Way(Struct, frozen=True):
    """Something that one can do: in words, and in the lines of a cell that do it, magics first; names are set apart."""

    word: str
    about: str
    lines: tuple[str, ...]


class Selection(Struct, frozen=True, kw_only=True):
    """The selected checkpoint.

    ``differences`` have a stored side and one of now; ``reasons`` are those that have not. ``fits`` is the key and id
    of the nearest one before it that can be resumed, where this one cannot. ``fork_to`` is empty where no fork is
    possible. ``marked`` is the id of the one that is marked for a diff, this one or another. ``on_page`` says that its
    row is on the page that is shown.
    """

    key: str
    id: str
    word: RowWord
    sentence: str
    facts: tuple[tuple[str, str], ...]
    differences: tuple[Difference, ...]
    reasons: tuple[str, ...]
    fits: tuple[str, str] | None
    fork_to: str
    ways: tuple[Way, ...]
    marked: str
    marked_here: bool
    on_page: bool
    inside: Inside | None


def selection(
    table: CheckpointTable, place: int, *, fork_to: str, marked: str, inside: Inside | None, on_page: bool
) -> Selection:
    """All about one checkpoint of a table.

    Args:
        table: The checkpoints.
        place: Where it stands in tree order.
        fork_to: The session id that a fork of it would begin; empty where that cannot be done.
        marked: The key of the one that is marked for a diff, or empty.
        inside: What is in it, where it was read.
        on_page: Whether its row is on the page that is shown.
    """
    info, judged = table.rows[place].info, table.judged[place]
    differences = judged.verdict.differences if judged.verdict is not None else ()
    said = set(map(str, differences))
    other = json.loads(marked)[1] if marked else ""
    return Selection(
        key=checkpoint_key(info),
        id=info.id,
        word=judged.word,
        sentence=_SENTENCES[judged.word],
        facts=tuple(_facts(table, info)),
        differences=differences,
        reasons=tuple(reason for reason in judged.reasons if reason not in said),
        fits=_nearest_that_fits(table, place) if judged.word in ("not resumable", "ended") else None,
        fork_to="" if info.is_tombstone else fork_to,
        ways=tuple(_ways(table, info, fork_to, other)),
        marked=other,
        marked_here=marked == checkpoint_key(info),
        on_page=on_page,
        inside=inside,
    )


def inside_of(checkpoint: Checkpoint) -> Inside:
    """What is in a checkpoint, in words."""
    roles = {message.role: 0 for message in checkpoint.messages}
    for message in checkpoint.messages:
        roles[message.role] += 1
    by_role = ", ".join(f"{number} {role}" for role, number in roles.items())
    keys = [f"{set_apart(name)} ({thousands(len(body))} B)" for name, body in checkpoint.storage.items()]
    more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    facts = [
        ("messages", f"{thousands(len(checkpoint.messages))}: {by_role}" if roles else "none"),
        ("model", set_apart(str(checkpoint.model))),
        ("tools", ", ".join(map(set_apart, checkpoint.tools)) or "none"),
        ("storage", ", ".join(keys[:_MOST_KEYS]) + more if keys else "empty"),
        ("input", set_apart(_stored(checkpoint.input, 200))),
        ("output type", set_apart(checkpoint.output_type or "none")),
    ]
    return Inside(tuple(facts), _stored(checkpoint.output, _LONGEST_OUTPUT))


def _stored(body: bytes, length: int) -> str:
    text = body.decode("utf-8", "replace")
    more = f" ({thousands(len(text))} characters)" if len(text) > length else ""
    return cut_end(text, length) + more if text else "nothing"


def quoted(text: str) -> str:
    """A text as it stands in Python code."""
    return json.dumps(text) if text.isascii() and text.isprintable() and "\\" not in text else repr(text)


def _in_code(name: str) -> str:
    return set_apart(quoted(name))


def _in_shell(name: str) -> str:
    return set_apart(shlex.quote(name))


def _facts(table: CheckpointTable, info: CheckpointInfo) -> Iterator[tuple[str, str]]:
    yield "id", set_apart(info.id)
    yield "session", set_apart(info.session_id)
    yield "version", f"{thousands(info.version)}, the newest is {thousands(table.newest[info.session_id])}"
    yield "kind", info.kind
    yield "saved", f"{info.created:%Y-%m-%d %H:%M:%S}.{info.created.microsecond // 1000:03} UTC"
    yield "after node", path_apart(info.path) or "(start)"
    yield "agent, run", f"{set_apart(info.agent_id)}, {set_apart(info.run_id or 'not known')}"
    yield "messages, tokens", f"{thousands(info.messages)}, {thousands(info.tokens)}"
    yield "new in the store", f"{thousands(info.bytes)} bytes"
    yield "node runs so far", thousands(info.iterations)
    yield "parent", set_apart(info.parent or "none")
    yield "strategy version", set_apart(info.strategy_version or "none")
    yield "left out", ", ".join(map(set_apart, info.left_out)) or "nothing"


def _nearest_that_fits(table: CheckpointTable, place: int) -> tuple[str, str] | None:
    parent = table.rows[place].parent_row
    while parent is not None:
        if table.judged[parent].word in ("resumable", "with warning"):
            info = table.rows[parent].info
            return checkpoint_key(info), info.id
        parent = table.rows[parent].parent_row
    return None


def _ways(table: CheckpointTable, info: CheckpointInfo, fork_to: str, other: str) -> Iterator[Way]:
    id, session = _in_code(info.id), _in_code(info.session_id)
    before = _in_code((other if other != info.id else "") or info.parent or "...")
    in_session = _in_shell(info.session_id)
    if not info.is_tombstone:
        new = fork_to or f"{info.session_id}-fork"
        yield Way(
            "Restore",
            "is a fork, and a run of it: both lines stay, and no message is copied",
            (
                f"%koog_fork {_in_shell(info.id)} --session {in_session} --as {_in_shell(new)}",
                f"await agent.fork({session}, {id}, to={_in_code(new)})",
                f"%%koog_run --session {_in_shell(new)} --input None",
                f"run = await agent.run(None, session_id={_in_code(new)})",
            ),
        )
        if info.version == table.newest[info.session_id]:
            yield Way(
                "Go on",
                "in its own session, for it is the newest one there",
                (
                    f"%%koog_run --session {in_session} --input None",
                    f"run = await agent.run(None, session_id={session})",
                ),
            )
    yield Way(
        "Look inside",
        "gives the whole checkpoint",
        (f"await view.checkpoint({id})",),
    )
    yield Way(
        "Compare",
        "the messages of two checkpoints",
        (f"await view.diff({before}, {id})",),
    )
    yield Way(
        "Export",
        "as one JSON file; an existing file is never overwritten",
        (f"await view.export({id}, {quoted(export_name(info))})",),
    )


def export_name(info: CheckpointInfo) -> str:
    """A file name for a checkpoint: its id, with anything that a file name cannot hold replaced."""
    safe = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "_" for sign in info.id)
    return f"checkpoint-{cut_end(safe, 60, '')}.json"
