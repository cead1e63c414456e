"""Tools that the model chooses for a task, before the subgraph that works on it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from koogbook.errors import GraphError, StructuredOutputError
from koogbook.llm.context import LLMContext
from koogbook.llm.request import Request, without_tool_parts
from koogbook.llm.structured import Shape, ask_until_it_fits
from koogbook.messages.message import REFERENCE_NAME, Message, user
from koogbook.messages.pairing import require_pairs
from koogbook.tools.tool import ToolRegistry


class ToolsForTask(Struct, frozen=True):
    """The tools that suit a task, chosen by the model; made by :func:`tools_for_task`."""

    description: str
    attempts: int = 3


def tools_for_task(description: str, attempts: int = 3) -> ToolsForTask:
    """The tools of a subgraph as the model chooses them for a task (Koog's ``AutoSelectForTask``).

    ``graph.subgraph("plan", tools=kb.tools_for_task("find a train and book it"))``. Each time the subgraph begins, its
    model is asked once which of the tools around it the task needs, with the messages that the subgraph begins with.
    The instruction and the answer reach no history. It may choose none.

    Args:
        description: The task.
        attempts: How many requests at most, where an answer is no list of names, or holds none that exists.

    Raises:
        GraphError: The description is empty, or ``attempts`` is below 1.
    """
    if not isinstance(description, str) or not description.strip():
        raise GraphError(
            f"tools_for_task takes the task in words, not {description!r:.60}. Nothing was defined."
        )
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise GraphError(
            f"tools_for_task, attempts=: it is at least 1, not {attempts!r}. Nothing was defined."
        )
    return ToolsForTask(description, attempts)


async def chosen_tools(
    wanted: ToolsForTask, around: ToolRegistry, llm: LLMContext, path: str
) -> ToolRegistry:
    """Those of the tools around a subgraph that the model chooses, in the order in which they are around it.

    Args:
        wanted: The task.
        around: What it chooses from.
        llm: The context that the subgraph begins with; its history stays as it is.
        path: The subgraph.

    Raises:
        StructuredOutputError: No answer was usable; the subgraph has not begun.
    """
    if not len(around):
        return around
    state = llm.committed
    history = state.prompt.messages
    require_pairs(history, f"tools_for_task of {path}", open_tail=True)
    shape = _Choice(around.names)
    sent = (*without_tool_parts(history), _question(wanted, around), shape.instruction(()))
    params = state.prompt.params.with_changes(tool_choice=None, choices=None, stop=())

    async def ask(messages: tuple[Message, ...], attempt: int) -> Message:
        return await llm.calls.execute(
            Request(
                messages=messages,
                model=state.model,
                purpose="selection",
                params=params,
                schema=shape.schema,
            )
        )

    try:
        answer = await ask_until_it_fits(ask, sent, shape, wanted.attempts, llm.log)
    except StructuredOutputError as problem:
        raise StructuredOutputError(
            f"Subgraph {path!r}: the model chose no tools for {wanted.description!r:.60}. {problem} The subgraph was "
            "not begun. Name them yourself, tools=[...], or leave tools= out for all.",
            answers=problem.answers,
        ) from problem
    names = set(answer.value.tools)
    unknown = names.difference(around.names)
    if unknown:
        llm.log.notice(
            "tool selection",
            f"{path}: the model chose tools that there are not, and they were left out: "
            f"{', '.join(sorted(unknown))}.",
        )
    return ToolRegistry(one for one in around if one.name in names)


class _ToolNames(Struct):
    tools: list[str]


class _Choice(Shape):
    """Names of tools, some of which exist, or none at all."""

    __slots__ = ("_known",)

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__(_ToolNames)
        self.name = "a list of tools"
        self._known = frozenset(known)

    def read(self, text: str) -> Any:
        """See :meth:`Shape.read`.

        Raises:
            ValueError: It does not fit, or all of the names are unknown.
        """
        chosen = super().read(text)
        if chosen.tools and self._known.isdisjoint(chosen.tools):
            raise ValueError(f"none of these tools exists: {', '.join(chosen.tools)}")
        return chosen


def _question(wanted: ToolsForTask, around: ToolRegistry) -> Message:
    listed = "\n".join(f"- {spec.name}: {' '.join(spec.description.split())}" for spec in around.specs)
    return user(
        f"The next task is: {wanted.description}\nThese tools are there:\n{listed}\n"
        "Which of them does the task need? Name no others.",
        name=REFERENCE_NAME,
    )
