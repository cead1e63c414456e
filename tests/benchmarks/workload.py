"""What every case of a statement does alike: how many steps, which texts, how a run is summed up."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness import Measures

LOOP_STEPS = 10_000
LINE_NODES = 1_000
SAVED_STEPS = 1_000
BRANCHES = 100
BRANCH_SECONDS = 0.01
_EDGE = 100
_MESSAGE_LENGTH = 500

TEXTS = tuple(
    (f"note {number}: " + "the ferry leaves at nine, the museum opens at ten; " * 12)[:_MESSAGE_LENGTH]
    for number in range(SAVED_STEPS)
)


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """An empty folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="koogbook-benchmark-") as folder:
        yield Path(folder)


def bytes_in(folder: Path) -> int:
    """What all files of a folder have together."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def summed_up(seconds: float, marks: Sequence[float], size: int, closing: float | None = None) -> Measures:
    """A saving run: ``marks`` has a time for each step, ``size`` is in bytes after closing, which took ``closing``."""
    first = marks[_EDGE] - marks[0]
    last = marks[-1] - marks[-1 - _EDGE]
    measured = {
        "seconds": seconds,
        "first_100": first,
        "last_100": last,
        "growth": last / first,
        "bytes": float(size),
    }
    if closing is not None:
        measured["with_close"] = seconds + closing
    return measured


def over_the_ideal(seconds: float) -> Measures:
    """Branches that all sleep at once take as long as one of them, at best."""
    return {"seconds": seconds, "over": seconds - BRANCH_SECONDS}
