"""What the requests of a run cost, added up: for each purpose, node and model apart, or all together.

Counted are tokens as the provider counted them, and estimates where it did not say, or said what is no number of tokens
(``estimated`` says how often). An answer from the cache counts as ``cached`` and nowhere else: it cost nothing. A
request that failed, or that waits for its answer, counts as a call without tokens. What a provider counted all the same
for an attempt that gave no answer is added: ``in_vain`` says how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from msgspec import Struct

from koogbook.llm.call_record import CallRecord, SpentInVain
from koogbook.llm.prices import price_of
from koogbook.llm.request import Purpose
from koogbook.messages.message import Message, Usage
from koogbook.messages.metadata import NO_METADATA
from koogbook.messages.model import LLModel, as_model


class Spending(Struct, frozen=True, kw_only=True):
    """Calls, tokens and money.

    ``calls`` are the requests that were sent, ``cached`` those that were not, since their answer was there. Of the
    calls, ``failed`` gave no answer, ``estimated`` rest on estimates, and ``offline`` were answered without a model,
    which costs nothing. A model whose price is known answered the ``priced`` ones, one without a price those that are
    ``unpriced``. Tokens that were read from a provider's cache or written to it are part of the input, reasoning is
    part of the output.

    ``in_vain`` are attempts without an answer that the provider counted all the same, those after which a request was
    made again and those of failed calls; for ``in_vain_unpriced`` of them no price is known. Their tokens and their
    cost are part of the sums.

    ``cost`` is in US dollars and holds what has a price; None where that is nothing, though a model answered or
    counted in vain.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    estimated: int = 0
    offline: int = 0
    priced: int = 0
    unpriced: int = 0
    in_vain: int = 0
    in_vain_unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Decimal | None = Decimal(0)


class PurposeUsage(Spending, frozen=True, kw_only=True):
    """What was spent for one purpose."""

    purpose: Purpose


class NodeUsage(Spending, frozen=True, kw_only=True):
    """What one node spent; ``path`` is ``strategy/subgraph/node``, empty outside of nodes."""

    path: str


class ModelUsage(Spending, frozen=True, kw_only=True):
    """What was spent on one model, named ``provider:model``: the one that answered, or did not.

    Attempts in vain count for the model that was asked in them, and the call for the one that answered in the end.
    """

    model: str


def usage_by_purpose(records: Iterable[CallRecord]) -> tuple[PurposeUsage, ...]:
    """What was spent, for each purpose apart, in the order in which they first came."""
    return _apart(records, lambda record, _: record.request.purpose, "purpose", PurposeUsage)


def usage_by_node(records: Iterable[CallRecord]) -> tuple[NodeUsage, ...]:
    """What was spent, for each node apart, in the order in which they first came."""
    return _apart(records, lambda record, _: record.path, "path", NodeUsage)


def usage_by_model(records: Iterable[CallRecord]) -> tuple[ModelUsage, ...]:
    """What was spent, for each model apart, in the order in which they first came."""

    def whose(record: CallRecord, spent: SpentInVain | None) -> str:
        return str(answering_model(record)) if spent is None else spent.model

    return _apart(records, whose, "model", ModelUsage)


def usage_of_all(records: Iterable[CallRecord]) -> Spending:
    """What was spent in all."""
    sums = _Sums()
    for record in records:
        sums.add(record)
        for spent in record.spent:
            sums.add_in_vain(spent)
    return Spending(**sums.fields())


def spent_in_vain(records: Iterable[CallRecord]) -> Spending:
    """What of it was counted for attempts without an answer."""
    sums = _Sums()
    for record in records:
        for spent in record.spent:
            sums.add_in_vain(spent)
    return Spending(**sums.fields())


def answering_model(record: CallRecord) -> LLModel:
    """The model that answered, which need not be the one that was asked for."""
    told = {} if record.reply is None else _told(record.reply)
    name = told.get("answered_by")
    if isinstance(name, str) and name and (":" in name or "instead_of" in told):
        return as_model(name)
    return record.request.model


def _apart(
    records: Iterable[CallRecord],
    which: Callable[[CallRecord, SpentInVain | None], str],
    field: str,
    kind: Callable[..., Any],
) -> tuple[Any, ...]:
    found: dict[str, _Sums] = {}
    for record in records:
        for spent in record.spent:
            found.setdefault(which(record, spent), _Sums()).add_in_vain(spent)
        found.setdefault(which(record, None), _Sums()).add(record)
    return tuple(kind(**{field: name}, **sums.fields()) for name, sums in found.items())


#: What a provider counts.
_TOKENS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


class _Sums:
    """A sum of calls while they are added."""

    __slots__ = ("_cost", "_numbers")

    def __init__(self) -> None:
        self._numbers = {name: 0 for name in Spending.__struct_fields__ if name != "cost"}
        self._cost = Decimal(0)

    def add(self, record: CallRecord) -> None:
        """One more call."""
        numbers = self._numbers
        told = {} if record.reply is None else _told(record.reply)
        if told.get("cached") is True:
            numbers["cached"] += 1
            return
        numbers["calls"] += 1
        if record.reply is None:
            numbers["failed"] += bool(record.error)
            return
        usage, is_estimate = _usage_of(record, record.reply)
        numbers["estimated"] += is_estimate
        for name in _TOKENS:
            numbers[name] += getattr(usage, name) or 0
        if told.get("model") is False:
            numbers["offline"] += 1
            return
        price = price_of(answering_model(record), usage, when=record.reply.time)
        if price is None:
            numbers["unpriced"] += 1
        else:
            numbers["priced"] += 1
            self._cost += price

    def add_in_vain(self, spent: SpentInVain) -> None:
        """One more attempt that gave no answer and was counted; its call is counted by :meth:`add`."""
        numbers = self._numbers
        numbers["in_vain"] += 1
        usage = _possible(spent.usage)
        for name in _TOKENS:
            numbers[name] += getattr(usage, name) or 0
        price = price_of(as_model(spent.model), usage, when=spent.time)
        if price is None:
            numbers["in_vain_unpriced"] += 1
        else:
            self._cost += price

    def fields(self) -> dict[str, Any]:
        """The sums by name."""
        numbers = self._numbers
        unknown = numbers["unpriced"] + numbers["in_vain_unpriced"]
        known = numbers["priced"] + numbers["in_vain"] - numbers["in_vain_unpriced"]
        return {**numbers, "cost": None if unknown and not known else self._cost}


def _usage_of(record: CallRecord, reply: Message) -> tuple[Usage, bool]:
    """The tokens of a call, and whether some of them are estimates."""
    usage = _possible(reply.usage or Usage())
    if usage.input_tokens is not None and usage.output_tokens is not None:
        return usage, False
    filled = Usage(
        record.tokens if usage.input_tokens is None else usage.input_tokens,
        reply.tokens if usage.output_tokens is None else usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    return filled, True


def _possible(usage: Usage) -> Usage:
    """The same numbers without those that no provider can have counted."""
    numbers = {name: getattr(usage, name) for name in _TOKENS}
    if not any(number is not None and number < 0 for number in numbers.values()):
        return usage
    return Usage(
        **{name: None if number is None or number < 0 else number for name, number in numbers.items()}
    )


def _told(reply: Message) -> dict[str, Any]:
    return {} if reply.metadata_json == NO_METADATA else reply.metadata
