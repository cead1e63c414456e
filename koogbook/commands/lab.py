"""``koogbook lab``: start JupyterLab on the notebooks that come with koogbook."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from koogbook.commands.terminal import counted
from koogbook.errors import KoogbookError

_PACKAGE = Path(__file__).parent.parent
_OWN_FOLDER = "koogbook-notebooks"


def add(commands: Any) -> None:
    """Say what the command takes."""
    lab = commands.add_parser(
        "lab",
        help="start JupyterLab on the quickstart",
        usage="koogbook lab [PATH] [--port N] [--no-browser] [-- ARGUMENT ...]",
        description="Start JupyterLab on the quickstart, or on a notebook or folder of yours. What stands after -- "
        f"is passed on to JupyterLab. An installed koogbook copies its notebooks into ./{_OWN_FOLDER} first; a file "
        "that is there is never overwritten.",
    )
    lab.add_argument(
        "path", nargs="?", metavar="PATH", help="a notebook or a folder (default: the quickstart)"
    )
    lab.add_argument("--port", type=_port, metavar="N", help="where it listens")
    lab.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    lab.set_defaults(run=_lab)


def parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before ``--``, and those after it for JupyterLab."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, a whole number from 1 to 65535")
    return int(text)


def _lab(chosen: argparse.Namespace) -> int:
    if find_spec("jupyterlab") is None:
        raise KoogbookError(
            f'JupyterLab is not installed for {sys.executable}: pip install "koogbook[lab]". Nothing was started.'
        )
    if chosen.path is None:
        start = quickstart_of(_own_notebooks())
    else:
        start = Path(chosen.path)
        if not start.exists():
            raise KoogbookError(f"{start} does not exist. Nothing was started.")
    print(f"Notebooks: {start}")
    _become(lab_command(start, port=chosen.port, browser=not chosen.no_browser, more=chosen.passed_on))


def lab_command(
    start: Path, *, port: int | None = None, browser: bool = True, more: Sequence[str] = ()
) -> list[str]:
    """The command line of JupyterLab, of the Python that runs now."""
    command = [sys.executable, "-m", "jupyterlab", str(start.absolute())]
    if port is not None:
        command.append(f"--port={port}")
    if not browser:
        command.append("--no-browser")
    return [*command, *more]


def _become(command: list[str]) -> NoReturn:
    """Run it in the place of this process, so that Ctrl-C and the exit code are JupyterLab's."""
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform == "win32":  # there, exec gives the terminal back at once
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


def _own_notebooks() -> Path:
    """The folder of the notebooks that come with koogbook, where a user may change them."""
    if checkout := notebooks_of_checkout(_PACKAGE):
        return checkout
    return copy_notebooks(Path(sysconfig.get_path("data")) / "share/koogbook/notebooks", Path(_OWN_FOLDER))


def notebooks_of_checkout(package: Path) -> Path | None:
    """``notebooks/`` beside the package, where that is a checkout of koogbook and has notebooks."""
    folder = package.parent / "notebooks"
    is_checkout = (package.parent / "pyproject.toml").is_file() and any(folder.glob("*.ipynb"))
    return folder if is_checkout else None


def copy_notebooks(source: Path, target: Path) -> Path:
    """Copy the notebooks of an installed koogbook; gives the target. What is there already stays as it is.

    Raises:
        KoogbookError: There are no notebooks.
    """
    files = [
        path
        for path in sorted(source.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(source).parts)
    ]
    if not any(path.suffix == ".ipynb" for path in files):
        raise KoogbookError(
            f"No notebooks come with this koogbook (looked in {source}). Nothing was started. Name one of yours: "
            "koogbook lab PATH"
        )
    kept = 0
    for path in files:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = copy.open("xb")
        except FileExistsError:
            kept += 1
            continue
        with file, _whole_or_not(copy):
            file.write(path.read_bytes())
    if kept:
        print(
            f"{counted(kept, 'file')} in {target} stayed as found. To get what koogbook ships, move that folder away."
        )
    return target


@contextmanager
def _whole_or_not(copy: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        copy.unlink()
        raise


def quickstart_of(folder: Path) -> Path:
    """The notebook to begin with: the quickstart, or the first one."""
    notebooks = sorted(folder.glob("*.ipynb"))
    named = [path for path in notebooks if "quickstart" in path.name]
    return (named or notebooks or [folder])[0]
