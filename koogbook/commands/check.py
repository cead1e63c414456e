"""``koogbook check``: whether koogbook works here, and what to do where it does not."""

from __future__ import annotations

import argparse
import json
from typing import Any

from koogbook.commands.terminal import on_one_line


def add(commands: Any) -> None:
    """Say what the command takes."""
    check = commands.add_parser(
        "check",
        help="look whether kernel, widgets, browser and stores work here",
        description="Look whether kernel, widgets, browser and stores work in this folder with this Python. Nothing is "
        "changed or left behind. Exit code 1 when something failed.",
    )
    check.add_argument(
        "--browser", action="store_true", help="start the browser, too, and open a page of a view"
    )
    check.add_argument("--json", action="store_true", help="print the findings as JSON")
    check.set_defaults(run=_check)


def _check(chosen: argparse.Namespace) -> int:
    import msgspec

    from koogbook.notebook.self_check.run import findings

    found = list(findings(start_browser=chosen.browser))
    if chosen.json:
        print(json.dumps(msgspec.to_builtins(found), indent=1))
    else:
        width = max(len(finding.name) for finding in found)
        for finding in found:
            print(f"{finding.state:<7}  {finding.name:<{width}}  {on_one_line(finding.seen)}")
            if finding.remedy:
                print(f"{'':<7}  {'':<{width}}  -> {on_one_line(finding.remedy)}")
        states = [finding.state for finding in found]
        counts = [
            f"{states.count(state)} {state}"
            for state in ("ok", "warning", "failed", "skipped")
            if state in states
        ]
        print(", ".join(counts))
    return int(any(finding.state == "failed" for finding in found))
