"""Which layer of a request each of its messages belongs to: what the model was told, and by whom.

A feature says it of the messages that it makes with a tag in their metadata, and of messages that it merely loads,
whose bytes may not change, with a mark in the run's registry::

    note = kb.user("The museum closes at five.", metadata=layer_tag("retrieval"))
    ctx.llm.calls.layers.mark("memory", [message.id for message in loaded], by="ChatMemory")

A message that an interceptor put in and said nothing of is in the layer ``added by <feature>``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from koogbook.errors import MessageError
from koogbook.messages.message import Message
from koogbook.messages.metadata import NO_METADATA
from koogbook.messages.tokens import estimate_tokens
from koogbook.tools.tool import ToolSpec

#: The layers of a request, in the order in which they are shown; what interceptors added comes after them.
LAYERS: Final = (
    "system",
    "tools",
    "history",
    "memory",
    "file memory",
    "retrieval",
    "compression",
    "instruction",
)
#: Those that a message can be in: tools are no messages.
MESSAGE_LAYERS: Final = tuple(layer for layer in LAYERS if layer != "tools")
#: The key of the tag in a message's metadata.
TAG: Final = "layer"

_ADDED_BY = "added by "


class Mark(Struct, frozen=True):
    """The layer of a message, as a feature said it in the registry of the run; ``by`` is the feature's key."""

    layer: str
    by: str = ""


_NO_MARKS: Mapping[str, Mark] = MappingProxyType({})


class Layers:
    """The registry of a run: the layers of messages that features have loaded. It is ``ctx.llm.calls.layers``."""

    __slots__ = ("marks",)

    def __init__(self) -> None:
        #: By message id. It is replaced and never changed, so that the record of a call keeps it as it was then.
        self.marks: Mapping[str, Mark] = _NO_MARKS

    def mark(self, layer: str, message_ids: Iterable[str], *, by: str = "") -> None:
        """Say to which layer messages belong, for all requests from now on; a later mark takes the place of an earlier.

        Args:
            layer: One of :data:`MESSAGE_LAYERS`.
            message_ids: Ids of the messages, whether they are in the prompt already or not.
            by: The key of the feature, for a view that says where a message came from.

        Raises:
            MessageError: There is no such layer; nothing was marked.
            TypeError: An id is no text; nothing was marked.
        """
        mark = Mark(require_layer(layer), by)
        ids = [message_ids] if isinstance(message_ids, str) else list(message_ids)
        wrong = next((one for one in ids if not isinstance(one, str)), None)
        if wrong is not None:
            raise TypeError(
                f"mark takes the ids of messages, not {wrong!r:.60}. Nothing was marked. Write: "
                f"layers.mark({layer!r}, [message.id for message in messages])."
            )
        self.marks = MappingProxyType({**self.marks, **dict.fromkeys(ids, mark)})


def layer_tag(layer: str) -> dict[str, str]:
    """The metadata that put a message into a layer: ``kb.user("...", metadata=layer_tag("retrieval"))``.

    Raises:
        MessageError: There is no such layer.
    """
    return {TAG: require_layer(layer)}


def require_layer(layer: object) -> str:
    """A layer that a message can be in.

    Raises:
        MessageError: There is no such layer; the message names the nearest one.
    """
    if isinstance(layer, str) and layer in MESSAGE_LAYERS:
        return layer
    near = get_close_matches(layer, MESSAGE_LAYERS, n=1) if isinstance(layer, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise MessageError(
        f"There is no layer {layer!r:.60} for messages.{hint} There is {', '.join(MESSAGE_LAYERS)}. Nothing was "
        "marked."
    )


def tag_of(message: Message) -> object:
    """What the tag of a message says, whether there is such a layer or not; None without a tag."""
    return None if message.metadata_json is NO_METADATA or TAG not in message.metadata_json else _tag(message)


def _tag(message: Message) -> object:
    found: object = message.metadata.get(TAG)
    return found


def added_by(feature: str) -> str:
    """The layer of what an interceptor of a feature put in and said nothing of."""
    return f"{_ADDED_BY}{feature}"


def layer_of(
    message: Message, *, mark: Mark | None = None, feature: str = "", made_for_it: bool = False
) -> str:
    """The layer of one message of a request. Everything that shows layers asks this function.

    What somebody said of the message goes first: its tag, then its mark. Then comes what it says itself: it is memory,
    or a summary. Then who put it there: an interceptor, or the request. What is left is the conversation.

    Args:
        message: As it was sent.
        mark: What the registry of the run had of it.
        feature: The interceptor that put it in on the way; empty for what was asked.
        made_for_it: The request added it for itself, such as the instruction for an answer that is data.
    """
    tag = tag_of(message)
    if isinstance(tag, str) and tag in MESSAGE_LAYERS:
        return tag
    if mark is not None:
        return mark.layer
    if message.is_summary:
        return "compression"
    if message.is_memory:
        return "memory"
    if feature:
        return added_by(feature)
    if made_for_it:
        return "instruction"
    return "system" if message.role == "system" else "history"


def in_order(layers: Iterable[str]) -> list[str]:
    """Layers, each once, in the order in which they are shown."""
    there = dict.fromkeys(layers)
    return [layer for layer in LAYERS if layer in there] + [layer for layer in there if layer not in LAYERS]


def tool_tokens(spec: ToolSpec) -> int:
    """About how many tokens the definition of a tool adds to a request."""
    return sum(map(estimate_tokens, (spec.name, spec.description, spec.parameters)))
