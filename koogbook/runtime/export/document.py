"""A strategy as JSON, and back.

The document is one object::

    {"format": "koogbook-graph/1", "name": "trip", "version": "1",
     "nodes": [{"path": "trip/ask", "name": "ask", "kind": "node", "input_type": "str", "output_type": "str",
                "place": "cell 3:1", "note": "", "thread": false, "details": []}, ...],
     "edges": [{"source": "trip/ask", "target": "trip/finish", "order": 0, "conditional": false, "label": "",
                "mapped": false}, ...],
     "findings": [{"level": "error", "kind": "no_way_out", "path": "trip/ask", "text": "...", "remedy": "...",
                   "edge": "ask >> finish", "line": "trip.edge('ask', 'finish')"}, ...]}

``kind`` is one of start, finish, node, compress, subgraph, parallel and merge. The nodes of a subgraph have paths that
begin with its own. ``order`` is the place of an edge among those of its source, in the order in which they are tried.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from koogbook.errors import GraphError
from koogbook.runtime.shape import GraphShape

_FORMAT = "koogbook-graph/1"


def to_json(shape: GraphShape) -> str:
    """The graph as a JSON document; same strategy, same text."""
    # Not by msgspec: names may hold surrogates without their other half, which the standard library escapes.
    document = {"format": _FORMAT, **msgspec.to_builtins(shape)}
    return (
        json.dumps(document, ensure_ascii=_has_lone_surrogates(document), indent=1, separators=(",", ": "))
        + "\n"
    )


def graph_from_json(text: str | bytes) -> GraphShape:
    """The graph of a document that :func:`to_json` has made.

    Raises:
        GraphError: It is no such document; the message says where.
    """
    try:
        document: Any = json.loads(text)
    except ValueError as problem:
        raise GraphError(f"This is no JSON: {problem}. Nothing was read.") from problem
    if not isinstance(document, dict) or document.pop("format", None) != _FORMAT:
        raise GraphError(
            f'This is no graph of a strategy: it is an object with "format": {_FORMAT!r}, as strategy.to_json() gives. '
            "Nothing was read."
        )
    try:
        shape = msgspec.convert(document, GraphShape)
    except msgspec.ValidationError as problem:
        raise GraphError(f"This graph cannot be read: {problem}. Nothing was read.") from problem
    _require_ends(shape)
    return shape


def _require_ends(shape: GraphShape) -> None:
    paths = [node.path for node in shape.nodes]
    if len(paths) != len(set(paths)):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise GraphError(f"This graph cannot be read: {twice!r} is in it twice. Nothing was read.")
    known = set(paths)
    for edge in shape.edges:
        for end in (edge.source, edge.target):
            if end not in known:
                raise GraphError(
                    f"This graph cannot be read: an edge ends at {end!r}, which is no node of it. Nothing was read."
                )


def _has_lone_surrogates(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
