"""The table of checkpoints with the tree of their forks, and whether the code as it is now can go on from each."""

from __future__ import annotations

from collections.abc import Iterator

from koogbook.notebook.views.checkpoint_view.filtering import verdict_condition
from koogbook.notebook.views.checkpoint_view.panel import MARKS, details, panel
from koogbook.notebook.views.checkpoint_view.picture import ROW, TREE, tree_picture
from koogbook.notebook.views.checkpoint_view.state import (
    CheckpointRow,
    CheckpointState,
    Row,
    RunRow,
    Verdict,
    checkpoint_state,
)
from koogbook.notebook.views.checkpoint_view.text import NOTHING_YET, checkpoint_text, page_words, sort_words
from koogbook.notebook.views.look.controls import button, does, field, keys, row_does, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import (
    name,
    path_apart,
    phrase,
    sentence,
    set_apart,
    told_apart,
    unmarked,
)
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, cut_middle, thousands
from koogbook.notebook.views.look.pieces import chip, frame, pair

__all__ = ["ROW", "CheckpointState", "Verdict", "checkpoint_element", "checkpoint_state", "checkpoint_text"]

_SHORT_ID = 10  # characters of a parent's id, which stands whole in the row above
_TD = "padding:0 8px;white-space:nowrap;text-align:"
# A notebook lets pictures shrink with their cell, so the cell has to say how wide it is.
_TREE_CELL = f"padding:0;vertical-align:top;width:{TREE}px;min-width:{TREE}px"
_NODE_CELL = f"{_TD}left;width:100%;min-width:100px;max-width:0;overflow:hidden;text-overflow:ellipsis"
# With more rows than this a live table scrolls under its head, so that a click and its panel are in sight together.
_ROWS_IN_SIGHT = 17
_SCROLLS = f"max-height:{ROW * _ROWS_IN_SIGHT}px;overflow:auto"
_STAYS = (
    ";position:sticky;top:0;z-index:1;background:var(--kb-paper);box-shadow:inset 0 -1px 0 var(--kb-line)"
)
_HINT = "Filter: words, node:verify, tokens>1000"


def checkpoint_element(state: CheckpointState) -> Element:
    """The table as markup."""
    selected = state.selection
    if state.rows:
        live = {"style": _SCROLLS} if len(state.rows) > _ROWS_IN_SIGHT else None
        body = [*_band(state), h("div", _table(state), cls="kb-scroll", live=live)]
    elif state.total:
        words = "No checkpoint passes the filter."
        body = [*_band(state), h("p", words, cls="kb-panel kb-quiet", style="margin:0")]
    elif state.is_new:
        body = [h("p", NOTHING_YET, cls="kb-panel kb-quiet", style="margin:0")]
    else:
        words = "Look at one of those, or at all of the store: kb.checkpoints(agent)."
        body = [h("p", words, cls="kb-panel kb-quiet", style="margin:0")]
    if selected is not None:
        body.append(panel(state, selected))
    body += details(state)
    return frame(
        icon="checkpoint",
        title="Checkpoints",
        name=phrase(_sessions(state)),
        status=phrase(state.sentence[0].upper() + state.sentence[1:]),
        body=[*_why_not_checked(state), *body],
        foot=phrase(_foot(state)),
        tools=_tools(state),
        keys=_keys(state) if state.rows else None,
    )


def _sessions(state: CheckpointState) -> str:
    """The session ids that it is about, the first of many."""
    named = " ".join(map(set_apart, state.sessions[:4]))
    return f"{named} and {len(state.sessions) - 4:,} more" if len(state.sessions) > 4 else named


def _tools(state: CheckpointState) -> Element:
    return tools(
        button("Refresh", "refresh", first=state.is_behind, name="Look at the store and at the code again"),
        button("Close", "back", key="Escape", name="Close the panel of the checkpoint")
        if state.selection is not None
        else None,
    )


def _keys(state: CheckpointState) -> Element:
    pairs = [("\u2191 \u2193", "row"), ("Enter", "detail"), ("/", "filter")]
    if state.pages.pages > 1:
        pairs.append(("[ ]", "page"))
    if state.selection is not None:
        pairs += [("i", "look inside"), ("d", "diff")]
        pairs += [("f", "fork")] if state.selection.fork_to else []
        pairs.append(("Esc", "close"))
    return keys(*pairs)


def _foot(state: CheckpointState) -> str:
    words = [told_apart(state.store)] if state.store else []
    if state.rows:
        words.append(f"times are UTC, {state.day}" if state.day else "times are UTC")
        words.append(f"order: {sort_words(state)}")
        words.append("DataFrame: view.to_dataframe()")
    left = sum(len(row.left_out) for row in state.rows if isinstance(row, CheckpointRow))
    if left:
        words.append(f"{count(left, 'storage key')} left out")
    return " \u00b7 ".join(words)


