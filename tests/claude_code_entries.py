"""Entries of Claude Code logs, made of blocks, and two logs of them."""

from __future__ import annotations

from typing import Any


def text(words: str) -> dict[str, Any]:
    """A block with these words."""
    return {"type": "text", "text": words}


def user(own: str, parent: str | None, *blocks: Any, **more: Any) -> dict[str, Any]:
    """An entry of the user's."""
    message = {"role": "user", "content": list(blocks)}
    return {"type": "user", "uuid": own, "parentUuid": parent, "message": message, **more}


def model(own: str, parent: str | None, message: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    """An entry of the model's, one of those with this message id."""
    inner = {"id": message, "role": "assistant", "content": list(blocks), **more}
    return {"type": "assistant", "uuid": own, "parentUuid": parent, "message": inner}


def use(call_id: str) -> dict[str, Any]:
    """A block with a call."""
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}}


def result(call_id: str) -> dict[str, Any]:
    """A block with a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": f"seen {call_id}"}


#: A rewind, and a compaction after it.
BOUNDARY = {"type": "system", "subtype": "compact_boundary", "uuid": "cb", "parentUuid": None}
REWOUND = [
    user("u1", None, text("Begin")),
    model("a1", "u1", "m1", text("ready")),
    user("x1", "a1", text("try one")),
    user("y1", "a1", text("try two")),
    model("y2", "y1", "m2", text("two done")),
    {**BOUNDARY, "logicalParentUuid": "y2"},
    user("cs", "cb", text("Summary: two done."), isCompactSummary=True),
    user("z1", "cs", text("after")),
]
#: Two calls of one message, each with its result.
PARALLEL = [
    user("u", None, text("both")),
    model("a1", "u", "m", use("A")),
    model("a2", "a1", "m", use("B")),
    user("rA", "a1", result("A")),
    user("rB", "a2", result("B")),
    model("a3", "rB", "n", text("done")),
]
