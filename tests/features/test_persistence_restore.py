"""What is put back when a run goes on: history, storage, settings, iterations and place."""

from __future__ import annotations

from typing import Any

import pytest
from persisted_runs import CLIENT, SEAT, Boom, Client, Seat, Trip, notices

import koogbook as kb
from koogbook.errors import (
    StorageKeyError,
)
from koogbook.events import NodeStarting


async def test_the_history_is_put_back(store: Any) -> None:
    """And grows from there [PER-05b]."""
    first = await Trip(store).crash()

    run = await Trip(store).run()

    assert run.prompt.messages[: len(first.prompt)] == first.prompt.messages


async def test_storage_is_put_back_by_name_and_type(store: Any) -> None:
    """A key made anew reads it [PER-05b] [PER-08]."""

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(SEAT, Seat(7, "A"))

    seen: list[Any] = []

    async def look(ctx: kb.Context) -> None:
        seen.append(ctx.storage.get_value(kb.storage_key("seat", Seat)))

    await Trip(store, during={"plan": keep}).crash()
    await Trip(store, during={"book": look}).run()

    assert seen == [Seat(7, "A")]


async def test_entries_nobody_asks_for_are_carried_on(store: Any) -> None:
    """Unchanged, into every later checkpoint [PER-08]."""

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(SEAT, Seat(7, "A"))

    await Trip(store, during={"plan": keep}).crash()
    await Trip(store).run()

    bodies = [one.storage.get("seat") for one in await store.get_checkpoints("s")]
    assert bodies[0] is not None
    assert bodies[:3] == [bodies[0]] * 3


async def test_a_value_that_was_left_out_is_missing_after_a_restart(store: Any) -> None:
    """``get`` gives None, ``get_value`` says why [PER-07a]."""

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(CLIENT, Client())

    seen: list[Any] = []

    async def look(ctx: kb.Context) -> None:
        seen.append(ctx.storage.get(CLIENT))
        ctx.storage.get_value(CLIENT)

    await Trip(store, during={"plan": keep}).crash()
    with pytest.raises(StorageKeyError, match="could not be encoded"):
        await Trip(store, during={"book": look}).run()

    assert seen == [None]


async def test_what_was_left_out_is_known_after_a_second_restart(store: Any) -> None:
    """A checkpoint made after a restart still names the key that is missing [PER-07a]."""

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(CLIENT, Client())

    async def fail(ctx: kb.Context) -> None:
        raise Boom

    await Trip(store, during={"plan": keep}).crash()
    with pytest.raises(Boom):
        await Trip(store, during={"pay": fail}).run()

    assert (await store.get_latest_checkpoint("s")).info.left_out == ("client",)


async def test_a_value_made_again_is_not_said_to_be_left_out(store: Any) -> None:
    """Once it can be stored [PER-07a]."""
    either = kb.storage_key("seat", Any)

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(either, Client())

    async def mend(ctx: kb.Context) -> None:
        ctx.storage.set(either, "7A")

    await Trip(store, during={"plan": keep}).crash()
    await Trip(store, during={"book": mend}).run()

    assert [one.info.left_out for one in await store.get_checkpoints("s")] == [("seat",), (), (), ()]


async def test_model_params_and_tools_are_put_back(store: Any) -> None:
    """As the nodes had changed them, in their order [PER-05b]."""
    tools = [kb.Tool(lambda: "", name=name) for name in ("look", "book", "pay")]

    async def change(ctx: kb.Context) -> None:
        async with ctx.llm.write_session() as session:
            session.model = "maker:large"
            session.params = session.params.with_changes(temperature=0.9, tool_choice=kb.ToolChoice("none"))
            session.tools = [tools[2], tools[0]]

    seen: list[Any] = []

    async def look(ctx: kb.Context) -> None:
        committed = ctx.llm.committed
        seen.append((committed.model, committed.prompt.params, committed.tools.names))

    await Trip(store, during={"plan": change}, tools=tools).crash()
    await Trip(store, during={"book": look}, tools=tools).run()

    assert seen == [
        (
            kb.LLModel("large", "maker"),
            kb.LLMParams(temperature=0.9, tool_choice=kb.ToolChoice("none")),
            ("pay", "look"),
        )
    ]


async def test_tools_that_are_gone_are_named(store: Any) -> None:
    """The run goes on with those that are there [PER-05b]."""
    both = [kb.Tool(lambda: "", name="look"), kb.Tool(lambda: "", name="book")]
    await Trip(store, tools=both).crash()

    run = await Trip(store, tools=both[:1]).run()

    assert notices(run, "tool missing") == ["the checkpoint offers tools that the agent has not: book"]


async def test_iterations_go_on_counting(store: Any) -> None:
    """A restart is no way around the limit [PER-05b]."""
    await Trip(store).crash()

    run = await Trip(store).run()

    assert run.iterations == 3
    assert [event.iteration for event in run.events if isinstance(event, NodeStarting)] == [2, 3, 3]


async def test_the_input_is_the_first_one_again(store: Any) -> None:
    """``ctx.input`` is what the run was started with, and later checkpoints keep it [PER-05a]."""
    seen: list[Any] = []

    async def look(ctx: kb.Context) -> None:
        seen.append(ctx.input)

    await Trip(store).crash("Rome")
    await Trip(store, resume="auto", during={"book": look}).run("Oslo")

    assert seen == ["Rome"]
    assert {one.input for one in await store.get_checkpoints("s")} == {b'"Rome"'}


