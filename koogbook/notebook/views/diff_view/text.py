"""A prompt diff as plain text: ASCII, at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from koogbook.messages.word_diff import WordSpan
from koogbook.notebook.views.diff_view.checks import numbers
from koogbook.notebook.views.diff_view.model import (
    Band,
    DiffState,
    FoldedRow,
    LeftOutRow,
    LeftRow,
    MessageRow,
    RightRow,
    SentenceRow,
    SummaryRow,
    fold_words,
    sources_in_words,
)
from koogbook.notebook.views.diff_view.spans import merged_spans
from koogbook.notebook.views.look.isolates import unmarked
from koogbook.notebook.views.look.measure import count, cut_end, percent, plain, thousands

COLUMNS = 100
MARKS = {"kept": "=", "edited": "~", "memory": "m", "summarised": "s", "dropped": "-", "new": "+"}

_ROLES = {"assistant": "assist."}
_CHECKS = {"ok": "ok", "note": "note", "bad": "BAD"}
_FOUND = {"lost": "LOST", "never there": "NEVER THERE"}
_SIGNS = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
_MOST_LINES = 12
_TEXT = 52
_ORIGIN = 36
_FEW = 4
_FIRST_AND_LAST = 20
_LEAD = 16


def diff_text(state: DiffState) -> str:
    """The diff as text: what happened, the totals, the rows, the facts, the checks."""
    blocks = [_head(state), _totals(state), _rows(state), _selected(state), _facts(state), _checks(state)]
    lines = "\n\n".join("\n".join(block) for block in blocks if block)
    return "\n".join(line.rstrip() for line in lines.split("\n"))


def sentence(state: DiffState) -> str:
    """What happened, in one line."""
    if state.status == "unchanged":
        tokens = count(state.tokens_before, "token")
        return f"nothing changed: {count(state.messages_before, 'message')}, {tokens}"
    messages = f"{thousands(state.messages_before)} \u2192 {count(state.messages_after, 'message')}"
    tokens = f"{thousands(state.tokens_before)} \u2192 {thousands(state.tokens_after)} tokens"
    share = f" ({percent(-state.saved_share, signed=True)})" if state.tokens_before else ""
    refused = "refused, nothing was changed: " if state.status == "refused" else ""
    return f"{refused}{messages}, {tokens}{share}"


def _head(state: DiffState) -> list[str]:
    title = "  ".join(filter(None, ("Prompt diff", plain(unmarked(state.name)), plain(state.strategy))))
    facts = "   ".join((plain(sentence(state)), *(plain(word) for word in state.effort)))
    return [line[:COLUMNS] for line in (title, facts[0].upper() + facts[1:])]


def _totals(state: DiffState) -> list[str]:
    if not state.totals:
        return []
    lines = ["  fate            messages    tokens"]
    for total in state.totals:
        after = f"  -> {thousands(total.tokens_after)}" if total.tokens_after != total.tokens else ""
        before = thousands(total.tokens) if total.fate != "new" else ""
        lines.append(f"  {total.word[:15]:<15} {thousands(total.messages):>8}  {before:>8}{after}")
    return lines


# ------------------------------------------------------------------------------------------- rows


def _rows(state: DiffState) -> list[str]:
    if not state.bands:
        return ["  Both histories are empty."]
    width = max(3, len(str(max(state.messages_before, state.messages_after, 1) - 1)))
    head = f"  {'#':>{width + 2}}  role     fate      tokens  {'text':<{_TEXT}}  new #"
    rule = f"  {'-' * (width + 2)}  -------  -------  -------  {'-' * _TEXT}  -----"
    pairs = _pair_marks(state)
    bands = [list(_band(band, width, pairs)) for band in state.bands]
    return [*_page(state), head, rule, *_shortened(bands, state)]


def _page(state: DiffState) -> list[str]:
    page = state.page
    return (
        [plain(f"  page {page.number} of {page.count}   {page.words}")[:COLUMNS], ""] if page.number else []
    )


def _shortened(bands: list[list[list[str]]], state: DiffState) -> Iterator[str]:
    """The rows, of a long diff the first and the last; how much stands between them is said."""
    total = sum(map(len, bands))
    if total <= 3 * _FIRST_AND_LAST and state.cut_at is None:
        yield from (line for band in bands for row in band for line in row)
        return
    first = _whole(bands[: state.cut_at])
    last = _whole(bands[state.cut_at or len(first) :][::-1])[::-1]
    head = [row for band in first for row in band][:_FIRST_AND_LAST]
    tail = [row for band in last for row in band][-_FIRST_AND_LAST:]
    hidden = total - len(head) - len(tail)
    between = [count(hidden, "row")] if hidden else []
    if state.cut_messages:
        between.append(f"{count(state.cut_messages, 'message')} that are not in rows")
    yield from (line for row in head for line in row)
    yield f"       ... {' and '.join(between)} more ..."
    yield from (line for row in tail for line in row)


def _whole(bands: Sequence[list[list[str]]]) -> list[list[list[str]]]:
    """As many bands as fit into the room at one end, at least one: a summary and its sentences stay together."""
    taken: list[list[list[str]]] = []
    rows = 0
    for band in bands:
        rows += len(band)
        if taken and rows > _FIRST_AND_LAST:
            break
        taken.append(band)
    return taken


def _band(band: Band, width: int, pairs: dict[tuple[bool, int], str]) -> Iterator[list[str]]:
    for row in band.left:
        yield [_left_row(row, band, width, pairs)]
    if not band.same:
        for right in band.right:
            yield list(_right_row(right, width, pairs))


def _left_row(row: LeftRow, band: Band, width: int, pairs: dict[tuple[bool, int], str]) -> str:
    if isinstance(row, FoldedRow):
        other = band.right[0] if band.same else None
        new = _range(other) if isinstance(other, FoldedRow) else "-"
        text = f"{fold_words(row)}, {row.first} to {row.last}{':' if row.opened else ''}"
        return _line(MARKS[row.fate], "...", "", row.word, row.tokens, text, new, row.lit, width)
    new = "-" if row.partner is None else str(row.partner)
    if row.used_in:
        new = row.used_in[0] + ("+" if len(row.used_in) > 1 else "")
    other = band.right[0] if band.same else None
    spans = row.spans and _both(row.spans, other.spans if isinstance(other, MessageRow) else ())
    text = spans or row.text
    mark = pairs.get((True, row.position), "")
    return _line(
        MARKS[row.fate], str(row.position), row.role, row.word, row.tokens, text, new, row.lit, width, mark
    )


def _right_row(row: RightRow, width: int, pairs: dict[tuple[bool, int], str]) -> Iterator[str]:
    indent = " " * (width + 6)
    match row:
        case LeftOutRow():
            why = plain(f"why: {'; '.join(row.reasons)}") if row.reasons else ""
            yield from wrap(why, COLUMNS, initial_indent=indent, subsequent_indent=indent)
        case SummaryRow():
            sources = f"{thousands(row.source_tokens)} -> " if row.sources else ""
            text = f"{row.name}: {sources_in_words(row)}, {sources}{thousands(row.tokens)}"
            yield _line("+", "", "summary", "new", row.tokens, text, str(row.position), row.lit, width)
        case SentenceRow():
            yield from _sentence(row, indent)
        case FoldedRow():
            yield _line(
                MARKS[row.fate], "", "", row.word, row.tokens, fold_words(row), _range(row), row.lit, width
            )
        case MessageRow():
            mark = pairs.get((False, row.position), "")
            name = str(row.partner) if row.moved and row.partner is not None else ""
            yield _line(
                MARKS[row.fate],
                name,
                row.role,
                row.word,
                row.tokens,
                row.text,
                str(row.position),
                row.lit,
                width,
                mark,
            )


def _sentence(row: SentenceRow, indent: str) -> Iterator[str]:
    most = _FEW if len(row.sources) <= _FEW else 2
    sources = numbers(row.sources, most).replace("\u2013", "-") or "no source"
    origin = f"from {plain(sources)}" if row.sources else sources
    if row.verbatim:
        origin += ", verbatim"
    room = COLUMNS - len(indent) - 5 - _ORIGIN
    lines = wrap(plain(row.text), room) or [""]
    for index, line in enumerate(lines):
        number = f"{row.number:>3}  " if index == 0 else "     "
        lead = ">" + indent[1:] if row.lit and index == 0 else indent
        end = f"  {origin}" if index == len(lines) - 1 else ""
        yield f"{lead}{number}{line:<{room}}{end}"[:COLUMNS]


def _line(
    mark: str,
    number: str,
    role: str,
    word: str,
    tokens: int,
    text: str,
    new: str,
    lit: bool,
    width: int,
    pair: str = "",
) -> str:
    room = _TEXT - len(pair) - 2 if pair else _TEXT
    body = f"{cut_end(plain(text), room, '..'):<{room}}" + (f"  {pair}" if pair else "")
    lead = ">" if lit else " "
    return (
        f"{lead} {mark}{number:>{width + 1}}  {_ROLES.get(role, role):<7}  {word[:7]:<7}  "
        f"{thousands(tokens):>7}  {body}  {new}"
    )[:COLUMNS]


def _range(row: FoldedRow) -> str:
    return str(row.first) if row.first == row.last else f"{row.first}-{row.last}"


def _both(removed: Sequence[WordSpan], added: Sequence[WordSpan]) -> str:
    """Both sides of an edit in one line, from a few words before the first change on."""
    spans = merged_spans(removed, added)
    lead = next((index for index, span in enumerate(spans) if span.kind != "same"), len(spans))
    before = "".join(span.text for span in spans[:lead])
    if len(before) > _LEAD:
        before = f"... {before[-_LEAD:].partition(' ')[2]}"
    return before + "".join(_SIGNS[span.kind].format(span.text) for span in spans[lead:])


def _pair_marks(state: DiffState) -> dict[tuple[bool, int], str]:
    marks: dict[tuple[bool, int], str] = {}
    for bracket in state.brackets:
        left = bracket.side == "before"
        if bracket.open:
            marks[left, bracket.first] = "no result"
            continue
        for position in range(bracket.first, bracket.last + 1):
            marks[left, position] = "|"
        marks[left, bracket.first], marks[left, bracket.last] = "\\ pair", "/"
    return marks


# ------------------------------------------------------------------------------------------- selection


def _selected(state: DiffState) -> list[str]:
    found = state.detail
    if found is None:
        return []
    tokens = "" if found.tokens is None else f"   {count(found.tokens, 'token')}"
    lines = [f"  Selected: {plain(found.title, 40)}   {plain(found.word, 20)}{tokens}"]
    lines += wrap(plain(found.reason), COLUMNS, initial_indent="    ", subsequent_indent="    ")
    for links in found.links:
        more = f" and {thousands(links.more)} more" if links.more else ""
        words = f"{links.about}: {' '.join(link.word for link in links.links)}{more}"
        lines += wrap(plain(words), COLUMNS, initial_indent="    ", subsequent_indent="      ")
    if found.lost:
        words = f"LOST, was here: {', '.join(found.lost)}"
        lines += wrap(plain(words), COLUMNS, initial_indent="    ", subsequent_indent="      ")
    text = "".join(_SIGNS[span.kind].format(span.text) for span in found.spans) or found.text
    shown = wrap(plain(text), COLUMNS - 6, initial_indent="    | ", subsequent_indent="    | ")
    lines += shown[:_MOST_LINES]
    if len(shown) > _MOST_LINES or found.left_out:
        whole = ".selected.sentence" if found.tokens is None else ".selected.message.text"
        lines.append(f"    | ... all of it: {whole} of this view")
    return [line[:COLUMNS] for line in lines]


# ------------------------------------------------------------------------------------------- proofs


def _facts(state: DiffState) -> list[str]:
    if not state.facts:
        return []
    wide = min(max([9, *(len(plain(row.fact)) for row in state.facts)]), 30)
    found = max([5, *(len(plain(row.word)) for row in state.facts)])
    lines = [f"  {'must keep':<{wide}}  as         {'found':<{found}}  message"]
    for row in state.facts:
        word = plain(_FOUND.get(row.found, row.word))
        lines.append(f"  {plain(row.fact, wide):<{wide}}  {row.kind:<9}  {word:<{found}}  {plain(row.where)}")
    return [line[:COLUMNS] for line in lines]


def _checks(state: DiffState) -> list[str]:
    lines: list[str] = []
    for index, check in enumerate(state.checks):
        lead = "  checks  " if index == 0 else " " * 10
        text = plain(unmarked(check.text)).replace("\\u2265", ">=").replace("\\u2013", "-")
        lines += wrap(
            text, COLUMNS, initial_indent=f"{lead}{_CHECKS[check.state]:<5} ", subsequent_indent=" " * 16
        )
    return lines
