"""A run whose checkpoints can be looked at."""

from __future__ import annotations

import pytest
from checkpoint_runs import CountingCheckpoints, saving_agent

import koogbook as kb
from koogbook.notebook.views.checkpoint_view.checkpoints import CheckpointView


@pytest.fixture
def store() -> CountingCheckpoints:
    """An empty store."""
    return CountingCheckpoints()


@pytest.fixture
def agent(store: CountingCheckpoints) -> kb.Agent:
    """It keeps a checkpoint after ``prepare`` and ``answer``."""
    return saving_agent(store)


@pytest.fixture
async def view(agent: kb.Agent) -> CheckpointView:
    """The table of one run of ``chat-1``: after ``prepare``, after ``answer``, the end."""
    await agent.run("To Beijing", "chat-1")
    return kb.checkpoints(agent, "chat-1")
