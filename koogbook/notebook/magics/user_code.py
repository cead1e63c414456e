"""The user's own names and expressions, as the magics read and write them."""

from __future__ import annotations

import builtins
import keyword
import symtable
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from IPython.core.interactiveshell import InteractiveShell

from koogbook.notebook.magics.wrong_use import WrongUse, listed, nearest, one_line
from koogbook.notebook.views.view import run_behind

Value = TypeVar("Value")

#: What an expression on an edge may name beside the user's own names.
_ON_AN_EDGE = {"output", "ctx"}
_OF_OUTPUT = "What the node gave is called output on an edge, and the context ctx:"


#: Python's own types, which --input and --output are mostly one of.
_TYPES = [name for name, value in vars(builtins).items() if isinstance(value, type) and name.islower()]


class UserCode:
    """The namespace of one notebook."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    # ------------------------------------------------------------------------------- names

    def held(self, name: str) -> Any:
        """What a variable holds; None where there is none."""
        return self._shell.user_ns.get(name)

    def assign(self, name: str, value: Any) -> None:
        """Put a value in a variable."""
        self._shell.user_ns[name] = value

    def variables(self, kind: type[Value]) -> dict[str, Value]:
        """The user's variables that hold such a value, by name; each value under the first of its names."""
        found: dict[str, Value] = {}
        seen: set[int] = set()
        for name, value in self._own():
            if isinstance(value, kind) and id(value) not in seen:
                seen.add(id(value))
                found[name] = value
        return found

    def new_name(self, name: str, what: str) -> str:
        """A name that can be a variable.

        Raises:
            WrongUse: It cannot.
        """
        if name.isidentifier() and not keyword.iskeyword(name):
            return name
        raise WrongUse(f"{what} is the name of a variable, not {name!r}.", "Use letters, digits and _.")

    def own_name(self, name: str, kind: type[Any], word: str) -> str:
        """A variable that is free, or holds such a value already: what else it holds is not lost by a slip.

        Raises:
            WrongUse: It holds something else, or cannot be a variable.
        """
        found = self.held(self.new_name(name, "NAME"))
        if found is None and hasattr(builtins, name):
            raise WrongUse(
                f"{name} is one of Python's own names, which a variable would hide.", "Choose another name."
            )
        if found is None or isinstance(found, kind):
            return name
        raise WrongUse(
            f"{name} holds {_a(type(found).__name__)}, not {_a(word)}.",
            f"Choose another name, or let go of it first: del {name}",
        )

    # ------------------------------------------------------------------------------- values

    def evaluate(self, text: str, what: str, kind: type[Any] = object) -> Any:
        """The value of an expression; for the handle of a run in the background, the run.

        Args:
            text: The expression, often just a variable.
            what: The place in the line that it stands in, for the message.
            kind: Values of this kind are proposed where a name is unknown.

        Raises:
            WrongUse: It has no value; with the nearest name where one is unknown.
        """
        try:
            return run_behind(self._shell.ev(text))
        except NameError as problem:
            missing = getattr(problem, "name", None) or text
            fitting = self.variables(kind) if kind is not object else {}
            known = fitting or [*(name for name, _ in self._own()), *_TYPES]
            hint = nearest(missing, known) or (f"There is {listed(fitting)}." if fitting else "")
            raise WrongUse(f"{what}: there is no {missing!r} in this notebook.", hint) from None
        except Exception as problem:
            said = problem.msg if isinstance(problem, SyntaxError) else str(problem)
            raise WrongUse(
                f"{what}: {text!r} cannot be evaluated ({type(problem).__name__}: {one_line(said)}).",
                "An expression with spaces or quotation marks stands in quotation marks of the other kind.",
            ) from None

    def find(self, text: str, kind: type[Value], word: str, what: str) -> Value:
        """The value of an expression that must be of one kind; ``word`` is what the kind is called.

        Raises:
            WrongUse: It is of another kind, or has no value.
        """
        value = self.evaluate(text, what, kind)
        if isinstance(value, kind):
            return value
        fitting = self.variables(kind)
        raise WrongUse(
            f"{what}: {text} is {_a(type(value).__name__)}, not {_a(word)}.",
            nearest(text, fitting) or (f"There is {listed(fitting)}." if fitting else ""),
        )

    def edge_function(self, text: str, flag: str) -> Callable[..., Any]:
        """The function that an expression on an edge stands for.

        One that names ``output`` or ``ctx`` is the body of a function of them, and is called by its text in drawings;
        another one must have a function as its value.

        Raises:
            WrongUse: It has no value, or one that cannot be called.
        """
        names = free_names(text, flag) & _ON_AN_EDGE
        if names:
            made = self._shell.ev(f"lambda {'ctx, ' if 'ctx' in names else ''}output: (\n{text}\n)")
            made.label = text
            return made  # type: ignore[no-any-return]
        try:
            found = self.evaluate(text, flag)
        except WrongUse as problem:
            if isinstance(problem.__context__, NameError):
                problem.remedy = f'{problem.remedy} {_OF_OUTPUT} {flag} "len(output) < 200".'.strip()
            raise
        if not callable(found):
            raise WrongUse(
                f"{flag}: {text!r} is {_a(type(found).__name__)} and no function, and does not name output or ctx.",
                f'Write, for example: {flag} "len(output) < 200".',
            )
        if getattr(found, "__name__", "") == "<lambda>" and not hasattr(found, "label"):
            found.label = text
        return found  # type: ignore[no-any-return]

    def _own(self) -> Iterator[tuple[str, Any]]:
        hidden = self._shell.user_ns_hidden
        for name, value in list(self._shell.user_ns.items()):
            if not name.startswith("_") and name not in hidden:
                yield name, value


def free_names(text: str, what: str) -> set[str]:
    """The names that an expression takes from outside, those inside its own functions included.

    Raises:
        WrongUse: It is no expression.
    """
    try:
        return set(_globals(symtable.symtable(text, what, "eval")))
    except SyntaxError as problem:
        raise WrongUse(f"{what}: {text!r} is no expression ({problem.msg}).") from None


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_global() and symbol.is_referenced():
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _globals(inner)


def _a(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"
