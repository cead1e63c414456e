"""``koogbook freeze``: make the live views of saved notebooks static, or a page of a notebook."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from koogbook.commands.terminal import counted, on_one_line
from koogbook.errors import NotebookFileError
from koogbook.notebook.frozen import Frozen, freeze_file, write_whole


def add(commands: Any) -> None:
    """Say what the command takes."""
    freeze = commands.add_parser(
        "freeze",
        help="make the live views of a saved notebook static, before it is shared",
        description="Make the live koogbook views of saved notebooks static: their widgets are taken out, the "
        "pictures beside them stay. Widgets of others are left alone.",
    )
    freeze.add_argument("files", nargs="+", metavar="FILE", help="a saved notebook (.ipynb)")
    instead = freeze.add_mutually_exclusive_group()
    instead.add_argument(
        "--output", metavar="PATH", help="write the frozen notebook there; FILE stays as it is"
    )
    instead.add_argument(
        "--html",
        metavar="PAGE",
        help="write an HTML page that needs no network and runs no script; FILE stays as it is",
    )
    instead.add_argument(
        "--check", action="store_true", help="change nothing; exit code 1 when a view is live"
    )
    freeze.set_defaults(run=_freeze)


def _freeze(chosen: argparse.Namespace) -> int:
    if len(chosen.files) > 1 and (chosen.output or chosen.html):
        switch = "--output" if chosen.output else "--html"
        raise NotebookFileError(
            f"{switch} takes one notebook, and there are {len(chosen.files)}. Nothing was changed. Call it for each."
        )
    if str(chosen.html).endswith(".ipynb"):
        raise NotebookFileError(
            f"--html names the page, and {chosen.html} is a notebook's name. Nothing was changed. "
            "Write: koogbook freeze --html page.html trip.ipynb"
        )
    done: list[tuple[str, Frozen, bytes]] = []
    problems = 0
    for file in chosen.files:  # all are read before any is written
        try:
            done.append((file, *freeze_file(file)))
        except NotebookFileError as problem:
            problems += 1
            print(f"koogbook: {on_one_line(str(problem))}", file=sys.stderr)
    if problems:
        return 2
    if chosen.check:
        return _check(done)
    for file, frozen, content in done:
        if chosen.html:
            _write_page(file, frozen, chosen.html)
        else:
            _write_notebook(file, frozen, content, chosen.output)
    return 0


def _write_notebook(file: str, frozen: Frozen, content: bytes, target: str | None) -> None:
    if target or frozen.changed:
        write_whole(target or file, content, like=file)
    print(f"{on_one_line(file)}: {_said(frozen)}")
    _tell_what_stays(file, frozen)
    if target:
        print(f"Written: {on_one_line(target)}")


def _check(done: list[tuple[str, Frozen, bytes]]) -> int:
    live = 0
    for file, frozen, _ in done:
        for view in sorted((*frozen.views, *frozen.without_html), key=lambda view: view.cell):
            live += 1
            print(f"{on_one_line(file)}: {on_one_line(str(view))} is live")
        if frozen.models and not frozen.views:
            live += 1
            print(
                f"{on_one_line(file)}: {counted(frozen.models, 'widget model')} of views that no cell shows any more"
            )
    return int(live > 0)


def _said(frozen: Frozen) -> str:
    if not frozen.changed:
        return "nothing to freeze"
    cells = ", ".join(on_one_line(str(view)) for view in frozen.views)
    views = f"{counted(len(frozen.views), 'view')} made static: {cells}" if frozen.views else ""
    models = f"{counted(frozen.models, 'widget model')} taken out" if frozen.models else ""
    return "; ".join(filter(None, (views, models)))


def _tell_what_stays(file: str, frozen: Frozen) -> None:
    name = on_one_line(file)
    for view in frozen.without_html:
        print(
            f"{name}: {on_one_line(str(view))} has no HTML to be shown instead. Run the cell again and save."
        )
    if frozen.foreign:
        is_are, stays = ("is", "stays") if frozen.foreign == 1 else ("are", "stay")
        print(f"{name}: {counted(frozen.foreign, 'widget')} {is_are} not koogbook's and {stays} live")


def _write_page(file: str, frozen: Frozen, target: str) -> None:
    from koogbook.notebook.frozen_page import frozen_page

    page = frozen_page(frozen.notebook, Path(file))
    write_whole(target, page.html.encode("utf-8", "backslashreplace"), like=file)
    name = on_one_line(file)
    widgets = frozen.foreign + len(frozen.without_html)
    if widgets:
        print(
            f"{name}: {counted(widgets, 'widget')} without a koogbook picture: the page has the text, if any"
        )
    if page.without_form:
        print(
            f"{name}: {counted(page.without_form, 'output')} with a script or a widget alone "
            "cannot be shown on a page without scripts"
        )
    if page.outside:
        print(f"{name}: {counted(page.outside, 'thing')} from outside is not loaded by the page")
    print(f"Written: {on_one_line(target)}")
