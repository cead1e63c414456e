"""The command ``koogbook``."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from koogbook.errors import KoogbookError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code: 0 when it worked, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="koogbook", description="See what sessions, compression and checkpoints do."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="replay a conversation through a strategy and write a page about it"
    )
    demo.add_argument(
        "file", nargs="?", help="OpenAI chat as JSON or JSONL (default: the sample that comes along)"
    )
    demo.add_argument("--index", type=int, default=0, help="which conversation of the file, from 0")
    demo.add_argument("--budget", type=int, help="tokens over which the history is compressed")
    demo.add_argument(
        "--keep", action="append", default=[], metavar="TEXT", help="a fact that must survive (repeatable)"
    )
    demo.add_argument(
        "--folder", default=".koogbook/demo", help="where a fresh folder is made (default: %(default)s)"
    )
    chosen = parser.parse_args(arguments)
    try:
        return _demo(chosen)
    except (KoogbookError, OSError) as problem:
        print(f"koogbook: {problem}", file=sys.stderr)
        return 2


def _demo(chosen: argparse.Namespace) -> int:
    from koogbook.demo import run_demo

    made = asyncio.run(
        run_demo(
            chosen.file, index=chosen.index, folder=chosen.folder, budget=chosen.budget, must_keep=chosen.keep
        )
    )
    print(made.transcript)
    for defect in made.transcript.defects:
        print(f"  defect at {defect}")
    print()
    print(made.run.report())
    print()
    print(made.fork.report())
    print()
    print(f"Page:        {made.page}")
    print(f"Checkpoints: {made.database}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
