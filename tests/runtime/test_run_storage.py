"""Values by typed key, for one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Union

import pytest

import koogbook as kb
from koogbook.errors import StorageKeyError, UndecodableValueError
from koogbook.runtime.storage import Storage

COUNT = kb.storage_key("count", int)


def test_a_value_comes_back() -> None:
    """``set`` and ``get`` [GRA-11]."""
    storage = Storage()
    storage.set(COUNT, 3)

    assert (storage.get(COUNT), storage.get_value(COUNT)) == (3, 3)


def test_a_key_without_a_value_gives_none() -> None:
    """``get`` does not raise [GRA-11]."""
    assert Storage().get(COUNT) is None


def test_a_value_that_has_to_be_there_raises_when_it_is_not() -> None:
    """``get_value`` names the key and says what to do [GRA-11]."""
    with pytest.raises(StorageKeyError, match=r"storage_key\('count', int\).*Set it first"):
        Storage().get_value(COUNT)


def test_a_storage_shows_its_names_and_no_values() -> None:
    """Restored ones included; of very many the first [GRA-11]."""
    storage = Storage()
    storage.load_encoded({"wish": b"secret"})
    storage.set(COUNT, 3)
    many = Storage()
    for number in range(14):
        many.set(kb.storage_key(f"n{number}", int), number)

    assert [repr(one) for one in (Storage(), storage)] == ["<empty storage>", "<storage of 'count', 'wish'>"]
    assert repr(many).endswith("'n11' and 2 more>")


def test_none_is_a_value() -> None:
    """A key that holds None has one [GRA-11]."""
    key = kb.storage_key("maybe", type(None))
    storage = Storage()
    storage.set(key, None)

    assert storage.get_value(key) is None
    assert storage.names == ("maybe",)


def test_removing_gives_the_value_and_takes_it_out() -> None:
    """None when there was none [GRA-11]."""
    storage = Storage()
    storage.set(COUNT, 3)

    assert (storage.remove(COUNT), storage.remove(COUNT), storage.names) == (3, None, ())


def test_a_second_key_of_the_same_name_and_type_is_the_same_key() -> None:
    """Keys are equal by name and type, not by identity [GRA-11]."""
    storage = Storage()
    storage.set(COUNT, 3)

    assert storage.get(kb.storage_key("count", int)) == 3
    assert len({COUNT, kb.storage_key("count", int)}) == 1


@pytest.mark.parametrize("use", ["get", "get_value", "remove", "set"])
def test_a_second_key_of_the_same_name_and_another_type_raises(use: str) -> None:
    """Nothing is changed [GRA-11]."""
    storage = Storage()
    storage.set(COUNT, 3)
    other = kb.storage_key("count", str)
    arguments = [other, "x"] if use == "set" else [other]

    with pytest.raises(StorageKeyError, match="in use for int"):
        getattr(storage, use)(*arguments)
    assert storage.get(COUNT) == 3


def test_types_with_other_arguments_are_other_types() -> None:
    """A list of numbers is no list of texts [GRA-11]."""
    storage = Storage()
    storage.set(kb.storage_key("items", list[int]), [1])

    with pytest.raises(StorageKeyError):
        storage.get(kb.storage_key("items", list[str]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Optional[int], int | None),  # noqa: UP045
        (Union[int, str], str | int),  # noqa: UP007
        (list[Optional[int]], list[int | None]),  # noqa: UP045
        (dict[str, Union[int, str, None]], dict[str, str | int | None]),  # noqa: UP007
    ],
)
def test_a_union_is_the_same_type_in_any_spelling(one: Any, other: Any) -> None:
    """Old and new spelling, in any order, inside other types too [GRA-11]."""
    assert kb.storage_key("k", one) == kb.storage_key("k", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(int | None, int), (int | str, int | bytes), (Optional[int], Optional[str])],  # noqa: UP045
)
def test_unions_of_other_types_are_other_types(one: Any, other: Any) -> None:
    """One member more or another one [GRA-11]."""
    assert kb.storage_key("k", one) != kb.storage_key("k", other)


def _define() -> Any:
    """A class as a notebook's cell defines it: same module and name each time, another object."""

    @dataclass
    class State:
        count: int

    return State


