"""PRF-13: the quickstart in JupyterLab with its views and without, and how often a busy run is sent to the browser.

The same cells without views do the same work: each view is asked for and given to a name, and runs are not watched.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from harness import Bound, Case, Column, Measures, Row, Rows, Table

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "browser"))
sys.path.append(str(ROOT / "tests"))

OWN = "quickstart, all views"
FLOOR = "the same cells without views"
BUSY = "a watched run of 20,000 events"
UNWATCHED = "the same run, not watched"

_QUICKSTART = ROOT / "notebooks" / "00_quickstart.ipynb"
_CHROMIUM = "/usr/bin/chromium"
_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
_BUSY = """
import asyncio, time
import koogbook as kb
busy = kb.strategy("busy", input=int, output=int)
@busy.node
async def step(ctx, n: int) -> int:
    await asyncio.sleep(0.0003)
    return n - 1
busy.start >> step
busy.edge(step, step, when=lambda n: n > 0, label="more")
step >> busy.finish
many = kb.Agent(kb.OfflineExecutor(), "offline", busy, max_iterations=10_000)
"""


def tables() -> list[Table]:
    missing = [name for name in ("playwright", "jupyterlab") if importlib.util.find_spec(name) is None]
    if missing or not Path(_CHROMIUM).exists():
        print(
            f"PRF-13 needs JupyterLab, playwright and {_CHROMIUM}: pip install -e '.[lab,test]'",
            file=sys.stderr,
        )
        return []
    return [
        Table(
            statement="PRF-13",
            title="open the quickstart in JupyterLab, run all, last view drawn; a busy run",
            cases=[
                Case(OWN, "koogbook", lambda: _opened("with.ipynb")),
                Case(FLOOR, "floor", lambda: _opened("without.ipynb")),
                Case(BUSY, "koogbook", lambda: _busy("await kb.watch(many, 6_700)"), floor=UNWATCHED),
                Case(UNWATCHED, "floor", lambda: _busy("await many.run(6_700)")),
            ],
            columns=[Column("seconds", "s"), Column("rate", "messages a second", 1, 1)],
            bounds=[Bound(OWN, FLOOR, 2.0)],
            facts=_facts,
        )
    ]


def _facts(rows: Rows) -> list[tuple[str, bool]]:
    busy: Row = rows[BUSY]
    most = max(busy.values("rate"), default=0.0)
    return [(f"at most {most:.1f} messages a second reach the browser (limit 10)", most <= 10)]


@cache
def _lab() -> tuple[Any, Any]:
    """A running JupyterLab and a browser, until the program ends."""
    from lab_pages import running_lab
    from playwright.sync_api import sync_playwright

    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    whole = json.loads(_QUICKSTART.read_text(encoding="utf-8"))
    for cell in whole["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    (folder / "with.ipynb").write_text(json.dumps(whole), encoding="utf-8")
    (folder / "without.ipynb").write_text(json.dumps(_without_views(whole)), encoding="utf-8")
    lab = stack.enter_context(running_lab(folder))
    browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=_CHROMIUM, args=_QUIET)
    stack.callback(browser.close)
    return lab, browser


def _without_views(notebook: dict[str, Any]) -> dict[str, Any]:
    """The same work, with nothing shown."""
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            source = re.sub(r"^%koog_(graph|locks|diff|checkpoints)", r"_view = %koog_\1", source, flags=re.M)
            source = re.sub(
                r"^(%koog_edge.*|%%koog_node.*)(?<!--no-graph)$", r"\1 --no-graph", source, flags=re.M
            )
            source = re.sub(r"^view = %koog_graph(.*)\nview$", r"view = %koog_graph\1", source)
            source = source.replace("kb.graph(trip)", "_view = kb.graph(trip)")
            source = source.replace(
                "%koog_strategy trip --input str --output str --reset",
                "trip = kb.strategy('trip', input=str, output=str)",
            )
            body = re.match(r"%%koog_run --session (\S+)\n(.*)", source, flags=re.S)
            if body:
                source = f"run = await agent.run({body[2]!r}, {body[1]!r})"
            source = re.sub(
                r"^%koog_run --session (\S+) --input None --to (\w+)",
                r"\2 = await agent.run(None, '\1')",
                source,
            )
            cell = {**cell, "source": source}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _opened(name: str) -> Measures:
    from lab_pages import OpenNotebook

    lab, browser = _lab()
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    try:
        notebook = OpenNotebook(lab, context.new_page(), name)
        started = time.perf_counter()
        notebook.open()
        notebook.run_all()
        if name == "with.ipynb":
            notebook.page.wait_for_function(
                "[...document.querySelectorAll('.kb-root .kb-title')].at(-1)?.textContent === 'Checkpoints'"
            )
        seconds = time.perf_counter() - started
        prompts = notebook.page.locator(".jp-OutputArea-output .ansi-red-fg").count()
        if prompts:
            raise RuntimeError(f"a cell of {name} failed")
        notebook.page.evaluate("() => { window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
        notebook.page.wait_for_timeout(500)
        return {"seconds": seconds}
    finally:
        context.close()


@contextmanager
def _kernel() -> Iterator[Any]:
    from kernels import running_kernel

    with tempfile.TemporaryDirectory() as folder, running_kernel(Path(folder)) as kernel:
        kernel.run(_BUSY)
        yield kernel


def _busy(call: str) -> Measures:
    with _kernel() as kernel:
        ran = kernel.run(
            f"began = time.perf_counter(); run = {call}; print(len(run.events), time.perf_counter() - began)",
            timeout=120,
        )
    events, seconds = ran.printed.split()
    if int(events) < 20_000:
        raise RuntimeError(f"only {events} events")
    sent = len(ran.comms) + len(ran.updates) + len(ran.outputs) - 1  # but for what the cell itself prints
    return {"seconds": float(seconds), "rate": sent / float(seconds)}
