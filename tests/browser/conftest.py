"""A real browser for the pages that views become."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_pages import Lab, running_lab

_PLACES = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
_QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: Pairs of texts or boxes inside one picture that lie on each other, and texts that leave their picture.
_COLLISIONS = """
() => {
  const found = [];
  const meet = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5
    && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  for (const picture of document.querySelectorAll('svg.kb-picture')) {
    const frame = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([name, box], place) => {
      if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5
          || box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5) found.push(`${name} leaves`);
      for (const [other, second] of texts.slice(place + 1))
        if (meet(box, second)) found.push(`${name} on ${other}`);
    });
  }
  return found;
}
"""


def _chromium() -> str | None:
    named = os.environ.get("CHROMIUM")
    places = [named] if named else [*_PLACES, shutil.which("chromium") or ""]
    return next((place for place in places if place and Path(place).exists()), None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running Chromium; where there is none the test is skipped.

    It runs an event loop of its own in this thread, so it has to end with its file: no async test could run beside it.
    """
    path = _chromium()
    if path is None:
        pytest.skip("No Chromium: set CHROMIUM to its path, or install it as /usr/bin/chromium.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Where the pictures of a test run are kept, to be looked at: ``build/screenshots``."""
    folder = Path(__file__).parents[2] / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A running JupyterLab, one for all files: it takes seconds to start, and each notebook has a folder of its own."""
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="module")
def free_pages(chromium: Any) -> list[Any]:
    """Pages that no test looks at just now; a new one takes longer than most tests."""
    return []


@pytest.fixture
def chromium_page(chromium: Any, free_pages: list[Any]) -> Iterator[Callable[..., Any]]:
    """A function that shows a document and gives the page: ``chromium_page(html, width=640, theme="dark")``."""
    pages = []

    def show(html: str, *, width: int = 1100, theme: str = "light") -> Any:
        page = free_pages.pop() if free_pages else chromium.new_context().new_page()
        pages.append(page)
        page.goto("about:blank")  # so that nothing of the document before is left
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)
        page.mouse.move(0, 0)
        page.set_content(html)
        return page

    yield show
    free_pages += pages


@pytest.fixture
def collisions() -> Callable[[Any], list[str]]:
    """A function that names the texts of a page's pictures that lie on each other or leave their picture."""
    return lambda page: page.evaluate(_COLLISIONS)


@pytest.fixture
def sideways() -> Callable[[Any], int]:
    """A function that gives how many px a page is wider than its window."""
    return lambda page: page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