def test_a_class_that_was_defined_again_is_the_same_type() -> None:
    """Running the cell of a class again does not break the run's keys [GRA-11]."""
    first, second = _define(), _define()
    storage = Storage()
    storage.set(kb.storage_key("state", first), first(1))

    assert first is not second
    assert storage.get(kb.storage_key("state", second)).count == 1


def test_the_newest_class_is_used_to_decode() -> None:
    """A restored entry becomes an object of the class as it is now [GRA-11]."""
    first, second = _define(), _define()
    storage, restored = Storage(), Storage()
    storage.set(kb.storage_key("state", first), first(1))
    restored.load_encoded(storage.to_encoded()[0])

    assert type(restored.get_value(kb.storage_key("state", second))) is second


def test_a_restored_entry_that_does_not_fit_the_type_raises_and_stays() -> None:
    """Nothing is lost by asking wrongly [GRA-11]."""
    storage = Storage()
    storage.load_encoded({"count": b'"text"'})

    with pytest.raises(UndecodableValueError):
        storage.get(COUNT)
    assert storage.to_encoded()[0] == {"count": b'"text"'}


def test_restored_entries_that_nobody_asks_for_go_on_unchanged() -> None:
    """Into the next checkpoint [GRA-11]."""
    storage = Storage()
    storage.load_encoded({"unknown": b"[1, 2]"})
    storage.set(COUNT, 1)

    assert storage.to_encoded()[0]["unknown"] == b"[1, 2]"


def test_a_name_that_could_not_be_saved_says_so_when_it_is_missed() -> None:
    """The error tells it from a key that was never set [GRA-11]."""
    storage = Storage()
    storage.load_encoded({}, ("count",))

    with pytest.raises(StorageKeyError, match="could not be encoded"):
        storage.get_value(COUNT)


def test_a_listener_of_notes_hears_of_a_changed_type_once() -> None:
    """At the first use of the name, with both types [PER-08]."""
    heard: list[tuple[str, str]] = []
    storage = Storage()
    storage.load_encoded({"count": b"3"}, (), {"count": "str", "unused": "int"})
    storage.on_note = lambda kind, text: heard.append((kind, text))

    assert [storage.get(COUNT), storage.get(COUNT)] == [3, 3]
    assert heard == [("storage key changed", "storage key count: stored str, now int")]


def test_a_key_needs_a_name() -> None:
    """The empty text names nothing [GRA-11]."""
    with pytest.raises(StorageKeyError, match="needs a name"):
        kb.storage_key("", int)


def test_the_error_of_a_key_reads_as_a_sentence() -> None:
    """A KeyError would show its message in quotes [GRA-11]."""
    assert str(StorageKeyError("a sentence")) == "a sentence"


@pytest.mark.parametrize(
    ("declared", "value"), [(int, "not an int"), (list[str], ("a",)), (int | None, "x"), (str, None)]
)
def test_a_value_of_another_type_is_refused(declared: Any, value: Any) -> None:
    """Where that is sure; the message names key and types, and what was there is there still [GRA-11]."""
    key: Any = kb.storage_key("wish", declared)
    storage = Storage()

    with pytest.raises(StorageKeyError, match=r"'wish' is for .*, and was to hold .*Nothing was changed"):
        storage.set(key, value)
    assert storage.names == ()
    assert storage.keys == ()


def test_what_may_be_of_the_type_is_kept() -> None:
    """A whole number for a real one, an element that nobody looks at, a type that says nothing [GRA-11]."""
    storage = Storage()
    given: list[tuple[Any, Any]] = [(float, 1), (list[int], ["a"]), (Any, object()), (int | None, None)]
    for place, (declared, value) in enumerate(given):
        storage.set(kb.storage_key(f"key {place}", declared), value)

    assert len(storage.names) == len(given)
