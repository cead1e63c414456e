"""Going on from a checkpoint: what decides, what is put back, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from persisted_runs import CLIENT, SEAT, Boom, Client, PlainCheckpoints, Seat, Trip

import koogbook as kb
from koogbook.errors import (
    CheckpointNotFoundError,
    IncompatibleCheckpointError,
    StorageKeyError,
    UndecodableValueError,
    UnfinishedRunError,
)
from koogbook.events import CheckpointRestored, NodeStarting, Notice


def notices(run: kb.Run, kind: str) -> list[str]:
    """The texts of the notices of one kind."""
    return [event.text for event in run.events if isinstance(event, Notice) and event.kind == kind]


# ------------------------------------------------------------------------------------------- what decides


async def test_an_unfinished_run_goes_on_after_its_last_node(store: Any) -> None:
    """Nodes that had completed do not run again [PER-05]."""
    await Trip(store).crash()
    again = Trip(store)

    run = await again.run()

    assert [name for name, _ in again.ran] == ["book", "pay"]
    assert (run.output, run.resumed) == ("pay(book(plan(Rome)))", True)


async def test_the_run_says_where_it_went_on_from(store: Any) -> None:
    """Checkpoint, version and node [PER-05a]."""
    await Trip(store).crash()

    run = await Trip(store).run()

    saved = (await store.get_checkpoints("s"))[0].info
    assert run.resumed_from is not None
    assert (run.resumed_from.checkpoint, run.resumed_from.version, run.resumed_from.path) == (
        saved.id,
        0,
        "trip/plan",
    )


async def test_a_session_without_checkpoints_starts_afresh(store: Any) -> None:
    """Nothing to restore, and nothing said of it [PER-05]."""
    run = await Trip(store).run()

    assert (run.resumed, run.resumed_from) == (False, None)


async def test_the_agent_id_need_not_match(store: Any) -> None:
    """The session id names what is resumed [PER-05]."""
    await Trip(store, id="one").crash()

    run = await Trip(store, id="other").run()

    assert run.resumed


async def test_another_session_id_starts_afresh(store: Any) -> None:
    """However alike the agents are [PER-05]."""
    await Trip(store).crash()

    run = await Trip(store).run(session_id="another")

    assert not run.resumed


async def test_the_highest_version_decides_and_not_the_time() -> None:
    """Clocks go backwards; versions do not [PER-05]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    early = store.saved[0]
    store.saved.append(
        replace(
            early,
            output=b'"newer"',
            info=replace(
                early.info,
                id="n",
                version=5,
                created=early.info.created.min.replace(tzinfo=early.info.created.tzinfo),
            ),
        )
    )

    run = await Trip(store).run()

    assert run.output == "pay(book(newer))"


@pytest.mark.parametrize("value", [None, "Rome"])
async def test_the_same_input_or_none_goes_on(store: Any, value: Any) -> None:
    """By default [PER-05a]."""
    await Trip(store).crash("Rome")

    run = await Trip(store).run(value)

    assert (run.resumed, run.output) == (True, "pay(book(plan(Rome)))")


async def test_another_input_on_an_unfinished_run_is_refused(store: Any) -> None:
    """No message of a user is swallowed: the error names the checkpoint, both inputs and the choices [PER-05a]."""
    await Trip(store).crash("Rome")
    again = Trip(store)

    with pytest.raises(UnfinishedRunError) as caught:
        await again.run("Oslo")

    saved = (await store.get_latest_checkpoint("s")).info
    assert caught.value.checkpoint_id == saved.id
    assert all(word in str(caught.value) for word in (saved.id, "trip/plan", "Rome", "Oslo", "resume='auto'"))
    assert again.ran == []


async def test_a_refused_input_changes_nothing(store: Any) -> None:
    """The run can still be finished [PER-05a]."""
    await Trip(store).crash("Rome")
    with pytest.raises(UnfinishedRunError):
        await Trip(store).run("Oslo")

    run = await Trip(store).run("Rome")

    assert run.output == "pay(book(plan(Rome)))"


