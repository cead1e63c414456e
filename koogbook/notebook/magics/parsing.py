"""A magic's line taken apart by the table."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from typing import Any, NoReturn

from koogbook.notebook.magics.magic import Argument, Flag, Magic
from koogbook.notebook.magics.wrong_use import WrongUse, listed, nearest

_FLAG = re.compile(r"--?[^\W\d]")


class Given:
    """What stands in the line of a magic: arguments and flags by the names that the table has for them."""

    def __init__(self, magic: Magic, values: dict[str, Any]) -> None:
        self.magic = magic
        self._values = values

    def text(self, name: str) -> str | None:
        """A value as it was written; None where it was not."""
        value: str | None = self._values.get(name)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """The values of something that can be given several times."""
        return tuple(self._values.get(name) or ())

    def switch(self, name: str) -> bool:
        """Whether a switch is on."""
        return bool(self._values.get(name))

    def number(self, name: str) -> int | None:
        """A whole number from 1 on.

        Raises:
            WrongUse: It is none.
        """
        text = self.text(name)
        if text is None:
            return None
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise WrongUse(f"{name} is a whole number from 1 on, not {text!r}.")
        return int(text)


def wants_help(line: str) -> bool:
    """Whether ``--help`` is among the words, whatever else is wrong with the line."""
    try:
        return "--help" in shlex.split(line)
    except ValueError:
        return "--help" in line.split()


def parse(magic: Magic, line: str) -> Given:
    """Take the line of a magic apart.

    Raises:
        WrongUse: An open quotation mark, an unknown flag, a value too many or missing; with the nearest flag.
    """
    values, words = _Parser(magic).parse(_words(line))
    values.update(_by_place(magic, words))
    return Given(magic, values)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as problem:
        raise WrongUse(
            f"A quotation mark or backslash is left open ({str(problem).lower()}).",
            'Put what has spaces or an apostrophe into double quotes: "don\'t stop".',
        ) from None


class _Parser(argparse.ArgumentParser):
    """The flags of one magic. What has its place and no name is left over, and given out by :func:`_by_place`."""

    def __init__(self, magic: Magic) -> None:
        super().__init__(prog=magic.sign, add_help=False, allow_abbrev=False)
        self._magic = magic
        for flag in magic.flags:
            self._add(flag)

    def parse(self, words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """The values of the flags, and the other words."""
        found, others = self.parse_known_args(words)
        unknown = next((word for word in others if _FLAG.match(word)), None)
        if unknown is not None:
            raise self._no_flag(unknown.partition("=")[0])
        return vars(found), [word for word in others if word != "--"]

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong with a flag."""
        what = message.removeprefix("argument ")
        missing = "expected one argument" in what
        raise WrongUse(
            f"{what.partition(':')[0]} needs a value." if missing else f"{what[:1].upper()}{what[1:]}.",
            f"A value that begins with - is written {what.partition(':')[0]}=-1." if missing else "",
        )

    def _add(self, flag: Flag) -> None:
        if flag.kind == "switch":
            self.add_argument(flag.name, dest=flag.name, action="store_true")
        elif flag.repeatable:
            self.add_argument(flag.name, dest=flag.name, action="append")
        else:
            self.add_argument(flag.name, dest=flag.name, action=_Once)

    def _no_flag(self, unknown: str) -> WrongUse:
        known = [flag.name for flag in self._magic.flags]
        flags = f"It has {listed(known, len(known))}." if known else "It has none but --help."
        return WrongUse(f"There is no flag {unknown}.", f"{nearest(unknown, [*known, '--help'])} {flags}")


class _Once(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keep the value; a second one is refused, since one of them would be lost."""
        if getattr(namespace, self.dest) is not None:
            raise WrongUse(f"{self.dest} stands there twice.", "Leave one of them out.")
        setattr(namespace, self.dest, values)


def _by_place(magic: Magic, words: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    left = list(words)
    for argument in magic.arguments:
        if argument.many:
            values[argument.name], left = left, []
        elif left:
            values[argument.name] = left.pop(0)
        if argument.required and not values.get(argument.name):
            raise _missing(magic, argument)
    if left:
        places = listed((argument.name for argument in magic.arguments), 9) or "no value without a flag"
        raise WrongUse(
            f"{left[0]!r} is one value too many; it takes {places}.",
            "Put what has spaces into double quotes.",
        )
    return values


def _missing(magic: Magic, argument: Argument) -> WrongUse:
    example = magic.example.partition("\n")[0]
    return WrongUse(f"{argument.name} is missing: {argument.help}.", f"Write, for example: {example}")
