"""The one rule for tool calls and their results.

Results follow the assistant message with their calls, one per call, in call order; nothing comes between. Ids may be
missing or used again later, so a result is matched to the calls of the message before it, by id first and by
position where it has none. Calls of the *last* assistant message may still be open: that is the unfinished tail.
"""

from __future__ import annotations

from collections.abc import Sequence
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


class _Open(Struct):
    position: int
    part: int
    id: str | None
    tool: str


def pair_messages(messages: Sequence[Message]) -> Pairing:
    """Match calls and results; what cannot be matched is a defect, never an exception."""
    pairs: list[Pair] = []
    defects: list[PairingDefect] = []
    pending: list[_Open] = []
    named = False

    def leave_unanswered() -> None:
        defects.extend(
            PairingDefect("unanswered_call", call.position, call.id, call.tool) for call in pending
        )
        pending.clear()

    for position, message in enumerate(messages):
        if message.role != "tool":
            leave_unanswered()
            if message.role == "assistant" and message.calls:
                for index, part in enumerate(message.parts):
                    if isinstance(part, ToolCall):
                        pending.append(_Open(position, index, part.id, part.tool))
                named = any(call.id is not None for call in pending)
            continue
        for index, result in enumerate(message.parts):
            if not isinstance(result, ToolResult):
                continue
            match = _match(pending, result.call_id, named)
            if match is None:
                defects.append(PairingDefect("orphan_result", position, result.call_id, result.tool))
                continue
            call = pending.pop(match)
            if match:
                defects.append(PairingDefect("out_of_order", position, result.call_id, result.tool))
            pairs.append(Pair(call.position, call.part, position, index))
    tail = pending[0].position if pending else None
    return Pairing(tuple(pairs), tuple(defects), tail)


def _match(pending: list[_Open], call_id: str | None, named: bool) -> int | None:
    """Which open call a result belongs to; ``named``: the calls of its turn have ids, so an unknown one is wrong."""
    if call_id is not None:
        for index, call in enumerate(pending):
            if call.id == call_id:
                return index
        return 0 if pending and not named else None
    return 0 if pending else None


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
        answered = {pair.call_part for pair in pairing.pairs if pair.call_message == pairing.tail}
        defects += tuple(
            PairingDefect("unanswered_call", pairing.tail, part.id, part.tool)
            for index, part in enumerate(messages[pairing.tail].parts)
            if isinstance(part, ToolCall) and index not in answered
        )
    if defects:
        listed = "; ".join(str(defect) for defect in defects[:5])
        more = f"; and {len(defects) - 5} more" if len(defects) > 5 else ""
        raise ToolPairingError(
            f"{where}: tool calls and results do not belong together: {listed}{more}. Nothing was sent or "
            "changed. Append a kb.tool_result(call, ...) right after its call, or take both out."
        )
