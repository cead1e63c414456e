"""A tree of markup and its forms: HTML with classes for a page, HTML with inline styles for a notebook, a live tree.

Text from a model, a tool or a user is only ever a child string or an attribute value, and both are escaped
here, in one place. Characters that nobody sees or that UTF-8 cannot hold are shown, not dropped.

A picture has no ``bdi``: one in an SVG text or title becomes the two characters that mean the same.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache, lru_cache
from html import escape
from typing import Any

from msgspec import Struct

from koogbook.notebook.views.look.styles import STYLES, SVG_FONT, TOKENS
from koogbook.notebook.views.look.styles import Theme as Theme

_VOID = frozenset({"br", "col", "hr", "img", "meta", "wbr"})
_PAINTED = frozenset({"color", "fill", "stop-color", "stroke", "style"})
_VARIABLE = re.compile(r"var\(--kb-([a-z0-9-]+)\)")
_NOT_SHOWN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff"
)
_UNSHOWABLE = re.compile(f"[{_NOT_SHOWN}]")
_SPECIAL = re.compile(f"[&<>\"'{_NOT_SHOWN}]")
_BREAKS = str.maketrans({"\t": "\u2409", "\n": "\u240a"})


class Element(Struct, frozen=True):
    """One element: its tag, attributes, children and the names of its styles (see :mod:`styles`).

    ``live`` are attributes that only the live form has, over those of the same name; an element of the style
    ``kb-live`` is in the live form alone.
    """

    tag: str
    attributes: dict[str, str]
    children: tuple[Element | str, ...]
    cls: str = ""
    live: dict[str, str] = {}


Attribute = str | int | float | None


def h(
    tag: str,
    *children: Element | str | None,
    cls: str = "",
    live: Mapping[str, Attribute] | None = None,
    **attributes: Attribute,
) -> Element:
    """An element; children and attributes that are None are left out.

    A trailing underscore of an attribute's name is cut and ``_`` becomes ``-`` (``aria_label``, ``for_``).
    Numbers are rounded to two places.
    """
    return Element(
        tag,
        _written(attributes),
        tuple(child for child in children if child is not None),
        cls,
        _written(live) if live else {},
    )


def _written(attributes: Mapping[str, Attribute]) -> dict[str, str]:
    return {
        _attribute_name(name): value if isinstance(value, str) else number(value)
        for name, value in attributes.items()
        if value is not None
    }


@cache
def _attribute_name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


@lru_cache(maxsize=8192)
def number(value: float) -> str:
    """A number as an attribute: at most two places, no zeros at the end, never ``-0``."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def visible(text: str) -> str:
    r"""Text with every character shown: controls as symbols, surrogates and direction marks as ``\u202e``."""
    return _UNSHOWABLE.sub(_symbol, text)


def one_line(text: str) -> str:
    """Visible text in which line breaks and tabs are symbols, too; what an SVG text can hold."""
    return visible(text.replace("\r\n", "\n")).translate(_BREAKS)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\u{code:04x}"


# ------------------------------------------------------------------------------------------- forms


def render(element: Element) -> str:
    """HTML with class names, for a page that carries :func:`styles.stylesheet`."""
    out: list[str] = []
    _write_classed(out, element, in_svg=False)
    return "".join(out)


def render_static(element: Element, theme: Theme = "light") -> str:
    """HTML that needs no style sheet: inline styles, and each picture as an image with its SVG inside.

    This is what JupyterLab keeps of the output of a notebook that it does not trust. Elements that are not
    displayed in this form (``kb-narrow``) are left out.
    """
    out: list[str] = []
    _Static(out, STYLES, TOKENS[theme]).write(element, TOKENS[theme]["ink"])
    return "".join(out)


#: An element of the live form as JSON: ``[tag, attributes, children]``, or a text.
Tree = list[Any] | str


def live_tree(element: Element) -> Tree:
    """The live form: what a widget makes its elements from, one by one, so that no text is ever read as markup."""
    return _live(element, in_svg=False)


def _live(element: Element, *, in_svg: bool) -> Tree:
    in_svg = in_svg or element.tag == "svg"
    if in_svg and element.tag == "bdi":
        return _isolate(element)
    attributes = {**element.attributes, **element.live}
    if element.cls:
        attributes["class"] = element.cls
    children = [
        visible(child) if isinstance(child, str) else _live(child, in_svg=in_svg)
        for child in element.children
    ]
    return [element.tag, {name: visible(value) for name, value in attributes.items()}, children]


def svg_bytes(element: Element, theme: Theme) -> bytes:
    """A standalone SVG document with the colours of a theme.

    Raises:
        ValueError: ``element`` is not an ``svg``.
    """
    if element.tag != "svg":
        raise ValueError(f"Only an svg element can be a document of its own, not <{element.tag}>.")
    out: list[str] = []
    _Static(out, STYLES, TOKENS[theme]).write_svg(element, TOKENS[theme]["ink"])
    return "".join(out).encode("utf-8")


def _write_classed(out: list[str], element: Element, *, in_svg: bool) -> None:
    tag = element.tag
    if element.cls and "kb-live" in element.cls.split():
        return
    in_svg = in_svg or tag == "svg"
    if in_svg and tag == "bdi":
        out.append(escape(_isolate(element), quote=False))
        return
    out.append(f'<{tag} class="{element.cls}"' if element.cls else f"<{tag}")
    for name, value in element.attributes.items():
        out.append(f' {name}="{_attribute(value)}"')
    if _open(out, element, in_svg):
        for child in element.children:
            if isinstance(child, str):
                out.append(_text(child))
            else:
                _write_classed(out, child, in_svg=in_svg)
        out.append(f"</{tag}>")


