"""A session that would wait for ever, because a holder waits for its task, is refused within a moment."""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.code_place import CodeExcerpt
from koogbook.errors import NestedSessionError, SessionTimeoutError
from koogbook.llm.context import LLMContext
from koogbook.llm.rw_lock import RWLock
from koogbook.llm.wait_cycles import Step, awaiting, way_up
from koogbook.pipeline import Subscription

Child = Coroutine[Any, Any, None]
Settle = Callable[[], Awaitable[None]]


async def _by_await(child: Child) -> None:
    await asyncio.ensure_future(child)


async def _by_gather(child: Child) -> None:
    await asyncio.gather(asyncio.sleep(0), child)


async def _by_wait(child: Child) -> None:
    await asyncio.wait([asyncio.ensure_future(child)])


async def _by_wait_for(child: Child) -> None:
    await asyncio.wait_for(asyncio.ensure_future(child), 60)


async def _by_shield(child: Child) -> None:
    await asyncio.shield(child)


async def _by_group(child: Child) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(child)


async def _by_anyio_group(child: Child) -> None:
    import anyio

    async def begin() -> None:
        await child

    async with anyio.create_task_group() as group:
        group.start_soon(begin)


WAYS = [_by_await, _by_gather, _by_wait, _by_wait_for, _by_shield, _by_group, _by_anyio_group]


def _way(way: Any) -> str:
    return str(way.__name__).removeprefix("_by_")


class Visitor:
    """Opens a session and remembers how that went."""

    def __init__(self, context: LLMContext, kind: str = "write", timeout: float | None = None) -> None:
        self.open: Any = getattr(context, f"{kind}_session")
        self.timeout = timeout
        self.refused: NestedSessionError | None = None
        self.entered = False

    async def visit(self) -> None:
        """A short session."""
        try:
            async with self.open(timeout=self.timeout):
                self.entered = True
        except NestedSessionError as problem:
            self.refused = problem


def _refusals(context: LLMContext) -> list[events.SessionRefused]:
    return [event for event in context.log.events if isinstance(event, events.SessionRefused)]


def _is_free(context: LLMContext) -> bool:
    state = context.statistics()
    return (state.readers, state.writer, state.queue) == ((), None, ())


# ------------------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize("way", WAYS, ids=_way)
@pytest.mark.parametrize(("outer", "inner"), [("write", "write"), ("write", "read"), ("read", "write")])
async def test_a_session_of_a_task_that_the_holder_awaits_is_refused(
    context: LLMContext, outer: str, inner: str, way: Callable[[Child], Awaitable[None]]
) -> None:
    """However it awaits it; the block then goes on, and the lock is free at its end [SES-10]."""
    visitor = Visitor(context, inner)
    async with Visitor(context, outer).open():
        await way(visitor.visit())

    assert visitor.refused is not None
    assert not visitor.entered
    assert _is_free(context)


@pytest.mark.parametrize(
    ("way", "waits"),
    [
        (_by_await, "awaits it"),
        (_by_gather, "awaits it through gather"),
        (_by_wait, "awaits it through wait"),
        (_by_shield, "awaits it through shield"),
        (_by_group, "awaits it through TaskGroup"),
    ],
    ids=lambda one: _way(one) if callable(one) else "",
)
async def test_the_refusal_names_both_places_and_how_the_holder_waits(
    context: LLMContext, way: Callable[[Child], Awaitable[None]], waits: str
) -> None:
    """In the error and in the event [SES-10]."""
    visitor = Visitor(context)
    async with context.write_session():
        await way(visitor.visit())
    told = _refusals(context)[0]

    assert visitor.refused is not None
    assert visitor.refused.first != visitor.refused.second
    for word in (visitor.refused.first, visitor.refused.second, waits, "nothing was changed"):
        assert word in str(visitor.refused)
    assert (told.first, told.place, told.first_mode) == (
        visitor.refused.first,
        visitor.refused.second,
        "write",
    )
    assert told.waits == waits


