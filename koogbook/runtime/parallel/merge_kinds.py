"""The kinds of merges of a parallel block, as values: how each chooses what the block gives, and which branch wins."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from msgspec import Struct, structs

from koogbook.errors import MergeError
from koogbook.functions import is_same_function
from koogbook.runtime.parallel.policies import HistoryPolicy, StoragePolicy, StorageUnion, first_few, shown

if TYPE_CHECKING:
    from koogbook.runtime.context import Context


class BranchResult(Struct, frozen=True, kw_only=True):
    """What came of one branch (Koog's ``ParallelResult``); ``error`` is None where it gave an output.

    ``context`` is the branch's own context as it was left, to read from.
    """

    name: str
    input: Any
    output: Any = None
    error: BaseException | None = None
    context: Context


class Chosen(NamedTuple):
    """The output that a merge gives, and the branch that it has chosen, if it chooses one."""

    output: Any
    winner: BranchResult | None = None


class Merge(Struct, frozen=True, eq=False, kw_only=True):
    """A way to make one of the branches; None for a policy means that none was given."""

    history: HistoryPolicy | None = None
    storage: StoragePolicy | None = None

    how: ClassVar[str] = ""
    has_winner: ClassVar[bool] = False
    #: Whether it is given the results of failed branches too.
    takes_failed: ClassVar[bool] = False

    @property
    def history_policy(self) -> HistoryPolicy:
        """The policy in force."""
        return self.history or ("winner" if self.has_winner else "base")

    @property
    def storage_policy(self) -> StoragePolicy:
        """The policy in force."""
        chosen = self.storage or ("winner" if self.has_winner else "base")
        return StorageUnion() if chosen == "union" else chosen

    def call_with(self, options: str) -> str:
        """How it is written with these options, in short: ``kb.fold(..., history="append_all")``."""
        return f"kb.{self.how}(..., {options})"

    async def choose(self, ctx: Context, results: Sequence[BranchResult], where: str) -> Chosen:
        """The output, and the winner; ``where`` is the path of the block.

        Raises:
            MergeError: No branch can be taken.
            Exception: What a function of the user raised, with a note that says where.
        """
        raise MergeError(f"{type(self).__name__} does not say how it merges, in {where}.")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(map(is_same_function, self._given(), other._given()))

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        given = [shown(value) for value in self._given()[2:]]
        policies = [
            f"{name}={value!r}"
            for name, value in (("history", self.history), ("storage", self.storage))
            if value is not None
        ]
        return f"{self.how}({', '.join(given + policies)})"

    def _given(self) -> tuple[Any, ...]:
        """The policies, then what its maker was given."""
        fields = structs.asdict(self)
        return (fields.pop("history"), fields.pop("storage"), *fields.values())


class Fold(Merge, frozen=True, eq=False):
    """See :func:`koogbook.runtime.parallel.merges.fold`."""

    initial: Any
    operation: Callable[[Any, Any], Any]
    how: ClassVar[str] = "fold"

    async def choose(self, ctx: Context, results: Sequence[BranchResult], where: str) -> Chosen:
        """The outputs folded in the order of the branches."""
        folded = copy.deepcopy(self.initial)
        branch = ""
        try:
            for result in results:
                branch = result.name
                folded = await called(self.operation, folded, result.output)
        except Exception as problem:
            problem.add_note(f"in fold of {where}, branch {branch}")
            raise
        return Chosen(folded)


class SelectBy(Merge, frozen=True, eq=False):
    """See :func:`koogbook.runtime.parallel.merges.select_by`."""

    predicate: Callable[[Any], Any]
    how: ClassVar[str] = "select_by"
    has_winner: ClassVar[bool] = True

    async def choose(self, ctx: Context, results: Sequence[BranchResult], where: str) -> Chosen:
        """The first branch whose output the predicate holds for."""
        for result in results:
            with _Noted(f"in select_by of {where}, branch {result.name}"):
                holds = bool(await called(self.predicate, result.output))
            if holds:
                return Chosen(result.output, result)
        outputs = first_few([f"{result.name} gave {shown(result.output)}" for result in results])
        raise MergeError(
            f"select_by of {where} takes none of the outputs: {outputs}. No branch was taken over. Widen the "
            "predicate, add a branch whose output always fits, or use kb.select_by_max, which always takes one."
        )


class SelectByMax(Merge, frozen=True, eq=False):
    """See :func:`koogbook.runtime.parallel.merges.select_by_max`."""

    key: Callable[[Any], Any]
    how: ClassVar[str] = "select_by_max"
    has_winner: ClassVar[bool] = True

    async def choose(self, ctx: Context, results: Sequence[BranchResult], where: str) -> Chosen:
        """The first of the branches whose key is the greatest."""
        best: BranchResult | None = None
        highest: Any = None
        for result in results:
            with _Noted(f"in select_by_max of {where}, branch {result.name}"):
                key = await called(self.key, result.output)
                if isinstance(key, float) and key != key:
                    raise MergeError(
                        f"The key of branch {result.name} is nan, which is neither more nor less than another one. "
                        "No branch was taken over. Let the key give a number for every output, such as -math.inf."
                    )
                try:
                    is_higher = best is None or bool(key > highest)
                except (TypeError, ValueError) as problem:
                    raise MergeError(
                        f"The key of branch {result.name} is {shown(key)} ({type(key).__name__}), which cannot be "
                        f"compared with {shown(highest)} of branch {'' if best is None else best.name}. No branch was "
                        "taken over. Let the key give a number for every output, such as -math.inf."
                    ) from problem
            if is_higher:
                best, highest = result, key
        assert best is not None
        return Chosen(best.output, best)


class SelectByIndex(Merge, frozen=True, eq=False):
    """See :func:`koogbook.runtime.parallel.merges.select_by_index`."""

    function: Callable[[list[Any]], Any]
    how: ClassVar[str] = "select_by_index"
    has_winner: ClassVar[bool] = True

    async def choose(self, ctx: Context, results: Sequence[BranchResult], where: str) -> Chosen:
        """The branch whose place the function gives."""
        with _Noted(f"in select_by_index of {where}"):
            given = await called(self.function, [result.output for result in results])
        names = ", ".join(f"{place} {result.name}" for place, result in enumerate(results))
        remedy = f"No branch was taken over. Return one of: {names}."
        try:
            index = operator.index(given)
        except TypeError:
            index = None
        if index is None or isinstance(given, bool):
            raise MergeError(
                f"select_by_index of {where} takes a whole number from its function, not {shown(given)} "
                f"({type(given).__name__}). {remedy}"
            )
        if not 0 <= index < len(results):
            raise MergeError(
                f"select_by_index of {where} was given {index}, and there are {len(results)} outputs. {remedy}"
            )
        return Chosen(results[index].output, results[index])


class ByFunction(Merge, frozen=True, eq=False):
    """See :func:`koogbook.runtime.parallel.merges.merge`."""

    function: Callable[..., Any]
    with_context: bool
    how: ClassVar[str] = "merge"
    takes_failed: ClassVar[bool] = True

    def call_with(self, options: str) -> str:
        """How it is written with these options, in short."""
        return f"kb.merge({shown(self.function)}, {options})"

    async def choose(self, ctx: Context, results: Sequence[BranchResult], where: str) -> Chosen:
        """What the function makes of the results."""
        given = (ctx, list(results)) if self.with_context else (list(results),)
        with _Noted(f"in the merge function {shown(self.function)} of {where}"):
            return Chosen(await called(self.function, *given))

    def _given(self) -> tuple[Any, ...]:
        return super()._given()[:3]


async def called(function: Callable[..., Any], *given: Any) -> Any:
    """What a plain or async function gives."""
    found = function(*given)
    return await found if hasattr(type(found), "__await__") else found


class _Noted:
    """Says of an exception on its way out where it came from."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, Exception):
            problem.add_note(self._text)
