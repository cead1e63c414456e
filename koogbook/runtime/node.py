"""Nodes and edges as a strategy holds them while it is being built."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, get_type_hints

from msgspec import Struct
from typing_extensions import TypeVar

from koogbook.errors import GraphError
from koogbook.functions import annotated, is_async, plain_arguments, plain_types
from koogbook.runtime.shape import NodeKind

if TYPE_CHECKING:
    from koogbook.code_place import Cell
    from koogbook.runtime.subgraph import Subgraph

NodeFunction = Callable[[Any, Any], Awaitable[Any]]
#: A bare ``Node`` takes and gives anything.
In_contra = TypeVar("In_contra", contravariant=True, default=Any)
Out_co = TypeVar("Out_co", covariant=True, default=Any)
Next = TypeVar("Next")
_COROUTINE = inspect.CO_COROUTINE
_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)


class Node(Struct, Generic[In_contra, Out_co], eq=False):
    """A name and an async function ``(ctx, input) -> output`` (Koog's ``AIAgentNode``). Calling it calls the function.

    ``thread`` says that the function is no async one and blocks: it runs in a thread. ``cell`` is the run of the
    notebook cell that has defined it last, ``ready`` says that a method made its function, and ``replaced_at`` is the
    place of another definition of the name in the same run of the same code, which it has replaced.

    ``a >> b`` adds the edge without a condition and gives ``b``, so that a chain reads as it runs.
    """

    name: str
    function: Callable[..., Any]
    graph: Subgraph
    kind: NodeKind = "node"
    input_type: Any = Any
    output_type: Any = Any
    place: str = ""
    note: str = ""
    subgraph: Subgraph | None = None
    thread: bool = False
    cell: Cell | None = None
    ready: bool = False
    replaced_at: str = ""

    @property
    def path(self) -> str:
        """``strategy/subgraph/node``."""
        return f"{self.graph.path}/{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the node's function, as a unit test does."""
        return self.function(*args, **kwargs)

    def __rshift__(self, target: Node[Out_co, Next] | Subgraph[Out_co, Next]) -> Node[Out_co, Next]:
        return self.graph.edge(self, target).target

    if not TYPE_CHECKING:  # for a checker of types nothing but a node stands on the left

        def __rrshift__(self, source: Any) -> Self:
            """What stands left of ``>>`` and is no node: a name, or what an edge cannot begin at."""
            self.graph.edge(source, self)
            return self

    def __repr__(self) -> str:
        return f"<{self.kind} {self.path}>"


class Step:
    """A condition or a transformation on an edge; the function takes ``(output)`` or ``(ctx, output)``."""

    __slots__ = ("function", "is_async", "kind", "with_context")

    def __init__(self, kind: Literal["when", "map"], function: Callable[..., Any]) -> None:
        self.kind = kind
        self.function = function
        self.with_context = _takes_context(kind, function)
        self.is_async = is_async(function)


def _takes_context(kind: str, function: Callable[..., Any]) -> bool:
    if not callable(function):
        raise GraphError(f"{kind}= takes a function of (output) or (ctx, output), not {function!r}.")
    if getattr(function, "makes_condition", False):
        named = function.__name__
        raise GraphError(f"kb.{named} makes a condition and is called for it: {kind}=kb.{named}(...).")
    plain = plain_arguments(function)
    if plain is not None and plain[0] and plain[1] <= 2:
        return plain[1] == 2
    try:
        parameters = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):  # a builtin such as bool says nothing of its parameters
        return False
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    if len(required) > 2 or not parameters:
        raise GraphError(
            f"{kind}= takes a function of (output) or (ctx, output); {getattr(function, '__name__', function)!r} "
            f"takes {len(required)} arguments."
        )
    return len(required) == 2


