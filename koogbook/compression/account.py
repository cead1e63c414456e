"""The ledger of a compression, made from the two histories and what the strategy says of its summaries."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from koogbook.compression.compose import Summary
from koogbook.messages.ledger import Ledger, MessageFate, NewMessage, Status
from koogbook.messages.message import Message


def account_for(
    strategy: str,
    before: Sequence[Message],
    after: Sequence[Message],
    *,
    summaries: Sequence[Summary] = (),
    memory: Sequence[Message] = (),
    model_calls: int = 0,
    seconds: float = 0.0,
    notes: Sequence[str] = (),
) -> Ledger:
    """Say of each original message what became of it, and of each new one where it comes from.

    A summary is new whatever it says: one that repeats an earlier summary was still made from its own sources. A
    summary of a strategy that names no sources counts as made from all messages that are gone.
    """
    # Here, since most runs compress nothing and the patterns for words take a while to be compiled.
    from koogbook.messages.history_diff import diff_messages
    from koogbook.messages.word_diff import provenance

    position_of = {message.id: at for at, message in enumerate(before)}
    named = {summary.message.id: summary.sources for summary in summaries}
    diff = diff_messages(
        before,
        after,
        new_ids={
            message.id
            for message in after
            if message.id not in position_of and (message.is_summary or message.id in named)
        },
    )
    gone = [fate.position for fate in diff.fates if fate.new_position is None]
    new: list[NewMessage] = []
    went_into: dict[int, list[int]] = {}
    for at in diff.new_positions:
        message = after[at]
        if message.id in named:
            sources = [position_of[source] for source in named[message.id] if source in position_of]
        else:
            sources = gone if message.is_summary else []
        for source in sources:
            went_into.setdefault(source, []).append(at)
        sentences = provenance(message.text, [(source, before[source]) for source in sources])
        new.append(NewMessage(at, message.tokens, tuple(sources), sentences))
    remembered = {message.id for message in memory}
    fates = tuple(_fate(fate, before, remembered, went_into.get(fate.position, ())) for fate in diff.fates)
    status: Status = "unchanged" if list(before) == list(after) else "applied"
    return Ledger(
        strategy=strategy,
        status=status,
        before=tuple(before),
        after=tuple(after),
        fates=fates,
        new_messages=tuple(new),
        model_calls=model_calls,
        seconds=seconds,
        notes=tuple(notes),
    )


def _fate(
    fate: MessageFate, before: Sequence[Message], remembered: set[str], summaries: Sequence[int]
) -> MessageFate:
    message = before[fate.position]
    if fate.new_position is not None:
        if fate.fate == "kept" and message.id in remembered:
            return replace(fate, fate="memory", summaries=tuple(summaries), reason="carries a memory marker")
        reason = fate.reason or _kept_reason(message)
        return replace(fate, summaries=tuple(summaries), reason=reason)
    if summaries:
        return replace(fate, fate="summarised", summaries=tuple(summaries), reason="")
    return replace(fate, fate="dropped", reason=fate.reason or "left out by the strategy")


def _kept_reason(message: Message) -> str:
    return "system message" if message.role == "system" else ""
