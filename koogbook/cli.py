"""The command ``koogbook``."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from koogbook.commands import check, demo, freeze, lab
from koogbook.commands.terminal import on_one_line
from koogbook.errors import KoogbookError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Gives the exit code: 0 when it worked, 1 when ``check`` or ``freeze --check`` found something, 2 for bad input, 130
    when it was stopped by Ctrl-C.

    Raises:
        SystemExit: With code 2 after a message, when the arguments cannot be used; with 0 after ``--help``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file may hold what a terminal cannot show
    given = list(sys.argv[1:] if arguments is None else arguments)
    own, passed_on = lab.parted(given) if given[:1] == ["lab"] else (given, [])
    chosen = _parser().parse_args(own, argparse.Namespace(passed_on=passed_on))
    try:
        code: int = chosen.run(chosen)
        return code
    except (KoogbookError, OSError) as problem:
        print(f"koogbook: {on_one_line(str(problem))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("koogbook: stopped before the end", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="koogbook", description="See what sessions, compression and checkpoints do."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in (lab, demo, check, freeze):
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
