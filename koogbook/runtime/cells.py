"""What a cell has defined: running it again withdraws what it does not define any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from koogbook.code_place import Cell, defining_cell, is_interactive
from koogbook.errors import RedefinitionError
from koogbook.functions import is_same_function
from koogbook.runtime.adjacency import Edges
from koogbook.runtime.changes import note_change, take_back
from koogbook.runtime.code_lines import as_variable, code_for
from koogbook.runtime.node import Edge, Node
from koogbook.runtime.redefinition import difference, is_stale, unusable

if TYPE_CHECKING:
    from koogbook.runtime.builder import Subgraph

_EVERY_GRAPH_HAS = ("start", "finish", "merge")

#: The strategies in which a cell has defined something, by the cell's id; weak, so that none is kept alive.
_touched: dict[str, WeakSet[Subgraph]] = {}

#: The last run of a cell that has made a strategy of a name, by the cell's id; also where nobody holds the strategy.
_made: dict[str, dict[str, int]] = {}


class Withdrawn(NamedTuple):
    """A graph as it was before something was taken out, and what was told of that."""

    graph: Subgraph
    nodes: dict[str, Node]
    edges: Edges
    told: tuple[str, ...]


def cell_ended(cell: Cell, *, failed: bool) -> None:
    """Withdraw what a cell has defined in an earlier run and not in this one; a run that failed withdraws nothing."""
    for root in list(_touched.get(cell.id, ())):
        if failed:
            put_back(root)
            for part in _parts(root):
                if part.cell is not None and part.cell.id == cell.id:
                    part.cell = cell
        elif _is_made_again(root, cell):
            _leave_alone(root, cell)
        else:
            root.withdrawn.clear()
            _withdraw(root, cell)
            _settle(root, cell)


def forget_cell(id: str) -> None:
    """A cell was deleted from the notebook: what it has defined stays, and belongs to no cell."""
    _made.pop(id, None)
    for root in list(_touched.pop(id, ())):
        put_back(root)
        for part in _parts(root):
            if part.cell is not None and part.cell.id == id:
                part.cell = None


def touched(root: Subgraph, cell: Cell | None) -> None:
    """Remember that a cell has defined something in a strategy."""
    if cell is None:
        return
    known = _touched.get(cell.id)
    if known is None:
        known = _touched[cell.id] = WeakSet()
    known.add(root)
    if root.cell == cell:
        _made.setdefault(cell.id, {})[root.name] = cell.run


def withdraw_so_far(root: Subgraph) -> None:
    """Withdraw what the running cell has not defined so far: the strategy is looked at, or run, in the middle of it.

    It comes back when the cell goes on and defines something in this strategy, or fails; see :func:`put_back`.
    """
    cell = defining_cell()
    if cell is not None and root in _touched.get(cell.id, ()) and not _is_made_again(root, cell):
        root.withdrawn.extend(_withdraw(root, cell))


def put_back(root: Subgraph) -> None:
    """Undo what was withdrawn in the middle of a cell.

    So the nodes that the rest of the cell defines again are the ones from before, with the edges of other cells.
    """
    while root.withdrawn:
        graph, nodes, edges, told = root.withdrawn.pop()
        graph.nodes, graph.edges = nodes, edges
        for text in told:
            take_back(graph, text)


def put_again(known: Node, node: Node, *, replace: bool) -> Node:
    """Define a node of this name again: the old object stays the node, so that edges and variables mean the new one.

    Raises:
        RedefinitionError: The strategy was made with ``redefine=False``, or another cell defines the node and
            ``replace`` is not given. Nothing was changed.
    """
    graph = known.graph
    if not graph.redefine:
        raise RedefinitionError(
            f"{known.path!r} is defined at {known.place} and the strategy was made with redefine=False. Nothing was "
            f"changed. Remove it first, {code_for(graph)}.remove({known.name!r}), or choose another name."
        )
    if not replace:
        if node.subgraph is None or node.subgraph is not known.subgraph:
            require_no_conflict(known, node)
        elif (known.cell and known.cell.id) != (node.cell and node.cell.id):
            # It was asked for, so that something can be put in, and stays whose it was.
            node.cell, node.place = known.cell, known.place
        node.replaced_at = _replaced_at(known, node)
    touched(graph.root, node.cell)
    changed = difference(known, node)
    if changed:
        note_change(graph, changed)
    for field in Node.__struct_fields__:
        setattr(known, field, getattr(node, field))
    return known


def _replaced_at(known: Node, node: Node) -> str:
    """Where the definition stands that this one replaces though both are of one run of the same code."""
    if node.subgraph is not None and node.subgraph is known.subgraph:
        return known.replaced_at
    if node.cell != known.cell or node.place.startswith(
        "<"
    ):  # what is typed into a shell has one file for all
        return ""
    if node.place != known.place:
        return known.place if node.place.rpartition(":")[0] == known.place.rpartition(":")[0] else ""
    # One place is a loop, or else a cell that runs again in a notebook that koogbook does not know of.
    may_be_again = node.cell is None and is_interactive() and is_same_function(known.function, node.function)
    return "" if may_be_again else known.place


def require_no_conflict(known: Node, node: Node) -> None:
    """Refuse a node whose name is taken by a node of another cell.

    Raises:
        RedefinitionError: Both cells are known, and they are different ones.
    """
    owner, cell = known.cell, node.cell
    if owner is None or cell is None or owner.id == cell.id:
        return
    graph, name = as_variable(node.graph.name, "graph"), node.name
    take_over = {
        "compress": f"{graph}.compress_history(..., name={name!r}, replace=True)",
        "subgraph": f"{graph}.subgraph({name!r}, ..., replace=True)",
        "parallel": f"{graph}.parallel({name!r}, ..., replace=True)",
    }.get(node.kind) or _take_over(node)
    raise RedefinitionError(
        f"{known.path!r} is defined by {_where(owner, known)}, and {_where(cell, node)} defines it as well. Nothing "
        f"was changed. Choose another name; or, if {owner.name} does not define it any more, run {owner.name} again "
        f"or take the node out with {graph}.remove({name!r}); or let {cell.name} take it over with {take_over}."
    )


def _take_over(node: Node) -> str:
    graph = as_variable(node.graph.name, "graph")
    if not node.ready:
        return f"@{graph}.node(replace=True)"
    # By its first name a ready node is called as the method that makes it.
    method = node.name if hasattr(node.graph, node.name) else ""
    call = f"{graph}.{method}(..., replace=True)" if method else "replace=True in its call"
    return f"{call}, or give it a name of its own, name="


def foreign(graph: Subgraph, node: Node) -> str:
    """What is wrong with a node that a graph does not have (any more), and the cell to run."""
    where = f"{node.path!r} (defined at {node.place})"
    run = f"Run {'the cell that defines it' if node.cell is None else node.cell.name} again"
    if node.graph.root is graph.root and node.graph is not graph:
        return _elsewhere(graph, node)
    if node.graph is graph:
        return f"{where} was taken out of {graph.path!r}. {run}, if it is to be there. Nothing was changed."
    why = ""
    if node.graph.root.name == graph.root.name:
        why = ": it is in another object of that name, as when the cell that makes the strategy is run again"
        if _is_from_before(graph.root, node):
            return (
                f"{where} does not belong to this {graph.path!r}, which is the object from before{why}. Run again what "
                "defines the nodes of this one, so that they join the newer one: "
                f"{_defined_in(graph.root)}. Nothing was changed."
            )
    return (
        f"{where} does not belong to this {graph.path!r}{why}. {run}, so that it joins this object, or add the edge "
        "where the node lives. Nothing was changed."
    )


def _is_from_before(root: Subgraph, node: Node) -> bool:
    """Whether a strategy is older than the object of its name that a node is in."""
    other = node.graph.root
    if root.cell is None or other.cell is None:
        # That is not known. Who writes trip.finish has the newer one in the variable.
        return node.kind in _EVERY_GRAPH_HAS
    return root.cell.run < other.cell.run


def _defined_in(root: Subgraph) -> str:
    """What defines the nodes of a strategy, with their names: the cells, or the places."""
    found: dict[str, list[str]] = {}
    for part in _parts(root):
        if isinstance(part, Node):
            found.setdefault(part.place if part.cell is None else part.cell.name, []).append(part.name)
    return ", ".join(f"{where} ({', '.join(names)})" for where, names in found.items()) or "it has none"


def _elsewhere(graph: Subgraph, node: Node) -> str:
    """What is wrong with a node of another graph of the same strategy."""
    inner = node.graph
    while inner.parent is not None and inner.parent is not graph:
        inner = inner.parent
    if inner.parent is None:
        return (
            f"{node.path!r} is in {node.graph.path!r} and not in {graph.path!r}; edges join nodes of one graph. "
            f"Nothing was changed. Inside {graph.path!r} lead the edge to its own finish node, and join {graph.name!r} "
            f"itself in {'the graph around it' if graph.parent is None else repr(graph.parent.path)}."
        )
    part = "branch" if node.graph.join is not None else "node"
    return (
        f"{node.path!r} is inside {inner.path!r}; edges join nodes of one graph. Nothing was changed. Use the "
        f"{'block' if inner.join is not None else 'subgraph'} {inner.name!r} in its place; the {part} is taken out "
        f"with {code_for(node.graph)}.remove({node.name!r})."
    )


def _withdraw(root: Subgraph, cell: Cell) -> list[Withdrawn]:
    """Take out what is stale, all graphs of the strategy included, and tell it."""
    done = []
    for graph in root.all_graphs():
        gone = [
            node
            for node in graph.nodes.values()
            if is_stale(node, cell) and _first_in_use(node, cell) is None
        ]
        stale = [edge for edge in graph.edges if is_stale(edge, cell)]
        if not gone and not stale:
            continue
        before = (graph.nodes, graph.edges)
        replaced = _edited(graph, stale, cell)
        told = [
            f"edge {_ends(edge)} redefined"
            if edge in replaced
            else f"{_edge_name(edge)} withdrawn: {cell.name} does not define it any more"
            for edge in stale
            if graph.join is None  # nobody wrote the edges of a parallel block
        ]
        moved = set(replaced.values())
        edges = [
            replaced.get(edge, edge)
            for edge in graph.edges
            if edge not in moved and (edge in replaced or not is_stale(edge, cell))
        ]
        for node in gone:
            along = [_ends(edge) for edge in edges if node in (edge.source, edge.target)]
            lost = f"{', '.join(along)} went with it; " if along else ""
            told.append(
                f"node {node.name} withdrawn: {cell.name} does not define it any more; {lost}{unusable(node)}"
            )
        gone_nodes = set(gone)
        graph.nodes = {name: node for name, node in graph.nodes.items() if node not in gone_nodes}
        graph.edges = Edges(
            edge for edge in edges if edge.source not in gone_nodes and edge.target not in gone_nodes
        )
        for text in told:
            note_change(graph, text)
        done.append(Withdrawn(graph, *before, tuple(told)))
    return done


def _edited(graph: Subgraph, stale: list[Edge], cell: Cell) -> dict[Edge, Edge]:
    """For stale edges the new ones of the same ends: a condition that was edited keeps its place in the order."""
    new = [edge for edge in graph.edges if edge.cell == cell and edge.replaced is None]
    pairs: dict[Edge, Edge] = {}
    for edge in stale:
        match = next((one for one in new if _may_be(one, edge)), None)
        if match is not None:
            new.remove(match)
            pairs[edge] = match
    return pairs


def _may_be(edge: Edge, stale: Edge) -> bool:
    """Whether an edge is another one, edited; who wrote two labels meant two edges."""
    same_ends = (edge.source, edge.target) == (stale.source, stale.target)
    return same_ends and not (edge.given_label and stale.given_label)


def _settle(root: Subgraph, cell: Cell) -> None:
    """The cell has ended: its edges are whole, and a subgraph that only others use is theirs."""
    for part in _parts(root):
        if isinstance(part, Edge):
            if part.cell == cell:
                part.replaced = None
        elif is_stale(part, cell):
            user = _first_in_use(part, cell)
            part.cell = None if user is None else user.cell


def _first_in_use(node: Node, cell: Cell) -> Node | Edge | None:
    """What another cell, or this run, has defined inside a subgraph; the subgraph stays for its sake."""
    inner = () if node.subgraph is None else _parts(node.subgraph)
    return next((part for part in inner if not is_stale(part, cell)), None)


def _is_made_again(root: Subgraph, cell: Cell) -> bool:
    """Whether this run of the cell that has made a strategy has made another one of its name."""
    return (
        root.cell is not None
        and root.cell.id == cell.id
        and root.cell.run < cell.run
        and _made.get(cell.id, {}).get(root.name) == cell.run
    )


def _leave_alone(root: Subgraph, cell: Cell) -> None:
    """A strategy that was made again is an old object as a whole; whoever holds it still finds it as it was."""
    put_back(root)
    for known in _touched.values():
        known.discard(root)
    note_change(
        root,
        f"strategy {root.name} made again by {cell.name}: this is the one from before, and stays as it was; run the "
        "cells that use it again",
    )


def _parts(root: Subgraph) -> Iterator[Node | Edge]:
    """The nodes and edges that somebody has defined, those of subgraphs included."""
    for graph in root.all_graphs():
        yield from (node for node in graph.nodes.values() if node.kind not in _EVERY_GRAPH_HAS)
        yield from graph.edges


def _edge_name(edge: Edge) -> str:
    return f"edge {_ends(edge)}" + (f" when {edge.label}" if edge.conditional else "")


def _ends(edge: Edge) -> str:
    return f"{edge.source.name} >> {edge.target.name}"


def _where(cell: Cell, node: Node) -> str:
    """``cell 3:7``, or with the file where the code of a file was called: ``cell 3 (steps.py:7)``."""
    return node.place if node.place.startswith(f"{cell.name}:") else f"{cell.name} ({node.place})"
