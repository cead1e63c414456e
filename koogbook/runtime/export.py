"""A strategy as text for other tools."""

from __future__ import annotations

from koogbook.runtime.shape import GraphShape, NodeShape


def to_mermaid(shape: GraphShape) -> str:
    """The graph as a Mermaid flowchart, subgraphs as subgraphs; same strategy, same text."""
    ids = {node.path: f"n{at}" for at, node in enumerate(shape.nodes)}
    lines = ["flowchart TD"]
    lines += _nodes(shape, shape.name, ids, "  ")
    for edge in shape.edges:
        source = _port(shape, edge.source, "finish", ids)
        target = _port(shape, edge.target, "start", ids)
        label = f'|"{_quoted(edge.label)}"|' if edge.label else ""
        lines.append(f"  {source} -->{label} {target}")
    return "\n".join(lines) + "\n"


def _nodes(shape: GraphShape, graph: str, ids: dict[str, str], indent: str) -> list[str]:
    lines: list[str] = []
    for node in shape.nodes:
        if node.path.rpartition("/")[0] != graph:
            continue
        if node.kind == "subgraph":
            lines.append(f'{indent}subgraph {ids[node.path]}["{_quoted(node.name)}"]')
            lines += _nodes(shape, node.path, ids, indent + "  ")
            lines.append(f"{indent}end")
        else:
            lines.append(f"{indent}{ids[node.path]}{_box(node)}")
    return lines


def _box(node: NodeShape) -> str:
    text = _quoted(node.name)
    return f'(["{text}"])' if node.kind in ("start", "finish") else f'["{text}"]'


def _port(shape: GraphShape, path: str, end: str, ids: dict[str, str]) -> str:
    """The inner start or finish of a subgraph, where a Mermaid edge has to end; other nodes themselves."""
    inner = f"{path}/{end}"
    return ids.get(inner, ids[path])


def _quoted(text: str) -> str:
    return "".join(f"#{ord(sign)};" if sign in '"#<>&|`\\\n\r' else sign for sign in text)
