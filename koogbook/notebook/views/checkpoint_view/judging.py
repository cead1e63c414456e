"""Whether the code as it is now can go on from a checkpoint, and what is not as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

from koogbook.errors import GraphError
from koogbook.features.persistence.checkpoint import SCHEMA_VERSION, CheckpointInfo
from koogbook.features.persistence.fingerprint import Difference, compare, fingerprint
from koogbook.features.persistence.storage import ListsCheckpoints
from koogbook.runtime.compiled import CompiledStrategy, compile_strategy

VerdictWord = Literal["resumable", "with warning", "not resumable", "ended"]
RowWord = VerdictWord | Literal["not checked"]
#: All of them, in the order in which they are counted.
WORDS: tuple[RowWord, ...] = ("resumable", "with warning", "not resumable", "ended", "not checked")

# SQLite takes only so many values in one question.
_FINGERPRINTS_AT_ONCE = 500


class Verdict(Struct, frozen=True):
    """Whether the code as it is now can go on from a checkpoint, and why not or what to know.

    ``differences`` are the reasons that have a stored side and one of now; each is among ``reasons`` in words.
    """

    word: VerdictWord
    reasons: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()


#: Gives the verdict on a checkpoint, or None where there is none.
Judge = Callable[[CheckpointInfo], Verdict | None]


class Code(Struct, frozen=True):
    """The code as it is now: the strategy that would run, or in one sentence why none can.

    ``key`` is equal for code that gives equal verdicts.
    """

    strategy: CompiledStrategy | None = None
    why_not: str = ""
    key: bytes = b""


def code_now(strategy: Any) -> Code:
    """A strategy as it would run now; without one, nothing can be checked, and that is no trouble."""
    if strategy is None:
        return Code()
    try:
        compiled = compile_strategy(strategy)
    except GraphError as problem:
        found = getattr(problem, "findings", ())
        to_do = [f"{one.text} To do: {one.remedy}" for one in found if one.level == "error"] or [str(problem)]
        more = f" ({len(to_do) - 1} more in strategy.check())" if len(to_do) > 1 else ""
        first = to_do[0].rstrip(".")
        return Code(
            why_not=f"strategy {strategy.name!r} cannot run now: {first}{more}. Then look again: press Refresh, "
            "or view.refresh()."
        )
    return Code(compiled, key=fingerprint(compiled)[1])


def judge(strategy: CompiledStrategy, infos: Iterable[CheckpointInfo], storage: ListsCheckpoints) -> Judge:
    """What gives the verdict on each of these checkpoints: worked out once for all that it is the same for."""
    hashes = list(dict.fromkeys(info.fingerprint for info in infos))
    stored: dict[str, bytes] = {}
    for start in range(0, len(hashes), _FINGERPRINTS_AT_ONCE):
        stored.update(storage.get_fingerprints(hashes[start : start + _FINGERPRINTS_AT_ONCE]))
    known: dict[tuple[object, ...], Verdict] = {}

    def verdict(info: CheckpointInfo) -> Verdict:
        key = (info.fingerprint, info.path, info.kind, info.left_out, info.schema_version)
        found = known.get(key)
        if found is None:
            found = known[key] = _verdict(info, stored.get(info.fingerprint, b""), strategy)
        return found

    return verdict


def _verdict(info: CheckpointInfo, body: bytes, strategy: CompiledStrategy) -> Verdict:
    if info.is_tombstone:
        return Verdict("ended")
    if info.schema_version > SCHEMA_VERSION:
        newer = Difference("form of the checkpoint", str(info.schema_version), f"up to {SCHEMA_VERSION}")
        return _of("not resumable", [newer])
    found = compare(body, strategy, info.path) if body else None
    differences = list(found.found) if found is not None else []
    gone = strategy.graph.find(info.path) is None
    if gone and not any(str(one) == f"node {info.path}: is gone" for one in differences):
        differences.insert(0, Difference(f"node {info.path}", stored="the node that had completed"))
    if gone or (found is not None and found.level == "incompatible"):
        return _of("not resumable", differences)
    if found is None:
        return Verdict("with warning", ("the strategy it was saved under is not known",))
    return _of("with warning" if differences or info.left_out else "resumable", differences)


def _of(word: VerdictWord, differences: Sequence[Difference]) -> Verdict:
    return Verdict(word, tuple(map(str, differences)), tuple(differences))
