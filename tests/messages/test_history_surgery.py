"""A history is cut by hand where it was asked for, and no call loses its result."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MessageError
from koogbook.messages.history_surgery import (
    Surgery,
    cleared,
    last_messages,
    messages_from,
    without_last,
    without_trailing_calls,
)
from koogbook.messages.message import Message, message
from koogbook.messages.pairing import groups, pair_messages
from koogbook.messages.parts import Part

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
IDS = st.none() | st.sampled_from(["a", "b", "c"])
SAID: st.SearchStrategy[list[Part]] = st.lists(
    st.sampled_from([kb.Text("hm"), kb.Text(""), kb.Text(" \n"), kb.Reasoning("why")]), max_size=2
)


def at(minute: int) -> datetime:
    """A time so many minutes after noon."""
    return NOON + timedelta(minutes=minute)


def calls(*ids: str | None, text: str = "", minute: int = 0) -> Message:
    """An assistant message with a call for each id."""
    parts: list[Part] = [kb.Text(text)] if text else []
    return message("assistant", [*parts, *(kb.ToolCall("look", "{}", one) for one in ids)], time=at(minute))


def result(call_id: str | None, minute: int = 0) -> Message:
    """A tool message with one result."""
    return kb.tool_result(call_id, "done", tool="look", time=at(minute))


def user(minute: int = 0) -> Message:
    """A user message."""
    return kb.user("x", time=at(minute))


def system(minute: int = 0) -> Message:
    """A system message."""
    return kb.system("rules", time=at(minute))


@st.composite
def histories(draw: Callable[..., Any]) -> list[Message]:
    """Any history: parallel calls, half-answered ones, ids missing or used again, orphans, several systems."""
    found: list[Message] = []
    for _ in range(draw(st.integers(0, 7))):
        kind = draw(st.sampled_from(["user", "system", "assistant", "turn", "turn", "orphan"]))
        if kind == "user":
            found.append(kb.user("x"))
        elif kind == "system":
            found.append(kb.system("rules"))
        elif kind == "assistant":
            found.append(message("assistant", draw(SAID)))
        elif kind == "orphan":
            found.append(result(draw(IDS)))
        else:
            ids = draw(st.lists(IDS, min_size=1, max_size=3))
            parts = [*draw(SAID), *(kb.ToolCall("look", "{}", one) for one in ids)]
            found.append(message("assistant", parts))
            answered = ids[: draw(st.integers(0, len(ids)))]
            if draw(st.booleans()):
                found += [result(one) for one in answered]
            elif answered:
                found.append(message("tool", [kb.ToolResult("done", "look", one) for one in answered]))
    minutes = draw(st.lists(st.integers(0, 9), min_size=len(found), max_size=len(found)))
    if draw(st.booleans()):
        minutes.sort()
    return [
        message(one.role, one.parts, id=str(number), time=at(minute))
        for number, (one, minute) in enumerate(zip(found, minutes, strict=True))
    ]


COUNTS = st.integers(0, 12)
CUTS: st.SearchStrategy[Callable[[list[Message]], Surgery]] = st.one_of(
    st.builds(lambda system: lambda history: cleared(history, system=system), st.booleans()),
    st.builds(
        lambda n, system: lambda history: last_messages(history, n, system=system), COUNTS, st.booleans()
    ),
    st.builds(
        lambda n, system: lambda history: without_last(history, n, system=system), COUNTS, st.booleans()
    ),
    st.builds(
        lambda minute, system: lambda history: messages_from(history, at(minute), system=system),
        st.integers(0, 10),
        st.booleans(),
    ),
    st.just(without_trailing_calls),
)


def ids_of(messages: Any) -> list[str]:
    """The ids, which are the positions in the old history."""
    return [one.id for one in messages]


def counted(messages: Any, system: bool) -> int:
    """How many messages a count is about."""
    return sum(system or one.role != "system" for one in messages)


# ------------------------------------------------------------------------------------------- laws


@settings(max_examples=200)
@given(histories(), CUTS)
def test_what_is_left_is_the_old_history_without_what_is_said_to_be_removed(
    history: list[Message], cut: Callable[[list[Message]], Surgery]
) -> None:
    """In the old order, nothing new, nothing twice, and every position is accounted for [SES-15]."""
    done = cut(history)
    gone, edited = set(done.removed), set(done.edited)
    left = [position for position in range(len(history)) if position not in gone]

    assert ids_of(done.messages) == [str(position) for position in left]
    assert all(done.messages[new] is history[old] for new, old in enumerate(left) if old not in edited)
    assert set(done.with_pair) <= gone
    assert list(done.removed) == sorted(gone)
    assert list(done.with_pair) == sorted(set(done.with_pair))


@settings(max_examples=200)
@given(histories(), CUTS)
def test_no_pair_is_parted(history: list[Message], cut: Callable[[list[Message]], Surgery]) -> None:
    """A call is there exactly when its result is [SES-15]."""
    done = cut(history)
    left = set(ids_of(done.messages)) - {str(position) for position in done.edited}

    for pair in pair_messages(history).pairs:
        assert (str(pair.call_message) in left) == (str(pair.result_message) in left)


@settings(max_examples=200)
@given(histories(), CUTS)
def test_no_result_becomes_an_orphan(history: list[Message], cut: Callable[[list[Message]], Surgery]) -> None:
    """What was whole before is whole afterwards; a broken history is not refused and not made worse [EXE-02]."""

    def orphans(messages: Any) -> set[tuple[str, str | None]]:
        defects = pair_messages(messages).defects
        return {(messages[one.position].id, one.call_id) for one in defects if one.kind == "orphan_result"}

    assert orphans(cut(history).messages) <= orphans(history)


@settings(max_examples=200)
@given(histories(), CUTS)
def test_a_pair_is_spoken_of_exactly_when_one_was_at_the_border(
    history: list[Message], cut: Callable[[list[Message]], Surgery]
) -> None:
    """Nothing goes silently, and nothing is said where only what was asked for went [SES-15]."""
    done = cut(history)

    assert bool(done.note) == bool(done.with_pair or done.edited)
    assert all(f"{position}" in done.note for position in (*done.with_pair[:5], *done.edited))


@settings(max_examples=200)
@given(histories(), COUNTS, st.booleans())
def test_never_more_than_the_last_n_are_kept_and_as_many_as_the_pairs_allow(
    history: list[Message], n: int, system: bool
) -> None:
    """One group more would be over the number [SES-15]."""
    done = last_messages(history, n, system=system)
    kept = counted(done.messages, system)
    pieces = [
        group for group in groups(history) if system or history[group.start].role != "system"
    ]  # from the end, as many as fit
    fitting = 0
    for piece in reversed(pieces):
        if fitting + len(piece) > n:
            break
        fitting += len(piece)

    assert kept == fitting <= n


@settings(max_examples=200)
@given(histories(), COUNTS, st.booleans())
def test_at_least_the_last_n_are_taken_out_and_no_more_than_the_pairs_ask_for(
    history: list[Message], n: int, system: bool
) -> None:
    """What is over the number was in a pair with the first of them [SES-15]."""
    done = without_last(history, n, system=system)
    kept, whole = counted(done.messages, system), counted(history, system)

    assert kept + len(done.with_pair) == max(0, whole - n)
    assert len(done.with_pair) < max(map(len, groups(history)), default=1)


@settings(max_examples=200)
@given(histories(), st.integers(0, 10), st.booleans())
def test_nothing_older_is_kept_and_nothing_else_that_is_newer_goes(
    history: list[Message], minute: int, system: bool
) -> None:
    """Of the newer ones only those go whose pair is older [SES-15]."""
    done = messages_from(history, at(minute), system=system)
    exempt = [one for one in history if one.role == "system" and not system]
    newer = {one.id for one in history if one.time >= at(minute)} | set(ids_of(exempt))

    assert set(ids_of(done.messages)) | {str(position) for position in done.with_pair} == newer


@settings(max_examples=200)
@given(histories(), CUTS)
def test_system_messages_stay(history: list[Message], cut: Callable[[list[Message]], Surgery]) -> None:
    """Unless they were asked for, they are never what goes with a pair [SES-15]."""
    done = cut(history)

    assert not any(history[position].role == "system" for position in (*done.with_pair, *done.edited))


@settings(max_examples=100)
@given(histories(), COUNTS, st.integers(0, 10))
def test_all_system_messages_stay_by_default(history: list[Message], n: int, minute: int) -> None:
    """Wherever they stand [SES-15]."""
    wanted = [one.id for one in history if one.role == "system"]
    cuts = (
        cleared(history),
        last_messages(history, n),
        without_last(history, n),
        messages_from(history, at(minute)),
        without_trailing_calls(history),
    )

    assert [[one.id for one in cut.messages if one.role == "system"] for cut in cuts] == [wanted] * 5


@settings(max_examples=200)
@given(histories(), COUNTS, st.integers(0, 10), st.booleans())
def test_doing_it_twice_is_doing_it_once(history: list[Message], n: int, minute: int, system: bool) -> None:
    """What is left fulfils the request already [SES-15]."""
    for cut in (
        lambda messages: cleared(messages, system=system),
        lambda messages: last_messages(messages, n, system=system),
        lambda messages: messages_from(messages, at(minute), system=system),
        without_trailing_calls,
    ):
        once = cut(history)
        assert cut(once.messages) == Surgery(once.messages)


@settings(max_examples=200)
@given(histories())
def test_no_call_is_open_without_the_trailing_ones(history: list[Message]) -> None:
    """What was said and thought beside them is there, the calls and their results are not [SES-15]."""
    done = without_trailing_calls(history)
    gone = [history[position] for position in done.removed]

    assert pair_messages(done.messages).tail is None
    assert all(one.role == "tool" or (one.role == "assistant" and not one.text.strip()) for one in gone)
    assert all(history[position].text.strip() for position in done.edited)


# ------------------------------------------------------------------------------------------- examples


def test_clearing_keeps_the_system_messages_only() -> None:
    """They are taken out on request [SES-15]."""
    history = [system(), user(), system(), calls("a"), result("a")]

    assert cleared(history) == Surgery((history[0], history[2]), (1, 3, 4))
    assert cleared(history, system=True) == Surgery((), (0, 1, 2, 3, 4))


def test_a_pair_that_does_not_fit_goes_out_whole() -> None:
    """Two parallel results without their calls would be refused by every provider [SES-15]."""
    history = [user(), calls("a", "b"), result("a"), result("b"), user()]
    done = last_messages(history, 3)

    assert done == Surgery((history[4],), (0, 1, 2, 3), (2, 3))
    assert done.note == (
        "Messages 2 and 3 went as well, because a tool call and its results are never parted."
    )


def test_a_pair_that_fits_stays() -> None:
    """Then nothing is said [SES-15]."""
    history = [user(), calls("a", "b"), result("a"), result("b"), user()]
    done = last_messages(history, 4)

    assert (done.messages, done.removed, done.note) == (tuple(history[1:]), (0,), "")


def test_a_pair_at_the_border_of_what_is_dropped_goes_out_whole() -> None:
    """Also where one result of several is the last message [SES-15]."""
    history = [user(), calls("a", "b"), result("a"), result("b")]

    assert without_last(history, 1) == Surgery((history[0],), (1, 2, 3), (1, 2))


def test_a_pair_at_the_border_of_a_time_goes_out_whole() -> None:
    """A slow tool answers long after its call [SES-15]."""
    history = [system(0), user(1), calls("a", minute=2), result("a", minute=8), user(9)]
    done = messages_from(history, at(5))

    assert done == Surgery((history[0], history[4]), (1, 2, 3), (3,))
    assert done.note.startswith("Message 3 went as well")


def test_a_message_of_exactly_the_time_is_kept() -> None:
    """In any zone [SES-15]."""
    history = [user(1), user(2)]
    elsewhere = at(2).astimezone(timezone(timedelta(hours=8)))

    assert messages_from(history, elsewhere).removed == (0,)


@pytest.mark.parametrize("cut", [last_messages, without_last])
def test_system_messages_are_not_counted_unless_they_may_go(cut: Any) -> None:
    """A count is about the conversation [SES-15]."""
    history = [system(), user(), system(), user()]

    assert len(cut(history, 1).messages) == 3
    assert len(cut(history, 1, system=True).messages) == {last_messages: 1, without_last: 3}[cut]


@pytest.mark.parametrize("n", [0, 3, 10**30])
def test_none_and_more_than_all_are_counts(n: int) -> None:
    """The last 0 are none, and not all [SES-15]."""
    history = [user(), user(), user()]

    assert len(last_messages(history, n).messages) == min(n, 3)
    assert len(without_last(history, n).messages) == 3 - min(n, 3)


@pytest.mark.parametrize("cut", [last_messages, without_last])
@pytest.mark.parametrize(("n", "says"), [(-1, "-1"), (True, "True"), (1.0, "1.0"), (None, "None")])
def test_what_is_no_count_is_refused(cut: Any, n: Any, says: str) -> None:
    """Python would cut a list at -1 without a word [SES-15]."""
    with pytest.raises(MessageError, match=f"whole number from 0, not {says}.*Nothing was changed"):
        cut([user()], n)


@pytest.mark.parametrize("time", [NOON.replace(tzinfo=None), "2026-01-01", None, 5])
def test_what_is_no_time_with_a_zone_is_refused(time: Any) -> None:
    """A time without one means another moment elsewhere [SES-15]."""
    with pytest.raises(MessageError, match=r"has a zone.*Nothing was changed"):
        messages_from([user()], time)


@pytest.mark.parametrize("system", ["no", 1, None])
def test_only_true_and_false_say_what_becomes_of_system_messages(system: Any) -> None:
    """A text that means no would take them out [SES-15]."""
    with pytest.raises(MessageError, match="system is True or False"):
        last_messages([user()], 1, system=system)


def test_an_unfinished_turn_goes_with_the_results_it_has() -> None:
    """A result of a call that is gone would be an orphan [SES-15]."""
    history = [user(), calls("a", "b"), result("a")]
    done = without_trailing_calls(history)

    assert done == Surgery((history[0],), (1, 2), (2,))
    assert done.note.startswith("Message 2 went as well")


def test_calls_without_any_result_go_and_nothing_is_said() -> None:
    """It is what was asked for [SES-15]."""
    history = [user(), calls("a", "b")]

    assert without_trailing_calls(history) == Surgery((history[0],), (1,))
    assert without_trailing_calls(history).note == ""


def test_what_was_said_beside_unfinished_calls_stays() -> None:
    """As the same message, with its id and its reasoning [SES-15]."""
    said = kb.assistant([kb.Reasoning("why"), kb.Text("Let me see.")], calls=[kb.ToolCall("look", "{}", "a")])
    done = without_trailing_calls([user(), said])

    assert (done.messages[1], done.edited) == (said.with_parts(said.parts[:2]), (1,))
    assert done.note == "Message 1 stayed without the tool calls that have no results."


@pytest.mark.parametrize("beside", [[kb.Text("")], [kb.Text(" \n")], [kb.Reasoning("why")]], ids=repr)
def test_a_message_that_says_nothing_beside_its_calls_goes_whole(beside: list[Any]) -> None:
    """An empty message would be refused as well [SES-15]."""
    done = without_trailing_calls([user(), kb.assistant(beside, calls=[kb.ToolCall("look")])])

    assert (done.removed, done.edited) == ((1,), ())


def test_a_finished_turn_is_left_alone() -> None:
    """Its last message is a result, and no call is open [SES-15]."""
    history = [user(), calls("a", None), result("a"), result(None)]

    assert without_trailing_calls(history) == Surgery(tuple(history))


def test_an_orphan_after_an_unfinished_turn_stays() -> None:
    """It answers none of the calls that go [SES-15]."""
    history = [user(), calls("a", "b"), result("a"), result("lost")]

    assert without_trailing_calls(history) == Surgery((history[0], history[3]), (1, 2), (2,))


def test_an_unfinished_turn_before_an_unfinished_turn_goes_too() -> None:
    """In a broken history the one comes to the end when the other is gone [SES-15]."""
    history = [user(), calls("a"), calls("b")]

    assert without_trailing_calls(history).removed == (1, 2)


def test_an_orphan_counts_as_one_message() -> None:
    """A broken history is cut, not refused [SES-15]."""
    history = [user(), result("lost"), user()]

    assert last_messages(history, 2).messages == tuple(history[1:])


def test_an_id_that_is_used_again_does_not_join_two_turns() -> None:
    """Some providers count from call-0 in every turn [SES-15]."""
    history = [calls("a"), result("a"), calls("a"), result("a")]

    assert last_messages(history, 2) == Surgery(tuple(history[2:]), (0, 1))


def test_a_long_list_of_positions_is_cut_in_the_sentence() -> None:
    """The sentence stays readable [SES-15]."""
    ids = [str(number) for number in range(9)]
    history = [calls(*ids), *map(result, ids)]

    assert last_messages(history, 9).note.startswith("Messages 1, 2, 3, 4, 5 and 4 more went as well")


def test_a_prompt_can_be_cut_as_it_is() -> None:
    """And the result goes into the session by ``with_messages`` [SES-12]."""
    prompt = kb.Prompt([system(), user(), user()])
    done = last_messages(prompt.messages, 1)

    assert len(prompt.with_messages(done.messages)) == 2
    assert len(prompt) == 3
