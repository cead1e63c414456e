from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_checkpoints import START, forests, saved

from koogbook.errors import ViewError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.filtering import FILTER_COLUMNS
from koogbook.notebook.views.checkpoint_view.judging import Verdict
from koogbook.notebook.views.checkpoint_view.table import CheckpointTable, Choice
from koogbook.notebook.views.checkpoint_view.tree import tree_rows

INFOS = [
    saved("c-01", "trip-7", 1, path="trip/prepare", tokens=100, bytes=9800),
    saved("c-02", "trip-7", 2, "c-01", path="trip/verify", tokens=1_000),
    saved("c-03", "trip-7", 3, "c-02", path="trip/verify/check_price", tokens=2_000),
    saved(
        "f-01", "Other trip", 0, "c-02", kind="fork", path="trip/verify", created=START + timedelta(days=1)
    ),
    saved("c-04", "trip-7", 4, "c-03", path="trip/finish", kind="tombstone", tokens=2_000),
]
VERDICTS = {
    "c-01": Verdict("resumable"),
    "c-02": Verdict("with warning", ("changed",)),
    "c-03": Verdict("not resumable", ("gone",)),
}


def table(infos: list[CheckpointInfo]) -> CheckpointTable:
    """A table of them, with the verdicts of above."""
    return CheckpointTable(tree_rows(infos), lambda info: VERDICTS.get(info.id))


def passed(text: str) -> list[str]:
    """The ids that pass a filter."""
    made = table(INFOS)
    return sorted(made.rows[place].info.id for place in made.passed(text))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", ["c-01", "c-02", "c-03", "c-04", "f-01"]),
        ("   ", ["c-01", "c-02", "c-03", "c-04", "f-01"]),
        ("c-0", ["c-01", "c-02", "c-03", "c-04"]),
        ("VERIFY", ["c-02", "c-03", "f-01"]),
        ("other", ["f-01"]),
        ("verify trip-7", ["c-02", "c-03"]),
        ("node:verify tokens>1000", ["c-03", "f-01"]),
        ("node:verify tokens>=1,000", ["c-02", "c-03", "f-01"]),
        ("node=trip/verify", ["c-02", "f-01"]),
        ("tokens<=100", ["c-01"]),
        ("tokens=2000 version<4", ["c-03"]),
        ("version:3", ["c-03"]),
        ("ver<1", ["f-01"]),
        ("new>5000", ["c-01"]),
        ('session:"other trip"', ["f-01"]),
        ('session="Other trip', ["f-01"]),
        ("kind:fork", ["f-01"]),
        ("parent:none", ["c-01"]),
        ("parent=c-02", ["c-03", "f-01"]),
        ("verdict:not", ["c-03", "f-01"]),
        ('verdict:"not resumable"', ["c-03"]),
        ("verdict:resumable", ["c-01"]),
        ("verdict:ended", ["c-04"]),
        ("verdict:WARN", ["c-02"]),
        ("time:2026-06-03", ["f-01"]),
        ("time>=2026-06-03", ["f-01"]),
        ("time<2026-06-02T14:02:09", ["c-01"]),
        ("time>14:02:10", ["c-03", "c-04"]),
        ("node:", ["c-01", "c-02", "c-03", "c-04", "f-01"]),
        ('"node:verify"', []),
    ],
)
def test_a_filter_shows_those_that_pass_all_of_it(text: str, ids: list[str]) -> None:
    """Words and conditions, as they are typed. [NBK-08]"""
    assert passed(text) == ids


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tokns>3", "no column 'tokns'. Did you mean 'tokens'?"),
        ("colour:red", '"colour:red"'),
        ("tokens>many", "takes a number, not 'many'"),
        ("tokens>", "Write, for example, tokens>1000"),
        ("node>3", "node is a text and has no '>'"),
        ("time>noon", "time>14:02"),
        ("verdict:maybe", "resumable, with warning, not resumable, ended, not checked"),
    ],
)
def test_a_filter_that_cannot_be_read_says_what_to_write(text: str, words: str) -> None:
    """One clear error, that the table is as it was, and what to do. [NBK-08]"""
    with pytest.raises(ViewError) as error:
        passed(f"trip {text}")

    assert words in str(error.value)
    assert "The table shows what it showed." in str(error.value)


_CONDITIONS = st.lists(
    st.one_of(
        st.sampled_from(
            ["q", "c1", "trip", "node:ask", "session=p", "verdict:not", "kind:node", "time>14:02:08"]
        ),
        st.builds(
            "{}{}{}".format,
            st.sampled_from(["version", "tokens", "messages", "new", "iterations"]),
            st.sampled_from(["<", "<=", ">", ">=", "=", ":"]),
            st.integers(0, 12),
        ),
    ),
    max_size=3,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(forests(), _CONDITIONS, st.sampled_from(["", "tokens", "session"]))
def test_those_that_pass_are_some_of_all_in_the_same_order(
    infos: list[CheckpointInfo], text: str, sort: str
) -> None:
    """A filter takes away, and does nothing else. [NBK-08]"""
    made = table(infos)
    every = list(made.sorted(Choice(sort=sort)))
    kept = list(made.sorted(Choice(sort=sort, filter=text)))

    assert kept == [place for place in every if place in set(kept)]


@settings(max_examples=100, deadline=None)
@given(forests(), st.integers(0, 12))
def test_a_condition_and_its_opposite_part_the_table(infos: list[CheckpointInfo], limit: int) -> None:
    """Nothing passes both, nothing is lost between them. [NBK-08]"""
    made = table(infos)
    low, high = made.passed(f"version<{limit}"), made.passed(f"version>={limit}")

    assert sorted([*low, *high]) == list(range(len(infos)))


@pytest.mark.parametrize("column", [name for name in FILTER_COLUMNS if name not in ("time", "verdict")])
def test_every_column_can_be_asked_for(column: str) -> None:
    """What the error lists is what there is. [NBK-08]"""
    assert isinstance(passed(f"{column}=1"), list)
