"""Histories made shorter by hand, without parting a tool call from its result.

One rule for all: a call and its results that lie on both sides of a border go out together, so that never more is kept
than was asked for. System messages stay and are not counted, unless ``system=True``. The order never changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from koogbook.errors import MessageError
from koogbook.messages.message import Message
from koogbook.messages.pairing import groups, pair_messages
from koogbook.messages.parts import Part, Reasoning, Text, ToolCall


class Surgery(Struct, frozen=True):
    """What is left of a history, and the positions in the old one that something happened to.

    ``with_pair`` are those of ``removed`` that went only because their call or result did. ``edited`` are messages that
    stayed without their calls.
    """

    messages: tuple[Message, ...]
    removed: tuple[int, ...] = ()
    with_pair: tuple[int, ...] = ()
    edited: tuple[int, ...] = ()

    @property
    def note(self) -> str:
        """One sentence about what went with its pair and what was edited; empty where nothing was."""
        said = []
        if self.edited:
            said.append(f"{_named(self.edited)} stayed without the tool calls that have no results")
        if self.with_pair:
            said.append(
                f"{_named(self.with_pair)} went as well, because a tool call and its results are never parted"
            )
        sentence = "; ".join(said)
        return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def cleared(messages: Sequence[Message], *, system: bool = False) -> Surgery:
    """Take everything out (Koog's ``clearHistory``)."""
    return _kept(messages, _staying(messages, system))


def last_messages(messages: Sequence[Message], n: int, *, system: bool = False) -> Surgery:
    """Keep the last ``n`` messages (Koog's ``leaveLastNMessages``).

    Raises:
        MessageError: ``n`` is no whole number, or negative.
    """
    _require_count(n)
    staying = _staying(messages, system)
    counted = [at for at in range(len(messages)) if at not in staying]
    return _kept(messages, staying | set(counted[max(0, len(counted) - n) :]))


def without_last(messages: Sequence[Message], n: int, *, system: bool = False) -> Surgery:
    """Take the last ``n`` messages out (Koog's ``dropLastNMessages``).

    Raises:
        MessageError: ``n`` is no whole number, or negative.
    """
    _require_count(n)
    staying = _staying(messages, system)
    counted = [at for at in range(len(messages)) if at not in staying]
    return _kept(messages, staying | set(counted[: max(0, len(counted) - n)]))


def messages_from(messages: Sequence[Message], time: datetime, *, system: bool = False) -> Surgery:
    """Keep the messages of this time and later (Koog's ``leaveMessagesFromTimestamp``), wherever they stand.

    Raises:
        MessageError: ``time`` is no datetime, or has no zone.
    """
    if not isinstance(time, datetime) or time.utcoffset() is None:
        raise MessageError(
            f"The time from which messages are kept has a zone, and {time!r:.60} has none. Nothing was changed. "
            "Use datetime(..., tzinfo=UTC)."
        )
    new = {at for at, message in enumerate(messages) if message.time >= time}
    return _kept(messages, _staying(messages, system) | new)


def without_trailing_calls(messages: Sequence[Message]) -> Surgery:
    """Take the unfinished turn at the end out (Koog's ``dropTrailingToolCalls``).

    These are the calls of the last assistant message where some have no result yet, all of them, and the results that
    have come. What the assistant said beside them stays, as the same message without its calls; a message that says
    nothing but reasoning and white space goes whole. A finished turn is left alone.
    """
    kept = list(enumerate(messages))
    removed: list[int] = []
    with_pair: list[int] = []
    edited: list[int] = []
    # In a broken history another unfinished turn may come to the end by this.
    while (start := _last_turn(kept)) is not None:
        turn = kept[start:]
        pairing = pair_messages([message for _, message in turn])
        if pairing.tail is None:
            break
        (position, asking), *following = turn
        answers = {pair.result_message for pair in pairing.pairs}
        with_pair += [at for number, (at, _) in enumerate(following, 1) if number in answers]
        staying = [entry for number, entry in enumerate(following, 1) if number not in answers]
        said = [part for part in asking.parts if not isinstance(part, ToolCall)]
        if any(map(_says_something, said)):
            edited.append(position)
            staying.insert(0, (position, asking.with_parts(said)))
        else:
            removed.append(position)
        kept[start:] = staying
    return Surgery(
        messages=tuple(message for _, message in kept),
        removed=tuple(sorted([*removed, *with_pair])),
        with_pair=tuple(sorted(with_pair)),
        edited=tuple(edited),
    )


def _kept(messages: Sequence[Message], wanted: Collection[int]) -> Surgery:
    """The history of the wanted positions, without those whose group has others."""
    kept: list[int] = []
    with_pair: list[int] = []
    for group in groups(messages):
        found = [at for at in group if at in wanted]
        (kept if len(found) == len(group) else with_pair).extend(found)
    staying = set(kept)
    return Surgery(
        messages=tuple(messages[at] for at in kept),
        removed=tuple(at for at in range(len(messages)) if at not in staying),
        with_pair=tuple(with_pair),
    )


def _staying(messages: Sequence[Message], system: bool) -> set[int]:
    """The positions that no count is about."""
    if type(system) is not bool:
        raise MessageError(f"system is True or False, not {system!r:.60}. Nothing was changed.")
    return set() if system else {at for at, message in enumerate(messages) if message.role == "system"}


def _last_turn(kept: Sequence[tuple[int, Message]]) -> int | None:
    """Where the last message stands that is no tool message."""
    return next((at for at in reversed(range(len(kept))) if kept[at][1].role != "tool"), None)


def _says_something(part: Part) -> bool:
    return bool(part.text.strip()) if isinstance(part, Text) else not isinstance(part, Reasoning)


def _require_count(n: object) -> None:
    if type(n) is not int or n < 0:
        raise MessageError(
            f"A count of messages is a whole number from 0, not {n!r:.60}. Nothing was changed."
        )


def _named(positions: Sequence[int]) -> str:
    """Positions for a sentence; a long list is cut."""
    if len(positions) == 1:
        return f"message {positions[0]}"
    if len(positions) > 6:
        shown = ", ".join(map(str, positions[:5]))
        return f"messages {shown} and {len(positions) - 5} more"
    return f"messages {', '.join(map(str, positions[:-1]))} and {positions[-1]}"
