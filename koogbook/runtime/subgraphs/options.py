"""What a subgraph may have of its own: tools, model, parameters, history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from koogbook.errors import GraphError, ToolError
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams
from koogbook.runtime.subgraphs.tools_for_task import ToolsForTask
from koogbook.tools.tool import Tool, ToolRegistry

HandOut = Literal["nothing", "last", "all"] | Callable[[Sequence[Message]], Any]

_HISTORIES = ("inherit", "fresh")
_HAND_OUTS = ("nothing", "last", "all")
_ON_FAILURE = ("discard", "keep")


class SubgraphOptions(Struct, frozen=True, kw_only=True, dict=True):
    """How the context of a subgraph differs from the one around it; see :meth:`Subgraph.subgraph`.

    ``finish_tool`` is offered besides its tools: the one that ends a task, see :meth:`Subgraph.subgraph_with_task`.
    """

    tools: Any = None
    model: LLModel | str | None = None
    params: LLMParams | None = None
    history: Literal["inherit", "fresh"] | None = None
    system_prompt: str | Sequence[str] | None = None
    hand_out: HandOut = "nothing"
    on_failure: Literal["discard", "keep"] = "discard"
    finish_tool: Tool | None = None

    @property
    def has_own_context(self) -> bool:
        """Whether it runs on a context of its own; without any option it is a group of nodes on the one around it."""
        return any(
            given is not None
            for given in (
                self.tools,
                self.model,
                self.params,
                self.history,
                self.system_prompt,
                self.finish_tool,
            )
        )

    @cached_property
    def listed_tools(self) -> tuple[Tool | str, ...]:
        """The tools that are listed, made of functions where they are such, and the names of those around it.

        Raises:
            ToolError: A function cannot be a tool.
        """
        return tuple(one if isinstance(one, str | Tool) else Tool(one) for one in self.tools)

    @property
    def system_texts(self) -> tuple[str, ...]:
        """Its own system messages."""
        given = self.system_prompt
        return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def require_options(options: SubgraphOptions, name: str) -> None:
    """Refuse options that cannot be, or that do not go together.

    Raises:
        GraphError: The message names the subgraph and the option.
    """

    def refuse(option: str, text: str) -> GraphError:
        return GraphError(f"Subgraph {name!r}, {option}=: {text} Nothing was defined.")

    def require_word(option: str, given: Any, words: tuple[str, ...]) -> None:
        if given not in words:
            near = get_close_matches(given, words, n=1) if isinstance(given, str) else []
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise refuse(option, f"it is one of {', '.join(map(repr, words))}, not {given!r:.60}.{hint}")

    _require_tools(options, refuse)
    if options.model is not None and (not isinstance(options.model, LLModel | str) or not options.model):
        raise refuse("model", f"it is the name of a model, or a kb.LLModel, not {options.model!r:.60}.")
    if options.params is not None and not isinstance(options.params, LLMParams):
        raise refuse("params", f"it is kb.LLMParams(...), not {options.params!r:.60}.")
    if options.history is not None:
        require_word("history", options.history, _HISTORIES)
    given: Any = options.system_prompt
    if given is not None and not isinstance(given, str):
        if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
            raise refuse("system_prompt", f"it is a text or a list of texts, not {given!r:.60}.")
        if not given:
            raise refuse("system_prompt", "the list is empty. Leave it out to keep the messages around it.")
    if not callable(options.hand_out):
        require_word("hand_out", options.hand_out, _HAND_OUTS)
    require_word("on_failure", options.on_failure, _ON_FAILURE)
    if options.hand_out != "nothing" and options.history != "fresh":
        raise refuse(
            "hand_out",
            "it is for a history of its own, and this one hands over its final messages anyway. Add "
            "history='fresh', or leave it out.",
        )
    if options.on_failure == "keep" and not options.has_own_context:
        raise refuse(
            "on_failure",
            "it has no context of its own: what its nodes commit is kept in any case. Leave it out, or add "
            "history='inherit'.",
        )
    if options.on_failure == "keep" and options.history == "fresh" and options.hand_out == "nothing":
        raise refuse("on_failure", "there is nothing to keep. Say what is handed out: hand_out='all'.")


def _require_tools(options: SubgraphOptions, refuse: Callable[[str, str], GraphError]) -> None:
    tools = options.tools
    if tools is None or isinstance(tools, ToolsForTask):
        return
    if not isinstance(tools, list | tuple | ToolRegistry):
        raise refuse(
            "tools",
            f"it is a list of tools, functions, or names of tools around it, not {tools!r:.60}. Write tools=[...]; "
            "[] for none.",
        )
    wrong = next((one for one in tools if not isinstance(one, str) and not callable(one)), None)
    if wrong is not None:
        raise refuse("tools", f"{wrong!r:.60} is no tool, function or name of a tool.")
    try:
        listed = options.listed_tools
    except ToolError as problem:
        raise refuse("tools", str(problem)) from problem
    names = [one if isinstance(one, str) else one.name for one in listed]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise refuse("tools", f"two of them have the name {twice!r}. Leave one out.")
