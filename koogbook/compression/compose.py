"""Putting a compressed history together: exactly what is kept, in the original order, and the summaries."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from koogbook.messages.message import Message
from koogbook.messages.pairing import groups, pair_messages


class Summary(Struct, frozen=True):
    """A summary message and the ids of the messages that it was made from."""

    message: Message
    sources: tuple[str, ...]


class Composition(Struct, frozen=True):
    """A compressed history with the sources of its summaries."""

    messages: tuple[Message, ...]
    summaries: tuple[Summary, ...]


def compose(
    original: Sequence[Message],
    memory_messages: Sequence[Message],
    summaries: Sequence[Summary],
    *,
    keep_last_user: bool = True,
    keep_last: int = 0,
    by_time: bool = False,
) -> Composition:
    """Put together what stays of a history and the summaries, exactly and in the original order.

    First every system message, the first user message with text and the memory messages; then the summaries; then
    the last user message and the last ``keep_last`` messages; then the unfinished tail.

    Nothing stands twice: a message that belongs to the first part stays there. A memory message that calls tools, or
    answers a call, takes the rest of its pair with it; a pair at the border of ``keep_last`` is left out whole, and so
    are earlier summaries. ``by_time`` orders the first part by time stamp, as Koog does; restored or hand-made
    messages get a wrong place from that.
    """
    tail = pair_messages(original).tail
    end = len(original) if tail is None else tail
    pieces = groups(original[:end])
    memory = {message.id for message in memory_messages}
    first_user = next(
        (at for at in range(end) if original[at].is_from_user and original[at].text.strip()), None
    )
    front = [
        piece
        for piece in pieces
        if any(at == first_user or original[at].role == "system" or original[at].id in memory for at in piece)
    ]
    taken = {at for piece in front for at in piece}
    last = _last(original, pieces, keep_last)
    if keep_last_user:
        last_user = next((at for at in reversed(range(end)) if original[at].is_from_user), None)
        if last_user is not None:
            last.add(last_user)
    if by_time:
        front.sort(key=lambda piece: original[piece.start].time)
    kept = [original[at] for piece in front for at in piece]
    after = [original[at] for at in sorted(last - taken)]
    return Composition(
        messages=(*kept, *(summary.message for summary in summaries), *after, *original[end:]),
        summaries=tuple(summaries),
    )


def _last(original: Sequence[Message], pieces: Sequence[range], count: int) -> set[int]:
    chosen: set[int] = set()
    for piece in reversed(pieces):
        if original[piece.start].is_summary:
            continue
        if len(chosen) + len(piece) > count:
            break
        chosen.update(piece)
    return chosen
