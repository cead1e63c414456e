"""What a magic is about where its line does not say."""

from __future__ import annotations

import gc

import pytest
from notebook_cells import Cells, edges


async def test_the_only_strategy_is_the_current_one(cells: Cells) -> None:
    """Also when plain Python has made it, under two names. [NBK-02]"""
    await cells("trip = same = kb.strategy('trip')")
    await cells("%koog_edge start >> finish")

    assert edges(cells["trip"]) == ["start >> finish"]


async def test_of_several_strategies_one_has_to_be_named(cells: Cells) -> None:
    """All of them are listed. [NBK-02]"""
    await cells("a = kb.strategy('a'); b = kb.strategy('b')")
    message = await cells.refused("%koog_edge start >> finish")
    await cells("%koog_edge start >> finish --strategy b")

    assert message == (
        "%koog_edge: There are several: a, b. Nothing was changed. Say which strategy is meant: --strategy NAME"
    )
    assert (edges(cells["a"]), edges(cells["b"])) == ([], ["start >> finish"])


async def test_without_a_strategy_it_is_said_how_to_make_one(cells: Cells) -> None:
    """The line to write. [NBK-02]"""
    assert await cells.refused("%koog_graph") == (
        "%koog_graph: There is no strategy yet. Nothing was changed. "
        "Make one: %koog_strategy trip --input str --output str"
    )


async def test_the_strategy_made_last_is_the_current_one(cells: Cells) -> None:
    """Until another one is made, or the magic is run for one that is there. [NBK-02]"""
    await cells("%koog_strategy a\n%koog_strategy b\n%koog_edge start >> finish\n%koog_strategy a")
    await cells("%koog_edge start >> finish --label second")

    assert (edges(cells["a"]), edges(cells["b"])) == (["start >> finish (second)"], ["start >> finish"])


@pytest.mark.parametrize("cell", ["trip = kb.strategy('trip')", "trip = 3", "del trip"])
async def test_a_variable_that_holds_another_strategy_by_now_is_noticed(cells: Cells, cell: str) -> None:
    """Neither the old nor the new one is taken without a word. [NBK-02]"""
    await cells("%koog_strategy trip")
    await cells(f"{cell}\nOut.clear(); _ = __ = ___ = None")
    gc.collect()

    assert await cells.refused("%koog_edge start >> finish") == (
        "%koog_edge: The current strategy is no longer what the variable trip holds. Nothing was changed. "
        "Say which one is meant: --strategy trip, or run %koog_strategy again."
    )


async def test_a_forgotten_strategy_is_not_kept_alive(cells: Cells) -> None:
    """What is current is held weakly. [NBK-02]"""
    await cells(
        "import weakref\n%koog_strategy big\nbig = weakref.ref(big)\nOut.clear(); _ = __ = ___ = None"
    )
    await cells("%koog_strategy trip")
    gc.collect()

    assert cells["big"]() is None
