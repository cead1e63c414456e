"""A name is one line that can be seen: paths, labels and reports are made of names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import GraphError


async def step(ctx: kb.Context, value: Any) -> Any:
    """A node that passes its input on."""
    return value


#: What has a name, by a function that gives it one.
NAMED: dict[str, Callable[[str], Any]] = {
    "strategy": kb.strategy,
    "subgraph": lambda name: kb.strategy("trip").subgraph(name),
    "parallel": lambda name: kb.strategy("trip").parallel(name, merge=kb.fold(0, max)),
    "task": lambda name: kb.strategy("trip").subgraph_with_task("do it", name=name),
    "node": lambda name: kb.strategy("trip").node(step, name=name),
    "ready node": lambda name: kb.strategy("trip").llm_request(name=name),
}
BLANK = [" ", "\t", "\n", "  \n", "\u00a0", "\u3000", "\u200b", "\ufeff "]
BROKEN = [
    "x\ny",
    "x\n",
    "\rx",
    "a\tb",
    "a\x00",
    "a\x1b[31m",
    "a\x7f",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    "a\ud800",
]
FINE = [
    "plan trip",
    "plan  the trip",
    "Überblick",
    "計画 を 立てる",
    "خطة",
    "می‌خواهم",  # with a joiner, which the script needs
    "👩‍👧",
    "\U00011f04",  # of a script that the tables of an older Python do not have
    "a.b-c: d?",
    'it\'s "fine"',
    "_",
    "1",
    "class",
]


@pytest.mark.parametrize("named", list(NAMED.values()), ids=list(NAMED))
@pytest.mark.parametrize("name", BLANK, ids=ascii)
def test_a_name_that_cannot_be_seen_is_refused(named: Callable[[str], Any], name: str) -> None:
    """Whatever has it [GRA-01]."""
    with pytest.raises(GraphError, match=r"needs a name (that can be seen|without line breaks)") as refused:
        named(name)
    assert repr(name) in str(refused.value)


@pytest.mark.parametrize("named", list(NAMED.values()), ids=list(NAMED))
@pytest.mark.parametrize("name", BROKEN, ids=ascii)
def test_a_name_of_several_lines_is_refused(named: Callable[[str], Any], name: str) -> None:
    """Or with a character that a terminal obeys, or that cannot be written; the message itself has none [GRA-01]."""
    with pytest.raises(GraphError, match="without line breaks and control characters") as refused:
        named(name)
    assert str(refused.value).isprintable()
    assert "Write it on one line, with spaces." in str(refused.value)


@pytest.mark.parametrize("named", list(NAMED.values()), ids=list(NAMED))
@pytest.mark.parametrize("name", FINE)
def test_letters_of_all_scripts_spaces_and_punctuation_make_names(
    named: Callable[[str], Any], name: str
) -> None:
    """They are kept as they are [GRA-01]."""
    assert named(name).name == name
