"""The two ways into a run: listeners, which read events, and interceptors, which may change it.

A listener is any function of one event. It is called at once, in the order of installation, and gets no way to alter
the run: what it raises may end it (``on_handler_error``), after all listeners were told. Events hold the values of
the run itself, and no copies: a listener leaves them as they are. An interceptor is an :class:`Interceptor` that
defines some of its methods; those of one kind wrap each other, ordered by stage and then by installation, the first
one outermost.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from koogbook import clock
from koogbook.errors import FeatureInstallError
from koogbook.events import Event, HandlerFailed, Notice
from koogbook.functions import is_async

if TYPE_CHECKING:
    from koogbook.llm.request import Request
    from koogbook.messages.message import Message
    from koogbook.messages.parts import ToolCall

Listener = Callable[[Event], None]
OnHandlerError = Literal["raise", "log"]
_NOT_AWAITED = (
    "{!r} is an async function: a listener is called at once and cannot be awaited. "
    "Make it a plain function; it may put work on a queue."
)

#: Where in the strategy the current task is: ``strategy/subgraph/node``. Child tasks inherit it.
current_path: ContextVar[str] = ContextVar("koogbook_current_path", default="")


class Stage(IntEnum):
    """Where an interceptor stands; lower ones are further out."""

    LEASE = 10
    RESTORE = 20
    MEMORY = 30
    REQUEST = 40
    INNERMOST = 90


class Interceptor:
    """What may change a run. A feature's interceptor defines some of these and leaves the others as they are.

    Each wrapper gets ``call``, the rest of the chain, and returns what it returned, or something else. ``feature`` is
    the key under which a run says that it acted; an installed feature's key when left empty.
    """

    stage: Stage = Stage.REQUEST
    feature: str = ""

    async def around_run(self, run: Any, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """Wrap a whole run of a strategy."""
        return await call(value)

    async def around_node(
        self, context: Any, node: Any, value: Any, call: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Wrap an ordinary node, its events included."""
        return await call(value)

    async def around_llm_call(
        self, request: Request, call: Callable[[Request], Awaitable[Message]]
    ) -> Message:
        """Wrap a request to the executor.

        The record of the call keeps what was changed. A message that is put in says its layer with a tag,
        ``metadata=layer_tag("retrieval")``; see :mod:`koogbook.llm.layers`, also for messages that are loaded.
        """
        return await call(request)

    async def around_tool_call(
        self, tool_call: ToolCall, call: Callable[[ToolCall], Awaitable[Message]]
    ) -> Message:
        """Wrap one tool call of a model; the result is a tool message with the result of this call."""
        return await call(tool_call)

    async def on_restore(self, context: Any, checkpoint: Any) -> None:
        """The state of a checkpoint was put back, and the run is about to go on from it."""


@runtime_checkable
class InstalledFeature(Protocol):
    """One installation of a feature on one agent: its own state, made by :meth:`Feature.install`."""

    @property
    def key(self) -> str:
        """The feature's name, unique on an agent."""

    @property
    def subscriptions(self) -> Sequence[Subscription]:
        """Listeners, in order."""

    @property
    def interceptors(self) -> Sequence[Interceptor]:
        """What may change a run, in order."""

    def bind(self, context: Any, /) -> Any:
        """What nodes of a run get from ``ctx.feature(key)``."""

    async def close(self) -> None:
        """Flush; called once, when the agent is closed."""


@runtime_checkable
class Feature(Protocol):
    """What ``agent.install`` takes: a value that says how a feature is to be, and makes its state."""

    @property
    def key(self) -> str:
        """The feature's name, unique on an agent."""

    def install(self, agent: Any, /) -> InstalledFeature:
        """Make the state of one installation."""


Wrapper = Callable[..., Awaitable[Any]]  # (call, *leading, value) -> what call gives, or something else


def overriding(interceptors: Sequence[Interceptor], method: str) -> list[Any]:
    """The bound methods of those interceptors that define this one, outermost first."""
    return [getattr(one, method) for one in _defining(interceptors, method)]


