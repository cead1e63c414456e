"""Conversations for the demo, and a clock on which something happens on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from koogbook import clock

OPEN_CALL = {
    "role": "assistant",
    "content": "Let me see.",
    "tool_calls": [
        {"id": "open", "type": "function", "function": {"name": "trains", "arguments": '{"to": "Bonn"}'}}
    ],
}


def chat(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation in OpenAI's form, long enough to be compressed."""
    talk = [
        {
            "role": role,
            "content": f"{role} says that platform {number} is closed until {number}:30 for repairs. " * 4,
        }
        for number in range(12)
        for role in ("user", "assistant")
    ]
    return [{"role": "system", "content": "Plan trips."}, *talk, *messages]


def write(path: Path, value: Any) -> Path:
    """The value as a JSON file."""
    path.write_text(json.dumps(value), encoding="ascii")
    return path


class EventfulClock(clock.FixedClock):
    """A fixed clock on which something happens while the demo waits for the tenth time."""

    def __init__(self, happening: Callable[[], object]) -> None:
        super().__init__()
        self.happening = happening
        self.waits = 0

    async def sleep(self, seconds: float) -> None:
        """Wait, and at the tenth time let it happen."""
        self.waits += 1
        if self.waits == 10:
            self.happening()
        await super().sleep(seconds)
