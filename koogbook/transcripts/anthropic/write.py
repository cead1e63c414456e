"""Messages as Anthropic messages: results and the words after them in one user message, system prompts beside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from koogbook.messages.message import Message
from koogbook.messages.parts import Part, ToolCall, ToolResult
from koogbook.transcripts.anthropic.parts import arguments_lost, block_from_part
from koogbook.transcripts.formats import Loss, Written
from koogbook.transcripts.reading import TIME_FIELDS
from koogbook.transcripts.spelling import parts_mark, respelled
from koogbook.transcripts.writing import CallIds, Lost, call_ids, changed_ids, metadata_of, unplaced

#: Metadata of a message from an Anthropic file: fields that koogbook has no place for, how its blocks were spelled, and
#: how it stood among the others. Of the layout: ``apart`` from the results before it, ``block`` for a text in a list,
#: ``inline`` for a system message in the list, ``own`` for raw blocks of this format, ``ids`` for ids that are taken as
#: they are, ``without`` a role or content, ``order`` of the blocks of an entry that several messages were made of.
FIELDS_KEY: Final = "anthropic"
SPELLING_KEY: Final = "anthropic_spelling"
LAYOUT_KEY: Final = "anthropic_layout"

_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")


def write_conversation(messages: Sequence[Message], extra: Mapping[str, Any]) -> Written:
    """A history as Anthropic messages: a list, or an object where there is a system prompt or more to say.

    Results of one assistant message share one user message, with what the user says after them. System messages at the
    start become ``system``; a later one stays where it is if the API allows that (after a user message, before an
    assistant's or at the end; models before Opus 4.8 refuse it), else it moves to ``system``. Arguments that are no
    JSON object become ``{}``: the API has no other place for them, and the loss quotes them. Empty texts, messages
    without content, and thoughts without a signature of this API are left out. A message that came from an Anthropic
    file and is unchanged comes out as it went in, but for its empty text blocks.
    """
    writer = _Writer(messages)
    for position in range(len(messages)):
        writer.write(position)
    return writer.done(extra)


def plain_blocks(
    one: Message, position: int = 0, ids: CallIds | None = None, lost: list[str] | None = None
) -> list[Any]:
    """The content of a message as blocks; what is not in them is added to ``lost``, in words."""
    ids = {} if ids is None else ids
    lost = [] if lost is None else lost
    own = bool(metadata_of(one, LAYOUT_KEY).get("own"))
    blocks: list[Any] = []
    inside = blocks
    for index, part in enumerate(one.parts):
        if isinstance(part, ToolResult):
            call_id = ids.get((position, index)) or part.call_id or ""
            inside = [] if not part.output else [{"type": "text", "text": part.output}]
            error = {"is_error": True} if part.is_error else {}
            blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": inside, **error})
            continue
        block = block_from_part(part, one.role, own=own, call_id=ids.get((position, index)))
        if isinstance(part, ToolCall) and arguments_lost(part):
            lost.append(arguments_lost(part))
        if isinstance(block, Lost):
            lost += [block] if block else []
        else:
            inside.append(block)
    return [_plain_result(block) if one.role == "tool" else block for block in blocks]


def is_plain_text(content: list[Any]) -> bool:
    """Whether a list of blocks can be written as a text."""
    return len(content) == 1 and isinstance(content[0], dict) and _is_text(content[0])


def needs_other_id(call_id: str, used: set[str]) -> bool:
    """Whether the API refuses an id: it has other characters, or an earlier call has it."""
    return call_id in used or not _CALL_ID.fullmatch(call_id)


def order_mark(parts: Sequence[Part]) -> str:
    """A hash by which an export sees that all messages of an entry are still the ones of the import."""
    return parts_mark("tool", parts)


class _Entry(Struct):
    """One entry on its way: its content is ``raw`` where the file had something other than blocks."""

    role: str
    blocks: list[Any]
    made_of: list[Message]
    fields: dict[str, Any]
    raw: list[Any] = field(default_factory=list)


class _Writer:
    """Writes one message after the other."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.losses: list[Loss] = []
        self.entries: list[_Entry] = []
        self.system: list[_Entry] = []
        used: set[str] = set()

        def accepts(call_id: str) -> bool:
            taken = not needs_other_id(call_id, used)
            used.add(call_id)
            return taken

        self.ids = call_ids(messages, accepts, lambda one: bool(metadata_of(one, LAYOUT_KEY).get("ids")))
        self.losses += changed_ids(messages, self.ids)
        self.first = next((at for at, one in enumerate(messages) if one.role != "system"), len(messages))

    def write(self, position: int) -> None:
        one = self.messages[position]
        layout = metadata_of(one, LAYOUT_KEY)
        fields = metadata_of(one, FIELDS_KEY)
        self.losses += unplaced(position, one, _places(one, fields), FIELDS_KEY)
        lost: list[str] = []
        plain = plain_blocks(one, position, self.ids, lost)
        content = respelled(one, metadata_of(one, SPELLING_KEY), plain)
        if content is plain:
            self.losses += [Loss(position, text) for text in lost]
        if one.role == "tool" and not one.results and content:
            self.losses.append(
                Loss(position, "that it is of a tool: it has no result, and became a user message")
            )
        entry = _Entry("user" if one.role == "tool" else one.role, [], [one], fields)
        if isinstance(content, list):
            entry.blocks = content
        else:
            entry.raw = [content]
        if one.role == "system" and not layout.get("inline"):
            self._write_system(position, entry)
        elif self._continues(position, layout):
            self._join(position, entry)
        elif content is plain and not content and not layout:
            self.losses.append(Loss(position, "that it was said: it has no content, which the API refuses"))
        else:
            self.entries.append(entry)

    def done(self, extra: Mapping[str, Any]) -> Written:
        entries = [_as_json(entry) for entry in self.entries]
        losses = tuple(sorted(self.losses, key=lambda loss: loss.position))
        system = self._system()
        if not extra and system is None:
            return Written(entries, losses)
        beside = {} if system is None else {"system": system}
        return Written({**extra, **beside, "messages": entries}, losses)

    def _continues(self, position: int, layout: dict[str, Any]) -> bool:
        """Whether a message belongs into the entry before: results, and what the user says after them."""
        if not position or not self.entries or layout.get("apart"):
            return False
        before = self.messages[position - 1]
        joins = self.messages[position].role in ("tool", "user") and before.role == "tool"
        return joins and self.entries[-1].made_of[-1] is before and not self.entries[-1].raw

    def _join(self, position: int, entry: _Entry) -> None:
        last = self.entries[-1]
        last.blocks += [*entry.blocks, *(_as_blocks(raw) for raw in entry.raw)]
        last.made_of.append(self.messages[position])
        clash = [key for key, value in entry.fields.items() if last.fields.get(key, value) != value]
        if clash:
            self.losses.append(Loss(position, f"its fields {', '.join(clash)}, which the entry has already"))
        last.fields = {**entry.fields, **last.fields}

    def _write_system(self, position: int, entry: _Entry) -> None:
        if position < self.first:
            self.system.append(entry)
            return
        after = next((one.role for one in self.messages[position + 1 :] if one.role != "system"), "assistant")
        before = self.entries[-1] if self.entries else None
        if not entry.blocks or before is None or before.role == "assistant" or after != "assistant":
            self.system.append(entry)
            if entry.blocks:
                self.losses.append(
                    Loss(position, "its place: the API has none for it there, and it moved to system")
                )
        elif before.role == "system" and not metadata_of(before.made_of[-1], LAYOUT_KEY).get("inline"):
            before.blocks += entry.blocks
            before.made_of.append(self.messages[position])
        else:
            self.entries.append(entry)

    def _system(self) -> Any:
        if len(self.system) == 1:
            only = self.system[0]
            as_list = metadata_of(only.made_of[0], LAYOUT_KEY).get("block")
            return _content(only) if only.raw or only.blocks or as_list else None
        blocks = [
            block for one in self.system for block in (*one.blocks, *(_as_blocks(raw) for raw in one.raw))
        ]
        return blocks or None


def _places(one: Message, fields: dict[str, Any]) -> set[str]:
    """The fields of a message that the file gave, and that go out with its other fields."""
    places = {"id"} if fields.get("id") == one.id else set()
    places |= {"time"} if fields.keys() & set(TIME_FIELDS) else set()
    return places | ({"usage"} & fields.keys()) | ({"finish_reason"} if "stop_reason" in fields else set())


def _as_json(entry: _Entry) -> dict[str, Any]:
    layout = metadata_of(entry.made_of[-1], LAYOUT_KEY)
    order = layout.get("order")
    if isinstance(order, list) and len(order) == len(entry.blocks):
        parts = [part for one in entry.made_of for part in one.parts]
        if layout.get("mark") == order_mark(parts):
            entry.blocks = [block for _, block in sorted(zip(order, entry.blocks, strict=True), key=_first)]
    found = {"role": entry.role, **entry.fields, "content": _content(entry)}
    without = metadata_of(entry.made_of[0], LAYOUT_KEY).get("without", ())
    return {key: value for key, value in found.items() if key not in without}


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _content(entry: _Entry) -> Any:
    if entry.raw:
        return entry.raw[0]
    as_list = metadata_of(entry.made_of[0], LAYOUT_KEY).get("block")
    if is_plain_text(entry.blocks) and len(entry.made_of) == 1 and not as_list:
        return entry.blocks[0]["text"]
    return entry.blocks


def _as_blocks(raw: Any) -> Any:
    return raw if isinstance(raw, dict) else {"type": "text", "text": str(raw)}


def _is_text(block: dict[str, Any]) -> bool:
    return block.keys() == {"type", "text"} and block["type"] == "text" and isinstance(block["text"], str)


def _plain_result(block: Any) -> Any:
    """A result as the format spells it by default: a text alone as a text, and no content where there is none."""
    if not isinstance(block, dict) or block.get("type") != "tool_result":
        return block
    content = block["content"]
    if not content:
        return {key: value for key, value in block.items() if key != "content"}
    return {**block, "content": content[0]["text"]} if is_plain_text(content) else block
