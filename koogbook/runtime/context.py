"""What a node sees of its run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from koogbook.errors import FeatureNotInstalledError
from koogbook.llm.context import LLMContext
from koogbook.messages.message import Message
from koogbook.messages.parts import ToolCall
from koogbook.pipeline import EventLog, Interceptor, current_path, overriding, wrappers
from koogbook.runtime.installing import not_installed
from koogbook.runtime.storage import Storage
from koogbook.runtime.threads import call_on_loop
from koogbook.tools.environment import run_calls

if TYPE_CHECKING:
    from koogbook.runtime.compiled import CompiledStrategy

T = TypeVar("T")
P = ParamSpec("P")

#: How many tools run at once where nobody says how many (Koog's default).
_AT_ONCE = 16


class ResumePoint:
    """Where a run goes on: after the node at ``path``, with its output."""

    __slots__ = ("output", "path")

    def __init__(self, path: str, output: Any) -> None:
        self.path = path
        self.output = output


class SharedRun:
    """What all contexts of one run have in common, those of branches and subgraphs included."""

    __slots__ = (
        "agent_id",
        "features",
        "input",
        "interceptors",
        "iterations",
        "log",
        "max_iterations",
        "resume",
        "run_id",
        "session_id",
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
        log: EventLog,
        input: Any,
        max_iterations: int,
        features: dict[str, Any],
        interceptors: Sequence[Interceptor] = (),
    ) -> None:
        self.agent_id = agent_id
        self.run_id = run_id
        self.session_id = session_id
        self.strategy = strategy
        self.log = log
        self.input = input
        self.max_iterations = max_iterations
        self.features = features
        self.interceptors = interceptors
        self.iterations = 0
        self.visits: dict[str, int] = {}
        self.resume: ResumePoint | None = None


class Context:
    """The context that every node of a run gets (Koog's ``AIAgentGraphContext``).

    ``llm`` opens sessions, ``storage`` keeps typed values for this run, ``input`` is what the run was started with.
    ``session_id`` names the conversation, ``run_id`` this call of ``agent.run``.

    A branch of a parallel block has a context of its own, with an own ``llm`` and an own ``storage``, and so has a
    subgraph with own tools, model, parameters or history, with an own ``llm``; see :meth:`fork`.
    """

    __slots__ = ("is_root", "llm", "log", "shared", "storage")

    def __init__(self, shared: SharedRun, llm: LLMContext, storage: Storage, *, is_root: bool = True) -> None:
        self.shared = shared
        self.llm = llm
        self.storage = storage
        self.log: EventLog = shared.log
        #: Whether it is the run's own, whose state a checkpoint holds, and none of a branch or a subgraph.
        self.is_root = is_root

    def fork(self, llm: LLMContext, storage: Storage | None = None) -> Context:
        """A context for a part of this run (Koog's ``fork``), on another LLM context.

        ``storage`` is this one's own where it is left out.
        """
        return Context(self.shared, llm, self.storage if storage is None else storage, is_root=False)

    @property
    def agent_id(self) -> str:
        """The agent's id."""
        return self.shared.agent_id

    @property
    def run_id(self) -> str:
        """This call of ``agent.run``."""
        return self.shared.run_id

    @property
    def session_id(self) -> str:
        """The conversation (Koog's runId)."""
        return self.shared.session_id

    @property
    def strategy(self) -> CompiledStrategy:
        """The strategy as this run has it."""
        return self.shared.strategy

    @property
    def input(self) -> Any:
        """What the run was started with; of a resumed one, what it was begun with."""
        return self.shared.input

    @property
    def iterations(self) -> int:
        """Node runs so far, in branches and subgraphs too."""
        return self.shared.iterations

    @property
    def max_iterations(self) -> int:
        """How many node runs this run may have."""
        return self.shared.max_iterations

    @property
    def strategy_name(self) -> str:
        """The strategy's name."""
        return self.shared.strategy.name

    @property
    def path(self) -> str:
        """Where this task is: ``strategy/subgraph/node``."""
        return current_path.get()

    @property
    def node_path(self) -> str:
        """The path with the agent id before it, as Koog prints it."""
        return f"{self.agent_id}/{self.path}"

    def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """From a node that runs in a thread (``thread=True``): await an async function on the run's loop.

        The thread waits for what it gives. Sessions are used so: ``ctx.call(ask, ctx)`` with an ``async def ask``.

        Raises:
            WrongLoopError: It is called on the loop itself, which would wait for itself: write ``await``.
            CancelledError: The run was stopped; nothing was called.
        """
        return call_on_loop(function, *args, **kwargs)

    async def run_tools(
        self, calls: Message | Iterable[ToolCall], *, parallel: int | bool = False
    ) -> list[Message]:
        """Run the tool calls of a reply with the committed tools; one result message per call, in call order.

        Failures become error results for the model. Append what it gives to the history.

        Args:
            calls: The reply, or its calls.
            parallel: One after another, or at once: at most so many, 16 with ``True`` (Koog's ``parallelTools``).

        Raises:
            TypeError: It is something else, or one call alone.
        """
        given: Any = calls.calls if isinstance(calls, Message) else calls
        asked = list(given) if isinstance(given, Iterable) else [given]
        wrong = [f"{type(one).__name__} {one!r:.60}" for one in asked if not isinstance(one, ToolCall)]
        if wrong or isinstance(given, ToolCall):
            said, line = (wrong[0], "reply") if wrong else ("one call alone", "[call]")
            raise TypeError(
                f"ctx.run_tools takes a reply, or the calls of one, not {said}. Nothing was run. Write "
                f"ctx.run_tools({line})."
            )
        around = wrappers(self.shared.interceptors, "around_tool_call", self.log.acted)
        at_once = _AT_ONCE if parallel is True else int(parallel)
        limit: dict[str, Any] = {"parallel": at_once} if at_once else {}
        return await run_calls(asked, self.llm.committed.tools, self.log, around, **limit)

    async def restored(self, checkpoint: Any) -> None:
        """Tell the interceptors that the state of a checkpoint was put back: their ``on_restore``, in order."""
        for hook in overriding(self.shared.interceptors, "on_restore"):
            self.log.acted[hook.__self__.feature] = None
            await hook(self, checkpoint)

    def feature(self, key: str) -> Any:
        """What a feature offers to nodes.

        Raises:
            FeatureNotInstalledError: The agent does not have it; the message holds the line to add.
        """
        if key not in self.shared.features:
            raise FeatureNotInstalledError(not_installed(key, self.agent_id, was_run=True))
        return self.shared.features[key]

    def persistence(self) -> Any:
        """The checkpoints of this run (Koog's ``persistence()``).

        Raises:
            FeatureNotInstalledError: Persistence is not installed.
        """
        return self.feature("Persistence")

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