class _Static:
    """Writes elements with their styles resolved to the colours of one theme."""

    def __init__(
        self, out: list[str], styles: Mapping[str, Mapping[str, str]], tokens: Mapping[str, str]
    ) -> None:
        self._out = out
        self._styles = styles
        self._tokens = tokens
        self._order = {name: place for place, name in enumerate(styles)}

    def write(self, element: Element, colour: str) -> None:
        """HTML; ``colour`` is what currentColor means here, for an image cannot inherit it."""
        style = self._declarations(element)
        if style.get("display") == "none":
            return
        if style.get("color", "inherit") != "inherit":
            colour = style["color"]
        if element.tag == "svg":
            self._write_image(element, style, colour)
            return
        if any(isinstance(child, str) for child in element.children):
            # A notebook gives table cells, code and more a colour of its theme, which may be that of this paper.
            style["color"] = colour
        out = self._out
        out.append(f"<{element.tag}")
        css = ";".join(f"{name}:{value}" for name, value in style.items())
        own = self._paint(element.attributes.get("style", ""))
        if css or own:
            out.append(f' style="{_attribute(";".join(filter(None, (css, own))))}"')
        for name, value in element.attributes.items():
            if name != "style":
                out.append(f' {name}="{_attribute(value)}"')
        if _open(out, element, in_svg=False):
            for child in element.children:
                if isinstance(child, str):
                    out.append(_text(child))
                else:
                    self.write(child, colour)
            out.append(f"</{element.tag}>")

    def write_svg(self, element: Element, colour: str) -> None:
        """A whole SVG document."""
        attributes = {"xmlns": "http://www.w3.org/2000/svg", **element.attributes}
        attributes.pop("style", None)
        if "role" not in attributes:
            attributes.pop("aria-hidden", None)
        attributes.setdefault("font-family", SVG_FONT)
        attributes.setdefault("color", colour)
        self._write_shape(Element("svg", attributes, element.children))

    def _write_image(self, element: Element, style: dict[str, str], colour: str) -> None:
        picture: list[str] = []
        _Static(picture, self._styles, self._tokens).write_svg(element, colour)
        address = "data:image/svg+xml;base64," + b64encode("".join(picture).encode("utf-8")).decode("ascii")
        attributes = {"src": address, "alt": _description(element)}
        for name in ("width", "height"):
            if name in element.attributes:
                attributes[name] = element.attributes[name]
        css = ";".join(f"{name}:{value}" for name, value in style.items() if name != "color")
        own = self._paint(element.attributes.get("style", ""))
        attributes["style"] = ";".join(filter(None, (css, own))) or "vertical-align:middle"
        written = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes.items())
        self._out.append(f"<img{written}>")

    def _write_shape(self, element: Element) -> None:
        if element.cls and "kb-live" in element.cls.split():
            return
        out = self._out
        if element.tag == "bdi":
            out.append(escape(_isolate(element), quote=False))
            return
        out.append(f"<{element.tag}")
        attributes = (
            {**self._declarations(element), **element.attributes} if element.cls else element.attributes
        )
        for name, value in attributes.items():
            out.append(f' {name}="{_attribute(self._paint(value) if name in _PAINTED else value)}"')
        if _open(out, element, in_svg=True):
            for child in element.children:
                if isinstance(child, str):
                    out.append(_text(child))
                else:
                    self._write_shape(child)
            out.append(f"</{element.tag}>")

    def _declarations(self, element: Element) -> dict[str, str]:
        merged: dict[str, str] = {}
        for name in sorted(element.cls.split(), key=self._order.__getitem__):
            merged.update(self._styles[name])
        return {name: self._paint(value) for name, value in merged.items()}

    def _paint(self, value: str) -> str:
        if "var(" not in value:
            return value
        return _VARIABLE.sub(lambda match: self._tokens[match.group(1)], value)


def _open(out: list[str], element: Element, in_svg: bool) -> bool:
    """End the opening tag; says whether children and a closing tag follow."""
    if in_svg and not element.children:
        out.append("/>")
        return False
    out.append(">")
    return element.tag not in _VOID


def text_of(element: Element | str) -> str:
    """All text in an element."""
    return element if isinstance(element, str) else "".join(map(text_of, element.children))


def _isolate(element: Element) -> str:
    """The text of a ``bdi`` of a picture, between the characters that set it apart there."""
    return f"\u2068{visible(text_of(element))}\u2069"


def _description(element: Element) -> str:
    """What a picture shows, in words: its title and desc, or its label; empty for a mark beside its word."""
    words = [
        text_of(child)
        for child in element.children
        if isinstance(child, Element) and child.tag in ("title", "desc")
    ]
    return ". ".join(word.rstrip(".") for word in words if word) or element.attributes.get("aria-label", "")


def _text(text: str) -> str:
    return escape(visible(text), quote=False) if _SPECIAL.search(text) else text


def _attribute(text: str) -> str:
    return escape(visible(text), quote=True) if _SPECIAL.search(text) else text
