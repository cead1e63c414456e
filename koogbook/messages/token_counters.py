"""Who counts tokens: the estimator, or what somebody plugs in who has the vocabulary of a model.

A message is counted once by each counter. The number of the estimator is read all the time, at the cost of a look into
the message and no more; so ``Message.tokens`` itself is another one while another counter is in use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from types import TracebackType
from typing import Any, Final, Protocol

from koogbook.errors import MessageError
from koogbook.messages.message import Message
from koogbook.messages.parts import shown
from koogbook.messages.tokens import estimate_tokens, message_tokens, tokens_by


class TokenCounter(Protocol):
    """Counts tokens; the numbers are whole and not negative."""

    def count_text(self, text: str, /) -> int:
        """Tokens of a text."""

    def count_message(self, message: Message, /) -> int:
        """Tokens that a message adds to a request."""


class TokenEstimator:
    """Estimates without a vocabulary (see :mod:`koogbook.messages.tokens`); in use unless another counter is set."""

    def count_text(self, text: str, /) -> int:
        """See :class:`TokenCounter`."""
        return estimate_tokens(text)

    def count_message(self, message: Message, /) -> int:
        """See :class:`TokenCounter`."""
        return message_tokens(message)

    def __repr__(self) -> str:
        return "TokenEstimator()"


class EncoderCounter:
    """Counts the tokens into which a function cuts a text; what a message is besides its texts, as it is estimated.

    ``encode`` gives a sequence, one item a token. It should take every text as plain text, that of special tokens as
    well, and add nothing of its own::

        EncoderCounter(tiktoken.get_encoding("o200k_base").encode_ordinary)
        EncoderCounter(lambda text: tokenizer.encode(text, add_special_tokens=False))     # Hugging Face

    A lone surrogate, which encoders refuse, is given to it as a question mark.
    """

    def __init__(self, encode: Callable[[str], Any]) -> None:
        if not callable(encode):
            raise TypeError(
                f"EncoderCounter takes a function from a text to its tokens, not {encode!r:.60}: "
                "EncoderCounter(encoding.encode_ordinary)."
            )
        self.encode = encode

    def count_text(self, text: str, /) -> int:
        """See :class:`TokenCounter`."""
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-8", "replace").decode()
        return len(self.encode(text)) if text else 0

    def count_message(self, message: Message, /) -> int:
        """See :class:`TokenCounter`."""
        return tokens_by(self.count_text, message)

    def __repr__(self) -> str:
        name = getattr(self.encode, "__name__", type(self.encode).__name__)
        return f"EncoderCounter({name})"


class CounterInUse:
    """What :func:`count_tokens_with` gives: as a context manager it puts the former counter back at its end."""

    __slots__ = ("_former",)

    def __init__(self, former: TokenCounter) -> None:
        self._former = former

    def __enter__(self) -> TokenCounter:
        return current

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        _take(self._former)


def count_tokens_with(counter: TokenCounter) -> CounterInUse:
    """Count tokens with this counter from now on, in the whole process; as a context manager, inside the block.

    ``count_tokens_with(TokenEstimator())`` goes back to estimates. Numbers that were kept somewhere, such as those of a
    ledger or a checkpoint, stay what they are.

    Raises:
        TypeError: It has no ``count_text`` and ``count_message``.
    """
    if isinstance(counter, type) or not all(
        callable(getattr(counter, name, None)) for name in ("count_text", "count_message")
    ):
        raise TypeError(
            f"A token counter has count_text(text) and count_message(message); {shown(counter)} has not. Tokens are "
            "counted as before. Make one from a function: count_tokens_with(kb.EncoderCounter(encode))."
        )
    former = current
    _take(counter)
    return CounterInUse(former)


def count_tokens(text: str) -> int:
    """How many tokens a text has, by the counter in use.

    Raises:
        MessageError: The counter failed.
    """
    counter = current
    return _counted(counter, counter.count_text, text)


_ESTIMATOR: Final = TokenEstimator()
#: The counter in use.
current: TokenCounter = _ESTIMATOR

_estimated: Final = Message.__dict__["tokens"]
#: The counters that were in use, each at the number under which messages keep what it counted.
_numbered: Final[list[TokenCounter]] = []


def _take(counter: TokenCounter) -> None:
    global current
    current = _ESTIMATOR if type(counter) is TokenEstimator else counter
    # A class of msgspec lets its attributes be set like any other; its type says it has none to set.
    setattr(Message, "tokens", _estimated if current is _ESTIMATOR else _tokens_by(current))  # noqa: B010


def _tokens_by(counter: TokenCounter) -> property:
    """``Message.tokens`` while another counter than the estimator is in use.

    A property goes before what the estimator left in a message under that name. The numbers of this counter have a name
    of their own.
    """
    name = f"_tokens_by_{_number_of(counter)}"
    if name not in Message.__dict__:
        counted = cached_property(lambda message: _counted(counter, counter.count_message, message))
        counted.__set_name__(Message, name)
        setattr(Message, name, counted)
    return property(attrgetter(name))


def _number_of(counter: TokenCounter) -> int:
    for number, known in enumerate(_numbered):
        if known is counter:
            return number
    _numbered.append(counter)
    return len(_numbered) - 1


def _counted(counter: TokenCounter, count: Callable[[Any], Any], what: Any) -> int:
    try:
        number = count(what)
    except Exception as problem:
        raise MessageError(
            f"The token counter {shown(counter)} failed on {_named(what)}: {type(problem).__name__}: {problem}. "
            f"Nothing was counted. {_REMEDY}"
        ) from problem
    if type(number) is not int or number < 0:
        raise MessageError(
            f"The token counter {shown(counter)} gave {shown(number)} for {_named(what)}; a count is an int of 0 or "
            f"more. Nothing was counted. {_REMEDY}"
        )
    return number


_REMEDY: Final = "Mend it, or count as before: count_tokens_with(kb.TokenEstimator())."


def _named(what: str | Message) -> str:
    return f"message {what.id!r}" if isinstance(what, Message) else f"the text {shown(what)}"
