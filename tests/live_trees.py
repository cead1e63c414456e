"""Random live trees, as views make them, and what changes make of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEXTS = st.one_of(
    st.sampled_from(["", "a", "b", "<img src=x onerror=alert(1)>", "</script>", "花生", "&amp;", '"quoted"']),
    st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=6),
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["class", "title", "data-do", "data-value", "aria-label", "style"]),
    st.sampled_from(["", "x", "kb-small", "a b", "color: red;", "<b>"]),
    max_size=3,
).map(
    lambda found: {
        name: value for name, value in found.items() if name != "style" or value.startswith("color")
    }
)


def _element(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(
        st.sampled_from(["div", "span", "section", "svg", "ul"]), ATTRIBUTES, st.lists(children, max_size=4)
    ).map(list)


TREES = _element(st.recursive(TEXTS, _element, max_leaves=12))


def applied(tree: Any, patch: list[list[Any]]) -> Any:
    """The tree after the changes, as the front end makes it; ``tree`` itself is changed."""
    holder: list[Any] = ["", {}, [tree]]
    for path, kind, *what in patch:
        parent: Any = holder
        for place in [0, *path][:-1]:
            parent = parent[2][place]
        place = [0, *path][-1]
        node = parent[2][place]
        match kind:
            case "a":
                for name, value in what[0].items():
                    if value is None:
                        node[1].pop(name, None)
                    else:
                        node[1][name] = value
            case "s":
                start, gone, new = what
                node[2][start : start + gone] = new
            case _:
                parent[2][place] = what[0]
    return holder[2][0]
