"""Loading koogbook into a notebook, and taking it out again."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from notebook_cells import Cells

from koogbook.code_place import calling_place, defining_cell
from koogbook.notebook.magics.table import MAGICS

NODE = "@trip.node\nasync def plan(ctx, text): return text"


def registered(shell: InteractiveShell) -> tuple[Any, ...]:
    """Everything that an extension can register."""
    return (
        sorted(shell.magics_manager.magics["line"]),
        sorted(shell.magics_manager.magics["cell"]),
        list(shell.input_transformers_cleanup),
        list(shell.Completer.custom_matchers),
        {event: list(callbacks) for event, callbacks in shell.events.callbacks.items()},
    )


def test_importing_registers_nothing(shell: InteractiveShell) -> None:
    """Whoever imports the package gets no magic. [NBK-01]"""
    before = registered(shell)
    shell.run_cell("import koogbook as kb; kb.Strategy, kb.graph, kb.watch")

    assert registered(shell) == before


@pytest.mark.parametrize("magic", MAGICS, ids=lambda magic: magic.name)
def test_loading_registers_every_magic_of_the_table(cells: Cells, magic: Any) -> None:
    """None is in the table alone. [NBK-01]"""
    assert cells.shell.find_line_magic(magic.name) is not None
    assert (cells.shell.find_cell_magic(magic.name) is not None) == (magic.form != "line")


async def test_loading_twice_registers_once(cells: Cells) -> None:
    """``%load_ext`` stands in cells that are run again, and others call the function. [NBK-01]"""
    before = registered(cells.shell)
    await cells("%load_ext koogbook\nkb.load_ipython_extension(get_ipython())")

    assert registered(cells.shell) == before


async def test_unloading_takes_everything_back(shell: InteractiveShell) -> None:
    """After it the shell is what it was. [NBK-01]"""
    before = registered(shell)
    await Cells(shell)("%load_ext koogbook")
    await Cells(shell)("%unload_ext koogbook")

    assert registered(shell) == before


async def test_unloading_twice_is_no_mistake(cells: Cells) -> None:
    """There is nothing left to take back, and nothing is said. [NBK-01]"""
    await cells("kb.unload_ipython_extension(get_ipython()); kb.unload_ipython_extension(get_ipython())")

    assert cells.shell.find_line_magic("koog_graph") is None


async def test_reloading_works(cells: Cells) -> None:
    """``%reload_ext`` takes back and registers again. [NBK-01]"""
    before = registered(cells.shell)[:2]
    await cells("%reload_ext koogbook")

    assert registered(cells.shell)[:2] == before


async def test_unloading_ends_the_knowledge_of_cells(cells: Cells) -> None:
    """What is defined later belongs to no cell. [NBK-01]"""
    await cells("%unload_ext koogbook")
    await cells(f"trip = kb.strategy('trip')\n{NODE}", id="a")

    assert (cells["plan"].cell, cells["plan"].place.startswith("cell ")) == (None, False)


async def test_a_node_knows_its_cell(cells: Cells) -> None:
    """By the front end's id, and by the name that the page shows. [KB-139]"""
    await cells("trip = kb.strategy('trip')", id="a")
    await cells(NODE, id="b")

    assert (cells["plan"].cell.id, cells["plan"].cell.name, cells["plan"].place) == (
        "b",
        "cell 3",
        "cell 3:1",
    )


async def test_a_cell_without_an_id_is_no_cell(cells: Cells) -> None:
    """A front end that gives no ids gets what plain Python does; places are still those of cells. [KB-139]"""
    await cells("trip = kb.strategy('trip')")
    await cells(NODE)

    assert (cells["plan"].cell, cells["plan"].place) == (None, "cell 3:1")


async def test_no_cell_is_running_between_cells(cells: Cells) -> None:
    """A callback that comes later belongs to none. [KB-139]"""
    await cells("1", id="a")

    assert defining_cell() is None
    assert calling_place().startswith("test_extension.py:")


async def test_a_cell_that_failed_is_over_too(cells: Cells) -> None:
    """The next one is not taken for a part of it. [KB-139]"""
    await cells.run("1 / 0", id="a")
    await cells("trip = kb.strategy('trip')\n" + NODE, id="b")

    assert cells["plan"].cell.id == "b"


async def test_code_that_a_cell_runs_by_another_magic_belongs_to_that_cell(cells: Cells) -> None:
    """``%%capture`` runs its body as a cell of its own; it is still one cell. [KB-139]"""
    await cells("trip = kb.strategy('trip')", id="a")
    await cells(f"%%capture\n{NODE}", id="b")
    first = cells["plan"].cell
    await cells("%%capture\n1", id="b")

    assert (first.id, "plan" in cells["trip"].nodes) == ("b", False)


async def test_a_deleted_cell_lets_go_of_its_nodes(cells: Cells) -> None:
    """The front end tells which cells are gone; another cell may then define the node. [KB-139]"""
    await cells("trip = kb.strategy('trip')", id="a")
    await cells(NODE, id="b")
    cells.shell.get_parent = lambda: {"metadata": {"deletedCells": ["b"]}}  # type: ignore[attr-defined]
    await cells(NODE, id="c")

    assert cells["plan"].cell.id == "c"


async def test_running_a_cell_again_replaces_its_node(cells: Cells) -> None:
    """The new body runs, the edges stay, and one line says so. [KB-139]"""
    await cells("trip = kb.strategy('trip')", id="a")
    await cells(NODE, id="b")
    await cells("trip.start >> plan >> trip.finish", id="c")
    await cells(NODE.replace("return text", "return text + '!'"), id="b")

    run = await cells("run = await kb.Agent(kb.OfflineExecutor(), 'offline', trip).run('now')\nrun")

    assert (run.output, cells["trip"].changes) == ("now!", ["node plan redefined"])


async def test_two_cells_cannot_define_one_node(cells: Cells) -> None:
    """Never two nodes, never the stale body: the error names both cells. [KB-139]"""
    await cells("trip = kb.strategy('trip')", id="a")
    await cells(NODE, id="b")
    result = await cells.run(NODE, id="c")

    assert type(result.error_in_exec).__name__ == "RedefinitionError"
    assert all(name in str(result.error_in_exec) for name in ("cell 3:1", "cell 4:1"))


async def test_what_a_cell_does_not_define_any_more_is_withdrawn(cells: Cells) -> None:
    """A renamed node does not stay behind under its old name. [KB-139]"""
    await cells("trip = kb.strategy('trip')", id="a")
    await cells(NODE, id="b")
    await cells(NODE.replace("plan", "answer"), id="b")

    assert list(cells["trip"].nodes) == ["start", "finish", "answer"]
