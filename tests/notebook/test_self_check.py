"""The checks of ``koogbook check``, each on a machine where it fails."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import koogbook as kb
from koogbook.notebook.self_check import installed, kernel, stores
from koogbook.notebook.self_check.browser import browser
from koogbook.notebook.self_check.finding import Finding, looked_at, within
from koogbook.notebook.self_check.run import findings


def states(found: Iterable[Finding]) -> list[str]:
    """How each finding is."""
    return [finding.state for finding in found]


@pytest.fixture
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder in which all temporary files are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_everything_that_the_tests_need_works_here(in_folder: Path, own_temporary_folder: Path) -> None:
    """On a whole installation nothing fails, and nothing is left behind. [NBK-11]"""
    found = list(findings())

    assert [finding for finding in found if finding.state == "failed"] == []
    assert sorted(in_folder.rglob("*")) == [own_temporary_folder]


def test_every_finding_that_is_not_ok_says_what_to_do(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure without a remedy helps nobody."""
    monkeypatch.setenv("KOOGBOOK_STATIC", "1")
    (in_folder / ".koogbook").write_bytes(b"")
    unwell = [
        *stores.folder(),
        *installed.static_setting(),
        installed.package("nowhere", 1, 2, "pip install"),
    ]

    assert states(unwell) == ["failed", "warning", "failed"]
    assert all(finding.remedy for finding in unwell)


# ------------------------------------------------------------------------------------------- the frame


def breaks() -> Iterator[Finding]:
    """A check with a defect."""
    yield Finding("one", "ok", "seen")
    raise LookupError("nothing there")


def test_a_check_that_breaks_is_a_finding() -> None:
    """The others go on, and what it found before stays."""
    found = list(looked_at("mine", breaks))

    assert states(found) == ["ok", "failed"]
    assert "LookupError: nothing there" in found[1].seen


def test_a_check_that_hangs_is_left_behind() -> None:
    """A dead network drive cannot hold up the table."""
    released = threading.Event()

    def hangs() -> Iterator[Finding]:
        yield Finding("quick", "ok", "at once")
        released.wait()
        yield Finding("slow", "ok", "at last")

    found = list(within(0.2, "slow", hangs, "end it"))
    released.set()

    assert found == [
        Finding("quick", "ok", "at once"),
        Finding("slow", "failed", "no answer within 0.2 s", "end it"),
    ]


# ------------------------------------------------------------------------------------------- installed


@pytest.mark.parametrize(
    ("first", "before", "state", "words"),
    [(1, 99, "ok", ""), (90, 99, "failed", "older than 90"), (0, 1, "warning", "newer than")],
)
def test_a_package_is_measured_by_its_version(first: int, before: int, state: str, words: str) -> None:
    """Too old does not work; newer than known may."""
    found = installed.package("pytest", first, before, "pip install pytest")

    assert (found.state, words in found.seen) == (state, True)


def with_extensions(folder: Path, *names: str) -> Path:
    """A folder of JupyterLab's with these extensions in it."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "package.json").write_text("{}", encoding="utf-8")
    return folder


def test_a_missing_part_of_jupyterlab_is_named(tmp_path: Path) -> None:
    """Without it every view is an error in the browser, and works in the kernel."""
    place = with_extensions(tmp_path / "share", "anywidget")
    found = installed.lab_extensions([tmp_path / "none", place], tmp_path)

    assert (found.state, "@jupyter-widgets/jupyterlab-manager not found" in found.seen) == ("failed", True)


def test_parts_of_another_environment_are_a_warning(tmp_path: Path) -> None:
    """Their version may not be the kernel's."""
    place = with_extensions(tmp_path / "other", "anywidget", "@jupyter-widgets/jupyterlab-manager")

    assert installed.lab_extensions([place], tmp_path / "own").state == "warning"
    assert installed.lab_extensions([place], tmp_path).state == "ok"


@pytest.mark.parametrize(("value", "state"), [("1", "warning"), ("yes", "warning"), ("0", "ok"), ("", "ok")])
def test_the_static_setting_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, value: str, state: str
) -> None:
    """Who wonders where the widgets are finds the reason. [NBK-10a]"""
    monkeypatch.setenv("KOOGBOOK_STATIC", value)

    assert states(installed.static_setting()) == [state]


# ------------------------------------------------------------------------------------------- the kernel


