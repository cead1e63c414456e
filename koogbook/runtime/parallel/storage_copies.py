"""Copies of a storage for the branches of a parallel block, and what the branches have changed in them.

A copy holds its values encoded and decodes one when it is asked for, so that no object is in two of them, and what was
changed shows in the bytes: also inside of a list, and not where an equal value was written again. An object that
cannot be encoded, such as an open client, is the same one in all copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from koogbook.errors import CodecError, MergeConflictError
from koogbook.runtime.parallel.merge_kinds import called
from koogbook.runtime.parallel.policies import OnConflict, first_few, shown
from koogbook.runtime.storage import Storage, StorageKey, require_value
from koogbook.state.codec import decode_state, describe_type, encode_state


class Removed(Enum):
    """The place of a value that was taken out."""

    REMOVED = "removed"

    def __repr__(self) -> str:
        return self.name


REMOVED: Final = Removed.REMOVED

#: Called as (kind, text).
Notice = Callable[[str, str], None]


class Change(Struct, frozen=True, eq=False):
    """What a branch has left under a name: the object, or ``REMOVED``; ``body`` is None where it has no encoding."""

    key: StorageKey[Any]
    value: Any
    body: bytes | None = None

    def is_same_as(self, other: Change) -> bool:
        """Whether both leave the same behind."""
        if self.value is other.value:
            return self.key == other.key
        return self.body is not None and self.body == other.body and self.key == other.key


#: By name of the value.
Changes = Mapping[str, Change]
_NO_CHANGES: Changes = {}


class StorageCopies:
    """A storage as it was when a block began, for any number of copies of it."""

    __slots__ = ("_base", "_entries", "_shared")

    def __init__(self, base: Storage, notice: Notice) -> None:
        self._base = base
        self._entries, reasons = base.to_encoded()
        used = base.used
        self._shared = {name: used[name][1] for name in reasons}
        for name in reasons:
            if name not in base.told_shared:
                base.told_shared.add(name)
                notice(
                    "storage key shared",
                    f"there is no copy of the {describe_type(type(self._shared[name]))} under the storage key {name!r} "
                    "for each branch: all of them hold the same object, and what one does to it the others see.",
                )

    def copy(self) -> Storage:
        """A copy for one branch."""
        return self._base.copy_of(self._entries, self._shared)

    def changes_in(self, storage: Storage) -> Changes:
        """What a copy differs in from the storage as it was."""
        if not (self._shared or storage.is_used) and storage.size == len(self._entries):
            return _NO_CHANGES
        used = storage.used
        found: dict[str, Change] = {}
        for name, (key, value) in used.items():
            change = self._change(name, key, value)
            if change is not None:
                found[name] = change
        there = set(storage.names)
        for name in (*self._entries, *self._shared):
            if name not in there:
                found[name] = Change(storage.key(name), REMOVED)
        return found

    def hand_over(self, changes: Changes) -> list[str]:
        """Put changes into the storage itself; the names whose value somebody else had changed there meanwhile.

        Raises:
            StorageKeyError: A name is in use with another type by now, or a value is of another. Nothing was changed.
        """
        require_room(self._base, changes)
        replaced = [name for name in changes if self._base_differs(name)]
        apply(self._base, changes)
        return replaced

    def _base_differs(self, name: str) -> bool:
        if name in self._shared:
            used = self._base.used.get(name)
            return used is None or used[1] is not self._shared[name]
        try:
            return self._base.encoded_entry(name) != self._entries.get(name)
        except CodecError:
            return True

    def _change(self, name: str, key: StorageKey[Any], value: Any) -> Change | None:
        if name in self._shared and self._shared[name] is value:
            return None
        try:
            body = encode_state(value, key.type)
        except CodecError:
            return Change(key, value)
        before = self._entries.get(name)
        if before is not None and (body == before or body == _written_again(before, key)):
            return None
        return Change(key, value, body)


def _written_again(body: bytes, key: StorageKey[Any]) -> bytes | None:
    """An entry as it is encoded today: a restored one may lack a field that has a default by now."""
    try:
        return encode_state(decode_state(body, key.type), key.type)
    except CodecError:
        return None


class Union(Struct, frozen=True):
    """The changes of all branches together.

    ``settled`` are the names whose value was made of several, ``replaced`` says of names whose last value was taken
    which branches had another one.
    """

    changes: Changes
    settled: frozenset[str] = frozenset()
    replaced: Mapping[str, tuple[str, ...]] = {}


async def united(branches: Sequence[tuple[str, Changes]], on_conflict: OnConflict, where: str) -> Union:
    """The changes of all branches, in their order, as one; ``where`` is the path of the block.

    Raises:
        MergeConflictError: Branches have left different values under one name, or keys of different types.
        Exception: What a function for conflicts raised, with a note that names the key.
    """
    writers: dict[str, list[tuple[str, Change]]] = {}
    for branch, changes in branches:
        for name, change in changes.items():
            writers.setdefault(name, []).append((branch, change))
    taken: dict[str, Change] = {}
    settled: set[str] = set()
    replaced: dict[str, tuple[str, ...]] = {}
    for name, found in writers.items():
        first = found[0][1]
        if all(change.is_same_as(first) for _, change in found):
            taken[name] = first
        elif on_conflict == "last":
            last = taken[name] = found[-1][1]
            replaced[name] = tuple(branch for branch, change in found if not change.is_same_as(last))
        elif on_conflict == "error" or any(change.key != first.key for _, change in found):
            raise _conflict(name, found, where)
        else:
            taken[name] = await _settled(name, [change for _, change in found], on_conflict, where)
            settled.add(name)
    return Union(taken, frozenset(settled), replaced)


def differ(branches: Sequence[Changes]) -> bool:
    """Whether several have left different values under one name."""
    first: dict[str, Change] = {}
    return any(
        not change.is_same_as(first.setdefault(name, change))
        for changes in branches
        for name, change in changes.items()
    )


async def _settled(
    name: str, found: Sequence[Change], settle: Callable[[str, Sequence[Any]], Any], where: str
) -> Change:
    try:
        value = await called(settle, name, [change.value for change in found])
    except Exception as problem:
        problem.add_note(f"in on_conflict of {where}, storage key {name}")
        raise
    return Change(found[0].key, value)


def _conflict(name: str, found: Sequence[tuple[str, Change]], where: str) -> MergeConflictError:
    types = {change.key.identity for _, change in found}
    listed = first_few(
        [
            f"{branch} removed it"
            if change.value is REMOVED
            else f"{branch} left {shown(change.value)}"
            + (f" ({describe_type(change.key.type)})" if len(types) > 1 else "")
            for branch, change in found
        ]
    )
    what = "values" if len(types) == 1 else "types"
    remedy = (
        "Let each branch use a key of its own, or say which one counts: kb.union(on_conflict='last'), or "
        "kb.union(on_conflict=lambda name, values: ...) with a function that makes one of them."
        if len(types) == 1
        else "Use another name in one of them."
    )
    return MergeConflictError(
        f"Branches of {where} have left different {what} under the storage key {name!r}: {listed}. Nothing of the "
        f"branches was taken over. {remedy}",
        key=name,
        branches=tuple(branch for branch, _ in found),
    )


def require_room(base: Storage, changes: Changes) -> None:
    """Refuse changes under names that the storage uses with other types by now, and values of other types.

    Raises:
        StorageKeyError: The message names the key. Nothing was changed.
    """
    for change in changes.values():
        base.require(change.key)
        if change.value is not REMOVED:
            require_value(change.key, change.value)
    for change in changes.values():
        base.claim(change.key)


def apply(base: Storage, changes: Changes) -> None:
    """Put the changes into the storage, with the branches' own objects."""
    for name, change in changes.items():
        if change.value is REMOVED:
            base.discard(name)
        else:
            base.set(change.key, change.value)


def lost_in(base: Storage, changes: Changes, without: Iterable[str] = ()) -> list[str]:
    """The names under which the storage holds something else than what a branch has left."""
    skipped = set(without)
    return [
        name for name, change in changes.items() if name not in skipped and not _holds(base, name, change)
    ]


def _holds(base: Storage, name: str, change: Change) -> bool:
    if change.value is REMOVED:
        return name not in base.names
    used = base.used.get(name)
    if used is not None and used[1] is change.value:
        return True
    try:
        return change.body is not None and base.encoded_entry(name) == change.body
    except CodecError:
        return False
