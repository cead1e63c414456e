"""One line under a cell that is written again and again: only its last state is saved with the notebook."""

from __future__ import annotations

from typing import Any


class OneLine:
    """What a bar writes to; each line takes the place of the one before."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._handle: Any = None

    def write(self, text: str) -> int:
        """Show what stands after the last carriage return; line breaks are left out."""
        line = text.replace("\n", "").rpartition("\r")[2]
        if line:
            self._show(line.rstrip())
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def _show(self, line: str) -> None:
        from IPython.display import display

        data = {"text/plain": line}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