async def test_a_chain_of_waiting_tasks_is_followed_to_its_end(context: LLMContext) -> None:
    """Through any number of tasks [SES-10]."""
    visitor = Visitor(context)

    async def inner() -> None:
        await asyncio.ensure_future(visitor.visit())

    async with context.write_session():
        await _by_group(_by_gather(inner()))

    assert visitor.refused is not None
    assert _refusals(context)[0].waits == "awaits it through TaskGroup and gather"


async def test_every_child_that_the_holder_awaits_is_refused(context: LLMContext) -> None:
    """Two openings that are wrong in the same way are told so alike [SES-10]."""
    visitors = [Visitor(context), Visitor(context, "read"), Visitor(context)]
    async with context.write_session():
        await asyncio.gather(*(visitor.visit() for visitor in visitors))

    assert all(visitor.refused is not None for visitor in visitors)
    assert [event.waits for event in _refusals(context)] == ["awaits it through gather"] * 3


async def test_an_exception_of_the_refusal_reaches_the_holder_like_any_other(context: LLMContext) -> None:
    """Where the child does not catch it, gather raises it; nothing is committed [SES-10]."""

    async def write() -> None:
        async with context.write_session():
            pass

    with pytest.raises(NestedSessionError):
        async with context.write_session() as session:
            session.append(kb.user("lost"))
            await asyncio.gather(write(), write())

    assert len(context.committed.prompt) == 2
    assert _is_free(context)


async def test_a_reading_child_behind_a_waiting_writer_is_refused(
    context: LLMContext, settle: Settle
) -> None:
    """It waits for the writer, the writer for the reading parent, the parent for it [SES-10]."""
    child, between = Visitor(context, "read"), Visitor(context)
    async with context.read_session():
        writer = asyncio.ensure_future(between.visit())
        await settle()
        await asyncio.gather(child.visit())
    await writer

    assert child.refused is not None
    assert between.entered


async def test_a_reading_child_of_a_reader_enters_when_nobody_waits(context: LLMContext) -> None:
    """Readers do not wait for readers, whoever awaits whom [SES-10]."""
    child = Visitor(context, "read")
    async with context.read_session():
        await asyncio.gather(child.visit())

    assert child.entered


async def test_two_tasks_that_hold_what_the_other_wants_do_not_hang(make_context: Any) -> None:
    """One of them is refused, and the other one enters [SES-10]."""
    one, two = make_context(lock=RWLock("one")), make_context(lock=RWLock("two"))
    both_in = asyncio.Barrier(2)
    visitors: list[Visitor] = []

    async def hold(first: LLMContext, second: LLMContext) -> None:
        visitor = Visitor(second)
        visitors.append(visitor)
        async with first.write_session():
            await both_in.wait()
            await visitor.visit()

    await asyncio.gather(hold(one, two), hold(two, one))
    refused = [*_refusals(one), *_refusals(two)]

    assert sorted(visitor.entered for visitor in visitors) == [False, True]
    assert [event.waits for event in refused] in (
        ["awaits it through the lock of context 'one'"],
        ["awaits it through the lock of context 'two'"],
    )


async def test_a_circle_over_two_contexts_and_a_gather_is_found(make_context: Any, settle: Settle) -> None:
    """The holder waits for a context whose holder waits for the one that asked [SES-10]."""
    one, two = make_context(lock=RWLock("one")), make_context(lock=RWLock("two"))
    child, other = Visitor(one), Visitor(two)

    async def hold_one() -> None:
        async with one.write_session():
            await other.visit()

    async def hold_two() -> None:
        async with two.write_session():
            await settle()
            await asyncio.gather(child.visit())

    await asyncio.gather(hold_two(), hold_one())

    assert child.refused is not None
    assert other.entered


async def test_a_holder_that_begins_to_await_the_child_later_is_found_then(
    context: LLMContext, settle: Settle
) -> None:
    """The waits are looked at from time to time, on the machine's clock [SES-10]."""
    visitor = Visitor(context)
    async with context.write_session():
        child = asyncio.ensure_future(visitor.visit())
        await settle()
        waits_first = [entry.mode for entry in context.statistics().queue]
        await child

    assert waits_first == ["write"]
    assert visitor.refused is not None


