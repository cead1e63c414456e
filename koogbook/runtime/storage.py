"""A run's storage: typed keys and values that nodes share. Nothing in it reaches the prompt by itself."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Generic, NoReturn, TypeVar, cast

from koogbook.errors import StorageKeyError
from koogbook.runtime.checking.boundaries import acceptor
from koogbook.runtime.checking.edge_errors import short
from koogbook.state.codec import decode_state, describe_type, encode_state, type_shape

T = TypeVar("T")
_MISSING = object()
_MOST_NAMES = 12  # in the repr
#: Of these are values, and no types.
_NO_TYPES = (str, bytes, int, float, list, dict, set, tuple)


class StorageKey(Generic[T]):
    """A name and a type (Koog's ``AIAgentStorageKey``); equal to another by both, not by identity.

    A class that was defined again under the same module and name is the same type.
    """

    __slots__ = ("_accepts", "identity", "name", "type")

    def __init__(self, name: str, type: type[T]) -> None:
        _require_parts(name, type)
        self.name = name
        self.type = type
        self.identity = type_identity(type)
        self._accepts = acceptor(type)

    def accepts(self, value: Any) -> bool:
        """Whether a value may be of its type; False where it surely is not."""
        return self._accepts is None or self._accepts(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageKey) and self.name == other.name and self.identity == other.identity

    def __hash__(self) -> int:
        return hash((self.name, self.identity))

    def __repr__(self) -> str:
        return f"storage_key({self.name!r}, {describe_type(self.type)})"


def _require_parts(name: Any, type: Any) -> None:
    if not isinstance(name, str):
        raise StorageKeyError(
            f"The name of a storage key is a text, not {short(name)}. No key was made. Write: "
            "kb.storage_key('count', int)."
        )
    if not name:
        raise StorageKeyError("A storage key needs a name.")
    if isinstance(type, _NO_TYPES):
        wanted = type if isinstance(type, str) and type.isidentifier() else "str"
        raise StorageKeyError(
            f"The storage key {name!r} is for values of a type, and {short(type)} is none. No key was made. Give a "
            f"type, without quotation marks: kb.storage_key({name!r}, {wanted})."
        )


def storage_key(name: str, type: type[T]) -> StorageKey[T]:
    """A key for ``ctx.storage`` (Koog's ``createStorageKey``); ``type`` is what a checkpoint stores and restores.

    Raises:
        StorageKeyError: The name is no text, or empty, or the type is none.
    """
    return StorageKey(name, type)


def _no_dictionary(line: str) -> StorageKeyError:
    return StorageKeyError(f"ctx.storage is no dictionary. Nothing was changed. Write: {line}.")


def _key_in_code(key: Any) -> str:
    """What stands for a key in a line to write."""
    return f"kb.{key!r}" if isinstance(key, StorageKey) else "kb.storage_key('count', int)"


def require_value(key: StorageKey[Any], value: Any) -> None:
    """Refuse a value that surely is not of a key's type.

    Raises:
        StorageKeyError: The message names both. Nothing was changed.
    """
    if not key.accepts(value):
        raise StorageKeyError(
            f"The storage key {key.name!r} is for {describe_type(key.type)}, and was to hold "
            f"{describe_type(type(value))} {short(value)}. Nothing was changed. Store a value of that type, or make "
            f"the key of the type that it is for: kb.storage_key({key.name!r}, ...)."
        )


def type_identity(declared: Any) -> str:
    """A type by module and name, so that a class defined again is the same one; a union in any spelling is one."""
    if isinstance(declared, type) and not hasattr(declared, "__args__"):
        return f"{declared.__module__}.{declared.__qualname__}"
    arguments = getattr(declared, "__args__", ())
    origin = getattr(declared, "__origin__", None)
    if origin is typing.Union or isinstance(declared, types.UnionType):
        return " | ".join(sorted(map(type_identity, arguments)))
    if arguments and origin is not None:
        return f"{type_identity(origin)}[{', '.join(map(type_identity, arguments))}]"
    return repr(declared)


class Storage:
    """Values by typed key, fresh for every run.

    Entries of a restored checkpoint stay encoded until a key of their name asks for them; those nobody asks for go
    unchanged into the next checkpoints. Names that could not be saved are remembered, so that asking for one says so.

    ``on_note`` is told, as (kind, text), what happened to a restored entry that no error stands for: its key has
    another type by now, or a field that was not stored got its default.
    """

    __slots__ = (
        "_encoded",
        "_keys",
        "_left_out",
        "_on_late",
        "_over",
        "_shapes",
        "_values",
        "on_note",
        "told_shared",
    )

    def __init__(self) -> None:
        self._keys: dict[str, StorageKey[Any]] = {}
        self._values: dict[str, Any] = {}
        self._encoded: dict[str, bytes] = {}
        self._left_out: frozenset[str] = frozenset()
        self._shapes: dict[str, str] = {}
        self.on_note: Callable[[str, str], None] | None = None
        self._over = ""
        self._on_late: Callable[[str, str], None] | None = None
        #: The names of which it was told that branches of a parallel block share their object; one set for all copies.
        self.told_shared: set[str] = set()

    def get(self, key: StorageKey[T]) -> T | None:
        """The value, or None.

        Raises:
            StorageKeyError: The name is in use with another type.
            UndecodableValueError: A restored entry does not fit the key's type as it is now.
        """
        found = self._find(key)
        return None if found is _MISSING else cast("T", found)

    def get_value(self, key: StorageKey[T]) -> T:
        """The value.

        Raises:
            StorageKeyError: There is none; or the name is in use with another type.
            UndecodableValueError: A restored entry does not fit the key's type as it is now.
        """
        found = self._find(key)
        if found is not _MISSING:
            return cast("T", found)
        if key.name in self._left_out:
            raise StorageKeyError(
                f"{key!r} has no value: it could not be encoded when the checkpoint was saved that this run was "
                "restored from. Make it again from what is there, or store a value that can be encoded."
            )
        raise StorageKeyError(
            f"{key!r} has no value in this run. Set it first, or use get(), which gives None."
        )

    def set(self, key: StorageKey[T], value: T) -> None:
        """Keep a value.

        Raises:
            StorageKeyError: The name is in use with another type, or the value surely is not of the key's. Nothing was
                changed.
        """
        self.require(key)
        require_value(key, value)
        self.claim(key)
        self._tell_if_over(key.name, "set")
        self._encoded.pop(key.name, None)
        self._values[key.name] = value

    def remove(self, key: StorageKey[T]) -> T | None:
        """Take the value out and return it; None when there was none."""
        found = self._find(key)
        if found is not _MISSING:
            self._tell_if_over(key.name, "removed")
        self._values.pop(key.name, None)
        self._encoded.pop(key.name, None)
        return None if found is _MISSING else cast("T", found)

    def __getitem__(self, key: Any) -> NoReturn:
        raise _no_dictionary(f"ctx.storage.get({_key_in_code(key)})")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise _no_dictionary(f"ctx.storage.set({_key_in_code(key)}, value)")

    def __contains__(self, key: Any) -> NoReturn:
        raise _no_dictionary(f"ctx.storage.get({_key_in_code(key)}) is not None")

    #: A class with __getitem__ would be one to go through.
    __iter__ = None

    def __repr__(self) -> str:
        names = self.names
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return (
            f"<storage of {', '.join(map(repr, names[:_MOST_NAMES]))}{more}>" if names else "<empty storage>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that have a value, encoded ones included."""
        return (*self._values, *self._encoded)

    @property
    def keys(self) -> tuple[StorageKey[Any], ...]:
        """The keys used so far in this run."""
        return tuple(self._keys.values())

    @property
    def restored_shapes(self) -> Mapping[str, str]:
        """The types of the keys that were used before a restart, by name, in words."""
        return self._shapes

    def key(self, name: str) -> StorageKey[Any]:
        """The key that a name was used with in this run.

        Raises:
            KeyError: It was not used.
        """
        return self._keys[name]

    @property
    def size(self) -> int:
        """How many names have a value."""
        return len(self._values) + len(self._encoded)

    @property
    def is_used(self) -> bool:
        """Whether anything in it was asked for or set; otherwise all of it is encoded."""
        return bool(self._values)

    @property
    def used(self) -> Mapping[str, tuple[StorageKey[Any], Any]]:
        """Key and object of each name that has a value and was asked for or set; the others are still encoded."""
        return {name: (self._keys[name], value) for name, value in self._values.items()}

    def copy_of(self, entries: Mapping[str, bytes], shared: Mapping[str, Any]) -> Storage:
        """A storage that knows the same keys and begins with these entries, and these objects as they are.

        The entries are decoded when they are asked for, each copy into objects of its own.
        """
        made = Storage()
        made._keys = self._keys.copy()
        made._encoded = {**entries}
        made._values = {**shared}
        made._left_out = self._left_out
        made._shapes = self._shapes
        made.on_note = self.on_note
        made.told_shared = self.told_shared
        return made

    def encoded_entry(self, name: str) -> bytes | None:
        """The value under a name as bytes; None where there is none.

        Raises:
            UnencodableValueError: It cannot be encoded.
        """
        if name in self._values:
            return encode_state(self._values[name], self._keys[name].type)
        return self._encoded.get(name)

    def discard(self, name: str) -> None:
        """Take out what is under a name, if there is anything."""
        self._values.pop(name, None)
        self._encoded.pop(name, None)

    def to_encoded(self) -> tuple[dict[str, bytes], dict[str, str]]:
        """All entries as bytes, and the reason for each one that cannot be: ``(entries, left_out)``."""
        entries = dict(self._encoded)
        left_out: dict[str, str] = {}
        for name, value in self._values.items():
            try:
                entries[name] = encode_state(value, self._keys[name].type)
            except ValueError as problem:
                left_out[name] = str(problem)
        return entries, left_out

    def load_encoded(
        self,
        entries: Mapping[str, bytes],
        left_out: tuple[str, ...] = (),
        shapes: Mapping[str, str] | None = None,
    ) -> None:
        """Replace everything by the entries of a checkpoint.

        Args:
            entries: The encoded values by name.
            left_out: The names that could not be saved.
            shapes: The types, in words, that names were used with; it may know more names than have a value.
        """
        self._shapes = dict(shapes or {})
        self._values.clear()
        self._encoded = dict(entries)
        self._left_out = frozenset(left_out)

    def _find(self, key: StorageKey[Any]) -> Any:
        self.claim(key)
        if key.name in self._values:
            return self._values[key.name]
        body = self._encoded.get(key.name)
        if body is None:
            return _MISSING
        notes: list[str] = []
        value = decode_state(body, key.type, notes=notes)
        del self._encoded[key.name]
        self._values[key.name] = value
        for note in notes:
            self._note("field filled in", f"storage key {key.name}: {note}")
        return value

    def end(self, what: str, notice: Callable[[str, str], None]) -> None:
        """What it belongs to has ended: a later change reaches nobody; ``notice`` is told, as (kind, text)."""
        self._over, self._on_late = what, notice

    def _tell_if_over(self, name: str, how: str) -> None:
        if self._on_late is not None:
            self._on_late(
                "late change",
                f"the storage key {name!r} was {how} in {self._over} after that had ended: nobody sees it. Await the "
                "task that does so before it ends.",
            )

    def require(self, key: StorageKey[Any]) -> None:
        """Refuse a key whose name is in use with another type; nothing is noted.

        Raises:
            StorageKeyError: It is, or this is no key.
        """
        if not isinstance(key, StorageKey):
            raise StorageKeyError(
                f"ctx.storage takes a key, not {key!r:.60}. Make one: kb.storage_key('count', int)."
            )
        known = self._keys.get(key.name)
        if known is not None and known.identity != key.identity:
            raise StorageKeyError(
                f"The storage name {key.name!r} is in use for {describe_type(known.type)} and cannot be used for "
                f"{describe_type(key.type)} as well. Nothing was changed. Choose another name."
            )

    def claim(self, key: StorageKey[Any]) -> None:
        """Say that a name is used with this type.

        Raises:
            StorageKeyError: It is in use with another one, or this is no key.
        """
        self.require(key)
        known = self._keys.get(key.name)
        self._keys[key.name] = key
        if known is None and key.name in self._shapes:
            before, now = self._shapes[key.name], type_shape(key.type)
            if before != now:
                self._note("storage key changed", f"storage key {key.name}: stored {before}, now {now}")

    def _note(self, kind: str, text: str) -> None:
        if self.on_note is not None:
            self.on_note(kind, text)