async def test_auto_goes_on_and_says_that_the_input_was_ignored(store: Any) -> None:
    """Koog's way, with an event [PER-05a]."""
    await Trip(store).crash("Rome")

    run = await Trip(store, resume="auto").run("Oslo")

    assert run.output == "pay(book(plan(Rome)))"
    assert [event.input_ignored for event in run.events if isinstance(event, CheckpointRestored)] == [True]
    assert len(notices(run, "input ignored")) == 1


async def test_koogs_compatibility_implies_auto(store: Any) -> None:
    """Unless another policy is named [PER-05a]."""
    await Trip(store).crash("Rome")

    run = await Trip(store, compat="koog").run("Oslo")

    assert run.output == "pay(book(plan(Rome)))"


@pytest.mark.parametrize("value", [None, "Rome"])
async def test_an_input_that_is_used_is_not_said_to_be_ignored(store: Any, value: Any) -> None:
    """The event tells the two apart [PER-05a]."""
    await Trip(store).crash("Rome")

    run = await Trip(store, resume="auto").run(value)

    assert [event.input_ignored for event in run.events if isinstance(event, CheckpointRestored)] == [False]


async def test_never_starts_afresh_and_says_what_it_left(store: Any) -> None:
    """The checkpoint stays where it is [PER-05a]."""
    await Trip(store).crash("Rome")

    run = await Trip(store, resume="never").run("Oslo")

    assert (run.resumed, run.output) == (False, "pay(book(plan(Oslo)))")
    assert "trip/plan" in notices(run, "unfinished run left behind")[0]


async def test_require_goes_on(store: Any) -> None:
    """Where there is something [PER-05a]."""
    await Trip(store).crash()

    assert (await Trip(store, resume="require").run("Oslo")).resumed


async def test_require_insists_on_something_to_go_on_from(store: Any) -> None:
    """A session that never was is refused [PER-05a]."""
    with pytest.raises(CheckpointNotFoundError, match="has no checkpoint"):
        await Trip(store, resume="require").run()


async def test_require_does_not_take_an_ended_session(store: Any) -> None:
    """Nor one that has ended [PER-05a]."""
    await Trip(store).run()

    with pytest.raises(CheckpointNotFoundError, match="has ended"):
        await Trip(store, resume="require").run()


@pytest.mark.parametrize(
    ("answer", "output"), [(True, "pay(book(plan(Rome)))"), (False, "pay(book(plan(Oslo)))")]
)
async def test_a_function_can_decide(store: Any, answer: bool, output: str) -> None:
    """Of the checkpoint and the new input [PER-05a]."""
    await Trip(store).crash("Rome")
    asked: list[Any] = []

    def policy(checkpoint: kb.Checkpoint, value: Any) -> bool:
        asked.append((checkpoint.info.path, value))
        return answer

    run = await Trip(store, resume=policy).run("Oslo")

    assert (run.output, asked) == (output, [("trip/plan", "Oslo")])


async def test_a_failed_run_can_be_resumed_again_and_again(store: Any) -> None:
    """Each restart begins where the last one had come to [PER-05]."""
    await Trip(store).crash()
    await Trip(store).crash()
    await Trip(store).crash()

    run = await Trip(store).run()

    assert run.output == "pay(book(plan(Rome)))"
    assert [one.text for one in run.prompt] == [
        "rules",
        "plan Rome",
        "book plan(Rome)",
        "pay book(plan(Rome))",
    ]


# ------------------------------------------------------------------------------------------- what is put back


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


# ------------------------------------------------------------------------------------------- what is refused


