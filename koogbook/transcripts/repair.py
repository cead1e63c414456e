"""A history in which every call has its result and every result its call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from koogbook.messages.message import Message
from koogbook.messages.pairing import Pairing, pair_messages
from koogbook.messages.parts import Part, Text, ToolCall, ToolResult
from koogbook.transcripts.transcript import Defect, preview


def repair_pairs(
    messages: Sequence[Message], *, open_tail: bool = True
) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """Make tool calls and results belong together, and say what was done.

    Taken out: results without a call, calls in the middle without a result, and messages that hold nothing
    else. Moved: results that are not in the order of their calls. Calls of the last assistant message may
    stay open, unless ``open_tail`` is false: then those are taken out as well. Each change is a defect of kind
    ``repaired`` with the position in ``messages`` and a preview of the content; ``messages`` itself is not
    touched.
    """
    pairing = pair_messages(messages)
    if not pairing.defects and (open_tail or pairing.tail is None):
        return tuple(messages), ()
    changes: list[Defect] = []
    kept = _without_strays(messages, pairing, changes, open_tail)
    return _in_call_order(messages, kept, pairing, changes), tuple(
        sorted(changes, key=lambda one: one.position)
    )


def _without_strays(
    messages: Sequence[Message], pairing: Pairing, changes: list[Defect], open_tail: bool
) -> dict[int, Message]:
    called = {(pair.call_message, pair.call_part) for pair in pairing.pairs}
    answered = {(pair.result_message, pair.result_part) for pair in pairing.pairs}
    last_answered = max(
        (pair.call_part for pair in pairing.pairs if pair.call_message == pairing.tail), default=-1
    )
    kept: dict[int, Message] = {}
    for position, message in enumerate(messages):
        parts: list[Part] = []
        for index, part in enumerate(message.parts):
            # A call may stay open only where no later one was answered: its result would come out of order.
            may_be_open = open_tail and position == pairing.tail and index > last_answered
            if isinstance(part, ToolCall) and not may_be_open and (position, index) not in called:
                text = f"a call of {part.tool} without a result was taken out: {preview(part.args)}"
            elif isinstance(part, ToolResult) and (position, index) not in answered:
                text = f"a result of {part.tool or '?'} without a call was taken out: {preview(part.output)}"
            else:
                parts.append(part)
                continue
            changes.append(Defect(position, "repaired", text, f"messages[{position}]"))
        if len(parts) == len(message.parts):
            kept[position] = message
        elif any(not isinstance(part, Text) or part.text for part in parts):
            kept[position] = message.with_parts(parts)
    return kept


def _in_call_order(
    messages: Sequence[Message], kept: dict[int, Message], pairing: Pairing, changes: list[Defect]
) -> tuple[Message, ...]:
    call_part = {(pair.result_message, pair.result_part): pair.call_part for pair in pairing.pairs}
    call_message = {pair.result_message: pair.call_message for pair in pairing.pairs}
    wrong = {call_message[one.position] for one in pairing.defects if one.kind == "out_of_order"}
    runs: dict[int, list[int]] = defaultdict(list)
    for result, call in call_message.items():
        if call in wrong:
            runs[call].append(result)
    for positions in runs.values():
        ranked = {
            position: [
                (call_part[position, index], part)
                for index, part in enumerate(messages[position].parts)
                if (position, index) in call_part
            ]
            for position in positions
        }
        if all(len(results) == 1 for results in ranked.values()):
            ordered = sorted(positions, key=lambda position: ranked[position][0][0])
            if ordered == sorted(positions):
                continue
            moved = [kept[position] for position in ordered]
            kept.update(zip(sorted(positions), moved, strict=True))
            text = "the results were put in the order of their calls"
        else:
            _merge(kept, sorted(positions), ranked.values())
            text = "the results were put in the order of their calls, in one message"
        changes.extend(
            Defect(one.position, "repaired", f"{text}: {one.tool or '?'}", f"messages[{one.position}]")
            for one in pairing.defects
            if one.kind == "out_of_order" and one.position in positions
        )
    return tuple(kept[position] for position in sorted(kept))


def _merge(
    kept: dict[int, Message], positions: Sequence[int], ranked: Iterable[list[tuple[int, Part]]]
) -> None:
    others = [
        part for position in positions for part in kept[position].parts if not isinstance(part, ToolResult)
    ]
    results = sorted((entry for entries in ranked for entry in entries), key=lambda entry: entry[0])
    kept[positions[0]] = kept[positions[0]].with_parts([*(part for _, part in results), *others])
    for position in positions[1:]:
        del kept[position]
