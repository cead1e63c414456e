"""Bars of long work: where they move, and what stays of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr

import pytest

from koogbook.clock import FixedClock
from koogbook.progress import progress_bar


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.fixture(autouse=True)
def not_static(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars are wanted."""
    monkeypatch.delenv("KOOGBOOK_STATIC", raising=False)


def written(
    advance: Callable[[float], None],
    to: io.StringIO | None = None,
    *,
    fails: bool = False,
    shown: bool = True,
) -> str:
    """What three units of two seconds each leave in a terminal."""
    stream = Terminal() if to is None else to
    try:
        with redirect_stderr(stream), progress_bar("reading", 3, "B", shown=shown) as bar:
            for _ in range(3):
                advance(2.0)
                bar.advance()
            if fails:
                raise ValueError("broken")
            bar.summary = "3 things were read"
    except ValueError:
        pass
    return stream.getvalue()


def test_one_line_stays_of_long_work(fixed_clock: FixedClock) -> None:
    """The bar is live only [NBK-13]."""
    shown = written(fixed_clock.advance)

    assert ("reading:  33%" in shown, shown.rpartition("\r")[2]) == (True, "3 things were read\n")


def test_short_work_shows_nothing(fixed_clock: FixedClock) -> None:
    """A bar that is gone at once only flickers [NBK-13]."""
    assert written(lambda seconds: fixed_clock.advance(seconds / 8)) == ""


def test_no_line_stays_of_what_failed(fixed_clock: FixedClock) -> None:
    """The bar goes, and the error says the rest."""
    shown = written(fixed_clock.advance, fails=True)

    assert (shown != "", shown.rpartition("\r")[2]) == (True, "")


def test_static_output_has_neither_bar_nor_line(
    fixed_clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is compared must not depend on how fast a machine is [NBK-13]."""
    monkeypatch.setenv("KOOGBOOK_STATIC", "1")

    assert written(fixed_clock.advance) == ""


def test_a_pipe_gets_neither_bar_nor_line(fixed_clock: FixedClock) -> None:
    """A log file is no place for a bar [NBK-13]."""
    assert written(fixed_clock.advance, io.StringIO()) == ""


def test_a_bar_can_be_left_out(fixed_clock: FixedClock) -> None:
    """Where the caller shows something of its own."""
    assert written(fixed_clock.advance, shown=False) == ""


def test_what_is_done_is_not_taken_back(fixed_clock: FixedClock) -> None:
    """A bar moves one way."""
    terminal = Terminal()
    with redirect_stderr(terminal), progress_bar("reading", 10) as bar:
        fixed_clock.advance(2.0)
        bar.reach(8)
        bar.reach(3)

    assert ("80%" in terminal.getvalue(), "30%" in terminal.getvalue()) == (True, False)
