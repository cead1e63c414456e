"""What became of each message in a compression, and where each new one comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from koogbook.messages.message import Message

if TYPE_CHECKING:
    import pandas

Fate = Literal["kept", "edited", "summarised", "memory", "dropped"]
Status = Literal["applied", "refused", "unchanged"]


class MessageFate(Struct, frozen=True, gc=False):
    """The fate of one original message.

    ``new_position`` is where it stands afterwards, or None. ``summaries`` are the new positions of the summaries
    that it went into. ``reason`` says why, in words.
    """

    position: int
    fate: Fate
    tokens: int
    new_position: int | None = None
    summaries: tuple[int, ...] = ()
    reason: str = ""


class Sentence(Struct, frozen=True):
    """One sentence of a summary and the original messages that it rests on.

    ``verbatim`` says that the sources hold it word for word; otherwise they are those that share most of its words.
    """

    text: str
    sources: tuple[int, ...] = ()
    verbatim: bool = False


class NewMessage(Struct, frozen=True):
    """A message of the result that was not in the original: a summary, or one that a strategy made."""

    position: int
    tokens: int
    sources: tuple[int, ...] = ()
    sentences: tuple[Sentence, ...] = ()


class Ledger(Struct, frozen=True, kw_only=True):
    """The record of one compression: both histories, one fate per original message, sources of the new ones.

    ``tokens_before`` and ``tokens_after`` are estimates. ``cost`` is None where no price is known. With status
    ``refused`` the result was longer than what it replaced and was not taken: ``after`` is what was offered.
    """

    strategy: str
    status: Status
    before: tuple[Message, ...]
    after: tuple[Message, ...]
    fates: tuple[MessageFate, ...]
    new_messages: tuple[NewMessage, ...] = ()
    model_calls: int = 0
    seconds: float = 0.0
    cost: float | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Ledger({self.strategy} {self.status}: {len(self.before)} -> {len(self.after)} messages, "
            f"{self.tokens_before:,} -> {self.tokens_after:,} tokens)"
        )

    @property
    def tokens_before(self) -> int:
        """Estimated tokens of the original history."""
        return sum(message.tokens for message in self.before)

    @property
    def tokens_after(self) -> int:
        """Estimated tokens of the result."""
        return sum(message.tokens for message in self.after)

    @property
    def saved_share(self) -> float:
        """The part of the tokens that is gone: 0.82 means 82 % less; negative when it grew."""
        return 1 - self.tokens_after / self.tokens_before if self.tokens_before else 0.0

    def count(self, fate: Fate) -> int:
        """How many original messages had this fate."""
        return sum(entry.fate == fate for entry in self.fates)

    def to_frame(self) -> pandas.DataFrame:
        """One row per original message: position, role, fate, tokens, new position, summaries, reason."""
        import pandas

        rows: list[dict[str, Any]] = [
            {
                "position": entry.position,
                "role": self.before[entry.position].role,
                "fate": entry.fate,
                "tokens": entry.tokens,
                "new_position": entry.new_position,
                "summaries": entry.summaries,
                "reason": entry.reason,
            }
            for entry in self.fates
        ]
        return pandas.DataFrame(rows)
