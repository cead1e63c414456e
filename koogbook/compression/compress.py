"""Running a strategy on a session: what it may do, what is checked, and what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from koogbook import clock
from koogbook.compression.account import account_for
from koogbook.compression.compose import Composition, Summary
from koogbook.compression.fact_check import Fact, FactFinding, check_facts
from koogbook.compression.strategies import UNCHANGED, HistoryCompressionStrategy, Outcome, WholeHistory
from koogbook.errors import CompressionError, InvalidCompressionError
from koogbook.events import CompressionCompleted, CompressionFailed
from koogbook.llm.calls import ModelCalls
from koogbook.llm.context import LLMContext
from koogbook.llm.executor import PromptExecutor
from koogbook.llm.session import LLMWriteSession
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel
from koogbook.messages.pairing import pair_messages
from koogbook.messages.prompt import Prompt, as_messages
from koogbook.pipeline import EventLog
from koogbook.tools.tool import ToolRegistry

if TYPE_CHECKING:
    from koogbook.notebook.views.diff_model import DiffState
    from koogbook.notebook.views.view import View


async def compress_session(
    session: LLMWriteSession,
    strategy: HistoryCompressionStrategy | None = None,
    preserve_memory: bool = True,
    allow_longer: bool | None = None,
) -> Ledger:
    """Compress the history of an open write session; either all of it happens or nothing.

    A result that is longer than what it replaces is refused, reported and not taken, unless ``allow_longer`` (which
    ``compat="koog"`` implies).

    Raises:
        InvalidCompressionError: The result breaks a rule.
        CompressionError: The strategy failed; what the executor raised goes through as it is.
    """
    chosen = WholeHistory() if strategy is None else strategy
    name = _name(chosen)
    context = session._context
    before = session.prompt
    log = context.log
    memory = [message for message in before.messages if message.is_memory and not message.is_summary]
    notes = _quoted_markers(memory) if preserve_memory else []
    calls = len(context.calls.records)
    started = clock.monotonic()
    try:
        outcome = await chosen.compress(session, tuple(memory) if preserve_memory else ())
        after, summaries, more_notes = _result(name, before, session.prompt, outcome)
        _check(name, before.messages, after, getattr(chosen, "drops_system", False))
    except BaseException as problem:
        session._prompt = before
        log.emit(CompressionFailed, strategy=name, error=f"{type(problem).__name__}: {problem}")
        raise
    ledger = account_for(
        name,
        before.messages,
        after,
        summaries=summaries,
        memory=memory if preserve_memory else (),
        model_calls=len(context.calls.records) - calls,
        seconds=clock.monotonic() - started,
        notes=(*notes, *more_notes),
    )
    longer_is_fine = context.compat == "koog" if allow_longer is None else allow_longer
    ledger = ledger if longer_is_fine else _refuse_longer(ledger)
    if ledger.status == "applied":
        session._prompt = before.with_messages(after)
    else:
        session._prompt = before
    log.emit(CompressionCompleted, ledger=ledger)
    for note in ledger.notes:
        log.notice("compression", note)
    return ledger


def _name(strategy: object) -> str:
    return repr(strategy) if isinstance(strategy, Struct) else type(strategy).__name__


def _quoted_markers(memory: Sequence[Message]) -> list[str]:
    return [
        f"user message {message.id} quotes a memory marker and is kept as memory because of it"
        for message in memory
        if message.is_from_user and message.metadata.get("memory") is not True
    ]


def _result(
    name: str, before: Prompt, assigned: Prompt, outcome: Outcome
) -> tuple[tuple[Message, ...], tuple[Summary, ...], list[str]]:
    """The one history that a strategy's return value and its assignment together mean."""
    has_assigned = assigned is not before and assigned.messages != before.messages
    if outcome is None:
        if has_assigned:
            return assigned.messages, (), []
        note = (
            f"{name}.compress returned nothing and assigned nothing: the history is as it was. Return the new "
            "messages, assign session.prompt, or return kb.UNCHANGED to say that this is meant."
        )
        return before.messages, (), [note]
    if outcome is UNCHANGED:
        returned: tuple[Message, ...] = before.messages
    elif isinstance(outcome, Composition):
        returned = outcome.messages
    elif isinstance(outcome, Prompt) or (
        isinstance(outcome, Sequence) and all(isinstance(one, Message) for one in outcome)
    ):
        returned = as_messages(outcome)
    else:
        raise InvalidCompressionError(
            f"{name}.compress returned {type(outcome).__name__}; it returns a list of messages, a prompt, or "
            "kb.UNCHANGED. The history is as it was."
        )
    if has_assigned and assigned.messages != returned:
        raise InvalidCompressionError(
            f"{name}.compress assigned a history of {len(assigned)} messages to session.prompt and returned "
            f"another one of {len(returned)}. The history is as it was. Do one of the two."
        )
    return returned, outcome.summaries if isinstance(outcome, Composition) else (), []


