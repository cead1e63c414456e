from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

import pytest
from diff_stories import AFTER, BEFORE, FACTS, HISTORIES, LEDGER, NOON, SOURCES, call, said, talk
from hypothesis import given, settings
from msgspec.structs import replace

import koogbook as kb
from koogbook.compression.fact_check import check_facts
from koogbook.messages.message import Message, assistant, tool_result, user
from koogbook.messages.parts import Attachment, ToolCall
from koogbook.messages.word_diff import provenance
from koogbook.notebook.views.diff_view.layout import lay_out
from koogbook.notebook.views.diff_view.lines import curves
from koogbook.notebook.views.diff_view.model import (
    DiffState,
    FoldedRow,
    LeftOutRow,
    MessageRow,
    SentenceRow,
    SummaryRow,
)
from koogbook.notebook.views.diff_view.view import diff_element, diff_state, diff_state_of, diff_text
from koogbook.notebook.views.look.markup import render, render_static

STATE = diff_state(LEDGER, facts=FACTS, name="trip", selected=(3, 2))
HOSTILE = "</script><img src=x onerror=alert(1)> \"'& \u202e \x00 \ud83c"


def words(state: DiffState) -> dict[int, str]:
    """The word of each original that has a row of its own."""
    return {
        row.position: row.word for band in state.bands for row in band.left if isinstance(row, MessageRow)
    }


# ------------------------------------------------------------------------------------------- rows


def test_every_fate_has_its_word() -> None:
    """The reader sees kept, edited, dropped, memory, and the name of the summary."""
    assert words(STATE) == {
        0: "edited",
        1: "kept",
        2: "dropped",
        3: "dropped",
        4: "S1",
        5: "memory",
        6: "S1",
        7: "S1",
        8: "kept",
        9: "kept",
    }


@settings(max_examples=100, deadline=None)
@given(HISTORIES, HISTORIES)
def test_every_message_of_both_sides_is_in_exactly_one_row(
    before: list[Message], after: list[Message]
) -> None:
    """A row that is missing or stands twice is a lie about the prompt."""
    bands = diff_state_of(before, after).bands

    left = [place for band in bands for row in band.left for place in covered(row)]
    right = [place for band in bands for row in band.right for place in covered(row)]
    assert (sorted(left), right) == (list(range(len(before))), list(range(len(after))))


def covered(row: object) -> list[int]:
    """The positions that a row of messages stands for."""
    if isinstance(row, FoldedRow):
        return list(range(row.first, row.last + 1))
    return [row.position] if isinstance(row, MessageRow) else []


@settings(max_examples=100, deadline=None)
@given(HISTORIES, HISTORIES)
def test_both_sides_of_a_diff_are_equally_tall(before: list[Message], after: list[Message]) -> None:
    """Lines between the columns can meet rows only if both columns have the same lines."""
    layout = lay_out(diff_state_of(before, after))

    lines = {name: sum(placed.lines for placed in side.values()) for name, side in sides(layout)}
    assert lines == {"left": len(layout.heights), "right": len(layout.heights)}


def sides(layout: Any) -> list[tuple[str, dict[int, Any]]]:
    """Both columns by name."""
    return [("left", layout.left), ("right", layout.right)]


def test_a_kept_message_stands_at_one_height_on_both_sides() -> None:
    """What did not change is read straight across."""
    layout = lay_out(STATE)

    assert layout.before_y[8] == layout.after_y[4]


def test_a_dropped_run_faces_one_block_of_its_height_with_count_tokens_and_reason() -> None:
    """What was left out takes as much room as it had."""
    blocks = [row for band in STATE.bands for row in band.right if isinstance(row, LeftOutRow)]

    tokens = BEFORE[2].tokens + BEFORE[3].tokens
    assert blocks == [
        LeftOutRow(first=2, last=3, count=2, tokens=tokens, reasons=("older than the last 6",), rows=2)
    ]


def test_the_lines_go_from_each_source_to_its_sentence() -> None:
    """The picture is the provenance of the ledger, nothing else."""
    layout = lay_out(STATE)
    tops = list(accumulate(layout.heights, initial=0))

    drawn = {(curve.start, curve.end) for curve in curves(STATE, layout)}
    assert drawn == {
        (layout.before_y[4], layout.sentence_y[3, 1]),
        (layout.before_y[6], layout.after_y[3]),
        (layout.before_y[7], layout.sentence_y[3, 2]),
    }
    assert max(end for _, end in drawn) < tops[-1]


@pytest.mark.parametrize(
    ("selected", "lit_rows", "lit_sentences"),
    [((3, 1), [4], [1]), (7, [7], [2]), (None, [], []), (0, [0, 0], [])],
)
def test_a_selection_lights_a_sentence_with_its_sources_and_the_other_way_round(
    selected: Any, lit_rows: list[int], lit_sentences: list[int]
) -> None:
    """From a sentence to what it rests on, and from a message to what rests on it."""
    bands = diff_state(LEDGER, selected=selected).bands
    rows = [row for band in bands for row in (*band.left, *band.right)]

    assert [row.position for row in rows if isinstance(row, MessageRow) and row.lit] == lit_rows
    assert [row.number for row in rows if isinstance(row, SentenceRow) and row.lit] == lit_sentences


