"""How the tokens of a call fall to its layers: two bars, and a table with a switch for each layer."""

from __future__ import annotations

from koogbook.notebook.views.look.controls import button, switch
from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.isolates import sentence, set_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import thousands
from koogbook.notebook.views.prompt_view.marks import ground, paint, swatch
from koogbook.notebook.views.prompt_view.model import LayerRow, PromptState
from koogbook.notebook.views.prompt_view.words import layer_count, off_words, share_words, used_of_window

#: The bars are drawn so wide and stretched to the width of their cell.
_LENGTH = 1000
_HEIGHT = 14
_STRIPE = 8
_GAP = 2
_CELL = "padding:3px 8px 3px 0;border:0;font-size:12px;line-height:14px;text-align:"


def layer_band(state: PromptState) -> Element:
    """The bars, the table, and what the switches did."""
    said = off_words(state)
    absent = f"Nothing in: {', '.join(state.absent)}." if state.absent else ""
    return h(
        "div",
        h(
            "table",
            h("caption", "Tokens by layer, and the window of the model", cls="kb-hidden"),
            h("tbody", *_bars(state)),
            style="border-collapse:collapse;width:100%;margin:0;border:0;table-layout:auto",
        ),
        _table(state) if state.layers else None,
        # Always there, so that a switch changes nothing around it.
        h("p", *sentence(said), cls="kb-p kb-strong", style="margin:6px 0 0", role="status"),
        h("p", absent, cls="kb-p kb-small kb-quiet", style="margin:4px 0 0") if absent else None,
        cls="kb-band",
    )


# ------------------------------------------------------------------------------------------- bars


def _bars(state: PromptState) -> list[Element]:
    rows = [_bar_row("layers", _stacked(state), thousands(state.left))]
    if state.window:
        share = used_of_window(state)
        number = f"{share_words(share)} of {thousands(state.window)}"
        rows.append(_bar_row("window", _window(state, share), number))
    return rows


def _bar_row(word: str, drawn: Element, number: str) -> Element:
    return h(
        "tr",
        h("th", word, scope="row", cls="kb-quiet kb-small", style=f"{_CELL}left;font-weight:400;width:48px"),
        h("td", drawn, style=f"{_CELL}left"),
        h("td", number, cls="kb-num kb-strong", style=f"{_CELL}right;width:64px;padding-right:0"),
        style="background:transparent",
    )


def _stacked(state: PromptState) -> Element:
    """One piece for each layer; what is off leaves its place empty."""
    pieces: list[Element] = []
    at = 0.0
    for row in state.layers:
        width = row.tokens / state.tokens * _LENGTH if state.tokens else 0.0
        gap = _GAP if at + width < _LENGTH - 1 else 0
        pieces += _piece(row, at, max(width - gap, min(width, _GAP)))
        at += width
    said = ", ".join(f"{row.name} {row.tokens:,}" for row in state.layers if row.on and row.tokens)
    return _picture("Tokens by layer", said or "nothing is on", _HEIGHT, pieces)


def _piece(row: LayerRow, x: float, width: float) -> list[Element]:
    if width <= 0:
        return []
    token, striped = paint(row.name)
    if not row.on:
        return [_rect(x, width, "line2")]
    stripes = range(_STRIPE, int(width), _STRIPE) if striped else ()
    return [_rect(x, width, token), *(_rect(x + at, 3, "paper") for at in stripes)]


def _rect(x: float, width: float, token: str, height: float = _HEIGHT) -> Element:
    return h("rect", x=x, y=0, width=width, height=height, fill=f"var(--kb-{token})")


def _window(state: PromptState, share: float) -> Element:
    used = min(max(share * _LENGTH, 2), _LENGTH)
    tone = "bad" if share > 1 else "ink2"
    said = f"{share_words(share)} of {state.window:,} tokens"
    return _picture("Share of the window", said, 6, [_rect(0, used, tone, 6)])


def _picture(title: str, said: str, height: int, shapes: list[Element]) -> Element:
    return h(
        "svg",
        h("title", title),
        h("desc", *sentence(said)),
        h("rect", width=_LENGTH, height=height, fill="var(--kb-hover)"),
        *shapes,
        width=_LENGTH,
        height=height,
        viewBox=f"0 0 {_LENGTH} {height}",
        role="img",
        aria_label=f"{title}: {said}",
        style=f"display:block;width:100%;height:{height}px;border-radius:3px",
        preserveAspectRatio="none",
    )


# ------------------------------------------------------------------------------------------- table


def _table(state: PromptState) -> Element:
    heads = (
        ("layer", "kb-th"),
        ("", "kb-th"),
        ("holds", "kb-th kb-num"),
        ("tokens", "kb-th kb-num"),
        ("share", "kb-th kb-num"),
        ("", "kb-th kb-wide"),
        ("", "kb-th"),
    )
    most = max(row.tokens for row in state.layers)
    return h(
        "table",
        h("caption", "Layers, each with a switch", cls="kb-hidden"),
        h(
            "thead",
            h(
                "tr",
                *(
                    h("th" if word else "td", word, cls=cls, scope="col" if word else None)
                    for word, cls in heads
                ),
            ),
        ),
        h("tbody", *(_row(row, most) for row in state.layers)),
        cls="kb-table",
        style="margin-top:6px",
    )


def _row(row: LayerRow, most: int) -> Element:
    quiet = "" if row.on else " kb-quiet"
    name = h("span", swatch(row.name), own(row.name))
    return h(
        "tr",
        h("td", name, cls=f"kb-td{quiet}", style="overflow-wrap:break-word"),
        h(
            "td",
            switch("switch", row.name, on=row.on, name=f"Layer {row.name}"),
            cls="kb-td",
            style="width:64px",
        ),
        h("td", *_holds(row), cls=f"kb-td kb-num{quiet}"),
        h("td", thousands(row.tokens), cls=f"kb-td kb-num{quiet}"),
        h("td", share_words(row.share), cls=f"kb-td kb-num{quiet}"),
        h("td", _bar(row, most), cls="kb-td kb-wide", style="width:44%"),
        h(
            "td",
            button("Only", "only", row.name, quiet=True, name=f"Only the layer {set_apart(row.name)}"),
            cls="kb-td",
            style="text-align:right;width:1px;padding:0",
        ),
        cls="kb-tr",
    )


def _holds(row: LayerRow) -> tuple[str, Element]:
    """How many, and of what where there is room for it."""
    number, _, word = layer_count(row).partition(" ")
    return number, h("span", f" {word}", cls="kb-wide")


def _bar(row: LayerRow, most: int) -> Element:
    share = row.tokens / most if most and row.on else 0.0
    fill = h(
        "span",
        style=f"display:block;height:6px;width:{share * 100:.1f}%;border-radius:3px;{ground(row.name)}",
    )
    return h("span", fill, cls="kb-track", style="display:block;width:100%", aria_hidden="true")
