"""Every call gets a result, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, TypeAdapter

import koogbook as kb
from koogbook import events
from koogbook.errors import FeatureError
from koogbook.pipeline import EventLog, Subscription, wrappers
from koogbook.tools.environment import run_calls
from koogbook.tools.tool import ToolException, ToolRegistry


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


async def slow_weather(city: str) -> str:
    """The weather, later."""
    await asyncio.sleep(0)
    return f"rain in {city}"


def nothing() -> None:
    """Returns None."""


def broken(city: str) -> str:
    """Always fails."""
    raise ValueError(f"no such city: {city}")


def exhausted() -> int:
    """Takes from an empty iterator."""
    return next(iter(()))


def table() -> dict[str, list[int]]:
    """Data."""
    return {"grün": [1, 2]}


def surrogate() -> dict[str, str]:
    """Text that is no Unicode."""
    return {"text": "\ud83d"}


def not_a_number() -> float:
    """A float without JSON."""
    return float("nan")


def deep(data: list[Any]) -> int:
    """Takes anything nested."""
    return len(data)


def thing() -> object:
    """Something without JSON."""
    return object()


class AsyncObject:
    """A callable object with an async call."""

    async def __call__(self, city: str) -> str:
        """The weather."""
        return f"rain in {city}"


def hands_back_a_coroutine(city: str) -> Any:
    """A plain function around an async one."""
    return slow_weather(city)


TOOLS = ToolRegistry(
    [
        weather,
        slow_weather,
        nothing,
        broken,
        exhausted,
        table,
        surrogate,
        not_a_number,
        thing,
        deep,
        kb.Tool(AsyncObject(), name="async_object"),
        hands_back_a_coroutine,
    ]
)
BONN = '{"city":"Bonn"}'


async def _run(tool: str, args: str = "{}", log: EventLog | None = None) -> kb.ToolResult:
    found = await run_calls([kb.ToolCall(tool, args, "c1")], TOOLS, log or EventLog("run-1", "chat-1"))
    assert len(found) == 1
    return found[0].results[0]


@pytest.mark.parametrize("tool", ["weather", "slow_weather", "async_object", "hands_back_a_coroutine"])
async def test_a_function_is_called_however_it_is_made(tool: str) -> None:
    """Sync, async, callable object, or one that hands a coroutine back [AGT-05]."""
    result = await _run(tool, BONN)

    assert (result.output, result.is_error) == ("rain in Bonn", False)


async def test_a_result_belongs_to_its_call() -> None:
    """By id and name [AGT-05]."""
    result = await _run("weather", BONN)

    assert (result.call_id, result.tool) == ("c1", "weather")


async def test_a_tool_that_returns_none_succeeded() -> None:
    """Its result is the empty text [AGT-05]."""
    result = await _run("nothing")

    assert (result.output, result.is_error) == ("", False)


@pytest.mark.parametrize(
    ("tool", "output"),
    [("table", '{"grün": [1, 2]}'), ("surrogate", '{"text": "\ud83d"}')],
    ids=["data", "surrogate"],
)
async def test_data_is_given_to_the_model_as_json(tool: str, output: str) -> None:
    """Any text in it included [AGT-05]."""
    result = await _run(tool)

    assert (result.output, result.is_error) == (output, False)


@pytest.mark.parametrize("tool", ["not_a_number", "thing"])
async def test_a_value_that_is_no_json_is_an_error_result(tool: str) -> None:
    """Not-a-number does not become null behind the model's back [AGT-05]."""
    result = await _run(tool)

    assert result.is_error
    assert "no JSON" in result.output


async def test_an_exception_becomes_an_error_result() -> None:
    """The model reads what went wrong, and the run goes on [AGT-05]."""
    result = await _run("broken", BONN)

    assert result.is_error
    assert "ValueError: no such city: Bonn" in result.output


async def test_a_tool_that_runs_out_of_an_iterator_fails_like_any_other() -> None:
    """StopIteration cannot cross a thread's future: on Python 3.11 the run would never end [AGT-05]."""
    result = await asyncio.wait_for(_run("exhausted"), 5)

    assert result.is_error
    assert "StopIteration" in result.output


async def test_an_unknown_tool_gives_the_list_of_tools() -> None:
    """The model can choose again [AGT-05]."""
    result = await _run("whether", BONN)

    assert result.is_error
    assert "'whether'" in result.output
    assert "weather, slow_weather" in result.output


