"""What can be clicked and typed in a live view, and its keys: marks on elements that no other form shows.

``data-do`` says what a click does, ``data-value`` with what; ``data-key`` is the key that clicks it. The front end
sends both words to :meth:`koogbook.notebook.views.view.View.act` and knows nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import sentence, unmarked
from koogbook.notebook.views.look.markup import Attribute, Element, h


def does(do: str, value: str = "", *, name: str = "", picked: bool | None = None) -> dict[str, Attribute]:
    """The ``live`` attributes of what can be reached with the arrow keys and clicked; ``name`` is read out."""
    return {
        "data_do": do,
        "data_value": value,
        "data_item": "",
        "tabindex": -1,
        "role": "button",
        "aria_label": name or None,
        "aria_pressed": None if picked is None else str(picked).lower(),
    }


def row_does(do: str, value: str = "") -> dict[str, Attribute]:
    """The ``live`` attributes of a table row: a click anywhere in it does what the button in it does."""
    return {"data_do": do, "data_value": value}


def button(
    word: str,
    do: str,
    value: str = "",
    *,
    key: str = "",
    mark: str = "",
    on: bool | None = None,
    off: bool = False,
    first: bool = False,
    quiet: bool = False,
    name: str = "",
) -> Element:
    """A button of the live form alone.

    Args:
        word: What stands on it, a name in it set apart; empty where the mark says it, then with a ``name``.
        do: What a click does.
        value: With what.
        key: The key that clicks it while the view has the focus.
        mark: A mark before the word.
        on: For a switch: whether it is on.
        off: It cannot be used now.
        first: The one that is meant to be used.
        quiet: Without a border.
        name: What is read out in place of the word.
    """
    cls = "kb-btn" + (" kb-btn-on" if on else " kb-btn-first" if first else " kb-btn-quiet" if quiet else "")
    return h(
        "button",
        glyph(mark) if mark else None,
        *sentence(word),
        cls=f"{cls} kb-live",
        type="button",
        data_do=do,
        data_value=value,
        data_key=key or None,
        tabindex=-1,
        aria_label=name or None,
        title=(f"{name or unmarked(word)} ({'Space' if key == ' ' else key})" if key else name) or None,
        aria_pressed=None if on is None else str(on).lower(),
        disabled="" if off else None,
    )


def text_button(content: Element | str, do: str, value: str, *, name: str = "", cls: str = "") -> Element:
    """Text that is a button in the live form, and text in all others."""
    return h(
        "span",
        content,
        cls=f"kb-link {cls}".rstrip(),
        live={**does(do, value, name=name)},
    )


def switch(do: str, value: str, *, on: bool, name: str) -> Element:
    """A switch that stands as it is in every form, and can be turned in the live one; ``name`` is read out.

    The word ``on`` or ``off`` stands beside it. The arrows reach it, and Tab another thing first where there is one.
    """
    live = {
        **does(do, value, name=name),
        "role": "switch",
        "aria_checked": str(on).lower(),
        "data_item": None,
    }
    return h(
        "span",
        h(
            "span",
            h("span", cls="kb-knob kb-knob-on" if on else "kb-knob"),
            cls="kb-switch kb-switch-on" if on else "kb-switch",
            live=live,
        ),
        " ",
        h("span", "on" if on else "off", cls="kb-small" if on else "kb-small kb-quiet"),
        cls="kb-word",
    )


def field(
    do: str, value: str, *, name: str, hint: str = "", key: str = "", width: int = 220, kind: str = "text"
) -> Element:
    """A line of text that is sent as it is typed."""
    return h(
        "input",
        cls="kb-input kb-live",
        type=kind,
        value=value,
        placeholder=hint or None,
        aria_label=name,
        data_do=do,
        data_key=key or None,
        tabindex=-1,
        spellcheck="false",
        autocomplete="off",
        style=f"width:{width}px;max-width:100%",
    )


def slider(do: str, value: float, *, most: float, name: str, said: str) -> Element:
    """A track from 0 to ``most`` whose thumb is moved with the pointer or the arrow keys.

    ``name`` and ``said`` are read out: what it moves, and where it stands. The bounds come before the value, which a
    browser would cut to those it knows.
    """
    return h(
        "input",
        cls="kb-input kb-live",
        type="range",
        min="0",
        max=repr(float(most)),
        step="any",
        value=repr(float(value)),
        aria_label=name,
        aria_valuetext=said,
        data_do=do,
        tabindex=-1,
        style="flex:1 1 auto;width:0;min-width:120px;padding:0;border:0;background:none;"
        "accent-color:var(--kb-accent)",
    )


def choice(do: str, value: str, options: Sequence[tuple[str, str]], *, name: str) -> Element:
    """One of a few, as (value, word)."""
    return h(
        "select",
        *(h("option", word, value=one, selected="" if one == value else None) for one, word in options),
        cls="kb-input kb-live",
        aria_label=name,
        data_do=do,
        tabindex=-1,
    )


def tools(*parts: Element | None) -> Element:
    """The buttons at the right of a head."""
    return h("div", *parts, cls="kb-tools kb-push kb-live")


def keys(*pairs: tuple[str, str]) -> Element:
    """The keys of a view, in its foot: (key, what it does)."""
    return h(
        "div",
        *(h("span", h("kbd", key, cls="kb-kbd"), " ", word, cls="kb-key-word") for key, word in pairs),
        cls="kb-keys-list kb-live",
    )