def test_an_edit_shows_the_words_that_went_and_came() -> None:
    """Each side shows its own words."""
    row, other = STATE.bands[0].left[0], STATE.bands[0].right[0]

    changed = [[span.text for span in side.spans if span.kind != "same"] for side in (row, other)]  # type: ignore[union-attr]
    assert changed == [["Tue 2"], ["Wed 3"]]


def test_an_unchanged_run_is_folded_but_for_the_end() -> None:
    """Where a conversation goes on is never folded away."""
    state = diff_state_of(talk(20), talk(20))

    rows = [band.left[0] for band in state.bands]
    assert [row.count if isinstance(row, FoldedRow) else row.position for row in rows] == [18, 18, 19]


def test_a_moved_message_says_so_on_both_sides() -> None:
    """It is found by its id and stands elsewhere."""
    history = talk(4)
    state = diff_state_of(history, [history[1], history[2], history[3], history[0]])

    moved = [
        row.position for band in state.bands for row in (*band.left, *band.right) if getattr(row, "moved", 0)
    ]
    assert moved == [0, 3]


def test_a_long_diff_leaves_out_the_middle_and_counts_it() -> None:
    """A saved cell stays small, and nobody takes the part for the whole."""
    history = talk(2000)
    state = diff_state_of(history, history[::2])

    shown = sum(len(band.left) for band in state.bands)
    assert shown + state.cut_messages == 2000
    assert f"{state.cut_messages:,} messages that are not in rows" in diff_text(state)
    assert len(render_static(diff_element(state))) < 250_000


# ------------------------------------------------------------------------------------------- proofs


def test_the_facts_say_where_they_are() -> None:
    """Verbatim, in a sentence of a summary, lost, or never there."""
    assert [(row.fact, row.word, row.where) for row in STATE.facts] == [
        ("peanut", "verbatim", "1 \u2192 1"),
        ("88 euro", "in S1, sentence 2", "7 \u2192 3"),
        ("14:05", "lost", "was in 3, dropped"),
        ("vegan", "never there", "in no message before"),
        (r"\d+ euro", "in S1, sentence 2", "7 \u2192 3"),
    ]


def test_the_checks_of_a_good_compression() -> None:
    """Pairs, tail, fates, size, facts."""
    assert [(check.state, check.text) for check in STATE.checks] == [
        ("ok", "pairs whole: 0 of 0 calls have a result; 0 orphan results"),
        ("note", "unfinished tail: call in 9, kept, no result yet"),
        ("ok", "10 of 10 messages have a fate"),
        (
            "ok",
            f"S1 is shorter than its sources ({AFTER[3].tokens} < {sum(BEFORE[i].tokens for i in SOURCES)})",
        ),
        ("bad", "1 fact lost: 14:05"),
    ]


def broken_pair() -> DiffState:
    """A result whose call was dropped."""
    return diff_state_of(BEFORE, [BEFORE[0], BEFORE[3]])


def long_summary() -> DiffState:
    """A summary that is longer than what it stands for."""
    longer = replace(LEDGER.new_messages[0], tokens=10_000)
    return diff_state(replace(LEDGER, new_messages=(longer,)))


def without_a_fate() -> DiffState:
    """A ledger that forgot a message."""
    return diff_state(replace(LEDGER, fates=(*LEDGER.fates[:7], *LEDGER.fates[8:])))


def refused() -> DiffState:
    """A compression whose result was longer and not taken."""
    return diff_state(
        replace(LEDGER, status="refused", before=AFTER, after=BEFORE, fates=(), new_messages=())
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (broken_pair, "pairs broken: 0 of 0 calls have a result; 1 orphan result"),
        (long_summary, "S1 is not shorter than its sources"),
        (without_a_fate, "9 of 10 messages have a fate; without: 7"),
        (refused, "refused: the result is not shorter"),
    ],
)
def test_what_does_not_hold_is_a_bad_check(make: Any, text: str) -> None:
    """A wrong result must not look like a good one."""
    assert [
        check.text for check in make().checks if check.state == "bad" and check.text.startswith(text)
    ] != []


def test_a_sentence_without_a_source_is_noted() -> None:
    """It may be invented."""
    invented = replace(LEDGER.new_messages[0], sentences=provenance("The moon is made of cheese.", []))
    state = diff_state(replace(LEDGER, new_messages=(invented,)))

    assert "no source found for 1 sentence: S1.1" in [check.text for check in state.checks]


# ------------------------------------------------------------------------------------------- forms


TEXT = """\
Prompt diff  trip  FromLastNMessages(6)
10 -> 6 messages, 138 -> 92 tokens (-33 %)   1 model call   840 ms   no price

  fate            messages    tokens
  kept                   3        41
  edited                 1        19
  memory                 1        18
  into S1                3        36  -> 24
  dropped                2        42  -> 0
"""


