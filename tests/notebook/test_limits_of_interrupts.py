"""An interrupt ends a run within the seconds of the specification; run with nothing beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from built_kernel import TASKS, built_kernel, wait_until_something_is_shown
from kernels import Kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel in which a strategy was built by magics, cell by cell."""
    with built_kernel(tmp_path_factory.mktemp("kernel")) as running:
        yield running


@pytest.mark.parametrize(
    "cell", ["%%koog_run --to stopped\nto Beijing", "print('go')\nawait agent.run('to Beijing')"]
)
def test_an_interrupt_stops_a_run_and_the_next_cell_works(kernel: Kernel, cell: str) -> None:
    """Within two seconds; no task of ours is left, and the agent runs again. [KB-126]"""
    kernel.run("wait = 60.0")
    request = kernel.send(cell)
    wait_until_something_is_shown(kernel, request)
    begun = time.monotonic()
    kernel.interrupt()
    ran = kernel.wait_for(request, timeout=20)
    took = time.monotonic() - begun
    state = kernel.run(f"print(agent.last_run.state)\n{TASKS}")
    again = kernel.run("wait = 0.0\nprint((await agent.run('next')).output)")

    assert (ran.status, took < 2) == ("error", True)
    assert ran.reply["ename"] in ("CancelledError", "KeyboardInterrupt", "UsageError")
    assert state.printed == "cancelled\n[]\n"
    assert again.printed == "NEXT\n"
