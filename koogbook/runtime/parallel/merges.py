"""How the outputs of the branches of a parallel block become one, as values that can be compared.

The names are Koog's, and so are the defaults: a selection goes on with the context of the branch that it has chosen, a
fold and a function with the one from before the block. What else is to become of histories and storages is said with
``history=`` and ``storage=``:

- ``history="base"``: the messages from before the block. ``"winner"``: the whole LLM context of the chosen branch, its
  tools, model and parameters included. ``"append_all"``: the messages from before, then what each branch has appended,
  in the order of the branches.
- ``storage="base"``, ``"winner"``, ``"union"`` or ``kb.union(on_conflict=...)``, which says it all.

A branch that has failed (``on_error="collect"``) hands nothing over. Only a function sees its result, with ``error``
set; the others are given the branches that have an output.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

from koogbook.errors import GraphError
from koogbook.runtime.parallel.merge_kinds import BranchResult as BranchResult
from koogbook.runtime.parallel.merge_kinds import (
    ByFunction,
    Fold,
    Merge,
    SelectBy,
    SelectByIndex,
    SelectByMax,
)
from koogbook.runtime.parallel.policies import HistoryPolicy, StoragePolicy, require_policies, shown


def fold(
    initial: Any,
    operation: Callable[[Any, Any], Any],
    *,
    history: HistoryPolicy | None = None,
    storage: StoragePolicy | None = None,
) -> Merge:
    """Fold the outputs in the order of the branches (Koog's ``fold``).

    The run goes on with the context from before the block, as in Koog; a notice says what that throws away, unless
    ``history=`` and ``storage=`` say that it is meant.

    Args:
        initial: What the first operation gets. Each run folds into a copy of its own (``copy.deepcopy``).
        operation: Plain or async function of what is folded so far and an output.
        history: ``"base"`` (when left out) or ``"append_all"``; see the module.
        storage: ``"base"`` (when left out) or a union.

    Raises:
        GraphError: A policy that cannot be, an operation of other arguments, or an initial value that has no copy.
    """
    require_policies("fold", history, storage, has_winner=False)
    _require_arguments("fold", "operation", operation, 2, "(folded, output)")
    try:
        initial = copy.deepcopy(initial)
    except Exception as problem:
        raise GraphError(
            f"fold cannot copy its initial value {shown(initial)} ({type(problem).__name__}: {problem}), and without "
            "a copy one run would fold into what another one has left. Make it in a function: kb.merge(function)."
        ) from problem
    return Fold(initial, operation, history=history, storage=storage)


def select_by(
    predicate: Callable[[Any], Any],
    *,
    history: HistoryPolicy | None = None,
    storage: StoragePolicy | None = None,
) -> Merge:
    """Take the first branch whose output fits, in the order of the branches: output and context (Koog's ``selectBy``).

    Where none fits the block raises :class:`~koogbook.errors.MergeError`.

    Args:
        predicate: Plain or async function of an output.
        history: ``"winner"`` when left out; see the module.
        storage: ``"winner"`` when left out.

    Raises:
        GraphError: A policy that cannot be, or a predicate of other arguments.
    """
    require_policies("select_by", history, storage, has_winner=True)
    _require_arguments("select_by", "predicate", predicate, 1, "(output)")
    return SelectBy(predicate, history=history, storage=storage)


def select_by_max(
    key: Callable[[Any], Any],
    *,
    history: HistoryPolicy | None = None,
    storage: StoragePolicy | None = None,
) -> Merge:
    """Take the branch with the greatest key, the first one of equals: output and context (Koog's ``selectByMax``).

    Args:
        key: Plain or async function of an output.
        history: ``"winner"`` when left out; see the module.
        storage: ``"winner"`` when left out.

    Raises:
        GraphError: A policy that cannot be, or a key of other arguments.
    """
    require_policies("select_by_max", history, storage, has_winner=True)
    _require_arguments("select_by_max", "key", key, 1, "(output)")
    return SelectByMax(key, history=history, storage=storage)


def select_by_index(
    choose: Callable[[list[Any]], Any],
    *,
    history: HistoryPolicy | None = None,
    storage: StoragePolicy | None = None,
) -> Merge:
    """Take the branch whose place a function gives: output and context (Koog's ``selectByIndex``).

    Args:
        choose: Plain or async function of the list of outputs; it gives a place in it, from 0.
        history: ``"winner"`` when left out; see the module.
        storage: ``"winner"`` when left out.

    Raises:
        GraphError: A policy that cannot be, or a function of other arguments.
    """
    require_policies("select_by_index", history, storage, has_winner=True)
    _require_arguments("select_by_index", "function", choose, 1, "(outputs)")
    return SelectByIndex(choose, history=history, storage=storage)


def merge(
    function: Callable[..., Any],
    *,
    history: HistoryPolicy | None = None,
    storage: StoragePolicy | None = None,
) -> Merge:
    """Merge with a function, which may stand for itself where no policy is given: ``merge=function``.

    Args:
        function: Plain or async function of ``(results)`` or ``(ctx, results)``, with the context from before the
            block and a :class:`BranchResult` for each branch, failed ones included. What it gives is the output.
        history: ``"base"`` (when left out) or ``"append_all"``; see the module.
        storage: ``"base"`` (when left out) or a union.

    Raises:
        GraphError: A policy that cannot be, or a function of other arguments.
    """
    require_policies("merge", history, storage, has_winner=False)
    if function in _MAKERS:
        raise GraphError(
            f"kb.{shown(function)} makes a merge and is called for it: merge=kb.{shown(function)}(...)."
        )
    if not callable(function) or not (_takes(function, 1) or _takes(function, 2)):
        raise GraphError(
            "merge= takes kb.fold(...), kb.select_by(...), kb.select_by_max(...), kb.select_by_index(...), or a "
            f"function of (results) or (ctx, results), not {shown(function)}."
        )
    return ByFunction(function, not _takes(function, 1), history=history, storage=storage)


_MAKERS = (fold, select_by, select_by_max, select_by_index, merge)


def as_merge(given: Any) -> Merge:
    """What was given as ``merge=``, as a value.

    Raises:
        GraphError: It is neither a merge nor a function.
    """
    return given if isinstance(given, Merge) else merge(given)


def _require_arguments(how: str, what: str, function: Any, count: int, form: str) -> None:
    if not callable(function) or not _takes(function, count):
        raise GraphError(f"The {what} of {how} is a function of {form}, not {shown(function)}.")


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether it can be called with so many arguments; a builtin such as ``max`` does not say, and is believed."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
