from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_checkpoints import START, chain, forests, lines_of_sessions, saved

from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.state import CheckpointRow, RunRow
from koogbook.notebook.views.checkpoint_view.table import Choice
from koogbook.notebook.views.checkpoint_view.tree import MOST_LANES, tree_rows
from koogbook.notebook.views.checkpoint_view.view import (
    Verdict,
    checkpoint_element,
    checkpoint_state,
    checkpoint_text,
)
from koogbook.notebook.views.look.markup import render, render_static

HOSTILE = "</script><img src=x onerror=alert(1)> \"'& \u202e \x00 \ud83c"


LINE = [
    saved("c-01", "trip-7", 1, path="trip/prepare", bytes=9800),
    saved("c-02", "trip-7", 2, "c-01", left_out=("browser", "http_client")),
    saved("c-03", "trip-7", 3, "c-02", path="trip/verify/check_price"),
    saved("c-04", "trip-7", 4, "c-03", path="trip/finish", kind="tombstone"),
]
FORK = [
    saved("f-01", "trip-7b", 1, "c-02", kind="fork", created=START + timedelta(hours=1)),
    saved("f-02", "trip-7b", 2, "f-01", created=START + timedelta(hours=2)),
]
REASONS = ("output of verify/check_price: stored Price, now Quote",)
VERDICTS = {
    "c-01": Verdict("resumable"),
    "c-02": Verdict("with warning"),
    "c-03": Verdict("not resumable", REASONS),
    "f-01": Verdict("resumable"),
}
STATE = checkpoint_state([*FORK, *LINE], verdicts=VERDICTS, store="SqliteCheckpoints, lesson.db")


def ids(infos: list[CheckpointInfo]) -> list[str]:
    """The order of the rows."""
    return [row.info.id for row in tree_rows(infos)]


def all_rows(infos: list[CheckpointInfo], **choice: Any) -> list[CheckpointRow | RunRow]:
    """The rows of all pages."""
    first = checkpoint_state(infos, choice=Choice(**choice))
    pages = range(1, first.pages.pages + 1)
    return [row for page in pages for row in checkpoint_state(infos, choice=Choice(page=page, **choice)).rows]


# ------------------------------------------------------------------------------------------- the tree


@settings(max_examples=150, deadline=None)
@given(forests())
def test_every_checkpoint_stands_in_the_tree_exactly_once(infos: list[CheckpointInfo]) -> None:
    """A checkpoint that is not shown cannot be resumed by anybody who looks."""
    assert sorted(ids(infos)) == sorted(info.id for info in infos)


@settings(max_examples=150, deadline=None)
@given(forests())
def test_a_parent_stands_above_its_children(infos: list[CheckpointInfo]) -> None:
    """The table is read from the top."""
    order = ids(infos)

    children = [info for info in infos if info.parent in order]
    assert [info.id for info in children if order.index(info.parent) > order.index(info.id)] == []  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(forests())
def test_the_order_does_not_depend_on_the_order_of_the_store(infos: list[CheckpointInfo]) -> None:
    """Two stores that hold the same show the same."""
    assert tree_rows(infos) == tree_rows(sorted(infos, key=lambda info: info.version))


@settings(max_examples=100, deadline=None)
@given(lines_of_sessions())
def test_a_fork_never_lies_on_the_lane_that_it_left(infos: list[CheckpointInfo]) -> None:
    """Two sessions on one line would look like one."""
    rows = tree_rows(infos)

    forks = [row for row in rows if row.fork and row.parent_row is not None]
    assert all(row.lane != rows[row.parent_row or 0].lane or row.lane == MOST_LANES - 1 for row in forks)


def test_a_fork_stands_right_under_its_parent_and_then_the_line_goes_on() -> None:
    """The place where two stories part is seen at once."""
    assert ids([*FORK, *reversed(LINE)]) == ["c-01", "c-02", "f-01", "f-02", "c-03", "c-04"]


