"""A strategy in the forms of other tools: whole, the same each time, and safe with any name."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import GraphError
from koogbook.runtime.builder import Strategy
from koogbook.runtime.export import graph_from_json, to_dot, to_json, to_mermaid, to_networkx
from koogbook.runtime.parallel.merges import select_by_max
from koogbook.runtime.shape import EdgeShape, GraphShape, NodeShape

ODD = [
    'a "quoted" name',
    "two\nlines\r\n",
    "\U0001f600 \u4f60\u597d",
    "\u05e9\u05dc\u05d5\u05dd",
    "<b onclick='x'>&amp;<b>",
    "back\\slash \\N \\",
    "end]; } subgraph x {",
    "|`#;--> %%",
    "\ud83c",
]


async def _same(ctx: Any, value: Any) -> Any:
    return value


def _trip() -> Strategy[Any, Any]:
    trip = kb.strategy("trip", input=str, output=str, version="7")
    ask = trip.node(_same, name="ask")
    block = trip.parallel("offers", merge=select_by_max(len), on_error="collect")
    block.node(_same, name="rail")
    block.node(_same, name="air")
    review = trip.subgraph("review", tools=[], model="offline")
    check = review.node(lambda ctx, value: value, name="check", thread=True)
    review.start >> check >> review.finish
    trip.start >> ask >> block >> review >> trip.finish
    trip.edge(ask, trip.finish, when=bool, label="done")
    return trip


def _odd(name: str) -> GraphShape:
    path = f"trip/{name}"
    ends = [NodeShape(path=f"trip/{kind}", name=kind, kind=kind) for kind in ("start", "finish")]
    return GraphShape(
        name="trip",
        nodes=(*ends, NodeShape(path=path, name=name, kind="node")),
        edges=(
            EdgeShape(source="trip/start", target=path, order=0, conditional=True, label=name),
            EdgeShape(source=path, target="trip/finish", order=0, conditional=False),
        ),
    )


@pytest.mark.parametrize("form", ["to_mermaid", "to_dot", "to_json"])
def test_the_same_strategy_gives_the_same_text(form: str) -> None:
    """Built twice by the same lines [GRA-13]."""
    trip = _trip()

    assert getattr(trip, form)() == getattr(trip, form)() == getattr(trip, form)()
    assert getattr(trip, form)()


def test_mermaid_has_blocks_subgraphs_and_threads() -> None:
    """What a subgraph has of its own stands in its head [GRA-13]."""
    text = _trip().to_mermaid()

    assert '["parallel: offers<br/>merge select_by_max<br/>goes on without a branch that fails"]' in text
    assert '["review<br/>no tools<br/>model offline"]' in text
    assert '[["check"]]' in text
    assert '{{"select_by_max(len)"}}' in text
    assert '|"done"|' in text


#: A line of what ``to_dot`` writes, each text in double quotes with its escapes.
_TEXT = r'"((?:[^"\\]|\\["\\nr])*)"'
_DOT = re.compile(
    rf"""
    digraph\ {_TEXT}\ \{{ | \s*rankdir=.* | \s*node\ \[font.* | \}} |
    \s*subgraph\ cluster_\d+\ \{{ | \s*\}} | \s*label={_TEXT}; |
    \s*{_TEXT}\ \[label={_TEXT},\ shape="\w+"(,\ \w+="\w+")*\]; |
    \s*{_TEXT}\ ->\ {_TEXT}(\ \[(?:\w+={_TEXT}(?:,\ )?)*\])?;
    """,
    re.VERBOSE,
)


def _unquoted(text: str) -> str:
    plain = {"n": "\n", "r": "\r"}
    read = re.sub(r"\\(.)", lambda found: plain.get(found[1], found[1]), text)
    return read.replace("&amp;", "&")


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_dot_holds_any_name(name: str) -> None:
    """Each line is of the grammar, and read back it gives the name [GRA-13]."""
    lines = to_dot(_odd(name)).rstrip("\n").split("\n")

    assert [line for line in lines if not _DOT.fullmatch(line)] == []
    labels = [_unquoted(found[1]) for line in lines if (found := re.search(rf"label={_TEXT}", line))]
    assert labels.count(name.encode("utf-8", "replace").decode() if name != "\ud83c" else "\ufffd") == 2


def test_dot_has_clusters_and_edges_between_them() -> None:
    """An edge of a cluster ends at a node inside and is cut off at the frame [GRA-13]."""
    text = _trip().to_dot()

    assert text.count("subgraph cluster_") == 2
    assert '"trip/offers/finish" -> "trip/review/start" [ltail="cluster_0", lhead="cluster_1"];' in text
    assert '"trip/review/check" [label="check", shape="box", peripheries="2"];' in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_mermaid_holds_any_name(name: str) -> None:
    """Nothing of it can end its quotes or be markup, and its numbers give the name back [GRA-13]."""
    lines = to_mermaid(_odd(name)).rstrip("\n").split("\n")
    found = re.fullmatch(r'  n2\["([^"<>&|`\\\x00-\x1f]*)"\]', lines[3])

    assert len(lines) == 6
    assert found is not None
    assert re.sub(r"#(\d+);", lambda number: chr(int(number[1])), found[1]) == name


def test_networkx_has_the_fields_as_attributes() -> None:
    """Several edges between two nodes stay several [GRA-13]."""
    trip = _trip()
    trip.edge("ask", "finish", when=callable, label="other")
    graph = trip.to_networkx()

    assert graph.graph == {"name": "trip", "version": "7"}
    assert graph.nodes["trip/review/check"]["thread"] is True
    assert graph.nodes["trip/review/check"]["parent"] == "trip/review"
    assert [one["label"] for one in graph["trip/ask"]["trip/finish"].values()] == ["done", "other"]
    assert len(graph.edges) == len(trip.shape().edges)


def test_json_is_read_back() -> None:
    """Findings included [GRA-13]."""
    trip = _trip()
    trip.node(_same, name="alone")
    shape = trip.shape()

    assert graph_from_json(trip.to_json()) == shape
    assert json.loads(trip.to_json())["format"] == "koogbook-graph/1"


@given(st.text(alphabet=st.characters(exclude_characters="/"), min_size=1))
def test_every_form_takes_every_name(name: str) -> None:
    """The round trip through JSON gives the very shape [GRA-13]."""
    shape = _odd(name)

    assert graph_from_json(to_json(shape)) == shape
    assert all(_DOT.fullmatch(line) for line in to_dot(shape).rstrip("\n").split("\n"))
    assert len(to_mermaid(shape).rstrip("\n").split("\n")) == 6
    assert to_networkx(shape).nodes[f"trip/{name}"]["name"] == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no graph of a strategy"),
        ('{"format": "other/1"}', "no graph of a strategy"),
        ('{"format": "koogbook-graph/1", "name": "s"}', "missing required field"),
        (
            '{"format": "koogbook-graph/1", "name": "s", "nodes": [], "edges": '
            '[{"source": "s/a", "target": "s/b", "order": 0, "conditional": false}]}',
            "ends at 's/a'",
        ),
    ],
)
def test_other_json_is_refused(text: str, words: str) -> None:
    """Nothing of it is taken [GRA-13]."""
    with pytest.raises(GraphError, match=f"{words}.*Nothing was read"):
        graph_from_json(text)
