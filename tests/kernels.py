"""A real kernel, and what a front end hears from it."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ipykernel
from jupyter_client.manager import KernelManager

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Ran:
    """What a cell did: its reply, its outputs, and the messages that widgets were sent meanwhile."""

    def __init__(self) -> None:
        self.reply: dict[str, Any] = {}
        self.outputs: list[dict[str, Any]] = []
        self.updates: list[dict[str, Any]] = []
        self.comms: list[tuple[str, dict[str, Any]]] = []

    @property
    def status(self) -> str:
        """``ok`` or ``error``."""
        return str(self.reply.get("status"))

    @property
    def error(self) -> str:
        """Name and text of the exception."""
        return f"{self.reply.get('ename')}: {self.reply.get('evalue')}"

    @property
    def printed(self) -> str:
        """All that was written to stdout."""
        return "".join(one["text"] for one in self.outputs if one.get("name") == "stdout")

    def shown(self, mime: str = "text/plain") -> list[Any]:
        """What was displayed, in one form."""
        return [one["data"][mime] for one in self.outputs if mime in one.get("data", {})]


class Kernel:
    """A running kernel."""

    def __init__(self, client: Any, manager: KernelManager) -> None:
        self.client = client
        self.manager = manager
        self._subshell = ""

    def send(self, code: str, *, cell_id: str | None = None, deleted: Sequence[str] = ()) -> str:
        """Ask for a cell to be run, and say which were deleted; gives the id of the request."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        metadata: dict[str, Any] = {} if cell_id is None else {"cellId": cell_id}
        if deleted:
            metadata["deletedCells"] = list(deleted)
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def run(
        self, code: str, *, cell_id: str | None = None, deleted: Sequence[str] = (), timeout: float = 30
    ) -> Ran:
        """Run a cell and wait for its end."""
        return self.wait_for(self.send(code, cell_id=cell_id, deleted=deleted), timeout=timeout)

    def wait_for(self, request: str, *, timeout: float = 30) -> Ran:
        """Collect what a request does, until it is over."""
        ran, end = Ran(), time.monotonic() + timeout
        idle = False
        while not idle:
            idle = self._take(ran, request, end - time.monotonic())
        while True:
            reply = self.client.get_shell_msg(timeout=max(end - time.monotonic(), 0.1))
            if reply["parent_header"].get("msg_id") == request:
                ran.reply = reply["content"]
                return ran

    def listen(self, seconds: float) -> Ran:
        """What comes by itself, while no cell runs."""
        ran, end = Ran(), time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                self._take(ran, None, left)
            except (queue.Empty, TimeoutError):
                break
        return ran

    def _take(self, ran: Ran, request: str | None, left: float) -> bool:
        if left <= 0:
            raise TimeoutError("The kernel did not come to an end in time.")
        message = self.client.get_iopub_msg(timeout=left)
        kind, content = message["msg_type"], message["content"]
        own = request is None or message["parent_header"].get("msg_id") == request
        if kind.startswith("comm_"):
            ran.comms.append((kind, content))
        elif kind == "update_display_data":
            ran.updates.append(content)
        elif kind in ("display_data", "execute_result", "stream", "error") and own:
            ran.outputs.append(content)
        return bool(own and request and kind == "status" and content["execution_state"] == "idle")

    def click(self, model_id: str, do: str, value: str = "") -> None:
        """What a front end sends when something in a view is clicked.

        JupyterLab sends it to a subshell of the kernel. Since 7.4 the kernel itself brings it to the shell of the cell;
        before, it arrives on the subshell's thread.
        """
        data = {"method": "custom", "content": {"do": do, "value": value}}
        message = self.client.session.msg("comm_msg", {"comm_id": model_id, "data": data})
        if ipykernel.version_info[:2] < (7, 4):
            message["header"]["subshell_id"] = self._subshell_id()
        self.client.shell_channel.send(message)

    def _subshell_id(self) -> str:
        if not self._subshell:
            request = self.client.session.msg("create_subshell_request", {})
            self.client.control_channel.send(request)
            reply = self.client.get_control_msg(timeout=10)
            self._subshell = str(reply["content"]["subshell_id"])
        return self._subshell

    def interrupt(self) -> None:
        """What the stop button does."""
        self.manager.interrupt_kernel()


@contextmanager
def running_kernel(folder: Path, environment: Mapping[str, str | None] | None = None) -> Iterator[Kernel]:
    """A kernel of this Python in a folder; variables of the environment that are None are taken out."""
    import os

    full = {
        **os.environ,
        "IPYTHONDIR": str(folder / ".ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / ".runtime"),
    }
    full.pop("KOOGBOOK_STATIC", None)
    for name, value in (environment or {}).items():
        if value is None:
            full.pop(name, None)
        else:
            full[name] = value
    (folder / ".runtime").mkdir(exist_ok=True)
    manager = KernelManager(
        kernel_name="python3", connection_file=str(folder / ".runtime" / f"kernel-{time.monotonic_ns()}.json")
    )
    manager.start_kernel(env=full, cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield Kernel(client, manager)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