def _why_not_checked(state: CheckpointState) -> Iterator[Element]:
    if state.not_checked:
        words = phrase(f"The verdicts are not worked out: {told_apart(state.not_checked)}")
        yield h("div", glyph("warning", tone="warn"), h("span", words), cls="kb-todo", style="border-top:0")


# ------------------------------------------------------------------------------------------- band


def _band(state: CheckpointState) -> Iterator[Element]:
    """The filter and the pages: controls in the live form, and what is chosen in words in all others."""
    choice = state.choice
    said = [f"Filter: {set_apart(choice.filter)}"] if choice.filter.strip() else []
    said += page_words(state) if state.pages.pages > 1 or said else []
    shown = [
        button(
            f"{number:,} {word}",
            "filter",
            "" if choice.filter == verdict_condition(word) else verdict_condition(word),
            mark=MARKS[word][0],
            on=choice.filter == verdict_condition(word),
            quiet=True,
            name=f"Only those that are {word}",
        )
        for word, number in state.verdicts
        if len(state.verdicts) > 1
    ]
    yield h(
        "div",
        h(
            "div",
            field("filter", choice.filter, name="Filter the checkpoints", hint=_HINT, key="/", width=290),
            *shown,
            button("Fold runs", "fold", name="Fold the runs that were opened") if choice.opened else None,
            h("span", *_pages(state), cls="kb-push kb-pair"),
            cls="kb-tools kb-live",
        ),
        cls="kb-band kb-live",
    )
    if said:
        yield h("p", *sentence(" \u00b7 ".join(said)), cls="kb-band kb-small kb-quiet", live={"hidden": ""})


def _pages(state: CheckpointState) -> Iterator[Element]:
    yield h("span", page_words(state)[0], cls="kb-small kb-quiet kb-word")
    if state.pages.pages == 1:
        return
    first, last = state.pages.number == 1, state.pages.number == state.pages.pages
    yield button("First", "page", "first", off=first, name="First page")
    yield button("Previous", "page", "previous", key="[", off=first, name="Previous page")
    yield button("Next", "page", "next", key="]", off=last, name="Next page")
    yield button("Last", "page", "last", off=last, name="Last page")


# ------------------------------------------------------------------------------------------- table


def _table(state: CheckpointState) -> Element:
    judged = any(row.word not in ("not checked", "ended") for row in state.rows)
    several = len(state.sessions) > 1 or len({row.session for row in state.rows}) > 1
    heads = [
        ("id", "id", "left", ""),
        *([("session", "session", "left", "kb-wide")] if several else []),
        ("time", "time", "left", "kb-wide"),
        ("after node", "node", "left", ""),
        ("ver", "version", "right", ""),
        ("messages", "messages", "right", "kb-wide"),
        ("tokens", "tokens", "right", ""),
        ("new", "new", "right", "kb-wide"),
        ("parent", "parent", "left", "kb-wide"),
        ("against the code now" if judged else "state", "verdict", "left", ""),
    ]
    rows = [_cells(row, several) for row in state.rows]
    cells = [_head(state, *head) for head in heads]
    if state.is_tree:
        rows[0].insert(0, h("td", tree_picture(state), rowspan=len(rows), style=_TREE_CELL))
        cells.insert(0, h("td", style=_TREE_CELL, live={"style": _TREE_CELL + _STAYS}))
    return h(
        "table",
        h("caption", *sentence(f"Checkpoints of {_sessions(state)}"), cls="kb-hidden"),
        h("thead", _tr(cells, "line")),
        h("tbody", *(_body_row(row, cells) for row, cells in zip(state.rows, rows, strict=True))),
        style="border-collapse:collapse;table-layout:auto;width:100%;margin:0;border:0;font-size:12px;line-height:18px",
    )


def _tr(cells: list[Element], line: str) -> Element:
    return h("tr", *cells, style=f"background:transparent;border:0;border-bottom:1px solid var(--kb-{line})")


def _body_row(row: Row, cells: list[Element]) -> Element:
    picked = isinstance(row, CheckpointRow) and row.selected
    ground = "var(--kb-t-accent)" if picked else "transparent"
    return h(
        "tr",
        *cells,
        cls="kb-picked" if picked else "",
        live=row_does("open" if isinstance(row, RunRow) else "select", row.key),
        style=f"height:{ROW}px;background:{ground};border:0;border-bottom:1px solid var(--kb-line2)",
    )


