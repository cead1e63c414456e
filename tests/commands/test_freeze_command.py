"""``koogbook freeze``: what it prints, what it writes, and with which exit code it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from notebook_files import cell, live, model, notebook, save, shown

from koogbook.cli import main
from koogbook.notebook.frozen import freeze

Captured = pytest.CaptureFixture[str]


def test_a_live_notebook_is_frozen_in_place(in_folder: Path, capsys: Captured) -> None:
    """The command says what it did and where. [NBK-10a]"""
    file = save(in_folder / "trip.ipynb", live())
    code = main(["freeze", "trip.ipynb"])

    assert code == 0
    assert capsys.readouterr().out == (
        "trip.ipynb: 1 view made static: cell 2 (Strategy graph); 2 widget models taken out\n"
    )
    assert file.read_bytes() == save(in_folder / "expected.ipynb", freeze(live()).notebook).read_bytes()


def test_a_second_freeze_does_not_write(in_folder: Path, capsys: Captured) -> None:
    """A file that is frozen keeps its time, too. [NBK-10a]"""
    file = save(in_folder / "trip.ipynb", live())
    main(["freeze", "trip.ipynb"])
    before = file.stat()
    code = main(["freeze", "trip.ipynb"])

    assert (code, capsys.readouterr().out.split("\n")[1]) == (0, "trip.ipynb: nothing to freeze")
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_foreign_widgets_are_told(in_folder: Path, capsys: Captured) -> None:
    """Who shares the file knows what still needs a kernel or a state. [NBK-10a]"""
    content = notebook(cell(shown("x", view=None), shown("x", view=None)), models={"x": model()})
    save(in_folder / "trip.ipynb", content)
    main(["freeze", "trip.ipynb"])

    assert "trip.ipynb: 2 widgets are not koogbook's and stay live\n" in capsys.readouterr().out


def test_a_view_without_html_is_told(in_folder: Path, capsys: Captured) -> None:
    """It stays live, and that is not passed over."""
    save(in_folder / "trip.ipynb", notebook(cell(shown("v", html=None))))
    main(["freeze", "trip.ipynb"])

    assert "cell 1 (Strategy graph) has no HTML to be shown instead" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (live(), 1, "trip.ipynb: cell 2 (Strategy graph) is live\n"),
        (notebook(cell(shown("v", html=None))), 1, "trip.ipynb: cell 1 (Strategy graph) is live\n"),
        (
            notebook(models={"v": model(ours=True)}),
            1,
            "trip.ipynb: 1 widget model of views that no cell shows any more\n",
        ),
        (freeze(live()).notebook, 0, ""),
        (notebook(cell(shown("x", view=None)), models={"x": model()}), 0, ""),
    ],
)
def test_check_names_what_is_live_and_changes_nothing(
    in_folder: Path, capsys: Captured, content: dict[str, Any], code: int, said: str
) -> None:
    """A hook before a commit can ask. [NBK-10a]"""
    file = save(in_folder / "trip.ipynb", content)
    before = file.read_bytes()

    assert (main(["freeze", "--check", "trip.ipynb"]), capsys.readouterr().out) == (code, said)
    assert file.read_bytes() == before


def test_output_leaves_the_notebook_as_it_is(in_folder: Path, capsys: Captured) -> None:
    """The frozen one is another file."""
    file = save(in_folder / "trip.ipynb", live())
    before = file.read_bytes()
    code = main(["freeze", "trip.ipynb", "--output", "shared.ipynb"])

    assert (code, file.read_bytes() == before) == (0, True)
    assert "Written: shared.ipynb" in capsys.readouterr().out
    assert main(["freeze", "--check", "shared.ipynb"]) == 0


def test_output_is_written_also_when_nothing_is_live(in_folder: Path) -> None:
    """Who asks for a file gets it."""
    file = save(in_folder / "trip.ipynb", notebook())
    main(["freeze", "trip.ipynb", "--output", "shared.ipynb"])

    assert (in_folder / "shared.ipynb").read_bytes() == file.read_bytes()


def test_html_writes_a_page_and_leaves_the_notebook_as_it_is(in_folder: Path, capsys: Captured) -> None:
    """A page for readers without Jupyter. [NBK-10]"""
    file = save(in_folder / "trip.ipynb", live())
    before = file.read_bytes()
    code = main(["freeze", "--html", "trip.html", "trip.ipynb"])

    assert (code, capsys.readouterr().out, file.read_bytes() == before) == (0, "Written: trip.html\n", True)
    assert "<p>picture</p>" in (in_folder / "trip.html").read_text(encoding="utf-8")


def test_html_tells_what_the_page_lacks(in_folder: Path, capsys: Captured) -> None:
    """Scripts and files from elsewhere are not on the page."""
    script = {"data": {"application/javascript": "1"}, "metadata": {}, "output_type": "display_data"}
    outputs = (script, shown(view=None, html='<img src="https://example.org/x.png">'))
    save(in_folder / "trip.ipynb", notebook(cell(*outputs)))
    main(["freeze", "--html", "trip.html", "trip.ipynb"])
    said = capsys.readouterr().out

    assert "1 output with a script or a widget alone cannot be shown" in said
    assert "1 thing from outside is not loaded by the page" in said


@pytest.mark.parametrize("switch", ["--output", "--html"])
def test_one_target_takes_one_notebook(in_folder: Path, capsys: Captured, switch: str) -> None:
    """Two notebooks into one file would lose one."""
    for name in ("a.ipynb", "b.ipynb"):
        save(in_folder / name, live())
    code = main(["freeze", "a.ipynb", "b.ipynb", switch, "target"])

    assert (code, f"{switch} takes one notebook" in capsys.readouterr().err) == (2, True)
    assert not (in_folder / "target").exists()


def test_one_bad_file_keeps_all_as_they_are(in_folder: Path, capsys: Captured) -> None:
    """All are read before any is written, and each that is bad has its line."""
    good = save(in_folder / "good.ipynb", live())
    (in_folder / "bad.ipynb").write_text("{", encoding="utf-8")
    before = good.read_bytes()
    code = main(["freeze", "good.ipynb", "bad.ipynb", "gone.ipynb"])
    said = capsys.readouterr()

    assert (code, said.out, good.read_bytes() == before) == (2, "", True)
    assert [line.split()[1] for line in said.err.splitlines()] == ["bad.ipynb", "gone.ipynb"]


def test_what_a_notebook_says_cannot_steer_the_terminal(in_folder: Path, capsys: Captured) -> None:
    """A title is text out of a file."""
    save(in_folder / "trip.ipynb", notebook(cell(shown("v", view="\x1b[2J \ud83c"))))
    main(["freeze", "trip.ipynb"])
    said = capsys.readouterr().out

    assert ("\x1b" in said, "\\x1b[2J" in said) == (False, True)


def test_freezing_needs_no_jupyter(in_folder: Path) -> None:
    """A server that checks commits has koogbook's core alone. [NBK-10a]"""
    save(in_folder / "trip.ipynb", live())
    code = (
        "import sys\n"
        "from koogbook.cli import main\n"
        "code = main(['freeze', 'trip.ipynb'])\n"
        "print(code, [name for name in ('IPython', 'nbformat', 'nbconvert', 'ipywidgets') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.splitlines()[-1] == "0 []"


def test_a_page_without_nbconvert_says_what_to_install(
    in_folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remedy is the line to type, and the way without it."""
    monkeypatch.setitem(sys.modules, "nbconvert.exporters", None)
    save(in_folder / "trip.ipynb", live())
    code = main(["freeze", "--html", "trip.html", "trip.ipynb"])

    assert (code, 'pip install "koogbook[lab]"' in capsys.readouterr().err) == (2, True)
    assert not (in_folder / "trip.html").exists()


def test_a_page_is_never_written_over_a_notebook(in_folder: Path, capsys: Captured) -> None:
    """The name of the page comes first; who turns them round loses nothing."""
    file = save(in_folder / "trip.ipynb", live())
    before = file.read_bytes()
    code = main(["freeze", "--html", "trip.ipynb", "trip.ipynb"])

    assert (code, "--html names the page" in capsys.readouterr().err, file.read_bytes() == before) == (
        2,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("target", "words"),
    [("nowhere/shared.ipynb", "is in a folder that does not exist"), (".", "is a folder")],
)
def test_a_target_that_cannot_be_is_one_clear_line(
    in_folder: Path, capsys: Captured, target: str, words: str
) -> None:
    """It names what was asked for, not a file in between."""
    save(in_folder / "trip.ipynb", live())
    code = main(["freeze", "trip.ipynb", "--output", target])

    assert (code, words in capsys.readouterr().err) == (2, True)
    assert [path.name for path in in_folder.iterdir()] == ["trip.ipynb"]


def test_a_page_tells_of_widgets_that_it_shows_as_text(in_folder: Path, capsys: Captured) -> None:
    """They are the ones that look different there."""
    save(in_folder / "trip.ipynb", notebook(cell(shown("x", view=None)), models={"x": model()}))
    main(["freeze", "--html", "trip.html", "trip.ipynb"])

    assert "1 widget without a koogbook picture" in capsys.readouterr().out
