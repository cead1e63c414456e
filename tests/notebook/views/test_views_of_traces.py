"""A trace opens again as the same views."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from traced_runs import crosser, journey, travelled, traveller

import koogbook as kb
from koogbook.agents.run import Run
from koogbook.agents.traced_run import load_run, run_of
from koogbook.errors import TraceError, ViewError
from koogbook.notebook.views.view import View

#: Each view of a run, with what is chosen in it.
VIEWS: dict[str, Callable[..., View[Any]]] = {
    "graph": kb.graph,
    "a node": lambda of, **more: kb.graph(of, selected="tell", **more),
    "locks": lambda of, **more: kb.locks(of, **more),
    "a moment": lambda of, **more: kb.locks(of, at=0.001, **more),
    "prompt": kb.prompt,
    "the first call": lambda of, **more: kb.prompt(of, 1, selected=2, **more),
    "the stream": lambda of, **more: kb.prompt(of, 3, off=["tools"], **more),
    "the compression": lambda of, **more: kb.prompt(of, 4, **more),
    "diff": lambda of, **more: kb.diff(of, selected="S1", **more),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a trace can be."""
    return tmp_path / "run.jsonl"


def words(text: str, path: Path) -> str:
    """The words of a text, but for the name of the file: the lock view says it, and breaks its first line for it."""
    return " ".join(text.split()).replace(f" {path.name} ", " ", 1)


@pytest.mark.parametrize("name", VIEWS)
async def test_a_trace_shows_what_its_run_shows(path: Path, name: str) -> None:
    """By its path, its events, or as a run: with a subgraph, tools, a stream and a compression. [AGT-03] [NBK-10]"""
    show, run = VIEWS[name], await travelled(traveller())
    shown = str(show(run))
    kb.save_trace(run, path)

    assert str(show(load_run(path))) == shown
    assert str(show(kb.load_trace(path))) == shown
    assert words(str(show(path)), path) == words(shown, path)
    assert words(str(show(str(path))), path) == words(shown, path)


@pytest.mark.parametrize("name", ["graph", "locks", "prompt"])
@pytest.mark.parametrize("make", [traveller, crosser])
@pytest.mark.parametrize("end", ["", "error", "wait"])
async def test_however_it_ended_a_trace_shows_it(path: Path, make: Any, end: str, name: str) -> None:
    """Failed and cancelled, and with branches. [AGT-03]"""
    show, run = VIEWS[name], await travelled(make(end=end))

    assert str(show(kb.load_trace(kb.save_trace(run, path)))) == str(show(run))


@pytest.mark.parametrize("name", VIEWS)
async def test_one_of_several_runs_is_shown(path: Path, name: str) -> None:
    """By its id. [AGT-03a]"""
    show = VIEWS[name]
    first, second = await travelled(traveller(end="error")), await travelled(traveller(), session_id="chat-2")
    kb.save_trace([*first.events, *second.events], path)

    assert words(str(show(path, run_id=second.run_id)), path) == words(str(show(second)), path)


@pytest.mark.parametrize("name", ["graph", "prompt", "diff"])
async def test_of_several_runs_one_has_to_be_named(path: Path, name: str) -> None:
    """The message lists them. [AGT-03a]"""
    first, second = await travelled(traveller()), await travelled(traveller())
    kb.save_trace([*first.events, *second.events], path)

    with pytest.raises(ViewError, match=f"of 2 runs. There is {first.run_id}, .*run_id=.* Nothing is shown"):
        VIEWS[name](path)


@pytest.mark.parametrize("name", ["graph", "prompt", "diff", "locks"])
async def test_a_run_that_is_not_in_the_trace_is_refused(path: Path, name: str) -> None:
    """With those that are. [AGT-03a]"""
    run = await travelled(traveller())
    kb.save_trace(run, path)

    with pytest.raises(ViewError, match=f"There is no run 'zzz' in these events. There is {run.run_id}"):
        VIEWS[name](path, run_id="zzz")


@pytest.mark.parametrize("name", ["graph", "prompt", "diff"])
def test_a_run_id_of_what_is_no_trace_is_refused(name: str) -> None:
    """A strategy or a history has no runs. [AGT-03a]"""
    with pytest.raises(TypeError, match="run_id='9f0c' is one of a trace's"):
        VIEWS[name](journey(), run_id="9f0c")


@pytest.mark.parametrize("name", ["graph", "prompt", "diff"])
def test_a_trace_of_nothing_is_refused(path: Path, name: str) -> None:
    """There is nothing to show. [AGT-03]"""
    kb.save_trace([], path)

    with pytest.raises(ViewError, match=r"run\.jsonl holds no event"):
        VIEWS[name](path)