async def test_a_circle_is_found_while_nobody_moves_a_fixed_clock(
    fixed_clock: kb.FixedClock, context: LLMContext, settle: Settle
) -> None:
    """Nobody can move it: all tasks wait [SES-10]."""
    visitor = Visitor(context)
    async with context.write_session():
        child = asyncio.ensure_future(visitor.visit())
        await settle()
        await child

    assert visitor.refused is not None


# ------------------------------------------------------------------------------------------- what is no circle


async def test_a_child_that_the_holder_does_not_wait_for_just_waits(
    context: LLMContext, settle: Settle
) -> None:
    """And enters when the block has ended [SES-10]."""
    visitor = Visitor(context)
    async with context.write_session():
        child = asyncio.ensure_future(visitor.visit())
        await asyncio.sleep(0.12)
    await child

    assert visitor.entered


async def test_a_child_that_is_awaited_after_the_block_just_waits(context: LLMContext) -> None:
    """A task group around the block is no wait inside of it [SES-10]."""
    visitor = Visitor(context)
    async with asyncio.TaskGroup() as group:
        async with context.write_session():
            group.create_task(visitor.visit())
            await asyncio.sleep(0.12)

    assert visitor.entered


async def test_a_wait_for_whoever_is_first_is_no_circle(context: LLMContext) -> None:
    """The holder goes on without the child [SES-10]."""
    visitor = Visitor(context)
    async with context.write_session():
        child = asyncio.ensure_future(visitor.visit())
        other = asyncio.ensure_future(asyncio.sleep(0.12))
        await asyncio.wait([child, other], return_when=asyncio.FIRST_COMPLETED)
    await child

    assert visitor.entered


async def test_a_child_whose_end_is_only_reported_to_the_holder_just_waits(context: LLMContext) -> None:
    """A callback of one's own is no wait, whatever it holds: another task's method, or a future [SES-10]."""
    visitor = Visitor(context)
    waiter = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.12, waiter.set_result, None)

    async def hold() -> None:
        me = asyncio.current_task()
        assert me is not None
        async with context.write_session():
            child = asyncio.ensure_future(visitor.visit())
            child.add_done_callback(me.cancel)
            child.add_done_callback(lambda _: waiter.done() or waiter.set_result(None))
            await waiter
            child.remove_done_callback(me.cancel)
        await child

    await hold()

    assert visitor.entered


@pytest.mark.parametrize("through", ["event", "queue", "as_completed"])
async def test_a_circle_that_cannot_be_seen_is_ended_by_the_limit(context: LLMContext, through: str) -> None:
    """As the docs of ``write_session`` say [SES-10]."""
    done = asyncio.Event()
    answers: asyncio.Queue[str] = asyncio.Queue()
    problems: list[BaseException] = []

    async def child() -> None:
        try:
            await Visitor(context, timeout=0.12).visit()
        except SessionTimeoutError as problem:
            problems.append(problem)
        done.set()
        answers.put_nowait("over")

    async with context.write_session():
        task = asyncio.ensure_future(child())
        if through == "event":
            await done.wait()
        elif through == "queue":
            await answers.get()
        else:
            for first in asyncio.as_completed([task]):
                await first

    assert [type(problem) for problem in problems] == [SessionTimeoutError]
    assert "by way of a queue, an event or a thread" in str(problems[0])
    assert _is_free(context)


# ------------------------------------------------------------------------------------------- code inside a session


async def _directly(child: Child) -> None:
    await child


INSIDE = pytest.mark.parametrize("way", [_directly, _by_await, _by_gather], ids=lambda one: one.__name__)


