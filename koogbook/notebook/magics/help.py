"""What ``%koog_x?`` and ``%koog_x --help`` say, made from the table."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent, wrap

from koogbook.notebook.magics.magic import Argument, Flag, Magic

_WIDTH = 88


def help_text(magic: Magic) -> str:
    """How a magic is written, what it does, and the same in plain Python."""
    rows = [*map(_argument_row, magic.arguments), *map(_flag_row, magic.flags)]
    rows.append(("--help", "show this"))
    parts = [
        "\n".join(_usages(magic)),
        magic.help,
        "\n".join(_table(rows)),
        "Example:\n" + indent(magic.example, "    "),
        "In Python:\n" + indent(magic.call, "    "),
    ]
    return "\n\n".join(parts)


def _usages(magic: Magic) -> Iterator[str]:
    signs = {"line": ("%",), "cell": ("%%",), "both": ("%%", "%")}[magic.form]
    arguments = [
        argument.name + (" ..." if argument.many else "")
        if argument.required
        else f"[{argument.name}{f'={argument.default}' if argument.default.isidentifier() else ''}]"
        for argument in magic.arguments
    ]
    flags = [f"[{_with_value(flag)}]{'...' if flag.repeatable else ''}" for flag in magic.flags]
    words = " ".join([*arguments, *flags])
    for sign in signs:
        yield from wrap(
            f"{sign}{magic.name} {words}".rstrip(),
            _WIDTH,
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _with_value(flag: Flag) -> str:
    return f"{flag.name} {flag.value}".rstrip()


def _argument_row(argument: Argument) -> tuple[str, str]:
    return argument.name, argument.help + _default(argument.default)


def _flag_row(flag: Flag) -> tuple[str, str]:
    repeatable = " (repeatable)" if flag.repeatable else ""
    return _with_value(flag), flag.help + repeatable + _default(flag.default)


def _default(text: str) -> str:
    return f" (default: {text})" if text else ""


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    first = max(len(word) for word, _ in rows) + 2
    for word, help in rows:
        lines = wrap(help, _WIDTH - first - 4) or [""]
        yield f"    {word:<{first}}{lines[0]}"
        yield from (" " * (first + 4) + line for line in lines[1:])