def test_checkpoints_that_are_each_others_parents_are_shown_all_the_same() -> None:
    """A broken store must be looked at, so it must show."""
    circle = [saved("a", "p", 1, "b"), saved("b", "p", 2, "a"), saved("c", "p", 3, "c")]

    assert ids(circle) == ["c", "a", "b"]


def test_forks_that_do_not_stand_side_by_side_share_a_lane() -> None:
    """Twenty forks need no twenty lanes."""
    forks = [saved(f"f{number}", f"trip-{number}", 0, f"c-0{number}", kind="fork") for number in (1, 2, 3)]

    assert [row.lane for row in tree_rows([*LINE, *forks]) if row.fork] == [1, 1, 1]


# ------------------------------------------------------------------------------------------- the table


def rows_of(state: Any) -> dict[str, CheckpointRow]:
    """The rows by id."""
    return {row.id: row for row in state.rows if isinstance(row, CheckpointRow)}


def test_the_sentence_counts_the_verdicts() -> None:
    """What a reader wants first: how many can be resumed."""
    assert (
        STATE.sentence
        == "6 checkpoints: 2 resumable, 1 with warning, 1 not resumable, 1 ended, 1 not checked"
    )


def test_a_path_has_a_folder_and_a_node() -> None:
    """The node is what counts; where it is stands in grey before it."""
    row = rows_of(STATE)["c-03"]

    assert (row.folder, row.node) == ("trip/verify/", "check_price")


def test_a_parent_that_is_not_in_the_table_is_named_as_missing() -> None:
    """The table may show one session of several."""
    assert [row.parent_missing for row in checkpoint_state(FORK).rows] == [True, False]  # type: ignore[union-attr]


def test_reasons_and_left_out_keys_are_details() -> None:
    """A verdict without its reason helps nobody."""
    assert [(detail.ids, detail.reasons) for detail in STATE.details] == [
        (("c-02",), ("saved without 2 storage keys that cannot be encoded: browser, http_client",)),
        (("c-03",), REASONS),
    ]


def test_one_reason_for_many_is_said_once() -> None:
    """After a change of the code, a hundred rows have the same reason."""
    verdicts = {info.id: Verdict("not resumable", REASONS) for info in LINE[:3]}
    state = checkpoint_state([saved(info.id, "trip-7", info.version) for info in LINE[:3]], verdicts=verdicts)

    assert [detail.ids for detail in state.details] == [("c-01", "c-02", "c-03")]


def test_the_time_has_a_date_only_where_the_days_differ() -> None:
    """One date in the head is enough for one day."""
    later = saved("d", "trip-7", 9, created=START + timedelta(days=2))

    assert rows_of(STATE)["c-01"].time == "14:02:08.114"
    assert rows_of(checkpoint_state([LINE[0], later]))["d"].time == "2026-06-04 14:02:07"


def test_a_long_line_is_one_row_but_for_forks_and_the_end() -> None:
    """Four hundred rows of the same say less than one with a count."""
    infos = [*chain(400), saved("fork", "other", 0, "id-000200", kind="fork")]

    rows = checkpoint_state(infos).rows
    assert [row.count for row in rows if isinstance(row, RunRow)] == [200, 179]
    assert sum(row.count if isinstance(row, RunRow) else 1 for row in rows) == 401


@settings(max_examples=50, deadline=None)
@given(st.integers(61, 200), st.sets(st.integers(0, 199), max_size=60))
def test_the_lines_of_a_row_meet_those_of_the_next_over_all_pages(count: int, forks: set[int]) -> None:
    """Folding and paging must not tie a checkpoint to a stranger. [NBK-08]"""
    branches = [saved(f"f{at:06}", f"fork-{at}", 0, f"id-{at:06}", kind="fork") for at in forks if at < count]
    rows = all_rows([*chain(count), *branches])

    left = [{*row.passing, *(row.branches if isinstance(row, CheckpointRow) else ())} for row in rows]
    leaving = [lanes | ({row.lane} if row.down else set()) for lanes, row in zip(left, rows, strict=True)]
    entering = [{*row.passing, *([row.lane] if row.up else [])} for row in rows]
    assert [set(), *leaving] == [*entering, set()]


