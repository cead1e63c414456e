"""The filter of a table of checkpoints: words and conditions on its columns, all of which must hold.

A word stands in the id, the session or the path of the node. A condition names a column: ``node:verify`` holds where
the text stands in it, ``node=verify`` where it is all of it; numbers and times take ``<``, ``<=``, ``>``, ``>=`` and
``=``. What has a blank or a sign of these in it goes into double quotes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time
from difflib import get_close_matches
from typing import Any

from koogbook.errors import ViewError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.judging import WORDS, RowWord

#: Says of a checkpoint and of its verdict whether it passes.
Test = Callable[[CheckpointInfo, RowWord], bool]

_PIECE = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_CONDITION = re.compile(r"([A-Za-z_]+)(<=|>=|[:=<>])(.*)", re.DOTALL)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    ":": operator.eq,
}
_TEXTS: dict[str, Callable[[CheckpointInfo], str]] = {
    "id": lambda info: info.id,
    "session": lambda info: info.session_id,
    "node": lambda info: info.path,
    "kind": lambda info: info.kind,
    "parent": lambda info: info.parent or "none",
    "agent": lambda info: info.agent_id,
    "run": lambda info: info.run_id,
}
_NUMBERS: dict[str, Callable[[CheckpointInfo], int]] = {
    "version": operator.attrgetter("version"),
    "messages": operator.attrgetter("messages"),
    "tokens": operator.attrgetter("tokens"),
    "new": operator.attrgetter("bytes"),
    "iterations": operator.attrgetter("iterations"),
}
_SHORT = {"ver": "version", "msgs": "messages", "bytes": "new"}
#: The columns that a condition can name.
FILTER_COLUMNS = (*_TEXTS, "time", "verdict", *_NUMBERS)
_UNCHANGED = "The table shows what it showed."


def read_filter(text: str) -> tuple[Test, ...]:
    """The tests that a checkpoint must pass; none for an empty text.

    Raises:
        ViewError: A column that is not there, or a value that does not fit its column.
    """
    return tuple(_test(piece) for piece in _PIECE.findall(text))


def _test(piece: str) -> Test:
    found = _CONDITION.fullmatch(piece)
    if found is None:
        return _word(piece.replace('"', "").casefold())
    name, sign, value = found.group(1).lower(), found.group(2), found.group(3).replace('"', "")
    name = _SHORT.get(name, name)
    if name in _NUMBERS:
        return _number(name, sign, value)
    if name == "time":
        return _time(sign, value)
    if name not in FILTER_COLUMNS:
        raise ViewError(_no_such_column(name, piece))
    if sign not in ":=":
        raise ViewError(
            f"{name} is a text and has no {sign!r}. {_UNCHANGED} Write {name}:{value} for what it holds, "
            f"{name}={value} for what it is."
        )
    if name == "verdict":
        return _verdict(value.casefold())
    get, wanted = _TEXTS[name], value.casefold()
    if sign == "=":
        return lambda info, word: get(info).casefold() == wanted
    return lambda info, word: wanted in get(info).casefold()


def _word(wanted: str) -> Test:
    return lambda info, word: (
        wanted in info.id.casefold() or wanted in info.session_id.casefold() or wanted in info.path.casefold()
    )


def _number(name: str, sign: str, value: str) -> Test:
    try:
        wanted = float(value.replace(",", "").replace("_", ""))
    except ValueError:
        raise ViewError(
            f"{name}{sign} takes a number, not {value!r}. {_UNCHANGED} Write, for example, {name}{sign}1000."
        ) from None
    get, holds = _NUMBERS[name], _ORDER[sign]
    return lambda info, word: holds(get(info), wanted)


def _time(sign: str, value: str) -> Test:
    if sign in ":=":
        return lambda info, word: value in f"{info.created:%Y-%m-%d %H:%M:%S}"
    holds = _ORDER[sign]
    try:
        if ":" in value and "-" not in value:
            clock = time.fromisoformat(value)
            return lambda info, word: holds(info.created.time(), clock)
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ViewError(
            f"time{sign} takes a day, an hour or both, not {value!r}. {_UNCHANGED} Write, for example, "
            f"time{sign}2026-06-02, time{sign}14:02 or time{sign}2026-06-02T14:02, in UTC."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return lambda info, word: holds(info.created, moment)


def _verdict(wanted: str) -> Test:
    """A whole word is that verdict alone: ``not resumable`` holds the other one."""
    if not any(wanted in word for word in WORDS):
        raise ViewError(f"No verdict is {wanted!r}. {_UNCHANGED} They are: {', '.join(WORDS)}.")
    if wanted in WORDS:
        return lambda info, word: word == wanted
    return lambda info, word: wanted in word


def _no_such_column(name: str, piece: str) -> str:
    near = get_close_matches(name, [*FILTER_COLUMNS, *_SHORT], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return (
        f"There is no column {name!r}.{hint} {_UNCHANGED} The columns are: {', '.join(FILTER_COLUMNS)}. "
        f'To look for the text itself, quote it: "{piece}".'
    )


def verdict_condition(word: str) -> str:
    """The condition that this verdict alone passes."""
    return f'verdict:"{word}"' if " " in word else f"verdict:{word}"


#: By what a table can be sorted, and what of a checkpoint that goes by.
SORT_COLUMNS: Mapping[str, Callable[[CheckpointInfo], Any]] = {
    "id": operator.attrgetter("id"),
    "session": operator.attrgetter("session_id"),
    "time": operator.attrgetter("created"),
    "node": operator.attrgetter("path"),
    "version": operator.attrgetter("version"),
    "messages": operator.attrgetter("messages"),
    "tokens": operator.attrgetter("tokens"),
    "new": operator.attrgetter("bytes"),
    "parent": lambda info: info.parent or "",
    "verdict": lambda info: 0,
}


def sort_column(name: str) -> str:
    """The column of this name.

    Raises:
        ViewError: There is none.
    """
    found = _SHORT.get(name, name)
    if found in SORT_COLUMNS:
        return found
    near = get_close_matches(name, SORT_COLUMNS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ViewError(
        f"The table cannot be sorted by {name!r}.{hint} {_UNCHANGED} It can by: {', '.join(SORT_COLUMNS)}."
    )
