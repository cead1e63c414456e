"""A strategy as DOT, the language of Graphviz."""

from __future__ import annotations

from koogbook.runtime.shape import EdgeShape, GraphShape, NodeShape

_FRAMES = ("subgraph", "parallel")
_FORMS = {
    "start": 'shape="oval"',
    "finish": 'shape="oval"',
    "merge": 'shape="hexagon"',
    "compress": 'shape="box", style="rounded"',
}


def to_dot(shape: GraphShape) -> str:
    """The graph as a DOT digraph, subgraphs and parallel blocks as clusters; same strategy, same text.

    The id of a node is its path. A node that runs in a thread has a double outline, an edge with a condition is dashed.
    """
    frames = {node.path for node in shape.nodes if node.kind in _FRAMES}
    inside: dict[str, list[NodeShape]] = {}
    for node in shape.nodes:
        inside.setdefault(node.path.rpartition("/")[0], []).append(node)
    numbers = {path: at for at, path in enumerate(sorted(frames))}
    lines = [
        f"digraph {quoted(shape.name)} {{",
        '  rankdir="TB"; compound="true";',
        '  node [fontname="Helvetica", fontsize="11"]; edge [fontname="Helvetica", fontsize="10"];',
        *_nodes(inside, shape.name, numbers, "  "),
        *(_edge(edge, frames, numbers) for edge in shape.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _nodes(inside: dict[str, list[NodeShape]], graph: str, numbers: dict[str, int], indent: str) -> list[str]:
    lines: list[str] = []
    for node in inside.get(graph, ()):
        if node.kind in _FRAMES:
            kind = "parallel: " if node.kind == "parallel" else ""
            label = "\n".join((f"{kind}{node.name}", *node.details))
            lines.append(f"{indent}subgraph cluster_{numbers[node.path]} {{")
            lines.append(f"{indent}  label={quoted(label)};")
            lines += _nodes(inside, node.path, numbers, indent + "  ")
            lines.append(f"{indent}}}")
        else:
            label = node.note if node.kind == "merge" and node.note else node.name
            form = _FORMS.get(node.kind, 'shape="box"')
            double = ', peripheries="2"' if node.thread else ""
            lines.append(f"{indent}{quoted(node.path)} [label={quoted(label)}, {form}{double}];")
    return lines


def _edge(edge: EdgeShape, frames: set[str], numbers: dict[str, int]) -> str:
    """An edge of a cluster ends at the start or finish inside of it, and is cut off at the frame."""
    source, target, options = edge.source, edge.target, []
    if source in frames:
        options.append(f'ltail="cluster_{numbers[source]}"')
        source = f"{source}/finish"
    if target in frames:
        options.append(f'lhead="cluster_{numbers[target]}"')
        target = f"{target}/start"
    if edge.label:
        options.append(f"label={quoted(edge.label)}")
    if edge.conditional:
        options.append('style="dashed"')
    return f"  {quoted(source)} -> {quoted(target)}" + (f" [{', '.join(options)}];" if options else ";")


def quoted(text: str) -> str:
    """Text as a DOT string in double quotes; what Graphviz would replace in it, such as the name of a node, stays."""
    signs = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\ufffd"}
    plain = "".join("\ufffd" if 0xD800 <= ord(sign) < 0xE000 else signs.get(sign, sign) for sign in text)
    # Graphviz reads HTML entities in labels.
    return f'"{plain.replace("&", "&amp;")}"'
