"""A real JupyterLab, and a notebook opened in it by a real browser."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.error import URLError

_READY = """
(name) => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  const session = panel?.sessionContext;
  return panel?.title?.label === name && session?.isReady && session.session?.kernel?.connectionStatus === 'connected'
    && session.session.kernel.status === 'idle' && panel.content?.widgets?.length > 0;
}
"""
#: Milliseconds from a click until the view has changed.
_CLICK = """
([index, selector, place]) => new Promise((resolve, reject) => {
  const top = document.querySelectorAll('.jp-Notebook .jp-Cell')[index].querySelector('.kb-root');
  const target = [...top.querySelectorAll(selector)].at(place);
  const started = performance.now();
  const observer = new MutationObserver(() => {
    observer.disconnect(); requestAnimationFrame(() => resolve(performance.now() - started));
  });
  const what = { childList: true, subtree: true, characterData: true,
    attributeFilter: ['aria-pressed', 'aria-checked', 'class'] };
  observer.observe(top, what);
  setTimeout(() => reject(new Error('nothing changed')), 8000);
  target.dispatchEvent(new MouseEvent('click', { bubbles: true }));
})
"""
_FIRE = """
(command) => {
  window.__done = null;
  window.jupyterapp.commands.execute(command).then(
    (result) => { window.__done = { result: String(result) }; },
    (problem) => { window.__done = { problem: String(problem) }; },
  );
}
"""


#: Buttons and fields that stick out of their view, or out of the part of it that scrolls.
_CUT_OFF = """
[...document.querySelectorAll('.kb-root button, .kb-root input, .kb-root select')].filter((one) => {
  const box = one.getBoundingClientRect(), card = one.closest('.kb-card').getBoundingClientRect();
  return box.width && !one.closest('.kb-scroll') && (box.right > card.right - 2 || box.left < card.left + 2);
}).map((one) => one.textContent || one.getAttribute('aria-label'))
"""


class Lab:
    """A running JupyterLab over one folder."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def opened(
        self, source: Path | Sequence[str], chromium: Any, *, width: int = 1400
    ) -> Iterator[OpenNotebook]:
        """A notebook of a file or of these cells, run to its end in a folder of its own; its kernels end with it."""
        folder = Path(mkdtemp(dir=self.folder))
        if isinstance(source, Path):
            path = Path(shutil.copy(source, folder))
        else:
            path = write_notebook(folder / "views.ipynb", source)
        name = f"{folder.name}/{path.name}"
        context = chromium.new_context(viewport={"width": width, "height": 1000})
        try:
            notebook = OpenNotebook(self, context.new_page(), name)
            notebook.open()
            notebook.run_all()
            yield notebook
        finally:
            context.close()
            self.end_kernels(name)

    def end_kernels(self, name: str) -> None:
        """End the kernels of a notebook, by its path in the folder; those of others run on."""
        with urllib.request.urlopen(f"{self.url}/api/sessions", timeout=20) as answer:
            running = json.load(answer)
        for kernel in {one["kernel"]["id"] for one in running if one["path"] == name}:
            end = urllib.request.Request(f"{self.url}/api/kernels/{kernel}", method="DELETE")
            urllib.request.urlopen(end, timeout=20).close()


