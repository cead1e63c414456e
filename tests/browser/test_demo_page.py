"""The page that the demo writes, in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from koogbook.demo import run_demo


@pytest.fixture(scope="module")
def page_of_the_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page about the sample conversation; made before the browser starts, which keeps a loop running."""
    return asyncio.run(run_demo(folder=tmp_path_factory.mktemp("demo"))).page


@pytest.fixture
def shown(page_of_the_sample: Path, chromium: Any) -> Any:
    """A function that opens the page from its file and notes every request."""
    contexts = []

    def show(width: int, theme: str) -> tuple[Any, list[str]]:
        context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: asked.append(message.text))
        page.goto(page_of_the_sample.as_uri())
        return page, asked

    yield show
    for context in contexts:
        context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 640])
def test_the_page_does_not_scroll_sideways(
    shown: Any, sideways: Callable[[Any], int], width: int, theme: str
) -> None:
    """What is wider has a scroll box of its own."""
    page, _ = shown(width, theme)

    assert sideways(page) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 640])
def test_no_text_lies_on_another(
    shown: Any, collisions: Callable[[Any], list[str]], width: int, theme: str
) -> None:
    """Every label of every picture can be read."""
    page, _ = shown(width, theme)

    assert collisions(page) == []


def test_the_page_asks_for_itself_alone(shown: Any, page_of_the_sample: Path) -> None:
    """Nothing leaves the machine, and the browser has nothing to complain about."""
    _, asked = shown(1100, "light")

    assert [url for url in asked if not url.startswith("data:")] == [page_of_the_sample.as_uri()]


def test_every_section_can_be_reached_from_the_contents(shown: Any) -> None:
    """The list of contents leads to sections that are there."""
    page, _ = shown(1100, "light")
    targets = page.eval_on_selector_all("nav a", "links => links.map(link => link.getAttribute('href'))")

    assert targets
    assert [target for target in targets if page.locator(target).count() != 1] == []


def test_every_picture_has_a_name_for_a_screen_reader(shown: Any) -> None:
    """A picture that stands for something says what."""
    page, _ = shown(1100, "light")
    nameless = page.eval_on_selector_all(
        "svg.kb-picture",
        "pictures => pictures.filter(one => !one.querySelector('title')?.textContent).length",
    )

    assert nameless == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_on_paper_of_its_theme(shown: Any, theme: str) -> None:
    """The page is dark where the system is."""
    page, _ = shown(1100, theme)
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 29)"}[theme]
