"""A view, or the picture of a graph, as a file: written whole, or not at all and told why."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.notebook.views.graph_view.export import export_graph

Saving = Callable[[Any], Path]


def trip() -> kb.Strategy[Any, Any]:
    """A strategy with an edge."""
    made = kb.strategy("trip")
    made.start >> made.finish
    return made


#: What writes a file, with a suffix that it takes.
WAYS: dict[str, tuple[Saving, str]] = {
    "a page": (lambda path: kb.graph(trip()).save(path), ".html"),
    "a picture": (lambda path: export_graph(trip(), path), ".svg"),
    "a text": (lambda path: export_graph(trip(), path), ".dot"),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[Saving, str]:
    """Each of them."""
    return WAYS[request.param]


def test_a_file_is_written_and_replaced(tmp_path: Path, way: tuple[Saving, str]) -> None:
    """And nothing else is left beside it. [NBK-10] [GRA-13]"""
    save, suffix = way
    target = tmp_path / f"x{suffix}"
    target.write_text("old", encoding="utf-8")

    assert save(str(target)) == target
    assert target.stat().st_size > 50
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a\0b{}", r"cannot be written: embedded null byte\. Nothing was written\. Choose another place"),
        ("x" * 5_000 + "{}", r"cannot be written: File name too long\. Nothing was written"),
        (
            "nope/x{}",
            r"There is no folder '.*nope' to write 'x\..*' to\. Nothing was written\. Make it first",
        ),
        ("folder{}", r"is a folder\. Nothing was written\. Give the path of a file"),
        ("pipe{}", r"is no regular file\. Nothing was written"),
        ("a\0b/x{}", r"There is no folder .*Nothing was written"),
    ],
    ids=["NUL", "long", "no folder", "a folder", "a pipe", "NUL in a folder"],
)
def test_what_cannot_be_written_is_told(
    tmp_path: Path, way: tuple[Saving, str], name: str, message: str
) -> None:
    """What happened, that nothing was written, and what to do. [NBK-10] [GRA-13]"""
    save, suffix = way
    (tmp_path / f"folder{suffix}").mkdir()
    os.mkfifo(tmp_path / f"pipe{suffix}")

    with pytest.raises(ViewError, match=message):
        save(tmp_path / name.format(suffix))
    assert {path.name for path in tmp_path.iterdir()} == {f"folder{suffix}", f"pipe{suffix}"}


def test_an_empty_path_is_told(way: tuple[Saving, str]) -> None:
    """It is none. [NBK-10] [GRA-13]"""
    with pytest.raises(ViewError, match=r"The path is empty\. Nothing was written"):
        way[0]("")


@pytest.mark.parametrize("given", [None, 3, b"x.html"])
def test_what_is_no_path_is_told(way: tuple[Saving, str], given: Any) -> None:
    """A view is saved to a path. [NBK-10] [GRA-13]"""
    with pytest.raises(TypeError, match=re.escape(f"not {given!r}") + r".*Nothing was written"):
        way[0](given)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder that takes no file")
def test_a_place_that_takes_no_file_is_told(way: tuple[Saving, str]) -> None:
    """In the words of the system. [NBK-10] [GRA-13]"""
    with pytest.raises(ViewError, match=r"cannot be written: .+ Nothing was written"):
        way[0](f"/proc/x{way[1]}")


def test_what_breaks_off_leaves_the_old_file(
    tmp_path: Path, way: tuple[Saving, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there whole, or as it was. [NBK-10] [GRA-13]"""
    save, suffix = way
    target = tmp_path / f"x{suffix}"
    target.write_text("old", encoding="utf-8")

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ViewError, match="No space left on device"):
        save(target)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["v.png", "v.svg", "v.pdf", "v", "v.html.gz"])
def test_a_page_is_not_written_under_another_suffix(tmp_path: Path, name: str) -> None:
    """It would be none of what the name says; of a graph it is named what is. [NBK-10]"""
    with pytest.raises(
        ViewError, match=r"Nothing was written\. It writes a page, \.html or \.htm\. .*export_graph"
    ):
        kb.graph(trip()).save(tmp_path / name)
    with pytest.raises(ViewError, match=r"It writes a page, \.html or \.htm\.\Z"):
        kb.prompt([kb.user("x")]).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["v.HTML", "v.htm"])
def test_a_page_has_a_suffix_of_one(tmp_path: Path, name: str) -> None:
    """Large or small. [NBK-10]"""
    assert kb.prompt([kb.user("x")]).save(tmp_path / name).read_bytes().startswith(b"<!doctype html>")
