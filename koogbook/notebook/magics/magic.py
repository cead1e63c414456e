"""What a magic is: its name, its arguments and its flags."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

#: How a magic is written: ``%name``, ``%%name`` with a body, or either.
Form = Literal["line", "cell", "both"]

#: What a value names, for completion and for the nearest valid one.
Kind = Literal[
    "agent",
    "checkpoint",
    "expression",
    "history",
    "layer",
    "new",
    "node",
    "number",
    "run",
    "session",
    "strategy",
    "subject",
    "switch",
    "text",
    "variables",
    "words",
]


class Argument(Struct, frozen=True, kw_only=True):
    """A value by its place; ``many`` takes the rest of the line."""

    name: str
    kind: Kind
    help: str
    required: bool = False
    default: str = ""
    many: bool = False


class Flag(Struct, frozen=True, kw_only=True):
    """A value by its name; a ``switch`` has no value. ``words`` are those it knows beside the user's own."""

    name: str
    kind: Kind
    help: str
    value: str = ""
    words: tuple[str, ...] = ()
    repeatable: bool = False
    default: str = ""


class Magic(Struct, frozen=True, kw_only=True):
    """One magic; ``call`` is what it does in plain Python, ``first`` marks those that are taught first.

    ``awaits`` says that the cell awaits it; such a magic stands alone in its line.
    """

    name: str
    form: Form
    help: str
    example: str
    call: str
    arguments: tuple[Argument, ...] = ()
    flags: tuple[Flag, ...] = ()
    first: bool = False
    awaits: bool = False

    @property
    def sign(self) -> str:
        """The name as it is mostly written, with its signs."""
        return f"{'%' if self.form == 'line' else '%%'}{self.name}"