@pytest.mark.parametrize(
    "args",
    [
        "",
        "{}",
        "null",
        "[]",
        '"Bonn"',
        '{"city":',
        '{"city":5}',
        '{"city":"Bonn","more":1}',
        '{"town":"Bonn"}',
        '{"city":"\ud800"}',
        "\ud800",
        "[" * 100_000,
        '{"city":' * 100_000,
        '{"city":' + "9" * 10_000 + "}",
        '{"city":NaN}',
    ],
    ids=lambda args: ascii(args)[:20],
)
async def test_arguments_that_do_not_fit_become_an_error_result(args: str) -> None:
    """With the schema, so that the model can mend them; the tool is not called [AGT-05]."""
    log = EventLog("run-1", "chat-1")
    result = await _run("weather", args, log)

    assert result.is_error
    assert '"city"' in result.output
    assert [event.name for event in log.events] == ["ToolValidationFailed"]


async def test_the_nearest_tool_comes_first() -> None:
    """Most wrong names are misspelt [AGT-05]."""
    result = await _run("slow_wether", BONN)

    assert "Did you mean 'slow_weather'? Tools on offer: slow_weather, weather, nothing" in result.output


async def test_without_tools_the_model_is_told_to_answer() -> None:
    """There is nothing to choose from [AGT-05]."""
    found = await run_calls([kb.ToolCall("x" * 100_000)], ToolRegistry(), EventLog("run-1", "chat-1"))

    assert "There are no tools at all" in found[0].results[0].output
    assert len(found[0].results[0].output) < 200


async def test_arguments_that_are_nested_too_deeply_become_an_error_result() -> None:
    """The limit of the machine is the model's mistake, not the end of the run [AGT-05]."""
    result = await _run("deep", '{"data":' + "[" * 100_000)

    assert result.is_error


@settings(max_examples=100)
@given(st.text(max_size=30), st.text(max_size=12))
async def test_whatever_a_model_writes_gets_one_result(args: str, name: str) -> None:
    """No text of a model ends a run [AGT-05]."""
    calls = [kb.ToolCall(name, args, "c1"), kb.ToolCall("slow_weather", args, "c2")]
    results = await run_calls(calls, TOOLS, EventLog("run-1", "chat-1"))

    assert [message.results[0].call_id for message in results] == ["c1", "c2"]


async def test_results_keep_the_order_of_the_calls() -> None:
    """Failures in between change nothing [AGT-05]."""
    calls = [
        kb.ToolCall("weather", BONN, "c1"),
        kb.ToolCall("broken", BONN, "c2"),
        kb.ToolCall("nowhere", BONN, "c3"),
        kb.ToolCall("slow_weather", BONN, "c4"),
    ]
    results = await run_calls(calls, TOOLS, EventLog("run-1", "chat-1"))

    assert [message.results[0].call_id for message in results] == ["c1", "c2", "c3", "c4"]
    assert [message.results[0].is_error for message in results] == [False, True, True, False]


async def test_calls_that_use_one_id_again_each_get_a_result() -> None:
    """Some models number their calls carelessly [AGT-05]."""
    calls = [kb.ToolCall("weather", BONN, "same"), kb.ToolCall("nothing", "{}", "same")]
    results = await run_calls(calls, TOOLS, EventLog("run-1", "chat-1"))

    assert [message.results[0].output for message in results] == ["rain in Bonn", ""]


async def test_no_calls_give_no_results() -> None:
    """An empty turn is no error [AGT-05]."""
    assert await run_calls([], TOOLS, EventLog("run-1", "chat-1")) == []


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("weather", BONN, ["ToolCallStarting", "ToolCallCompleted"]),
        ("broken", BONN, ["ToolCallStarting", "ToolCallFailed"]),
        ("thing", "{}", ["ToolCallStarting", "ToolCallFailed"]),
        ("weather", "{}", ["ToolValidationFailed"]),
        ("nowhere", "{}", ["ToolValidationFailed"]),
    ],
    ids=["completed", "raised", "no JSON", "bad arguments", "unknown"],
)
async def test_a_call_is_told_from_start_to_end(tool: str, args: str, expected: list[str]) -> None:
    """Starting with an end, or a refusal alone [AGT-03]."""
    log = EventLog("run-1", "chat-1")
    await _run(tool, args, log)

    assert [event.name for event in log.events] == expected


async def _cancel(tool: kb.Tool, log: EventLog) -> asyncio.Task[list[kb.Message]]:
    task = asyncio.ensure_future(run_calls([kb.ToolCall(tool.name, "{}")], ToolRegistry([tool]), log))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return task


async def _waits() -> None:
    await asyncio.Event().wait()