def one_node(
    store: Any, output: Any, *, name: str = "work", strategy: str = "job", given: Any = "x"
) -> kb.Agent:
    """An agent of a node with this output type, and a second node that fails."""
    job = kb.strategy(strategy, input=str)

    async def work(ctx: kb.Context, text: str) -> Any:
        return given

    work.__annotations__["return"] = output
    first = job.node(name=name)(work)

    @job.node
    async def fail(ctx: kb.Context, value: Any) -> Any:
        raise Boom

    job.start >> first >> fail >> job.finish
    return kb.Agent(kb.OfflineExecutor(), "m", job).install(kb.Persistence(store))


@dataclass
class Price:
    """An output type."""

    total: float


@pytest.mark.parametrize(
    ("now", "difference"),
    [
        ({"output": str, "name": "renamed"}, "node job/work: is gone"),
        ({"output": int, "given": 1}, "output of job/work"),
        ({"output": Price, "given": Price(1.0)}, "output of job/work"),
        ({"output": str, "strategy": "other"}, "strategy: stored 'job', now 'other'"),
    ],
)
async def test_code_that_no_longer_fits_is_refused(store: Any, now: dict[str, Any], difference: str) -> None:
    """The error says what differs and what to do; nothing was changed [PER-05]."""
    with pytest.raises(Boom):
        await one_node(store, str).run("go", session_id="s")

    with pytest.raises(IncompatibleCheckpointError) as caught:
        await one_node(store, **now).run("go", session_id="s")

    assert any(difference in one for one in caught.value.differences)
    assert "resume='never'" in str(caught.value)
    assert len(await store.get_checkpoints("s")) == 1


async def test_a_change_elsewhere_is_a_warning(store: Any) -> None:
    """A node that is new does not stand in the way [PER-05]."""
    await Trip(store).crash()
    trip = Trip(store, version="2")

    run = await trip.run()

    assert run.resumed
    assert "strategy version: stored 1, now 2" in notices(run, "strategy changed")[0]


@pytest.mark.parametrize(
    "body",
    [
        b"7",
        b"{}",
        b"[",
        b"",
        b"\xff\xfe",
        b'{"$object":["os.system","id"]}',
        b"cos\nsystem\n(S'id'\ntR.",
    ],
)
async def test_a_forged_output_is_data_of_the_wrong_type(body: bytes) -> None:
    """Decoded into the declared type or refused; no name in it is looked up [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], output=body)

    with pytest.raises(IncompatibleCheckpointError, match="output of trip/plan"):
        await Trip(store).run()


@pytest.mark.parametrize("body", [b"7", b"[", b"", b'{"$object":["os.system",{"row":"id"}]}'])
async def test_a_forged_storage_entry_is_refused_when_it_is_asked_for(body: bytes) -> None:
    """With the key's type, and not before [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], storage={"seat": body})

    async def look(ctx: kb.Context) -> None:
        ctx.storage.get(SEAT)

    with pytest.raises(UndecodableValueError):
        await Trip(store, during={"book": look}).run()


@pytest.mark.parametrize("body", [b"[", b"[]", b"{}", b'{"strategy": 1}', b"\xff", b"7"])
async def test_a_forged_fingerprint_is_refused(body: bytes) -> None:
    """It says nothing that could be trusted [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], fingerprint_body=body)

    with pytest.raises(IncompatibleCheckpointError, match="damaged"):
        await Trip(store).run()


async def test_a_forged_input_is_no_input() -> None:
    """It equals no new one, so a message is never taken for it [PER-08]."""
    plain = PlainCheckpoints()
    await Trip(plain).crash("Rome")
    plain.saved[0] = replace(plain.saved[0], input=b"{broken")

    with pytest.raises(UnfinishedRunError):
        await Trip(plain).run("Rome")


@pytest.mark.parametrize("path", ["trip", "trip/", "trip/plan/deeper", "other/plan", "", "trip/finish/x"])
async def test_a_forged_path_is_refused(path: str) -> None:
    """Only nodes of this strategy can be gone on from [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], info=replace(store.saved[0].info, path=path))

    with pytest.raises(IncompatibleCheckpointError):
        await Trip(store).run()
