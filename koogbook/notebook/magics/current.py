"""What a magic is about where its line does not say: the current strategy and agent, and the last run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar
from weakref import ref

from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.errors import FeatureNotInstalledError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.features.persistence.storage import ListsCheckpoints
from koogbook.notebook.magics.user_code import UserCode
from koogbook.notebook.magics.wrong_use import WrongUse, listed
from koogbook.runtime.builder import Strategy
from koogbook.runtime.shape import GraphShape

Kind = TypeVar("Kind", Strategy, Agent)


class Current:
    """The current strategy and agent of one notebook, whether a magic or plain Python made them."""

    def __init__(self, code: UserCode) -> None:
        self.code = code
        self._strategy: Remembered[Strategy] = Remembered(Strategy, "strategy", "--strategy", code)
        self._agent: Remembered[Agent] = Remembered(Agent, "agent", "", code)
        self._run: Run | None = None

    def strategy(self, flag: str = "--strategy") -> Strategy:
        """The one that a magic has made last, or the only one there is; ``flag`` is what its name is said with.

        Raises:
            WrongUse: There is none, or several, or the variable holds another one by now.
        """
        return self._strategy.get("Make one: %koog_strategy trip --input str --output str", flag)

    def agent(self, flag: str = "--agent") -> Agent:
        """As for :meth:`strategy`; ``flag`` is what stands before the agent's name in the line at hand."""
        return self._agent.get("Make one: %koog_agent, or agent = kb.Agent(...)", flag)

    def remember_strategy(self, name: str, strategy: Strategy) -> None:
        """Make it the current one."""
        self._strategy.remember(name, strategy)

    def remember_agent(self, name: str, agent: Agent) -> None:
        """Make it the current one."""
        self._agent.remember(name, agent)

    def remember_run(self, run: Run | None) -> None:
        """Know a run, also when no variable holds it."""
        self._run = run

    def last_run(self) -> Run:
        """The run that was started last, of all that the notebook holds.

        Raises:
            WrongUse: There is none.
        """
        run = self.known_run()
        if run is None:
            raise WrongUse("There is no run yet.", "Make one: %%koog_run, or run = await agent.run(...)")
        return run

    def known_run(self) -> Run | None:
        """The run that was started last; None where there is none."""
        runs = [self._run, *(agent.last_run for agent in self._agents()), *self.code.variables(Run).values()]
        return max((run for run in runs if run is not None), key=_started, default=None)

    def run_of(self, strategy: Strategy) -> Run | None:
        """The last run, where it is one of this strategy as it is now."""
        run = self.known_run()
        if run is None or _outline(run.strategy.shape) != _outline(strategy.shape()):
            return None
        return run

    def _agents(self) -> Iterable[Agent]:
        known = self._agent.known()
        return [*self.code.variables(Agent).values(), *([known] if known is not None else [])]


class Remembered(Generic[Kind]):
    """One thing that was made last, by the name of its variable; held weakly."""

    def __init__(self, kind: type[Kind], word: str, flag: str, code: UserCode) -> None:
        self._kind: type[Kind] = kind
        self._word = word
        self._flag = flag
        self._code = code
        self._name = ""
        self._last: ref[Kind] | None = None

    def remember(self, name: str, value: Kind) -> None:
        """Hold it, weakly."""
        self._name, self._last = name, ref(value)

    def known(self) -> Kind | None:
        """What is remembered, if it is still there."""
        return None if self._last is None else self._last()

    def get(self, remedy: str, flag: str = "") -> Kind:
        """What is meant where the line does not say.

        Raises:
            WrongUse: There is none, or several, or the variable holds another one by now.
        """
        if self._last is not None:
            known = self._last()
            if known is not None and self._code.held(self._name) is known:
                return known
            raise WrongUse(
                f"The current {self._word} is no longer what the variable {self._name} holds.",
                f"Say which one is meant: {self._say(flag)}{self._name}, or run %koog_{self._word} again.",
            )
        found = self._code.variables(self._kind)
        if not found:
            raise WrongUse(f"There is no {self._word} yet.", remedy)
        if len(found) > 1:
            raise WrongUse(
                f"There are several: {listed(found)}.",
                f"Say which {self._word} is meant: {self._say(flag)}NAME",
            )
        (only,) = found.values()
        return only

    def _say(self, flag: str) -> str:
        said = flag or self._flag
        return f"{said} " if said else ""


def _started(run: Run) -> float:
    return run.events[0].time if run.events else 0.0


def _outline(shape: GraphShape) -> tuple[object, ...]:
    """What must be as it was for a drawing of the strategy to show what happened in a run."""
    return (
        {node.path for node in shape.nodes},
        {(edge.source, edge.target, edge.order) for edge in shape.edges},
    )


def stored(agent: Agent) -> list[CheckpointInfo] | None:
    """The checkpoints in an agent's store; None where it has no store, or one that cannot list."""
    try:
        store = agent.feature("Persistence").storage
    except FeatureNotInstalledError:
        return None
    return store.list_infos() if isinstance(store, ListsCheckpoints) else None
