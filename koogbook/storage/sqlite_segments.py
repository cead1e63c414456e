"""Histories as segments: writing what is new of one, and putting one together again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from koogbook.errors import CorruptStoreError
from koogbook.messages.codec import decode_messages, encode_with_digest
from koogbook.messages.message import Message
from koogbook.messages.prompt import Prompt

_DEEPEST_CHAIN = 24  # segments on segments; a deeper one is written out whole


class Place(Struct):
    """Where a log is stored: its segment, how many of its messages are there, how deep the segment's chain is."""

    segment: int
    length: int
    depth: int


class Written(Struct):
    """What writing a history came to: where it is now, and how many bytes of messages were new."""

    place: Place
    new_bytes: int


def write_history(
    db: sqlite3.Connection, prompt: Prompt, known: Place | None, last: tuple[Prompt, Place] | None
) -> Written:
    """Store a prompt's messages: only what is new.

    ``known`` is where this prompt's own log is stored already; ``last`` the session's last saved prompt, on which a
    new segment is based where they share a beginning or an end.
    """
    messages = prompt._log.messages
    length = len(prompt)
    if known is not None and known.length >= length:
        return Written(Place(known.segment, length, known.depth), 0)
    if known is not None:
        written = _append(db, known.segment, messages, known.length, length)
        return Written(Place(known.segment, length, known.depth), written)
    if last is not None and last[1].depth < _DEEPEST_CHAIN:
        based = _write_on_base(db, messages[:length], last[0], last[1])
        if based is not None:
            return based
    segment = _new_segment(db, None, 0, 0, 0, 0, 0)
    return Written(Place(segment, length, 0), _append(db, segment, messages, 0, length))


def _write_on_base(
    db: sqlite3.Connection, messages: Sequence[Message], before: Prompt, place: Place
) -> Written | None:
    old = before.messages[: place.length]
    shortest = min(len(old), len(messages))
    head = 0
    while head < shortest and _is_same(old[head], messages[head]):
        head += 1
    tail = 0
    while tail < shortest - head and _is_same(old[-1 - tail], messages[-1 - tail]):
        tail += 1
    if not head and not tail:
        return None
    tail_at = len(messages) - tail
    depth = place.depth + 1
    segment = _new_segment(db, place.segment, head, tail_at, len(old) - tail, tail, depth)
    written = _append(db, segment, messages, head, tail_at)
    return Written(Place(segment, len(messages), depth), written)


def _is_same(one: Message, other: Message) -> bool:
    return one is other or (one.id == other.id and one == other)


def _new_segment(
    db: sqlite3.Connection,
    base: int | None,
    head: int,
    tail_at: int,
    tail_from: int,
    tail_count: int,
    depth: int,
) -> int:
    made = db.execute(
        "INSERT INTO segment(base, head, tail_at, tail_from, tail_count, depth) VALUES(?, ?, ?, ?, ?, ?)",
        (base, head, tail_at, tail_from, tail_count, depth),
    ).lastrowid
    assert made is not None
    return made


def _append(db: sqlite3.Connection, segment: int, messages: Sequence[Message], start: int, stop: int) -> int:
    written = 0
    for position in range(start, stop):
        body, digest = encode_with_digest(messages[position])
        made = db.execute("INSERT OR IGNORE INTO message(digest, body) VALUES(?, ?)", (digest, body))
        if made.rowcount:
            message = made.lastrowid
            written += len(body)
        else:
            message = db.execute("SELECT id FROM message WHERE digest = ?", (digest,)).fetchone()[0]
        db.execute(
            "INSERT INTO entry(segment, position, message) VALUES(?, ?, ?)", (segment, position, message)
        )
    return written


def read_history(db: sqlite3.Connection, segment: int, length: int) -> tuple[Message, ...]:
    """The first ``length`` messages of a segment.

    Raises:
        CorruptStoreError: Rows are missing.
        UndecodableValueError: A stored message cannot be read.
    """
    places = _resolve(db, segment, length, _DEEPEST_CHAIN)
    missing = [position for position, body in enumerate(places) if body is None]
    if missing:
        raise CorruptStoreError(
            f"The stored history {segment} of {length} messages has lost those at {missing[:10]}. Nothing was changed. "
            "Restore the file from a copy, or go on from another checkpoint."
        )
    bodies = [body for body in places if body is not None]
    for position, (digest, body) in enumerate(bodies):
        if blake2b(body, digest_size=16).digest() != digest:
            raise CorruptStoreError(
                f"Message {position} of the stored history {segment} is not what was saved: its content hash differs. "
                "Nothing was changed. Restore the file from a copy, or go on from another checkpoint."
            )
    return tuple(decode_messages([body for _, body in bodies]))


def _resolve(
    db: sqlite3.Connection, segment: int, length: int, deepest: int
) -> list[tuple[bytes, bytes] | None]:
    """(content hash, body) by position; None where there is none."""
    row = db.execute(
        "SELECT base, head, tail_at, tail_from, tail_count FROM segment WHERE id = ?", (segment,)
    ).fetchone()
    if row is None:
        raise CorruptStoreError(f"The stored history {segment} is missing. Restore the file from a copy.")
    base, head, tail_at, tail_from, tail_count = row
    places: list[tuple[bytes, bytes] | None] = [None] * length
    if base is not None:
        if not deepest:
            raise CorruptStoreError(
                f"The stored history {segment} stands on more than {_DEEPEST_CHAIN} others, which koogbook never "
                "writes. Nothing was changed. Restore the file from a copy."
            )
        below = _resolve(db, base, max(head, tail_from + tail_count if tail_count else 0), deepest - 1)
        stop = min(head, length)
        places[:stop] = below[:stop]
        for offset in range(min(tail_count, max(0, length - tail_at))):
            places[tail_at + offset] = below[tail_from + offset]
    for position, digest, body in db.execute(
        "SELECT e.position, m.digest, m.body FROM entry e JOIN message m ON m.id = e.message "
        "WHERE e.segment = ? AND e.position < ?",
        (segment, length),
    ):
        places[position] = (digest, body)
    return places
