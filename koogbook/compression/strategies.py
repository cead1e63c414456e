"""How a history is compressed: the strategies, and what an own one has to do."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from koogbook.compression.compose import Composition, Summary, compose
from koogbook.errors import EmptySummaryError
from koogbook.llm.layers import layer_tag
from koogbook.llm.request import quote_history
from koogbook.messages.message import SUMMARY_NAME, Message, assistant, system, user
from koogbook.messages.pairing import pair_messages
from koogbook.messages.prompt import Prompt

if TYPE_CHECKING:
    from koogbook.llm.write_session import LLMWriteSession


class _Unchanged(Enum):
    UNCHANGED = "UNCHANGED"

    def __repr__(self) -> str:
        return self.value


#: What a strategy returns to leave the prompt as it is.
UNCHANGED: Final = _Unchanged.UNCHANGED

Outcome = Sequence[Message] | Prompt | Composition | _Unchanged | None


class HistoryCompressionStrategy(Protocol):
    """A way to compress a history (Koog's ``HistoryCompressionStrategy``).

    ``compress`` either returns the new history (messages, a prompt, or :func:`compose`'s result) or assigns
    ``session.prompt`` itself. To leave the prompt alone it returns ``UNCHANGED``. Returning nothing without having
    assigned is taken for a slip and reported. The result is checked: not empty, nothing twice, call and result pairs
    whole, system messages still there unless the strategy has ``drops_system = True``. Messages alone are taken over:
    changed params, tools and model are put back.
    """

    async def compress(self, session: LLMWriteSession, memory_messages: Sequence[Message]) -> Outcome:
        """The compressed history of this session.

        Args:
            session: Open write session; its prompt is the history.
            memory_messages: Those that carry a memory marker, oldest first; empty with ``preserve_memory=False``.
        """


class NoCompression(Struct, frozen=True, repr_omit_defaults=True):
    """Leaves the prompt as it was (Koog's ``NoCompression``)."""

    async def compress(self, session: LLMWriteSession, memory_messages: Sequence[Message]) -> Outcome:
        """See :class:`HistoryCompressionStrategy`."""
        return UNCHANGED


class WholeHistory(Struct, frozen=True, repr_omit_defaults=True):
    """One summary over everything (Koog's ``WholeHistory``), the default.

    Kept are the system messages, the first user message with text, the memory messages, the last user message
    (``keep_last_user``) and the last ``keep_last`` messages, with no pair parted; then come the summary and calls that
    have no result yet. ``keep_last_user=None`` means True, and False where the agent has ``compat="koog"``.
    """

    keep_last_user: bool | None = None
    keep_last: int = 0

    def __post_init__(self) -> None:
        if self.keep_last < 0:
            raise ValueError(f"keep_last counts messages and cannot be negative, got {self.keep_last}.")

    async def compress(self, session: LLMWriteSession, memory_messages: Sequence[Message]) -> Outcome:
        """See :class:`HistoryCompressionStrategy`."""
        original = session.messages
        body = settled(original)
        if not any(message.role != "system" for message in body):
            return UNCHANGED
        summary = await summarise(session, body)
        koog = session._context.compat == "koog"
        return compose(
            original,
            memory_messages,
            [summary],
            keep_last_user=not koog if self.keep_last_user is None else self.keep_last_user,
            keep_last=self.keep_last,
            by_time=koog,
        )


SUMMARY_INSTRUCTION = """\
You are given a quoted conversation between a user and an assistant with tools. Do not answer it and do not go on \
with it. Write a summary that will stand in for it, under these headings where they apply: goal and constraints; \
what was done, with which tools and what came of it; facts, names, numbers and decisions to keep; what is open. \
Keep exact figures, ids and names. Leave out greetings and repetition. Answer with the summary alone."""


def settled(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The history without its unfinished tail: calls at the end that have no result yet."""
    tail = pair_messages(messages).tail
    return tuple(messages if tail is None else messages[:tail])


async def summarise(
    session: LLMWriteSession, messages: Sequence[Message], *, instruction: str = SUMMARY_INSTRUCTION
) -> Summary:
    """Ask the model for one summary over these messages and leave the session's prompt alone.

    The history is sent as one quoted text under an instruction of its own, without tools, so that every provider
    takes it and the model does not go on with the task.

    Raises:
        EmptySummaryError: The answer has no text.
    """
    # A memory marker inside a quotation makes no memory of the whole of it.
    asked = [system(instruction), user(quote_history(messages), metadata=layer_tag("history"))]
    reply = await session.send(asked, purpose="compression")
    if not reply.text.strip():
        said = f"{len(reply.calls)} tool calls and no text" if reply.calls else "no text"
        raise EmptySummaryError(
            f"The model answered the request for a summary of {len(messages)} messages with {said}. "
            "The history is as it was. Try again, or another model for the summary."
        )
    written = assistant(
        reply.text,
        name=SUMMARY_NAME,
        usage=reply.usage,
        finish_reason=reply.finish_reason,
        metadata={**reply.metadata, "summary_of_messages": len(messages)},
    )
    return Summary(message=written, sources=tuple(message.id for message in messages))
