"""An agent that saves a checkpoint after each of two nodes, and looks at the live form of its table."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import koogbook as kb
from koogbook.notebook.views.checkpoint_view.checkpoints import CheckpointView
from koogbook.notebook.views.look.markup import Tree, live_tree


class CountingCheckpoints(kb.MemoryCheckpoints):
    """A store that counts how often it is listed as a whole, which ``takes`` so many seconds at least."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = 0
        self.takes = 0.0

    def list_infos(
        self, session_id: str | None = None, *, with_forks: bool = False
    ) -> list[kb.CheckpointInfo]:
        """As every store."""
        self.listed += session_id is None or with_forks
        time.sleep(self.takes)
        return super().list_infos(session_id, with_forks=with_forks)


def saving_agent(store: kb.MemoryCheckpoints) -> kb.Agent:
    """It keeps a checkpoint after ``prepare`` and ``answer``."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def prepare(ctx: kb.Context, text: str) -> str:
        ctx.storage.set(kb.storage_key("seen", list[str]), [text])
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
        return text

    @trip.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.assistant("There is a museum."))
        return "done"

    trip.start >> prepare >> answer >> trip.finish
    made = kb.Agent(kb.OfflineExecutor(), "offline", strategy=trip, system_prompt="Plan.")
    return made.install(kb.Persistence(storage=store))


def answer_with_a_number(agent: kb.Agent) -> None:
    """Change the code: ``answer`` gives an int from now on."""
    trip: Any = agent.strategy

    @trip.node
    async def answer(ctx: kb.Context, text: str) -> int:
        return 1

    trip.edge("prepare", answer)
    trip.edge(answer, trip.finish, map=str)


def ids(view: CheckpointView) -> list[str]:
    """The ids on the page."""
    return [row.id for row in view.state.rows if hasattr(row, "id")]


def elements(tree: Tree) -> list[Any]:
    """All elements of a live tree."""
    if isinstance(tree, str):
        return []
    return [tree, *(one for child in tree[2] for one in elements(child))]


def live(view: CheckpointView) -> list[Any]:
    """All elements of the live form."""
    return elements(live_tree(view.live_element(view.element)))


async def settled() -> None:
    """Let what was started by a click come to its end."""
    for _ in range(20):
        await asyncio.sleep(0)
