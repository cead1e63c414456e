"""What a check found, and a limit on how long it may look."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct

State = Literal["ok", "warning", "failed", "skipped"]


class Finding(Struct, frozen=True):
    """One thing that was looked at: its name, how it is, what was seen, and what to do where it is not ok."""

    name: str
    state: State
    seen: str
    remedy: str = ""


Check = Callable[[], Iterable[Finding]]


def looked_at(name: str, check: Check) -> Iterator[Finding]:
    """The findings of a check; one that itself breaks is a finding, too."""
    try:
        yield from check()
    except Exception as problem:
        yield Finding(
            name,
            "failed",
            f"the check broke: {type(problem).__name__}: {problem}",
            "see what the error names; the checks after this one went on",
        )


def within(seconds: float, name: str, check: Check, remedy: str) -> Iterator[Finding]:
    """The findings of a check that may hang, as a file on a network drive can; it is left behind after the limit.

    What it had found by then stays.
    """
    found: list[Finding] = []

    def look() -> None:
        for one in looked_at(name, check):  # each by itself: what was found before it hangs is kept
            found.append(one)  # noqa: PERF402

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds)
    hangs = thread.is_alive()
    yield from list(found)
    if hangs:
        yield Finding(name, "failed", f"no answer within {seconds:g} s", remedy)
