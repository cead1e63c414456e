"""What stands in a trace once and is referred to: messages, histories made of them, and what many requests share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from operator import is_
from typing import Any, Final

import msgspec

from koogbook.errors import TraceError
from koogbook.messages.codec import encode_with_digest
from koogbook.messages.message import Message
from koogbook.trace.lines import digest_of, written

MESSAGE_LINE: Final = "koogbook.message"
MESSAGES_LINE: Final = "koogbook.messages"
VALUE_LINE: Final = "koogbook.value"
#: The lines that are no events.
SHARED_LINES: Final = frozenset({MESSAGE_LINE, MESSAGES_LINE, VALUE_LINE})

_REPEATED = 1_000  # messages of a history that may stand in it again
_RECENT = 4  # histories


def most_messages(distinct: int) -> int:
    """Of how many messages a history may be, where so many stand in the file.

    One is hardly longer than that, and pieces of pieces of a few could stand for more than any memory holds.
    """
    return distinct + _REPEATED


class _Known:
    """A history that was written, by the digests of its messages. It grows with the conversation that it is of."""

    __slots__ = ("digests", "hashed", "id", "messages")

    def __init__(self, messages: tuple[Message, ...], digests: list[bytes]) -> None:
        self.messages = messages
        self.digests = digests
        self.hashed = blake2b(b"".join(digests), digest_size=16)
        self.id = self.hashed.hexdigest()

    def begins(self, messages: tuple[Message, ...]) -> bool:
        """Whether messages are its own, the very objects, and some more."""
        return len(messages) > len(self.messages) and all(map(is_, self.messages, messages))

    def grow(self, messages: tuple[Message, ...], new: list[bytes]) -> None:
        """Be the history that goes on with these; all places in it stay as they are."""
        self.messages = messages
        self.digests += new
        self.hashed.update(b"".join(new))
        self.id = self.hashed.hexdigest()


class SharedOut:
    """What was written so far, for one who writes; ``lines`` takes the lines that have to stand before the event."""

    __slots__ = ("_histories", "_messages", "_recent", "_values", "_where", "lines")

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._messages: set[bytes] = set()
        self._histories: set[str] = set()
        self._values: set[str] = set()
        #: By a message's digest: the history that had it last, and where. Histories that are in none are forgotten.
        self._where: dict[bytes, tuple[_Known, int]] = {}
        #: Those that were written last: most histories are one of them and a little more.
        self._recent: deque[_Known] = deque(maxlen=_RECENT)

    def message(self, message: Message) -> str:
        """The id of a message; its line is written where it was not yet."""
        return self._written(message).hex()

    def messages(self, messages: Iterable[Message]) -> str | None:
        """The id of a history; its line says in which parts of earlier ones its messages stand.

        None where it says the same messages again so often that no reader takes it: it is to be written one by one.
        """
        given = tuple(messages)
        known = next((one for one in self._recent if one.begins(given)), None)
        old = 0 if known is None else len(known.messages)
        new = [self._written(one) for one in given[old:]]
        if len(given) > most_messages(len(self._messages)):
            return None
        if known is None:
            id = history_id(new)
            if id in self._histories:
                return id
            pieces = list(self._pieces(new))
            known = _Known(given, new)
            self._recent.append(known)
        else:
            first = [known.id, 0, old] if old > 1 else known.digests[0].hex()
            pieces = [first, *self._pieces(new)]
            known.grow(given, new)
        for place, digest in enumerate(new, start=old):
            self._where[digest] = known, place
        if known.id not in self._histories:
            self.lines.append(written({"type": MESSAGES_LINE, "id": known.id, "of": pieces}))
            self._histories.add(known.id)
        return known.id

    def value(self, value: Any) -> str:
        """The id of a value in its written form."""
        id = digest_of(value)
        if id not in self._values:
            self.lines.append(written({"type": VALUE_LINE, "id": id, "value": value}))
            self._values.add(id)
        return id

    def _written(self, message: Message) -> bytes:
        digest = message.digest
        if digest not in self._messages:
            body, digest = encode_with_digest(message)
            head = f'{{"type":"{MESSAGE_LINE}","id":"{digest.hex()}","message":'
            self.lines.append(b"%b%b}" % (head.encode(), body))
            self._messages.add(digest)
        return digest

    def _pieces(self, digests: Sequence[bytes]) -> Iterable[Any]:
        place = 0
        while place < len(digests):
            known, first = self._where.get(digests[place], (None, 0))
            length = 0 if known is None else _common(digests, place, known.digests, first)
            if known is not None and length > 1:
                yield [known.id, first, first + length]
                place += length
            else:
                yield digests[place].hex()
                place += 1


def _common(digests: Sequence[bytes], place: int, others: Sequence[bytes], first: int) -> int:
    """How many messages from these places on are the same."""
    most = min(len(digests) - place, len(others) - first)
    if digests[place : place + most] == others[first : first + most]:
        return most
    return next(at for at in range(most) if digests[place + at] != others[first + at])


class SharedIn:
    """What was read so far, for one who reads."""

    __slots__ = ("_histories", "_messages", "_read_value", "_values")

    def __init__(self, read_value: Callable[[Any], Any]) -> None:
        self._read_value = read_value
        self._messages: dict[str, Message] = {}
        self._histories: dict[str, tuple[Message, ...]] = {}
        self._values: dict[str, Any] = {}

    def take(self, line: dict[str, Any]) -> None:
        """A line of what is shared.

        Raises:
            TraceError: It is no whole one, what it refers to is in no line before it, or its id is another content's.
            ValidationError: It holds a value of koogbook that is no whole one (msgspec's).
        """
        kind, id = line["type"], line.get("id")
        if not isinstance(id, str):
            raise TraceError(
                f"A line of the type {kind} has an id that is a text. Mend the line, or take it out."
            )
        if kind == MESSAGE_LINE:
            try:
                message = msgspec.convert(line.get("message"), Message)
            except (msgspec.ValidationError, ValueError, TypeError) as problem:
                raise TraceError(
                    f"It is no whole message: {problem}. Mend the line, or take it out."
                ) from problem
            _require_same(kind, id, message.digest.hex())
            self._messages[id] = message
        elif kind == MESSAGES_LINE:
            most = most_messages(len(self._messages))
            found = tuple(islice(self._put_together(line.get("of")), most + 1))
            if len(found) > most:
                raise TraceError(
                    f"It is a history of more than {most:,} messages, and {len(self._messages):,} stand in the lines "
                    "before it. Take the line out."
                )
            _require_same(kind, id, history_id(one.digest for one in found))
            self._histories[id] = found
        else:
            _require_same(kind, id, digest_of(line.get("value")))
            # A value refers to nothing, so that what is read is no longer than the file.
            self._values[id] = self._read_value(line.get("value"))

    def message(self, id: object) -> Message:
        """The message of an id.

        Raises:
            TraceError: It is in no line before.
        """
        found: Message = _found("message", self._messages, id)
        return found

    def messages(self, id: object) -> tuple[Message, ...]:
        """The history of an id.

        Raises:
            TraceError: It is in no line before.
        """
        found: tuple[Message, ...] = _found("history", self._histories, id)
        return found

    def value(self, id: object) -> Any:
        """The value of an id.

        Raises:
            TraceError: It is in no line before.
        """
        return _found("value", self._values, id)

    def _put_together(self, pieces: object) -> Iterable[Message]:
        if not isinstance(pieces, list):
            raise TraceError(
                f"A history is a list of pieces, not {pieces!r:.40}. Mend the line, or take it out."
            )
        for piece in pieces:
            match piece:
                case str(id):
                    yield self.message(id)
                case [str(id), int(first), int(end)] if 0 <= first < end <= len(self.messages(id)):
                    yield from self.messages(id)[first:end]
                case _:
                    raise TraceError(
                        f"{piece!r:.60} is no piece of a history: a piece is the id of a message, or the id of a "
                        "history with a first and an end in it. Mend the line, or take it out."
                    )


def _found(what: str, known: dict[str, Any], id: object) -> Any:
    if isinstance(id, str) and id in known:
        return known[id]
    raise TraceError(
        f"It refers to the {what} {id!r:.40}, which stands in no line before it. Put that line back, or take out those "
        "that refer to it."
    )


def _require_same(kind: str, id: str, digest: str) -> None:
    if id != digest:
        raise TraceError(
            f"Its id is {id:.40}, and the digest of what it holds is {digest}: it was changed after it was written. "
            f"Put the line of the type {kind} back as it was, or write the digest as its id, here and where it is "
            "referred to."
        )


def history_id(digests: Iterable[bytes]) -> str:
    """The id of a history: BLAKE2b, 16 bytes, over the digests of its messages."""
    return blake2b(b"".join(digests), digest_size=16).hexdigest()
