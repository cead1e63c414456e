"""Measuring cases side by side, and printing what came out.

All cases of a table run in turn (A B C A B C ...), so that a busy machine slows each of them alike and the ratios
stay true. Each round starts with a collected heap, and the first round is thrown away.
"""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import os
import platform
import sqlite3
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

LEAST_ROUNDS = 7

Role = Literal["koogbook", "floor", "peer"]
Measures = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One thing to measure; ``run`` does the work once and gives what it measured, ``seconds`` among it.

    ``floor`` names the case that it is compared with, where that is not the table's first floor.
    """

    name: str
    role: Role
    run: Callable[[], Measures]
    floor: str = ""


@dataclass(frozen=True)
class Bound:
    """``case`` may have at most ``limit`` times the measure of ``over``."""

    case: str
    over: str
    limit: float
    measure: str = "seconds"
    text: str = ""


@dataclass(frozen=True)
class Column:
    """A measure as a column of the table, shown divided by ``unit``."""

    measure: str
    title: str
    unit: float = 1.0
    digits: int = 3


@dataclass
class Row:
    """The rounds of one case, or why a peer could not do it."""

    case: Case
    rounds: list[Measures] = field(default_factory=list)
    failure: str = ""

    def values(self, measure: str) -> list[float]:
        return [one[measure] for one in self.rounds if measure in one]

    def median(self, measure: str) -> float | None:
        values = self.values(measure)
        return statistics.median(values) if values else None


Rows = dict[str, Row]


@dataclass(frozen=True)
class Table:
    """What one statement is measured by. ``facts`` give lines of their own, each with whether it holds."""

    statement: str
    title: str
    cases: Sequence[Case]
    columns: Sequence[Column]
    bounds: Sequence[Bound]
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()
    facts: Callable[[Rows], Sequence[tuple[str, bool]]] = lambda rows: ()


def measure(cases: Sequence[Case], rounds: int) -> Rows:
    """Run all cases in turn: one round to warm up, then ``rounds`` that count."""
    rows = {case.name: Row(case) for case in cases}
    for round_number in range(rounds + 1):
        for row in rows.values():
            if row.failure:
                continue
            gc.collect()
            try:
                measured = row.case.run()
            except Exception as problem:
                if row.case.role != "peer":
                    raise
                row.failure = f"{type(problem).__name__}: {str(problem)[:160]}"
                continue
            if round_number:
                row.rounds.append(measured)
    return rows


def is_installed(*modules: str) -> bool:
    """Whether all of these can be imported; they are not, beyond their parent packages."""
    for module in modules:
        try:
            if importlib.util.find_spec(module) is None:
                return False
        except ModuleNotFoundError:
            return False
    return True


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    versions: dict[str, str] = {}
    for name in ("koogbook", "langgraph", "langgraph-checkpoint-sqlite", "apache-burr", "pydantic-graph"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.release()}",
        "cores": os.cpu_count(),
        "versions": versions,
    }


def print_machine() -> None:
    here = machine()
    versions = ", ".join(f"{name} {version}" for name, version in here["versions"].items())
    print(
        f"Python {here['python']}, SQLite {here['sqlite']}, {here['system']}, {here['cores']} cores; {versions}"
    )


def print_table(table: Table, rows: Rows) -> None:
    """Median [lowest..highest] of each case, the ratios, and each bound with whether it was met."""
    first_own = next(case.name for case in table.cases if case.role == "koogbook")
    first_floor = next(case.name for case in table.cases if case.role == "floor")
    own_by_floor = {case.floor: case.name for case in table.cases if case.floor and case.role == "koogbook"}
    rounds = max(len(row.rounds) for row in rows.values())
    print(f"\n## {table.statement}: {table.title} (n = {rounds}, median [min..max])\n")
    first = table.columns[0].measure
    heads = ["case", *(column.title for column in table.columns), "x floor", "koogbook / this"]
    lines = [heads]
    for case in table.cases:
        row = rows[case.name]
        if row.failure:
            lines.append([case.name, f"failed: {row.failure}", *[""] * len(table.columns), ""])
            continue
        lines.append(
            [
                case.name,
                *(_cell(row, column) for column in table.columns),
                _times(ratio(rows, case.name, case.floor or first_floor, first)),
                ""
                if case.role == "koogbook"
                else _times(ratio(rows, own_by_floor.get(case.name, first_own), case.name, first)),
            ]
        )
    lines.extend([name, "not installed", *[""] * len(table.columns), ""] for name in table.missing)
    widths = [max(len(line[at]) for line in lines if len(line) > at) for at in range(len(heads))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print()
    for bound in table.bounds:
        print(f"  {_verdict(bound, rows)}")
    for text, holds in table.facts(rows):
        print(f"  {text}: {'met' if holds else 'missed'}")
    for note in table.notes:
        print(f"  Note: {note}")
    sys.stdout.flush()


def as_data(table: Table, rows: Rows) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "statement": table.statement,
        "title": table.title,
        "cases": [
            {"name": case.name, "role": case.role, "rounds": rows[case.name].rounds}
            | ({"failure": rows[case.name].failure} if rows[case.name].failure else {})
            for case in table.cases
        ],
        "bounds": [
            {
                "case": bound.case,
                "over": bound.over,
                "measure": bound.measure,
                "ratio": (found := ratio(rows, bound.case, bound.over, bound.measure)),
                "limit": bound.limit,
                "met": None if found is None else found <= bound.limit,
            }
            for bound in table.bounds
        ],
        "facts": [{"text": text, "met": holds} for text, holds in table.facts(rows)],
        "not installed": list(table.missing),
        "notes": list(table.notes),
    }


def ratio(rows: Rows, case: str, over: str, measured: str) -> float | None:
    """Median over median; None where one of them is missing."""
    if case not in rows or over not in rows:
        return None
    above, below = rows[case].median(measured), rows[over].median(measured)
    return above / below if above is not None and below else None


def _cell(row: Row, column: Column) -> str:
    values = row.values(column.measure)
    if not values:
        return "-"
    low, middle, high = (
        f"{value / column.unit:,.{column.digits}f}"
        for value in (min(values), statistics.median(values), max(values))
    )
    return middle if low == high else f"{middle} [{low}..{high}]"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _verdict(bound: Bound, rows: Rows) -> str:
    what = bound.text or f"{bound.case} / {bound.over}"
    found = ratio(rows, bound.case, bound.over, bound.measure)
    if found is None:
        return f"{what}: not measured (bound <= {bound.limit:.3g}x)"
    return f"{what}: {found:.3g}x (bound <= {bound.limit:.3g}x) {'met' if found <= bound.limit else 'missed'}"
