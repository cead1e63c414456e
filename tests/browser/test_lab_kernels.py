"""A JupyterLab that many tests share ends the kernels of one notebook, and those of no other."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

#: Two notebooks of one name in folders of their own, one of them open twice, and a console.
SESSIONS = [
    {"path": "a/views.ipynb", "kernel": {"id": "k1"}},
    {"path": "b/views.ipynb", "kernel": {"id": "k2"}},
    {"path": "a/views.ipynb", "kernel": {"id": "k1"}},
    {"path": "console-1", "kernel": {"id": "k3"}},
]


@contextmanager
def answering(ended: list[str]) -> Iterator[int]:
    """A server that tells of these sessions and notes what is ended; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The sessions, and nothing else."""
            self._answer(200 if self.path == "/api/sessions" else 404, json.dumps(SESSIONS).encode())

        def do_DELETE(self) -> None:
            """A kernel ends."""
            ended.append(self.path)
            self._answer(204, b"")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing of it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_the_kernels_of_a_notebook_end_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them once, by the path of the notebook in the folder of the lab."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "browser"))
    from lab_pages import Lab

    ended: list[str] = []
    with answering(ended) as port:
        Lab(tmp_path, port).end_kernels("a/views.ipynb")

    assert ended == ["/api/kernels/k1"]
