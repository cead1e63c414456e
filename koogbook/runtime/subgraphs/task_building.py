"""Adding a subgraph that works on a task: its nodes, its edges, and the tool that ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as replaced

from koogbook.code_place import calling_place
from koogbook.errors import GraphError, ToolError
from koogbook.runtime.node import Node
from koogbook.runtime.ready.functions import Given, UserFunction, user_function
from koogbook.runtime.subgraphs.task_loop import (
    TaskPlan,
    TaskTurn,
    ask_function,
    calls_tools,
    is_finished,
    nudge_function,
    run_tools_function,
    send_results,
    take_result_function,
)
from koogbook.state.codec import describe_type
from koogbook.tools.tool import Tool

if TYPE_CHECKING:
    from koogbook.runtime.subgraph import Subgraph

#: The text of a task, or a function of (input) or (ctx, input) that gives it, sync or async.
Task = str | Callable[..., Any]


def add_task_subgraph(
    graph: Subgraph,
    task: Task,
    finish: Tool,
    *,
    name: str,
    input: Any,
    output: Any,
    checked: Any,
    conclude: Callable[[Any, Any], Any],
    parallel_tools: int | bool,
    text_limit: int,
    replace: bool,
    options: dict[str, Any],
) -> Subgraph:
    """Add a subgraph that works on a task, with all its nodes; ``options`` are those of :meth:`Subgraph.subgraph`.

    ``finish`` ends it; what it gives is of the type ``checked``, and ``conclude`` makes the output of that and the
    input.

    Raises:
        GraphError: An option that cannot be.
        RedefinitionError: Another cell defines it. Nothing was changed.
    """
    plan = TaskPlan(
        task=_task(task, name),
        finish=Given(finish),
        finish_name=finish.name,
        parallel_tools=_count(name, "parallel_tools", parallel_tools),
        text_limit=_count(name, "text_limit", text_limit),
        checked=checked,
        conclude=conclude,
    )
    _require_free_name(options["tools"], finish, name)
    if options["history"] is None:
        options["history"] = "inherit"
    known = graph.nodes.get(name)
    before = None if known is None or known.subgraph is None else known.subgraph
    was = None if before is None else (before.options, before.input_type, before.output_type)
    try:
        made = graph.subgraph(name, input=input, output=output, replace=replace, **options)
        made.options = replaced(made.options, finish_tool=finish)
        _fill(made, plan, input, output, replace)
    except GraphError:
        if before is not None and was is not None:
            before.options = was[0]
            before.take_types(*was[1:])
        raise
    return made


def _fill(made: Subgraph, plan: TaskPlan, input: Any, output: Any, replace: bool) -> None:
    place = calling_place()

    def node(name: str, function: Any, takes: Any, gives: Any, note: str = "") -> Node:
        put = Node(name, function, made, input_type=takes, output_type=gives, place=place, note=note)
        return made._put(put, replace)

    task = plan.task if isinstance(plan.task, str) else ""
    ask = node("ask", ask_function(plan), input, TaskTurn, task if len(task) <= 80 else f"{task[:77]}...")
    run = node(
        "run_tools", run_tools_function(plan), TaskTurn, TaskTurn, "at once" if plan.parallel_tools else ""
    )
    send = node("send_results", send_results, TaskTurn, TaskTurn)
    nudge = node("nudge", nudge_function(plan), TaskTurn, TaskTurn)
    take = node("take_result", take_result_function(plan), TaskTurn, output)
    made.start >> ask
    for answered in (ask, send, nudge):
        made.edge(answered, run, when=calls_tools, label="tool calls")
        made.edge(answered, nudge, label="no call")
    made.edge(run, take, when=is_finished, label="finished")
    made.edge(run, send, label="not finished")
    take >> made.finish


def default_finish(output: Any, name: str) -> Tool:
    """The tool that ends a task with an output of this type as its argument.

    Raises:
        GraphError: A model cannot write such a value.
    """

    def finish_task(result: Any) -> Any:
        """Call this when the task is done, and only then: it ends the task.

        Args:
            result: What the task is to give.
        """
        return result

    finish_task.__annotations__ = {"result": output}
    try:
        return Tool(finish_task)
    except ToolError as problem:
        raise GraphError(
            f"Subgraph {name!r}, output=: a model cannot write {describe_type(output)}: {problem} Nothing was defined. "
            "Give a function that makes it of what a model can write: finish_tool=function."
        ) from problem


def own_finish(finish: Any, name: str) -> Tool:
    """The tool that a user gave to end a task.

    Raises:
        GraphError: It cannot be a tool.
    """
    if isinstance(finish, Tool):
        return finish
    try:
        return Tool(finish)
    except ToolError as problem:
        raise GraphError(f"Subgraph {name!r}, finish_tool=: {problem} Nothing was defined.") from problem


def _task(task: Task, name: str) -> str | UserFunction:
    if isinstance(task, str):
        if not task.strip():
            raise GraphError(f"Subgraph {name!r}: its task is an empty text. Nothing was defined.")
        return task
    return user_function(task, name, "a task is a text, or a")


def _count(name: str, option: str, given: Any) -> Any:
    if not isinstance(given, int) or given < 0 or (option == "text_limit" and isinstance(given, bool)):
        raise GraphError(
            f"Subgraph {name!r}, {option}=: it is a number from 0, not {given!r:.60}. Nothing was defined."
        )
    return given


def _require_free_name(tools: Any, finish: Tool, name: str) -> None:
    listed = tools if isinstance(tools, list | tuple) else ()
    named = [
        one if isinstance(one, str) else getattr(one, "name", getattr(one, "__name__", "")) for one in listed
    ]
    if finish.name in named:
        raise GraphError(
            f"Subgraph {name!r}, tools=: one of them has the name {finish.name!r}, as the tool that ends the task. "
            "Nothing was defined. Give another one: finish_tool=kb.Tool(function, name=...)."
        )
