"""What an agent is made of and what is installed on it, or what to write in its place."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from koogbook.errors import FeatureInstallError, GraphError
from koogbook.messages.message import Message, system
from koogbook.pipeline import Feature, InstalledFeature, Interceptor
from koogbook.runtime.builder import Strategy, Subgraph
from koogbook.runtime.node import Node
from koogbook.tools.tool import Tool

_INSTALLED = ("key", "subscriptions", "interceptors", "bind", "close")

#: What does what a second installation of a feature would be for.
_INSTEAD = {
    "EventHandler": "Give all functions to one handler, several per event: "
    "kb.EventHandler(on_event=[first, second]); or add one with agent.on(second)",
    "Tracing": "A run is written into another file with kb.save_trace(run, path)",
}


def require_limits(max_iterations: Any, compat: Any) -> None:
    """Refuse a limit or a mode that is none.

    Raises:
        GraphError: The message says what it can be.
    """
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, int) or max_iterations < 1:
        raise GraphError(f"max_iterations counts node runs and is at least 1, got {max_iterations!r:.40}.")
    if compat not in ("", "koog"):
        raise GraphError(f"compat is 'koog' or nothing, got {compat!r}.")


def require_executor(executor: Any) -> None:
    """Refuse what answers no requests.

    Raises:
        TypeError: The message says what does.
    """
    if not callable(getattr(executor, "resolve", None)):
        raise TypeError(
            f"executor is what answers requests, such as kb.ExtractiveExecutor(), not {executor!r:.60}."
        )
    if isinstance(executor, type):
        raise TypeError(
            f"executor is an object that answers requests, not the class {executor.__name__}. Make one: "
            f"{_in_code(executor)}(...)."
        )


def require_strategy(strategy: Any) -> None:
    """Refuse what is no strategy.

    Raises:
        TypeError: The message says what makes one.
    """
    if isinstance(strategy, Strategy):
        return
    told, remedy = f"{strategy!r:.60}", "Make one: kb.strategy(name), or kb.chat_strategy()."
    if isinstance(strategy, FunctionType) and strategy.__name__.isidentifier():
        told, remedy = f"the function {strategy.__name__}", f"Call it: strategy={_in_code(strategy)}(...)."
    elif isinstance(strategy, Subgraph | Node):
        graph = strategy if isinstance(strategy, Subgraph) else strategy.graph
        at = strategy.path if isinstance(strategy, Node) else graph.path
        told, remedy = f"a part of one, {at!r}", f"Give the whole: {graph.root.name!r}."
    raise TypeError(f"strategy is a graph to run, made by kb.strategy(...), not {told}. {remedy}")


def require_tools(tools: Any) -> None:
    """Refuse what is no list of tools.

    Raises:
        TypeError: The message shows one.
    """
    if isinstance(tools, str | Tool) or not isinstance(tools, Iterable):
        raise TypeError(f"tools is a list of tools or typed functions, not {tools!r:.60}. Write tools=[...].")


def system_messages(prompt: Any) -> tuple[Message, ...]:
    """The system messages of one text or several.

    Raises:
        TypeError: It is neither.
    """
    texts = [] if prompt is None else [prompt] if isinstance(prompt, str) else prompt
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"system_prompt is a text or a list of texts, not {prompt!r:.60}.")
    return tuple(system(text, metadata={"from_agent": True}) for text in texts)


def require_feature(feature: Any) -> None:
    """Refuse what cannot be installed.

    Raises:
        FeatureInstallError: The message has the line to write.
    """
    if not isinstance(feature, type) and isinstance(feature, Feature):
        return
    given, right = repr(feature), "kb.Persistence(storage=kb.SqliteCheckpoints())"
    if isinstance(feature, type):
        given, right = f"the class {feature.__name__}", f"{_in_code(feature)}(...)"
    raise FeatureInstallError(
        f"install takes a feature, an object with a key and install(agent), and got {given}. Nothing was installed. "
        f"Write: agent.install({right})."
    )


def installed_already(key: str, agent_id: str) -> FeatureInstallError:
    """The error of a second installation, with what to do in its place."""
    instead = _INSTEAD.get(key, "Make another agent for the other one")
    return FeatureInstallError(
        f"{key} is installed on agent {agent_id!r} already, and an agent has one of each. The first one stays. "
        f"{instead}."
    )


def require_installed(feature: Feature, installed: object) -> InstalledFeature:
    """What a feature has made, if it is an installation of one.

    Raises:
        FeatureInstallError: Something is missing, or one of its interceptors is none.
    """
    if not isinstance(installed, InstalledFeature):
        missing = [name for name in _INSTALLED if not hasattr(installed, name)]
        raise FeatureInstallError(
            f"{type(feature).__name__}.install gave {installed!r}, which lacks {', '.join(missing)}. Nothing was "
            "installed. It gives a koogbook.pipeline.InstalledFeature."
        )
    given: Iterable[Any] = installed.interceptors
    for interceptor in given:
        if not isinstance(interceptor, Interceptor):
            remedy = (
                f"Give one of that class: {interceptor.__name__}()"
                if isinstance(interceptor, type)
                else f"Write: class {type(interceptor).__name__}(kb.Interceptor), with the methods that it changes"
            )
            raise FeatureInstallError(
                f"{feature.key} has {interceptor!r:.60} as an interceptor, which is none. Nothing was installed. "
                f"{remedy}."
            )
    return installed


def _in_code(made: Any) -> str:
    """What a class or a function is called in a line to write."""
    return f"{'kb.' if made.__module__.startswith('koogbook.') else ''}{made.__name__}"