@pytest.mark.parametrize("name", ["graph", "prompt", "diff", "locks"])
def test_a_file_that_is_no_trace_is_refused(path: Path, name: str) -> None:
    """By the error of the file. [AGT-03]"""
    path.write_text("hello", encoding="utf-8")

    with pytest.raises(TraceError, match=r"run\.jsonl is no trace"):
        VIEWS[name](path)


@pytest.mark.parametrize("name", ["graph", "prompt", "diff", "locks"])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path: Path, name: str, as_text: bool) -> None:
    """Whichever view it was for. [AGT-03]"""
    missing = tmp_path / "nope.jsonl"

    with pytest.raises(
        TraceError, match=r"There is no file '.*nope\.jsonl'\. Nothing is shown\. Check the path"
    ):
        VIEWS[name](str(missing) if as_text else missing)


@pytest.mark.parametrize("name", ["graph", "prompt", "diff", "locks"])
@pytest.mark.parametrize("run_id", [None, "9f0c"])
def test_a_name_of_a_file_that_is_not_there_is_taken_for_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, run_id: str | None
) -> None:
    """It ends as files do. [AGT-03]"""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TraceError, match=r"There is no file 'nope\.jsonl'"):
        VIEWS[name]("nope.jsonl", run_id=run_id)


@pytest.mark.parametrize("name", ["graph", "prompt", "diff", "locks"])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_folder_is_said_to_be_one(tmp_path: Path, name: str, as_text: bool) -> None:
    """It holds traces, perhaps, and is none. [AGT-03]"""
    with pytest.raises(TraceError, match=r"cannot be read: Is a directory\. Nothing was loaded"):
        VIEWS[name](str(tmp_path) if as_text else tmp_path)


def test_the_other_arguments_that_are_paths_are_looked_for_as_well() -> None:
    """The run of a graph, and the second history. [AGT-03]"""
    with pytest.raises(TraceError, match=r"There is no file 'nope\.jsonl'"):
        kb.graph(journey(), "nope.jsonl")
    with pytest.raises(TraceError, match=r"There is no file 'nope\.jsonl'"):
        kb.diff([kb.user("x")], "nope.jsonl")


@pytest.mark.parametrize("name", ["graph", "prompt", "diff"])
def test_a_text_that_is_no_path_is_refused_and_no_file_either(name: str) -> None:
    """Someone may have left out how it ends. [AGT-03]"""
    with pytest.raises(TypeError, match=r"There is no file 'nope'\."):
        VIEWS[name]("nope")


@pytest.mark.parametrize("path", ["a\0b.jsonl", "x" * 5_000 + ".jsonl"], ids=["NUL", "long"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    """By the error of the file. [AGT-03]"""
    with pytest.raises(TraceError, match="cannot be read"):
        kb.graph(path)


async def test_a_gap_of_a_trace_stands_over_its_locks(path: Path) -> None:
    """A view that tells of its file tells of that. [AGT-03]"""
    run = await travelled(traveller())
    kb.save_trace([*run.events[:10], *run.events[15:]], path)

    assert "! The trace of this run is not whole: " in str(kb.locks(path))


async def test_the_graph_of_a_strategy_takes_a_trace(path: Path) -> None:
    """Which is the way for one that does not hold the graph. [AGT-03]"""
    agent = traveller()
    run = await travelled(agent)
    kb.save_trace(run, path)

    assert str(kb.graph(agent.strategy, path)) == str(kb.graph(agent.strategy, run))


async def test_a_node_that_is_selected_is_there_as_its_shape(path: Path) -> None:
    """Its function is in no trace. [AGT-03]"""
    run = await travelled(traveller())
    selected = kb.graph(kb.load_trace(kb.save_trace(run, path)), selected="tell").selected

    assert selected is not None
    assert (selected.node.name, selected.visits, selected.last_output) == (
        "tell",
        1,
        "It rains in Bonn. Take a coat.",
    )


async def test_a_trace_that_ends_in_the_middle_goes_on_nowhere() -> None:
    """Nothing more comes, and a view of it does not wait. [AGT-03]"""
    back = run_of((await travelled(traveller())).events[:25])

    assert back.state == "running"
    assert not any(view.goes_on for view in (kb.graph(back), kb.locks(back), kb.prompt(back)))


async def test_a_trace_without_a_request_has_no_prompt() -> None:
    """It says so, as for a run. [AGT-03]"""
    back = run_of((await travelled(traveller())).events[:10])

    with pytest.raises(ViewError, match="has asked no model, so there is no prompt to show"):
        kb.prompt(back)


async def test_a_trace_without_a_compression_has_no_diff() -> None:
    """It says so, as for a run. [AGT-03]"""
    back = run_of((await travelled(traveller(end="error"))).events)

    with pytest.raises(ViewError, match="compressed nothing"):
        kb.diff(back)


async def test_a_run_out_of_a_trace_is_a_run() -> None:
    """Everything that takes one takes it. [AGT-03]"""
    assert isinstance(run_of((await travelled(traveller())).events), Run)
