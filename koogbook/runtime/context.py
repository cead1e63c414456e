"""What a node sees of its run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from koogbook.errors import FeatureNotInstalledError
from koogbook.llm.context import LLMContext
from koogbook.messages.message import Message
from koogbook.messages.parts import ToolCall
from koogbook.pipeline import EventLog, Interceptor, current_path, overriding, wrappers
from koogbook.runtime.storage import Storage
from koogbook.tools.environment import run_calls

if TYPE_CHECKING:
    from koogbook.runtime.compiled import CompiledStrategy

T = TypeVar("T")


class ResumePoint:
    """Where a run goes on: after the node at ``path``, with its output."""

    __slots__ = ("output", "path")

    def __init__(self, path: str, output: Any) -> None:
        self.path = path
        self.output = output


class Context:
    """The context that every node of a run gets (Koog's ``AIAgentGraphContext``).

    ``llm`` opens sessions, ``storage`` keeps typed values for this run, ``input`` is what the run was started with.
    ``session_id`` names the conversation, ``run_id`` this call of ``agent.run``.
    """

    __slots__ = (
        "_features",
        "_interceptors",
        "agent_id",
        "input",
        "iterations",
        "llm",
        "log",
        "max_iterations",
        "resume",
        "run_id",
        "session_id",
        "storage",
        "strategy",
        "visits",
    )

    def __init__(
        self,
        *,
        agent_id: str,
        run_id: str,
        session_id: str,
        strategy: CompiledStrategy,
        llm: LLMContext,
        log: EventLog,
        input: Any,
        max_iterations: int,
        features: Mapping[str, Any],
        interceptors: Sequence[Interceptor] = (),
    ) -> None:
        self.agent_id = agent_id
        self.run_id = run_id
        self.session_id = session_id
        self.strategy = strategy
        self.llm = llm
        self.log = log
        self.input = input
        self.max_iterations = max_iterations
        self.storage = Storage()
        self.iterations = 0
        self.visits: dict[str, int] = {}
        self.resume: ResumePoint | None = None
        self._features = features
        self._interceptors = interceptors

    @property
    def strategy_name(self) -> str:
        """The strategy's name."""
        return self.strategy.name

    @property
    def path(self) -> str:
        """Where this task is: ``strategy/subgraph/node``."""
        return current_path.get()

    @property
    def node_path(self) -> str:
        """The path with the agent id before it, as Koog prints it."""
        return f"{self.agent_id}/{self.path}"

    async def run_tools(self, calls: Message | Iterable[ToolCall]) -> list[Message]:
        """Run the tool calls of a reply with the committed tools; one result message per call, in call order.

        Failures become error results for the model. Append what it gives to the history.
        """
        asked = calls.calls if isinstance(calls, Message) else calls
        around = wrappers(self._interceptors, "around_tool_call", self.log.acted)
        return await run_calls(asked, self.llm.committed.tools, self.log, around)

    async def restored(self, checkpoint: Any) -> None:
        """Tell the interceptors that the state of a checkpoint was put back: their ``on_restore``, in order."""
        for hook in overriding(self._interceptors, "on_restore"):
            self.log.acted[hook.__self__.feature] = None
            await hook(self, checkpoint)

    def feature(self, key: str, line: str = "") -> Any:
        """What a feature offers to nodes.

        Raises:
            FeatureNotInstalledError: The agent does not have it; the message holds the line to add.
        """
        found = self._features.get(key)
        if found is None:
            raise FeatureNotInstalledError(
                f"{key} is not installed on agent {self.agent_id!r}. Add it before the first run: "
                f"agent.install({line or f'kb.{key}(...)'})."
            )
        return found

    def persistence(self) -> Any:
        """The checkpoints of this run (Koog's ``persistence()``).

        Raises:
            FeatureNotInstalledError: Persistence is not installed.
        """
        return self.feature("Persistence", "kb.Persistence(storage=kb.SqliteCheckpoints())")

    def with_persistence(self, action: Callable[[Any], T]) -> T:
        """Call a function with :meth:`persistence` (Koog's ``withPersistence``).

        Raises:
            FeatureNotInstalledError: Persistence is not installed.
        """
        return action(self.persistence())

    def long_term_memory(self) -> Any:
        """The long-term memory of this agent (Koog's ``longTermMemory()``).

        Raises:
            FeatureNotInstalledError: It is not installed.
        """
        return self.feature("LongTermMemory")
