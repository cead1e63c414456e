"""The one rule for tool calls and their results.

Results follow the assistant message with their calls, one per call, in call order; nothing comes between. Ids may be
missing, used again later or twice in one message, so a result is matched to the calls of the message before it: by id
first, then by position. Calls of the *last* assistant message may still be open: that is the unfinished tail.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from koogbook.errors import ToolPairingError
from koogbook.messages.message import Message
from koogbook.messages.parts import ToolCall, ToolResult


class Pair(Struct, frozen=True):
    """A call and its result: positions of their messages, and of the parts inside."""

    call_message: int
    call_part: int
    result_message: int
    result_part: int


class PairingDefect(Struct, frozen=True):
    """A place where the rule is broken."""

    kind: Literal["orphan_result", "unanswered_call", "out_of_order"]
    position: int
    call_id: str | None
    tool: str

    def __str__(self) -> str:
        what = {
            "orphan_result": "a result without a call before it",
            "unanswered_call": "a call without a result",
            "out_of_order": "a result that is not in the order of the calls",
        }[self.kind]
        return f"message {self.position}: {what} (tool {self.tool or '?'}, id {self.call_id!r})"


class Pairing(Struct, frozen=True):
    """Who belongs to whom in a list of messages."""

    pairs: tuple[Pair, ...]
    defects: tuple[PairingDefect, ...]
    tail: int | None
    """Position of the last assistant message whose calls are still open, or None."""


class _Turn(Struct):
    """The calls of one assistant message and the results after it, each with its message and part."""

    calls: list[tuple[int, int, ToolCall]]
    results: list[tuple[int, int, ToolResult]]


def pair_messages(messages: Sequence[Message]) -> Pairing:
    """Match calls and results; what cannot be matched is a defect, never an exception."""
    pairs: list[Pair] = []
    defects: list[PairingDefect] = []
    unanswered: list[PairingDefect] = []
    for turn in _turns(messages):
        defects += unanswered
        unanswered = _match(turn, pairs, defects)
    if not unanswered:
        return Pairing(tuple(pairs), tuple(defects), None)
    tail = unanswered[0].position
    if any(message.role != "tool" for message in messages[tail + 1 :]):
        return Pairing(tuple(pairs), (*defects, *unanswered), None)
    return Pairing(tuple(pairs), tuple(defects), tail)


def _turns(messages: Sequence[Message]) -> Iterator[_Turn]:
    turn = _Turn([], [])
    for position, message in enumerate(messages):
        if message.role == "tool":
            for index, part in enumerate(message.parts):
                if isinstance(part, ToolResult):
                    turn.results.append((position, index, part))
            continue
        if turn.calls or turn.results:
            yield turn
            turn = _Turn([], [])
        if message.role == "assistant" and message.calls:
            for index, part in enumerate(message.parts):
                if isinstance(part, ToolCall):
                    turn.calls.append((position, index, part))
    if turn.calls or turn.results:
        yield turn


def _match(turn: _Turn, pairs: list[Pair], defects: list[PairingDefect]) -> list[PairingDefect]:
    """Add the pairs and defects of a turn; the calls that are left without a result are returned."""
    calls = turn.calls
    answered = [False] * len(calls)
    first_open = 0
    for (position, index, result), number in zip(turn.results, _answered_calls(turn), strict=True):
        if number is None:
            defects.append(PairingDefect("orphan_result", position, result.call_id, result.tool))
            continue
        if number != first_open:
            defects.append(PairingDefect("out_of_order", position, result.call_id, result.tool))
        answered[number] = True
        while first_open < len(calls) and answered[first_open]:
            first_open += 1
        pairs.append(Pair(calls[number][0], calls[number][1], position, index))
    return [
        PairingDefect("unanswered_call", position, call.id, call.tool)
        for (position, _, call), has_result in zip(calls, answered, strict=True)
        if not has_result
    ]


def _answered_calls(turn: _Turn) -> Iterator[int | None]:
    """The number of the call that each result belongs to.

    A result with an id takes the first open call of that id; one without takes the first open call that no later
    result asks for by id. Where a turn gives ids, an id that no open call has is wrong.
    """
    ids = [call.id for _, _, call in turn.calls]
    asked = [result.call_id for _, _, result in turn.results]
    if asked == ids or ids.count(None) == len(ids):  # as nearly always
        yield from (number if number < len(ids) else None for number in range(len(asked)))
        return
    by_id: dict[str, deque[int]] = {}
    for number, own in enumerate(ids):
        if own is not None:
            by_id.setdefault(own, deque()).append(number)
    later = Counter(asked)
    is_open = [True] * len(ids)
    for call_id in asked:
        found: int | None = None
        if call_id is not None:
            later[call_id] -= 1
            if numbers := by_id.get(call_id):
                found = numbers.popleft()
        else:
            found = next(
                (
                    number
                    for number, own in enumerate(ids)
                    if is_open[number] and (own is None or len(by_id[own]) > later[own])
                ),
                None,
            )
            if found is not None and (own := ids[found]) is not None:
                by_id[own].popleft()
        if found is not None:
            is_open[found] = False
        yield found


def groups(messages: Sequence[Message]) -> list[range]:
    """The list cut into pieces that may not be parted: a call message with its results, or one message alone.

    Orphan results stand alone, unless they stand between a call and its result. The ranges follow each other and
    cover the list.
    """
    last_result = {pair.call_message: pair.result_message for pair in pair_messages(messages).pairs}
    found: list[range] = []
    position = 0
    while position < len(messages):
        end = last_result.get(position, position) + 1
        found.append(range(position, end))
        position = end
    return found


def open_calls(messages: Sequence[Message], pairing: Pairing | None = None) -> list[ToolCall]:
    """The calls of the unfinished tail that have no result yet, in call order; ``pairing`` is that of the messages."""
    found = pair_messages(messages) if pairing is None else pairing
    if found.tail is None:
        return []
    answered = {pair.call_part for pair in found.pairs if pair.call_message == found.tail}
    return [
        part
        for index, part in enumerate(messages[found.tail].parts)
        if isinstance(part, ToolCall) and index not in answered
    ]


def require_pairs(messages: Sequence[Message], where: str, *, open_tail: bool = True) -> None:
    """Refuse a history that a provider would refuse; ``open_tail``: the last calls may still wait for results.

    Raises:
        ToolPairingError: A call has no result, or a result no call; all of them are named.
    """
    if not any(message.role == "tool" or message.calls for message in messages):
        return
    pairing = pair_messages(messages)
    defects = pairing.defects
    if not open_tail and pairing.tail is not None:
        defects += tuple(
            PairingDefect("unanswered_call", pairing.tail, call.id, call.tool)
            for call in open_calls(messages, pairing)
        )
    if defects:
        listed = "; ".join(str(defect) for defect in defects[:5])
        more = f"; and {len(defects) - 5} more" if len(defects) > 5 else ""
        raise ToolPairingError(
            f"{where}: tool calls and results do not belong together: {listed}{more}. Nothing was sent or "
            "changed. Append a kb.tool_result(call, ...) right after its call, or take both out; of a loaded history: "
            "transcript.repaired(), or kb.repair_pairs(messages)."
        )
