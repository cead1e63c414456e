"""A real kernel in which a strategy was built by magics, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels import Kernel, running_kernel

BUILD = [
    "%load_ext koogbook\nimport asyncio\nimport koogbook as kb\nwait = 0.0",
    "%koog_strategy trip --input str --output str",
    "%%koog_node --after start\n"
    "async def think(ctx: kb.Context, text: str) -> str:\n"
    "    async with ctx.llm.write_session() as session:\n"
    "        session.append(kb.user(text))\n"
    "        await asyncio.sleep(wait)\n"
    "    return text.upper()",
    "%koog_edge think >> finish",
    "%koog_agent --checkpoints memory",
]
TASKS = "print([task.get_name() for task in asyncio.all_tasks() if 'koogbook' in task.get_name()])"


@contextmanager
def built_kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel with the strategy ``trip`` and an agent of it, which waits ``wait`` seconds in its node."""
    with running_kernel(folder) as running:
        for number, cell in enumerate(BUILD):
            assert running.run(cell, cell_id=f"build-{number}").status == "ok"
        yield running


def wait_until_something_is_shown(kernel: Kernel, request: str) -> None:
    """Until the cell has put something on the page."""
    kind = ""
    while kind not in ("display_data", "stream"):
        message = kernel.client.get_iopub_msg(timeout=20)
        kind = message["msg_type"] if message["parent_header"].get("msg_id") == request else ""
