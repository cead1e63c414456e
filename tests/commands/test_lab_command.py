"""``koogbook lab``: on which notebook JupyterLab is started, and that no file is overwritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_files import notebook, save

from koogbook.cli import main
from koogbook.commands.lab import copy_notebooks, notebooks_of_checkout, quickstart_of
from koogbook.errors import KoogbookError

Captured = pytest.CaptureFixture[str]

#: Stands in the place of JupyterLab and prints with what it was called.
_STAND_IN = "import json, sys; print(json.dumps(sys.argv[1:])); sys.exit(7)"


def started_with(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """The exit code of the command, and the arguments that JupyterLab gets."""
    stand_in = folder / "path/jupyterlab"
    stand_in.mkdir(parents=True)
    (stand_in / "__init__.py").write_text("", encoding="utf-8")
    (stand_in / "__main__.py").write_text(_STAND_IN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "koogbook.cli", "lab", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "path")},
        capture_output=True,
        text=True,
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_jupyterlab_of_this_python_takes_over(tmp_path: Path) -> None:
    """Its exit code is the command's, and the notebook is the one that was named."""
    file = save(tmp_path / "trip.ipynb", notebook())

    assert started_with(tmp_path, "trip.ipynb") == (7, [str(file)])


def test_switches_and_what_stands_after_two_dashes_are_passed_on(tmp_path: Path) -> None:
    """Everything that JupyterLab can do can be asked for."""
    _, arguments = started_with(tmp_path, ".", "--port", "9000", "--no-browser", "--", "--collaborative", "x")

    assert arguments == [str(tmp_path), "--port=9000", "--no-browser", "--collaborative", "x"]


def test_a_missing_notebook_is_one_clear_line(in_folder: Path, capsys: Captured) -> None:
    """JupyterLab would show an empty page."""
    code = main(["lab", "gone.ipynb"])

    assert (code, "gone.ipynb does not exist" in capsys.readouterr().err) == (2, True)


def test_a_missing_jupyterlab_is_one_clear_line(
    in_folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line to type is in it, and nothing was copied."""
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    code = main(["lab"])

    assert (code, 'pip install "koogbook[lab]"' in capsys.readouterr().err) == (2, True)
    assert list(in_folder.iterdir()) == []


@pytest.mark.parametrize("port", ["0", "65536", "many", "-1"])
def test_a_useless_port_is_refused(capsys: Captured, port: str) -> None:
    """Before anything is started."""
    with pytest.raises(SystemExit) as ended:
        main(["lab", f"--port={port}"])

    assert (ended.value.code, "is no port" in capsys.readouterr().err) == (2, True)


# ------------------------------------------------------------------------------------------- the notebooks


def shipped(folder: Path) -> Path:
    """What an installed koogbook has of notebooks."""
    for name in ("02-locks.ipynb", "01-quickstart.ipynb"):
        folder.mkdir(exist_ok=True)
        save(folder / name, notebook())
    (folder / "pictures").mkdir()
    (folder / "pictures/graph.png").write_bytes(b"picture")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints/01-quickstart.ipynb").write_bytes(b"old")
    return folder


def test_the_quickstart_is_the_one_to_begin_with(tmp_path: Path) -> None:
    """It need not be the first by name."""
    folder = shipped(tmp_path / "notebooks")
    save(folder / "00-about.ipynb", notebook())

    assert quickstart_of(folder).name == "01-quickstart.ipynb"


def test_without_a_quickstart_the_first_notebook_is_opened(tmp_path: Path) -> None:
    """And without any, the folder."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    empty = quickstart_of(folder)
    save(folder / "b.ipynb", notebook())
    save(folder / "a.ipynb", notebook())

    assert (empty, quickstart_of(folder).name) == (folder, "a.ipynb")


def test_a_checkout_is_used_as_it_is(tmp_path: Path) -> None:
    """Who changes koogbook changes its notebooks, not a copy."""
    folder = shipped(tmp_path / "notebooks")
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")

    assert notebooks_of_checkout(tmp_path / "koogbook") == folder


def test_a_folder_of_notebooks_beside_an_installed_package_is_no_checkout(tmp_path: Path) -> None:
    """``site-packages/notebooks`` is somebody else's."""
    shipped(tmp_path / "notebooks")

    assert notebooks_of_checkout(tmp_path / "koogbook") is None


def test_an_installed_koogbook_copies_its_notebooks(tmp_path: Path) -> None:
    """With their pictures, and without what an editor left among them."""
    target = copy_notebooks(shipped(tmp_path / "shipped"), tmp_path / "here")
    copied = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())

    assert copied == ["01-quickstart.ipynb", "02-locks.ipynb", "pictures/graph.png"]


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path, capsys: Captured) -> None:
    """A reader's answers stay, and the command says so."""
    source, target = shipped(tmp_path / "shipped"), tmp_path / "here"
    target.mkdir()
    (target / "01-quickstart.ipynb").write_bytes(b"mine")
    copy_notebooks(source, target)

    assert (target / "01-quickstart.ipynb").read_bytes() == b"mine"
    assert f"1 file in {target} stayed as found" in capsys.readouterr().out
    assert (target / "02-locks.ipynb").exists()


def test_no_notebooks_to_copy_is_an_error(tmp_path: Path) -> None:
    """It names the way out."""
    with pytest.raises(KoogbookError, match="koogbook lab PATH"):
        copy_notebooks(tmp_path / "nowhere", tmp_path / "here")
