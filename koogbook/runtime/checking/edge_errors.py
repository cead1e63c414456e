"""What is wrong where no edge takes an output, or where a condition or a transformation fails: which edge, and why."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from koogbook.errors import BoundaryTypeError, GraphError, StuckInNodeError
from koogbook.runtime.code_lines import code_at
from koogbook.runtime.node import Step, function_label
from koogbook.runtime.ready.conditions import Condition

if TYPE_CHECKING:
    from types import CoroutineType

    from koogbook.runtime.compiled import CompiledEdge, CompiledNode

#: An edge that was not taken, the condition that did not hold, and what that was asked about.
Refusal = tuple["CompiledEdge", Step, Any]


def holds(result: Any, node: CompiledNode, edge: CompiledEdge, step: Step, value: Any) -> bool:
    """Whether a condition holds that gave something else than True or False.

    Raises:
        GraphError: It gave something of which that cannot be told, or a function, class or generator: always true.
    """
    if inspect.isroutine(result) or isinstance(result, partial):
        why = "is a function, and was not called"
    elif inspect.isclass(result):
        why = "is a class, and no answer about the value"
    elif isinstance(result, Condition):
        why = "is a condition itself, and no answer"
    elif inspect.isawaitable(result):
        why = "has to be awaited, and was not"
        if inspect.iscoroutine(result):
            result.close()
    elif inspect.isgenerator(result) or inspect.isasyncgen(result):
        why = "is a generator, and has not begun"
    else:
        try:
            return bool(result)
        except Exception as problem:
            why = f"is neither true nor false ({type(problem).__name__}: {problem})"
            raise _no_answer(result, node, edge, step, value, why) from problem
    raise _no_answer(result, node, edge, step, value, why)


def _no_answer(
    result: Any, node: CompiledNode, edge: CompiledEdge, step: Step, value: Any, why: str
) -> GraphError:
    made = "type" if inspect.isclass(result) else type(result).__name__  # of a class by a metaclass as well
    return GraphError(
        f"The condition {_named(step)} of the edge {_ends(node, edge)} gave {made} {short(result)} for "
        f"{type(value).__name__} {short(value)}, which {why}. The edge was not taken, and nothing behind it was run. "
        f"Let it give True or False{_HOW.get(made, '')}."
    )


_HOW = {
    "ndarray": ", as with .any() or .all()",
    "Series": ", as with .any() or .all()",
    "DataFrame": ", as with .empty",
    "type": ": ask for the class, as with isinstance(value, ...)",
    "function": ": call the function",
    "method": ": call the method",
    "builtin_function_or_method": ": call the method",
    "partial": ": call the function",
    "coroutine": ": await it in an async condition",
    "Condition": ": give the condition to when= as it is, when=kb.calls_tool('name')",
}


def explain(problem: BaseException, node: CompiledNode, edge: CompiledEdge, step: Step, value: Any) -> None:
    """Add to what a condition or a transformation raised where that was, and what to do."""
    add_once(problem, f"in {step.kind}= of the edge {_ends(node, edge)}")
    remedy = (
        "Let the condition give False for such an output"
        if step.kind == "when"
        else "Put a condition before it that refuses such an output: when="
    )
    add_once(
        problem,
        f"{_named(step)} got {type(value).__name__} {short(value)}; the edge was not taken, and nothing behind it was "
        f"run. {remedy}.",
    )


def not_awaited(node: CompiledNode, output: CoroutineType[Any, Any, Any]) -> BoundaryTypeError:
    """The error of a node that has called an async function and given what has not run yet."""
    called = output.__qualname__
    output.close()
    return BoundaryTypeError(
        f"{node.path} gave the coroutine of {called}, which nobody has awaited, so that it has not run. No edge was "
        f"taken. Write await before it: return await {output.__name__}(...).",
        node=node.path,
    )


def stuck(node: CompiledNode, output: Any, refused: Sequence[Refusal]) -> StuckInNodeError:
    """The error of a node whose output no edge takes; per edge why."""
    listed = "; ".join(f"{place}. {_why(*one, output)}" for place, one in enumerate(refused, start=1))
    return StuckInNodeError(
        f"No edge of {node.path} takes its output, {type(output).__name__} {short(output)}: {listed}. "
        "Add an edge with a condition that holds for it, or one without a condition, which is the node's else, to the "
        f"node that deals with such an output, or to the finish: "
        f"{code_at(node.path.rpartition('/')[0])}.edge({node.name!r}, 'finish').",
        node=node.path,
        output=output,
    )


def _why(edge: CompiledEdge, step: Step, value: Any, output: Any) -> str:
    conditions = [one for one in edge.steps if one.kind == "when"]
    to = f"to {edge.target.name}"
    label = edge.label if len(conditions) == 1 else ""
    text = f"{to}: {label or function_label(step.function)} does not hold"
    if len(conditions) > 1:
        text += f" (condition {conditions.index(step) + 1} of {len(conditions)})"
    before = edge.steps[: edge.steps.index(step)]
    if any(one.kind == "map" for one in before) and value is not output:
        text += f" for {type(value).__name__} {short(value)}, which map= has made of it"
    return text


def _named(step: Step) -> str:
    name = getattr(step.function, "__name__", type(step.function).__name__)
    return f"{step.kind}={'lambda' if name == '<lambda>' else name}"


def _ends(node: CompiledNode, edge: CompiledEdge) -> str:
    return f"{node.path} >> {edge.target.name}"


def add_once(problem: BaseException, text: str) -> None:
    """Add a note, unless it is there."""
    if text not in getattr(problem, "__notes__", ()):
        problem.add_note(text)


def short(value: Any) -> str:
    """How a value shows itself, cut where it is long."""
    try:
        text = repr(value)
    except Exception as problem:
        return f"(its repr raises {type(problem).__name__})"
    return text if len(text) <= 120 else f"{text[:117]}..."
