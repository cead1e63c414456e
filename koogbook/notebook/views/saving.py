"""What a view gives, as a file: it is there whole, or as it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from koogbook.errors import TraceError, ViewError
from koogbook.trace.files import not_written, replaced, require_file, target_of


def target_with_suffix(function: str, path: str | Path, suffixes: Sequence[str], writes: str) -> Path:
    """The path of a file to write, whose suffix says what is in it; ``writes`` says so for the message.

    Raises:
        TypeError: It is no path.
        ViewError: It is empty, or has another suffix.
    """
    try:
        target = target_of(function, path, "Nothing was written.")
    except TraceError as problem:
        raise ViewError(str(problem)) from problem
    suffix = target.suffix.casefold()
    if suffix not in suffixes:
        raise ViewError(
            f"{function} tells by the suffix what to write, and {target.name!r:.80} has {suffix or 'none'!r:.20}. "
            f"Nothing was written. {writes}"
        )
    return target


def require_folder(target: Path) -> None:
    """Refuse a path in a folder that is not there.

    Raises:
        ViewError: There is none.
    """
    if not target.parent.is_dir():
        raise ViewError(
            f"There is no folder {str(target.parent)!r:.200} to write {target.name!r:.80} to. Nothing was written. "
            "Make it first: pathlib.Path(...).mkdir(parents=True)."
        )


def write(target: Path, body: bytes) -> Path:
    """Write a file; what is there already is replaced, of a link what it points to.

    Raises:
        ViewError: It is no regular file, or cannot be written; nothing was written.
    """
    require_folder(target)
    try:
        try:
            require_file(target)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as problem:
            if isinstance(problem, TraceError):
                raise
            raise not_written(target, problem) from problem
        with replaced(target) as file:
            file.write(body)
    except TraceError as problem:
        raise ViewError(str(problem)) from problem
    return target
