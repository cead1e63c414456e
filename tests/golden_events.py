"""One event of every kind, the same at every time: what a golden file of the wire form is made of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import koogbook as kb
from koogbook.code_place import CodeExcerpt
from koogbook.events import Event
from koogbook.llm.call_record import RequestChange
from koogbook.llm.layers import Mark
from koogbook.llm.request import Request
from koogbook.messages.ledger import Ledger, MessageFate, NewMessage, Sentence
from koogbook.messages.model import LLModel, LLMParams
from koogbook.runtime.shape import EdgeShape, GraphShape, NodeShape
from koogbook.tools.tool import ToolSpec

TIME = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)

SYSTEM = kb.system("Be brief.", id="m1", time=TIME)
ASKED = kb.user("Rome \u202e\ud83d", id="m2", time=TIME, metadata={"layer": "memory"})
CALLS = kb.assistant(
    calls=[kb.ToolCall("weather", '{"city":"Rome"}', "c1")], id="m3", time=TIME, usage=kb.Usage(12, 5)
)
RESULT = kb.tool_result("c1", "rain", tool="weather", id="m4", time=TIME)
SUMMARY = kb.user("They spoke of Rome.", id="m5", time=TIME, name="koogbook.summary")

REQUEST = Request(
    messages=(SYSTEM, ASKED, CALLS, RESULT),
    model=LLModel("large", "acme", 8_000),
    tools=(ToolSpec("weather", "The weather.", '{"type":"object"}'),),
    params=LLMParams(temperature=0.5),
)
GRAPH = GraphShape(
    name="trip",
    nodes=(
        NodeShape(path="trip/start", name="start", kind="start"),
        NodeShape(path="trip/plan", name="plan", kind="node", input_type="str", place="trip.py:12"),
        NodeShape(path="trip/finish", name="finish", kind="finish"),
    ),
    edges=(
        EdgeShape(source="trip/start", target="trip/plan", order=0, conditional=False),
        EdgeShape(source="trip/plan", target="trip/finish", order=0, conditional=True, label="done"),
    ),
)
LEDGER = Ledger(
    strategy="WholeHistory()",
    status="applied",
    before=(SYSTEM, ASKED, CALLS, RESULT),
    after=(SYSTEM, SUMMARY),
    fates=(
        MessageFate(position=0, fate="kept", tokens=3, new_position=0),
        *(MessageFate(position=place, fate="summarised", tokens=4, summaries=(1,)) for place in (1, 2, 3)),
    ),
    new_messages=(
        NewMessage(
            position=1, tokens=5, sources=(1, 2, 3), sentences=(Sentence("They spoke of Rome.", (1,)),)
        ),
    ),
    model_calls=1,
    seconds=0.25,
)

#: What a field holds, by the name of the kind and the field, or by the field alone.
VALUES: dict[str, Any] = {
    **{"run_id": "9f0c", "session_id": "chat-1", "agent_id": "trip", "strategy": "trip", "path": "trip/plan"},
    **{"input": ASKED, "output": (CALLS, RESULT), "features": ("Persistence",), "acted": ("Persistence",)},
    **{"graph": GRAPH, "resumed_after": "trip/plan", "error": "ValueError: no seats", "cancelled": True},
    **{"visit": 1, "iteration": 2, "seconds": 0.5, "target": "trip/finish", "order": 0, "label": "done"},
    **{"merge": "fold", "history": "base", "storage": "union", "winner": "east", "failed": ("west",)},
    **{"thrown_away": ("north: 2 messages",), "call": 3, "purpose": "conversation", "model": "acme:large"},
    **{"messages": 4, "tokens": 16, "tools": ("weather",), "request": REQUEST, "reply": CALLS, "frames": 2},
    "changes": (RequestChange(feature="Guide", before=REQUEST, after=REQUEST),),
    "marks": MappingProxyType({"m2": Mark("memory", "ChatMemory")}),
    **{
        "usage": kb.Usage(12, 5),
        "spent_by": "acme:large",
        "finish_reason": "stop",
        "attempt": 1,
        "wait": 0.5,
    },
    **{"to": "acme:small", "key": "5e1f", "kind": "retry", "text": "once more", "level": "info"},
    **{"LLMStreamingFrame.kind": "text", "CheckpointSaved.kind": "node"},
    **{
        "ledger": LEDGER,
        "checkpoint": "cp1",
        "version": 7,
        "left_out": ("client",),
        "reason": "it is a socket",
    },
    **{"input_ignored": True, "tool": "weather", "call_id": "c1", "number": 1, "args": '{"city":"Rome"}'},
    **{"ToolCallCompleted.output": "rain", "handler": "show", "event": "NodeStarting"},
    **{
        "context": "trip",
        "session": 5,
        "mode": "write",
        "who": "plan",
        "place": "trip.py:12",
        "ahead": (3, 4),
    },
    **{"ahead_more": 1, "waited": 0.25, "held": 0.75, "first": "trip.py:10", "first_mode": "read"},
    **{"first_code": CodeExcerpt(9, 10, ("async with a:", "    b")), "code": None, "waits": "awaits b"},
    **{"holders": ("plan trip.py:10",), "messages_before": 2, "tokens_before": 8, "replaced": True},
}


def kinds(root: type[Event] = Event) -> Iterator[type[Event]]:
    """Every kind of event that is koogbook's own, the general ones included."""
    if root.__module__.startswith("koogbook.events."):
        yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


def golden_events() -> list[Event]:
    """One of each kind, by name; a new field has to be given a value above."""
    return [
        _made(kind, number) for number, kind in enumerate(sorted(set(kinds()), key=lambda one: one.__name__))
    ]


def _made(kind: type[Event], number: int) -> Event:
    fields = {
        name: VALUES.get(f"{kind.__name__}.{name}", VALUES.get(name, ...))
        for name in kind.__struct_fields__
        if name not in ("time", "at")
    }
    missing = [name for name, value in fields.items() if value is ...]
    assert not missing, (
        f"Give {kind.__name__}.{missing[0]} a value in VALUES, and write the golden file anew."
    )
    return kind(time=1_767_258_000.0 + number / 2, at=number / 2, **fields)
