"""Waits that begin together share one timer, and each ends in its own time."""

from __future__ import annotations

import math

import pytest

from koogbook.clock import FixedClock
from koogbook.llm.rw_lock import Ticket
from koogbook.llm.wait_limits import WaitLimit


class Waits:
    """What was given up, and when."""

    def __init__(self, fixed: FixedClock) -> None:
        self.fixed = fixed
        self.given_up: list[tuple[int, float, float]] = []

    def ticket(self, number: int) -> Ticket:
        """One that asks now."""
        return Ticket(number, "write", "", "", since=self.fixed.elapsed)

    def give_up(self, ticket: Ticket, seconds: float) -> None:
        """A wait was over its limit."""
        self.given_up.append((ticket.number, seconds, self.fixed.elapsed))


@pytest.fixture
def waits(fixed_clock: FixedClock) -> Waits:
    """Nobody waits yet."""
    return Waits(fixed_clock)


async def test_those_who_come_at_about_the_same_time_are_given_up_together(waits: Waits) -> None:
    """By one timer [SES-11]."""
    limit = WaitLimit(waits.ticket(1), 10.0, waits.give_up)
    waits.fixed.advance(0.0005)
    taken = limit.takes(waits.ticket(2), 10.0)
    waits.fixed.advance(10)

    assert taken
    assert [number for number, _, _ in waits.given_up] == [1, 2]


@pytest.mark.parametrize(("later", "seconds"), [(0.0005, 9.0), (0.0005, 11.0), (0.0011, 10.0), (5.0, 10.0)])
async def test_those_who_wait_for_another_time_have_a_timer_of_their_own(
    waits: Waits, later: float, seconds: float
) -> None:
    """Another limit, or one that began later [SES-11]."""
    limit = WaitLimit(waits.ticket(1), 10.0, waits.give_up)
    waits.fixed.advance(later)

    assert not limit.takes(waits.ticket(2), seconds)


async def test_long_limits_are_no_less_exact_than_a_hundredth_of_a_second(waits: Waits) -> None:
    """Not even those of days [SES-11]."""
    limit = WaitLimit(waits.ticket(1), 1e6, waits.give_up)
    waits.fixed.advance(0.02)

    assert not limit.takes(waits.ticket(2), 1e6)


async def test_the_timer_stays_for_those_who_still_wait(waits: Waits) -> None:
    """One that was let in takes nobody's limit along [SES-11]."""
    limit = WaitLimit(waits.ticket(1), 10.0, waits.give_up)
    waits.fixed.advance(0.0005)
    limit.takes(waits.ticket(2), 10.0)
    limit.end()
    waits.fixed.advance(10)

    assert len(waits.given_up) == 2


async def test_the_last_one_takes_the_timer_along(waits: Waits) -> None:
    """And nobody can have this limit any more [SES-11]."""
    limit = WaitLimit(waits.ticket(1), 10.0, waits.give_up)
    limit.end()
    waits.fixed.advance(0.0005)
    taken = limit.takes(waits.ticket(2), 10.0)
    waits.fixed.advance(math.pi * 10)

    assert not taken
    assert waits.given_up == []