async def test_edges_see_the_restored_state(store: Any) -> None:
    """Everything is put back before the edges of the completed node are tried [PER-05b]."""
    marker = kb.storage_key("marker", str)
    ran: list[str] = []

    def build(broken: bool) -> kb.Agent:
        fork = kb.strategy("fork", input=str, output=str)

        @fork.node
        async def first(ctx: kb.Context, text: str) -> str:
            ctx.storage.set(marker, "left")
            async with ctx.llm.write_session() as session:
                session.append(kb.user(text))
            return text

        @fork.node
        async def left(ctx: kb.Context, text: str) -> str:
            ran.append("left")
            return str(1 // (not broken))

        @fork.node
        async def right(ctx: kb.Context, text: str) -> str:
            ran.append("right")
            return text

        def goes_left(ctx: kb.Context, text: str) -> bool:
            return ctx.storage.get(marker) == "left" and len(ctx.llm.committed.prompt) == 1

        fork.start >> first
        fork.edge(first, left, when=goes_left)
        first >> right >> fork.finish
        left >> fork.finish
        return kb.Agent(kb.OfflineExecutor(), "m", fork).install(kb.Persistence(store))

    with pytest.raises(ZeroDivisionError):
        await build(broken=True).run("go", session_id="s")
    await build(broken=False).run("go", session_id="s")

    assert ran == ["left", "left"]


async def test_a_run_goes_on_inside_a_subgraph(store: Any) -> None:
    """After the inner node that had completed, and then out of the subgraph [PER-05]."""
    ran: list[str] = []

    def build(broken: bool) -> kb.Agent:
        outer = kb.strategy("outer", input=str, output=str)
        inner = outer.subgraph("inner", input=str, output=str)

        @inner.node
        async def one(ctx: kb.Context, text: str) -> str:
            ran.append("one")
            return f"{text}1"

        @inner.node
        async def two(ctx: kb.Context, text: str) -> str:
            ran.append("two")
            return f"{text}{2 // (not broken)}"

        @outer.node
        async def three(ctx: kb.Context, text: str) -> str:
            return f"{text}3"

        inner.start >> one >> two >> inner.finish
        outer.start >> inner.as_node >> three >> outer.finish
        return kb.Agent(kb.OfflineExecutor(), "m", outer).install(kb.Persistence(store))

    with pytest.raises(ZeroDivisionError):
        await build(broken=True).run("x", session_id="s")
    run = await build(broken=False).run("x", session_id="s")

    assert (run.output, ran) == ("x123", ["one", "two", "two"])


async def test_a_restart_writes_whole_checkpoints(sqlite: kb.SqliteCheckpoints) -> None:
    """With a store object that has never seen the session: each later history is read back [PER-18]."""
    await Trip(sqlite).crash()
    other = kb.SqliteCheckpoints(sqlite.path)

    run = await Trip(other).run()

    found = await kb.SqliteCheckpoints(sqlite.path).get_checkpoints("s")
    assert [len(one.messages) for one in found] == [2, 3, 4, 4]
    assert found[-1].messages == run.prompt.messages


async def test_a_compressed_history_comes_back_compressed(store: Any) -> None:
    """Summary, name and all [PER-05b]."""

    async def shrink(ctx: kb.Context) -> None:
        async with ctx.llm.write_session() as session:
            await session.replace_history_with_tldr(allow_longer=True)

    script = kb.ScriptedExecutor(lambda request: "TLDR")
    first = Trip(store, executor=script, during={"book": shrink})
    await first.crash()
    await first.crash()

    async def fail(ctx: kb.Context) -> None:
        raise Boom

    with pytest.raises(Boom):
        await Trip(store, executor=script, during={"book": shrink, "pay": fail}).run()

    found = await store.get_latest_checkpoint("s")
    assert [(one.text, one.is_summary) for one in found.messages] == [
        ("rules", False),
        ("plan Rome", False),
        ("TLDR", True),
        ("book plan(Rome)", False),
    ]


async def test_a_resume_says_that_the_agent_has_another_model_by_now(store: Any) -> None:
    """The run goes on as it was begun, and not in silence [PER-05b]."""
    await Trip(store).crash()
    trip = Trip(store)
    trip.agent.model = kb.LLModel("newer")
    run = await trip.run("Rome")

    assert "newer" in notices(run, "model restored")[0]


async def test_a_resume_says_that_the_agent_has_other_params_by_now(store: Any) -> None:
    """Those of the checkpoint count, and not in silence [PER-05b]."""
    await Trip(store).crash()
    trip = Trip(store)
    trip.agent.params = kb.LLMParams(temperature=0.9)
    run = await trip.run("Rome")

    assert len(notices(run, "params restored")) == 1


async def test_a_resume_says_that_the_agent_has_no_system_prompt_any_more(store: Any) -> None:
    """The run keeps the one that it was begun with [PER-05b]."""
    await Trip(store).crash()
    trip = Trip(store, system_prompt=None)
    run = await trip.run("Rome")

    assert len(notices(run, "system prompt restored")) == 1
    assert [message.text for message in run.prompt.messages if message.role == "system"] == ["rules"]


async def test_a_resume_with_what_it_was_begun_with_says_nothing_of_it(store: Any) -> None:
    """Only a difference is worth a line [PER-05b]."""
    await Trip(store).crash()
    run = await Trip(store).run("Rome")

    for kind in ("model restored", "params restored", "system prompt restored"):
        assert notices(run, kind) == []
