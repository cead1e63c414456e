"""What a message is made of."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from koogbook.errors import MessageError


def require_types(value: Struct, kind: type, *names: str, optional: bool = False) -> None:
    """Refuse fields of another type: msgspec looks at types only when it decodes, and then it would be too late.

    Raises:
        MessageError: A field is not exactly of this kind; ``optional`` lets None pass.
    """
    for name in names:
        field = getattr(value, name)
        if type(field) is not kind and not (optional and field is None):
            raise MessageError(
                f"The {name} of a {type(value).__name__} is {type(field).__name__} ({shown(field)}), not "
                f"{kind.__name__}. Convert it first."
            )


def require_integers(value: Struct, *names: str) -> None:
    """Refuse fields that are neither None nor a whole number that every store and provider can hold.

    Raises:
        MessageError: A field is of another type, or has more than 64 bits.
    """
    require_types(value, int, *names, optional=True)
    for name in names:
        field = getattr(value, name)
        if field is not None and not -(2**63) <= field < 2**63:
            raise MessageError(f"The {name} of a {type(value).__name__} is a number of more than 64 bits.")


def shown(value: object) -> str:
    """The beginning of a value for a message to a person, whatever it is."""
    try:
        return f"{value!r:.60}"
    except Exception:
        return "it cannot be shown"


class Text(Struct, frozen=True, tag="text", forbid_unknown_fields=True, omit_defaults=True):
    """Plain text, any that Python can hold, lone surrogates included."""

    text: str

    def __post_init__(self) -> None:
        if type(self.text) is not str:
            require_types(self, str, "text")


class Reasoning(Struct, frozen=True, tag="reasoning", forbid_unknown_fields=True, omit_defaults=True):
    """What a model thought before its answer; some providers want it back unchanged beside its calls."""

    text: str
    signature: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        require_types(self, str, "text")
        require_types(self, str, "signature", "id", optional=True)


ATTACHMENT_KINDS = ("image", "audio", "video", "file")


class Attachment(Struct, frozen=True, tag="attachment", forbid_unknown_fields=True, omit_defaults=True):
    """A picture, sound or file: bytes, or where it lies.

    ``mime`` is the media type (``image/png``). Exactly one of ``data``, ``url`` and ``file_id`` is given.

    Raises:
        MessageError: None or several of them are; or a field is of another type.
    """

    kind: Literal["image", "audio", "video", "file"]
    mime: str = ""
    data: bytes | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        given = sum(source is not None for source in (self.data, self.url, self.file_id))
        if given != 1:
            raise MessageError(
                f"An attachment has exactly one source, this {self.kind} has {given}: "
                "give one of data=, url= and file_id=."
            )
        require_types(self, str, "kind")
        if self.kind not in ATTACHMENT_KINDS:
            raise MessageError(f"An attachment is one of {', '.join(ATTACHMENT_KINDS)}, not {self.kind!r}.")
        require_types(self, str, "mime")
        require_types(self, bytes, "data", optional=True)
        require_types(self, str, "url", "file_id", "name", optional=True)


class ToolCall(Struct, frozen=True, tag="tool_call", forbid_unknown_fields=True, omit_defaults=True):
    """A model's wish to run a tool.

    ``args`` is the raw JSON text as the model wrote it, broken JSON included. ``id`` may be None, and ids may
    come again later in a conversation: calls and results are paired by position as well.
    """

    tool: str
    args: str = "{}"
    id: str | None = None

    def __post_init__(self) -> None:
        require_types(self, str, "tool", "args")
        require_types(self, str, "id", optional=True)


class ToolResult(Struct, frozen=True, tag="tool_result", forbid_unknown_fields=True, omit_defaults=True):
    """What a tool gave back for one call; ``is_error`` says that it failed."""

    output: str
    tool: str = ""
    call_id: str | None = None
    is_error: bool = False

    def __post_init__(self) -> None:
        require_types(self, str, "output", "tool")
        require_types(self, str, "call_id", optional=True)
        require_types(self, bool, "is_error")


class Foreign(Struct, frozen=True, tag="foreign", forbid_unknown_fields=True, omit_defaults=True):
    """A part of a kind that koogbook does not know, kept as raw JSON text so that an export gives it back."""

    kind: str
    raw: str

    def __post_init__(self) -> None:
        require_types(self, str, "kind", "raw")


Part = Text | Reasoning | Attachment | ToolCall | ToolResult | Foreign
