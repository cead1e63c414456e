"""Making the views of a saved notebook static: what goes, what stays, and what is refused."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_files import STATE, VIEW, cell, live, model, notebook, save, shown, text_cell

from koogbook.errors import NotebookFileError
from koogbook.notebook.frozen import freeze, freeze_file, write_whole


def state_of(content: dict[str, Any]) -> set[str]:
    """The names of the widget models of a notebook."""
    return set(content["metadata"].get("widgets", {}).get(STATE, {}).get("state", {}))


def test_a_live_view_becomes_its_html_and_text() -> None:
    """The widget goes; what stands beside it stays, with the mark that says whose it is. [NBK-10a]"""
    output = freeze(live()).notebook["cells"][1]["outputs"][0]

    assert output == shown("")


def test_the_widget_state_of_a_frozen_view_is_gone_with_its_layout() -> None:
    """A notebook without a widget has no widget state, so that no reader asks for one. [NBK-10a]"""
    frozen = freeze(live())

    assert (frozen.models, "widgets" in frozen.notebook["metadata"]) == (2, False)


def test_what_was_frozen_is_named_with_its_cell() -> None:
    """Cells are counted from 1, text cells too."""
    assert [str(view) for view in freeze(live()).views] == ["cell 2 (Strategy graph)"]


def test_everything_else_stays_as_it_was() -> None:
    """Freezing is the removal of one entry per view and of its models, and nothing else. [NBK-10a]"""
    before = notebook(text_cell("a"), cell(shown("v"), shown("x", view=None)), kernelspec={"name": "python3"})
    expected = copy.deepcopy(before)
    del expected["cells"][1]["outputs"][0]["data"][VIEW]

    assert freeze(before).notebook == expected


def test_the_notebook_that_is_handed_in_is_not_changed() -> None:
    """Freezing gives a new notebook."""
    before = live()
    freeze(before)

    assert before == live()


def test_a_second_freeze_finds_nothing() -> None:
    """A frozen notebook is its own frozen form. [NBK-10a]"""
    once = freeze(live())
    twice = freeze(once.notebook)

    assert (twice.changed, twice.notebook) == (False, once.notebook)


@pytest.mark.parametrize("html", [None, "", [], [" \n"], {"not": "text"}])
def test_a_view_without_html_stays_live_and_is_named(html: Any) -> None:
    """Without something to show instead, taking the widget away would leave a hole."""
    before = notebook(cell(shown("v", html=html)), models={"v": model(ours=True)})
    frozen = freeze(before)

    assert (frozen.notebook, frozen.changed) == (before, False)
    assert [str(view) for view in frozen.without_html] == ["cell 1 (Strategy graph)"]


def test_html_in_lines_is_html() -> None:
    """Jupyter saves texts as lists of lines."""
    assert len(freeze(notebook(cell(shown("v", html=["<p>\n", "</p>"])))).views) == 1


def test_foreign_widgets_stay_and_are_counted() -> None:
    """A widget of another library is not koogbook's to change. [NBK-10a]"""
    before = notebook(
        cell(shown("v"), shown("x", view=None)),
        models={"v": model("l", ours=True), "l": model(), "x": model("xl"), "xl": model()},
    )
    frozen = freeze(before)

    assert (frozen.foreign, frozen.models, state_of(frozen.notebook)) == (1, 2, {"x", "xl"})
    assert VIEW in frozen.notebook["cells"][0]["outputs"][1]["data"]


@pytest.mark.parametrize(
    "models",
    [
        {"v": model("l", ours=True), "l": model(), "x": model("l")},
        {"v": model("m", ours=True), "m": model("l"), "l": model(), "x": model("l")},
    ],
    ids=["at once", "by another"],
)
def test_a_layout_that_a_foreign_widget_uses_stays(models: dict[str, Any]) -> None:
    """What something else refers to is not taken away."""
    frozen = freeze(notebook(cell(shown("v"), shown("x", view=None)), models=models))

    assert state_of(frozen.notebook) == {"x", "l"}


