"""A prompt view as plain text: ASCII, at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from koogbook.notebook.views.look.isolates import unmarked
from koogbook.notebook.views.look.measure import count, cut_end, duration, plain, thousands, wrapped
from koogbook.notebook.views.prompt_view.model import (
    CutRow,
    MessageDetail,
    MessageRow,
    OffRow,
    Previews,
    PromptState,
    Row,
)
from koogbook.notebook.views.prompt_view.words import off_words, sentence, share_words, since_words

COLUMNS = 100
_LAYER = 22
_TEXT = 50
_BAR = 30
_ROLES = {"assistant": "assist."}
_NOVELTIES = {"": " ", "new": "+", "edited": "~"}
_FIRST_AND_LAST = 20
_MOST_LINES = 12
_MOST_CALLS = 12


def prompt_text(state: PromptState) -> str:
    """The view as text: what was sent, its layers, its messages, and what is around them."""
    blocks = [
        _head(state),
        _layers(state),
        _rows(state),
        _selected(state.detail),
        _params(state),
        _tools(state),
        _changes(state),
        _answer(state),
        _calls(state),
        [line for note in state.notes for line in wrapped(f"! {plain(note)}")],
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


def _head(state: PromptState) -> list[str]:
    title = "  ".join(filter(None, ("Prompt", plain(unmarked(state.name), 60))))
    return [title, *wrap(plain(unmarked(sentence(state))), COLUMNS)]


def _layers(state: PromptState) -> list[str]:
    if not state.layers:
        return []
    most = max(row.tokens for row in state.layers)
    lines = [
        f"  {'layer':<{_LAYER}}  on   messages   tokens   share",
        f"  {'-' * _LAYER}  ---  --------  -------  ------",
    ]
    for row in state.layers:
        bar = "#" * max(1, round(row.tokens / most * _BAR)) if row.tokens and row.on else ""
        number = f"{thousands(row.count)}{' tools' if row.name == 'tools' else ''}"
        lines.append(
            f"  {plain(row.name, _LAYER):<{_LAYER}}  {'on' if row.on else 'OFF':<3}  {number:>8}  "
            f"{thousands(row.tokens):>7}  {share_words(row.share):>6}  {bar}"
        )
    if said := off_words(state):
        lines += wrapped(plain(unmarked(said)))
    if state.absent:
        lines += wrapped(f"nothing in: {', '.join(state.absent)}")
    return lines


# ------------------------------------------------------------------------------------------- messages


def _rows(state: PromptState) -> list[str]:
    if not state.rows:
        return ["  There are no messages."]
    width = max(3, len(str(max(state.call.messages - 1, 0))))
    head = f"   {'#':>{width + 1}}  role     {'layer':<14}  {'tokens':>7}  text"
    rule = f"   {'-' * (width + 1)}  -------  {'-' * 14}  -------  {'-' * _TEXT}"
    pairs = _pair_marks(state)
    lines = [f"  {plain(unmarked(since_words(state.since)))}", ""] if state.since else []
    if state.page.number:
        lines += [f"  page {state.page.number} of {state.page.count}   {state.page.words}", ""]
    return [*lines, head, rule, *_shortened(state.rows, width, pairs)]


def _shortened(rows: Sequence[Row], width: int, pairs: dict[int, str]) -> Iterator[str]:
    """The rows; of many the first and the last, with a count between them."""
    if len(rows) <= 3 * _FIRST_AND_LAST:
        yield from (_line(row, width, pairs) for row in rows)
        return
    middle = rows[_FIRST_AND_LAST : len(rows) - _FIRST_AND_LAST]
    yield from (_line(row, width, pairs) for row in rows[:_FIRST_AND_LAST])
    yield _more(sum(map(_messages, middle)))
    yield from (_line(row, width, pairs) for row in rows[len(rows) - _FIRST_AND_LAST :])


def _messages(row: Row) -> int:
    match row:
        case MessageRow():
            return 1
        case OffRow():
            return row.count
        case CutRow():
            return row.messages


def _line(row: Row, width: int, pairs: dict[int, str]) -> str:
    match row:
        case MessageRow():
            sign = ">" if row.picked else _NOVELTIES[row.novelty]
            pair = pairs.get(row.position, "")
            text = _short(f"(as text) {row.text}" if row.as_text else row.text, _TEXT)
            return (
                f"{sign} {pair:1} {row.position:>{width}}  {_ROLES.get(row.role, row.role):<7}  "
                f"{plain(row.layer, 14):<14}  {thousands(row.tokens):>7}  {text}"
            )
        case OffRow():
            span = f"{row.first} to {row.last}" if row.last > row.first else str(row.first)
            layers = plain(", ".join(row.layers), 40)
            size = f"{count(row.count, 'message')}, {span}, of {layers}: {count(row.tokens, 'token')}"
            return f"    {'':>{width}}  OFF: {size}"
        case CutRow():
            return _more(row.messages)


def _more(messages: int) -> str:
    return f"   ... {count(messages, 'more message')} ..."


def _short(text: str, most: int) -> str:
    """The beginning of a text, which says more than its two ends."""
    return cut_end(plain(text), most, "..")


def _pair_marks(state: PromptState) -> dict[int, str]:
    marks: dict[int, str] = {}
    for bracket in state.brackets:
        marks.update(dict.fromkeys(range(bracket.first, bracket.last + 1), "|"))
        marks[bracket.first] = "?" if bracket.open else "\\"
        if bracket.last > bracket.first and not bracket.open:
            marks[bracket.last] = "/"
    return marks


def _selected(found: MessageDetail | None) -> list[str]:
    if found is None:
        return []
    off = "" if found.on else ", which is OFF"
    novelty = f"   {found.novelty}" if found.novelty else ""
    lines = [
        f"  Selected: message {found.position}, {found.role}   layer {plain(found.layer, 30)}{off}   "
        f"{count(found.tokens, 'token')}{novelty}"
    ]
    for said in found.origin:
        lines += wrap(plain(unmarked(said)), COLUMNS - 4, initial_indent="    ", subsequent_indent="      ")
    lines += [f"    {link.about} is message {link.position}" for link in found.links]
    for word, value in found.facts:
        lines += wrap(
            f"{word}: {plain(value)}", COLUMNS - 4, initial_indent="    ", subsequent_indent="      "
        )
    lines.append(f"    in Python: {found.python}")
    lines += _quoted(found.text, found.left_out)
    return lines


def _quoted(text: str, left_out: int) -> list[str]:
    """A text at the side of a line, of a long one the first lines."""
    lines = [
        piece
        for line in text.split("\n")
        for piece in wrap(plain(line), COLUMNS - 6, drop_whitespace=False) or [""]
    ]
    more = len(lines) - _MOST_LINES
    shown = [f"    | {line}" for line in lines[:_MOST_LINES]]
    if more > 0 or left_out:
        rest = [
            *([count(more, "line")] if more > 0 else []),
            *([count(left_out, "character")] if left_out else []),
        ]
        shown.append(f"    | ... {' and '.join(rest)} more")
    return shown


# ------------------------------------------------------------------------------------------- around them


def _params(state: PromptState) -> list[str]:
    lines = [f"  {word:<14}  {plain(value, 80)}" for word, value in state.params]
    if state.left_to_provider:
        lines += wrapped(f"left to the provider: {', '.join(state.left_to_provider)}")
    if state.schema:
        lines.append("  an answer of this schema was asked for:")
        lines += _quoted(state.schema, 0)
    return lines


def _tools(state: PromptState) -> list[str]:
    return [
        f"  tool {plain(tool.name, 24):<24}  {thousands(tool.tokens):>5} tokens  {_short(tool.description, 50)}"
        for tool in state.tools
    ]


def _changes(state: PromptState) -> list[str]:
    lines: list[str] = []
    for change in state.changes:
        lines.append(f"  Changed on the way by {plain(change.feature, 50)}:")
        lines += _previews("put in", change.added)
        lines += _previews("TAKEN OUT", change.taken_out)
        lines += _previews("changed", change.changed)
        for other in change.others:
            lines += wrapped(plain(other), 96, "    ")
    return lines


def _previews(word: str, found: Previews) -> Iterator[str]:
    if not found.count:
        return
    yield f"    {word}: {count(found.count, 'message')}, {count(found.tokens, 'token')}"
    for one in found.shown:
        yield f"      {one.position:>4}  {_ROLES.get(one.role, one.role):<7}  {_short(one.text, 70)}"
        if one.was:
            yield f"      {'':>4}  {'was':<7}  {_short(one.was, 70)}"
    if found.count > len(found.shown):
        yield f"      ... {found.count - len(found.shown)} more"


def _answer(state: PromptState) -> list[str]:
    answer = state.answer
    if answer.state == "not sent":
        return []
    words = plain(", ".join((answer.words, *answer.more)))
    lines = wrapped(f"Answer: {words.upper() if answer.state in ('failed', 'stopped') else words}")
    if answer.error:
        lines += wrapped(plain(answer.error, 600), 96, "    ")
    return lines + (_quoted(answer.text, answer.left_out) if answer.text else [])


def _calls(state: PromptState) -> list[str]:
    if len(state.calls) < 2:
        return []
    here = state.call.number - 1
    start = max(0, min(here - _MOST_CALLS // 2, len(state.calls) - _MOST_CALLS))
    lines = [f"  {'call':>5}  purpose        messages   tokens  counted      time  state      where"]
    if start:
        lines.append(f"         ... {count(start, 'call')} before")
    for call in state.calls[start : start + _MOST_CALLS]:
        counted = "-" if call.counted is None else thousands(call.counted)
        took = "-" if call.seconds is None else plain(duration(call.seconds))
        word = call.state.upper() if call.state in ("failed", "stopped") else call.state
        lines.append(
            f"{'>' if call.number == state.call.number else ' '} {call.number:>5}  {call.purpose:<13}  "
            f"{thousands(call.messages):>8}  {thousands(call.tokens):>7}  {counted:>7}  {took:>8}  {word:<9}  "
            f"{plain(call.path, 28)}"
        )
    after = len(state.calls) - start - _MOST_CALLS
    return [*lines, *([f"         ... {count(after, 'call')} after"] if after > 0 else [])]