async def test_a_cancellation_goes_through_a_tool_and_is_told() -> None:
    """It becomes no result for the model; the call that began has an end [AGT-05, AGT-06]."""
    log = EventLog("run-1", "chat-1")
    task = await _cancel(kb.Tool(_waits, name="waits"), log)

    assert task.cancelled()
    assert [event.name for event in log.events] == ["ToolCallStarting", "ToolCallFailed"]
    assert log.events[1].cancelled  # type: ignore[attr-defined]


async def test_a_tool_that_waited_for_what_was_cancelled_has_failed() -> None:
    """Nobody has cancelled the run, which goes on [AGT-05, AGT-06]."""

    async def joins() -> None:
        """Wait for a task that another one has cancelled."""
        task = asyncio.ensure_future(_waits())
        task.cancel()
        await task

    log = EventLog("run-1", "chat-1")
    for parallel in (None, 2):
        found = await run_calls(
            [kb.ToolCall("joins"), kb.ToolCall("joins")], ToolRegistry([joins]), log, parallel=parallel
        )
        assert [one.results[0].output for one in found] == ["The tool failed: CancelledError"] * 2
    assert not any(event.cancelled for event in log.events if isinstance(event, events.ToolCallFailed))


async def test_a_cancelled_function_in_a_thread_may_have_run_to_its_end() -> None:
    """The event says so, since nothing can stop it; one that is async has stopped [AGT-06]."""
    released, began = threading.Event(), threading.Event()

    def works() -> None:
        """Work."""
        began.set()
        released.wait(5)

    log = EventLog("run-1", "chat-1")
    task = asyncio.ensure_future(run_calls([kb.ToolCall("works")], ToolRegistry([works]), log))
    await asyncio.to_thread(began.wait, 5)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    released.set()
    stopped = EventLog("run-1", "chat-1")
    await _cancel(kb.Tool(_waits, name="waits"), stopped)

    assert log.events[1].cancelled  # type: ignore[attr-defined]
    assert log.events[1].error == (  # type: ignore[attr-defined]
        "CancelledError; the function ran in a thread, which nothing can stop, and may have run to its end"
    )
    assert stopped.events[1].error == "CancelledError"  # type: ignore[attr-defined]


async def test_a_listener_that_raises_is_not_taken_for_a_failure_of_the_tool() -> None:
    """Its exception ends the run, it is no result [AGT-02]."""

    def listener(event: events.Event) -> None:
        raise ValueError("listener")

    log = EventLog("run-1", "chat-1", [Subscription(listener, (events.ToolCallCompleted,), "raise")])

    with pytest.raises(ValueError, match="listener"):
        await _run("weather", BONN, log)


async def test_a_synchronous_tool_does_not_hold_up_the_loop() -> None:
    """It runs in a thread: others go on meanwhile [AGT-05]."""
    released = threading.Event()

    def waits_for_the_loop() -> str:
        """Ends only when the loop has done something else."""
        return "released" if released.wait(5) else "the loop stood still"

    running = asyncio.ensure_future(
        run_calls(
            [kb.ToolCall("waits_for_the_loop")],
            ToolRegistry([waits_for_the_loop]),
            EventLog("run-1", "chat-1"),
        )
    )
    await asyncio.sleep(0)
    released.set()

    assert (await running)[0].results[0].output == "released"


# ------------------------------------------------------------------------------------------- ends of all kinds


def _raises(problem: BaseException) -> Any:
    async def later() -> str:
        raise problem

    def at_once() -> str:
        raise problem

    return ToolRegistry([kb.Tool(later, name="later"), kb.Tool(at_once, name="at_once")])


@pytest.mark.parametrize("tool", ["later", "at_once"])
async def test_what_a_tool_says_to_the_model_goes_there_as_it_is(tool: str) -> None:
    """An error result without the name of the exception, told as a refusal of the call [AGT-05]."""
    log = EventLog("run-1", "chat-1")
    found = await run_calls([kb.ToolCall(tool)], _raises(ToolException("Ask for a city first.")), log)

    assert (found[0].results[0].output, found[0].results[0].is_error) == ("Ask for a city first.", True)
    assert [event.name for event in log.events] == ["ToolCallStarting", "ToolValidationFailed"]


@pytest.mark.parametrize("tool", ["later", "at_once"])
async def test_a_tool_that_would_end_the_program_has_failed(tool: str) -> None:
    """A model's call does not take the kernel with it [AGT-05]."""
    found = await run_calls([kb.ToolCall(tool)], _raises(SystemExit(2)), EventLog("run-1", "chat-1"))

    assert (found[0].results[0].output, found[0].results[0].is_error) == (
        "The tool failed: SystemExit: 2",
        True,
    )


