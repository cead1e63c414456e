"""Listeners read events and cannot change a run; interceptors wrap it in a fixed order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from koogbook.clock import FixedClock
from koogbook.errors import FeatureInstallError
from koogbook.events import Event, HandlerFailed, Notice, RunCompleted, RunFailed
from koogbook.pipeline import (
    EventLog,
    Interceptor,
    Stage,
    Subscription,
    current_path,
    overriding,
    wrapped,
    wrappers,
)


def _log(*subscriptions: Subscription) -> EventLog:
    return EventLog("run-1", "session-1", subscriptions)


def _raising(text: str) -> Callable[[Event], None]:
    def listener(event: Event) -> None:
        raise ValueError(text)

    return listener


def test_every_event_carries_run_and_session_id(fixed_clock: FixedClock) -> None:
    """Two runs in one trace can be told apart [AGT-03a]."""
    log = _log()
    log.emit(RunCompleted, output=1)

    assert (log.events[0].run_id, log.events[0].session_id) == ("run-1", "session-1")


def test_an_event_has_the_wall_time_and_the_monotonic_time_of_one_moment(fixed_clock: FixedClock) -> None:
    """Both clocks say the same however far time has gone on [AGT-03]."""
    log = _log()
    fixed_clock.advance(90)
    log.emit(RunCompleted)

    assert log.events[0].at == 90
    assert log.events[0].when == fixed_clock.now()


def test_an_event_is_frozen() -> None:
    """A listener cannot change what others read [AGT-02]."""
    log = _log()
    log.emit(RunCompleted, output=1)

    with pytest.raises(AttributeError):
        log.events[0].output = 2  # type: ignore[attr-defined]


def test_the_path_of_an_event_is_where_the_task_is() -> None:
    """Nobody has to hand the path around [AGT-03]."""
    log = _log()
    token = current_path.set("trip/answer")
    log.emit(RunCompleted)
    current_path.reset(token)
    log.emit(RunCompleted, "given")

    assert [event.path for event in log.events] == ["trip/answer", "given"]


def test_listeners_are_called_in_the_order_of_installation() -> None:
    """Several listeners per event, in install order [AGT-02]."""
    seen: list[str] = []
    log = _log(*(Subscription(partial(_note, seen, name), (), "raise") for name in "abc"))
    log.emit(RunCompleted)

    assert seen == ["a", "b", "c"]


def _note(seen: list[str], name: str, event: Event) -> None:
    seen.append(name)


def test_a_listener_gets_only_the_kinds_that_it_asked_for() -> None:
    """A subscription to one kind is not called for another [AGT-02]."""
    seen: list[Event] = []
    log = _log(Subscription(seen.append, (RunFailed,), "raise"))
    log.emit(RunCompleted)
    log.emit(RunFailed, error="x")

    assert [event.name for event in seen] == ["RunFailed"]


def test_a_listener_of_a_family_gets_its_members() -> None:
    """Asking for the root of all events means all of them [AGT-02]."""
    seen: list[Event] = []
    log = _log(Subscription(seen.append, (Event,), "raise"))
    log.emit(RunCompleted)

    assert seen == log.events


def test_a_raising_listener_stops_the_run_under_raise() -> None:
    """``on_handler_error="raise"`` hands the exception on, with a note that names listener and event [AGT-02]."""
    log = _log(Subscription(_raising("broken"), (), "raise"))

    with pytest.raises(ValueError, match="broken") as caught:
        log.emit(RunCompleted)
    assert "listener" in caught.value.__notes__[0]
    assert "RunCompleted" in caught.value.__notes__[0]


def test_the_event_itself_is_kept_when_its_listener_raises() -> None:
    """The record of what happened does not depend on who reads it [AGT-02]."""
    log = _log(Subscription(_raising("broken"), (), "raise"))

    with pytest.raises(ValueError, match="broken"):
        log.emit(RunCompleted)
    assert [event.name for event in log.events] == ["RunCompleted"]


def test_all_listeners_are_told_before_the_first_exception_is_raised() -> None:
    """A trace or a span misses nothing, and a second exception is an event [AGT-02]."""
    heard: list[str] = []
    log = _log(
        Subscription(_raising("logged"), (Notice,), "log"),
        Subscription(_raising("first"), (Notice,), "raise"),
        Subscription(_raising("second"), (Notice,), "raise"),
        Subscription(lambda event: heard.append(getattr(event, "error", event.name)), (), "raise"),
    )

    with pytest.raises(ValueError, match="first"):
        log.notice("kind", "text")

    assert heard == ["Notice", "ValueError: logged", "ValueError: second"]
    assert [event.name for event in log.events] == ["Notice", "HandlerFailed", "HandlerFailed"]


def test_a_raising_listener_is_recorded_under_log_and_the_others_are_called() -> None:
    """``on_handler_error="log"`` goes on and leaves an event behind, which the others are told [AGT-02, AGT-03]."""
    seen: list[Event] = []
    log = _log(Subscription(_raising("broken"), (), "log"), Subscription(seen.append, (), "raise"))
    log.emit(RunCompleted, "trip/answer")

    failed = log.events[1]
    assert isinstance(failed, HandlerFailed)
    assert (failed.event, failed.error, failed.path) == ("RunCompleted", "ValueError: broken", "trip/answer")
    assert [event.name for event in seen] == ["RunCompleted", "HandlerFailed"]


def test_an_event_about_a_failure_never_raises() -> None:
    """A broken listener does not take the place of the exception that is on its way [AGT-02]."""
    log = _log(Subscription(_raising("broken"), (), "raise"))
    log.emit_quietly(RunFailed, error="the real one")

    assert [event.name for event in log.events] == ["RunFailed", "HandlerFailed"]


@pytest.mark.parametrize("subscriptions", [(), (Subscription(lambda event: None, (), "raise"),)], ids=len)
def test_an_event_that_has_all_its_fields_is_kept_as_it_is(subscriptions: Any) -> None:
    """With listeners and without [AGT-03]."""
    log, first, second = _log(*subscriptions), RunCompleted(output=1), RunFailed(error="x")
    log.add(first)
    log.add_quietly(second)

    assert [event is given for event, given in zip(log.events, (first, second), strict=True)] == [True, True]


def test_an_event_that_is_added_quietly_never_raises() -> None:
    """It reaches the listeners all the same [AGT-02]."""
    log = _log(Subscription(_raising("broken"), (RunFailed,), "raise"))
    log.add(RunCompleted())
    log.add_quietly(RunFailed(error="the real one"))

    assert [event.name for event in log.events] == ["RunCompleted", "RunFailed", "HandlerFailed"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_listener_is_never_swallowed(kind: type[BaseException]) -> None:
    """Interrupting a cell ends it, even while a listener runs [AGT-06]."""

    def listener(event: Event) -> None:
        raise kind

    log = _log(Subscription(listener, (), "log"))

    with pytest.raises(kind):
        log.emit(RunCompleted)


class _AsyncCallable:
    async def __call__(self, event: Event) -> None:
        """Never reached."""


async def _async_listener(event: Event) -> None:
    """Never reached."""


@pytest.mark.parametrize(
    "listener",
    [_async_listener, _AsyncCallable(), partial(_async_listener)],
    ids=["function", "object", "partial"],
)
def test_an_async_listener_is_refused_when_it_is_installed(listener: Any) -> None:
    """Nobody would ever await it [AGT-02]."""
    with pytest.raises(FeatureInstallError, match="plain function"):
        Subscription(listener, (), "raise")


def test_a_listener_that_gives_a_coroutine_is_refused_when_it_is_called() -> None:
    """A plain function around an async one would silently do nothing [AGT-02]."""
    listener: Any = lambda event: _async_listener(event)  # noqa: E731
    log = _log(Subscription(listener, (), "raise"))

    with pytest.raises(FeatureInstallError, match="cannot be awaited"):
        log.emit(RunCompleted)


def test_an_unknown_word_for_handler_errors_is_refused() -> None:
    """A typing error would otherwise hide every failure [AGT-02]."""
    wrong: Any = "ignore"

    with pytest.raises(FeatureInstallError, match="'raise' or 'log'"):
        Subscription(print, (), wrong)


def test_a_notice_is_an_event() -> None:
    """What was skipped or repaired can be seen by everybody [AGT-03]."""
    log = _log()
    log.notice("tool missing", "the checkpoint offers tools that the agent has not")

    assert isinstance(log.events[0], Notice)
    assert log.events[0].level == "warning"


class _Wraps(Interceptor):
    def __init__(self, name: str, stage: Stage, seen: list[str]) -> None:
        self.name = name
        self.stage = stage
        self.seen = seen

    async def around_run(self, run: Any, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        self.seen.append(self.name)
        return await call(value)


class _WrapsNothing(Interceptor):
    """Defines no method."""


def test_interceptors_are_ordered_by_stage_and_then_by_installation() -> None:
    """The first one of the lowest stage is outermost [AGT-02]."""
    seen: list[str] = []
    installed = [
        _Wraps("memory 1", Stage.MEMORY, seen),
        _Wraps("lease", Stage.LEASE, seen),
        _Wraps("memory 2", Stage.MEMORY, seen),
        _Wraps("restore", Stage.RESTORE, seen),
    ]
    order = [method.__self__.name for method in overriding(installed, "around_run")]

    assert order == ["lease", "restore", "memory 1", "memory 2"]


def test_an_interceptor_that_leaves_a_method_alone_is_not_called() -> None:
    """Wrapping costs nothing where nobody asked for it [AGT-02]."""
    assert overriding([_WrapsNothing(), _Wraps("x", Stage.MEMORY, [])], "around_node") == []


class _Acts(Interceptor):
    feature = "own"

    def __init__(self, act: Callable[[Any, Callable[[Any], Awaitable[Any]]], Awaitable[Any]]) -> None:
        self.act = act

    async def around_run(self, run: Any, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        return await self.act(value, call)


async def _only_looks(value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    return await call(value)


async def _changes_the_input(value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    return await call([*value, "more"])


async def _changes_the_result(value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    return [*await call(value), "more"]


async def _answers_itself(value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    return value


async def _tries_twice(value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    await call(value)
    return await call(value)


async def _raises(value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    await call(value)
    raise OSError


async def _rescues(value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    with suppress(LookupError):
        return await call(value)


async def _echo(value: Any) -> Any:
    return value


async def _fails(value: Any) -> Any:
    raise LookupError


async def _acted(act: Any, innermost: Any = _echo) -> list[str]:
    acted: dict[str, None] = {}
    with suppress(OSError, LookupError):
        await wrapped(wrappers([_Acts(act)], "around_run", acted), innermost, "the run")(["value"])
    return list(acted)


@pytest.mark.parametrize(
    ("act", "innermost"),
    [
        (_changes_the_input, _echo),
        (_changes_the_result, _echo),
        (_answers_itself, _echo),
        (_tries_twice, _echo),
        (_raises, _echo),
        (_rescues, _fails),
    ],
)
async def test_a_feature_whose_interceptor_changes_something_has_acted(act: Any, innermost: Any) -> None:
    """Input, result, number of calls, or failure: nobody has to say it by hand [AGT-02]."""
    assert await _acted(act, innermost) == ["own"]


@pytest.mark.parametrize("innermost", [_echo, _fails])
async def test_a_feature_whose_interceptor_only_looks_on_has_not_acted(innermost: Any) -> None:
    """A failure that only passes through is not its own [AGT-02]."""
    assert await _acted(_only_looks, innermost) == []


# ------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("path", "parent"), [("trip/tools/call", "trip/tools"), ("trip/answer", "trip"), ("trip", ""), ("", "")]
)
def test_the_parent_of_an_event_is_what_its_path_stands_in(path: str, parent: str) -> None:
    """Subgraph, strategy, or nothing [AGT-03]."""
    assert RunCompleted(path=path).parent == parent


def test_two_listeners_that_fail_on_each_others_failures_come_to_an_end() -> None:
    """Each failure is told once, and recorded [AGT-02]."""
    log = _log(Subscription(_raising("one"), (), "log"), Subscription(_raising("two"), (), "log"))
    log.emit(RunCompleted, "trip/answer")

    assert [event.name for event in log.events] == ["RunCompleted", *["HandlerFailed"] * 4]