def wrappers(interceptors: Sequence[Interceptor], method: str, acted: dict[str, None]) -> list[Wrapper]:
    """The wrappers of this kind, outermost first; ``acted`` takes the names of those that change something."""
    return [
        partial(_observed, getattr(one, method), acted, _acts_as(one))
        for one in _defining(interceptors, method)
    ]


def wrapping_features(interceptors: Sequence[Interceptor], method: str) -> list[str]:
    """Under which names those act that :func:`wrappers` gives for this kind, in the same order."""
    return [_acts_as(one) for one in _defining(interceptors, method)]


def _acts_as(interceptor: Interceptor) -> str:
    return interceptor.feature or type(interceptor).__name__


def _defining(interceptors: Sequence[Interceptor], method: str) -> list[Interceptor]:
    defining = [one for one in interceptors if getattr(type(one), method) is not getattr(Interceptor, method)]
    return sorted(defining, key=lambda one: one.stage)


def wrapped(around: Sequence[Wrapper], innermost: Callable[[Any], Awaitable[Any]], *leading: Any) -> Any:
    """A function of one value: the innermost one inside its wrappers, which get ``leading`` before the value."""
    call = innermost
    for wrapper in reversed(around):
        call = partial(wrapper, call, *leading)
    return call


async def _observed(
    around: Callable[..., Awaitable[Any]],
    acted: dict[str, None],
    feature: str,
    call: Callable[[Any], Awaitable[Any]],
    *given: Any,
) -> Any:
    if feature in acted:
        return await around(*given, call)
    inner = _Inner(call)
    try:
        result = await around(*given, inner)
    except Exception as problem:
        if problem is not inner.problem:
            acted[feature] = None
        raise
    if inner.times != 1 or inner.given is not given[-1] or inner.problem or inner.result is not result:
        acted[feature] = None
    return result


class _Inner:
    """The rest of a chain, which remembers what it was given and what it gave."""

    __slots__ = ("call", "given", "problem", "result", "times")

    def __init__(self, call: Callable[[Any], Awaitable[Any]]) -> None:
        self.call = call
        self.given: Any = None
        self.result: Any = None
        self.problem: BaseException | None = None
        self.times = 0

    async def __call__(self, value: Any) -> Any:
        self.times += 1
        self.given = value
        try:
            self.result = await self.call(value)
        except BaseException as problem:
            self.problem = problem
            raise
        return self.result


class Subscription:
    """A listener with the events it wants and what happens when it raises."""

    __slots__ = ("kinds", "listener", "name", "on_handler_error")

    def __init__(
        self, listener: Listener, kinds: tuple[type[Event], ...], on_handler_error: OnHandlerError
    ) -> None:
        if is_async(listener):
            raise FeatureInstallError(_NOT_AWAITED.format(listener))
        if on_handler_error not in ("raise", "log"):
            raise FeatureInstallError(f"on_handler_error is 'raise' or 'log', got {on_handler_error!r}.")
        self.listener: Callable[[Event], object] = listener
        self.kinds = kinds
        self.on_handler_error = on_handler_error
        self.name = getattr(listener, "__qualname__", type(listener).__qualname__)


