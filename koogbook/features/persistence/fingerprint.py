"""What a strategy promises its checkpoints, and whether it still keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal

from msgspec import Struct

from koogbook.runtime.compiled import CompiledStrategy
from koogbook.runtime.storage import StorageKey
from koogbook.state.codec import type_shape

Level = Literal["same", "changed", "incompatible"]


class Difference(Struct, frozen=True):
    """One thing that is not as it was stored: ``stored`` or ``now`` is empty where it is new, or gone."""

    what: str
    stored: str = ""
    now: str = ""

    def __str__(self) -> str:
        if self.stored and self.now:
            return f"{self.what}: stored {self.stored}, now {self.now}"
        return f"{self.what}: is gone" if self.stored else f"{self.what}: is new" if self.now else self.what


class Comparison(Struct, frozen=True):
    """A stored fingerprint against the code as it is now: how bad, and what differs, the worst first."""

    level: Level
    found: tuple[Difference, ...] = ()

    @property
    def differences(self) -> tuple[str, ...]:
        """What differs, in words."""
        return tuple(map(str, self.found))


def fingerprint(
    strategy: CompiledStrategy, keys: Iterable[StorageKey[Any]] = (), shapes: Mapping[str, str] | None = None
) -> tuple[str, bytes]:
    """The hash and the body: paths with their types, the strategy's input, and the storage keys used so far.

    ``shapes`` are those of the keys that were used before a restart, as :func:`key_shapes` gives them.
    """
    described = {
        "strategy": strategy.name,
        "version": strategy.version,
        "input": type_shape(strategy.input_type),
        "nodes": {
            node.path: [type_shape(node.input_type), type_shape(node.output_type)]
            for node in strategy.graph.all_nodes()
        },
        "keys": {**(shapes or {}), **{key.name: type_shape(key.type) for key in keys}},
    }
    body = json.dumps(described, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
    return blake2b(body, digest_size=16).hexdigest(), body


def key_shapes(stored: bytes) -> dict[str, str]:
    """The types of the storage keys that a stored fingerprint knows, by name, in words; none where there is none."""
    return {name: str(shape) for name, shape in json.loads(stored)["keys"].items()} if stored else {}


def compare(
    stored: bytes, strategy: CompiledStrategy, path: str, keys: Iterable[StorageKey[Any]] = ()
) -> Comparison:
    """Whether a run can go on after ``path`` with the strategy as it is now; damaged bytes say no.

    The node has to be there with the type its stored output has; the strategy's name must fit. Anything else that
    changed is a warning, the type of one of these keys included.
    """
    try:
        return _compare(stored, fingerprint(strategy, keys)[1], path)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        damaged = f"the stored description of the strategy is damaged ({problem})"
        return Comparison("incompatible", (Difference(damaged),))


@lru_cache(maxsize=512)
def _compare(stored: bytes, now: bytes, path: str) -> Comparison:
    then, today = json.loads(stored), json.loads(now)
    broken: list[Difference] = []
    changed: list[Difference] = []
    if then["strategy"] != today["strategy"]:
        broken.append(Difference("strategy", repr(then["strategy"]), repr(today["strategy"])))
    if then["input"] != today["input"]:
        changed.append(Difference("input", str(then["input"]), str(today["input"])))
    if then["version"] != today["version"]:
        changed.append(Difference("strategy version", _version(then), _version(today)))
    for node, types in then["nodes"].items():
        found = today["nodes"].get(node)
        here = broken if node == path else changed
        if found is None:
            here.append(Difference(f"node {node}", stored=_signature(types)))
        elif found[1] != types[1]:
            here.append(Difference(f"output of {node}", str(types[1]), str(found[1])))
        elif found[0] != types[0]:
            changed.append(Difference(f"input of {node}", str(types[0]), str(found[0])))
    changed.extend(
        Difference(f"node {node}", now=_signature(types))
        for node, types in today["nodes"].items()
        if node not in then["nodes"]
    )
    changed.extend(
        Difference(f"storage key {name}", str(shape), str(today["keys"][name]))
        for name, shape in then["keys"].items()
        if today["keys"].get(name, shape) != shape
    )
    level: Level = "incompatible" if broken else "changed" if changed else "same"
    return Comparison(level, (*broken, *changed))


def _signature(types: list[str]) -> str:
    return f"{types[0]} -> {types[1]}"


def _version(described: Mapping[str, Any]) -> str:
    return str(described["version"]) or "none"
