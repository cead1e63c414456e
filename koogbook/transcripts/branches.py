"""The line of a tree that was asked for, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from koogbook.errors import TranscriptError
from koogbook.transcripts.transcript import preview
from koogbook.transcripts.trees import Line, Node, line_to


def chosen_line(nodes: Sequence[Node], end: str, branch: str | None) -> Line:
    """The line to ``end``, or the one that ``branch`` names.

    ``branch`` is the number of a branch of the main line, from 1, or the id of a node: then the line goes through it
    and, where it is on a branch, to the end of that.

    Raises:
        TranscriptError: There is no such branch; or see :func:`koogbook.transcripts.trees.line_to`.
    """
    main = line_to(nodes, end)
    if branch is None or branch in main.ids:
        return main
    for number, one in enumerate(main.branches, start=1):
        if branch == str(number) or branch in one.ids:
            return line_to(nodes, one.end)
    return line_to(nodes, branch)


def no_branches(where: str) -> TranscriptError:
    """The error for a branch that was asked for where there can be none."""
    return TranscriptError(
        f"{where} is no tree, and has no branches. Nothing was loaded. Leave out branch=, or check index=."
    )


def about_branch(
    ids: Sequence[str], fork: str | None, is_message: Callable[[str], bool], words: Callable[[str], str]
) -> str:
    """One sentence on a branch: where it leaves, how long it is, how it begins, and how it is loaded."""
    said = [own for own in ids if is_message(own)]
    count = "1 message" if len(said) == 1 else f"{len(said):,} messages"
    begins = f", {preview(words(said[0]))!r}" if said else ""
    after = "with a beginning of its own" if fork is None else f"after {preview(fork)!r}"
    return f"another branch {after}: {count}{begins}; load it with branch={ids[-1]!r}"
