"""Nodes of one's own functions, as a method that adds one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, TypeVar, overload

from koogbook.code_place import calling_place
from koogbook.runtime.graph_methods import GraphMethods
from koogbook.runtime.node import Node, annotated_types

A = TypeVar("A")
B = TypeVar("B")


class OwnNodes(GraphMethods):
    """What a graph has for nodes of one's own."""

    @overload
    def node(
        self,
        function: Callable[[Any, A], Awaitable[B]],
        /,
        *,
        name: str | None = None,
        note: str = "",
        replace: bool = False,
        thread: Literal[False] = False,
    ) -> Node[A, B]: ...
    @overload
    def node(
        self,
        function: Callable[[Any, A], B],
        /,
        *,
        thread: Literal[True],
        name: str | None = None,
        note: str = "",
        replace: bool = False,
    ) -> Node[A, B]: ...
    @overload
    def node(
        self,
        /,
        *,
        name: str | None = None,
        note: str = "",
        replace: bool = False,
        thread: Literal[False] = False,
    ) -> Callable[[Callable[[Any, A], Awaitable[B]]], Node[A, B]]: ...
    @overload
    def node(
        self, /, *, thread: Literal[True], name: str | None = None, note: str = "", replace: bool = False
    ) -> Callable[[Callable[[Any, A], B]], Node[A, B]]: ...
    def node(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        note: str = "",
        replace: bool = False,
        thread: bool = False,
    ) -> Any:
        """Make a node of an async function ``(ctx, input) -> output`` (Koog's ``node``); usable as a decorator.

        A node of this name that exists is replaced in place, and its edges stay. In a notebook that is for the cell
        that has defined it; another cell takes the node over with ``replace=True``. With ``thread=True`` it is a plain
        function that blocks, and runs in a thread; there ``ctx.call(function, ...)`` awaits an async function.

        Raises:
            GraphError: The function is not async (or, with ``thread=True``, is) or takes other arguments.
            RedefinitionError: The name is taken and the strategy was made with ``redefine=False``, or another cell
                defines a node of this name. Nothing was changed.
        """
        if function is None:
            return partial(self.node, name=name, note=note, replace=replace, thread=thread)
        chosen: str = getattr(function, "__name__", "") if name is None else name
        input_type, output_type = annotated_types(function, chosen, thread=thread)
        place = calling_place(1)
        made = Node(chosen, function, self._graph, "node", input_type, output_type, place, note, None, thread)
        return self._put(made, replace)
