"""Random live trees, as views make them."""

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
