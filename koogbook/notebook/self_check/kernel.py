"""A real kernel: that it starts, awaits, answers, and shows a view as text, HTML and widget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from koogbook import clock
from koogbook.notebook.frozen import WIDGET_VIEW
from koogbook.notebook.self_check.finding import Finding

LIMIT_SECONDS = 30.0
FORMS = {WIDGET_VIEW: "widget", "text/html": "HTML", "text/plain": "text"}

_AWAIT = """\
import asyncio, json, sys
await asyncio.sleep(0)
print(json.dumps([sys.prefix, sys.executable]))
"""
_VIEW = """\
import koogbook as kb
trip = kb.strategy("trip")
trip.start >> trip.finish
kb.graph(trip)
"""


def kernel(limit: float = LIMIT_SECONDS) -> Iterable[Finding]:
    """Start the kernel that a notebook of this folder gets; ``limit`` seconds for everything."""
    missing = [name for name in ("ipykernel", "jupyter_client") if find_spec(name) is None]
    if missing:
        yield Finding("kernel", "skipped", f"{' and '.join(missing)} not installed")
        yield Finding("a view in the kernel", "skipped", "there is no kernel")
        return
    started = clock.monotonic()
    with _started(limit) as (client, said):
        try:
            client.wait_for_ready(timeout=limit)
            answer = _run(client, _AWAIT, _left(started, limit))
        except (RuntimeError, TimeoutError) as problem:
            yield Finding("kernel", "failed", _why(problem, said), "python -m ipykernel install --sys-prefix")
            yield Finding("a view in the kernel", "skipped", "the kernel does not answer")
            return
        yield _answered(answer, clock.monotonic() - started)
        try:
            yield view_shown(_run(client, _VIEW, _left(started, limit)))
        except TimeoutError as problem:
            yield Finding(
                "a view in the kernel", "failed", _why(problem, said), "run it again on a machine at rest"
            )


def _answered(answer: dict[str, Any], seconds: float) -> Finding:
    if answer["error"]:
        return Finding(
            "kernel", "failed", f"top-level await: {answer['error']}", 'pip install "koogbook[lab]"'
        )
    prefix, executable = json.loads(answer["printed"])
    if prefix != sys.prefix:
        return Finding(
            "kernel",
            "warning",
            f"Jupyter starts another Python for 'python3': {executable}",
            f"{sys.executable} -m ipykernel install --sys-prefix",
        )
    return Finding("kernel", "ok", f"awaits and answers, {seconds:.1f} s")


def view_shown(answer: dict[str, Any]) -> Finding:
    """What came of a cell with a view."""
    name = "a view in the kernel"
    if answer["error"]:
        return Finding(
            name,
            "failed",
            answer["error"],
            "look for a file koogbook.py in this folder; or pip install --upgrade koogbook",
        )
    forms = {mime for shown in answer["shown"] for mime in shown}
    missing = [word for mime, word in FORMS.items() if mime not in forms]
    if missing:
        return Finding(
            name,
            "failed",
            f"without {' and '.join(missing)}",
            "pip install --upgrade --force-reinstall ipywidgets anywidget koogbook",
        )
    return Finding(name, "ok", f"shown as {', '.join(FORMS.values())}")


@contextmanager
def _started(limit: float) -> Iterator[tuple[Any, Path]]:
    """A client of a fresh kernel that leaves nothing behind, and the file of what the kernel says on stderr."""
    from jupyter_client.manager import KernelManager

    with tempfile.TemporaryDirectory(prefix="koogbook-check-", ignore_cleanup_errors=True) as folder:
        said = Path(folder) / "stderr"
        environment = {
            **{name: value for name, value in os.environ.items() if name != "KOOGBOOK_STATIC"},
            "IPYTHONDIR": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        manager = KernelManager(kernel_name="python3", connection_file=str(Path(folder) / "kernel.json"))
        with said.open("wb") as stderr:
            manager.start_kernel(env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
            client = manager.blocking_client()
            try:
                client.start_channels()
                yield client, said
            finally:
                client.stop_channels()
                manager.shutdown_kernel(now=True)
                manager.cleanup_resources()


def _run(client: Any, code: str, limit: float) -> dict[str, Any]:
    """Run a cell; gives what it printed, the bundles that it showed, and its error in one line."""
    printed: list[str] = []
    shown: list[dict[str, Any]] = []

    def keep(message: dict[str, Any]) -> None:
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream" and content["name"] == "stdout":
            printed.append(content["text"])
        elif kind in ("display_data", "execute_result"):
            shown.append(content["data"])

    reply = client.execute_interactive(
        code, timeout=limit, output_hook=keep, allow_stdin=False, store_history=False
    )["content"]
    error = f"{reply['ename']}: {reply['evalue']}" if reply["status"] == "error" else ""
    return {"printed": "".join(printed), "shown": shown, "error": error}


def _left(started: float, limit: float) -> float:
    return max(1.0, limit - (clock.monotonic() - started))


def _why(problem: Exception, said: Path) -> str:
    lines = said.read_text(encoding="utf-8", errors="replace").split("\n") if said.exists() else []
    last = next((line.strip() for line in reversed(lines) if line.strip() and " WARNING | " not in line), "")
    return f"{problem}{f' The kernel said: {last}' if last else ''}"
