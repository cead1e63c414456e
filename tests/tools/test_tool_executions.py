"""The tool executions of a run are read from its events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from koogbook.events import (
    Event,
    NodeStarting,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallStarting,
    ToolValidationFailed,
)
from koogbook.tools.journal import ToolExecution, tool_executions

_COMMON: dict[str, Any] = {
    "run_id": "r",
    "session_id": "s",
    "path": "trip/ask",
    "tool": "look",
    "call_id": "c",
}


def starting(number: int = 1, args: str = "{}", **fields: Any) -> ToolCallStarting:
    """A call begins."""
    return ToolCallStarting(**{**_COMMON, "number": number, "args": args, **fields})


def completed(number: int = 1, output: str = "done", **fields: Any) -> ToolCallCompleted:
    """A call ends well."""
    return ToolCallCompleted(**{**_COMMON, "number": number, "output": output, "seconds": 2.0, **fields})


def failed(number: int = 1, **fields: Any) -> ToolCallFailed:
    """A call fails."""
    return ToolCallFailed(**{**_COMMON, "number": number, "error": "no", "seconds": 2.0, **fields})


def refused(number: int = 1, **fields: Any) -> ToolValidationFailed:
    """A call is refused."""
    return ToolValidationFailed(**{**_COMMON, "number": number, "error": "no", **fields})


def test_an_execution_has_everything_that_the_events_tell() -> None:
    """Where, what, when and how it ended [AGT-05]."""
    found = tool_executions([starting(1, '{"x":1}', time=1_000.5), completed(1, "done")])

    assert found == (
        ToolExecution(
            number=1,
            session_id="s",
            run_id="r",
            path="trip/ask",
            call_id="c",
            tool="look",
            args='{"x":1}',
            status="succeeded",
            output="done",
            error="",
            started=datetime.fromtimestamp(1_000.5, UTC),
            seconds=2.0,
        ),
    )


@pytest.mark.parametrize(
    ("ends", "status", "error", "seconds"),
    [
        ([], "started", "", None),
        ([completed()], "succeeded", "", 2.0),
        ([failed()], "failed", "no", 2.0),
        ([failed(cancelled=True)], "cancelled", "no", 2.0),
        ([refused(at=5.0)], "failed", "no", 4.0),
    ],
    ids=["open", "completed", "failed", "cancelled", "refused by the tool"],
)
def test_the_end_says_the_status(ends: list[Event], status: str, error: str, seconds: float | None) -> None:
    """One that has no end is still open [AGT-05]."""
    (found,) = tool_executions([starting(at=1.0), *ends])

    assert (found.status, found.error, found.seconds) == (status, error, seconds)


def test_a_refused_call_is_a_failed_one() -> None:
    """It has no beginning: no tool ran [AGT-05]."""
    (found,) = tool_executions([refused(3)])

    assert (found.number, found.status, found.error, found.seconds) == (3, "failed", "no", 0.0)


def test_calls_that_overlap_are_told_apart_by_their_numbers() -> None:
    """Not by their ids, which are the same here [AGT-05, KB-019]."""
    found = tool_executions(
        [
            starting(1, "a"),
            starting(2, "b"),
            failed(2),
            starting(3, "c"),
            completed(3, "C"),
            completed(1, "A"),
        ]
    )

    assert [(one.number, one.args, one.status, one.output) for one in found] == [
        (1, "a", "succeeded", "A"),
        (2, "b", "failed", ""),
        (3, "c", "succeeded", "C"),
    ]


def test_events_without_numbers_are_paired_in_order() -> None:
    """By run, place, id and tool [AGT-05, KB-019]."""
    found = tool_executions(
        [
            starting(0, "a"),
            starting(0, "b", call_id=None),
            starting(0, "c"),
            completed(0, "B", call_id=None),
            completed(0, "A"),
            completed(0, "C"),
        ]
    )

    assert [(one.args, one.output) for one in found] == [("a", "A"), ("b", "B"), ("c", "C")]
    assert [one.number for one in found] == [1, 2, 3]


def test_runs_do_not_mix() -> None:
    """Each counts from 1 [AGT-03]."""
    found = tool_executions([starting(1, "a"), starting(1, "b", run_id="q"), completed(1, "B", run_id="q")])

    assert [(one.run_id, one.status) for one in found] == [("r", "started"), ("q", "succeeded")]


def test_other_events_are_passed_over() -> None:
    """A run has many [AGT-05]."""
    assert tool_executions([NodeStarting(visit=1, iteration=1)]) == ()
