"""Checkpoints in the order of a table: filtered, sorted, straight runs in one row, page by page.

A table is made once for what is stored and for the code as it is; what somebody chooses in it costs little then, also
with 100,000 checkpoints.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.filtering import SORT_COLUMNS, read_filter
from koogbook.notebook.views.checkpoint_view.judging import WORDS, Judge, RowWord, Verdict
from koogbook.notebook.views.checkpoint_view.tree import TreeRow
from koogbook.notebook.views.look.measure import count

#: Up to so many rows the table is one page; beyond, straight runs of the tree become one row with their count.
MOST_ROWS = 60
#: The rows of a page where they are more.
PAGE = 50
_SHORTEST_RUN = 3
_OPEN_AT_THE_END = 20


class Choice(Struct, frozen=True, kw_only=True):
    """What is chosen in a table: ``sort`` is empty in tree order, ``page`` counts from 1.

    ``opened`` are the keys of the checkpoints with which straight runs begin that are shown one by one.
    """

    sort: str = ""
    descending: bool = False
    filter: str = ""
    page: int = 1
    opened: frozenset[str] = frozenset()


class Judged(Struct, frozen=True):
    """What is to know about checkpoints, once for all that it is true of; ``number`` is None where it is nothing."""

    word: RowWord
    reasons: tuple[str, ...]
    verdict: Verdict | None
    number: int | None


class Detail(Struct, frozen=True):
    """What is to know about checkpoints in words: the ids of those that it is true of."""

    number: int
    word: RowWord
    ids: tuple[str, ...]
    versions: tuple[str, ...]
    reasons: tuple[str, ...]


#: The rows of a table by their places in tree order: of one checkpoint, or of a straight run.
Span = range


class CheckpointTable:
    """Checkpoints with their verdicts, ready to be looked at in any order.

    Args:
        rows: All of them, as :func:`koogbook.notebook.views.checkpoint_view.tree.tree_rows` gives them.
        judge: The verdict on each; one without is "not checked", a tombstone "ended".
    """

    def __init__(self, rows: Sequence[TreeRow], judge: Judge) -> None:
        self.rows = rows
        self.judged, self.details = _judged(rows, judge)
        self.counts = Counter(one.word for one in self.judged)
        days = {row.info.created.date() for row in rows}
        #: The one day of all, or empty.
        self.day = f"{days.pop():%Y-%m-%d}" if len(days) == 1 else ""
        self.sessions = tuple(dict.fromkeys(row.info.session_id for row in rows))
        self.newest: dict[str, int] = {}
        self._ids: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            self._ids.setdefault(row.info.id, []).append(place)
            info = row.info
            self.newest[info.session_id] = max(self.newest.get(info.session_id, 0), info.version)
        self._passed: tuple[str, Sequence[int]] = ("", range(len(rows)))
        self._sorted: tuple[tuple[str, bool, str], Sequence[int]] = (("", False, ""), range(len(rows)))
        self._folded: tuple[frozenset[str], tuple[Span, ...]] | None = None

    # ------------------------------------------------------------------------------------- finding

    def named(self, id: str) -> list[int]:
        """The places of the checkpoints of this id."""
        return self._ids.get(id, [])

    def beginning(self, start: str) -> list[int]:
        """The places of the checkpoints whose id begins so."""
        return [place for id, places in self._ids.items() if id.startswith(start) for place in places]

    def find(self, session_id: str, id: str) -> int | None:
        """The place of a checkpoint."""
        return next((one for one in self.named(id) if self.rows[one].info.session_id == session_id), None)

    # ------------------------------------------------------------------------------------- choosing

    def passed(self, text: str) -> Sequence[int]:
        """The places of those that pass a filter, in tree order.

        Raises:
            ViewError: The filter cannot be read.
        """
        if self._passed[0] != text:
            tests = read_filter(text)
            found: Sequence[int] = [
                place
                for place, (row, judged) in enumerate(zip(self.rows, self.judged, strict=True))
                if all(test(row.info, judged.word) for test in tests)
            ]
            self._passed = (text, found)
        return self._passed[1]

    def sorted(self, choice: Choice) -> Sequence[int]:
        """The places of those that pass the filter, sorted; those that are alike stay in tree order."""
        passed = self.passed(choice.filter)
        if not choice.sort:
            return passed
        asked = (choice.sort, choice.descending, choice.filter)
        if self._sorted[0] != asked:
            key = SORT_COLUMNS[choice.sort]
            keys = [key(self.rows[place].info) for place in passed]
            if choice.sort == "verdict":
                keys = [WORDS.index(self.judged[place].word) for place in passed]
            order = sorted(range(len(passed)), key=keys.__getitem__, reverse=choice.descending)
            self._sorted = (asked, [passed[one] for one in order])
        return self._sorted[1]

    def is_tree(self, choice: Choice) -> bool:
        """Whether the rows stand as in the tree, all of them, so that its lines can be drawn beside them."""
        return not choice.sort and not choice.filter.strip()

    def spans(self, choice: Choice) -> Sequence[Span]:
        """The rows of all pages."""
        if not self.is_tree(choice):
            return [range(place, place + 1) for place in self.sorted(choice)]
        if len(self.rows) <= MOST_ROWS:
            return [range(place, place + 1) for place in range(len(self.rows))]
        if self._folded is None or self._folded[0] != choice.opened:
            self._folded = (choice.opened, tuple(self._folded_spans(choice.opened)))
        return self._folded[1]

    def pages(self, choice: Choice) -> int:
        """How many pages there are, at least one."""
        rows = self._length(choice)
        return 1 if rows <= MOST_ROWS else -(-rows // PAGE)

    def page(self, choice: Choice) -> tuple[int, Sequence[Span]]:
        """The place of the first row of a page among all rows, and its rows; a page too far is the last one."""
        if self._length(choice) <= MOST_ROWS:
            return 0, self.spans(choice)
        start = (min(max(choice.page, 1), self.pages(choice)) - 1) * PAGE
        if self.is_tree(choice):
            return start, self.spans(choice)[start : start + PAGE]
        return start, [range(place, place + 1) for place in self.sorted(choice)[start : start + PAGE]]

    def choice_of(self, choice: Choice, place: int) -> Choice | None:
        """The choice with the page on which this checkpoint has a row of its own; None where the filter hides it."""
        if self.is_tree(choice):
            spans = self.spans(choice)
            at = next(at for at, span in enumerate(spans) if place in span)
            if len(spans[at]) > 1:
                opened = choice.opened | {checkpoint_key(self.rows[spans[at][0]].info)}
                return self.choice_of(replace(choice, opened=opened), place)
        else:
            order = self.sorted(choice)
            if place not in order:
                return None
            at = order.index(place)
        return replace(choice, page=at // PAGE + 1 if self._length(choice) > MOST_ROWS else 1)

    def _length(self, choice: Choice) -> int:
        return len(self.spans(choice)) if self.is_tree(choice) else len(self.sorted(choice))

    # ------------------------------------------------------------------------------------- straight runs

    def _folded_spans(self, opened: frozenset[str]) -> Iterator[Span]:
        for run in self._straight():
            if len(run) < _SHORTEST_RUN or (opened and checkpoint_key(self.rows[run[0]].info) in opened):
                yield from (range(place, place + 1) for place in run)
            else:
                yield run

    def _straight(self) -> Iterator[Span]:
        """Runs of one session and one verdict in which nothing forks and nothing ends."""
        start, last_open = 0, len(self.rows) - _OPEN_AT_THE_END
        before: TreeRow | None = None
        for place, (row, judged) in enumerate(zip(self.rows, self.judged, strict=True)):
            alone = bool(row.branches) or row.fork or judged.word == "ended" or place >= last_open
            follows = (
                before is not None
                and not alone
                and row.parent_row == place - 1
                and row.info.session_id == before.info.session_id
                and judged is self.judged[place - 1]
            )
            if not follows and place > start:
                yield range(start, place)
                start = place
            before = None if alone else row
        if self.rows:
            yield range(start, len(self.rows))

    # ------------------------------------------------------------------------------------- words

    def sentence(self) -> str:
        """How many there are of each verdict."""
        if not self.rows:
            return "no checkpoints yet"
        parts = [f"{self.counts[word]:,} {word}" for word in WORDS if self.counts[word]]
        return f"{count(len(self.rows), 'checkpoint')}: {', '.join(parts)}"

    def verdicts(self) -> tuple[tuple[RowWord, int], ...]:
        """Each verdict that occurs, with how often."""
        return tuple((word, self.counts[word]) for word in WORDS if self.counts[word])


def checkpoint_key(info: CheckpointInfo) -> str:
    """What names a checkpoint in a whole store: its id, with its session before it."""
    return json.dumps([info.session_id, info.id])


def _judged(rows: Sequence[TreeRow], judge: Judge) -> tuple[list[Judged], tuple[Detail, ...]]:
    """The verdict on each row, and what is to know, numbered in the order of the rows."""
    known: dict[tuple[object, ...], Judged] = {}
    members: dict[int, list[CheckpointInfo]] = {}
    judged: list[Judged] = []
    for row in rows:
        info = row.info
        verdict = judge(info)
        key = (verdict, info.left_out, info.is_tombstone)
        one = known.get(key)
        if one is None:
            one = known[key] = _one(verdict, info, len(members) + 1)
            if one.number is not None:
                members[one.number] = []
        if one.number is not None:
            members[one.number].append(info)
        judged.append(one)
    numbered = {one.number: one for one in known.values()}
    return judged, tuple(_detail(numbered[number], number, infos) for number, infos in members.items())


def _one(verdict: Verdict | None, info: CheckpointInfo, number: int) -> Judged:
    word: RowWord = verdict.word if verdict is not None else "ended" if info.is_tombstone else "not checked"
    reasons = verdict.reasons if verdict is not None else ()
    if info.left_out:
        keys = (
            f"{count(len(info.left_out), 'storage key')} that cannot be encoded: {', '.join(info.left_out)}"
        )
        reasons = (*reasons, f"saved without {keys}")
    return Judged(word, reasons, verdict, number if reasons else None)


def _detail(judged: Judged, number: int, infos: Sequence[CheckpointInfo]) -> Detail:
    ids = tuple(dict.fromkeys(info.id for info in infos))
    versions = tuple(dict.fromkeys(info.strategy_version for info in infos if info.strategy_version))
    return Detail(number, judged.word, ids, versions, judged.reasons)
