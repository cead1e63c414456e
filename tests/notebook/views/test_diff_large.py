"""Messages of many megabytes in a prompt diff, and what a summary says of its sources."""

from __future__ import annotations

import json
from typing import Any

import pytest
from diff_stories import LEDGER, NOON, SOURCES, said
from msgspec.structs import replace

import koogbook as kb
from koogbook.clock import monotonic
from koogbook.messages.ledger import MessageFate
from koogbook.messages.message import Message, assistant, tool_result
from koogbook.messages.parts import ToolCall
from koogbook.messages.word_diff import WordSpan, provenance
from koogbook.notebook.views.diff_view.diff import DiffView
from koogbook.notebook.views.diff_view.model import SentenceRow, SummaryRow
from koogbook.notebook.views.diff_view.spans import both_sides, changed_words
from koogbook.notebook.views.look.markup import live_tree

WORDS = " ".join(f"word{number}" for number in range(700_000))
CALL = ToolCall("find", json.dumps({"near": "river " * 900_000}), "c")


def large_edit() -> DiffView:
    """The last word of 20 MB was changed."""
    text = (WORDS * 4)[:20_000_000]
    before = [said("user", text, "k"), said("assistant", "Done.", "l")]
    return kb.diff(before, [before[0].with_text(f"{text[:-9]} harbour"), before[1]], must_keep=["harbour"])


def large_results() -> DiffView:
    """A call with 5 MB of arguments and a result of 5 MB were dropped."""
    before = [
        said("user", "Where?", "k"),
        assistant(calls=[CALL], id="a", time=NOON),
        tool_result(CALL, WORDS[:5_000_000], id="r", time=NOON),
        said("user", "And now?", "l"),
    ]
    return kb.diff(before, [before[0], before[3]], must_keep=["word600000"])


@pytest.mark.parametrize("make", [large_edit, large_results])
def test_a_diff_of_very_large_messages_is_small_and_fast(make: Any) -> None:
    """Only what is shown is worked on, once tokens are counted. [NBK-07]"""
    view = make()
    _ = (view.ledger.tokens_before, view.ledger.tokens_after)
    started = monotonic()
    view.act("select", "before:0")
    size = len(json.dumps(live_tree(view.live_element(view.element))))

    assert size < 100_000
    assert monotonic() - started < 3


def test_a_very_large_message_says_how_much_is_left_out_and_how_to_see_it() -> None:
    """Nothing is cut silently. [NBK-07]"""
    view = large_results()
    view.act("select", "before:2")

    assert "4,996,000 characters left out; all of it: .selected.message.text of this view" in view.to_html()


def test_a_change_at_the_end_of_a_very_long_text_is_found() -> None:
    """Words are compared where the texts differ, not at their beginning. [NBK-07]"""
    row = large_edit().state.bands[0].right[0]

    assert [span.text for span in row.spans if span.kind == "added"] == ["harbour"]  # type: ignore[union-attr]


@pytest.mark.parametrize("lead", [0, 10, 300, 30_000])
def test_the_words_around_a_change_say_when_more_stands_before_them(lead: int) -> None:
    """Dots stand for what is left out. [NBK-07]"""
    text = "quiet " * lead
    before, after = said("user", f"{text}hotel", "k"), said("user", f"{text}museum", "k")
    shown = changed_words(before, after, "after")

    assert shown[-1] == WordSpan("added", "museum")
    assert shown[0].text.startswith("\u2026") is (lead > 9)


def test_both_sides_of_a_long_edit_are_cut_with_dots() -> None:
    """The panel shows the change with about so many characters. [NBK-07]"""
    before, after = said("user", "a " * 900 + "b " * 900, "k"), said("user", "a " * 900 + "c " * 900, "k")
    shown = both_sides(before, after, 300)

    assert (shown[0].text, shown[-1].text) == ("\u2026 ", " \u2026")
    assert sum(len(span.text) for span in shown) < 320


def test_a_summary_without_a_full_stop_is_cut_in_its_row() -> None:
    """A sentence of megabytes is a preview there, and whole in the object. [NBK-07]"""
    text = "word " * 200_000
    made = replace(LEDGER.new_messages[0], sentences=provenance(text, []))
    view = kb.diff(replace(LEDGER, new_messages=(made,)), selected="S1.1")
    sentences = [row for band in view.state.bands for row in band.right if isinstance(row, SentenceRow)]

    assert max(len(row.text) for row in sentences) == 1_000
    assert view.selected is not None
    assert view.selected.sentence.startswith("word word")
    assert "left out; all of it: .selected.sentence of this view" in view.to_html()


# ------------------------------------------------------------------------------------------- sources


def test_a_summary_row_agrees_with_the_totals() -> None:
    """A source that was kept as well is no message that went into the summary, and is told apart. [NBK-07]"""
    made = replace(LEDGER.new_messages[0], sources=(1, *SOURCES, 5))
    view = kb.diff(replace(LEDGER, new_messages=(made,)))
    row = next(row for band in view.state.bands for row in band.right if isinstance(row, SummaryRow))
    total = next(total for total in view.state.totals if total.fate == "summarised")

    assert (total.word, total.messages) == ("into S1", 3)
    assert dict(row.fates) == {"summarised": 3, "kept": 1, "memory": 1}
    assert "from 3 messages and 1 kept and 1 memory" in view.to_html()
    assert "S1: 3 messages and 1 kept and 1 memory, " in str(view)


def test_a_summary_of_kept_messages_alone_says_so() -> None:
    """It took nothing away. [NBK-07]"""
    made = replace(LEDGER.new_messages[0], sources=(1,))

    assert "S1: 1 kept, " in str(kb.diff(replace(LEDGER, new_messages=(made,))))


def test_a_summary_whose_sources_have_no_fate_still_counts_them() -> None:
    """A ledger may be incomplete, and then says so elsewhere. [NBK-07]"""
    fates = tuple(one for one in LEDGER.fates if one.position not in SOURCES)
    view = kb.diff(replace(LEDGER, fates=fates))

    assert "S1: 3 dropped, " in str(view)
    assert MessageFate(4, "summarised", 0) not in view.ledger.fates


def history(text: str) -> list[Message]:
    """One message."""
    return [said("user", text, "k")]


def test_words_of_wide_signs_are_shown_by_their_width() -> None:
    """Half as many fill the same room. [NBK-07]"""
    shown = changed_words(history("河" * 400)[0], history("酒" * 400)[0], "after")

    assert sum(len(span.text) for span in shown if span.kind == "added") == 45
