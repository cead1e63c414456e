"""What is said to somebody who wrote a magic that cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class WrongUse(Exception):
    """A magic cannot do what it was told: what is wrong, and what to write instead. It becomes one line."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy

    def line(self, sign: str) -> str:
        """The whole message of the magic ``sign``."""
        told = "" if "Nothing was changed" in self.what else "Nothing was changed."
        return one_line(f"{sign}: {self.what} {told} {self.remedy}")


def one_line(text: str) -> str:
    """A text with its line breaks and indents as single spaces."""
    return " ".join(text.split())


def nearest(given: str, known: Iterable[str]) -> str:
    """``Did you mean 'prepare'?``, or nothing where nothing is near."""
    names = list(dict.fromkeys(known))
    near = get_close_matches(given, names, n=1)
    if not near:
        lower = {name.lower(): name for name in reversed(names)}
        near = [lower[name] for name in get_close_matches(given.lower(), lower, n=1)]
    return f"Did you mean {near[0]!r}?" if near else ""


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names in a row, the first of them where there are many."""
    all_names = list(names)
    more = f" and {len(all_names) - most} more" if len(all_names) > most else ""
    return ", ".join(all_names[:most]) + more
