"""Messages as items of the OpenAI Responses API: calls and thoughts are items of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from koogbook.messages.message import Message
from koogbook.messages.parts import Foreign, Part, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.formats import Loss, Written
from koogbook.transcripts.openai_responses.parts import content_from_part, loaded, reasoning_item
from koogbook.transcripts.openai_responses.shape import CLIENT_ITEMS, MODEL_ITEMS
from koogbook.transcripts.spelling import respelled
from koogbook.transcripts.writing import CallIds, Lost, call_ids, metadata_of, unplaced

#: Metadata of a message from a Responses file: how its items were spelled, and what else there is to know of them. Of
#: the layout: ``instructions`` and ``input_text`` for what stood in these fields, ``role`` for the developer's,
#: ``blocks`` for texts of the model in lists, ``own`` for raw blocks of this format and ``items`` for the types that
#: are items, ``ids`` for ids that are taken as they are, ``custom`` for the ids of calls with a free text.
SPELLING_KEY: Final = "openai_responses_spelling"
LAYOUT_KEY: Final = "openai_responses_layout"

_ITEMS: Final = CLIENT_ITEMS | MODEL_ITEMS


def write_conversation(messages: Sequence[Message], extra: Mapping[str, Any]) -> Written:
    """A history as Responses items: a list, or an object with ``input`` (of an answer: ``output``) and what it had.

    A message that came from a Responses file and is unchanged comes out as it went in. Thoughts without an id are of
    another provider, and are left out.
    """
    ids = call_ids(messages, as_they_are=lambda one: bool(metadata_of(one, LAYOUT_KEY).get("ids")))
    custom: set[str] = set()
    items: list[Any] = []
    losses: list[Loss] = []
    beside: dict[str, Any] = {}
    as_text = False
    for position, one in enumerate(messages):
        layout = metadata_of(one, LAYOUT_KEY)
        custom.update(layout.get("custom", ()))
        lost: list[str] = []
        plain = plain_items(one, position, ids, lost, custom)
        found = respelled(one, metadata_of(one, SPELLING_KEY), plain)
        losses += unplaced(position, one, _places(one, extra, found), "openai_responses")
        losses += [Loss(position, text) for text in lost if found is plain]
        if layout.get("instructions") and not beside and found:
            beside["instructions"] = found[0]["content"]
            continue
        if not found:
            losses.append(Loss(position, "that it was said: nothing in it can be an item"))
        elif position and one.role == "assistant" == messages[position - 1].role:
            text = "its border: items of assistant messages that follow each other are one message"
            losses.append(Loss(position, text))
        items += found
        as_text = bool(layout.get("input_text"))
    is_text = as_text and len(items) == 1 and isinstance(items[0].get("content"), str)
    if not extra and not beside and not is_text:
        return Written(items, tuple(losses))
    key = "output" if extra.get("object") == "response" else "input"
    return Written({**extra, **beside, key: items[0]["content"] if is_text else items}, tuple(losses))


def plain_items(
    one: Message,
    position: int = 0,
    ids: CallIds | None = None,
    lost: list[str] | None = None,
    custom: set[str] | frozenset[str] = frozenset(),
) -> list[Any]:
    """A message as items; what is not in them is added to ``lost``, in words."""
    writer = _Items(one, position, {} if ids is None else ids, [] if lost is None else lost, custom)
    if one.role == "assistant":
        return writer.of_model()
    return writer.of_tool() if one.role == "tool" else writer.of_person()


class _Items:
    """The items of one message."""

    def __init__(
        self, one: Message, position: int, ids: CallIds, lost: list[str], custom: set[str] | frozenset[str]
    ) -> None:
        self.one = one
        self.position = position
        self.ids = ids
        self.lost = lost
        self.custom = custom
        self.layout = metadata_of(one, LAYOUT_KEY)
        self.items: list[Any] = []

    def of_model(self) -> list[Any]:
        as_blocks = bool(self.layout.get("blocks"))
        content: list[Any] = []
        for index, part in enumerate(self.one.parts):
            if isinstance(part, ToolCall | Reasoning) or self._is_item(part):
                content = []
                self._add(self._model_item(part, index), self.items)
            elif isinstance(part, Text) and not as_blocks:
                # In an input, blocks of the model need the id of an answer; a text does not.
                self.items += [{"role": "assistant", "content": part.text}] if part.text else []
            elif part != Text(""):
                if not content:
                    self.items.append({"type": "message", "role": "assistant", "content": content})
                self._add(content_from_part(part, "assistant", own=self._own), content)
                if not content:
                    self.items.pop()
        return self.items

    def of_tool(self) -> list[Any]:
        inside: list[Any] = []
        if not self.one.results and not all(map(self._is_item, self.one.parts)):
            self.lost.append("that it is of a tool: it has no result, and became a user message")
            return self.of_person()
        for index, part in enumerate(self.one.parts):
            if isinstance(part, ToolResult):
                call_id = self.ids.get((self.position, index)) or part.call_id or ""
                kind = "custom_tool_call_output" if call_id in self.custom else "function_call_output"
                before = inside if part is self.one.results[0] else []
                if before:
                    self.lost.append(
                        "the order of its parts: what stood before the result is in it, at the end"
                    )
                inside = [{"type": "input_text", "text": part.output}] if part.output else []
                inside += before
                self.items.append({"type": kind, "call_id": call_id, "output": inside})
                if part.is_error:
                    self.lost.append("that a result is an error")
            elif self._is_item(part):
                self._add(self._model_item(part, index), self.items)
            else:
                self._add(content_from_part(part, "tool", own=self._own), inside)
        return [_plain_output(item) for item in self.items]

    def of_person(self) -> list[Any]:
        content: list[Any] = []
        for part in self.one.parts:
            if not isinstance(part, Text) or part.text or len(self.one.parts) == 1:
                self._add(content_from_part(part, "user", own=self._own), content)
        if not content and self.one.parts and self.lost:
            return []
        role = self.layout.get("role") or ("user" if self.one.role == "tool" else self.one.role)
        return [{"role": role, "content": _short(content, "input_text")}]

    @property
    def _own(self) -> bool:
        return bool(self.layout.get("own"))

    def _is_item(self, part: Part) -> bool:
        return isinstance(part, Foreign) and (
            part.kind in _ITEMS or part.kind in self.layout.get("items", ())
        )

    def _model_item(self, part: Part, index: int) -> Any:
        if isinstance(part, Foreign):
            return loaded(part)
        if isinstance(part, ToolCall):
            call_id = self.ids.get((self.position, index)) or part.id or ""
            if part.id in self.layout.get("custom", ()):
                return {"type": "custom_tool_call", "call_id": call_id, "name": part.tool, "input": part.args}
            return {"type": "function_call", "call_id": call_id, "name": part.tool, "arguments": part.args}
        return reasoning_item(part) if isinstance(part, Reasoning) else Lost("")

    def _add(self, value: Any, to: list[Any]) -> None:
        if isinstance(value, Lost):
            self.lost.append(value)
        else:
            to.append(value)


def _plain_output(item: Any) -> Any:
    """An output as the format spells it by default: a text alone as a text."""
    if isinstance(item, dict) and isinstance(item.get("output"), list) and len(item) == 3:
        return {**item, "output": _short(item["output"], "input_text")}
    return item


def _short(content: list[Any], kind: str) -> Any:
    if not content:
        return ""
    only = content[0]
    if (
        len(content) == 1
        and isinstance(only, dict)
        and only.keys() == {"type", "text"}
        and only["type"] == kind
    ):
        return only["text"]
    return content


def _places(one: Message, extra: Mapping[str, Any], items: Sequence[Any]) -> set[str]:
    """The fields of a message that go out with its items, or beside them."""
    owned = {item["id"] for item in items if isinstance(item, dict) and isinstance(item.get("id"), str)}
    places = {"id"} if one.id in owned else set()
    return places | ({"usage", "finish_reason"} if extra.get("object") == "response" else set())
