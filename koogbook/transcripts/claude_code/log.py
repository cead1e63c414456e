"""The lines of a log put in order: the one line of the tree that is read, in pieces of a message each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from koogbook.errors import TranscriptError
from koogbook.transcripts.transcript import preview
from koogbook.transcripts.trees import Branch, Line, Node, last_leaf, line_to

_MESSAGE_TYPES: Final = ("user", "assistant")


class Lines(Struct, frozen=True):
    """What is to be read of a log, by numbers of its entries from 0.

    ``pieces`` are the messages of the line in order, each with its entries; ``branches`` the branches that hold
    messages, in the order in which they leave the line; ``outside`` the entries that are no part of the tree or no
    message, ``repeated`` those with an id that came before, and ``missing`` those whose parent is not there.
    """

    pieces: tuple[tuple[int, ...], ...]
    branches: tuple[OtherBranch, ...]
    outside: tuple[int, ...]
    repeated: tuple[int, ...]
    missing: tuple[int, ...]


class OtherBranch(Struct, frozen=True):
    """A branch that is not read: its entries, the first of each message, and the entry on the line that it leaves."""

    entries: tuple[int, ...]
    messages: tuple[int, ...]
    end: str
    fork: int | None
    is_side_chain: bool


class Log:
    """The entries of a log, by their ids."""

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = entries
        self.numbers: dict[str, int] = {}
        self.repeated: list[int] = []
        for number, entry in enumerate(entries):
            own = entry.get("uuid") if isinstance(entry, dict) else None
            if isinstance(own, str) and self.numbers.setdefault(own, number) != number:
                self.repeated.append(number)
        self.nodes = [Node(own, parent_of(entries[number])) for own, number in self.numbers.items()]

    def lines(self, branch: str | None) -> Lines:
        """The main line, from the last leaf to the root, or the one with ``branch`` on it.

        Raises:
            TranscriptError: There is no such branch, or entries are parents of each other in a circle.
        """
        end = self._main_end()
        if end is None:
            return Lines((), (), tuple(range(len(self.entries))), (), ())
        line = line_to(self.nodes, end)
        if branch is not None:
            line = line_to(self.nodes, self._end_on(branch, line))
        on_line = [self.numbers[own] for own in line.ids]
        taken = self._adopted(on_line)
        pieces = self._pieces(on_line, taken)
        read = {number for piece in pieces for number in piece} | set(on_line)
        branches = self._others(line, read)
        seen = read | {number for one in branches for number in one.entries} | set(self.repeated)
        return Lines(
            pieces=tuple(map(tuple, pieces)),
            branches=tuple(branches),
            outside=tuple(
                number
                for number, entry in enumerate(self.entries)
                if number not in seen or (number in read and not is_message(entry))
            ),
            repeated=tuple(self.repeated),
            missing=tuple(self.numbers[own] for own in line.missing),
        )

    def _main_end(self) -> str | None:
        """The last leaf that is no side chain's; a file may also hold nothing but one side chain."""
        main = [node for node in self.nodes if not self._is_side(node.id)]
        held = any(is_message(self.entries[self.numbers[node.id]]) for node in main)
        chosen = main if held else self.nodes
        # Where all are parents of each other, any of them leads into the circle.
        return last_leaf(chosen) or (chosen[-1].id if chosen else None)

    def _is_side(self, own: str) -> bool:
        return self.entries[self.numbers[own]].get("isSidechain") is True

    def _end_on(self, branch: str, main: Line) -> str:
        if branch in main.ids:
            return main.ids[-1]
        found = next((one.ids[-1] for one in main.branches if branch in one.ids), None)
        if found is not None:
            return found
        read = {self.numbers[own] for own in main.ids}
        others = self._others(main, read | set(self._adopted(sorted(read))))
        if branch.isdecimal() and 0 < int(branch) <= len(others):
            return others[int(branch) - 1].end
        named = ", ".join(f"{at} ({one.end})" for at, one in enumerate(others, 1))
        raise TranscriptError(
            f"There is no branch {preview(branch)!r}. Nothing was loaded. "
            + (
                f"Choose one of: {preview(named, 300)}."
                if others
                else "The log has one line only: leave branch= out."
            )
        )

    def _adopted(self, on_line: Sequence[int]) -> list[int]:
        """Entries beside the line that belong to its messages.

        Several calls of one message are written as entries one after the other, and each result has its own call as its
        parent: all but one of the results are leaves of their own, and yet on the line.
        """
        read = set(on_line)
        ids = {own for number in on_line if (own := message_id(self.entries[number])) is not None}
        beside = [
            number for own, number in self.numbers.items() if number not in read and not self._is_side(own)
        ]
        found = [number for number in beside if message_id(self.entries[number]) in ids]
        called = {
            one for number in (*on_line, *found) for one in _ids(self.entries[number], "tool_use", "id")
        }
        waiting = called - {one for number in on_line for one in _results(self.entries[number])}
        for number in beside:
            results = set(_results(self.entries[number]))
            if results and results <= waiting and _has_only_results(self.entries[number]):
                found.append(number)
                waiting -= results
        return found

    def _pieces(self, on_line: Sequence[int], adopted: Sequence[int]) -> list[list[int]]:
        pieces: list[list[int]] = []
        by_message: dict[str, list[int]] = {}
        for number in (*on_line, *(one for one in adopted if message_id(self.entries[one]) is not None)):
            entry = self.entries[number]
            if not is_message(entry):
                continue
            own = message_id(entry)
            if own in by_message:
                by_message[own].append(number)
                by_message[own].sort()
                continue
            pieces.append([number])
            if own is not None:
                by_message[own] = pieces[-1]
        return self._with_results(pieces, [one for one in adopted if message_id(self.entries[one]) is None])

    def _with_results(self, pieces: Sequence[list[int]], adopted: Sequence[int]) -> list[list[int]]:
        """The pieces with results put after the calls they belong to, among the other results in order of the file."""
        called = {
            own: piece[0]
            for piece in pieces
            for number in piece
            for own in _ids(self.entries[number], "tool_use", "id")
        }
        late: dict[int, list[int]] = {}
        for number in sorted(adopted):
            late.setdefault(called[_results(self.entries[number])[0]], []).append(number)
        ordered: list[list[int]] = []
        waiting: list[int] = []
        for piece in pieces:
            is_result = bool(_results(self.entries[piece[0]]))
            while waiting and (not is_result or waiting[0] < piece[0]):
                ordered.append([waiting.pop(0)])
            ordered.append(piece)
            waiting += late.get(piece[0], ())
        return ordered + [[number] for number in waiting]

    def _others(self, line: Line, read: set[int]) -> list[OtherBranch]:
        at = {own: index for index, own in enumerate(line.ids)}
        forks: dict[str, str | None] = {}
        found: list[tuple[int, OtherBranch]] = []
        for one in line.branches:
            fork = forks.get(one.fork, one.fork) if one.fork is not None else None
            forks.update((own, fork) for own in one.ids)
            other = self._other(one, fork, read)
            if other.messages:
                found.append((at.get(fork, -1) if fork is not None else -1, other))
        return [other for _, other in sorted(found, key=lambda pair: pair[0])]

    def _other(self, branch: Branch, fork: str | None, read: set[int]) -> OtherBranch:
        numbers = [number for own in branch.ids if (number := self.numbers[own]) not in read]
        messages: dict[Any, int] = {}
        for number in numbers:
            if is_message(self.entries[number]):
                messages.setdefault(message_id(self.entries[number]) or number, number)
        return OtherBranch(
            entries=tuple(numbers),
            messages=tuple(messages.values()),
            end=branch.end,
            fork=None if fork is None else self.numbers[fork],
            is_side_chain=all(self._is_side(own) for own in branch.ids),
        )


