"""Prints koogbook's speed and size beside the least code that does the same, and beside its peers.

python tests/benchmarks/run.py [--runs 7] [--only prf-02] [--json]

Peers take part where they are installed: langgraph and langgraph-checkpoint-sqlite, apache-burr and aiosqlite,
pydantic-graph, aiorwlock. Absolute times are those of this machine at this moment; the ratios are what counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

import prf_01_import
import prf_02_steps
import prf_03_checkpoints
import prf_07_branches
import prf_08_diff
import prf_13_notebook
import prf_sessions
from harness import LEAST_ROUNDS, Table, as_data, machine, measure, print_machine, print_table

#: The statements that one measurement serves, and what makes its tables.
GROUPS: tuple[tuple[tuple[str, ...], Callable[[], Sequence[Table]]], ...] = (
    (("PRF-01",), lambda: [prf_01_import.table()]),
    (("PRF-02",), lambda: [prf_02_steps.table()]),
    (("BUILD",), lambda: [prf_02_steps.build_table()]),
    (("PRF-03", "PRF-04"), prf_03_checkpoints.tables),
    (("PRF-07",), lambda: [prf_07_branches.table()]),
    (("PRF-08",), lambda: [prf_08_diff.table()]),
    (("PRF-13",), prf_13_notebook.tables),
    (("SES-SPEED",), lambda: [prf_sessions.table()]),
)


def main() -> None:
    known = [statement for statements, _ in GROUPS for statement in statements]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", type=int, default=LEAST_ROUNDS, help="rounds that count (default: %(default)s)"
    )
    parser.add_argument(
        "--only", type=str.upper, choices=known, action="append", help="a statement; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="plain data, every round of every case")
    asked = parser.parse_args()
    wanted = asked.only or known
    results: list[dict[str, Any]] = []
    if not asked.json:
        print_machine()
    for statements, make in GROUPS:
        if not set(statements) & set(wanted):
            continue
        tables = make()
        if not tables:
            continue
        rows = measure(tables[0].cases, asked.runs)
        for table in tables:
            if table.statement in wanted:
                if asked.json:
                    results.append(as_data(table, rows))
                else:
                    print_table(table, rows)
    if asked.json:
        print(json.dumps({"machine": machine(), "rounds": asked.runs, "tables": results}, indent=1))


if __name__ == "__main__":
    main()