class EventLog:
    """The events of one run: makes them, keeps them, hands them to the listeners.

    ``add`` records an event that has all its fields: what happens at every step is made without a detour. It raises
    what a listener raised that was installed with ``on_handler_error="raise"``. ``add_quietly`` is for a moment that
    may not fail, see :meth:`emit_quietly`. Without listeners there is nothing to either but keeping the event.
    """

    __slots__ = (
        "_numbers",
        "_raised",
        "_subscriptions",
        "acted",
        "add",
        "add_quietly",
        "events",
        "offset",
        "run_id",
        "session_id",
    )

    def __init__(self, run_id: str, session_id: str, subscriptions: Sequence[Subscription] = ()) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.events: list[Event] = []
        #: Keys of the features that changed or kept something in this run, in the order they first did.
        self.acted: dict[str, None] = {}
        self._subscriptions = tuple(subscriptions)
        self._numbers = itertools.count(1)
        self._raised: list[Exception] = []
        self.add: Callable[[Event], None] = self._add if subscriptions else self.events.append
        self.add_quietly: Callable[[Event], None] = self._add_quietly if subscriptions else self.events.append
        #: What is added to the monotonic time to get the wall time.
        self.offset = clock.now().timestamp() - clock.monotonic()

    def next_number(self) -> int:
        """The next number, from 1, by which the events of one tool call in this run are told from those of others."""
        return next(self._numbers)

    def came_of_listener(self, problem: BaseException) -> bool:
        """Whether a listener of this run has raised it, or what it comes of, and it is no failure of what goes on.

        It may be in a group, as a ``TaskGroup`` raises it, or the cause of what was raised instead.
        """
        looked_at: list[BaseException] = []
        to_look_at = [problem] if self._raised else []
        while to_look_at:
            one = to_look_at.pop()
            if any(one is raised for raised in self._raised):
                return True
            if not any(one is other for other in looked_at):
                looked_at.append(one)
                to_look_at += filter(None, (one.__cause__, one.__context__))
                to_look_at += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        return False

    def emit(self, kind: type[Event], path: str | None = None, /, **fields: Any) -> None:
        """Record an event of this kind, now, at ``path`` (default: where the current task is).

        Raises:
            Exception: What a listener raised that was installed with ``on_handler_error="raise"``.
        """
        self.add(self._made(kind, path, fields))

    def emit_quietly(self, kind: type[Event], path: str | None = None, /, **fields: Any) -> None:
        """Record an event at a moment that may not fail: while an exception is on its way, or from a timer.

        What a listener raises is recorded as :class:`HandlerFailed`, whatever it was installed with, so that it never
        takes the place of the exception, or of the cancellation, that the event is about.
        """
        self.add_quietly(self._made(kind, path, fields))

    def notice(self, kind: str, text: str, *, level: Literal["info", "warning"] = "warning") -> None:
        """Record that something was skipped, repaired, ignored, or needs a look."""
        self.emit(Notice, kind=kind, text=text, level=level)

    def _add(self, event: Event) -> None:
        self._hand_out(event, may_raise=True)

    def _add_quietly(self, event: Event) -> None:
        self._hand_out(event, may_raise=False)

    def _hand_out(self, event: Event, *, may_raise: bool) -> None:
        self.events.append(event)
        failed: list[tuple[Subscription, HandlerFailed]] = []
        raised: Exception | None = None
        for subscription in self._subscriptions:
            try:
                problem = self._deliver(subscription, event, may_raise=may_raise and raised is None)
            except Exception as first:
                # The others are told all the same: a trace or a span is not to miss what happened.
                raised = first
                continue
            if problem is not None:
                failed.append((subscription, problem))
        for by, told in failed:
            for subscription in self._subscriptions:
                # Of two that fail on this as well, neither is told of the other: they would go on for ever.
                if subscription is not by:
                    self._deliver(subscription, told, may_raise=False)
        if raised is not None:
            self._raised.append(raised)
            raise raised

    def _made(self, kind: type[Event], path: str | None, fields: dict[str, Any]) -> Event:
        # The fields are this call's own, so they are filled up in place: merging two sets of them costs more than
        # making the event does.
        fields["at"] = at = clock.monotonic()
        fields["time"] = self.offset + at
        fields["run_id"] = self.run_id
        fields["session_id"] = self.session_id
        fields["path"] = current_path.get() if path is None else path
        return kind(**fields)

    def _deliver(self, subscription: Subscription, event: Event, *, may_raise: bool) -> HandlerFailed | None:
        """Call a listener; the event that it failed, where that is recorded and not raised."""
        if subscription.kinds and not isinstance(event, subscription.kinds):
            return None
        try:
            returned = subscription.listener(event)
            if returned is not None and inspect.isawaitable(returned):
                if inspect.iscoroutine(returned):
                    returned.close()
                raise FeatureInstallError(_NOT_AWAITED.format(subscription.listener))
        except Exception as problem:
            if may_raise and subscription.on_handler_error == "raise":
                problem.add_note(f"raised by the listener {subscription.name} on {event.name}")
                raise
            error = f"{type(problem).__name__}: {problem}"
            fields = {"handler": subscription.name, "event": event.name, "error": error}
            failed = self._made(HandlerFailed, event.path, fields)
            self.events.append(failed)
            return failed if isinstance(failed, HandlerFailed) else None
        return None
