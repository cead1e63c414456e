"""A run, and the strategy that it runs."""

from __future__ import annotations

from typing import Any

from koogbook.events.event import Event


class RunStarting(Event, frozen=True, kw_only=True):
    """``agent.run`` was called (Koog's AgentStarting); ``features`` are the keys of those that are installed."""

    agent_id: str
    strategy: str
    input: Any = None
    features: tuple[str, ...] = ()


class RunCompleted(Event, frozen=True, kw_only=True):
    """The run gave its output (Koog's AgentCompleted).

    ``acted`` are the features that changed or kept something in it, in the order in which they first did.
    """

    output: Any = None
    acted: tuple[str, ...] = ()


class RunFailed(Event, frozen=True, kw_only=True):
    """The run ended with an exception or was cancelled (Koog's AgentExecutionFailed); ``acted`` as above."""

    error: str
    cancelled: bool = False
    acted: tuple[str, ...] = ()


class AgentClosing(Event, frozen=True, kw_only=True):
    """``agent.close()`` was called (Koog's AgentClosing)."""

    agent_id: str


class StrategyStarting(Event, frozen=True, kw_only=True):
    """The graph starts (Koog's GraphStrategyStarting), at its start node or, resumed, after the node ``resumed_after``.

    ``graph`` is its :class:`~koogbook.runtime.shape.GraphShape`: the nodes and edges as this run has them.
    """

    strategy: str
    resumed_after: str = ""
    graph: Any = None


class StrategyCompleted(Event, frozen=True, kw_only=True):
    """The graph reached its finish node (Koog's StrategyCompleted)."""

    strategy: str


class StrategyFailed(Event, frozen=True, kw_only=True):
    """The graph ended with an exception or was cancelled."""

    strategy: str
    error: str
    cancelled: bool = False
