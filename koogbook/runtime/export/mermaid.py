"""A strategy as Mermaid text."""

from __future__ import annotations

from koogbook.runtime.shape import GraphShape, NodeShape

_FRAMES = ("subgraph", "parallel")


def to_mermaid(shape: GraphShape) -> str:
    """The graph as a Mermaid flowchart, subgraphs and parallel blocks as subgraphs; same strategy, same text.

    A node that runs in a thread stands in a box with double sides, the merge of a block in a hexagon. What a subgraph
    has of its own stands under its name.
    """
    ids = {node.path: f"n{at}" for at, node in enumerate(shape.nodes)}
    frames = {node.path for node in shape.nodes if node.kind in _FRAMES}
    inside: dict[str, list[NodeShape]] = {}
    for node in shape.nodes:
        inside.setdefault(node.path.rpartition("/")[0], []).append(node)
    lines = ["flowchart TD", *_nodes(inside, shape.name, ids, "  ")]
    for edge in shape.edges:
        # An edge of Mermaid ends at the inner start or finish of a subgraph.
        source = ids[f"{edge.source}/finish" if edge.source in frames else edge.source]
        target = ids[f"{edge.target}/start" if edge.target in frames else edge.target]
        label = f'|"{_quoted(edge.label)}"|' if edge.label else ""
        lines.append(f"  {source} -->{label} {target}")
    return "\n".join(lines) + "\n"


def _nodes(inside: dict[str, list[NodeShape]], graph: str, ids: dict[str, str], indent: str) -> list[str]:
    lines: list[str] = []
    for node in inside.get(graph, ()):
        if node.kind in _FRAMES:
            kind = "parallel: " if node.kind == "parallel" else ""
            details = "".join(f"<br/>{_quoted(one)}" for one in node.details)
            lines.append(f'{indent}subgraph {ids[node.path]}["{kind}{_quoted(node.name)}{details}"]')
            lines += _nodes(inside, node.path, ids, indent + "  ")
            lines.append(f"{indent}end")
        else:
            lines.append(f"{indent}{ids[node.path]}{_box(node)}")
    return lines


def _box(node: NodeShape) -> str:
    text = _quoted(node.name)
    if node.kind in ("start", "finish"):
        return f'(["{text}"])'
    if node.kind == "merge":
        return f'{{{{"{_quoted(node.note or node.name)}"}}}}'
    return f'[["{text}"]]' if node.thread else f'["{text}"]'


def _quoted(text: str) -> str:
    """Text for a pair of double quotes: whatever could end it, or be markup, as the number of its character."""
    return "".join(
        f"#{ord(sign)};" if sign in '"#<>&|`\\' or ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 else sign
        for sign in text
    )
