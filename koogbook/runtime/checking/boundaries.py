"""What comes into a graph and what leaves it is of the declared type, or the run stops there.

Only types that can be told cheaply and surely are asked for: classes, unions of them, literals, and of a list, a
dictionary or a tuple that it is one. Whatever else is declared lets everything through.
"""

from __future__ import annotations

import numbers
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from koogbook.errors import BoundaryTypeError
from koogbook.events import EdgeTaken
from koogbook.runtime.checking.edge_errors import short
from koogbook.state.codec import describe_type

if TYPE_CHECKING:
    from koogbook.runtime.node import NodeFunction

Accepts = Callable[[Any], bool]

#: A whole number does for a real one, and one of another library does for Python's.
_NUMBERS: dict[type, type] = {int: numbers.Integral, float: numbers.Real, complex: numbers.Complex}


def checked(kind: str, path: str, declared: Any, otherwise: NodeFunction) -> NodeFunction:
    """The function of a start or finish node that refuses what is not of its type; ``otherwise`` where none is told.

    The function raises :class:`BoundaryTypeError`.
    """
    accepts = acceptor(declared)
    if accepts is None:
        return otherwise

    async def check(ctx: Any, value: Any) -> Any:
        if not accepts(value):
            raise _wrong(ctx, kind, path, declared, value)
        return value

    return check


def acceptor(declared: Any) -> Accepts | None:
    """A function that tells whether a value is of a type; None where that cannot be told, or everything is."""
    if declared is None or declared is type(None):
        return lambda value: value is None
    origin = get_origin(declared)
    if origin is Annotated:
        return acceptor(get_args(declared)[0])
    if origin in (Union, types.UnionType):
        return _any_of([acceptor(one) for one in get_args(declared)])
    if origin is Literal:
        return _one_of(get_args(declared))
    one = declared if origin is None else origin
    if not isinstance(one, type) or one in (object, Any) or _is_vague(one):
        return None
    return _instance_of(one)


def _any_of(accepting: list[Accepts | None]) -> Accepts | None:
    known = [accepts for accepts in accepting if accepts is not None]
    if len(known) < len(accepting):
        return None
    return lambda value: any(accepts(value) for accepts in known)


def _one_of(values: tuple[Any, ...]) -> Accepts:
    return lambda value: any(type(value) is type(one) and value == one for one in values)


def _instance_of(one: type) -> Accepts:
    wanted = _NUMBERS.get(one, one)
    same = (one.__module__, one.__qualname__)

    def is_instance(value: Any) -> bool:
        # A class that a cell has defined again is the same one, and so are the objects of the one before.
        return isinstance(value, wanted) or any(
            (base.__module__, base.__qualname__) == same for base in type(value).__mro__
        )

    return is_instance


def _is_vague(one: type) -> bool:
    """Whether objects of other classes may do for it as well, and not say so."""
    if getattr(one, "_is_protocol", False) or one.__module__ in ("collections.abc", "typing"):
        return True
    return hasattr(one, "__total__") and issubclass(one, dict)  # a typed dictionary, which cannot be asked


def _wrong(ctx: Any, kind: str, path: str, declared: Any, value: Any) -> BoundaryTypeError:
    graph = path.rpartition("/")[0]
    is_root = "/" not in graph
    what = "strategy" if is_root else "the block" if kind == "merge" else "subgraph"
    wanted, given = describe_type(declared), describe_type(type(value))
    if kind == "start" and is_root:
        return BoundaryTypeError(_wrong_input(ctx, graph, wanted, value), node=path, value=value)
    verb, option = ("takes", "input") if kind == "start" else ("gives", "output")
    came = "" if _is_of_block(ctx, kind, graph) else _came_by(ctx, graph if kind == "start" else path)
    by = f" by the edge {came}" if came else ""
    remedy = (
        f"Change it on the edge {came}: map=lambda value: ...; or declare what really comes: {option}={given}."
        if came
        else f"Mend what is {'merged' if kind == 'merge' else 'handed over'}, or declare what really comes: "
        f"{option}={given}."
    )
    return BoundaryTypeError(
        f"{path} got {given} {short(value)}{by}, and {what} {graph!r} {verb} {wanted}. Nothing behind it was run. "
        f"{remedy}",
        node=path,
        value=value,
    )


def _wrong_input(ctx: Any, strategy: str, wanted: str, value: Any) -> str:
    if value is None:
        return (
            f"The run was started without an input, and strategy {strategy!r} takes {wanted}. No node was run. Give it "
            f"one: await agent.run(...). Without one a run only goes on from a checkpoint, and session "
            f"{ctx.session_id!r} has none to go on from."
        )
    given = describe_type(type(value))
    return (
        f"The run was started with {given} {short(value)}, and strategy {strategy!r} takes {wanted}. No node was run. "
        f"Give it {wanted}, or declare what it takes: kb.strategy({strategy!r}, input={given}, ...)."
    )


def _is_of_block(ctx: Any, kind: str, graph: str) -> bool:
    """Whether it is the merge of a parallel block or the start of one of its branches, whose edges take no map."""
    if kind == "merge":
        return True
    around = ctx.strategy.graph.find(graph.rpartition("/")[0])
    return kind == "start" and around is not None and around.join is not None


def _came_by(ctx: Any, target: str) -> str:
    """The last edge that led to a node, as ``a >> b``; empty where none did, as to the merge of a block."""
    for event in reversed(ctx.log.events):
        if isinstance(event, EdgeTaken) and event.target == target:
            return f"{event.path.rpartition('/')[2]} >> {target.rpartition('/')[2]}"
    return ""
