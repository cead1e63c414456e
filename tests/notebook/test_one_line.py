"""A bar under a cell of a real kernel."""

from __future__ import annotations

from pathlib import Path

from kernels import Ran, running_kernel

WORK = """
from koogbook import clock
from koogbook.progress import progress_bar

def work(fails=False):
    fixed = clock.FixedClock()
    with clock.use(fixed), progress_bar("reading", 4, "B") as bar:
        for _ in range(3):
            fixed.advance(2.0)
            bar.advance()
        assert not fails
        bar.summary = "3 things were read"
"""


def saved(ran: Ran) -> list[str]:
    """The outputs of a cell as a notebook keeps them: each in its last state."""
    last = {one["transient"]["display_id"]: one["data"]["text/plain"] for one in ran.updates}
    kept = [
        last.get(one["transient"]["display_id"], one["data"]["text/plain"])
        for one in ran.outputs
        if "data" in one
    ]
    return [*kept, *(one["text"] for one in ran.outputs if "text" in one)]


def test_a_notebook_keeps_the_last_line_of_a_bar(tmp_path: Path) -> None:
    """The bar is live only, and nothing stays of work that failed [NBK-13]."""
    with running_kernel(tmp_path) as kernel:
        kernel.run(WORK)
        done, failed = kernel.run("work()"), kernel.run("work(fails=True)")

    assert done.shown()[0].startswith("reading:  25%")
    assert (saved(done), saved(failed), failed.status) == (["3 things were read"], [""], "error")
