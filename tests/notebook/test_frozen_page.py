"""The page of a frozen notebook: everything is shown, nothing is loaded, nothing runs."""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from notebook_files import cell, live, model, notebook, save, shown, text_cell

from koogbook.notebook.frozen import freeze
from koogbook.notebook.frozen_page import FrozenPage, frozen_page

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
)


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its policy."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))

    def outside(self) -> list[str]:
        """What the page would load: scripts, links, pictures and frames that are not in it."""
        return [
            f"{tag} {value}"
            for tag, attributes in self.tags
            for name, value in attributes.items()
            if (name in ("src", "srcset", "data") or (name == "href" and tag == "link"))
            and not (value or "").startswith("data:")
        ]


def page_of(content: dict[str, Any], path: Path = Path("trip.ipynb")) -> FrozenPage:
    """The page of a notebook, frozen first."""
    return frozen_page(freeze(content).notebook, path)


def test_a_view_is_shown_by_its_html() -> None:
    """The picture that stands beside the widget is on the page. [NBK-10]"""
    assert "<p>picture</p>" in page_of(live()).html


def test_the_page_loads_nothing_and_has_no_script() -> None:
    """No network, no script: it reads the same in ten years. [NBK-10]"""
    tags = Tags(page_of(live()).html)

    assert (tags.outside(), [tag for tag, _ in tags.tags if tag in ("script", "link", "iframe")]) == ([], [])


def test_no_style_imports_anything() -> None:
    """Style sheets can load, too."""
    html = page_of(live()).html

    assert re.findall(r"@import|url\((?![\"']?(?:data:|#))[^)]*\)", html) == []


def test_a_policy_stands_before_everything_that_could_load() -> None:
    """What an output brings along cannot load or run, either. [NBK-11]"""
    tags = Tags(page_of(notebook(cell(shown(view=None, html="<script src=//x></script>")))).html).tags
    names = [tag for tag, _ in tags]
    policy = next(
        attributes["content"]
        for tag, attributes in tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )

    assert (policy or "").startswith("default-src 'none'")
    assert names.index("meta") < names.index("style") < names.index("script")


@pytest.mark.parametrize(
    "html",
    [
        "<script>1</script>",
        "<SCRIPT src='https://x/y.js'></SCRIPT>",
        '<img src="https://x/y.png">',
        "<img src=//x/y.png>",
        "<iframe src='//x'></iframe>",
    ],
)
def test_what_the_page_does_not_load_is_counted(html: str) -> None:
    """An output that looks different on the page is not passed over in silence."""
    assert page_of(notebook(cell(shown(view=None, html=html)))).outside == 1


def test_links_to_elsewhere_are_links() -> None:
    """A reader may click; nothing is loaded by itself."""
    page = page_of(notebook(text_cell("[site](https://example.org)")))

    assert ('href="https://example.org"' in page.html, page.outside) == (True, 0)


def test_a_widget_of_others_is_shown_by_its_text() -> None:
    """Without scripts a widget cannot live; what stands beside it is shown."""
    content = notebook(cell(shown("x", view=None, html=None)), models={"x": model()})
    page = page_of(content)

    assert (">text<" in re.sub(r"\s", "", page.html), page.without_form) == (True, 0)


@pytest.mark.parametrize("mime", ["application/javascript", "application/vnd.jupyter.widget-view+json"])
def test_an_output_without_any_form_for_a_page_is_named_there(mime: str) -> None:
    """A hole in a page says that it is one."""
    bare = {"data": {mime: {"model_id": "x"}}, "metadata": {}, "output_type": "display_data"}
    page = page_of(notebook(cell(bare)))

    assert ("which this page cannot show" in page.html, page.without_form) == (True, 1)


def test_pictures_of_the_text_are_in_the_page(tmp_path: Path) -> None:
    """One file is all that has to be sent."""
    (tmp_path / "dot.png").write_bytes(PIXEL)
    page = page_of(notebook(text_cell("![a dot](dot.png)")), tmp_path / "trip.ipynb")

    assert (Tags(page.html).outside(), "data:image/png;base64," in page.html) == ([], True)


def test_text_of_a_model_stays_text_on_the_page() -> None:
    """What was escaped in the notebook is escaped on the page, in prints and errors too. [NBK-11]"""
    hostile = "</script><img src=x onerror=alert(1)>"
    prints = {"output_type": "stream", "name": "stdout", "text": [hostile]}
    error = {"output_type": "error", "ename": "E", "evalue": hostile, "traceback": [hostile]}
    plain = shown(view=None, html=None, **{"text/plain": hostile})
    tags = Tags(page_of(notebook(cell(prints, error, plain, source=hostile))).html).tags

    assert [attributes for tag, attributes in tags if tag == "img"] == []


def test_a_template_in_the_folder_is_not_used(in_folder: Path) -> None:
    """What lies in the current folder says nothing about the page."""
    (in_folder / "lab").mkdir()
    (in_folder / "lab/index.html.j2").write_text("something else", encoding="utf-8")

    assert "<p>picture</p>" in page_of(live(), in_folder / "trip.ipynb").html


def test_the_same_notebook_is_the_same_page() -> None:
    """Nothing random is in it. [NBK-10]"""
    assert page_of(live()).html == page_of(live()).html


def test_plain_nbconvert_shows_a_frozen_view(tmp_path: Path) -> None:
    """Who knows nothing of koogbook gets the picture, not an empty place. [NBK-10]"""
    file = save(tmp_path / "trip.ipynb", freeze(live()).notebook)
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level", "ERROR", str(file)],
        check=True,
        capture_output=True,
    )
    html = file.with_suffix(".html").read_text(encoding="utf-8")

    assert ("<p>picture</p>" in html, "vnd.jupyter.widget" in html) == (True, False)


@pytest.mark.parametrize("exporter", ["HTMLExporter", "MarkdownExporter"])
def test_every_export_has_each_view_of_the_quickstart(exporter: str) -> None:
    """Graphs, locks, diff and checkpoints are on the page, whatever it is written in, and no widget's name. [KB-149]"""
    import nbconvert

    quickstart = Path(__file__).parents[2] / "notebooks" / "00_quickstart.ipynb"
    body, _ = getattr(nbconvert, exporter)().from_filename(str(quickstart))

    assert [
        title for title in ("Strategy graph", "Lock view", "Prompt diff", "Checkpoints") if title not in body
    ] == []
    assert "not resumable" in body.lower()
    assert "VBox(" not in body
