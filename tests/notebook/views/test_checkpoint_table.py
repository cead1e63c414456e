from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_checkpoints import chain, forests, lines_of_sessions, saved

from koogbook.errors import ViewError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.filtering import SORT_COLUMNS, sort_column
from koogbook.notebook.views.checkpoint_view.state import CheckpointRow, RunRow, checkpoint_state
from koogbook.notebook.views.checkpoint_view.table import (
    MOST_ROWS,
    PAGE,
    CheckpointTable,
    Choice,
    checkpoint_key,
)
from koogbook.notebook.views.checkpoint_view.tree import tree_rows


def table(infos: list[CheckpointInfo]) -> CheckpointTable:
    """A table of them without verdicts."""
    return CheckpointTable(tree_rows(infos), lambda info: None)


def all_pages(infos: list[CheckpointInfo], **choice: Any) -> list[list[int]]:
    """The places on each page, in their order; a straight run has those of all in it."""
    made = table(infos)
    pages = range(1, made.pages(Choice(**choice)) + 1)
    return [[place for span in made.page(Choice(page=page, **choice))[1] for place in span] for page in pages]


# ------------------------------------------------------------------------------------------- sorting


@settings(max_examples=200, deadline=None)
@given(forests(), st.sampled_from(sorted(SORT_COLUMNS)), st.booleans())
def test_a_sorted_table_is_sorted_and_those_that_are_alike_stay_in_tree_order(
    infos: list[CheckpointInfo], column: str, descending: bool
) -> None:
    """Sorting by two columns, one after the other, is possible only so. [NBK-08]"""
    made = table(infos)
    order = list(made.sorted(Choice(sort=column, descending=descending)))

    keys = [SORT_COLUMNS[column](made.rows[place].info) for place in order]
    pairs = list(zip(keys, keys[1:], order, order[1:], strict=False))
    assert sorted(order) == list(range(len(infos)))
    assert all(
        (one >= other if descending else one <= other) and (one != other or first < second)
        for one, other, first, second in pairs
    )


def test_verdicts_are_sorted_by_what_they_mean() -> None:
    """Those that can be resumed come first, not those that begin with an early letter. [NBK-08]"""
    infos = [saved("c-01", "s", 1, kind="tombstone"), saved("c-02", "s", 2)]
    state = checkpoint_state(infos, choice=Choice(sort="verdict", descending=True))

    assert [row.word for row in state.rows] == ["not checked", "ended"]


@pytest.mark.parametrize(
    ("given_name", "column"), [("ver", "version"), ("bytes", "new"), ("tokens", "tokens")]
)
def test_a_column_is_found_by_the_word_in_its_head(given_name: str, column: str) -> None:
    """What can be read can be written. [NBK-08]"""
    assert sort_column(given_name) == column


def test_a_column_that_is_not_there_is_an_error_with_the_nearest_name() -> None:
    """A slip of the finger has one clear answer. [NBK-08]"""
    with pytest.raises(ViewError, match=r"cannot be sorted by 'toknes'. Did you mean 'tokens'\?"):
        sort_column("toknes")


# ------------------------------------------------------------------------------------------- pages


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 260),
    st.sets(st.integers(0, 259), max_size=90),
    st.sampled_from(["", "tokens", "session", "time"]),
    st.sampled_from(["", "long", "version>7"]),
)
def test_the_pages_one_after_the_other_are_the_whole_table(
    count: int, forks: set[int], sort: str, text: str
) -> None:
    """No checkpoint is between two pages, and none on two of them. [NBK-08]"""
    branches = [saved(f"f{at:06}", f"fork-{at}", 0, f"id-{at:06}", kind="fork") for at in forks if at < count]
    infos = [*chain(count), *branches]
    pages = all_pages(infos, sort=sort, filter=text)

    assert [place for page in pages for place in page] == list(
        table(infos).sorted(Choice(sort=sort, filter=text))
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.sampled_from(["", "tokens"]))
def test_a_page_is_full_unless_it_is_the_last(count: int, sort: str) -> None:
    """Up to sixty rows are one page, beyond it has fifty. [NBK-08]"""
    infos = [saved(f"id-{number:06}", f"session-{number}", 0) for number in range(count)]
    sizes = [len(page) for page in all_pages(infos, sort=sort)]

    assert all(size == PAGE for size in sizes[:-1])
    assert sizes == [count] if count <= MOST_ROWS else sizes[-1] <= PAGE


