"""The graph of a strategy, or of a run, as a file."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.notebook.views.graph_view.curves import commands_of
from koogbook.notebook.views.graph_view.export import export_graph
from koogbook.notebook.views.look.glyphs import GLYPHS
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.look.styles import TOKENS
from koogbook.runtime.builder import Strategy
from koogbook.runtime.parallel.merges import fold

NAME = 'a "q" <b>& \U0001f600 \u4f60\u597d \u05e9\u05dc\u05d5\u05dd $x^2$'


def made() -> Strategy[Any, Any]:
    """A strategy with a block, a condition and a name that nobody would choose."""
    trip = kb.strategy("trip")
    block = trip.parallel("offers", merge=fold("", lambda total, one: total + one))

    async def same(ctx: Any, value: Any) -> Any:
        return value

    block.node(same, name=NAME)
    block.node(same, name="other")
    trip.start >> block >> trip.finish
    trip.edge(block, block, when=lambda value: False, label=NAME)
    return trip


@pytest.mark.parametrize("suffix", ["svg", "png", "mmd", "dot", "json"])
def test_the_same_strategy_gives_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    """So that a file changes only where the strategy has [GRA-13]."""
    trip = made()
    first = export_graph(trip, tmp_path / f"a.{suffix}").read_bytes()

    assert first == export_graph(trip, str(tmp_path / f"b.{suffix}")).read_bytes()
    assert len(first) > 200


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_is_the_picture_with_its_paper(theme: Any, tmp_path: Path) -> None:
    """Two dots a px, the paper of the theme in the corners, something drawn in it [GRA-13]."""
    pixels = imread(export_graph(made(), tmp_path / "a.png", theme=theme))
    svg = ElementTree.fromstring(export_graph(made(), tmp_path / "a.svg", theme=theme).read_bytes())
    paper = [int(TOKENS[theme]["paper"][at : at + 2], 16) for at in (1, 3, 5)]

    assert pixels.shape[1] == pytest.approx(2 * float(svg.attrib["width"]), abs=2)
    assert pixels.shape[0] == pytest.approx(2 * float(svg.attrib["height"]), abs=2)
    assert [round(255 * one) for one in pixels[0, 0, :3]] == paper
    assert len({tuple(one) for one in pixels.reshape(-1, pixels.shape[2])}) > 10


async def test_a_run_is_exported_with_what_happened_in_it(tmp_path: Path) -> None:
    """A picture of it is another one; the forms without states are the strategy's [GRA-13]."""
    trip = made()
    run = await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("x")

    assert b"visited" in export_graph(run, tmp_path / "run.svg").read_bytes()
    assert (
        export_graph(run, tmp_path / "run.png").read_bytes()
        != export_graph(trip, tmp_path / "a.png").read_bytes()
    )
    assert export_graph(run, tmp_path / "run.dot").read_text(encoding="utf-8") == trip.to_dot()
    assert json.loads(export_graph(run, tmp_path / "run.json").read_bytes())["name"] == "trip"


@pytest.mark.parametrize("name", ["graph", "graph.pdf", "graph.svg.gz"])
def test_another_suffix_is_refused_with_those_there_are(name: str, tmp_path: Path) -> None:
    """Nothing was written [GRA-13]."""
    with pytest.raises(ViewError, match=r"\.svg, \.png, \.mmd, \.dot, \.json"):
        export_graph(made(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    """As by ``kb.graph`` [GRA-13]."""
    with pytest.raises(TypeError, match="a strategy, a run or an agent"):
        export_graph("trip", tmp_path / "a.svg")
    with pytest.raises(ViewError, match="'light' or 'dark'"):
        export_graph(made(), tmp_path / "a.svg", theme="blue")  # type: ignore[arg-type]


def test_every_mark_can_be_painted() -> None:
    """The painter knows each command of each path that the marks are made of [GRA-13]."""
    paths = [part.attributes["d"] for parts in GLYPHS.values() for part in parts if "d" in part.attributes]

    assert isinstance(GLYPHS["done"][0], Element)
    assert all(len(commands_of(path)) > 1 for path in paths)


def test_an_outline_is_followed_point_by_point() -> None:
    """Relative and absolute commands, and further numbers that repeat one."""
    points = [point for _, point in commands_of("M1 1l2 0 0 2H1v-1Q2 2 3 3z")]

    assert points == [(1, 1), (3, 1), (3, 3), (1, 3), (1, 2), (2, 2), (3, 3), (1, 1)]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    """And so are arguments in the wrong order; nothing is written [GRA-13]."""
    with pytest.raises(ViewError, match=r"There is no folder .*nope.*Nothing was written"):
        export_graph(made(), tmp_path / "nope" / "x.svg")
    with pytest.raises(TypeError, match=r"and then the path of the file, not <strategy"):
        export_graph("x.svg", made())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