def test_a_view_inside_a_foreign_box_keeps_its_model() -> None:
    """The box would show an error without it."""
    models = {"v": model("l", ours=True), "l": model(), "box": model("v")}
    frozen = freeze(notebook(cell(shown("v"), shown("box", view=None)), models=models))

    assert (len(frozen.views), state_of(frozen.notebook)) == (1, {"v", "l", "box"})


def test_a_view_inside_an_output_widget_keeps_its_model() -> None:
    """An output widget names what it holds by the bare id."""
    inside = model(outputs=[shown("v")])
    frozen = freeze(notebook(cell(shown("v"), shown("out", view=None)), models={"v": model(), "out": inside}))

    assert state_of(frozen.notebook) == {"v", "out"}


def test_a_model_that_a_live_view_shows_too_stays() -> None:
    """One view shown twice, once without HTML: that place still needs it."""
    frozen = freeze(notebook(cell(shown("v"), shown("v", html=None)), models={"v": model(ours=True)}))

    assert (len(frozen.views), state_of(frozen.notebook)) == (1, {"v"})


def test_models_of_views_whose_outputs_are_gone_are_taken_out() -> None:
    """What a cleared cell showed is not shared by way of the widget state."""
    frozen = freeze(notebook(cell(), models={"v": model("l", ours=True), "l": model(), "x": model()}))

    assert (frozen.changed, frozen.models, state_of(frozen.notebook)) == (True, 2, {"x"})


def test_models_that_refer_to_each_other_go_together() -> None:
    """A circle of references keeps nothing alive."""
    models = {"v": model("l", ours=True), "l": model("v")}

    assert freeze(notebook(cell(shown("v")), models=models)).models == 2


@pytest.mark.parametrize(
    "widgets", [None, [], {}, {STATE: None}, {STATE: {}}, {STATE: {"state": []}}, {"other": {"v": {}}}]
)
def test_widget_state_in_another_form_is_left_alone(widgets: Any) -> None:
    """Other front ends write it differently; the view is made static all the same."""
    frozen = freeze(notebook(cell(shown("v")), widgets=widgets))

    assert (len(frozen.views), frozen.notebook["metadata"]["widgets"]) == (1, widgets)


@st.composite
def notebooks(draw: st.DrawFn) -> dict[str, Any]:
    """Notebooks with any mixture of views and widgets whose models refer to each other in any way."""
    names = list("abcdef")
    some = st.lists(st.sampled_from(names), max_size=3)
    models = {name: model(*draw(some), ours=draw(st.booleans())) for name in names}
    outputs = st.builds(
        shown,
        st.sampled_from(names),
        view=st.sampled_from([None, "Lock view"]),
        html=st.sampled_from([None, "<p>"]),
    )
    return notebook(*(cell(*draw(st.lists(outputs, max_size=3))) for _ in range(2)), models=models)


@given(notebooks())
def test_what_is_still_shown_finds_all_its_models(content: dict[str, Any]) -> None:
    """No widget that stays loses a model, however they hang together. [NBK-10a]"""
    after = freeze(content).notebook
    saved = after["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})
    waiting = [
        output["data"][VIEW]["model_id"]
        for one in after["cells"]
        for output in one["outputs"]
        if VIEW in output["data"]
    ]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [
                str(other).removeprefix("IPY_MODEL_")
                for other in content["metadata"]["widgets"][STATE]["state"][name]["state"].values()
                if str(other).startswith("IPY_MODEL_")
            ]

    assert needed <= set(saved)


@given(notebooks())
def test_freezing_twice_is_freezing_once(content: dict[str, Any]) -> None:
    """The second time there is nothing left to do. [NBK-10a]"""
    once = freeze(content)

    assert freeze(once.notebook).changed is False


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "the number 'nbformat' is missing"),
        ({"nbformat": "4"}, "the number 'nbformat' is missing"),
        ({"nbformat": 3, "worksheets": []}, "format 3"),
        ({"nbformat": 5, "cells": []}, "Update koogbook"),
        ({"nbformat": 4, "metadata": {}}, "cells"),
        ({"nbformat": 4, "metadata": {}, "cells": {}}, r"\$\.cells"),
        ({"nbformat": 4, "metadata": {}, "cells": ["x"]}, r"\$\.cells\[0\]"),
        ({"nbformat": 4, "metadata": {}, "cells": [{"outputs": [{"data": 1}]}]}, r"outputs\[0\]\.data"),
    ],
)
def test_what_is_no_notebook_is_refused(content: dict[str, Any], words: str) -> None:
    """The message says what is wrong and where, and that nothing was changed."""
    with pytest.raises(NotebookFileError, match=words) as problem:
        freeze(content)

    assert "Nothing was changed." in str(problem.value)