@settings(max_examples=60, deadline=None)
@given(lines_of_sessions(), st.data())
def test_the_parent_of_a_row_in_tree_order_is_on_an_earlier_row(
    infos: list[CheckpointInfo], data: st.DataObject
) -> None:
    """Also where runs are folded and some are opened. [NBK-08]"""
    more = [*infos, *chain(90)]
    opened = frozenset(data.draw(st.sets(st.sampled_from([checkpoint_key(info) for info in more]))))
    made = table(more)
    row_of = {place: at for at, span in enumerate(made.spans(Choice(opened=opened))) for place in span}

    parents = [(place, made.rows[place].parent_row) for place in row_of]
    assert all(parent is None or row_of[parent] <= row_of[place] for place, parent in parents)


def test_a_page_that_is_too_far_is_the_last_one() -> None:
    """After a filter there may be fewer pages than before. [NBK-08]"""
    infos = [saved(f"id-{number:06}", f"session-{number}", 0) for number in range(120)]

    pages = checkpoint_state(infos, choice=Choice(page=99)).pages
    assert (pages.first, pages.last, pages.rows, pages.number, pages.pages) == (101, 120, 120, 3, 3)


def test_a_run_that_is_opened_has_a_row_for_each_of_its_checkpoints() -> None:
    """What is folded can be looked at. [NBK-08]"""
    infos = chain(100)
    opened = checkpoint_state(infos, choice=Choice(opened=frozenset({checkpoint_key(infos[0])}))).pages

    assert len(checkpoint_state(infos).rows) == 21
    assert (opened.rows, opened.pages) == (100, 2)


def test_a_run_names_its_ends_and_what_it_adds_to_the_store() -> None:
    """One row for all of it, and nothing lost. [NBK-08]"""
    run = checkpoint_state(chain(100)).rows[0]

    assert isinstance(run, RunRow)
    assert (run.first, run.last, run.count, run.bytes) == ("id-000000", "id-000079", 80, 80 * 512)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.data(), st.sampled_from(["", "tokens", "time"]))
def test_every_checkpoint_has_a_page_on_which_it_has_a_row_of_its_own(
    count: int, data: st.DataObject, sort: str
) -> None:
    """It is what is shown when it is selected by its id. [NBK-08]"""
    made = table(chain(count))
    place = data.draw(st.integers(0, count - 1))

    choice = made.choice_of(Choice(sort=sort), place)
    assert choice is not None
    assert range(place, place + 1) in made.page(choice)[1]


def test_a_checkpoint_that_the_filter_hides_has_no_page() -> None:
    """The filter stays what somebody typed. [NBK-08]"""
    assert table(chain(5)).choice_of(Choice(filter="version>3"), 0) is None


# ------------------------------------------------------------------------------------------- many


def test_a_line_with_twenty_thousand_forks_is_put_into_lanes() -> None:
    """The work grows with the checkpoints, not with their square. [NBK-08]"""
    forks = [saved(f"f{at}", f"fork-{at}", 0, "root", kind="fork") for at in range(20_000)]
    rows = tree_rows([saved("root", "main", 0), *forks, saved("last", "main", 1, "root")])

    assert rows[0].branches == (1, 2, 3)
    assert rows[10_000].passing == (0, 3)
    assert (rows[-1].lane, rows[-1].parent_row, rows[-1].passing) == (0, 0, ())


def test_a_filter_or_an_order_leaves_the_tree_away() -> None:
    """Its lines would join strangers. [NBK-08]"""
    infos = chain(5)
    trees = [
        checkpoint_state(infos, choice=choice).is_tree
        for choice in (Choice(), Choice(sort="tokens"), Choice(filter="long"), Choice(filter=" "))
    ]

    assert trees == [True, False, False, True]


@settings(max_examples=100, deadline=None)
@given(forests())
def test_the_lines_of_a_row_meet_those_of_the_next_in_any_forest(infos: list[CheckpointInfo]) -> None:
    """A line that leaves one row and does not come to the next would end in nothing. [NBK-08]"""
    rows = [row for row in checkpoint_state(infos).rows if isinstance(row, CheckpointRow)]

    leaving = [{*row.passing, *row.branches, *([row.lane] if row.down else [])} for row in rows]
    entering = [{*row.passing, *([row.lane] if row.up else [])} for row in rows]
    assert [set(), *leaving] == [*entering, set()]
