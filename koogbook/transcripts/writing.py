"""What the writers of several formats share: ids for calls and their results, and what a format has no place for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from koogbook.messages.message import Message
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import ToolCall, ToolResult
from koogbook.transcripts.formats import Loss
from koogbook.transcripts.spelling import added_fields
from koogbook.transcripts.transcript import preview

#: By position of a message and index of a part.
CallIds = dict[tuple[int, int], str]

_MADE_ID: Final = re.compile(r"[0-9a-f]{16}")


class Lost(str):
    """In place of a part that cannot be written: what was lost, in words; an empty text where nothing was."""

    __slots__ = ()


def call_ids(
    messages: Sequence[Message],
    accepts: Callable[[str], bool] = bool,
    as_they_are: Callable[[Message], bool] = lambda one: False,
) -> CallIds:
    """An id for each call, and for each result that belongs to one.

    A call keeps its own where ``accepts`` takes it, or its message goes out with the ids ``as_they_are``; else it gets
    one that no other call has.
    """
    ids: CallIds = {}
    used = {part.id for one in messages for part in one.calls}
    used |= {part.call_id for one in messages for part in one.results}
    for position, one in enumerate(messages):
        for index, part in enumerate(one.parts if one.calls else ()):
            if not isinstance(part, ToolCall):
                continue
            if (accepts(part.id or "") and part.id) or as_they_are(one):
                ids[position, index] = part.id or ""
                continue
            made = f"call_{position}_{index}"
            while made in used:
                made += "_"
            used.add(made)
            ids[position, index] = made
    for pair in pair_messages(messages).pairs:
        if not as_they_are(messages[pair.result_message]):
            ids[pair.result_message, pair.result_part] = ids[pair.call_message, pair.call_part]
    return ids


def changed_ids(messages: Sequence[Message], ids: CallIds) -> Iterator[Loss]:
    """The calls whose own id was not taken, and the results whose id no call has."""
    of_calls = {part.id for one in messages for part in one.calls}
    for position, one in enumerate(messages):
        for index, part in enumerate(one.parts):
            made = ids.get((position, index))
            if isinstance(part, ToolCall) and part.id and made not in (None, part.id):
                yield Loss(position, f"the id {preview(part.id)!r} of a call of {part.tool} became {made!r}")
            if isinstance(part, ToolResult) and part.call_id not in of_calls and part.call_id and made:
                was = preview(part.call_id)
                yield Loss(position, f"the id {was!r} of a result of {part.tool or 'a tool'} became {made!r}")


def pieces(one: Message) -> list[tuple[int, Message]]:
    """A message in pieces with one result each, for formats that have one in an entry, and where each begins.

    What stands after a result goes with it, and what stands before the first with that.
    """
    at = [index for index, part in enumerate(one.parts) if isinstance(part, ToolResult)]
    if len(at) < 2:
        return [(0, one)]
    starts = [0, *at[1:]]
    ends = [*at[1:], len(one.parts)]
    return [(start, one.with_parts(one.parts[start:end])) for start, end in zip(starts, ends, strict=True)]


def unplaced(position: int, one: Message, places: Collection[str], *own_metadata: str) -> Iterator[Loss]:
    """The fields of a message that have no place in a format.

    ``places`` are the ones that do: ``id``, ``time``, ``name``, ``usage``, ``finish_reason``; ``own_metadata`` are the
    keys of what the format keeps itself, the first being its own name. Ids that were made for want of others and times
    that say that none is known are no loss.
    """
    if "id" not in places and not is_made(one.id):
        yield Loss(position, "its id")
    if "time" not in places and one.time.year > 1970:
        yield Loss(position, "its time")
    if "name" not in places and one.name is not None:
        yield Loss(position, f"its name {preview(one.name)!r}")
    if "usage" not in places and one.usage is not None:
        yield Loss(position, "its usage")
    if "finish_reason" not in places and one.finish_reason is not None:
        yield Loss(position, f"why it ended ({preview(one.finish_reason)})")
    if one.metadata_json == "{}":
        return
    # Responses keep a spelling and nothing else.
    own = {*own_metadata, f"{own_metadata[0]}_spelling"}
    others: list[str] = []
    for key, value in one.metadata.items():
        if key in own or key.endswith("_layout"):
            continue
        if isinstance(value, dict) and value.keys() == {"parts", "change"}:
            fields = dict.fromkeys(
                name for name, found in added_fields(value["change"]) if (name, found) != ("id", one.id)
            )
            if fields:
                yield Loss(position, f"its fields {preview(', '.join(fields))}")
        else:
            others.append(key)
    if others:
        yield Loss(position, f"its metadata ({preview(', '.join(others))})")


def is_made(id: str) -> bool:
    """Whether an id looks like one that koogbook made: such are no loss where a format has no place for them."""
    return _MADE_ID.fullmatch(id) is not None


def metadata_of(one: Message, key: str) -> dict[str, Any]:
    """The object that a message's metadata has under a key; an empty one where there is none."""
    found = one.metadata.get(key) if one.metadata_json != "{}" else None
    return found if isinstance(found, dict) else {}