# ------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b"", "no readable JSON"),
        (b"\xff\xfe", "no readable JSON"),
        (b"{", "no readable JSON"),
        (b"[]", "is no notebook"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice"),
        (b'{"a": 1e999}', "too large"),
        (b"[" * 200_000, "no readable JSON"),
    ],
)
def test_a_file_that_cannot_be_read_or_written_back_is_refused(
    tmp_path: Path, written: bytes, words: str
) -> None:
    """A file is never repaired or shortened by the way."""
    file = tmp_path / "trip.ipynb"
    file.write_bytes(written)

    with pytest.raises(NotebookFileError, match=words):
        freeze_file(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A wrong path is said in one sentence."""
    with pytest.raises(NotebookFileError, match=r"gone\.ipynb cannot be read \(No such file"):
        freeze_file(tmp_path / "gone.ipynb")


def test_an_error_in_the_content_names_the_file(tmp_path: Path) -> None:
    """With many files one has to know which."""
    with pytest.raises(NotebookFileError, match=r"old\.ipynb: It is a notebook of format 3"):
        freeze_file(save(tmp_path / "old.ipynb", {"nbformat": 3}))


def test_a_frozen_file_has_the_bytes_that_jupyter_writes(tmp_path: Path) -> None:
    """Another tool that saves the frozen notebook makes no difference of form. [NBK-10a]"""
    _, content = freeze_file(save(tmp_path / "live.ipynb", live()))
    other = save(tmp_path / "other.ipynb", freeze(live()).notebook)

    assert content == other.read_bytes()


def test_order_of_keys_and_indent_stay(tmp_path: Path) -> None:
    """Other editors write in their own form; a difference shows the frozen views and nothing else."""
    before, after = live(), freeze(live()).notebook
    file = tmp_path / "live.ipynb"
    file.write_text(json.dumps(dict(reversed(before.items())), indent=2) + "\n", encoding="utf-8")
    _, content = freeze_file(file)

    assert content.decode() == json.dumps(dict(reversed(after.items())), indent=2) + "\n"


def test_text_of_any_kind_stays_itself(tmp_path: Path) -> None:
    """Halves of characters, controls, big numbers and NaN come back as they were."""
    odd = "\ud83c \x00 花生 \u2028 </script>"
    before = {**live(), "extra": [odd, 10**30, 0.1, -0.0]}
    file = tmp_path / "live.ipynb"
    file.write_text(json.dumps(before), encoding="utf-8")
    _, content = freeze_file(file)

    assert json.loads(content)["extra"] == before["extra"]


def test_a_file_without_live_views_gives_its_own_bytes(tmp_path: Path) -> None:
    """Nothing to freeze: nothing to write anew, not even spaces."""
    file = tmp_path / "plain.ipynb"
    file.write_text(json.dumps(notebook(cell())), encoding="utf-8")

    assert freeze_file(file)[1] == file.read_bytes()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves the file as it was, and no half file beside it."""
    file = tmp_path / "trip.ipynb"
    file.write_bytes(b"before")

    def full(handle: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_whole(file, b"after", like=file)

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("trip.ipynb", b"before")]


def test_a_file_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path) -> None:
    """What others may read before, they may read after."""
    file = tmp_path / "real.ipynb"
    file.write_bytes(b"before")
    file.chmod(0o640)
    link = tmp_path / "link.ipynb"
    link.symlink_to(file)
    write_whole(link, b"after", like=link)

    assert (link.is_symlink(), file.read_bytes(), file.stat().st_mode & 0o777) == (True, b"after", 0o640)
