"""The wire form is a promise: what was written once is read as it was, and written as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_events import golden_events, kinds

import koogbook as kb
from koogbook import trace
from koogbook.agents.traced_run import load_run
from koogbook.errors import TraceError, ViewError
from koogbook.events import Event, LLMCallStarting
from koogbook.trace.values import _KEPT

GOLDEN = Path(__file__).parent.parent / "golden"
NOW, BEFORE = GOLDEN / "trace_v2.jsonl", GOLDEN / "trace_v1.jsonl"


def test_the_golden_file_has_an_event_of_every_kind() -> None:
    """A new kind is not forgotten: tests/golden_events.py makes one of it. [AGT-03]"""
    assert {type(event) for event in kb.load_trace(NOW)} == set(kinds())


def test_the_golden_file_is_read_as_the_events() -> None:
    """Equal in every field. [AGT-03]"""
    assert list(kb.load_trace(NOW)) == golden_events()


def test_the_events_are_written_as_the_golden_file(tmp_path: Path) -> None:
    """Byte for byte. [AGT-03]"""
    assert kb.save_trace(golden_events(), tmp_path / "run.jsonl").read_bytes() == NOW.read_bytes()


def test_a_trace_of_version_1_is_read() -> None:
    """It held messages in full, and no requests. [AGT-03]"""
    events = kb.load_trace(BEFORE)
    calls = [event for event in events if isinstance(event, LLMCallStarting)]

    assert (len(events), len(calls), calls[0].request) == (33, 2, None)
    assert kb.diff(events).ledger.before[0].text == "Be brief."


def test_a_trace_of_version_1_says_what_it_does_not_hold() -> None:
    """Instead of an empty view, with what helps. [AGT-03]"""
    with pytest.raises(
        ViewError, match=r"request 1 of run e3e7.* no trace of version 1\. Save .* Nothing is shown"
    ):
        kb.prompt(BEFORE)
    with pytest.raises(ViewError, match=r"The graph of run e3e7.* kb\.graph\(strategy, path\)"):
        kb.graph(BEFORE)
    with pytest.raises(TraceError, match=r"The graph .* as it is in none of version 1\."):
        _ = load_run(BEFORE).strategy.shape


def test_the_locks_of_a_trace_of_version_1_are_shown() -> None:
    """They need no request. [AGT-03]"""
    assert kb.locks(BEFORE).state.total == 2


def test_every_word_of_a_kept_value_is_documented() -> None:
    """The wire form stands in the documentation of the module. [AGT-03]"""
    documented = trace.__doc__ or ""
    parts = {"Text", "Reasoning", "ToolCall", "ToolResult", "Attachment", "Foreign"}
    of_graphs = {"NodeShape", "EdgeShape", "FindingShape"}

    assert [word for word in _KEPT if word not in documented and word not in parts | of_graphs] == []


def test_every_base_field_is_on_every_line() -> None:
    """Run and session stand on each. [AGT-03a]"""
    for event in golden_events():
        assert (event.run_id, event.session_id) == ("9f0c", "chat-1")
        assert set(Event.__struct_fields__) <= set(type(event).__struct_fields__)
