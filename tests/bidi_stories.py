"""Every view of something whose names all are one text, for the tests of texts from right to left."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from koogbook.agents.report import Report
from koogbook.compression.fact_check import check_facts
from koogbook.events import EdgeTaken, Event, NodeCompleted, NodeFailed, NodeStarting, RunFailed, RunStarting
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.features.persistence.fingerprint import Difference
from koogbook.messages.ledger import Ledger, MessageFate, NewMessage
from koogbook.messages.message import SUMMARY_NAME, Message, assistant, message
from koogbook.messages.parts import ToolCall
from koogbook.messages.word_diff import provenance
from koogbook.notebook.views.checkpoint_view.selection import Inside
from koogbook.notebook.views.checkpoint_view.state import CheckpointState, page_state
from koogbook.notebook.views.checkpoint_view.table import CheckpointTable, Choice
from koogbook.notebook.views.checkpoint_view.text import checkpoint_text
from koogbook.notebook.views.checkpoint_view.tree import tree_rows
from koogbook.notebook.views.checkpoint_view.view import Verdict, checkpoint_element
from koogbook.notebook.views.diff_view.model import DiffState
from koogbook.notebook.views.diff_view.state import diff_state
from koogbook.notebook.views.diff_view.text import diff_text
from koogbook.notebook.views.diff_view.view import diff_element
from koogbook.notebook.views.graph_view.model import GraphState
from koogbook.notebook.views.graph_view.state import graph_state
from koogbook.notebook.views.graph_view.text import graph_text
from koogbook.notebook.views.graph_view.view import graph_element
from koogbook.notebook.views.lock_view.state import lock_state
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.report_view import report_element
from koogbook.notebook.views.run_view.state import RunState
from koogbook.notebook.views.run_view.view import run_element, run_text
from koogbook.runtime.shape import EdgeShape, FindingShape, GraphShape, NodeShape

HEBREW = "\u05de\u05d7\u05d9\u05e8: 120 \u20aa (tool: get_price)"
ARABIC = "\u0627\u0644\u0639\u062f\u062f 3 \u2192 node_2"
TRICK = "abc \u202egnp.exe"
#: A name without Latin letters, and one of about the same width in them.
SHORT, LATIN = "\u05de\u05d7\u05d9\u05e8", "price"

NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)


def graph_of(text: str, *, selected: bool = True) -> GraphState:
    """A loop through a node that was run, one in a subgraph that failed, with conditions on the edges."""
    kinds = {
        "start": "start",
        text: "node",
        f"{text} 2": "subgraph",
        f"{text} 2/{text}": "node",
        "finish": "finish",
    }
    nodes = tuple(
        NodeShape(
            path=f"{text}/{path}",
            name=path.rpartition("/")[2],
            kind=kind,  # type: ignore[arg-type]
            input_type=text[:5],
            output_type="str",
            place=f"{text}:3",
            note=text,
        )
        for path, kind in kinds.items()
    )
    edges = tuple(
        EdgeShape(
            source=f"{text}/{source}",
            target=f"{text}/{target}",
            order=order,
            conditional=bool(label),
            label=label,
        )
        for source, target, order, label in (
            ("start", text, 0, ""),
            (text, f"{text} 2", 0, text),
            (text, text, 1, f"{text} 3"),
            (f"{text} 2", "finish", 0, ""),
        )
    )
    finding = FindingShape(
        level="warning",
        kind="unreachable",
        path=f"{text}/{text}",
        text=f"Node {text} has no way out.",
        remedy=f"Add {text} >> ...",
    )
    shape = GraphShape(name=text, nodes=nodes, edges=edges, findings=(finding,))
    same: dict[str, Any] = {"run_id": "41"}
    at: dict[str, Any] = {**same, "path": f"{text}/{text}"}
    inside: dict[str, Any] = {**same, "path": f"{text}/{text} 2/{text}"}
    events: list[Event] = [
        RunStarting(at=0.0, agent_id=text, strategy=text, input=text, **same),
        NodeStarting(at=0.0, iteration=1, visit=1, **at),
        NodeCompleted(at=0.4, visit=1, seconds=0.4, output=text, **at),
        EdgeTaken(at=0.4, target=f"{text}/{text} 2", order=0, label=text, **at),
        NodeStarting(at=0.5, iteration=2, visit=1, **inside),
        NodeFailed(at=0.9, visit=1, seconds=0.4, error=f"{text}: no", **inside),
        RunFailed(at=1.0, error=f"ValueError: {text}", **same),
    ]
    return graph_state(
        shape, events, selected=f"{text}/{text}" if selected else None, changes=[f"node {text} is new"]
    )


def saved(
    id: str, session: str, version: int, parent: str | None, path: str, **fields: Any
) -> CheckpointInfo:
    """A checkpoint after a node."""
    return CheckpointInfo(
        id=id,
        session_id=session,
        version=version,
        parent=parent,
        kind="node",
        created=NOON + timedelta(seconds=version),
        path=path,
        messages=14,
        tokens=1664,
        iterations=version,
        fingerprint="f",
        bytes=512,
        **fields,
    )


def said(role: Any, text: str, id: str, **fields: Any) -> Message:
    """A message at noon."""
    return message(role, text, id=id, time=NOON, **fields)


def checkpoints_of(text: str, *, selected: int | None = 1) -> CheckpointState:
    """A session and its fork, one of them judged, one without its parent, the second selected and looked into."""
    fields: dict[str, Any] = {"path": f"{text}/{text} 2/{text}", "agent_id": text, "strategy_version": text}
    infos = [
        saved(f"{text} 0", text, 0, None, **fields),
        saved(f"{text} 1", text, 1, f"{text} 0", left_out=(text,), **fields),
        saved(f"{text} 2", f"{text} fork", 0, f"{text} 1", **fields),
        saved(f"{text} 3", text, 4, f"{text} gone", **fields),
    ]
    changed = Difference(f"node {text}", stored=text, now=f"{text} 2")
    judged = Verdict("with warning", (str(changed), f"{text} is not known"), (changed,))
    table = CheckpointTable(tree_rows(infos), lambda info: judged)
    return page_state(
        table,
        Choice(filter=f"'{text}'" if selected is None else ""),
        store=f"MemoryCheckpoints({text!r})",
        selected=selected,
        fork_to=f"{text}-fork",
        marked=f'["{text}", "{text} 0"]',
        inside=Inside((("tools", "none"),), text),
        not_checked="",
    )


def diff_of(text: str) -> DiffState:
    """Messages that were kept, edited and left out, a call, and a sentence that rests on one of them."""
    call = ToolCall("get_price", f'{{"item": "{text}"}}', "c")
    before = (
        said("user", text, "a"),
        said("user", f"{text} today", "b"),
        assistant(calls=[call], id="c", time=NOON),
        said("assistant", text, "d"),
    )
    after = (before[0], before[1].with_text(f"{text} tomorrow"), said("user", text, "s", name=SUMMARY_NAME))
    tokens = [one.tokens for one in before]
    ledger = Ledger(
        strategy=f"Tail({text})",
        status="applied",
        before=before,
        after=after,
        fates=(
            MessageFate(0, "kept", tokens[0], 0),
            MessageFate(1, "edited", tokens[1], 1),
            MessageFate(2, "dropped", tokens[2], None, (), f"older than {text}"),
            MessageFate(3, "summarised", tokens[3], None, (2,)),
        ),
        new_messages=(NewMessage(2, after[2].tokens, (3,), provenance(text, [(3, before[3])])),),
        notes=(f"{text} is gone",),
        model_calls=1,
    )
    return diff_state(ledger, facts=check_facts(ledger, [text, f"{text} today"]), name=text, selected=1)


def run_of(text: str, *, selected: bool) -> RunState:
    """A run that wrote, failed and ended, all in one."""
    return RunState(
        session=text,
        figures=(("iteration", "1 of 9"),) * 8,
        graph=graph_of(text, selected=selected),
        locks=lock_state([]),
        attention=(f"node {text}: no", f"no tool {text!r}"),
        state="failed",
        output=text,
        error=f"ValueError: {text}",
        writing=text,
    )


def report_of(text: str) -> Report:
    """A report in which the text stands in every row."""
    return Report(f"Run 41 of {text!r} failed", (("nodes", f"2 of {text}"),), (f"tool {text!r} failed",))


#: The element and the text of each view, by a word for it.
FORMS: dict[str, Callable[[str], tuple[Element, str]]] = {
    "graph": lambda text: (graph_element(graph_of(text)), graph_text(graph_of(text))),
    "checkpoints": lambda text: (
        checkpoint_element(checkpoints_of(text)),
        checkpoint_text(checkpoints_of(text)),
    ),
    "sorted checkpoints": lambda text: (
        checkpoint_element(
            replace(checkpoints_of(text, selected=None), not_checked=f"strategy {text!r} cannot run")
        ),
        checkpoint_text(checkpoints_of(text, selected=None)),
    ),
    "diff": lambda text: (diff_element(diff_of(text)), diff_text(diff_of(text))),
    "run": lambda text: (run_element(run_of(text, selected=False)), run_text(run_of(text, selected=False))),
    "run with a node": lambda text: (
        run_element(run_of(text, selected=True)),
        run_text(run_of(text, selected=True)),
    ),
    "report": lambda text: (report_element(report_of(text), text), ""),
}
