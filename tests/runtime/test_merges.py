"""Merges as values: what each takes, how it shows itself, and what is refused when it is made."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from typing import Any

import pytest
from parallel_world import agent_of, block_of, fails, gives, run_of

import koogbook as kb
from koogbook.errors import GraphError, MergeError
from koogbook.runtime.parallel.merge_kinds import BranchResult, Merge
from koogbook.runtime.parallel.merges import fold, merge, select_by, select_by_index, select_by_max
from koogbook.runtime.parallel.policies import first_few, union

BRANCHES = {"museums": gives(3), "parks": gives(5), "hotels": gives(5)}


# ------------------------------------------------------------------------------------------- what they take


async def test_a_fold_goes_through_the_outputs_in_the_order_of_the_branches() -> None:
    """From the initial value on [GRA-08]."""
    run = await run_of(fold("", lambda text, number: f"{text}{number} "), BRANCHES)

    assert run.output == "3 5 5 "


async def test_a_selection_takes_the_first_output_that_fits() -> None:
    """In the order of the branches [GRA-08]."""
    assert (await run_of(select_by(lambda number: number > 3), BRANCHES)).output == 5


async def test_of_branches_with_equal_keys_the_first_is_taken() -> None:
    """As the one that wins shows, by its context [GRA-08]."""
    seen: list[str] = []

    def listen(event: Any) -> None:
        seen.append(event.winner)

    agent = agent_of(block_of(select_by_max(lambda number: number), BRANCHES)[0])
    agent.on(listen, kb.events.BranchesMerged)  # type: ignore[attr-defined]
    await agent.run("x")

    assert seen == ["parks"]


async def test_an_index_chooses_among_the_outputs() -> None:
    """The function gets the list of them [GRA-08]."""
    assert (await run_of(select_by_index(lambda outputs: outputs.index(3)), BRANCHES)).output == 3


async def test_a_function_gets_the_results_in_the_order_of_the_branches() -> None:
    """Name, input and output of each [GRA-08]."""
    run = await run_of(lambda results: [(one.name, one.input, one.output) for one in results], BRANCHES)

    assert run.output == [("museums", "Rome", 3), ("parks", "Rome", 5), ("hotels", "Rome", 5)]


async def test_a_function_may_take_the_context_as_well() -> None:
    """That from before the block [GRA-08]."""
    run = await run_of(lambda ctx, results: (ctx.is_root, len(results)), BRANCHES)

    assert run.output == (True, 3)


async def _is_odd(number: int) -> bool:
    return number % 2 == 1


async def _add(left: int, right: int) -> int:
    return left + right


async def _last(outputs: list[int]) -> int:
    return len(outputs) - 1


async def _all(results: list[BranchResult]) -> int:
    return len(results)


@pytest.mark.parametrize(
    ("given", "output"),
    [
        (fold(0, _add), 13),
        (select_by(_is_odd), 3),
        (select_by_max(_is_odd), 3),
        (select_by_index(_last), 5),
        (_all, 3),
    ],
)
async def test_functions_of_merges_may_be_async(given: Any, output: int) -> None:
    """Each of them [GRA-08]."""
    assert (await run_of(given, BRANCHES)).output == output


async def test_builtins_are_functions_too() -> None:
    """Also those that say nothing of their arguments [GRA-08]."""
    assert (await run_of(fold(0, operator.add), BRANCHES)).output == 13
    assert (await run_of(select_by(bool), BRANCHES)).output == 3
    assert (await run_of(merge(len), BRANCHES)).output == 3


async def test_an_initial_value_is_no_other_run_s() -> None:
    """Each run folds into a copy, and so does a change after the merge was made [GRA-08]."""
    initial: list[int] = []

    def put(found: list[int], number: int) -> list[int]:
        found.append(number)
        return found

    agent = agent_of(block_of(fold(initial, put), BRANCHES)[0])
    initial.append(99)

    assert (await agent.run("x")).output == [3, 5, 5]
    assert (await agent.run("x")).output == [3, 5, 5]


# ------------------------------------------------------------------------------------------- nothing to take


async def test_when_no_output_fits_the_error_names_them() -> None:
    """Koog raises NoSuchElementException [GRA-08]."""
    with pytest.raises(MergeError, match=r"museums gave 3; parks gave 5; hotels gave 5.*select_by_max"):
        await run_of(select_by(lambda number: number > 9), BRANCHES)


@pytest.mark.parametrize("index", [3, -1, 10**30])
async def test_an_index_that_names_no_output_is_refused(index: int) -> None:
    """Koog raises IndexOutOfBounds; a negative one counts from nowhere [GRA-08]."""
    with pytest.raises(MergeError, match=r"3 outputs.*0 museums, 1 parks, 2 hotels"):
        await run_of(select_by_index(lambda outputs: index), BRANCHES)


@pytest.mark.parametrize("index", [True, 1.0, "1", None])
async def test_an_index_is_a_whole_number(index: Any) -> None:
    """A bool is none, though Python counts it as one [GRA-08]."""
    with pytest.raises(MergeError, match="takes a whole number"):
        await run_of(select_by_index(lambda outputs: index), BRANCHES)


async def test_an_index_of_another_library_is_a_whole_number() -> None:
    """What stands for one, as the integers of numpy [GRA-08]."""

    class Place:
        def __index__(self) -> int:
            return 1

    assert (await run_of(select_by_index(lambda outputs: Place()), BRANCHES)).output == 5


async def test_a_key_that_cannot_be_compared_is_refused() -> None:
    """Nothing is greater than nan, and it would win wherever it stands first [GRA-08]."""
    with pytest.raises(MergeError, match="museums is nan"):
        await run_of(select_by_max(lambda number: math.nan), BRANCHES)


def _boom(*given: Any) -> Any:
    raise LookupError("boom")


@pytest.mark.parametrize(
    ("given", "note"),
    [
        (fold(0, lambda folded, number: _boom()), "in fold of trip/research, branch museums"),
        (
            select_by(lambda number: _boom() if number > 3 else False),
            "in select_by of trip/research, branch parks",
        ),
        (
            select_by_max(lambda number: None if number < 5 else ""),
            "in select_by_max of trip/research, branch parks",
        ),
        (select_by_index(lambda outputs: _boom()), "in select_by_index of trip/research"),
        (_boom, "in the merge function _boom of trip/research"),
    ],
)
async def test_what_a_function_raises_says_where(given: Any, note: str) -> None:
    """The error of the function, with a note [GRA-08]."""
    with pytest.raises((LookupError, TypeError)) as caught:
        await run_of(given, BRANCHES)

    assert note in caught.value.__notes__


async def test_without_an_output_a_branch_is_not_chosen_from() -> None:
    """Failed branches are left out of outputs and places; a function sees them [GRA-08]."""
    branches = {"museums": fails(ValueError("closed")), "parks": gives(5)}

    chosen = await run_of(select_by_index(lambda outputs: outputs.index(5)), branches, on_error="collect")
    seen = await run_of(
        lambda results: [(one.name, one.output, repr(one.error)) for one in results],
        branches,
        on_error="collect",
    )

    assert chosen.output == 5
    assert seen.output == [("museums", None, "ValueError('closed')"), ("parks", 5, "None")]


# ------------------------------------------------------------------------------------------- as values


def _same() -> list[Merge]:
    return [
        fold([0], lambda left, right: left),
        select_by(lambda number: number > 3, history="append_all"),
        select_by_max(abs, storage=union(on_conflict=lambda name, values: values[0])),
        select_by_index(len, storage="union"),
        merge(lambda results: 1),
    ]


def test_merges_that_say_the_same_are_equal() -> None:
    """A cell that is run again defines the same merge, though its lambdas are new objects [GRA-12]."""
    assert _same() == _same()
    assert list(map(hash, _same())) == list(map(hash, _same()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (fold(0, max), fold(1, max)),
        (fold(0, max), fold(0, min)),
        (fold(0, max), fold(0.0, max)),
        (fold(0, max), fold(0, max, history="base")),
        (select_by(bool), select_by_max(bool)),
        (select_by(bool, storage="union"), select_by(bool, storage=union("last"))),
        (merge(lambda results: 1), merge(lambda results: 2)),
    ],
)
def test_merges_that_say_something_else_are_not(one: Merge, other: Merge) -> None:
    """Kind, values, functions and policies count [GRA-12]."""
    assert one != other


def test_a_merge_shows_what_it_was_given() -> None:
    """Functions by name, and the policies that were said [GRA-08]."""
    assert repr(fold("", operator.add)) == "fold('', add)"
    assert repr(select_by_max(len, history="append_all", storage=union("last"))) == (
        "select_by_max(len, history='append_all', storage=union('last'))"
    )
    assert repr(merge(_boom, storage="union")) == "merge(_boom, storage='union')"
    assert len(repr(fold("x" * 1000, operator.add))) < 100


def test_a_merge_cannot_be_changed() -> None:
    """A value [GRA-08]."""
    with pytest.raises(AttributeError):
        select_by(bool).history = "base"  # type: ignore[misc]


# ------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize("option", ["history", "storage"])
@pytest.mark.parametrize("make", [lambda **given: fold(0, max, **given), lambda **given: merge(len, **given)])
def test_a_merge_of_all_branches_has_no_winner(make: Callable[..., Merge], option: str) -> None:
    """The message names what to write in place of it [GRA-08]."""
    with pytest.raises(GraphError, match=f"{option}='winner' needs a branch that wins.*kb.select_by_max"):
        make(**{option: "winner"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fold(0, max, history="all"), "history= of fold is one of 'base', 'winner', 'append_all'"),
        (lambda: select_by(bool, storage=3), "storage= of select_by.*not 3"),
        (lambda: union("first"), "on_conflict is 'error', 'last' or a function"),
        (lambda: fold(0, lambda one: one), r"operation of fold is a function of \(folded, output\)"),
        (lambda: select_by("x"), r"predicate of select_by is a function of \(output\)"),
        (lambda: select_by_max(lambda: 1), r"key of select_by_max is a function of \(output\)"),
        (lambda: select_by_index(0), r"function of select_by_index is a function of \(outputs\)"),
        (lambda: merge(lambda: 1), r"function of \(results\) or \(ctx, results\)"),
        (lambda: merge(3), r"function of \(results\) or \(ctx, results\), not 3"),
        (lambda: merge(fold), r"kb.fold makes a merge and is called for it: merge=kb.fold\(...\)"),
        (lambda: fold(threading.Lock(), max), "fold cannot copy its initial value.*kb.merge"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_made(make: Callable[[], Any], message: str) -> None:
    """With what to write in place of it [GRA-08]."""
    with pytest.raises(GraphError, match=message):
        make()


async def test_keys_that_cannot_be_compared_are_told() -> None:
    """With the branches and what to give [GRA-08]."""
    with pytest.raises(
        MergeError,
        match=r"The key of branch parks is None \(NoneType\), which cannot be compared with None of",
    ):
        await run_of(select_by_max(lambda output: None), BRANCHES)


class Ambiguous:
    """A key whose comparison is neither true nor false, as that of an array."""

    def __gt__(self, other: object) -> Ambiguous:
        return self

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


async def test_keys_whose_comparison_is_no_yes_or_no_are_told_as_well() -> None:
    """As with arrays, which compare item by item [GRA-08]."""
    with pytest.raises(
        MergeError, match=r"The key of branch parks is .* \(Ambiguous\), which cannot be compared"
    ):
        await run_of(select_by_max(lambda output: Ambiguous()), BRANCHES)


class Undecided(Merge, frozen=True, eq=False):
    """A merge of one's own that chooses nothing."""


async def test_a_merge_of_one_s_own_that_chooses_nothing_is_told() -> None:
    """With its class and the block [GRA-08]."""
    with pytest.raises(MergeError, match="Undecided does not say how it merges, in trip/research"):
        await run_of(Undecided(), BRANCHES)


@pytest.mark.parametrize(("count", "text"), [(0, ""), (5, "0; 1; 2; 3; 4"), (6, "0; 1; 2; 3; 4; and 1 more")])
def test_a_list_is_cut_where_it_is_longer_than_five(count: int, text: str) -> None:
    """One of exactly five has nothing more [GRA-08]."""
    assert first_few([str(number) for number in range(count)]) == text
