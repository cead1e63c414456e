"""How layers look: a colour each, some of them striped, so that neighbours differ in print as well."""

from __future__ import annotations

from typing import Final

from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.markup import Element, h

#: Token of the colour, and whether it is striped.
_PAINTS: Final[dict[str, tuple[str, bool]]] = {
    "system": ("ink", False),
    "tools": ("ink", True),
    "history": ("ink2", False),
    "memory": ("mem", False),
    "file memory": ("mem", True),
    "retrieval": ("ok", False),
    "compression": ("sum", False),
    "instruction": ("ink2", True),
}
_ADDED: Final = ("warn", False)
_TINTS: Final = {"mem": "kb-t-mem", "ok": "kb-t-ok", "sum": "kb-t-sum", "warn": "kb-t-warn"}
_TONES: Final = {"mem": "kb-mem", "ok": "kb-ok", "sum": "kb-sum", "warn": "kb-warn"}
_SWATCH: Final = "display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:6px"


def paint(layer: str) -> tuple[str, bool]:
    """The token of a layer's colour, and whether it is striped."""
    return _PAINTS.get(layer, _ADDED)


def ground(layer: str) -> str:
    """The background of a layer, as a declaration."""
    token, striped = paint(layer)
    if not striped:
        return f"background:var(--kb-{token})"
    return f"background:repeating-linear-gradient(135deg,var(--kb-{token}) 0 3px,var(--kb-paper) 3px 5px)"


def tint(layer: str) -> str:
    """The style of a row of this layer; empty for what is usual."""
    return _TINTS.get(paint(layer)[0], "")


def tone(layer: str) -> str:
    """The style of a word of this layer."""
    return _TONES.get(paint(layer)[0], "kb-quiet")


def swatch(layer: str) -> Element:
    """A small square in the colour of a layer, its word beside it."""
    return h("span", style=f"{_SWATCH};{ground(layer)}", aria_hidden="true")


def layer_word(layer: str, *, on: bool = True) -> Element:
    """The square of a layer and its name, which may be that of a feature."""
    return h("span", swatch(layer), own(layer), cls=tone(layer) if on else "kb-quiet")
