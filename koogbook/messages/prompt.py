"""A prompt: messages, id and parameters, immutable, with appending that costs the same at any length.

Prompts that grow from one another by appending share one log; each sees its own first ``len(prompt)`` entries of it.
Appending to a prompt that is not the newest of its log starts a new log, so nobody sees what another appended. A
store can therefore remember "this log up to here is saved" and write the rest only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, overload

from koogbook import clock
from koogbook.errors import DuplicateMessageError, MessageError
from koogbook.messages import token_counters
from koogbook.messages.message import Message
from koogbook.messages.model import LLMParams

_NO_PARAMS: Final = LLMParams()


class MessageLog:
    """Messages that only ever grow; shared by prompts, never handed to users."""

    __slots__ = ("__weakref__", "counter", "ids", "messages", "token_sums")

    def __init__(self, messages: Iterable[Message]) -> None:
        self.messages = list(messages)
        _require_messages(self.messages)
        self.ids: dict[str, int] | None = None
        self.token_sums: list[int] = [0]
        self.counter = token_counters.current

    def positions(self) -> dict[str, int]:
        """Where each id stands first."""
        if self.ids is None:
            self.ids = {message.id: position for position, message in enumerate(self.messages)}
        return self.ids

    def tokens_before(self, length: int) -> int:
        """Tokens of the first ``length`` messages, by the counter in use."""
        if self.counter is not token_counters.current:
            self.counter, self.token_sums = token_counters.current, [0]
        sums = self.token_sums
        while len(sums) <= length:
            sums.append(sums[-1] + self.messages[len(sums) - 1].tokens)
        return sums[length]


class Prompt:
    """Messages with an id and parameters (Koog's ``Prompt``).

    A value: every change gives a new prompt. Two prompts are equal when messages, id and params are.
    """

    __slots__ = ("_length", "_log", "_messages", "id", "params")
    _length: int
    _log: MessageLog
    _messages: tuple[Message, ...] | None
    id: str
    params: LLMParams

    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        id: str | None = None,
        params: LLMParams | None = None,
        allow_duplicate: bool = False,
    ) -> None:
        """Make a prompt.

        Raises:
            DuplicateMessageError: Two messages have one id and ``allow_duplicate`` is off.
        """
        log = MessageLog(messages)
        if not allow_duplicate and len(log.positions()) != len(log.messages):
            seen: dict[str, int] = {}
            for position, message in enumerate(log.messages):
                if message.id in seen:
                    raise DuplicateMessageError(
                        f"Messages {seen[message.id]} and {position} have the same id {message.id!r}. "
                        "Leave one out, or pass allow_duplicate=True.",
                        position=seen[message.id],
                    )
                seen[message.id] = position
        self._set(log, len(log.messages), clock.new_id() if id is None else id, params or _NO_PARAMS)

    def _set(self, log: MessageLog, length: int, id: str, params: LLMParams) -> None:
        put = object.__setattr__
        put(self, "_log", log)
        put(self, "_length", length)
        put(self, "_messages", None)
        put(self, "id", id)
        put(self, "params", params)

    @classmethod
    def _of(cls, log: MessageLog, length: int, id: str, params: LLMParams) -> Prompt:
        prompt = cls.__new__(cls)
        prompt._set(log, length, id, params)
        return prompt

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"A prompt is a value; {name} cannot be set. Assign a changed one to the session: "
            "session.prompt = session.prompt.with_messages(...)."
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, oldest first."""
        found = self._messages
        if found is None:
            found = tuple(self._log.messages[: self._length])
            object.__setattr__(self, "_messages", found)
        return found

    @property
    def tokens(self) -> int:
        """Tokens of all messages, by the counter in use; each message is counted once in its life by each counter."""
        return self._log.tokens_before(self._length)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self.messages[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prompt):
            return NotImplemented
        return (
            self.id == other.id
            and self.params == other.params
            and self._length == other._length
            and (self._log is other._log or self.messages == other.messages)
        )

    def __hash__(self) -> int:
        return hash((self.id, self._length, self.params))

    def __repr__(self) -> str:
        return f"Prompt({self._length} messages, about {self.tokens:,} tokens, id={self.id!r})"

    def append(self, *messages: Message, allow_duplicate: bool = False) -> Prompt:
        """This prompt with more messages at its end.

        Raises:
            DuplicateMessageError: The prompt holds a message with that id already, such as a reply that a
                request has appended itself; ``allow_duplicate=True`` takes it all the same (as Koog does).
        """
        log = self._log
        if len(log.messages) != self._length:
            log = MessageLog(log.messages[: self._length])
        positions = log.positions()
        _require_messages(messages)
        if not allow_duplicate:
            fresh: dict[str, int] = {}
            for position, message in enumerate(messages, start=self._length):
                if message.id in positions or message.id in fresh:
                    position = positions.get(message.id, fresh.get(message.id, position))
                    raise DuplicateMessageError(
                        f"The prompt holds message {message.id!r} already, at position {position}. A request in "
                        "a write session appends its reply itself; drop this append, or pass allow_duplicate=True.",
                        position=position,
                    )
                fresh[message.id] = position
        for message in messages:
            positions.setdefault(message.id, len(log.messages))
            log.messages.append(message)
        return Prompt._of(log, len(log.messages), self.id, self.params)

    def with_messages(
        self, messages: Iterable[Message] | Callable[[tuple[Message, ...]], Iterable[Message]]
    ) -> Prompt:
        """This prompt with other messages: a list, or a function of the present ones.

        Raises:
            DuplicateMessageError: Two of them have one id.
        """
        chosen = messages(self.messages) if callable(messages) else messages
        if not isinstance(chosen, Iterable):
            raise MessageError(
                f"with_messages takes messages, or a function that gives them, not {chosen!r:.60}. Nothing was changed."
            )
        return Prompt(chosen, id=self.id, params=self.params)

    def with_params(self, **changes: Any) -> Prompt:
        """This prompt with these parameters changed and all others kept."""
        return Prompt._of(self._log, self._length, self.id, self.params.with_changes(**changes))

    def __copy__(self) -> Prompt:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Prompt:
        return self

    def is_extension_of(self, other: Prompt) -> bool:
        """Whether this prompt is the other one with messages appended, known without comparing them."""
        return self._log is other._log and self._length >= other._length


def _require_messages(messages: Sequence[Message]) -> None:
    for kind in set(map(type, messages)):
        if kind is not Message:
            raise MessageError(
                f"A prompt holds messages, not {kind.__name__}. Nothing was changed. Make one first: "
                "kb.user(text), kb.system(text), kb.assistant(text), kb.tool_result(call, output)."
            )


def as_messages(history: Prompt | Sequence[Message] | Any) -> tuple[Message, ...]:
    """The messages of a prompt, a loaded transcript (anything with ``messages``), or a list of them."""
    found = getattr(history, "messages", history)
    return tuple(found)