class Edge(Struct, eq=False):
    """From one node to another, with conditions and transformations in the order they were added.

    Koog's ``AIAgentEdge``; ``a >> b`` is its ``edge(a forwardTo b)``. Usually made by ``a >> b`` or
    ``strategy.edge(a, b, when=..., map=...)``; ``when`` and ``map`` add steps. ``cell`` is the run of the notebook cell
    that has defined it last, ``noted`` is what the strategy's changes say of it, ``replaced`` the edge whose place it
    took.
    """

    source: Node
    target: Node
    given_label: str = ""
    place: str = ""
    steps: list[Step] = []
    cell: Cell | None = None
    noted: str = ""
    replaced: Edge | None = None

    @property
    def conditional(self) -> bool:
        """Whether it can refuse an output."""
        for step in self.steps:  # noqa: SIM110 - a generator would cost more than most edges have steps
            if step.kind == "when":
                return True
        return False

    @property
    def mapped(self) -> bool:
        """Whether it changes an output on its way."""
        return any(step.kind == "map" for step in self.steps)

    @property
    def label(self) -> str:
        """What the drawing says: the given label, or the names of the conditions."""
        if self.given_label or not self.conditional:
            return self.given_label
        names = [function_label(step.function) for step in self.steps if step.kind == "when"]
        return " and ".join(names)

    def when(self, condition: Callable[..., Any]) -> Self:
        """Take this edge only where the condition holds (Koog's ``onCondition``)."""
        self.steps.append(self._step("when", condition))
        self.source.graph._settle(self)
        return self

    def map(self, transform: Callable[..., Any]) -> Self:
        """Change the output on its way (Koog's ``transformed``)."""
        self.steps.append(self._step("map", transform))
        self.source.graph._settle(self)
        return self

    def _step(self, kind: Literal["when", "map"], function: Callable[..., Any]) -> Step:
        try:
            return Step(kind, function)
        except GraphError as problem:
            problem.add_note(
                f"The {self!r} of {self.source.graph.path!r} stays as it is, without this {kind}."
            )
            raise

    def __repr__(self) -> str:
        label = f" when {self.label}" if self.conditional else ""
        return f"<edge {self.source.name} >> {self.target.name}{label}>"


def function_label(function: Any) -> str:
    """What a condition is called: its own label, or the name of its function in words."""
    label = getattr(function, "label", None)
    if isinstance(label, str):
        return label
    name = getattr(function, "__name__", type(function).__name__)
    return "condition" if name == "<lambda>" else name.replace("_", " ")


def annotated_types(function: Callable[..., Any], name: str, *, thread: bool = False) -> tuple[Any, Any]:
    """The declared types of a node's input and output; Any where there is none.

    Raises:
        GraphError: The function is not async (or, for a thread, is), or does not take exactly ``(ctx, input)``.
    """
    plain = plain_types(function)
    if plain is not None and bool(function.__code__.co_flags & _COROUTINE) != thread:
        return plain
    if is_async(function) == thread:
        raise GraphError(
            f"Node {name!r} runs in a thread and takes a plain function there: def {name}(ctx, value). Leave out "
            "thread=True, or the async."
            if thread
            else f"Node {name!r} must be an async function: async def {name}(ctx, value). It is {function!r}. One that "
            "blocks runs in a thread: thread=True."
        )
    parameters = list(inspect.signature(function).parameters.values())
    # Further ones with a default are the function's own affair: def node(ctx, value, place=place) in a loop.
    more = [one for one in parameters[2:] if one.default is one.empty and one.kind not in _ANY_NUMBER]
    if len(parameters) < 2 or more or any(parameter.kind in _BY_NAME for parameter in parameters[:2]):
        raise GraphError(
            f"Node {name!r} takes {len(parameters)} arguments ({', '.join(map(str, parameters))}); a node takes two, "
            f"the context and its input, by position: async def {name}(ctx, value)."
        )
    try:
        hints = _types_of(annotated(function), parameters[1].name, "return")
    except (NameError, TypeError) as problem:
        raise GraphError(
            f"Node {name!r}: an annotation cannot be resolved: {problem}. Define or import the type first."
        ) from problem
    return hints.get(parameters[1].name, Any), hints.get("return", Any)


def _types_of(function: Any, *names: str) -> dict[str, Any]:
    """Some annotations as objects; the others, such as that of the context, need not be there when the code runs."""
    declared = getattr(function, "__annotations__", {})
    alone = SimpleNamespace(
        __annotations__={name: declared[name] for name in names if name in declared},
        __type_params__=getattr(function, "__type_params__", ()),
    )
    return get_type_hints(alone, getattr(inspect.unwrap(function), "__globals__", {}))
