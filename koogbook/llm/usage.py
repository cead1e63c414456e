"""What the requests of a run cost, added up."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from koogbook.llm.call_record import CallRecord
from koogbook.llm.request import Purpose


class PurposeUsage(Struct, frozen=True, kw_only=True):
    """Calls and tokens for one purpose; tokens are the provider's figures, estimates where it gave none."""

    purpose: Purpose
    calls: int
    input_tokens: int
    output_tokens: int


def usage_by_purpose(records: Iterable[CallRecord]) -> tuple[PurposeUsage, ...]:
    """What was spent, for each purpose apart."""
    spent: dict[Purpose, list[int]] = {}
    for record in records:
        sums = spent.setdefault(record.request.purpose, [0, 0, 0])
        sums[0] += 1
        if record.reply is not None:
            usage = record.reply.usage
            given = usage.input_tokens if usage else None
            made = usage.output_tokens if usage else None
            sums[1] += record.request.tokens if given is None else given
            sums[2] += record.reply.tokens if made is None else made
    return tuple(
        PurposeUsage(purpose=purpose, calls=sums[0], input_tokens=sums[1], output_tokens=sums[2])
        for purpose, sums in spent.items()
    )
