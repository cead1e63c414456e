"""Going on from a checkpoint: which run is resumed, by which policy."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from persisted_runs import PlainCheckpoints, Trip, notices

import koogbook as kb
from koogbook.errors import (
    CheckpointNotFoundError,
    UnfinishedRunError,
)
from koogbook.events import CheckpointRestored


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
