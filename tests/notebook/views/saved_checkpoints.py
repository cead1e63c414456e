"""Checkpoints as a store lists them, without a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from koogbook.features.persistence.checkpoint import CheckpointInfo

#: When the first one was saved.
START = datetime(2026, 6, 2, 14, 2, 7, 114_000, tzinfo=UTC)


def saved(id: str, session: str, version: int, parent: str | None = None, **fields: Any) -> CheckpointInfo:
    """A checkpoint, by default after a node and a second after the one before."""
    given: dict[str, Any] = {
        "kind": "node",
        "created": START + timedelta(seconds=version),
        "agent_id": "guide",
        "path": "trip/ask_model",
        "messages": 14,
        "tokens": 1664,
        "iterations": version,
        "fingerprint": "f",
        "strategy_version": "v3",
        "bytes": 512,
    }
    return CheckpointInfo(id=id, session_id=session, version=version, parent=parent, **{**given, **fields})


def chain(count: int, **fields: Any) -> list[CheckpointInfo]:
    """A session without forks."""
    return [
        saved(f"id-{number:06}", "long", number, f"id-{number - 1:06}" if number else None, **fields)
        for number in range(count)
    ]


@st.composite
def forests(draw: st.DrawFn) -> list[CheckpointInfo]:
    """Checkpoints in any order whose parents are earlier ones, missing ones, or none."""
    count = draw(st.integers(0, 12))
    infos = [
        saved(
            f"c{number}",
            draw(st.sampled_from("pqrs")),
            number,
            draw(st.sampled_from([None, "gone", *(f"c{earlier}" for earlier in range(number))])),
            created=START + timedelta(seconds=draw(st.integers(0, 3))),
        )
        for number in range(count)
    ]
    return draw(st.permutations(infos))


@st.composite
def lines_of_sessions(draw: st.DrawFn) -> list[CheckpointInfo]:
    """Sessions as runs make them: each a line, whose first checkpoint may be forked from an earlier one."""
    newest: dict[str, str] = {}
    infos: list[CheckpointInfo] = []
    for number in range(draw(st.integers(0, 12))):
        session = draw(st.sampled_from("pqrs"))
        first = draw(st.sampled_from([None, *(info.id for info in infos)]))
        infos.append(saved(f"c{number}", session, number, newest.get(session, first)))
        newest[session] = f"c{number}"
    return draw(st.permutations(infos))
