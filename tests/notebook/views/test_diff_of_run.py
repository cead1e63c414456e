"""The prompt diff of a run: one of its compressions, and the way to the others."""

from __future__ import annotations

from typing import Any

import pytest
from diff_stories import LEDGER, talk
from msgspec.structs import replace

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.notebook.views.look.markup import live_tree


async def run_of(*, compressions: int) -> kb.Run:
    """A run that says much and compresses it so many times."""
    trip = kb.strategy("trip", input=str, output=str)
    last: Any = trip.start
    for number in range(compressions):

        async def talk_much(ctx: kb.Context, text: str) -> str:
            async with ctx.llm.write_session() as session:
                for place in range(12):
                    session.append(
                        kb.user(f"Museum {text}-{place} is open. It is large. It costs {place} yuan.")
                    )
            return f"{text}1"

        node = trip.node(talk_much, name=f"talk-{number}")
        compress = trip.compress_history(kb.WholeHistory(), name=f"compress-{number}")
        last >> node >> compress
        last = compress
    last >> trip.finish
    agent = kb.Agent(kb.ExtractiveExecutor(), model="offline", strategy=trip, system_prompt="Plan trips.")
    return await agent.run("0", session_id="chat-1")


@pytest.fixture
async def run() -> kb.Run:
    """A run with two compressions."""
    return await run_of(compressions=2)


def live(view: kb.View[Any]) -> str:
    """The live form."""
    return str(live_tree(view.live_element(view.element)))


def test_the_diff_of_a_run_is_that_of_its_last_compression(run: kb.Run) -> None:
    """It is the one that just happened. [NBK-07]"""
    view = kb.diff(run)

    assert view.ledger is run.compressions[1]
    assert view.state.name == "trip, compression 2 of 2"


def test_any_compression_of_a_run_can_be_named(run: kb.Run) -> None:
    """They count from 1, as in the name of the view. [NBK-07]"""
    view = kb.diff(run, compression=1)

    assert view.ledger is run.compressions[0]
    assert "Prompt diff  trip, compression 1 of 2" in str(view)


def test_the_live_view_of_a_run_has_its_compressions_to_choose_from(run: kb.Run) -> None:
    """With what each of them did. [NBK-07]"""
    view = kb.diff(run)

    assert [word.partition(" \u00b7 ")[0] for word in view.state.compressions] == ["1 of 2", "2 of 2"]
    assert "'data-do': 'compression'" in live(view)
    assert "'data-do': 'compression'" not in live(kb.diff(run.compressions[0]))


def test_choosing_a_compression_shows_it_with_its_own_selection(run: kb.Run) -> None:
    """A selection belongs to a ledger: message 3 of another one is another message. [NBK-07]"""
    view = kb.diff(run, selected="before:3", must_keep=["Museum 0-7 "])
    view.act("compression", "1")

    assert (view.state.name, view.state.selected) == ("trip, compression 1 of 2", None)
    assert view.state.facts[0].found != "never there"


def test_a_view_of_the_chosen_compression_is_followed(run: kb.Run) -> None:
    """The choice changes what the view is of, and so what it has in common with others. [NBK-11]"""
    view, other = kb.diff(run), kb.diff(run.compressions[0])
    view.act("compression", "1")
    other.act("select", "before:2")

    assert view.state.selected == 2


@pytest.mark.parametrize("number", [0, 3, -1])
def test_a_compression_that_there_is_not_is_refused(run: kb.Run, number: int) -> None:
    """The message says which there are. [NBK-07]"""
    with pytest.raises(ViewError, match=rf"'chat-1' has 2 compressions and no {number}: there are 1 to 2\."):
        kb.diff(run, compression=number)


def test_a_compression_that_there_is_not_cannot_be_chosen(run: kb.Run) -> None:
    """And the view stays as it was. [NBK-07]"""
    view = kb.diff(run)
    with pytest.raises(ViewError, match="there are 1 to 2"):
        view.act("compression", "third")

    assert view.ledger is run.compressions[1]


async def test_a_run_that_compressed_nothing_has_no_diff() -> None:
    """The message says what compresses, and what else can be compared. [NBK-07]"""
    run = await run_of(compressions=0)
    with pytest.raises(ViewError, match=r"compressed nothing.*kb\.history_over.*kb\.diff\(before, after\)"):
        kb.diff(run)


def test_two_runs_are_compared_by_their_prompts(run: kb.Run) -> None:
    """A run stands for what it ended with. [NBK-07]"""
    state = kb.diff(talk(3), run).state

    assert state.messages_after == len(run.prompt)


@pytest.mark.parametrize("of", [replace(LEDGER), talk(2)], ids=["ledger", "history"])
def test_only_a_run_has_compressions_to_name(of: Any) -> None:
    """A number would mean nothing there. [NBK-07]"""
    with pytest.raises(TypeError, match=r"kb\.diff\(run, compression=1\)"):
        kb.diff(of, talk(1), compression=1)


def test_a_view_of_one_ledger_has_no_other_compression() -> None:
    """The message says how to see all of them. [NBK-07]"""
    with pytest.raises(ViewError, match=r"All of a run: kb\.diff\(run\)"):
        kb.diff(replace(LEDGER)).act("compression", "1")
