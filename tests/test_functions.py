"""What is told of functions that a user hands over."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from koogbook.functions import annotated, is_async, is_new_version, is_same_function


class Shout:
    """A callable object."""

    def __call__(self, text: str) -> str:
        """Annotations of its own."""
        return text.upper()


class Ask:
    """An async callable object."""

    async def __call__(self, text: str) -> str:
        """Annotations of its own."""
        return text


def plain(text: str) -> str:
    """A plain function."""
    return text


async def later(text: str) -> str:
    """An async function."""
    return text


@pytest.mark.parametrize(
    ("function", "expected"),
    [(plain, False), (later, True), (partial(later), True), (Shout(), False), (Ask(), True), (Ask, False)],
    ids=["plain", "async", "partial", "object", "async object", "class"],
)
def test_async_is_what_gives_a_coroutine(function: Any, expected: bool) -> None:
    """A class gives an object, whatever that object does when it is called."""
    assert is_async(function) is expected


@pytest.mark.parametrize(
    ("function", "carrier"),
    [(plain, plain), (partial(partial(plain)), plain), (Shout(), Shout.__call__), (Shout, Shout)],
    ids=["function", "partial", "object", "class"],
)
def test_annotations_are_where_they_were_written(function: Any, carrier: Any) -> None:
    """Partials and objects hand on what is inside them."""
    assert annotated(function) is carrier


def _adds(number: Any) -> Any:
    return lambda value: value + number


def _later_bound() -> Any:
    function = lambda value: value + number  # noqa: E731
    if False:
        number = 1
    return function


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (plain, plain),
        (_adds(1), _adds(1)),
        (lambda value: [one + 1 for one in value], lambda value: [one + 1 for one in value]),
        (partial(plain, "x"), partial(plain, "x")),
        (partial(_adds(1), 2), partial(_adds(1), 2)),
        ("x".join, "x".join),
    ],
    ids=["itself", "enclosed", "nested code", "partial", "partial of equals", "method"],
)
def test_functions_of_the_same_code_and_values_are_the_same(one: Any, other: Any) -> None:
    """Where they stand does not matter."""
    assert is_same_function(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda value: value > 1, lambda value: value > 2),
        (lambda value: value.start, lambda value: value.end),
        (lambda value: value == 1, lambda value: value == True),  # noqa: E712
        (_adds(1), _adds(2)),
        (lambda value, by=1: value + by, lambda value, by=2: value + by),
        (partial(plain, "x"), partial(plain, "y")),
        (_later_bound(), _later_bound()),
        (Shout(), Shout()),
        (plain, later),
    ],
    ids=["constant", "name", "type", "enclosed", "default", "partial", "empty cell", "object", "function"],
)
def test_what_could_do_something_else_is_another_function(one: Any, other: Any) -> None:
    """In doubt they are different."""
    assert not is_same_function(one, other)


def test_values_that_cannot_be_compared_make_different_functions() -> None:
    """An array has no single answer."""

    class Many:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise ValueError("ambiguous")

    assert not is_same_function(_adds(Many()), _adds(Many()))


def test_a_def_with_another_body_is_a_new_version() -> None:
    """Its name and module are the same."""

    def check(value: int) -> bool:
        return value > 1

    before = check

    def check(value: int) -> bool:  # type: ignore[no-redef]
        return value > 2

    assert is_new_version(before, check)


@pytest.mark.parametrize(
    ("before", "now"),
    [(_adds(1), _adds(2)), (plain, later), (lambda value: 1, lambda value: 2), (Shout(), Shout())],
    ids=["factory", "other name", "lambda", "object"],
)
def test_nothing_else_is_a_new_version(before: Any, now: Any) -> None:
    """Two functions of one factory least of all: both are meant."""
    assert not is_new_version(before, now)
