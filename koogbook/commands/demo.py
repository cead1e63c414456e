"""``koogbook demo``: replay a conversation and write a page about it."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from koogbook.commands.terminal import on_one_line


def add(commands: Any) -> None:
    """Say what the command takes."""
    demo = commands.add_parser(
        "demo", help="replay a conversation through a strategy and write a page about it"
    )
    demo.add_argument(
        "file",
        nargs="?",
        help="a conversation as JSON or JSONL, in any format that is read (default: the sample that comes along)",
    )
    demo.add_argument(
        "--index", type=_from_zero, default=0, metavar="N", help="which conversation of the file, from 0"
    )
    demo.add_argument(
        "--budget", type=_from_one, metavar="TOKENS", help="tokens over which the history is compressed"
    )
    demo.add_argument(
        "--keep",
        type=_fact,
        action="append",
        default=[],
        metavar="TEXT",
        help="a fact that must survive (repeatable)",
    )
    demo.add_argument(
        "--most",
        type=_from_one,
        metavar="N",
        help="the longest conversation that is replayed, in messages (default: 2000)",
    )
    demo.add_argument(
        "--folder", default=".koogbook/demo", help="where a fresh folder is made (default: %(default)s)"
    )
    demo.set_defaults(run=_demo)


def _from_zero(text: str) -> int:
    return _whole_number(text, 0)


def _from_one(text: str) -> int:
    return _whole_number(text, 1)


def _whole_number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
    return number


def _fact(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty text stands in every message and is no fact")
    return text


def _demo(chosen: argparse.Namespace) -> int:
    from koogbook.demo import MOST_MESSAGES, run_demo

    made = asyncio.run(
        run_demo(
            chosen.file,
            index=chosen.index,
            folder=chosen.folder,
            budget=chosen.budget,
            must_keep=chosen.keep,
            most=chosen.most or MOST_MESSAGES,
        )
    )
    print(made.transcript)
    for defect in made.transcript.defects:
        kind = "repair" if defect.kind == "repaired" else "defect"
        print(f"  {kind} at {on_one_line(str(defect))}")
    print()
    print(made.run.report())
    print()
    print(made.fork.report())
    print()
    for lost in made.lost_facts():
        print(f"! {on_one_line(lost)}")
    print(f"Page:        {made.page}")
    print(f"Checkpoints: {made.database}")
    return 0
