"""Subgraphs that work on a task with tools, until the model calls the tool that ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from typing_extensions import TypeVar

from koogbook.runtime.graph_methods import GraphMethods
from koogbook.runtime.subgraphs.options import HandOut
from koogbook.runtime.subgraphs.task_building import Task, add_task_subgraph, default_finish, own_finish
from koogbook.tools.tool import Tool

if TYPE_CHECKING:
    from koogbook.messages.model import LLModel, LLMParams
    from koogbook.runtime.subgraph import Subgraph

A = TypeVar("A")
B = TypeVar("B")
In = TypeVar("In", default=Any)


@dataclass(frozen=True)
class CriticResult(Generic[In]):
    """What a verification gives (Koog's ``CriticResult``): whether its input is right, and what is wrong with it."""

    correct: bool
    feedback: str
    input: In


@dataclass(frozen=True)
class _Verdict:
    correct: bool
    feedback: str


class TaskSubgraphs(GraphMethods):
    """The subgraphs of a graph that work on a task; see :class:`ReadyNodes`."""

    @overload
    def subgraph_with_task(
        self,
        task: Task,
        *,
        name: str,
        input: type[A],
        output: type[B],
        tools: Any = None,
        finish_tool: Any = None,
        parallel_tools: int | bool = False,
        text_limit: int = 3,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] = "inherit",
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph[A, B]: ...
    @overload
    def subgraph_with_task(
        self,
        task: Task,
        *,
        name: str,
        input: Any = Any,
        output: Any = str,
        tools: Any = None,
        finish_tool: Any = None,
        parallel_tools: int | bool = False,
        text_limit: int = 3,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] = "inherit",
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph: ...
    def subgraph_with_task(
        self,
        task: Task,
        *,
        name: str,
        input: Any = Any,
        output: Any = str,
        tools: Any = None,
        finish_tool: Any = None,
        parallel_tools: int | bool = False,
        text_limit: int = 3,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] = "inherit",
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph:
        """A subgraph in which the model works on a task until it calls the finish tool (Koog's ``subgraphWithTask``).

        It has a context of its own. Every request in it asks for a tool call. Each call of a turn gets its result, in
        call order, in the turn that finishes, too. Arguments of the finish tool that do not fit are a result that says
        so, and the model goes on; of several such calls in one turn the first that fits counts.

        Args:
            task: What the model is to do: a text, said as it is, or a function of ``(input)`` or ``(ctx, input)`` that
                gives it, sync or async.
            name: Its name, unique in this graph.
            input: What it takes.
            output: What it gives.
            tools: As for :meth:`subgraph`.
            finish_tool: A tool, or a function, whose return value is the output; left out: ``finish_task(result)``,
                with the output as its argument. It is on offer inside only.
            parallel_tools: Run the calls of a turn one after another, or at once: at most so many, 16 with ``True``.
                The finish tool runs after them.
            text_limit: How many answers without a tool call are answered by telling the model to call one.
            model: As for :meth:`subgraph`.
            params: As for :meth:`subgraph`.
            history: As for :meth:`subgraph`.
            system_prompt: As for :meth:`subgraph`.
            hand_out: As for :meth:`subgraph`.
            on_failure: As for :meth:`subgraph`.
            replace: As for :meth:`subgraph`.

        Raises:
            GraphError: An option that cannot be, or that does not go with another one; a tool that is listed has the
                name of the finish tool. Where one around it has, the run raises it.
            RedefinitionError: As for :meth:`subgraph`.

        The run raises :class:`TaskNotFinishedError` where the model answers in text more often than that, and
        :class:`BoundaryTypeError` where a finish tool of your own gives something else than the output.
        """
        finish = default_finish(output, name) if finish_tool is None else own_finish(finish_tool, name)
        return add_task_subgraph(
            self._graph,
            task,
            finish,
            name=name,
            input=input,
            output=output,
            checked=Any if finish_tool is None else output,
            conclude=_the_result,
            parallel_tools=parallel_tools,
            text_limit=text_limit,
            replace=replace,
            options={
                "tools": tools,
                "model": model,
                "params": params,
                "history": history,
                "system_prompt": system_prompt,
                "hand_out": hand_out,
                "on_failure": on_failure,
            },
        )

    @overload
    def subgraph_with_verification(
        self,
        task: Task,
        *,
        name: str,
        input: type[A],
        tools: Any = None,
        parallel_tools: int | bool = False,
        text_limit: int = 3,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] = "inherit",
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph[A, CriticResult[A]]: ...
    @overload
    def subgraph_with_verification(
        self,
        task: Task,
        *,
        name: str,
        input: Any = Any,
        tools: Any = None,
        parallel_tools: int | bool = False,
        text_limit: int = 3,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] = "inherit",
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph[Any, CriticResult]: ...
    def subgraph_with_verification(
        self,
        task: Task,
        *,
        name: str,
        input: Any = Any,
        tools: Any = None,
        parallel_tools: int | bool = False,
        text_limit: int = 3,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] = "inherit",
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph[Any, Any]:
        """A subgraph in which the model verifies its input (Koog's ``subgraphWithVerification``).

        It gives a :class:`CriticResult`, and is otherwise as :meth:`subgraph_with_task`, whose options it has::

            check = graph.subgraph_with_verification("Is this plan sound?", name="check", input=str)
            graph.edge(check, graph.finish, when=lambda verdict: verdict.correct, map=..., label="correct")
            graph.edge(check, mend, map=lambda verdict: verdict.feedback, label="not correct")

        Raises:
            GraphError: As for :meth:`subgraph_with_task`.
            RedefinitionError: As for :meth:`subgraph`.
        """
        gives = CriticResult if input is Any else CriticResult[input]
        return add_task_subgraph(
            self._graph,
            task,
            Tool(_finish_verification, name="finish_task"),
            name=name,
            input=input,
            output=gives,
            checked=Any,
            conclude=_the_verdict,
            parallel_tools=parallel_tools,
            text_limit=text_limit,
            replace=replace,
            options={
                "tools": tools,
                "model": model,
                "params": params,
                "history": history,
                "system_prompt": system_prompt,
                "hand_out": hand_out,
                "on_failure": on_failure,
            },
        )


def _the_result(result: Any, input: Any) -> Any:
    return result


def _the_verdict(verdict: Any, input: Any) -> CriticResult[Any]:
    return CriticResult(verdict.correct, verdict.feedback, input)


def _finish_verification(correct: bool, feedback: str) -> _Verdict:
    """Call this when the verification is done, and only then: it ends it.

    Args:
        correct: Whether everything is right.
        feedback: What is wrong and how to mend it; empty where everything is right.
    """
    return _Verdict(correct, feedback)
