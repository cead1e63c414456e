"""From one live tree to the next: the changes, so that what is sent does not grow with what is shown.

A change is a list. Its first entry is the path of an element, by places among children; its second says what is done:

- ``"a"``: set these attributes; ``null`` takes one away.
- ``"t"``: this is the text now.
- ``"r"``: this is the element now.
- ``"s"``: among the children, from this place take out so many and put in these.
"""

from __future__ import annotations

from typing import Any

from koogbook.notebook.views.look.markup import Tree

Change = list[Any]


def changes(before: Tree, after: Tree) -> list[Change]:
    """What makes ``before`` into ``after``, in the order in which it has to be done; empty when they are equal."""
    found: list[Change] = []
    _compare(before, after, [], found)
    return found


def _compare(before: Tree, after: Tree, path: list[int], found: list[Change]) -> None:
    if isinstance(before, str) or isinstance(after, str):
        if before != after:
            kind = "t" if isinstance(before, str) and isinstance(after, str) else "r"
            found.append([path, kind, after])
        return
    if before[0] != after[0]:
        found.append([path, "r", after])
        return
    if before[1] != after[1]:
        found.append([path, "a", _attributes(before[1], after[1])])
    old, new = before[2], after[2]
    if len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            _compare(one, other, [*path, place], found)
        return
    start = 0
    shorter = min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    # What stands in the middle of both is compared one by one, so that a neighbour that comes does not send it anew.
    middle = min(len(old), len(new)) - start - end
    for place in range(start, start + middle):
        _compare(old[place], new[place], [*path, place], found)
    start += middle
    found.append([path, "s", start, len(old) - end - start, new[start : len(new) - end]])


def _attributes(before: dict[str, str], after: dict[str, str]) -> dict[str, str | None]:
    changed: dict[str, str | None] = {
        name: value for name, value in after.items() if before.get(name) != value
    }
    changed.update((name, None) for name in before if name not in after)
    return changed