@pytest.mark.parametrize("tool", ["later", "at_once"])
@pytest.mark.parametrize("parallel", [None, 2])
@pytest.mark.parametrize("problem", [KeyboardInterrupt, GeneratorExit])
async def test_an_interrupt_goes_through(
    tool: str, parallel: int | None, problem: type[BaseException]
) -> None:
    """It is the user's, and becomes no result for the model [AGT-05, AGT-06]."""
    log = EventLog("run-1", "chat-1")
    calls = [kb.ToolCall(tool), kb.ToolCall(tool)]

    with pytest.raises(problem):
        await run_calls(calls, _raises(problem()), log, parallel=parallel)

    ended = [event for event in log.events if isinstance(event, events.ToolCallFailed)]
    assert not ended[0].cancelled


async def test_an_exception_of_pydantic_has_no_address() -> None:
    """A tool may read data with it, too [AGT-05]."""

    def read() -> int:
        return TypeAdapter(int).validate_python("x")

    found = await run_calls([kb.ToolCall("read")], ToolRegistry([read]), EventLog("run-1", "chat-1"))

    assert "ValidationError: input should be a valid integer" in found[0].results[0].output
    assert "http" not in found[0].results[0].output


async def test_an_exception_without_a_text_is_told_by_its_kind() -> None:
    """Even one whose text cannot be had [AGT-05]."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("mute")

    found = await run_calls([kb.ToolCall("later")], _raises(Mute()), EventLog("run-1", "chat-1"))

    assert "Mute" in found[0].results[0].output


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (
            ExceptionGroup("unhandled errors in a TaskGroup", [OSError("no disk")]),
            "The tool failed: ExceptionGroup: unhandled errors in a TaskGroup: OSError: no disk",
        ),
        (
            ExceptionGroup(
                "many",
                [
                    ExceptionGroup("inner", [ValueError("a"), ExceptionGroup("deeper", [TimeoutError()])]),
                    ToolException("Ask again."),
                    KeyError("d"),
                    KeyError("e"),
                ],
            ),
            "The tool failed: ExceptionGroup: many: ValueError: a; TimeoutError; Ask again.; and 2 more",
        ),
        (TimeoutError(), "The tool failed: TimeoutError"),
        (ValueError(" "), "The tool failed: ValueError"),
        (ToolException(), "The tool refused the call and gave no reason."),
        (ToolException("\n"), "The tool refused the call and gave no reason."),
    ],
    ids=["one of a group", "groups in a group", "no text", "blank", "refusal", "blank refusal"],
)
async def test_an_error_result_says_what_happened(problem: Exception, told: str) -> None:
    """The exceptions inside of a group, and something where an exception says nothing [AGT-05]."""
    found = await run_calls([kb.ToolCall("later")], _raises(problem), EventLog("run-1", "chat-1"))

    assert (found[0].results[0].output, found[0].results[0].is_error) == (told, True)


def _never(value: int) -> int:
    raise ToolException("Not today.") if value else TimeoutError


async def test_a_validator_that_refuses_says_what_it_says() -> None:
    """As a tool does [AGT-05]."""

    def take(day: Annotated[int, AfterValidator(_never)]) -> None:
        """Take."""

    asked = [kb.ToolCall("take", '{"day": 1}'), kb.ToolCall("take", '{"day": 0}')]
    found = await run_calls(asked, ToolRegistry([take]), EventLog("run-1", "chat-1"))

    assert [one.results[0].output for one in found] == [
        "The arguments do not fit: Not today.",
        "The arguments do not fit: TimeoutError",
    ]


async def test_an_async_function_that_gives_a_plain_value_gives_it() -> None:
    """As one does behind a careless decorator [AGT-05]."""

    def later(city: str) -> str:
        return f"rain in {city}"

    careless = inspect.markcoroutinefunction(later) if sys.version_info >= (3, 12) else later
    tools = ToolRegistry([careless])
    tools.get("later").is_async = True  # type: ignore[union-attr]
    found = await run_calls([kb.ToolCall("later", BONN)], tools, EventLog("run-1", "chat-1"))

    assert found[0].results[0].output == "rain in Bonn"


async def test_a_tool_that_hands_a_generator_back_has_failed() -> None:
    """It is no result, and the message says what to return [AGT-05]."""

    def hands_back() -> Any:
        return (one for one in "ab")

    found = await run_calls(
        [kb.ToolCall("hands_back")], ToolRegistry([hands_back]), EventLog("run-1", "chat-1")
    )

    assert "an object of type generator, which is no JSON" in found[0].results[0].output


async def test_the_events_of_a_call_have_its_number() -> None:
    """Ids come again; the number in the run does not [AGT-05, KB-019]."""
    log = EventLog("run-1", "chat-1")
    calls = [
        kb.ToolCall("weather", BONN, "same"),
        kb.ToolCall("no", "{}", "same"),
        kb.ToolCall("thing", "{}"),
    ]
    await run_calls(calls, TOOLS, log)

    assert [(event.name, event.number) for event in log.events] == [  # type: ignore[attr-defined]
        ("ToolCallStarting", 1),
        ("ToolCallCompleted", 1),
        ("ToolValidationFailed", 2),
        ("ToolCallStarting", 3),
        ("ToolCallFailed", 3),
    ]


# ------------------------------------------------------------------------------------------- wrappers


async def _with_wrapper(around: Any, *calls: kb.ToolCall) -> tuple[list[kb.Message], EventLog]:
    """Run calls inside one interceptor's ``around_tool_call``."""

    class Wraps(kb.Interceptor):
        async def around_tool_call(self, tool_call: kb.ToolCall, call: Any) -> kb.Message:
            given: kb.Message = await around(tool_call, call)
            return given

    log = EventLog("run-1", "chat-1")
    around_calls = wrappers([Wraps()], "around_tool_call", log.acted)
    return await run_calls(calls, TOOLS, log, around_calls), log