@INSIDE
async def test_a_tool_that_opens_a_session_of_the_run_is_refused(
    way: Callable[[Child], Awaitable[None]],
) -> None:
    """The model is told, and the run goes on [SES-10]."""
    trip = kb.strategy("trip", input=str, output=str)
    contexts: list[kb.Context] = []

    async def count() -> str:
        """Count the messages."""

        async def read() -> None:
            async with contexts[0].llm.read_session():
                pass

        await way(read())
        return "never"

    @trip.node
    async def work(ctx: kb.Context, text: str) -> str:
        contexts.append(ctx)
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            results = await ctx.run_tools([kb.ToolCall("count", "{}", "c1")])
        return results[0].results[0].output

    trip.start >> work >> trip.finish
    run = await kb.Agent(kb.OfflineExecutor(), "offline", trip, tools=[count]).run("hello")

    assert "NestedSessionError" in str(run.output)
    assert [event.mode for event in run.events if isinstance(event, events.SessionRefused)] == ["read"]


class _Reading(kb.Interceptor):
    """Feature code that reads the context around each request."""

    def __init__(self, way: Callable[[Child], Awaitable[None]]) -> None:
        self.way = way
        self.visitor: Visitor | None = None

    async def around_llm_call(self, request: Any, call: Any) -> Any:
        """Read, then ask."""
        if self.visitor is not None:
            await self.way(self.visitor.visit())
        return await call(request)


@INSIDE
async def test_feature_code_that_opens_a_session_inside_a_request_is_refused(
    make_context: Any, way: Callable[[Child], Awaitable[None]]
) -> None:
    """The request holds the lock [SES-10]."""
    feature = _Reading(way)
    context = make_context(messages=[kb.user("x")], interceptors=[feature])
    feature.visitor = Visitor(context, "read")
    async with context.write_session() as session:
        await session.request_without_tools()

    assert feature.visitor.refused is not None
    assert len(context.committed.prompt) == 2


async def test_a_handler_that_opens_a_session_by_hand_is_refused(make_context: Any) -> None:
    """It runs inside the task of the session [SES-10]."""
    found: list[BaseException] = []

    def handler(event: events.Event) -> None:
        try:
            context.read_session().__aenter__().send(None)
        except NestedSessionError as problem:
            found.append(problem)

    context = make_context(
        messages=[kb.user("x")], listeners=[Subscription(handler, (events.LLMCallStarting,), "raise")]
    )
    async with context.write_session() as session:
        await session.request_without_tools()

    assert [type(problem) for problem in found] == [NestedSessionError]


async def test_a_task_that_a_handler_starts_just_waits(make_context: Any) -> None:
    """Nobody awaits it [SES-10]."""
    tasks: list[asyncio.Task[None]] = []
    context = make_context(
        listeners=[
            Subscription(
                lambda event: tasks.append(asyncio.ensure_future(visitor.visit())) if not tasks else None,
                (events.SessionAcquired,),
                "raise",
            )
        ]
    )
    visitor = Visitor(context)
    async with context.write_session():
        await asyncio.sleep(0.06)
    await asyncio.gather(*tasks)

    assert visitor.entered


# ------------------------------------------------------------------------------------------- the code shown


async def test_a_refusal_shows_the_lines_around_both_places(context: LLMContext) -> None:
    """Five each, with the one that is meant marked [SES-10]."""
    async with context.write_session():
        with pytest.raises(NestedSessionError):
            async with context.read_session():
                pass
    told = _refusals(context)[0]

    for shown, place, text in (
        (told.first_code, told.first, "write_session"),
        (told.code, told.place, "read_session"),
    ):
        assert isinstance(shown, CodeExcerpt)
        assert len(shown.lines) == 5
        assert place.endswith(f":{shown.marked}")
        assert text in shown.lines[shown.marked - shown.first]


@pytest.fixture
def cell() -> Iterator[str]:
    """The file name of the code of a notebook's cell, with its source where IPython puts it."""
    name, source = "/tmp/ipykernel_1/7.py", "async def open_both():\n    async with ctx.read_session():\n"
    source += "        async with ctx.write_session():\n            pass\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    yield name
    linecache.cache.pop(name, None)


