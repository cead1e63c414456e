"""What is installed: Python, koogbook, the kernel, the widgets, JupyterLab; and what the environment sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import koogbook
from koogbook.notebook.self_check.finding import Finding, State

_LAB = 'pip install "koogbook[lab]"'
_LAB_EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "anywidget")


def python() -> Iterable[Finding]:
    """The Python that runs this."""
    yield Finding("Python", "ok", f"{sys.version.split()[0]}, {sys.executable}")


def koogbook_itself() -> Iterable[Finding]:
    """That the public names can be had."""
    for name in koogbook.__all__:
        getattr(koogbook, name)
    yield Finding("koogbook", "ok", f"{koogbook.__version__}, {Path(koogbook.__file__).parent}")


def packages() -> Iterable[Finding]:
    """The packages that a notebook with views needs, each within the versions that koogbook is made for."""
    yield package("ipykernel", 7, 8, _LAB)
    yield package("ipywidgets", 8, 9, 'pip install "ipywidgets>=8.1,<9"')
    yield package("anywidget", 0, 1, 'pip install "anywidget>=0.9.18,<1"')


def package(name: str, first: int, before: int, remedy: str) -> Finding:
    """Whether a package is there with a major version from ``first`` to under ``before``."""
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(name, "failed", "not installed", remedy)
    major = int(found.split(".")[0])
    if major < first:
        return Finding(name, "failed", f"{found} is older than {first}", remedy)
    if major >= before:
        return Finding(
            name, "warning", f"{found} is newer than koogbook was made for (under {before})", remedy
        )
    return Finding(name, "ok", found)


def jupyterlab() -> Iterable[Finding]:
    """JupyterLab, and in it the parts that show widgets: they have to be where this Python's JupyterLab looks."""
    lab = package("jupyterlab", 4, 5, _LAB)
    yield lab
    name = "widgets in JupyterLab"
    if lab.seen == "not installed" or find_spec("jupyter_core") is None:
        yield Finding(name, "skipped", "there is no JupyterLab")
        return
    from jupyter_core.paths import jupyter_path

    places = [Path(place) for place in jupyter_path("labextensions")]
    yield lab_extensions(places, Path(sys.prefix))


def lab_extensions(places: Iterable[Path], prefix: Path) -> Finding:
    """Whether the parts of JupyterLab that show widgets are in one of these folders, and in this environment."""
    name = "widgets in JupyterLab"
    homes = {
        extension: next((place for place in places if (place / extension / "package.json").is_file()), None)
        for extension in _LAB_EXTENSIONS
    }
    missing = [extension for extension, home in homes.items() if home is None]
    if missing:
        return Finding(
            name,
            "failed",
            f"{' and '.join(missing)} not found in this environment",
            "pip install --force-reinstall jupyterlab_widgets anywidget, in the environment of JupyterLab",
        )
    own = prefix.resolve()
    elsewhere = [home for home in homes.values() if home is not None and own not in home.resolve().parents]
    if elsewhere:
        return Finding(
            name,
            "warning",
            f"taken from outside of this environment: {elsewhere[0]}",
            "pip install jupyterlab_widgets anywidget here, so that their versions fit this kernel",
        )
    return Finding(name, "ok", ", ".join(homes))


def static_setting() -> Iterable[Finding]:
    """``KOOGBOOK_STATIC``, which takes the widgets away."""
    name = "KOOGBOOK_STATIC"
    value = os.environ.get(name)
    if value is None:
        yield Finding(name, "ok", "not set: views are live")
        return
    off = value in ("", "0")
    state: State = "ok" if off else "warning"
    seen = "views are live" if off else "every view is shown once, final, without a widget"
    yield Finding(
        name, state, f"{value!r}: {seen}", "" if off else "unset it, except for batch runs and comparisons"
    )
