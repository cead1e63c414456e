from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from checkpoint_runs import CountingCheckpoints, ids, live, settled
from msgspec.structs import replace

import koogbook as kb
from koogbook.errors import CheckpointConflictError, ViewError
from koogbook.notebook.views.checkpoint_view.checkpoints import CheckpointView
from koogbook.notebook.views.look.markup import render_static

# ------------------------------------------------------------------------------------------- doing


async def test_a_click_forks_and_says_how_to_go_on(view: CheckpointView, store: CountingCheckpoints) -> None:
    """The fork is a row of the table at once. [NBK-08]"""
    view.act("select", ids(view)[0])
    view.act("fork", "chat-1-fork")
    assert view.state.said.startswith("Forking")
    await settled()

    assert [info.kind for info in store.list_infos("chat-1-fork")] == ["fork"]
    assert 'Go on there: run = await agent.run(None, session_id="chat-1-fork")' in view.state.said
    assert [row.session for row in view.state.rows].count("chat-1-fork") == 1


async def test_the_name_of_a_fork_is_free_and_can_be_typed(view: CheckpointView, agent: kb.Agent) -> None:
    """The button names what it makes. [NBK-08]"""
    first = ids(view)[0]
    await agent.fork("chat-1", first, to="chat-1-fork")
    view.act("select", first)
    assert view.state.selection is not None
    assert view.state.selection.fork_to == "chat-1-fork-2"

    view.act("fork_to", " mine ")
    assert view.state.selection.fork_to == "mine"
    assert [one[2][-1] for one in live(view) if one[1].get("data-do") == "fork"] == ["Fork to mine"]


async def test_a_fork_that_fails_is_trouble_in_the_view(view: CheckpointView, agent: kb.Agent) -> None:
    """And nothing was changed. [NBK-08]"""
    first = ids(view)[0]
    await agent.fork("chat-1", first, to="taken")
    view.act("select", first)
    view.act("fork", "taken")
    await settled()

    assert view.trouble.startswith("CheckpointConflictError: Session 'taken' has checkpoints already")
    assert view.state.said == ""


async def test_a_fork_in_python_gives_the_checkpoint_that_begins_it(
    view: CheckpointView, agent: kb.Agent
) -> None:
    """And the run goes on from there. [NBK-08]"""
    forked = await view.fork(ids(view)[0])
    run = await agent.run(None, session_id=forked.session_id)

    assert (forked.session_id, forked.parent, run.resumed) == ("chat-1-fork", ids(view)[0], True)
    with pytest.raises(CheckpointConflictError):
        await view.fork(ids(view)[0], to="chat-1-fork")


async def test_a_table_of_a_store_cannot_fork_and_says_who_can(
    store: CountingCheckpoints, view: CheckpointView
) -> None:
    """An agent knows the strategy that goes on. [NBK-08]"""
    alone = kb.checkpoints(store)

    with pytest.raises(ViewError, match=r"Use kb.checkpoints\(agent\)"):
        await alone.fork(ids(view)[0])
    alone.select(ids(view)[0])
    assert not [one for one in live(alone) if one[1].get("data-do") == "fork"]


async def test_a_click_looks_inside(view: CheckpointView) -> None:
    """Messages, model, tools, storage and the output as it is stored. [NBK-08]"""
    view.act("select", ids(view)[1])
    view.act("inspect")
    await settled()
    inside = view.state.selection and view.state.selection.inside

    assert inside is not None
    facts = dict(inside.facts)
    assert facts["messages"] == "3: 1 system, 1 user, 1 assistant"
    assert (facts["model"], facts["tools"], facts["storage"]) == ("offline", "none", "seen (14 B)")
    assert inside.output == '"done"'
    assert "There is" not in inside.output


async def test_the_whole_checkpoint_is_one_call_away(view: CheckpointView) -> None:
    """By its id, or the one that is selected. [NBK-08]"""
    view.select(ids(view)[1])

    assert (await view.checkpoint()).messages[-1].text == "There is a museum."
    assert len((await view.checkpoint(ids(view)[0][:8])).messages) == 2


async def test_two_checkpoints_are_compared_by_a_mark_and_a_selection(view: CheckpointView) -> None:
    """First d, then another row, then d. [NBK-08]"""
    first, second, _ = ids(view)
    view.act("select", first)
    view.act("diff")
    assert view.state.selection is not None
    assert view.state.selection.marked_here

    view.act("select", second)
    view.act("diff")
    await settled()
    assert view.state.compared is not None
    assert (view.state.compared.before, view.state.compared.after) == (first, second)
    assert "2 -> 3 messages" in str(view)
    assert "Prompt diff" in render_static(view.element)


async def test_a_compared_history_has_no_clicks_of_its_own(view: CheckpointView) -> None:
    """They would come to the wrong view. [NBK-08]"""
    first, second, _ = ids(view)
    view.act("select", first)
    view.act("diff")
    view.act("select", second)
    view.act("diff")
    await settled()

    assert {one[1]["data-do"] for one in live(view) if "data-do" in one[1]} <= set(view.actions())


