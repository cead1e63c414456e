"""What the view of a run says while it goes on and when it is over, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from koogbook.agents.run import Run
from koogbook.agents.run import RunState as RunWord
from koogbook.events import (
    CheckpointSaved,
    CompressionCompleted,
    Event,
    LLMStreamingCompleted,
    LLMStreamingFailed,
    LLMStreamingFrame,
)
from koogbook.llm.usage import usage_of_all
from koogbook.notebook.views.graph_view.model import GraphState
from koogbook.notebook.views.graph_view.state import graph_state
from koogbook.notebook.views.lock_view.state import LockState, lock_state, with_selection
from koogbook.notebook.views.look.measure import cut_end, thousands

_PREVIEW = 1_200


class RunState(Struct, frozen=True, kw_only=True):
    """A run: figures as (word, number), its graph and its locks, what needs a look, and how it ended.

    ``output`` and ``error`` are texts, cut where they are long; ``left_out`` is how many characters of the output.
    ``writing`` is the end of the answers that are coming in frames.
    """

    session: str
    figures: tuple[tuple[str, str], ...]
    graph: GraphState
    locks: LockState
    attention: tuple[str, ...]
    state: RunWord
    output: str = ""
    left_out: int = 0
    error: str = ""
    writing: str = ""


def run_state(
    run: Run,
    *,
    max_iterations: int,
    now: float | None = None,
    selected: str | None = None,
    session: int | None = None,
) -> RunState:
    """The state of a run so far.

    Args:
        run: The run.
        max_iterations: How many node runs it may have.
        now: The time on the monotonic clock, while it goes on.
        selected: The path of a node to show in detail.
        session: The number of a session to show in detail.
    """
    events = run.events
    shape = run.strategy.shape
    known = selected if any(node.path == selected for node in shape.nodes) else None
    output = "" if run.output is None else _text(run.output)
    return RunState(
        session=run.session_id,
        figures=_figures(run, events, max_iterations),
        graph=graph_state(shape, events, selected=known, now=now),
        locks=with_selection(lock_state(events, now=now), session),
        attention=run.report().attention,
        state=run.state,
        output=cut_end(output, _PREVIEW),
        left_out=max(len(output) - _PREVIEW, 0),
        error=""
        if run.error is None or run.state == "cancelled"
        else f"{type(run.error).__name__}: {cut_end(str(run.error), _PREVIEW)}",
        writing=_writing(events) if run.state == "running" else "",
    )


def _writing(events: Sequence[Event]) -> str:
    """The text of the streamed answers that are not whole yet, its end where it is long."""
    open_answers: dict[int, list[str]] = {}
    for event in events:
        match event:
            case LLMStreamingFrame(call=call, kind="text", text=text):
                open_answers.setdefault(call, []).append(text)
            case LLMStreamingCompleted(call=call) | LLMStreamingFailed(call=call):
                open_answers.pop(call, None)
    written = "\n\n".join("".join(texts) for texts in open_answers.values())
    return written if len(written) <= _PREVIEW else f"... {written[-_PREVIEW:]}"


def _figures(run: Run, events: Sequence[Event], max_iterations: int) -> tuple[tuple[str, str], ...]:
    spent = usage_of_all(run.calls)  # as the report has it
    checkpoints = saved = 0
    for event in events:
        match event:
            case CheckpointSaved():
                checkpoints += 1
            case CompressionCompleted(ledger=ledger) if ledger.status == "applied":
                saved += ledger.tokens_before - ledger.tokens_after
    return (
        ("iteration", f"{run.iterations} of {max_iterations}"),
        ("messages", thousands(len(run.prompt))),
        ("prompt tokens", thousands(run.prompt.tokens)),
        ("compressed by", thousands(saved)),
        ("model calls", thousands(spent.calls)),
        ("tokens in", thousands(spent.input_tokens)),
        ("tokens out", thousands(spent.output_tokens)),
        ("checkpoints", thousands(checkpoints)),
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return repr(value)
    except Exception as problem:
        return f"<{type(value).__name__} without a repr: {type(problem).__name__}>"
