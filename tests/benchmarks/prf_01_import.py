"""PRF-01: importing koogbook, as a whole process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness import Bound, Case, Column, Measures, Rows, Table
from peers import BURR, LANGGRAPH, PYDANTIC_GRAPH

OWN = "import koogbook"
USED = "import koogbook; Agent, strategy and SqliteCheckpoints used"
FLOOR = "asyncio + json + sqlite3 + dataclasses"
NOTHING = "an empty program"

#: Packages that `import koogbook` leaves alone.
HEAVY = ("pandas", "matplotlib", "networkx", "IPython", "numpy", "httpx", "pydantic")

_ROOT = str(Path(__file__).resolve().parents[2])


def table() -> Table:
    peers = (
        ("pydantic_graph", PYDANTIC_GRAPH, "import pydantic_graph"),
        ("burr.core", BURR, "from burr.core import ApplicationBuilder, State, action"),
        ("langgraph.graph", LANGGRAPH, "from langgraph.graph import StateGraph"),
    )
    return Table(
        statement="PRF-01",
        title="import, whole process",
        cases=[
            Case(OWN, "koogbook", _process("import koogbook")),
            Case(
                USED,
                "koogbook",
                _process("import koogbook; koogbook.Agent, koogbook.strategy, koogbook.SqliteCheckpoints"),
            ),
            Case(FLOOR, "floor", _process("import asyncio, json, sqlite3, dataclasses")),
            Case(NOTHING, "floor", _process("pass")),
            *(Case(name, "peer", _process(code)) for name, there, code in peers if there),
        ],
        columns=[Column("seconds", "ms", 1e-3, 1), Column("modules", "modules", digits=0)],
        bounds=[
            Bound(OWN, "pydantic_graph", 0.9),
            Bound(OWN, "langgraph.graph", 0.15),
            Bound(OWN, FLOOR, 1.5),
            Bound(USED, FLOOR, 1.5, text="with the names used, held to the same: / " + FLOOR),
            Bound(
                USED, "pydantic_graph", 0.9, text="with the names used, held to the same: / pydantic_graph"
            ),
            Bound(
                USED, "langgraph.graph", 0.15, text="with the names used, held to the same: / langgraph.graph"
            ),
        ],
        missing=[name for name, there, _ in peers if not there],
        notes=[
            "`import koogbook` loads one module; its names load what they need when they are first used, which the "
            "second row includes. The bounds are of the first row, as they are stated.",
        ],
        facts=_facts,
    )


def _facts(rows: Rows) -> list[tuple[str, bool]]:
    after_import = _heavy_after("import koogbook")
    after_use = _heavy_after("import koogbook; koogbook.Agent, koogbook.strategy, koogbook.SqliteCheckpoints")
    return [
        (f"none of {', '.join(HEAVY)} after {OWN} ({after_import or 'none'})", not after_import),
        (f"none of them after the names were used ({after_use or 'none'})", not after_use),
    ]


def _heavy_after(code: str) -> str:
    return _run(f"{code}; import sys; print(*[name for name in {HEAVY!r} if name in sys.modules])").strip()


def _process(code: str) -> Callable[[], Measures]:
    def run() -> Measures:
        started = time.perf_counter()
        modules = _run(f"{code}; import sys; print(len(sys.modules))")
        return {"seconds": time.perf_counter() - started, "modules": float(modules)}

    return run


def _run(code: str) -> str:
    # The warning filter of a test run, or a PYTHONPATH of the caller, would be part of the figure.
    environment = {**os.environ, "PYTHONPATH": _ROOT}
    environment.pop("PYTHONWARNINGS", None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"`{code}` failed: {done.stderr.strip()[-300:]}")
    return done.stdout
