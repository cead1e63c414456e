"""What stands in the traceback of a run that failed."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb
from koogbook.tracebacks import from_users_code


def agent_of(fails: bool) -> kb.Agent:
    """An agent with a node that fails, or with one that does not come to its end."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def plan(ctx: kb.Context, text: str) -> str:
        if fails:
            raise ValueError("no seats")
        return text

    trip.start >> plan >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip)
    return agent.install(kb.Persistence(storage=kb.MemoryCheckpoints()))


def files(problem: BaseException) -> list[str]:
    """The files of its frames."""
    return [Path(frame.filename).name for frame in traceback.extract_tb(problem.__traceback__)]


async def test_a_failed_run_shows_the_cell_and_the_node_and_nothing_between() -> None:
    """The dozen frames of koogbook on the way say nothing to who wrote the node."""
    with pytest.raises(ValueError, match="no seats") as failed:
        await agent_of(fails=True).run("Rome", "s")

    assert set(files(failed.value)) == {"test_tracebacks.py"}


async def test_an_error_on_purpose_shows_where_it_was_called() -> None:
    """Its message says what the frames would have to."""
    agent = agent_of(fails=True)
    with pytest.raises(ValueError, match="no seats"):
        await agent.run("Rome", "s")
    store: Any = agent.feature("Persistence").storage
    other = kb.Agent(kb.OfflineExecutor(), "offline", agent.strategy).install(
        kb.Persistence(storage=store, resume="require")
    )
    with pytest.raises(kb.KoogbookError) as failed:
        await other.run("Rome", "unknown")

    assert len(files(failed.value)) <= 2


def test_a_fault_of_koogbook_keeps_all_its_frames() -> None:
    """Where there is no code of the user's, the frames are what there is to go by."""
    with pytest.raises((TypeError, AttributeError)) as failed:
        kb.estimate_tokens(object())  # type: ignore[arg-type]
    problem = failed.value
    assert problem.__traceback__ is not None
    problem.__traceback__ = problem.__traceback__.tb_next  # without the frame of this test
    whole = problem.__traceback__

    assert from_users_code(problem) is whole is not None