async def test_an_interceptor_may_change_call_and_result() -> None:
    """The tool gets the changed arguments, the model the changed result [AGT-02]."""

    async def around(tool_call: kb.ToolCall, call: Any) -> kb.Message:
        result = await call(kb.ToolCall(tool_call.tool, '{"city":"Ulm"}', tool_call.id))
        return kb.tool_result(tool_call, result.results[0].output.upper())

    results, _ = await _with_wrapper(around, kb.ToolCall("weather", '{"city":"Bonn"}', "c1"))

    assert [result.results[0].output for result in results] == ["RAIN IN ULM"]


async def test_an_interceptor_may_answer_instead_of_the_tool() -> None:
    """Then no tool runs [AGT-02]."""

    async def around(tool_call: kb.ToolCall, call: Any) -> kb.Message:
        return kb.tool_result(tool_call, "not allowed", is_error=True)

    results, log = await _with_wrapper(around, kb.ToolCall("weather", '{"city":"Bonn"}', "c1"))

    assert [result.results[0].output for result in results] == ["not allowed"]
    assert log.events == []


@pytest.mark.parametrize(
    "wrong",
    [None, kb.assistant("rain"), kb.tool_result("c2", "rain")],
    ids=["nothing", "no result", "another call"],
)
async def test_an_interceptor_that_leaves_a_call_without_its_result_is_refused(wrong: Any) -> None:
    """A provider would refuse the history at the next request [AGT-05]."""

    async def around(tool_call: kb.ToolCall, call: Any) -> Any:
        return wrong

    with pytest.raises(FeatureError, match="'c1' of 'weather'"):
        await _with_wrapper(around, kb.ToolCall("weather", '{"city":"Bonn"}', "c1"))


async def test_what_an_interceptor_raises_ends_the_run() -> None:
    """It is no failure of the tool [AGT-02]."""

    async def around(tool_call: kb.ToolCall, call: Any) -> kb.Message:
        raise LookupError("no permission")

    with pytest.raises(LookupError, match="no permission"):
        await _with_wrapper(around, kb.ToolCall("weather", '{"city":"Bonn"}', "c1"))


@pytest.mark.parametrize("in_words", [False, True])
async def test_what_a_listener_raises_inside_of_a_tool_ends_the_turn(in_words: bool) -> None:
    """It is no failure of the tool that a model could be told of; the call has an end [AGT-02, AGT-05]."""

    def listener(event: events.Event) -> None:
        raise ValueError("listener")

    log = EventLog("run-1", "chat-1", [Subscription(listener, (events.Notice,), "raise")])

    @kb.tool
    async def tells(city: str) -> str:
        """Tell something."""
        try:
            log.notice("kind", city)
        except ValueError as problem:
            if in_words:
                raise RuntimeError("the city is gone") from problem
            raise
        return city

    call = kb.ToolCall("tells", '{"city": "Bonn"}', "c1")
    with pytest.raises((ValueError, RuntimeError), match=r"listener|gone"):
        await run_calls([call], ToolRegistry([tells]), log)
    assert [event.name for event in log.events][-1] == "ToolCallFailed"