async def test_a_mark_can_be_taken_away(view: CheckpointView) -> None:
    """By the same key, or by its button. [NBK-08]"""
    view.act("select", ids(view)[0])
    for undo in ("diff", "unmark"):
        view.act("diff")
        view.act(undo)

        assert view.state.selection is not None
        assert view.state.selection.marked == ""


async def test_a_diff_in_python_is_a_view(view: CheckpointView) -> None:
    """It can be shown in a cell of its own. [NBK-08]"""
    first, second, _ = ids(view)
    made = await view.diff(first, second)

    assert [len(made.ledger.before), len(made.ledger.after)] == [2, 3]
    with pytest.raises(ViewError, match="No checkpoint is selected"):
        await view.diff(first)


async def test_what_has_to_be_awaited_says_so_where_no_loop_runs(view: CheckpointView) -> None:
    """A script has no clicks. [NBK-08]"""
    view.select(ids(view)[0])

    with pytest.raises(ViewError, match="none runs here"):
        await asyncio.to_thread(view.act, "inspect")


@pytest.mark.parametrize("do", ["fork", "fork_to", "inspect", "diff", "export"])
async def test_nothing_can_be_done_with_nothing_selected(view: CheckpointView, do: str) -> None:
    """The error says what to do first. [NBK-08]"""
    with pytest.raises(ViewError, match="No checkpoint is selected"):
        view.act(do)


# ------------------------------------------------------------------------------------------- giving away


async def test_an_export_holds_everything_as_it_is_stored(view: CheckpointView, tmp_path: Path) -> None:
    """Messages, state and the types that they were saved under. [NBK-08]"""
    view.select(ids(view)[1])
    path = await view.export(path=tmp_path / "one.json")
    found = json.loads(path.read_text(encoding="ascii"))

    assert found["info"]["id"] == ids(view)[1]
    assert [one["json"]["role"] for one in found["messages"]] == ["system", "user", "assistant"]
    assert (found["output"], found["storage"]) == ({"json": "done"}, {"seen": {"json": ["To Beijing"]}})
    assert found["fingerprint"]["json"]["strategy"] == "trip"


async def test_bytes_that_are_no_exact_json_are_exported_as_they_are(
    view: CheckpointView, store: CountingCheckpoints, tmp_path: Path
) -> None:
    """What is in the store can be had back. [NBK-08]"""
    whole = await view.checkpoint(ids(view)[0])
    odd = replace(
        whole, info=replace(whole.info, session_id="odd", version=0), output=b'{"a": 1}', input=b"\xff"
    )
    await store.save_checkpoint("odd", odd)
    path = await kb.checkpoints(store, "odd").export(whole.info.id, tmp_path / "odd.json")
    found = json.loads(path.read_text(encoding="ascii"))

    assert found["output"] == {"base64": "eyJhIjogMX0="}
    assert found["input"] == {"base64": "/w=="}


async def test_an_export_never_overwrites(view: CheckpointView, tmp_path: Path) -> None:
    """What is there may be all that somebody has. [NBK-08]"""
    target = tmp_path / "one.json"
    target.write_text("mine", encoding="ascii")

    with pytest.raises(ViewError, match=r"exists already. Nothing was written. Give another path"):
        await view.export(ids(view)[0], target)
    assert target.read_text(encoding="ascii") == "mine"


async def test_a_click_exports_into_the_current_folder(
    view: CheckpointView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a name that says what it is. [NBK-08]"""
    monkeypatch.chdir(tmp_path)
    view.act("select", ids(view)[0])
    view.act("export")
    await settled()

    assert view.state.said == f"Written: checkpoint-{ids(view)[0]}.json"
    assert os.listdir(tmp_path) == [f"checkpoint-{ids(view)[0]}.json"]


async def test_a_data_frame_has_all_that_pass_with_typed_columns(agent: kb.Agent) -> None:
    """Of all pages, in the order of the table. [NBK-08]"""
    for number in range(45):
        await agent.run("again", f"chat-{number}")
    view = kb.checkpoints(agent, filter="-1", sort="version", descending=True)
    frame = view.to_dataframe()

    assert len(frame) == view.state.passed > 0
    assert list(frame["version"]) == sorted(frame["version"], reverse=True)
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert kinds["time"].startswith("datetime64[") and kinds["time"].endswith(", UTC]")  # noqa: PT018
    assert (kinds["tokens"], kinds["tombstone"], kinds["verdict"]) == ("int64", "bool", "category")
    assert kinds["id"].startswith("str")


async def test_a_data_frame_of_nothing_has_the_same_columns(view: CheckpointView, agent: kb.Agent) -> None:
    """What is built on it goes on working. [NBK-08]"""
    nothing = kb.checkpoints(agent, "chat-1", filter="nowhere").to_dataframe()

    assert len(nothing) == 0
    assert list(nothing.dtypes.astype(str)) == list(view.to_dataframe().dtypes.astype(str))