def test_the_text_begins_with_what_happened() -> None:
    """Status sentence, cost, totals."""
    numbers = re.compile(r"\d+")

    assert numbers.sub("N", diff_text(STATE)[: len(TEXT)]).split() == numbers.sub("N", TEXT).split()


def test_a_history_that_did_not_change_says_so() -> None:
    """No arrows from a number to itself."""
    assert (
        diff_text(diff_state_of(BEFORE, BEFORE)).split("\n")[1].startswith("Nothing changed: 10 messages, ")
    )


def test_the_text_shows_the_rows_with_marks() -> None:
    """Marks of fates, the pair, the edit, the selection and the sources."""
    text = diff_text(STATE)

    assert "[-Tue 2-]{+Wed 3+}" in text
    assert re.search(r"^  -   2  call     dropped .*\\ pair  -$", text, re.M)
    assert re.search(r"^> s   7  assist\.  S1 .*S1\.2$", text, re.M)
    assert re.search(r"A hold on two seats runs until noon\. +from 4, verbatim$", text, re.M)
    assert re.search(r"^ +why: older than the last 6$", text, re.M)


@pytest.mark.parametrize(
    "state",
    [
        STATE,
        diff_state_of([], []),
        diff_state_of(talk(300), talk(600)[::3]),
        diff_state_of(
            [said("user", HOSTILE, "k")], [said("user", HOSTILE * 9, "k")], name=HOSTILE, facts=[HOSTILE]
        ),
        diff_state_of([said("user", "你好" * 300, "k")], [said("user", "你们" * 300, "k")]),
    ],
    ids=["story", "empty", "long", "hostile", "chinese"],
)
def test_the_text_is_ascii_of_at_most_100_columns(state: DiffState) -> None:
    """It must survive every terminal."""
    text = diff_text(state)

    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 100


def test_hostile_text_is_text_in_both_forms() -> None:
    """What a model or a tool wrote is never markup, and never stops a page from being written."""
    before = [said("user", HOSTILE, "k"), said("user", "x", "l")]
    element = diff_element(diff_state_of(before, [before[0].with_text(HOSTILE + " y")], name=HOSTILE))

    assert "<img src=x" not in render(element)
    assert "<img src=x" not in render_static(element)
    assert (render(element) + render_static(element)).encode("utf-8")


def test_the_same_ledger_gives_the_same_bytes() -> None:
    """A saved notebook does not change when nothing did."""
    again = diff_state(LEDGER, facts=check_facts(LEDGER, ["peanut"]), name="trip")

    assert render_static(diff_element(again)) == render_static(
        diff_element(diff_state(LEDGER, facts=check_facts(LEDGER, ["peanut"]), name="trip"))
    )


def test_the_static_form_says_all_without_styles() -> None:
    """Words, numbers, fates and reasons are in the text of the markup, not only in its look."""
    plain = re.sub(r"<[^>]+>", " ", render_static(diff_element(STATE)))

    missing = [
        word
        for word in (
            "2 messages left out",
            "older than the last 6",
            "S1",
            "from 4 verbatim",
            "dropped",
            "memory",
            "lost",
        )
        if word not in plain
    ]
    assert missing == []


def test_every_message_can_be_read_in_full() -> None:
    """A row is a preview; the whole text is on the page."""
    text = "word " * 200 + "the very end"
    html = render_static(diff_element(diff_state_of([said("user", text, "k")], [])))

    assert "the very end" in html


def test_a_very_long_message_is_cut_and_says_how_much_is_missing() -> None:
    """Nothing lost is hidden."""
    state = diff_state_of([said("user", "x" * 5000, "k")], [])

    assert "1,000 characters left out" in render_static(diff_element(state))


@pytest.mark.parametrize(
    ("message", "preview"),
    [
        (call("find_trains", "t"), 'find_trains(near="river")'),
        (assistant(calls=[ToolCall("f", "not json", "c")], id="m", time=NOON), "f(not json)"),
        (tool_result("c", "no such train", is_error=True, id="m", time=NOON), "[error] no such train"),
        (user([Attachment("image", "image/png", url="a.png")], id="m", time=NOON), "[image/png, a.png]"),
        (user("", id="m", time=NOON), "(empty)"),
        (user("one\n  two", id="m", time=NOON), "one two"),
    ],
)
def test_a_preview_says_what_a_message_holds(message: Message, preview: str) -> None:
    """Calls, errors, attachments and nothing at all have words, too."""
    assert diff_state_of([message], []).bands[0].left[0].text == preview  # type: ignore[union-attr]


async def test_the_summary_of_a_conversation_of_usual_length_is_never_left_out() -> None:
    """Sixty messages are shown whole: the summary is what one looks for."""
    history = [kb.user(f"Question {number} about museum {number}.") for number in range(60)]
    script = kb.ScriptedExecutor(["Museum 1 is open. Museum 2 is closed."])
    done = await kb.compress(history, kb.WholeHistory(), executor=script)
    state = diff_state(done.ledger)

    assert state.cut_at is None
    assert any(isinstance(row, SummaryRow) for band in state.bands for row in band.right)
