"""What a write session changes by hand: the history, the model, the parameters, the choice of tools."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MessageError, SessionClosedError, ToolError
from koogbook.events import Notice, PromptChanged
from koogbook.llm.context import LLMContext
from koogbook.messages.pairing import pair_messages

START = datetime(2026, 1, 1, tzinfo=UTC)
CALL = kb.ToolCall("weather", '{"city": "x"}', "c1")
HISTORY = [
    kb.system("rules", id="s", time=START),
    kb.user("first", id="u1", time=START + timedelta(minutes=1)),
    kb.assistant("let me see", calls=[CALL], id="a1", time=START + timedelta(minutes=2)),
    kb.tool_result(CALL, "rain", id="t1", time=START + timedelta(minutes=3)),
    kb.assistant("rain", id="a2", time=START + timedelta(minutes=4)),
    kb.user("second", id="u2", time=START + timedelta(minutes=5)),
]


def weather(city: str) -> str:
    """The weather of a city."""
    return "rain"


async def _after(make_context: Any, change: Any, history: Any = HISTORY) -> tuple[LLMContext, list[str]]:
    context = make_context(messages=history, tools=[weather])
    async with context.write_session() as session:
        change(session)
    return context, [message.id for message in context.committed.prompt]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda session: session.clear_history(), ["s"]),
        (lambda session: session.clear_history(system=True), []),
        (lambda session: session.leave_last_n_messages(2), ["s", "a2", "u2"]),
        (lambda session: session.leave_last_n_messages(3), ["s", "a2", "u2"]),
        (lambda session: session.leave_last_n_messages(4), ["s", "a1", "t1", "a2", "u2"]),
        (lambda session: session.leave_last_n_messages(0), ["s"]),
        (lambda session: session.leave_last_n_messages(0, system=True), []),
        (lambda session: session.leave_last_n_messages(99), ["s", "u1", "a1", "t1", "a2", "u2"]),
        (lambda session: session.drop_last_n_messages(1), ["s", "u1", "a1", "t1", "a2"]),
        (lambda session: session.drop_last_n_messages(3), ["s", "u1"]),
        (lambda session: session.drop_last_n_messages(99), ["s"]),
        (lambda session: session.drop_last_n_messages(99, system=True), []),
        (
            lambda session: session.leave_messages_from_timestamp(START + timedelta(minutes=3)),
            ["s", "a2", "u2"],
        ),
        (
            lambda session: session.leave_messages_from_timestamp(START + timedelta(minutes=5)),
            ["s", "u2"],
        ),
        (
            lambda session: session.leave_messages_from_timestamp(START + timedelta(minutes=4), system=True),
            ["a2", "u2"],
        ),
        (lambda session: session.drop_trailing_tool_calls(), ["s", "u1", "a1", "t1", "a2", "u2"]),
        (
            lambda session: session.rewrite_prompt(lambda old: old.with_messages(old.messages[:2])),
            ["s", "u1"],
        ),
    ],
)
async def test_the_history_is_cut_without_parting_a_call_from_its_result(
    make_context: Any, change: Any, left: list[str]
) -> None:
    """A pair at the border goes out whole, so that never more stays than was asked for [SES-15]."""
    context, ids = await _after(make_context, change)

    assert ids == left
    assert pair_messages(context.committed.prompt.messages).defects == ()


async def test_a_pair_that_went_with_its_other_half_is_told(make_context: Any) -> None:
    """Fewer messages stay than were asked for, and the report says why [SES-15]."""
    context, _ = await _after(make_context, lambda session: session.leave_last_n_messages(3))
    told = [event for event in context.log.events if isinstance(event, Notice)]

    assert [event.kind for event in told] == ["history"]
    assert "never parted" in told[0].text


async def test_a_cut_that_parts_nothing_tells_nothing(make_context: Any) -> None:
    """The change of the prompt is an event as always [SES-15]."""
    context, _ = await _after(make_context, lambda session: session.leave_last_n_messages(2))

    assert not any(isinstance(event, Notice) for event in context.log.events)
    assert [event.replaced for event in context.log.events if isinstance(event, PromptChanged)] == [True]


async def test_open_calls_at_the_end_go_and_what_was_said_stays(make_context: Any) -> None:
    """So that the next request may be sent [SES-15, EXE-02, KB-015]."""
    history = [*HISTORY, kb.assistant("one moment", calls=[kb.ToolCall("weather", id="c2")], id="a3")]
    context = make_context(messages=history, tools=[weather])
    async with context.write_session() as session:
        done = session.drop_trailing_tool_calls()
        await session.request()

    assert done.edited == (6,)
    assert [message.text for message in context.committed.prompt][-2:] == ["one moment", "user messages: 2"]


async def test_surgery_says_what_it_took(make_context: Any) -> None:
    """By positions in the history before [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        done = session.drop_last_n_messages(3)

    assert (done.removed, done.with_pair) == ((2, 3, 4, 5), (2,))


async def test_duplicates_survive_surgery(make_context: Any) -> None:
    """What was allowed in stays allowed [SES-06a, SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        session.append(session.messages[-1], allow_duplicate=True)
        session.leave_last_n_messages(2)

    assert [message.id for message in context.committed.prompt] == ["s", "u2", "u2"]


CUTS: list[Any] = [
    lambda session, wrong: session.leave_last_n_messages(wrong),
    lambda session, wrong: session.drop_last_n_messages(wrong),
]


@pytest.mark.parametrize("number", range(len(CUTS)))
@pytest.mark.parametrize("wrong", [-1, True, 1.0, "2", None])
async def test_a_count_that_is_none_is_refused(make_context: Any, number: int, wrong: Any) -> None:
    """Nothing is changed [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(MessageError, match="Nothing was changed"):
            CUTS[number](session, wrong)

    assert len(context.committed.prompt) == 6


@pytest.mark.parametrize("time", [datetime(2026, 1, 1), "2026-01-01", 0, None])  # noqa: DTZ001
async def test_a_time_without_a_zone_is_refused(make_context: Any, time: Any) -> None:
    """Nothing is changed [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(MessageError, match="has a zone"):
            session.leave_messages_from_timestamp(time)

    assert len(context.committed.prompt) == 6


async def test_a_rewrite_that_gives_no_prompt_is_refused(make_context: Any) -> None:
    """A list is not one, and the error holds the idiom [SES-12, SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(TypeError, match=r"with_messages"):
            session.rewrite_prompt(lambda old: old.messages[:2])

    assert len(context.committed.prompt) == 6


async def test_surgery_in_a_session_that_fails_changes_nothing(make_context: Any) -> None:
    """It is committed with everything else or not at all [SES-03]."""
    context = make_context(messages=HISTORY)
    with pytest.raises(RuntimeError):
        async with context.write_session() as session:
            session.clear_history(system=True)
            raise RuntimeError

    assert [message.id for message in context.committed.prompt] == [message.id for message in HISTORY]


# ------------------------------------------------------------------------------------------- model and params

PARAMS = kb.LLMParams(
    temperature=0.5,
    max_tokens=10,
    choices=2,
    seed=7,
    stop=("END",),
    tool_choice=kb.ToolChoice("auto"),
    user="somebody",
)
CHANGED: dict[str, Any] = {
    "temperature": 0.25,
    "max_tokens": 20,
    "choices": 3,
    "seed": 8,
    "stop": ("STOP",),
    "tool_choice": kb.ToolChoice("required"),
    "user": "another",
}


def test_the_parameters_that_are_tested_are_all_there_are() -> None:
    """A new one has to be added above [SES-15]."""
    assert set(CHANGED) == set(kb.LLMParams.__struct_fields__)
    assert all(getattr(PARAMS, name) != value for name, value in CHANGED.items())


@given(names=st.sets(st.sampled_from(sorted(CHANGED))))
def test_a_change_of_some_parameters_keeps_all_others(names: set[str]) -> None:
    """Every single one, whichever are changed [SES-15]."""
    changed = PARAMS.with_changes(**{name: CHANGED[name] for name in names})

    for name in CHANGED:
        assert getattr(changed, name) == (CHANGED[name] if name in names else getattr(PARAMS, name))


@pytest.mark.parametrize("name", sorted(CHANGED))
async def test_changing_a_parameter_in_a_session_keeps_history_and_other_parameters(
    make_context: Any, name: str
) -> None:
    """All of them are committed together [SES-02, SES-15]."""
    context = make_context(messages=HISTORY, tools=[weather])
    async with context.write_session() as session:
        session.params = PARAMS
        session.change_params(**{name: CHANGED[name]})

    assert context.committed.prompt.params == PARAMS.with_changes(**{name: CHANGED[name]})
    assert list(context.committed.prompt) == HISTORY


async def test_an_unknown_parameter_is_named_beside_those_there_are(make_context: Any) -> None:
    """Nothing is changed [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(TypeError, match=r"No such parameter: temprature.*temperature"):
            session.change_params(temprature=1, seed=1)

    assert context.committed.prompt.params == kb.LLMParams()


@pytest.mark.parametrize("wrong", [{"temperature": "hot"}, {"seed": 1.5}, {"temperature": float("nan")}])
async def test_a_parameter_of_another_type_is_refused(make_context: Any, wrong: dict[str, Any]) -> None:
    """Together with all that were changed beside it [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(MessageError):
            session.change_params(max_tokens=3, **wrong)

    assert context.committed.prompt.params == kb.LLMParams()


async def test_params_take_params_only(make_context: Any) -> None:
    """A dict is refused with the way to change some of them [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(TypeError, match="change_params"):
            session.params = {"temperature": 1}


async def test_the_model_is_changed_by_name_or_value(make_context: Any) -> None:
    """With all that is known of it [SES-15]."""
    known = kb.LLModel("big", "provider", context_tokens=1_000, max_output_tokens=10)
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        session.change_model("provider:small")
        by_name = session.model
        session.change_model(known)

    assert by_name == kb.LLModel("small", "provider")
    assert context.committed.model == known


@pytest.mark.parametrize("wrong", ["", None, 5])
async def test_what_is_no_model_is_refused(make_context: Any, wrong: Any) -> None:
    """Nothing is changed [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(MessageError, match="A model is a name"):
            session.change_model(wrong)

    assert context.committed.model == kb.LLModel("offline")


# ------------------------------------------------------------------------------------------- tool choice


@pytest.mark.parametrize(
    ("given", "choice"),
    [
        (("auto",), kb.ToolChoice("auto")),
        (("none",), kb.ToolChoice("none")),
        (("required",), kb.ToolChoice("required")),
        (("named", "weather"), kb.ToolChoice("named", "weather")),
        ((kb.ToolChoice("required"),), kb.ToolChoice("required")),
    ],
)
async def test_a_tool_choice_that_was_set_stays(make_context: Any, given: Any, choice: Any) -> None:
    """For all later requests and sessions, until it is unset [SES-15]."""
    context = make_context(messages=HISTORY, tools=[weather])
    async with context.write_session() as session:
        session.set_tool_choice(*given)
    kept = context.committed.prompt.params.tool_choice
    async with context.write_session() as session:
        session.unset_tool_choice()

    assert (kept, context.committed.prompt.params.tool_choice) == (choice, None)


async def test_a_whole_choice_takes_no_tool_beside_it(make_context: Any) -> None:
    """One of both would be ignored [SES-15]."""
    context = make_context(messages=HISTORY, tools=[weather])
    async with context.write_session() as session:
        with pytest.raises(TypeError, match="too many"):
            session.set_tool_choice(kb.ToolChoice("required"), "weather")

    assert context.committed.prompt.params.tool_choice is None


@pytest.mark.parametrize("wrong", [None, weather, "weather", 5])
async def test_tools_are_a_list(make_context: Any, wrong: Any) -> None:
    """What was meant stands in the error; nothing is changed [SES-02]."""
    context = make_context(messages=HISTORY, tools=[weather])
    async with context.write_session() as session:
        with pytest.raises(TypeError, match=r"session.tools = \[weather\]"):
            session.tools = wrong

    assert context.committed.tools.names == ("weather",)


@pytest.mark.parametrize("wrong", [None, kb.Prompt(), 5])
async def test_a_rewrite_is_a_function(make_context: Any, wrong: Any) -> None:
    """Nothing is changed [SES-15]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        with pytest.raises(TypeError, match="Nothing was changed"):
            session.rewrite_prompt(wrong)

    assert len(context.committed.prompt) == 6


async def test_a_tool_that_the_session_lacks_cannot_be_chosen(make_context: Any) -> None:
    """The error lists those it has [SES-15]."""
    context = make_context(messages=HISTORY, tools=[weather])
    async with context.write_session() as session:
        with pytest.raises(ToolError, match="it has: weather"):
            session.set_tool_choice("named", "boats")

    assert context.committed.prompt.params.tool_choice is None


# ------------------------------------------------------------------------------------------- after the end

USES: list[Any] = [
    lambda session: session.clear_history(),
    lambda session: session.leave_last_n_messages(1),
    lambda session: session.drop_last_n_messages(1),
    lambda session: session.leave_messages_from_timestamp(START),
    lambda session: session.drop_trailing_tool_calls(),
    lambda session: session.rewrite_prompt(lambda old: old),
    lambda session: session.change_model("x"),
    lambda session: session.change_params(seed=1),
    lambda session: session.set_tool_choice("auto"),
    lambda session: session.unset_tool_choice(),
]


@pytest.mark.parametrize("number", range(len(USES)))
async def test_a_closed_session_changes_nothing(make_context: Any, number: int) -> None:
    """Whatever is asked of it [SES-08]."""
    context = make_context(messages=HISTORY)
    async with context.write_session() as session:
        pass

    with pytest.raises(SessionClosedError, match="Cannot use session after it was closed"):
        USES[number](session)
    assert context.committed.model == kb.LLModel("offline")
    assert list(context.committed.prompt) == HISTORY


async def test_surgery_keeps_id_and_parameters_of_the_prompt(make_context: Any) -> None:
    """Only the messages change [SES-15]."""
    context = make_context(messages=HISTORY, tools=[weather])
    async with context.write_session() as session:
        session.params = PARAMS
        session.leave_last_n_messages(2)

    assert (context.committed.prompt.id, context.committed.prompt.params) == ("prompt", PARAMS)


CLEARING: list[Any] = [
    lambda session, **options: session.clear_history(**options),
    lambda session, **options: session.leave_last_n_messages(0, **options),
    lambda session, **options: session.drop_last_n_messages(99, **options),
    lambda session, **options: session.leave_messages_from_timestamp(START + timedelta(hours=1), **options),
]


@pytest.mark.parametrize("number", range(len(CLEARING)))
async def test_compat_koog_takes_system_messages_out_as_well(make_context: Any, number: int) -> None:
    """As Koog does; ``system=False`` keeps them [SES-15]."""
    left = []
    for options in ({}, {"system": False}):
        context = make_context(messages=HISTORY, compat="koog")
        async with context.write_session() as session:
            CLEARING[number](session, **options)
        left.append([message.id for message in context.committed.prompt])

    assert left == [[], ["s"]]