def parent_of(entry: Mapping[str, Any]) -> str | None:
    """The entry that one follows; a compaction has no parent but a logical one."""
    for name in ("parentUuid", "logicalParentUuid"):
        found = entry.get(name)
        if found is not None:
            return found if isinstance(found, str) else preview(found)
    return None


def is_message(entry: Any) -> bool:
    """Whether an entry holds a message, or a block of one."""
    return (
        isinstance(entry, dict)
        and entry.get("type") in _MESSAGE_TYPES
        and isinstance(entry.get("message"), dict)
    )


def message_id(entry: Any) -> str | None:
    """The id by which entries belong to one message of the model."""
    if not is_message(entry) or entry["type"] != "assistant":
        return None
    found = entry["message"].get("id")
    return found if isinstance(found, str) else None


def _content(entry: Any) -> list[Any]:
    content = entry["message"].get("content") if is_message(entry) else None
    return content if isinstance(content, list) else []


def _ids(entry: Any, kind: str, field: str) -> Iterator[str]:
    for block in _content(entry):
        if isinstance(block, dict) and block.get("type") == kind and isinstance(block.get(field), str):
            yield block[field]


def _results(entry: Any) -> list[str]:
    return list(_ids(entry, "tool_result", "tool_use_id"))


def _has_only_results(entry: Any) -> bool:
    return all(isinstance(block, dict) and block.get("type") == "tool_result" for block in _content(entry))