async def test_a_refusal_shows_the_code_of_a_cell(context: LLMContext, cell: str) -> None:
    """It has no file, but its lines are known; a place near its border has fewer around it [SES-10]."""
    scope: dict[str, Any] = {"ctx": context}
    exec(compile("".join(linecache.getlines(cell)), cell, "exec"), scope)
    with pytest.raises(NestedSessionError):
        await scope["open_both"]()
    told = _refusals(context)[0]

    assert told.first_code == CodeExcerpt(1, 2, tuple(line.rstrip() for line in linecache.getlines(cell)))
    assert told.code is not None
    assert (told.code.first, told.code.marked, len(told.code.lines)) == (1, 3, 4)


async def test_a_refusal_of_code_without_a_source_shows_none(context: LLMContext) -> None:
    """Code that was made of a text has no lines to show [SES-10]."""
    scope: dict[str, Any] = {"ctx": context}
    source = "async def open_both():\n async with ctx.read_session():\n  async with ctx.write_session(): pass"
    exec(compile(source, "<made>", "exec"), scope)
    with pytest.raises(NestedSessionError):
        await scope["open_both"]()

    assert (_refusals(context)[0].first_code, _refusals(context)[0].code) == (None, None)


# ------------------------------------------------------------------------------------------- the look at asyncio


def _no_more(future: Any) -> list[Step]:
    return []


@pytest.mark.parametrize("task_type", [asyncio.Task, asyncio.tasks._PyTask], ids=["C", "Python"])  # type: ignore[attr-defined]
@pytest.mark.parametrize("way", WAYS[:-1], ids=_way)
def test_waits_are_seen_with_both_kinds_of_tasks(
    task_type: Any, way: Callable[[Child], Awaitable[None]]
) -> None:
    """Tools that patch asyncio use the one that is written in Python [SES-10]."""

    async def main() -> bool:
        asyncio.get_running_loop().set_task_factory(
            lambda loop, coroutine, **options: task_type(coroutine, loop=loop, **options)
        )
        found: list[Any] = []

        async def child() -> None:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            me = asyncio.current_task()
            assert me is not None
            found.append(way_up(me, {parent}, _no_more, set()))

        parent = asyncio.ensure_future(_starting(way, child))
        await parent
        return found[0] is not None and found[0][0] is parent

    assert asyncio.run(main())


async def _starting(way: Any, child: Callable[[], Child]) -> None:
    await way(child())


async def test_a_future_written_in_python_is_seen_through() -> None:
    """It keeps its callbacks in the same place [SES-10]."""
    future = asyncio.futures._PyFuture(loop=asyncio.get_running_loop())  # type: ignore[attr-defined]

    async def wait() -> None:
        await future

    task = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    seen = list(awaiting(future))
    future.set_result(None)
    await task

    assert seen == [Step(task, "")]


class _Sealed:
    """A future of an interpreter that shows nothing."""

    def done(self) -> bool:
        """It is not."""
        return False


def test_an_interpreter_that_hides_its_callbacks_hides_the_wait_and_nothing_fails() -> None:
    """The limit of the wait is left [SES-10]."""
    sealed: Any = _Sealed()

    assert list(awaiting(sealed)) == []
    assert way_up(sealed, set(), _no_more, set()) is None


async def test_many_who_are_awaited_alike_are_gone_over_once() -> None:
    """A thousand waits under one gather cost a thousand steps, not a million [SES-10]."""
    door = asyncio.Event()
    steps: list[Any] = []

    def count(future: Any) -> list[Step]:
        steps.append(future)
        return []

    async def wait_for_all() -> None:
        await asyncio.gather(*tasks)

    tasks = [asyncio.ensure_future(door.wait()) for _ in range(1_000)]
    waiting = asyncio.ensure_future(wait_for_all())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    dead_ends: set[int] = set()
    found = [way_up(task, set(), count, dead_ends) for task in tasks]
    door.set()
    await waiting

    assert found == [None] * 1_000
    assert len(steps) == 1_002
