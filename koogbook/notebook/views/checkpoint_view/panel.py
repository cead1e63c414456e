"""Under the table: the checkpoint that is selected, and what is to know about those on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from koogbook.features.persistence.fingerprint import Difference
from koogbook.notebook.views.checkpoint_view.judging import RowWord
from koogbook.notebook.views.checkpoint_view.selection import Compared, Inside, Selection, Way, quoted
from koogbook.notebook.views.checkpoint_view.state import CheckpointState
from koogbook.notebook.views.checkpoint_view.table import Detail
from koogbook.notebook.views.look.controls import button, field
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import name, own_way, phrase, sentence, set_apart, told_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, cut_middle
from koogbook.notebook.views.look.pieces import Tone, heading, pair

MARKS: dict[RowWord, tuple[str, Tone]] = {
    "resumable": ("done", "ok"),
    "with warning": ("warning", "warn"),
    "not resumable": ("failed", "bad"),
    "ended": ("tombstone", "ink2"),
    "not checked": ("idle", "ink2"),
}
_LINE = "padding:1px 8px;overflow-wrap:anywhere"
_MOST_DETAILS = 12
_MOST_IDS = 8


def panel(state: CheckpointState, selected: Selection) -> Element:
    """All about the checkpoint that is selected."""
    mark, tone = MARKS[selected.word]
    title = h(
        "span",
        h("code", name(cut_middle(selected.id, 32)), cls="kb-code kb-strong", style="font-size:13px"),
        h("strong", f" {selected.sentence}", cls="kb-panel-title"),
    )
    head = h(
        "div",
        h("div", pair(glyph(mark, tone=tone), title), cls="kb-panel-head"),
        None
        if selected.on_page
        else h("p", "Its row is not on the page that is shown.", cls="kb-p kb-small kb-quiet"),
        h("p", *sentence(state.said), cls="kb-p kb-accent", live={"role": "status"}) if state.said else None,
        cls="kb-panel kb-t-sunk kb-ruled",
        style="padding-bottom:8px",
    )
    left = [*_differences(selected), *_facts(selected)]
    parts = [h("div", *part, cls="kb-half kb-panel") for part in (left, _ways(selected))]
    return h(
        "div",
        head,
        h("div", *parts, cls="kb-split kb-ruled"),
        _inside(selected.inside) if selected.inside is not None else None,
        _compared(state.compared) if state.compared is not None else None,
    )


# ------------------------------------------------------------------------------------------- parts


def _differences(selected: Selection) -> Iterator[Element]:
    if not selected.differences and not selected.reasons:
        return
    yield heading(
        "What differs ",
        h("span", "\u2212 stored, + now", cls="kb-small kb-quiet"),
    )
    for difference in selected.differences:
        yield from _difference(difference)
    for reason in selected.reasons:
        yield h("p", pair(glyph("warning", tone="warn"), phrase(told_apart(reason))), cls="kb-p")


def _difference(difference: Difference) -> Iterator[Element]:
    words = told_apart(difference.what)
    if not difference.stored and difference.now:
        words += " is new"
    elif difference.stored and not difference.now:
        words += " is gone"
    yield h("p", *sentence(words), cls="kb-p kb-small kb-quiet", style="margin:6px 0 2px")
    if difference.stored:
        yield h(
            "div",
            h("span", "\u2212 ", cls="kb-bad"),
            name(difference.stored),
            cls="kb-code kb-t-bad",
            style=_LINE,
        )
    if difference.now:
        yield h(
            "div",
            h("span", "+ ", cls="kb-ok"),
            name(difference.now),
            cls="kb-code kb-t-ok",
            style=_LINE,
        )


def _ways(selected: Selection) -> Iterator[Element]:
    yield heading("What you can do")
    for way in selected.ways:
        yield _way(way, _controls(selected, way.word))


def _way(way: Way, controls: Sequence[Element]) -> Element:
    return h(
        "div",
        h("p", h("strong", way.word, cls="kb-strong"), f" {way.about}", cls="kb-p"),
        *(h("div", *sentence(line), cls="kb-code kb-quiet") for line in way.lines),
        h("div", *controls, cls="kb-tools kb-live", style="margin-top:6px") if controls else None,
        style="margin:0 0 12px",
    )


def _controls(selected: Selection, word: str) -> list[Element]:
    match word:
        case "Restore" if selected.fork_to:
            return [
                field("fork_to", selected.fork_to, name="The session id that the fork begins", width=150),
                button(
                    f"Fork to {set_apart(cut_middle(selected.fork_to, 24))}",
                    "fork",
                    selected.fork_to,
                    key="f",
                    mark="fork",
                    first=selected.word != "not resumable",
                ),
            ]
        case "Look inside":
            return [button("Look inside", "inspect", key="i", off=selected.inside is not None)]
        case "Compare":
            if selected.marked_here:
                name = "Take the mark away"
                return [button("Marked for a diff: now select another", "diff", key="d", on=True, name=name)]
            if selected.marked:
                return [
                    button(
                        f"Diff with {set_apart(cut_middle(selected.marked, 16))}",
                        "diff",
                        key="d",
                        mark="diff",
                    ),
                    button("Take the mark away", "unmark", quiet=True),
                ]
            return [button("Mark for a diff", "diff", key="d", mark="diff")]
        case "Export":
            return [button("Export", "export", mark="page")]
    return []


def _facts(selected: Selection) -> Iterator[Element]:
    if selected.fits is not None:
        key, id = selected.fits
        yield h(
            "p",
            "The last one before it that can be resumed is ",
            h("code", name(cut_middle(id, 24)), cls="kb-code"),
            ". ",
            button(f"Select {set_apart(cut_middle(id, 16))}", "select", key),
            cls="kb-p",
            style="margin-top:8px",
        )
    apart = "margin-top:16px" if selected.reasons or selected.differences or selected.fits else None
    yield heading("What it is", style=apart)
    yield _pairs(selected.facts)
    yield h(
        "p", "in Python: the view's ", h("code", ".selected", cls="kb-code"), cls="kb-p kb-small kb-quiet"
    )


def _pairs(facts: Sequence[tuple[str, str]]) -> Element:
    return h(
        "table",
        h(
            "tbody",
            *(
                h(
                    "tr",
                    h("td", word, cls="kb-small kb-quiet", style=f"{_CELL};white-space:nowrap;width:1%"),
                    h("td", *sentence(value), style=f"{_CELL};overflow-wrap:anywhere"),
                    style="background:transparent",
                )
                for word, value in facts
            ),
        ),
        style="border-collapse:collapse;width:100%;margin:0 0 8px;border:0;font-size:12px;line-height:18px",
    )


_CELL = "padding:1px 12px 1px 0;border:0;text-align:left;vertical-align:baseline"


def _inside(inside: Inside) -> Element:
    return h(
        "div",
        heading("In it"),
        _pairs(inside.facts),
        heading("Output of the node, as it is stored"),
        h("pre", inside.output, cls="kb-pre", **own_way(inside.output)),
        cls="kb-panel kb-ruled",
    )


def _compared(compared: Compared) -> Element:
    words = f"From {set_apart(compared.before)} to {set_apart(compared.after)}; in a cell of its own: "
    line = f"await view.diff({set_apart(quoted(compared.before))}, {set_apart(quoted(compared.after))})"
    return h(
        "div",
        h("p", *sentence(words), h("code", *sentence(line), cls="kb-code"), cls="kb-p kb-small kb-quiet"),
        _without_controls(compared.element),
        cls="kb-panel kb-ruled",
    )


def _without_controls(element: Element) -> Element:
    """An element of another view as a picture: here its clicks would come to the wrong view."""
    children = tuple(
        child if isinstance(child, str) else _without_controls(child)
        for child in element.children
        if isinstance(child, str) or "kb-live" not in child.cls.split()
    )
    return Element(element.tag, element.attributes, children, element.cls)


# ------------------------------------------------------------------------------------------- details


def details(state: CheckpointState) -> list[Element]:
    """What is to know about the checkpoints on the page, by number; under a panel it is folded."""
    if not state.details:
        return []
    shown = state.details[:_MOST_DETAILS]
    more = len(state.details) - len(shown)
    parts = h(
        "div", *(h("div", *_detail(one), cls="kb-half kb-panel kb-t-sunk") for one in shown), cls="kb-split"
    )
    rest = (
        h(
            "p",
            f"{count(more, 'note')} more on this page: select a row.",
            cls="kb-p kb-panel kb-quiet kb-ruled",
        )
        if more
        else None
    )
    if state.selection is None:
        return [h("div", parts, rest, cls="kb-ruled")]
    summary = f"{count(len(state.details), 'note')} on this page"
    return [h("details", h("summary", summary), parts, rest, cls="kb-more")]


def _detail(detail: Detail) -> Iterator[Element]:
    mark, tone = MARKS[detail.word]
    ids = " ".join(map(set_apart, detail.ids[:_MOST_IDS]))
    if len(detail.ids) > _MOST_IDS:
        ids += f" and {len(detail.ids) - _MOST_IDS:,} more"
    yield heading(
        pair(
            glyph(mark, tone=tone),
            h("span", f"({detail.number}) ", h("code", *sentence(ids), cls="kb-code"), f" {detail.word}"),
        ),
    )
    if detail.versions:
        versions = " ".join(map(set_apart, detail.versions))
        yield h("p", *sentence(f"saved by version {versions}"), cls="kb-p kb-small kb-quiet")
    yield h(
        "ul",
        *(h("li", *sentence(told_apart(reason)), cls="kb-p") for reason in detail.reasons),
        style="margin:0;padding-left:22px",
    )
