"""Which function of a ``%%koog_node`` cell is the node, read from its text before it runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from IPython.core.inputtransformer2 import TransformerManager

from koogbook.notebook.magics.parsing import Given, parse
from koogbook.notebook.magics.table import BY_NAME
from koogbook.notebook.magics.wrong_use import WrongUse, listed

Function = ast.FunctionDef | ast.AsyncFunctionDef


def node_function(line: str, body: str) -> str | None:
    """The name of the function that is the node; None where the body is no Python, which Python itself tells best.

    Raises:
        WrongUse: There is none, or several and ``--name`` does not say which, or it is a node already.
    """
    try:
        tree = ast.parse(TransformerManager().transform_cell(body))
    except SyntaxError:
        return None
    given = parse(BY_NAME["koog_node"], line)
    in_thread = given.switch("--thread")
    wanted, other = (
        (ast.FunctionDef, ast.AsyncFunctionDef) if in_thread else (ast.AsyncFunctionDef, ast.FunctionDef)
    )
    functions: dict[str, Function] = {one.name: one for one in tree.body if isinstance(one, wanted)}
    others = [one.name for one in tree.body if isinstance(one, other)]
    chosen = _chosen(given, list(functions), others, in_thread=in_thread)
    decorator = next((one for one in functions[chosen].decorator_list if _is_node(one)), None)
    if decorator is not None:
        raise WrongUse(
            f"{chosen} is a node already, by @{ast.unparse(decorator)} above it.",
            "Drop one of both: the decorator, or %%koog_node.",
        )
    return chosen


def _chosen(given: Given, functions: Sequence[str], others: Sequence[str], *, in_thread: bool) -> str:
    kind, written, other = ("plain", "def", "async def") if in_thread else ("async", "async def", "def")
    if len(functions) == 1:
        return functions[0]
    if functions:
        wanted = given.text("--name")
        if wanted is not None and wanted in functions:
            return wanted
        raise WrongUse(
            f"There are {len(functions)} {kind} functions here: {listed(functions)}.",
            f"Say which one is the node, the others stay as they are: --name {functions[0]}. Or split the cell.",
        )
    found = f"only {listed(f'{other} {name}' for name in others)}" if others else "no function at all"
    blocking = "; or, for one that blocks: --thread" if others and not in_thread else ""
    raise WrongUse(
        f"There is no {kind} function at the top level of the cell, {found}.",
        f"Write: {written} {others[0] if others else 'prepare'}(ctx, value){blocking}",
    )


def _is_node(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr == "node"


def future_import_end(body: str) -> tuple[int, int] | None:
    """Line (from 0) and column at which the last ``from __future__ import`` of a body ends; None without one.

    Only a comment may stand before such an import.
    """
    try:
        tree = ast.parse(body)
    except SyntaxError:
        return None
    found = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    if not found or found[-1].end_lineno is None or found[-1].end_col_offset is None:
        return None
    return found[-1].end_lineno - 1, found[-1].end_col_offset
