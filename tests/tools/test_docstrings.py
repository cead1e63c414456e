"""A docstring in any of the three common styles describes a tool and its parameters."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import Field

import koogbook as kb


def google(city: str, days: int = 1) -> str:
    """The weather of a city.

    Measured at noon: never earlier.

    Args:
        city (str): Where it is,
            in full.
        days: How many: at most 3.

    Returns:
        The weather.

    Raises:
        ValueError: Never.
    """
    return city


def numpy(city: str, days: int = 1) -> str:
    """The weather of a city.

    Measured at noon: never earlier.

    Parameters
    ----------
    city : str
        Where it is,
        in full.
    days : int, optional
        How many: at most 3.

    Returns:
    -------
    str
        The weather.
    """
    return city


def rest(city: str, days: int = 1) -> str:
    """The weather of a city.

    Measured at noon: never earlier.

    :param city: Where it is,
        in full.
    :param int days: How many: at most 3.
    :returns: The weather.
    """
    return city


def _texts(function: Any) -> dict[str, Any]:
    properties = json.loads(kb.Tool(function).spec.parameters)["properties"]
    return {name: one.get("description") for name, one in properties.items()}


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_the_sections_are_not_part_of_the_description(function: Any) -> None:
    """The first line and the text below it are [AGT-05]."""
    description = kb.Tool(function).spec.description

    assert description == "The weather of a city.\n\nMeasured at noon: never earlier."


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_each_parameter_has_its_text(function: Any) -> None:
    """In every style [AGT-05]."""
    assert _texts(function) == {"city": "Where it is,\nin full.", "days": "How many: at most 3."}


def test_one_text_may_be_for_two_parameters() -> None:
    """As NumPy writes it [AGT-05]."""

    def go(x: int, y: int) -> None:
        """Go.

        Parameters
        ----------
        x, y : int
            Steps.
        """

    assert _texts(go) == {"x": "Steps.", "y": "Steps."}


def test_an_annotation_says_more_than_the_docstring() -> None:
    """A Field before a plain string, both before the docstring [AGT-05]."""

    def go(
        a: Annotated[int, "plain"], b: Annotated[int, "plain", Field(description="field")], c: int, d: int
    ) -> None:
        """Go.

        Args:
            a: docstring
            b: docstring
            c: docstring
        """

    assert _texts(go) == {"a": "plain", "b": "field", "c": "docstring", "d": None}


@pytest.mark.parametrize(
    "text",
    [
        "One line.",
        "Say: go on\n\nNote: nothing follows.",
        "Use :role:`words` freely.",
        "A list:\n\n- one\n- two",
    ],
)
def test_a_text_without_sections_is_the_description(text: str) -> None:
    """Whole, also with colons in it [AGT-05]."""

    def go(city: str) -> None: ...

    go.__doc__ = text

    assert kb.Tool(go).spec.description == text


@pytest.mark.parametrize(
    "text", ["Args:", "Go.\n\nArgs:\n", ":nonsense", "Parameters\n----------", "\0", "@param"]
)
def test_a_broken_docstring_is_no_obstacle(text: str) -> None:
    """A tool is made of it all the same [AGT-05]."""

    def go(city: str) -> None: ...

    go.__doc__ = text

    assert _texts(go) == {"city": None}


def test_a_function_without_a_docstring_has_no_description() -> None:
    """Nothing is made up [AGT-05]."""

    class Silent:
        def __call__(self, city: str) -> None: ...

    Silent.__doc__ = None

    assert kb.Tool(Silent(), name="silent").spec.description == ""
    assert kb.Tool(lambda: None, name="silent").spec.description == ""
