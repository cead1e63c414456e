"""Building a strategy: ``%koog_strategy`` and ``%koog_edge``."""

from __future__ import annotations

from typing import Any

import koogbook as kb
from koogbook.errors import KoogbookError
from koogbook.notebook.magics.current import Current
from koogbook.notebook.magics.graph_parts import edge_options, ends_of, graph_of
from koogbook.notebook.magics.parsing import Given
from koogbook.notebook.magics.user_code import UserCode
from koogbook.notebook.magics.wrong_use import WrongUse, listed
from koogbook.runtime.builder import Strategy, Subgraph
from koogbook.runtime.cells import put_back
from koogbook.runtime.node import Edge, Node, Step


def strategy_magic(current: Current, given: Given) -> Any:
    """``%koog_strategy``: the view of its graph."""
    code = current.code
    name = code.own_name(given.text("NAME") or "", Strategy, "strategy")
    found: Strategy | None = code.held(name)
    types = {
        end: _type(code, text, f"--{end}")
        for end in ("input", "output")
        if (text := given.text(f"--{end}")) is not None
    }
    made: Strategy = kb.strategy(name, **types) if found is None else found
    if given.switch("--reset"):
        made.remove(*made.edges)
        made.remove(*(node for node in made.nodes.values() if node.kind not in ("start", "finish")))
    if types and found is not None:
        made.take_types(types.get("input", made.input_type), types.get("output", made.output_type))
    made.version = given.text("--version") or made.version
    code.assign(name, made)
    current.remember_strategy(name, made)
    return kb.graph(made)


def _type(code: UserCode, text: str, flag: str) -> Any:
    found = code.evaluate(text, flag)
    if isinstance(found, str | int | float | bytes | list | dict | Node | Subgraph):
        raise WrongUse(f"{flag}: {text!r} is {found!r:.40} and no type.", f"Write, for example: {flag} str")
    return found


def edge_magic(current: Current, given: Given) -> Any:
    """``%koog_edge``: the view of the graph that the edge is in."""
    graph = graph_of(current, given)
    ends = ends_of(graph, given.texts("A >> B"))
    options = edge_options(current.code, given)
    if len(ends) > 1 and options:
        raise WrongUse(
            f"{', '.join(f'--{name}' for name in options)} belongs to one edge, and this is a chain of {len(ends)}.",
            "Write that edge in a line of its own.",
        )
    if given.switch("--remove"):
        gone = [_existing(part, source, target, options) for part, source, target in ends]
        for (part, _, _), edge in zip(ends, gone, strict=True):
            part.remove(edge)
    else:
        _add(ends, options)
    return None if given.switch("--no-graph") else kb.graph(graph.root)


def _add(ends: list[tuple[Subgraph, Node, Node]], options: dict[str, Any]) -> None:
    put_back(ends[0][0].root)  # what a look has withdrawn in the middle of this cell
    before = {part: list(part.edges) for part, _, _ in ends}
    try:
        for part, source, target in ends:
            part.edge(source, target, **options)
    except KoogbookError:
        # All edges of a chain, or none of them.
        for part, edges in before.items():
            part.edges = edges
        raise


def _existing(graph: Subgraph, source: Node, target: Node, options: dict[str, Any]) -> Edge:
    """The edge to take out.

    Raises:
        WrongUse: There is none, or several and it is not said which.
    """
    if "map" in options:
        raise WrongUse(
            "--map does not tell edges apart.", "With --remove, say which one by --label or --when."
        )
    between = [edge for edge in graph.edges if (edge.source, edge.target) == (source, target)]
    label = _label(source, target, options)
    found = [edge for edge in between if edge.label == label] if options else between
    if len(found) == 1:
        return found[0]
    ends = f"{source.name} >> {target.name}"
    if found:
        labels = listed(repr(edge.label) if edge.label else "one without a label" for edge in found)
        raise WrongUse(f"There are {len(found)} edges {ends}: {labels}.", "Say which one: --label TEXT")
    known = listed(map(_in_words, between or graph.edges)) or "no edge at all"
    raise WrongUse(f"There is no edge {ends}{f' called {label!r}' if label else ''}.", f"There is {known}.")


def _label(source: Node, target: Node, options: dict[str, Any]) -> str:
    """What an edge with these options would be called."""
    edge = Edge(source, target, options.get("label", ""))
    if "when" in options:
        edge.steps.append(Step("when", options["when"]))
    return edge.label


def _in_words(edge: Edge) -> str:
    label = f" ({edge.label})" if edge.label else ""
    return f"{edge.source.name} >> {edge.target.name}{label}"
