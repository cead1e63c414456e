"""Types that were changed between two runs of a session: what still fits goes on, and every change is said."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from persisted_runs import SEAT, Boom, Seat, Trip, notices

import koogbook as kb
from koogbook.errors import IncompatibleCheckpointError
from koogbook.features.persistence.fingerprint import compare, fingerprint
from koogbook.runtime.compiled import compile_strategy


def before() -> Any:
    """A class as the first run of a cell defines it."""

    @dataclass
    class Plan:
        days: int

    return Plan


def after() -> Any:
    """The same class with one more field."""

    @dataclass
    class Plan:
        days: int
        city: str = "Rome"

    Plan.__qualname__ = before().__qualname__
    return Plan


async def run_with(store: Any, plan: Any, *, stored: str, fails: bool) -> kb.Run:
    """Run an agent that takes, keeps or hands on a Plan, up to where its second node fails."""
    declared = {where: (plan if where == stored else Any) for where in ("input", "key")}
    key = kb.storage_key("plan", declared["key"])
    job = kb.strategy("job", input=declared["input"])

    @job.node
    async def first(ctx: kb.Context, value: Any) -> str:
        if stored == "key":
            ctx.storage.set(key, plan(3))
        return "done"

    @job.node
    async def second(ctx: kb.Context, text: str) -> Any:
        if fails:
            raise Boom
        return (ctx.storage.get(key), ctx.input)

    job.start >> first >> second >> job.finish
    agent = kb.Agent(kb.OfflineExecutor(), "m", job).install(kb.Persistence(store))
    with suppress(Boom):
        await agent.run(plan(3) if stored == "input" and fails else None, session_id="s")
    assert agent.last_run is not None
    return agent.last_run


@pytest.mark.parametrize(("stored", "place"), [("key", "storage key plan"), ("input", "input")])
async def test_a_field_that_was_not_stored_gets_its_default_and_that_is_said(
    store: Any, stored: str, place: str
) -> None:
    """The value is one that no run has made [PER-17]."""
    await run_with(store, before(), stored=stored, fails=True)

    run = await run_with(store, after(), stored=stored, fails=False)

    texts = notices(run, "field filled in")
    assert [text.partition(":")[0] for text in texts] == [place]
    assert "city" in texts[0]


async def test_a_key_whose_type_was_changed_is_said(store: Any) -> None:
    """With both types, when it is used first [PER-17]."""
    await run_with(store, before(), stored="key", fails=True)

    run = await run_with(store, after(), stored="key", fails=False)

    texts = notices(run, "storage key changed")
    assert len(texts) == 1
    assert "Plan(days: int), now " in texts[0]
    assert "Plan(days: int, city: str)" in texts[0]


async def test_setting_a_restored_name_to_another_type_is_said(store: Any) -> None:
    """What was stored under it is replaced [PER-08]."""

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(SEAT, Seat(7, "A"))

    async def replace_it(ctx: kb.Context) -> None:
        ctx.storage.set(kb.storage_key("seat", int), 7)

    await Trip(store, during={"plan": keep}).crash()
    run = await Trip(store, during={"book": replace_it}).run()

    assert [text.rpartition(" ")[2] for text in notices(run, "storage key changed")] == ["int"]


async def test_a_key_of_the_same_type_is_not_said_to_be_changed(store: Any) -> None:
    """Nor is one that is new [PER-08]."""

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(SEAT, Seat(7, "A"))

    async def use(ctx: kb.Context) -> None:
        ctx.storage.get(SEAT)
        ctx.storage.set(kb.storage_key("new", int), 1)

    await Trip(store, during={"plan": keep}).crash()
    run = await Trip(store, during={"book": use}).run()

    assert notices(run, "storage key changed") == []


async def test_the_fingerprints_after_a_restart_know_the_keys_of_before(store: Any) -> None:
    """Although no node of the new run asks for them [PER-08]."""

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(SEAT, Seat(7, "A"))

    async def add(ctx: kb.Context) -> None:
        ctx.storage.set(kb.storage_key("count", int), 1)

    await Trip(store, during={"plan": keep}).crash()
    await Trip(store, during={"pay": add}).run()

    keys = [sorted(json.loads(one.fingerprint_body)["keys"]) for one in await store.get_checkpoints("s")]
    assert keys == [["seat"], ["seat"], ["count", "seat"], ["count", "seat"]]


def test_a_key_of_another_type_makes_a_changed_strategy() -> None:
    """A warning, in words; it does not stand in the way [PER-17]."""
    compiled = compile_strategy(Trip().strategy)
    stored = fingerprint(compiled, [kb.storage_key("count", int), kb.storage_key("other", int)])[1]

    found = compare(stored, compiled, "trip/plan", [kb.storage_key("count", str)])

    assert (found.level, found.differences) == ("changed", ("storage key count: stored int, now str",))


async def test_an_output_with_a_field_more_is_refused(store: Any) -> None:
    """The next node would get a value that no node gave [PER-17]."""

    def job(plan: Any, *, fails: bool) -> kb.Agent:
        strategy = kb.strategy("job")

        async def first(ctx: kb.Context, value: Any) -> Any:
            return plan(3)

        first.__annotations__["return"] = plan
        node = strategy.node(first)

        @strategy.node
        async def second(ctx: kb.Context, value: Any) -> str:
            return str(1 // (not fails))

        strategy.start >> node >> second >> strategy.finish
        return kb.Agent(kb.OfflineExecutor(), "m", strategy).install(kb.Persistence(store))

    with pytest.raises(ZeroDivisionError):
        await job(before(), fails=True).run(session_id="s")

    with pytest.raises(IncompatibleCheckpointError, match="city"):
        await job(after(), fails=False).run(session_id="s")