@contextmanager
def running_lab(folder: Path, *, static: bool = False) -> Iterator[Lab]:
    """Start JupyterLab over a folder, with settings of its own, and stop it."""
    own = folder / ".jupyter"
    settings = own / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "notification.jupyterlab-settings").write_text(
        '{"fetchNews":"false","checkForUpdates":false}'
    )
    environment = {
        **{name: value for name, value in os.environ.items() if name != "KOOGBOOK_STATIC"},
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
        **({"KOOGBOOK_STATIC": "1"} if static else {}),
    }
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
        *("--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder}"),
        *("--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
        *("--ServerApp.terminals_enabled=False", "--LabApp.expose_app_in_browser=True"),
        "--ServerApp.disable_check_xsrf=True",  # kernels are ended over HTTP
    ]
    with (own / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_until_it_answers(port, server, own / "server.log")
        yield Lab(folder, port)
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_it_answers(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=2):
                return
        except (URLError, ConnectionError, TimeoutError):
            if server.poll() is not None:
                break
            time.sleep(0.25)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


class OpenNotebook:
    """A notebook that is open in a browser page; ``outside`` are the requests that would have left the machine."""

    def __init__(self, lab: Lab, page: Any, name: str) -> None:
        self.lab = lab
        self.page = page
        self.name = name
        self.outside: list[str] = []
        self.complaints: list[str] = []
        page.on("request", self._note_request)
        page.on("console", self._note_console)
        page.on("pageerror", lambda problem: self.complaints.append(str(problem)))

    def _note_request(self, request: Any) -> None:
        near = (self.lab.url, self.lab.url.replace("http", "ws", 1), "data:", "blob:")
        if not request.url.startswith(near):
            self.outside.append(request.url)

    def _note_console(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def open(self, *, timeout: float = 60) -> None:
        """Open it and wait until its kernel is there."""
        self.page.goto(f"{self.lab.url}/lab/workspaces/auto-k/tree/{self.name}?reset")
        self.page.wait_for_selector(".jp-Notebook", timeout=timeout * 1000)
        self.page.wait_for_function(_READY, arg=self.name.rpartition("/")[2], timeout=timeout * 1000)

    def command(self, name: str, *, wait: bool = True, timeout: float = 120) -> None:
        """Run a command of JupyterLab; with ``wait``, until it is done."""
        self.page.evaluate(_FIRE, name)
        if wait:
            self.page.wait_for_function("window.__done !== null", timeout=timeout * 1000)
            done = self.page.evaluate("window.__done")
            if "problem" in done:
                raise RuntimeError(f"{name}: {done['problem']}")

    def run_all(self, *, wait: bool = True, timeout: float = 120) -> None:
        """Run all cells."""
        self.command("notebook:run-all-cells", wait=wait, timeout=timeout)

    def theme(self, name: str) -> None:
        """``Light`` or ``Dark``; when this ends, all views have taken it over."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: `JupyterLab ${name}`})",
            name,
        )
        light = "true" if name == "Light" else "false"
        self.page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', timeout=20_000, state="attached")
        self.page.wait_for_function(
            "theme => [...document.querySelectorAll('.kb-root')].every(one => one.dataset.theme === theme)",
            arg=name.lower(),
        )
        self.page.wait_for_timeout(200)  # for colours that change slowly

    def cell(self, index: int) -> Any:
        """A cell, from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def text_of(self, index: int) -> str:
        """What stands under a cell."""
        text: str = self.cell(index).locator(".jp-OutputArea").inner_text()
        return text

    def clicked(self, cell: int, selector: str, place: int = 0) -> float:
        """Click something in the view of a cell; milliseconds until the view has changed."""
        took: float = self.page.evaluate(_CLICK, [cell, selector, place])
        return took

    def prompts(self) -> list[str]:
        """The numbers at the code cells, as they are shown: ``[1]:``."""
        found: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(one => one.textContent.trim())"
        )
        return found

    def failures(self) -> int:
        """How many outputs went to stderr or are an error."""
        count: int = self.page.locator(
            ".jp-OutputArea-output[data-mime-type*='stderr'], .jp-RenderedText pre .ansi-red-fg"
        ).count()
        return count

    def look(
        self, theme: str, width: int, keep: Path, collisions: Any
    ) -> tuple[list[str], int, list[str], Any]:
        """Show it in a theme at a width and keep a picture of each live view in a folder, named by this notebook.

        What is given: the themes of the views, how many are too wide, controls that are cut off, texts that collide.
        """
        page = self.page
        self.theme(theme)
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)
        roots = page.locator(".kb-root")
        stem = Path(self.name).stem.partition("_")[2] or "views"
        for place in range(roots.count()):
            root = roots.nth(place)
            root.scroll_into_view_if_needed()
            title = (root.locator(".kb-title").first.text_content() or "view").lower().replace(" ", "-")
            root.screenshot(path=keep / f"{stem}-{place:02}-{title}-{theme.lower()}-{width}.png")
        themes = page.evaluate(
            "[...new Set([...document.querySelectorAll('.kb-root')].map(one => one.dataset.theme))]"
        )
        too_wide = page.evaluate(
            "[...document.querySelectorAll('.kb-root')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
        )
        cut_off = page.evaluate(_CUT_OFF)
        found = collisions(page)
        page.set_viewport_size({"width": 1400, "height": 1000})
        return themes, too_wide, cut_off, found

    def serious(self, theme: str) -> tuple[list[tuple[str, str, str]], set[str]]:
        """What axe calls serious in the live views, in a theme, and the rules that it could apply to them."""
        from axe_playwright_python.sync_playwright import Axe

        self.theme(theme)
        wanted = {"resultTypes": ["violations"]}  # of all else the rules are enough
        results = Axe().run(self.page, context={"include": [[".kb-root"]]}, options=wanted)
        serious = [
            (found["id"], found["nodes"][0]["html"][:200], found["nodes"][0]["failureSummary"][:300])
            for found in results.response["violations"]
            if found["impact"] in ("serious", "critical")
        ]
        return serious, {found["id"] for found in results.response["passes"]}

    def save(self) -> dict[str, Any]:
        """Save it; gives the notebook as it is on the disk then."""
        self.command("docmanager:save")
        saved: dict[str, Any] = json.loads((self.lab.folder / self.name).read_text(encoding="utf-8"))
        return saved


def write_notebook(path: Path, cells: Sequence[str]) -> Path:
    """A notebook of code cells that have not run."""
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"cell-{number}",
                "metadata": {},
                "outputs": [],
                "source": source,
            }
            for number, source in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    return path