# ------------------------------------------------------------------------------------------- forms

TEXT = """\
Checkpoints  trip-7 trip-7b  SqliteCheckpoints, lesson.db
6 checkpoints: 2 resumable, 1 with warning, 1 not resumable, 1 ended, 1 not checked; 2026-06-02, UTC

  tree  id    time      after node              ver  msgs  tokens  new kB  parent  verdict
  --------------------------------------------------------------------------------------------------
  o     c-01  14:02:08  trip/prepare              1    14   1,664     9.8  -       resumable
  o-.   c-02  14:02:09  trip/ask_model            2    14   1,664     0.5  c-01    WITH WARNING (1)
  | o   f-01  15:02:07  trip/ask_model            1    14   1,664     0.5  c-02    resumable
  | o   f-02  16:02:07  trip/ask_model            2    14   1,664     0.5  f-01    not checked
  o     c-03  14:02:10  check_price               3    14   1,664     0.5  c-02    NOT RESUMABLE (2)
  T     c-04  14:02:11  trip/finish               4    14   1,664     0.5  c-03    ended

  o checkpoint   T ended   trip-7b is a fork of c-02

(1) c-02: with warning; saved by version v3
    - saved without 2 storage keys that cannot be encoded: browser, http_client

(2) c-03: not resumable; saved by version v3
    - output of verify/check_price: stored Price, now Quote"""


def test_the_text_is_the_table_with_its_tree() -> None:
    """All that the picture says, in a terminal."""
    assert checkpoint_text(STATE) == TEXT


@pytest.mark.parametrize(
    "infos",
    [
        [],
        LINE,
        chain(300),
        [saved(HOSTILE, HOSTILE, 1, HOSTILE, path=HOSTILE, left_out=(HOSTILE,))],
        [
            saved(
                "x" * 60,
                "s" * 90,
                1_000_000,
                "y" * 60,
                path="/".join("abcdefgh" * 9),
                tokens=10**9,
                bytes=10**12,
            )
        ],
        [saved(f"{number:064}", "s", number) for number in range(5)],
    ],
    ids=["empty", "line", "long", "hostile", "wide", "long ids"],
)
def test_the_text_is_ascii_of_at_most_100_columns(infos: list[CheckpointInfo]) -> None:
    """It must survive every terminal."""
    text = checkpoint_text(checkpoint_state(infos, store=HOSTILE))

    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 100


def test_hostile_text_is_text_in_both_forms() -> None:
    """Session ids and paths are a user's text, never markup."""
    state = checkpoint_state(
        [saved(HOSTILE, HOSTILE, 1, path=HOSTILE)], verdicts={HOSTILE: Verdict("resumable", (HOSTILE,))}
    )
    both = render(checkpoint_element(state)) + render_static(checkpoint_element(state))

    assert "<img src=x" not in both
    assert both.encode("utf-8")


def test_the_static_form_says_all_without_styles() -> None:
    """Words, numbers and reasons are in the text of the markup."""
    plain = re.sub(r"<[^>]+>", "", render_static(checkpoint_element(STATE)))

    missing = [
        word
        for word in (
            "not resumable (2)",
            "2 keys left out",
            "trip/verify/check_price",
            "9.8 kB",
            "ended",
            REASONS[0],
        )
        if word not in plain
    ]
    assert missing == []


def test_an_empty_store_says_how_the_first_checkpoint_is_made() -> None:
    """An empty table is no answer."""
    assert "after the first node of a run" in render_static(checkpoint_element(checkpoint_state([])))
