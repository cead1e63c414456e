"""The public face, as a user writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb


@dataclass
class SavedState:
    """What a node keeps between two others."""

    customer: str
    count: int


STATE = kb.storage_key("state", SavedState)


async def weather(city: str) -> str:
    """The weather in a city, now."""
    return f"dry in {city}"


def trip_strategy(budget: int = 2_000) -> kb.Strategy:
    """The strategy of the documentation."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def prepare(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
        ctx.storage.set(STATE, SavedState("first", 42))
        return text

    compress = trip.compress_history(kb.WholeHistory(), name="compress")

    @trip.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            reply = await session.request_without_tools()
        return reply.text

    trip.start >> prepare >> answer >> trip.finish
    trip.edge(prepare, compress, when=kb.history_over(max_tokens=budget), label="over budget")
    compress >> answer
    return trip


LONG = " ".join(f"Museum {number} opens at {number}:30 and closes late on Friday." for number in range(9, 60))


@pytest.fixture
async def finished(in_folder: Path) -> tuple[kb.Agent, kb.Run]:
    """An agent with persistence after a run whose history was over the budget."""
    agent = kb.Agent(
        kb.ExtractiveExecutor(),
        model="offline",
        strategy=trip_strategy(budget=100),
        system_prompt="Plan short trips.",
        tools=[weather],
    )
    agent.install(kb.Persistence(storage=kb.SqliteCheckpoints()))
    run = await agent.run(LONG, session_id="chat-1")
    return agent, run


async def test_an_agent_runs_and_says_what_happened(finished: tuple[kb.Agent, kb.Run]) -> None:
    """Output, session, events, usage and report are there."""
    _, run = finished

    assert (run.session_id, run.resumed, bool(run.events), bool(run.usage)) == ("chat-1", False, True, True)
    assert run.output in str(run.prompt.messages[-1].text)
    assert "completed" in str(run.report())


async def test_the_checkpoints_are_in_the_folder_of_the_project(
    finished: tuple[kb.Agent, kb.Run], in_folder: Path
) -> None:
    """Without a path, the store is ``.koogbook/koogbook.db``."""
    assert (in_folder / ".koogbook/koogbook.db").is_file()


@pytest.fixture
async def views(finished: tuple[kb.Agent, kb.Run]) -> dict[str, kb.View[Any]]:
    """All four views of the run."""
    agent, run = finished
    return {
        "graph": kb.graph(run),
        "locks": kb.locks(run),
        "diff": kb.diff(run.compressions[0], must_keep=["Museum 9"]),
        "checkpoints": kb.checkpoints(agent, "chat-1"),
    }


@pytest.mark.parametrize("name", ["graph", "locks", "diff", "checkpoints"])
async def test_every_view_is_text_of_at_most_100_plain_columns(
    views: dict[str, kb.View[Any]], name: str
) -> None:
    """The text form is readable in any terminal and by a screen reader."""
    text = str(views[name])

    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 100


@pytest.mark.parametrize("name", ["graph", "locks", "diff", "checkpoints"])
async def test_every_view_is_html_that_survives_an_untrusted_notebook(
    views: dict[str, kb.View[Any]], name: str
) -> None:
    """Neither a style sheet nor an inline picture is needed: a notebook would take them out.

    The one rule in front turns it dark where it is trusted; all colours are in the elements themselves.
    """
    rule, _, html = views[name]._repr_mimebundle_()["text/html"].partition("</style>")

    assert "filter:invert" in rule
    assert [tag for tag in ("<style", "<svg", "<script", "<link") if tag in html] == []


@pytest.mark.parametrize("name", ["graph", "locks", "diff", "checkpoints"])
async def test_the_same_view_is_the_same_bytes(views: dict[str, kb.View[Any]], name: str) -> None:
    """Nothing random is in a picture."""
    view = views[name]

    assert (str(view), view.to_html("dark")) == (str(view), view.to_html("dark"))


async def test_a_view_can_be_saved_as_a_page(views: dict[str, kb.View[Any]], in_folder: Path) -> None:
    """One view alone is a page that opens in a browser."""
    page = views["graph"].save(in_folder / "graph.html")

    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_strategy_is_shown_before_it_has_run() -> None:
    """The graph of a strategy needs no run."""
    assert "nothing has run yet" in str(kb.graph(trip_strategy()))


async def test_a_history_is_compressed_outside_of_any_run() -> None:
    """``kb.compress`` gives the new prompt, one fate per message, and the difference."""
    history = kb.sample_transcript("travel")
    done = await kb.compress(history, kb.WholeHistory(), executor=kb.ExtractiveExecutor())

    assert len(done.ledger.fates) == len(history)
    assert len(done.prompt) < len(history)
    assert "Prompt diff" in str(done.diff())


async def test_a_difference_of_one_history_alone_is_refused() -> None:
    """The message says what to hand over."""
    with pytest.raises(TypeError, match="two histories"):
        kb.diff([kb.user("alone")])


async def test_storage_comes_back_typed_after_a_fork(finished: tuple[kb.Agent, kb.Run]) -> None:
    """A fork carries the storage of its checkpoint."""
    agent, _ = finished
    first = kb.SqliteCheckpoints().list_infos("chat-1")[0]
    await agent.fork("chat-1", first.id, to="chat-2")
    run = await agent.run(None, session_id="chat-2")

    assert run.storage.get_value(STATE) == SavedState("first", 42)


def test_views_of_an_agent_without_persistence_say_what_to_install() -> None:
    """The line to add is in the message."""
    agent = kb.Agent(kb.OfflineExecutor(), "offline")

    with pytest.raises(kb.errors.FeatureNotInstalledError, match=r"agent\.install\(kb\.Persistence"):
        kb.checkpoints(agent)


async def test_a_report_names_the_features_that_acted(finished: tuple[kb.Agent, kb.Run]) -> None:
    """What is installed and what did something are two things. [AGT-02]"""
    _, run = finished

    assert (run.installed, run.acted) == (("Persistence",), ("Persistence",))
    assert ("features", "acted: Persistence") in run.report().rows


async def test_a_report_names_the_features_that_did_nothing() -> None:
    """Persistence without a storage has changed nothing. [AGT-02]"""
    agent = kb.Agent(kb.OfflineExecutor(), "offline").install(kb.Persistence())
    run = await agent.run("hello")

    assert ("features", "changed nothing in the run: Persistence") in run.report().rows


@pytest.mark.parametrize(
    ("show", "message"),
    [
        (lambda: kb.diff(1, 2), "diff takes histories: .* not 1"),
        (
            lambda: kb.checkpoints(kb.strategy("trip")),
            "checkpoints takes an agent, or a store .* not <strategy 'trip'",
        ),
        (lambda: kb.checkpoints(kb.Agent), r"not the class Agent\. .* kb\.checkpoints\(agent, "),
        (lambda: kb.locks(3), "locks takes a run, or a sequence of events, not 3"),
        (lambda: kb.graph(3), "graph takes a strategy, a run or an agent, not 3"),
    ],
    ids=["diff", "checkpoints", "checkpoints of a class", "locks", "graph"],
)
def test_a_view_of_something_else_says_what_it_takes(show: Any, message: str) -> None:
    """One line, in the words of the view."""
    with pytest.raises(TypeError, match=message):
        show()
