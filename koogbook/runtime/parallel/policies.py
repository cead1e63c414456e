"""How the branches of a parallel block become one: what is given, as values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from koogbook.errors import GraphError
from koogbook.functions import is_same_function

if TYPE_CHECKING:
    from koogbook.runtime.parallel.merge_kinds import Merge

OnError = Literal["cancel", "collect"]

#: The messages that the run goes on with: those from before the block, the winner's, or the former with all additions.
HistoryPolicy = Literal["base", "winner", "append_all"]

#: What becomes of different values of one name: refuse, the last branch's, or what a function of (name, values) gives.
OnConflict = Literal["error", "last"] | Callable[[str, Sequence[Any]], Any]

_HISTORIES = ("base", "winner", "append_all")
_MOST_PHRASES = 5
_STORAGES = ("base", "winner", "union")


class StorageUnion(Struct, frozen=True, eq=False):
    """What all branches have stored, taken together; made by :func:`union`."""

    on_conflict: OnConflict = "error"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageUnion) and is_same_function(self.on_conflict, other.on_conflict)

    def __hash__(self) -> int:
        return hash(StorageUnion)

    def __repr__(self) -> str:
        return f"union({shown(self.on_conflict)})"


StoragePolicy = Literal["base", "winner", "union"] | StorageUnion


def union(on_conflict: OnConflict = "error") -> StorageUnion:
    """The storage policy that keeps what every branch has stored: ``storage=kb.union(...)`` of a merge.

    A name that one branch has changed is taken as it left it, and so is the same change in several.

    Args:
        on_conflict: When branches have left different values under one name: ``"error"`` raises
            :class:`~koogbook.errors.MergeConflictError`, ``"last"`` takes that of the branch defined last and says so,
            a function (plain or async) of the name and the values, in the order of the branches, gives the one to
            keep. A branch that has taken the name out counts with ``kb.REMOVED``, and giving that takes it out.

    Raises:
        GraphError: It is none of these.
    """
    if on_conflict not in ("error", "last") and not callable(on_conflict):
        raise GraphError(
            f"on_conflict is 'error', 'last' or a function of (name, values), not {on_conflict!r:.60}."
        )
    return StorageUnion(on_conflict)


class Join(Struct, frozen=True, kw_only=True):
    """The merge of a parallel block, and what happens when a branch fails; see :meth:`Subgraph.parallel`."""

    merge: Merge
    on_error: OnError = "cancel"


def require_policies(how: str, history: Any, storage: Any, *, has_winner: bool) -> None:
    """Refuse policies that there are not, or that this kind of merge cannot have.

    Raises:
        GraphError: The message holds the remedy.
    """
    if history is not None and history not in _HISTORIES:
        raise GraphError(f"history= of {how} is one of {_listed(_HISTORIES)}, not {history!r:.60}.")
    if storage is not None and not isinstance(storage, StorageUnion) and storage not in _STORAGES:
        raise GraphError(
            f"storage= of {how} is one of {_listed(_STORAGES)}, or kb.union(on_conflict=...), not {storage!r:.60}."
        )
    for option, given in (("history", history), ("storage", storage)):
        if given == "winner" and not has_winner:
            others = "'append_all'" if option == "history" else "'union'"
            raise GraphError(
                f"{option}='winner' needs a branch that wins, and {how} takes all of them. Choose one with "
                f"kb.select_by, kb.select_by_max or kb.select_by_index, or write {option}='base' or {option}={others}."
            )


def shown(value: Any) -> str:
    """A value or a function in a few words, for messages and reprs."""
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def first_few(phrases: Sequence[str]) -> str:
    """Phrases one after another; of many the first ones, and how many more there are."""
    more = len(phrases) - _MOST_PHRASES
    if more <= 0:
        return "; ".join(phrases)
    return f"{'; '.join(phrases[:_MOST_PHRASES])}; and {more} more"


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(map(repr, words))