def _check(name: str, before: Sequence[Message], after: Sequence[Message], drops_system: bool) -> None:
    if not after and before:
        raise InvalidCompressionError(
            f"{name} left nothing of {len(before)} messages. The history is as it was. To clear a history, assign "
            "an empty one to session.prompt yourself."
        )
    broken = pair_messages(after).defects
    if broken and len(broken) > len(pair_messages(before).defects):
        raise InvalidCompressionError(
            f"{name} parted tool calls from their results: {'; '.join(map(str, broken[:3]))}. The history is as "
            "it was. Keep or drop a call and its results together (kb.groups gives the pieces)."
        )
    if not drops_system:
        kept = {message.id for message in after}
        lost = [at for at, one in enumerate(before) if one.role == "system" and one.id not in kept]
        if lost:
            raise InvalidCompressionError(
                f"{name} dropped the system messages at {lost}. The history is as it was. Keep them, or say that "
                "it is meant: drops_system = True on the strategy."
            )


def _refuse_longer(ledger: Ledger) -> Ledger:
    new = sum(entry.tokens for entry in ledger.new_messages)
    replaced = sum(entry.tokens for entry in ledger.fates if entry.new_position is None)
    if not ledger.new_messages or new < replaced:
        return ledger
    return replace(
        ledger,
        status="refused",
        notes=(
            *ledger.notes,
            f"the summary has about {new} tokens and would replace about {replaced}: not taken, the history is as "
            "it was (allow_longer=True takes it)",
        ),
    )


class Compressed(Struct, frozen=True):
    """What :func:`compress` gives: the prompt afterwards and the record of what became of each message."""

    prompt: Prompt
    ledger: Ledger

    def facts(self, facts: Sequence[Fact]) -> tuple[FactFinding, ...]:
        """Which of these facts survived."""
        return check_facts(self.ledger, facts)

    def diff(self, *, must_keep: Sequence[Fact] = ()) -> View[DiffState]:
        """The view of both histories side by side."""
        from koogbook.notebook.views.view import diff

        return diff(self.ledger, must_keep=must_keep)


async def compress(
    history: Any,
    strategy: HistoryCompressionStrategy | None = None,
    *,
    executor: PromptExecutor,
    model: LLModel | str = "offline",
    preserve_memory: bool = True,
    allow_longer: bool | None = None,
) -> Compressed:
    """Compress a history outside of any run: a prompt, a loaded transcript, or a list of messages.

    The history itself is never changed.

    Raises:
        CompressionError: The summary failed or the result breaks a rule.
    """
    prompt = history if isinstance(history, Prompt) else Prompt(as_messages(history))
    if not len(prompt):
        raise CompressionError("There is nothing to compress: the history has no messages.")
    log = EventLog(clock.new_id(), "")
    context = LLMContext(
        "compress",
        prompt=prompt,
        tools=ToolRegistry(),
        model=executor.resolve(model),
        calls=ModelCalls(executor, log),
        compressor=compress_session,
    )
    async with context.write_session() as session:
        ledger = await compress_session(session, strategy, preserve_memory, allow_longer)
    return Compressed(context.committed.prompt, ledger)