def test_a_view_is_seen_live_although_views_are_set_static(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting is a warning of its own and no fault of the widgets."""
    monkeypatch.setenv("KOOGBOOK_STATIC", "1")

    assert states(kernel.kernel()) == ["ok", "ok"]


def test_a_kernel_that_dies_is_quoted(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it said last is what one needs to know."""
    (in_folder / "ipykernel_launcher.py").write_text("raise OSError('no such libzmq')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(in_folder))
    found = list(kernel.kernel())

    assert states(found) == ["failed", "skipped"]
    assert "OSError: no such libzmq" in found[0].seen


def test_a_kernel_that_does_not_answer_is_given_up(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds for the start, too."""
    (in_folder / "ipykernel_launcher.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(in_folder))

    assert states(kernel.kernel(limit=1.0)) == ["failed", "skipped"]


def test_a_file_that_hides_koogbook_is_found_out(in_folder: Path) -> None:
    """A notebook beside a ``koogbook.py`` of one's own imports that."""
    (in_folder / "koogbook.py").write_text("", encoding="utf-8")
    found = list(kernel.kernel())

    assert states(found) == ["ok", "failed"]
    assert "koogbook.py in this folder" in found[1].remedy


@pytest.mark.parametrize("mime", list(kernel.FORMS))
def test_a_view_without_one_of_its_forms_is_a_failure(mime: str) -> None:
    """Widget, HTML and text belong together. [NBK-10]"""
    bundle = {form: "x" for form in kernel.FORMS if form != mime}
    found = kernel.view_shown({"printed": "", "shown": [bundle], "error": ""})

    assert (found.state, found.seen) == ("failed", f"without {kernel.FORMS[mime]}")


# ------------------------------------------------------------------------------------------- the browser


@pytest.mark.parametrize(("start", "state"), [(False, "skipped"), (True, "failed")])
def test_a_missing_browser_matters_only_where_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, start: bool, state: str
) -> None:
    """Only the tests and pictures need one."""
    monkeypatch.setenv("CHROMIUM", "/no/such/browser")

    assert states(browser(start=start)) == [state]


def test_a_browser_that_does_not_start_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path and what it said are shown."""
    monkeypatch.setenv("CHROMIUM", sys.executable)

    assert states(browser(start=True)) == ["failed"]


# ------------------------------------------------------------------------------------------- stores


def with_store(folder: Path) -> Path:
    """A store with nothing in it, as koogbook makes it."""
    with closing(kb.SqliteCheckpoints()) as store:
        store.list_infos()
    return folder / ".koogbook/koogbook.db"


def test_a_folder_without_a_store_gets_none(in_folder: Path) -> None:
    """Looking makes nothing."""
    found = [*stores.sqlite(), *stores.folder(), *stores.store()]

    assert (states(found), list(in_folder.iterdir())) == (["ok", "ok", "ok", "skipped"], [])


def test_a_store_of_this_version_is_opened(in_folder: Path) -> None:
    """Nothing about it changes."""
    file = with_store(in_folder)
    before = file.read_bytes()

    assert (states(stores.store()), file.read_bytes() == before) == (["ok"], True)
    assert [path.name for path in file.parent.iterdir()] == ["koogbook.db"]


@pytest.mark.parametrize(
    ("pragma", "state", "words"),
    [
        ("user_version=99", "failed", "newer koogbook"),
        ("application_id=7", "failed", "another program"),
        ("user_version=0", "warning", "the next use brings it to"),
    ],
)
def test_a_store_of_another_version_or_program_is_left_as_it_is(
    in_folder: Path, pragma: str, state: str, words: str
) -> None:
    """An older file is not brought up to date by looking at it."""
    file = with_store(in_folder)
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA {pragma}")
    before = file.read_bytes()
    found = next(iter(stores.store()))

    assert (found.state, words in found.seen, file.read_bytes() == before) == (state, True, True)


def test_a_file_that_is_no_store_is_a_failure(in_folder: Path) -> None:
    """The remedy moves it away, it does not delete it."""
    file = in_folder / ".koogbook/koogbook.db"
    file.parent.mkdir()
    file.write_bytes(b"no database at all, but long enough to be looked at" * 20)
    found = next(iter(stores.store()))

    assert (found.state, "move" in found.remedy) == ("failed", True)
