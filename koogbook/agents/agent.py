"""The agent: an executor, a model, a strategy, and what is installed on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Literal, Self

from koogbook import clock
from koogbook.agents.arguments import (
    installed_already,
    require_executor,
    require_feature,
    require_installed,
    require_limits,
    require_strategy,
    require_tools,
    system_messages,
)
from koogbook.agents.ready import single_run_strategy
from koogbook.agents.run import Run
from koogbook.compression.compress import compress_session
from koogbook.errors import FeatureInstallError, FeatureNotInstalledError, WrongLoopError
from koogbook.events import (
    AgentClosing,
    Event,
    Notice,
    RunCompleted,
    RunFailed,
    RunStarting,
    StrategyCompleted,
    StrategyFailed,
    StrategyStarting,
)
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.llm.calls import ModelCalls
from koogbook.llm.context import LLMContext
from koogbook.llm.executor import Closing, PromptExecutor
from koogbook.llm.rw_lock import require_timeout
from koogbook.messages.model import LLModel, LLMParams
from koogbook.messages.pairing import open_calls
from koogbook.messages.prompt import Prompt
from koogbook.pipeline import (
    EventLog,
    Feature,
    InstalledFeature,
    Interceptor,
    Listener,
    OnHandlerError,
    Subscription,
    current_path,
    wrapped,
    wrappers,
)
from koogbook.runtime.builder import Strategy
from koogbook.runtime.checking.checks import require_runnable
from koogbook.runtime.compiled import CompiledStrategy, compile_strategy
from koogbook.runtime.context import Context, SharedRun
from koogbook.runtime.error_words import error_in_words
from koogbook.runtime.installing import not_installed
from koogbook.runtime.loop import run_graph
from koogbook.runtime.storage import Storage
from koogbook.tools.tool import Tool, ToolRegistry
from koogbook.tracebacks import from_users_code


class Agent(Closing):
    """Runs a strategy (Koog's ``AIAgent``); may be run many times, one after another or at once.

    Every run starts from what is given here: fresh prompt, tools, model, params, storage and iteration count.

    Args:
        executor: What answers requests. The agent does not close it.
        model: A model or its name.
        strategy: The graph to run; without one, the ready single-run strategy.
        system_prompt: One or several system messages.
        tools: Tools, or typed functions.
        id: The agent's id; without one, the strategy's name.
        max_iterations: How many node runs a run may have.
        params: Parameters of requests.
        compat: ``"koog"`` switches Koog's own defaults on where they are less careful.
        session_wait_seconds: How long a session waits for the lock at most.

    Raises:
        StrategyCheckError: The strategy cannot run; the message says what is to do.
        ToolError: A function cannot be a tool.
        TypeError: The executor, the strategy or the tools are none; the message says what to write.
        ValueError: ``session_wait_seconds`` is negative or no number.
    """

    def __init__(
        self,
        executor: PromptExecutor,
        model: LLModel | str,
        strategy: Strategy | None = None,
        *,
        system_prompt: str | Sequence[str] | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        id: str | None = None,
        max_iterations: int = 50,
        params: LLMParams | None = None,
        compat: Literal["", "koog"] = "",
        session_wait_seconds: float = 10.0,
    ) -> None:
        require_limits(max_iterations, compat)
        require_executor(executor)
        require_tools(tools)
        if strategy is not None:
            require_strategy(strategy)
        self.executor = executor
        self.strategy = single_run_strategy() if strategy is None else strategy
        require_runnable(self.strategy)
        self.model = executor.resolve(model)
        self.tools = ToolRegistry(tools)
        self.id = self.strategy.name if id is None else id
        self.max_iterations = max_iterations
        self.params = params or LLMParams()
        self.compat = compat
        self.session_wait_seconds = require_timeout(session_wait_seconds)
        self.last_run: Run | None = None
        self._system = system_messages(system_prompt)
        self._features: dict[str, InstalledFeature] = {}
        self._subscriptions: list[Subscription] = []
        self._was_run = False

    def install(self, feature: Feature) -> Self:
        """Install a feature (Koog's ``install``); each install is its own, with its own state.

        Raises:
            FeatureInstallError: It is no feature, is installed already, or the agent has run.
        """
        require_feature(feature)
        if self._was_run:
            raise FeatureInstallError(
                f"Agent {self.id!r} has run already; install {feature.key} before the first run, on a new agent."
            )
        if feature.key in self._features:
            raise installed_already(feature.key, self.id)
        self._features[feature.key] = require_installed(feature, feature.install(self))
        return self

    def on(
        self, listener: Listener, *events: type[Event], on_handler_error: OnHandlerError = "raise"
    ) -> Self:
        """Call a function for each event of these kinds (all kinds when none is given), at once and in order.

        Raises:
            FeatureInstallError: The function is async.
        """
        self._subscriptions.append(Subscription(listener, events, on_handler_error))
        return self

    def feature(self, key: str) -> Any:
        """An installed feature.

        Raises:
            FeatureNotInstalledError: It is not there; the message holds the line to add.
        """
        if key not in self._features:
            raise FeatureNotInstalledError(not_installed(key, self.id, was_run=self._was_run))
        return self._features[key]

    async def run(
        self,
        input: Any = None,
        session_id: str | None = None,
        *,
        on_start: Callable[[Run], None] | None = None,
    ) -> Run:
        """Run the strategy once.

        Args:
            input: What the strategy takes.
            session_id: The conversation; None makes a fresh one, an empty text is an id like any other.
            on_start: Called with the run before its first event, for who wants to look on.

        Raises:
            Exception: What a node, an interceptor or a listener raised; ``error.run`` is the run as far as it came.
        """
        compiled = compile_strategy(self.strategy)
        if session_id is not None and not isinstance(session_id, str):
            raise TypeError(f"session_id is a text or None, not {session_id!r:.60}. Nothing was run.")
        self._was_run = True
        context, interceptors = self._start(
            compiled, input, clock.new_id() if session_id is None else session_id
        )
        run = self.last_run = Run(context, tuple(self._features))
        log = context.log
        begun = {
            "agent_id": self.id,
            "strategy": compiled.name,
            "input": input,
            "features": tuple(self._features),
        }
        # What is said before the strategy starts is of this run, and not of a node that may run it as an inner one.
        token = current_path.set("")
        try:
            log.emit(RunStarting, "", **begun)
            self._bind(context)
            if on_start is not None:
                on_start(run)
            for change in self.strategy.take_untold_changes():
                log.notice("strategy changed", change, level="info")
            for finding in compiled.findings:
                if finding.kind == "defined_twice":
                    log.notice("defined twice", f"{finding.text} {finding.remedy}")
            around = wrappers(interceptors, "around_run", log.acted)
            run.output = await wrapped(around, partial(_run_strategy, context, interceptors), context)(input)
        except BaseException as problem:
            problem.__traceback__ = from_users_code(problem)
            _attach(problem, run)
            log.emit_quietly(
                RunFailed,
                "",
                error=f"{error_in_words(problem)}{_where(problem)}",
                cancelled=isinstance(problem, asyncio.CancelledError),
                acted=tuple(log.acted),
            )
            raise
        finally:
            current_path.reset(token)
            # A task that was left behind changes nothing any more.
            context.llm.over = f"run {run.run_id}"
            context.storage.end(context.llm.over, run.notice)
        try:
            _say_open_calls(context)
            log.emit(RunCompleted, "", output=run.output, acted=tuple(log.acted))
        except BaseException as problem:
            _attach(problem, run)
            raise
        return run

    def run_sync(self, input: Any = None, session_id: str | None = None) -> Run:
        """As :meth:`run`, for a script without an event loop.

        Raises:
            WrongLoopError: A loop is running, as in a notebook; the message holds what to write there.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run(input, session_id))
        raise WrongLoopError(
            "An event loop is running here, as in every notebook. Nothing was run. Write: run = await agent.run(...)"
        )

    async def fork(self, session_id: str, checkpoint_id: str, *, to: str) -> CheckpointInfo:
        """Start another session at a checkpoint of this one; both lines stay. ``run(None, session_id=to)`` goes on.

        Args:
            session_id: The session of the checkpoint.
            checkpoint_id: Its id, as much of it as is unique, or the name of a node: the last one saved after it.
            to: The id of the new session.

        Raises:
            FeatureNotInstalledError: Persistence is not installed.
            CheckpointNotFoundError: No such checkpoint.
            CheckpointConflictError: The new session id is in use.
            SessionBusyError: A run holds the new session id.
        """
        forked: CheckpointInfo = await self.feature("Persistence").fork(session_id, checkpoint_id, to)
        return forked

    async def close(self) -> None:
        """Flush the installed features, the last one first. Executors and stores belong to whoever made them."""
        subscriptions = list(self._subscriptions)
        for installed in self._features.values():
            subscriptions.extend(installed.subscriptions)
        async with AsyncExitStack() as closing:
            for installed in self._features.values():
                closing.push_async_callback(installed.close)
            EventLog("", "", subscriptions).emit(AgentClosing, "", agent_id=self.id)

    def __repr__(self) -> str:
        features = f", {', '.join(self._features)}" if self._features else ""
        return f"<agent {self.id!r}: strategy {self.strategy.name!r}, model {self.model}{features}>"

    def _start(
        self, compiled: CompiledStrategy, input: Any, session_id: str
    ) -> tuple[Context, list[Interceptor]]:
        run_id = clock.new_id()
        subscriptions = list(self._subscriptions)
        interceptors: list[Interceptor] = []
        for installed in self._features.values():
            subscriptions.extend(installed.subscriptions)
            for interceptor in installed.interceptors:
                interceptor.feature = interceptor.feature or installed.key
                interceptors.append(interceptor)
        log = EventLog(run_id, session_id, subscriptions)
        llm = LLMContext(
            compiled.name,
            prompt=Prompt(self._system, id=session_id, params=self.params),
            tools=self.tools,
            model=self.model,
            calls=ModelCalls(self.executor, log, interceptors),
            compressor=compress_session,
            wait_limit=self.session_wait_seconds,
            compat=self.compat,
        )
        shared = SharedRun(
            agent_id=self.id,
            run_id=run_id,
            session_id=session_id,
            strategy=compiled,
            log=log,
            input=input,
            max_iterations=self.max_iterations,
            features={},
            interceptors=interceptors,
        )
        return Context(shared, llm, Storage()), interceptors

    def _bind(self, context: Context) -> None:
        """Give the features what they need of a run, and its nodes what the features offer."""
        for key, installed in self._features.items():
            context.shared.features[key] = installed.bind(context)


async def _run_strategy(context: Context, interceptors: Sequence[Interceptor], value: Any) -> Any:
    strategy, log, resume = context.strategy, context.log, context.shared.resume
    # Conditions of the root graph are here, and not where an agent may be that runs this one inside a node of its own.
    token = current_path.set(strategy.name)
    try:
        log.emit(
            StrategyStarting,
            strategy=strategy.name,
            resumed_after="" if resume is None else resume.path,
            graph=strategy.shape,
        )
        output = await run_graph(context, strategy.graph, value, interceptors)
        log.emit(StrategyCompleted, strategy=strategy.name)
        return output
    except BaseException as problem:
        log.emit_quietly(
            StrategyFailed,
            strategy=strategy.name,
            error=error_in_words(problem),
            cancelled=isinstance(problem, asyncio.CancelledError),
        )
        raise
    finally:
        current_path.reset(token)


def _say_open_calls(context: Context) -> None:
    """A run that has ended, and calls of its history have no result: the next request on it would be refused."""
    messages = context.llm.committed.prompt.messages
    last = next((message for message in reversed(messages) if message.role != "tool"), None)
    if last is None or not last.calls:
        return
    waiting = open_calls(messages)
    if waiting:
        called = ", ".join(dict.fromkeys(call.tool for call in waiting))
        context.log.emit(
            Notice,
            "",  # of this run, and not of a node that may run it as an inner one
            kind="calls without results",
            text=f"the run has ended, and of the calls of its last answer these have no result: {called}. The next "
            "request with this history would be refused. Lead an answer with calls to a node that runs them: "
            "when=kb.has_tool_calls.",
        )


def _where(problem: BaseException) -> str:
    """In which condition or transformation it was raised; of nodes there is an event of their own."""
    notes = (note for note in getattr(problem, "__notes__", ()) if note.startswith(("in when=", "in map=")))
    return "".join(f" ({note})" for note in notes)


def _attach(problem: BaseException, run: Run) -> None:
    run.error = problem
    try:
        problem.run = run  # type: ignore[attr-defined]
    except AttributeError:
        problem.add_note("agent.last_run has the run as far as it came")
