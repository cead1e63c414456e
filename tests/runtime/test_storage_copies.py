"""Copies of a storage, and what was changed in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import StorageKeyError
from koogbook.runtime.parallel.storage_copies import (
    REMOVED,
    Change,
    StorageCopies,
    apply,
    lost_in,
    require_room,
    united,
)
from koogbook.runtime.storage import Storage
from koogbook.state.codec import encode_state

NOTES = kb.storage_key("notes", list[str])
COUNT = kb.storage_key("count", int)
ANY = kb.storage_key("any", dict)


class Client:
    """What has no encoding."""


CLIENT = kb.storage_key("client", Client)
OTHER = kb.storage_key("other", Client)


def _copies(base: Storage, told: list[str] | None = None) -> StorageCopies:
    return StorageCopies(base, lambda kind, text: told.append(text) if told is not None else None)


def _filled() -> Storage:
    base = Storage()
    base.set(NOTES, ["a"])
    base.set(COUNT, 1)
    return base


def _changed(copies: StorageCopies, storage: Storage) -> dict[str, Any]:
    return {name: change.value for name, change in copies.changes_in(storage).items()}


def test_a_copy_has_the_values_in_objects_of_its_own() -> None:
    """Equal ones, in each copy others [GRA-08]."""
    base = _filled()
    copies = _copies(base)
    one, other = copies.copy(), copies.copy()

    assert one.get(NOTES) == other.get(NOTES) == ["a"]
    assert len({id(storage.get(NOTES)) for storage in (base, one, other)}) == 3


def test_a_copy_is_of_the_moment() -> None:
    """What becomes of the storage afterwards is not in it [GRA-08]."""
    base = _filled()
    copies = _copies(base)
    base.get_value(NOTES).append("later")

    assert copies.copy().get(NOTES) == ["a"]


def test_a_copy_knows_the_types_of_all_names() -> None:
    """Also of those without a value [GRA-11]."""
    base = _filled()
    base.get(ANY)

    with pytest.raises(StorageKeyError):
        _copies(base).copy().set(kb.storage_key("any", str), "x")


def test_a_copy_of_a_restored_storage_says_what_could_not_be_saved() -> None:
    """As the restored one does [PER-03]."""
    base = Storage()
    base.load_encoded({}, ("count",))

    with pytest.raises(StorageKeyError, match="could not be encoded"):
        _copies(base).copy().get_value(COUNT)


@pytest.mark.parametrize(
    ("use", "changed"),
    [
        (lambda storage: None, {}),
        (lambda storage: storage.get(NOTES), {}),
        (lambda storage: storage.set(NOTES, ["a"]), {}),
        (lambda storage: (storage.remove(NOTES), storage.set(NOTES, ["a"])), {}),
        (lambda storage: storage.set(NOTES, ["b"]), {"notes": ["b"]}),
        (lambda storage: storage.get(NOTES).append("b"), {"notes": ["a", "b"]}),
        (lambda storage: storage.remove(NOTES), {"notes": REMOVED}),
        (lambda storage: storage.remove(ANY), {}),
        (lambda storage: storage.set(ANY, {}), {"any": {}}),
    ],
)
def test_what_was_changed_is_found_by_what_is_left(use: Any, changed: dict[str, Any]) -> None:
    """In place, anew, taken out; not what was only read or written again [GRA-08]."""
    copies = _copies(_filled())
    copy = copies.copy()
    use(copy)

    assert _changed(copies, copy) == changed


def test_an_object_without_an_encoding_is_the_same_in_all_copies() -> None:
    """It is told once, and has changed when it is another one [GRA-08]."""
    base, told = _filled(), []
    client = Client()
    base.set(CLIENT, client)
    copies = _copies(base, told)
    _copies(base, told)
    copy, other = copies.copy(), copies.copy()
    other.set(CLIENT, Client())

    assert copy.get(CLIENT) is client
    assert _changed(copies, copy) == {}
    assert list(_changed(copies, other)) == ["client"]
    assert ["'client'" in text for text in told] == [True]


def test_an_object_without_an_encoding_can_be_taken_out() -> None:
    """And that is a change [GRA-08]."""
    base = Storage()
    base.set(CLIENT, Client())
    copies = _copies(base)
    copy = copies.copy()
    copy.remove(CLIENT)

    assert _changed(copies, copy) == {"client": REMOVED}


def test_reading_what_an_older_version_has_stored_is_no_change() -> None:
    """Though it is stored with one more field from now on [GRA-12]."""

    @dataclass
    class Seat:
        row: int
        letter: str = "A"

    key = kb.storage_key("seat", Seat)
    base = Storage()
    stored = encode_state(Seat(7), Seat).replace(b',"letter":"A"', b"")
    assert b"letter" not in stored
    base.load_encoded({"seat": stored})
    copies = _copies(base)
    copy, other = copies.copy(), copies.copy()
    assert copy.get(key) == Seat(7)
    other.set(key, Seat(8))

    assert _changed(copies, copy) == {}
    assert _changed(copies, other) == {"seat": Seat(8)}


def test_changes_are_put_back_as_the_objects_that_they_are() -> None:
    """With their keys, and what was taken out is gone [GRA-08]."""
    base = _filled()
    copies = _copies(base)
    copy = copies.copy()
    made = {"x": 1}
    copy.set(ANY, made)
    copy.remove(NOTES)
    apply(base, copies.changes_in(copy))

    assert base.get(ANY) is made
    assert set(base.names) == {"any", "count"}
    assert ANY in base.keys


def test_what_a_storage_holds_is_not_lost_in_it() -> None:
    """By what it is, not by which object [GRA-08]."""
    base = _filled()
    copies = _copies(base)
    copy = copies.copy()
    copy.set(NOTES, ["new"])
    copy.set(COUNT, 2)
    copy.set(CLIENT, Client())
    base.set(NOTES, ["new"])
    changes = copies.changes_in(copy)

    assert lost_in(base, changes) == ["count", "client"]
    assert lost_in(base, changes, ["client"]) == ["count"]


async def test_a_union_of_nothing_changes_nothing() -> None:
    """The empty one too [GRA-08]."""
    assert (await united([], "error", "block")).changes == {}
    assert (await united([("a", {}), ("b", {})], "last", "block")).changes == {}


def test_names_are_claimed_together_or_not_at_all() -> None:
    """One that is refused leaves the others free [GRA-08]."""
    base = Storage()
    base.set(kb.storage_key("b", int), 1)
    a: Any = kb.storage_key("a", int)
    changes = {"a": Change(a, 1), "b": Change(kb.storage_key("b", str), "x")}

    with pytest.raises(StorageKeyError, match="in use for int"):
        require_room(base, changes)
    with pytest.raises(StorageKeyError, match="'a' is for int, and was to hold str"):
        require_room(base, {"a": Change(a, "x")})
    base.set(kb.storage_key("a", str), "free")
    assert base.get(kb.storage_key("a", str)) == "free"


def test_what_somebody_else_has_changed_meanwhile_is_named_when_it_is_replaced() -> None:
    """Set, changed in place or taken out, with an encoding or without; not what is as it was [GRA-08]."""
    base = _filled()
    base.set(CLIENT, Client())
    copies = _copies(base)
    copy = copies.copy()
    copy.set(NOTES, ["mine"])
    copy.set(COUNT, 2)
    copy.set(CLIENT, Client())
    copy.set(OTHER, Client())
    copy.set(ANY, {})
    base.get_value(NOTES).append("theirs")
    base.set(CLIENT, Client())
    base.set(OTHER, Client())

    assert sorted(copies.hand_over(copies.changes_in(copy))) == ["client", "notes", "other"]
    assert (base.get(NOTES), base.get(COUNT), base.get(CLIENT)) == (["mine"], 2, copy.get(CLIENT))


def test_an_object_without_an_encoding_that_is_as_it_was_is_not_named() -> None:
    """And one that was taken out is [GRA-08]."""
    base = Storage()
    base.set(CLIENT, Client())
    copies = _copies(base)
    copy = copies.copy()
    copy.set(CLIENT, Client())
    changes = copies.changes_in(copy)

    assert copies.hand_over(changes) == []
    base.discard("client")
    assert copies.hand_over(changes) == ["client"]


def test_what_is_refused_is_handed_over_in_no_part() -> None:
    """Neither the names before it nor those behind [GRA-08]."""
    base = _filled()
    copies = _copies(base)
    copy = copies.copy()
    copy.set(NOTES, ["mine"])
    copy.set(ANY, {})
    copy.set(COUNT, 2)
    base.set(kb.storage_key("any", str), "theirs")

    with pytest.raises(StorageKeyError, match="in use for str"):
        copies.hand_over(copies.changes_in(copy))
    assert (base.get(NOTES), base.get(COUNT)) == (["a"], 1)