def _head(state: CheckpointState, word: str, column: str, align: str, cls: str) -> Element:
    choice = state.choice
    here = choice.sort == column
    arrow = (" \u2193" if choice.descending else " \u2191") if here else ""
    order = "the tree" if here and choice.descending else f"{word}, largest first" if here else word
    style = f"{_TD}{align};padding-top:6px;padding-bottom:6px;font-weight:400"
    return h(
        "th",
        h("span", word + arrow, cls="kb-link", live=does("sort", column, name=f"Sort by {order}")),
        scope="col",
        cls=f"kb-small {'kb-accent' if here else 'kb-quiet'} {cls}".rstrip(),
        aria_sort=("descending" if choice.descending else "ascending") if here else None,
        style=style,
        live={"style": style + _STAYS},
    )


def _cells(row: Row, several: bool) -> list[Element]:
    if isinstance(row, RunRow):
        return [_run_cell(row, several)]
    quiet = "kb-quiet" if row.word == "ended" else ""
    tone = "kb-accent" if row.lane else "kb-quiet"
    session = h("span", name(cut_middle(row.session, 14)), title=row.session)
    return [
        _td(_row_button(row), "left", quiet),
        *([_td(session, "left", f"{tone} kb-wide")] if several else []),
        _td(row.time, "left", "kb-quiet kb-wide"),
        h("td", *_node(row), cls=quiet, style=_NODE_CELL),
        _td(thousands(row.version), "right", quiet),
        _td(thousands(row.messages), "right", f"{quiet} kb-wide".strip()),
        _td(thousands(row.tokens), "right", quiet),
        _td(size(row.bytes), "right", f"{quiet} kb-wide".strip()),
        _td(_parent(row), "left", "kb-quiet kb-wide"),
        _td(_verdict(row), "left", ""),
    ]


def _td(content: Element | str, align: str, cls: str) -> Element:
    return h("td", content, cls=cls, style=_TD + align)


def _row_button(row: CheckpointRow) -> Element:
    live = does("select", row.key, name=f"Checkpoint {row.id}, {row.word}", picked=row.selected)
    return h("span", _id(row.id), cls="kb-link", live=live)


def _run_cell(row: RunRow, several: bool) -> Element:
    mark, tone = MARKS[row.word]
    session = f" of {set_apart(cut_middle(row.session, 24))}" if several else ""
    words = f"{count(row.count, 'checkpoint')}{session} in a row"
    ids = h(
        "code",
        *sentence(f"{set_apart(cut_middle(row.first, 16))} \u2026 {set_apart(cut_middle(row.last, 16))}"),
        cls="kb-code",
    )
    note = f" ({row.note})" if row.note is not None else ""
    opens = does("open", row.key, name=f"Show {unmarked(words)} one by one, {row.word}")
    return h(
        "td",
        h("span", *sentence(words), cls="kb-quiet kb-link", live=opens),
        " \u00b7 ",
        pair(glyph(mark, tone=tone), row.word + note, tone),
        h("span", f" \u00b7 {size(row.bytes)} \u00b7 ", ids, cls="kb-quiet"),
        colspan=10 if several else 9,
        cls="kb-t-sunk",
        style=_TD + "left;max-width:0;overflow:hidden;text-overflow:ellipsis",
    )


def _id(id: str, most: int = 16) -> Element:
    title = id if len(id) > most else None
    return h("code", name(cut_middle(id, most)), cls="kb-code kb-word", title=title)


def _node(row: CheckpointRow) -> Iterator[Element | str]:
    if row.folder:
        yield h("span", *sentence(path_apart(row.folder)), cls="kb-quiet")
    yield name(row.node or "(start)")
    if row.kind not in ("node", "tombstone"):
        yield " "
        yield chip(row.kind)
    if row.left_out:
        yield " "
        yield chip(f"{count(len(row.left_out), 'key')} left out", "warn")


def _parent(row: CheckpointRow) -> Element | str:
    if row.parent is None:
        return "none"
    if row.parent_missing:
        return h("span", _id(row.parent, _SHORT_ID), " (not here)")
    return _id(row.parent, _SHORT_ID)


def _verdict(row: CheckpointRow) -> Element:
    mark, tone = MARKS[row.word]
    note = f" ({row.note})" if row.note is not None else ""
    return pair(glyph(mark, tone=tone), row.word + note, tone)


def size(bytes: int) -> str:
    """Bytes as ``80 B``, ``9.8 kB``, ``1.2 MB``."""
    if bytes < 100:
        return f"{bytes} B"
    if bytes < 999_950:
        return f"{bytes / 1000:.1f} kB"
    return f"{bytes / 1_000_000:,.1f} MB"
