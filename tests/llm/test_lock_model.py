"""The lock against a model of it, under random visits, departures, cancellations, timeouts and nesting."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from lock_world import STEPS, World

from koogbook import clock


def _played(make_context: Any, steps: list[str], seed: int) -> World:
    fixed = clock.FixedClock()
    with clock.use(fixed):
        return asyncio.run(World(make_context(), fixed).play(steps, random.Random(seed)))


@settings(max_examples=30)
@given(steps=st.lists(st.sampled_from(STEPS), min_size=10, max_size=60), seed=st.integers(0, 1_000))
def test_the_lock_does_what_a_plain_queue_does(make_context: Any, steps: list[str], seed: int) -> None:
    """Never two writers, nor a writer beside readers; nobody is passed; free at the end [SES-09, SES-11]."""
    assert _played(make_context, steps, seed).broken == []


def test_ten_thousand_random_steps_keep_the_lock_in_step_with_its_model(make_context: Any) -> None:
    """Visits, departures, cancellations, limits of three lengths, refused nesting, readers that read again [SES-09]."""
    done: dict[str, int] = {}
    refused = 0
    for seed in range(40):
        steps = random.Random(seed).choices(STEPS, k=400)
        world = _played(make_context, steps, seed)
        assert world.broken == []
        refused += world.refused
        for what, times in world.done.items():
            done[what] = done.get(what, 0) + times

    assert sum(done.values()) >= 10_000
    assert set(done) == set(STEPS)
    assert min(done.values()) > 200
    assert refused > 200
