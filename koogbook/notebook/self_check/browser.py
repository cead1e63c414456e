"""A browser, which only the tests and pictures need; on request it is started and shows a page of a view."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import koogbook as kb
from koogbook.notebook.self_check.finding import Finding

_PLACES = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LIMIT_SECONDS = 60.0

#: In a process of its own: it has an event loop of its own, and can be ended when it hangs.
_OPEN = """\
import json, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"])
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(sys.argv[2])
    heading = page.locator("h1").inner_text()
    drawn = page.locator("svg.kb-picture").first.is_visible()
    print(json.dumps([browser.version, heading, drawn, [url for url in asked if url.startswith("http")]]))
    browser.close()
"""


def chromium() -> str | None:
    """The path of a Chromium: ``CHROMIUM``, or a usual place."""
    named = os.environ.get("CHROMIUM")
    places = [named] if named else [*_PLACES, *(shutil.which(name) or "" for name in _NAMES)]
    return next((place for place in places if place and Path(place).is_file()), None)


def browser(*, start: bool = False) -> Iterable[Finding]:
    """Whether there is one; with ``start`` also whether it shows a view."""
    found = chromium()
    named = os.environ.get("CHROMIUM")
    where = f"{named} (CHROMIUM) is no file" if named else "not found"
    if found is None and start:
        yield Finding("browser", "failed", where, "install Chromium, or set CHROMIUM to its path")
    elif found is None:
        yield Finding("browser", "skipped", f"{where}: only needed for the tests")
    elif not start:
        yield Finding("browser", "ok", f"{found} (--browser starts it)")
    elif find_spec("playwright") is None:
        yield Finding("browser", "skipped", f"{found}; playwright is not installed", "pip install playwright")
    else:
        yield _opened(found)


def _opened(path: str) -> Finding:
    trip = kb.strategy("trip")
    trip.start >> trip.finish
    with tempfile.TemporaryDirectory(prefix="koogbook-check-", ignore_cleanup_errors=True) as folder:
        view = kb.graph(trip)
        page = view.save(Path(folder) / "view.html")
        process = subprocess.Popen(
            [sys.executable, "-c", _OPEN, path, page.as_uri()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            printed, said = process.communicate(timeout=_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            return Finding(
                "browser", "failed", f"{path}: no page within {_LIMIT_SECONDS:g} s", "start it by hand once"
            )
        finally:
            if process.poll() is None:
                _end(process)
    if process.returncode != 0:
        lines = [line.strip() for line in said.split("\n") if line.strip()]
        return Finding(
            "browser", "failed", f"{path}: {lines[-1] if lines else 'ended'}", "start it by hand once"
        )
    version, heading, drawn, asked = json.loads(printed)
    if heading != view.title or not drawn or asked:
        return Finding(
            "browser",
            "failed",
            f"{path}: the page of a view is not shown as it should be (heading {heading!r}, picture "
            f"{'drawn' if drawn else 'missing'}, {len(asked)} requests to the network)",
            "use a newer browser",
        )
    return Finding("browser", "ok", f"Chromium {version} shows the page of a view, without a network")


def _end(process: subprocess.Popen[str]) -> None:
    """End it with the browser that it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
