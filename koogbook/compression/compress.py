"""Running a strategy on a session: what it may do, what is checked, and what is recorded."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
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
from koogbook.events import CompressionCompleted, CompressionFailed, CompressionStarting
from koogbook.llm.calls import ModelCalls
from koogbook.llm.context import LLMContext
from koogbook.llm.executor import PromptExecutor
from koogbook.llm.write_session import LLMWriteSession
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel
from koogbook.messages.pairing import Pairing, pair_messages
from koogbook.messages.prompt import Prompt, as_messages
from koogbook.pipeline import EventLog
from koogbook.tools.tool import ToolRegistry

if TYPE_CHECKING:
    from koogbook.notebook.views.diff_view.diff import DiffView


async def compress_session(
    session: LLMWriteSession,
    strategy: HistoryCompressionStrategy | None = None,
    preserve_memory: bool = True,
    allow_longer: bool | None = None,
) -> Ledger:
    """Compress the history of an open write session; either all of it happens or nothing.

    The messages alone change: id, params, tools and model are afterwards what they were, whatever the strategy did
    with them. A result that is longer than what it replaces is refused, reported and not taken, unless
    ``allow_longer`` (which ``compat="koog"`` implies).

    Raises:
        InvalidCompressionError: The result breaks a rule.
        CompressionError: The strategy failed; what the executor raised goes through as it is.
    """
    chosen = WholeHistory() if strategy is None else require_strategy(strategy)
    name = _name(chosen)
    context = session._context
    before, tools, model = session.prompt, session.tools, session.model
    log = context.log
    memory = [message for message in before.messages if message.is_memory and not message.is_summary]
    notes = _quoted_markers(memory) if preserve_memory else []
    calls = len(context.calls.records)
    started = clock.monotonic()
    try:
        log.emit(CompressionStarting, strategy=name, messages=len(before), tokens=before.tokens)
        awaited = chosen.compress(session, tuple(memory) if preserve_memory else ())
        if not inspect.isawaitable(awaited):
            raise CompressionError(
                f"{name}.compress is no async function: write 'async def compress(self, session, memory_messages)'. "
                "Nothing was changed."
            )
        outcome = await awaited
        after, summaries, more_notes = _result(name, before, session._prompt, outcome)
        _check(name, before.messages, after, getattr(chosen, "drops_system", False))
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
    except BaseException as problem:
        session._prompt, session._tools, session._model = before, tools, model
        log.emit_quietly(
            CompressionFailed,
            strategy=name,
            error=f"{type(problem).__name__}: {problem}",
            cancelled=isinstance(problem, asyncio.CancelledError),
        )
        raise
    longer_is_fine = context.compat == "koog" if allow_longer is None else allow_longer
    ledger = ledger if longer_is_fine else _refuse_longer(ledger, summaries)
    session._prompt, session._tools, session._model = before, tools, model
    if ledger.status == "applied":
        session._prompt = Prompt(after, id=before.id, params=before.params, allow_duplicate=True)
    log.emit(CompressionCompleted, ledger=ledger)
    for note in ledger.notes:
        log.notice("compression", note)
    return ledger


def require_strategy(strategy: Any) -> HistoryCompressionStrategy:
    """The strategy, if it is one.

    Raises:
        CompressionError: It is a class, or has no async method ``compress(session, memory_messages)``.
    """
    if isinstance(strategy, type):
        raise CompressionError(
            f"{strategy.__name__} is a class; a strategy is made of it: {strategy.__name__}(). Nothing was changed."
        )
    if not callable(getattr(strategy, "compress", None)):
        raise CompressionError(
            f"{strategy!r:.60} is no compression strategy: it needs 'async def compress(self, session, "
            "memory_messages)'. Nothing was changed."
        )
    chosen: HistoryCompressionStrategy = strategy
    return chosen


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
    has_assigned = len(assigned) != len(before) or not assigned.is_extension_of(before)
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
        how = (
            "appended to session.prompt (session.request() does; kb.summarise and session.send() do not)"
            if assigned.is_extension_of(before)
            else "assigned to session.prompt"
        )
        raise InvalidCompressionError(
            f"{name}.compress {how}, which makes a history of {len(assigned)} messages, and returned another one "
            f"of {len(returned)}. The history is as it was. Do one of the two."
        )
    return returned, outcome.summaries if isinstance(outcome, Composition) else (), []


def _check(name: str, before: Sequence[Message], after: Sequence[Message], drops_system: bool) -> None:
    if not after and before:
        raise InvalidCompressionError(
            f"{name} left nothing of {len(before)} messages. The history is as it was. To clear a history, assign "
            "an empty one to session.prompt yourself."
        )
    parted = _parted(before, after)
    if parted:
        raise InvalidCompressionError(
            f"{name} parted tool calls from their results: {'; '.join(parted[:3])}. The history is as it was. "
            "Keep or drop a call and its results together (kb.groups gives the pieces)."
        )
    times = Counter(message.id for message in before)
    doubled = [
        one for one, count in Counter(message.id for message in after).items() if count > max(times[one], 1)
    ]
    if doubled:
        raise InvalidCompressionError(
            f"{name} put messages twice into its result: {', '.join(doubled[:3])}. The history is as it was. "
            "Keep each message once."
        )
    if not drops_system:
        kept = {message.id for message in after}
        lost = [at for at, one in enumerate(before) if one.role == "system" and one.id not in kept]
        if lost:
            raise InvalidCompressionError(
                f"{name} dropped the system messages at {lost}. The history is as it was. Keep them, or say that "
                "it is meant: drops_system = True on the strategy."
            )


def _parted(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """Where calls and results belong together no more, in words; what was broken before counts for nothing."""
    was, now = pair_messages(before), pair_messages(after)
    known = {(one.kind, before[one.position].id, one.call_id) for one in was.defects}
    parted = [str(one) for one in now.defects if (one.kind, after[one.position].id, one.call_id) not in known]
    if now.tail is not None and _open_calls(after, now) != _open_calls(before, was):
        parted.append(f"message {now.tail}: the results of its calls are gone")
    return parted


def _open_calls(messages: Sequence[Message], pairing: Pairing) -> tuple[str, int] | None:
    """The message whose calls are open, and how many of them have a result already."""
    if pairing.tail is None:
        return None
    return messages[pairing.tail].id, sum(pair.call_message == pairing.tail for pair in pairing.pairs)


def _refuse_longer(ledger: Ledger, summaries: Sequence[Summary]) -> Ledger:
    """Summaries against what they replace; a note that a strategy adds is no summary and counts for nothing."""
    named = {summary.message.id for summary in summaries}
    made = [
        entry.tokens
        for entry in ledger.new_messages
        if ledger.after[entry.position].is_summary or ledger.after[entry.position].id in named
    ]
    new = sum(made)
    replaced = sum(entry.tokens for entry in ledger.fates if entry.new_position is None)
    if not made or new < replaced:
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

    def __repr__(self) -> str:
        return f"Compressed({self.prompt!r}, {self.ledger!r})"

    def facts(self, facts: Sequence[Fact]) -> tuple[FactFinding, ...]:
        """Which of these facts survived."""
        return check_facts(self.ledger, facts)

    def diff(self, *, must_keep: Sequence[Fact] = ()) -> DiffView:
        """The view of both histories side by side."""
        from koogbook.notebook.views.diff_view.diff import diff

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
