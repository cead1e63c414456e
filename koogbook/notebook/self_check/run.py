"""All checks, in the order in which one needs the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from koogbook.notebook.self_check import installed, stores
from koogbook.notebook.self_check.browser import browser
from koogbook.notebook.self_check.finding import Check, Finding, looked_at, within
from koogbook.notebook.self_check.kernel import kernel

_FILE_SECONDS = 15.0
_SLOW_DISK = "work in a folder on a local disk, or end the program that holds the file"


def findings(*, start_browser: bool = False) -> Iterator[Finding]:
    """Look at everything; each finding as soon as it is there. Nothing is left behind."""
    checks: dict[str, Check] = {
        "Python": installed.python,
        "koogbook": installed.koogbook_itself,
        "packages": installed.packages,
        "kernel": kernel,
        "jupyterlab": installed.jupyterlab,
        "browser": partial(browser, start=start_browser),
    }
    for name, check in checks.items():
        yield from looked_at(name, check)
    files: dict[str, Check] = {
        "SQLite": stores.sqlite,
        ".koogbook": stores.folder,
        ".koogbook/koogbook.db": stores.store,
    }
    for name, check in files.items():
        yield from within(_FILE_SECONDS, name, check, _SLOW_DISK)
    yield from looked_at("KOOGBOOK_STATIC", installed.static_setting)
