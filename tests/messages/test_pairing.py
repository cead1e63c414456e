"""Results follow their calls, and nothing parts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import koogbook as kb
from koogbook.errors import ToolPairingError
from koogbook.messages.message import Message, message
from koogbook.messages.pairing import groups, open_calls, pair_messages, require_pairs

IDS = st.none() | st.sampled_from(["a", "b", "c"])


def _calls(*ids: str | None) -> Message:
    return kb.assistant(calls=[kb.ToolCall("f", "{}", one) for one in ids])


def _result(call_id: str | None) -> Message:
    return kb.tool_result(call_id, "done", tool="f")


@st.composite
def any_histories(draw: Callable[..., Any]) -> list[Message]:
    """Histories that keep no rule: orphans, open calls and wrong orders included."""
    pieces = draw(
        st.lists(
            st.builds(kb.user, st.just("x"))
            | st.lists(IDS, max_size=3).map(lambda ids: _calls(*ids))
            | IDS.map(_result)
            | st.lists(IDS, min_size=1, max_size=3).map(
                lambda ids: (
                    kb.user("y")
                    if not ids
                    else Message(
                        role="tool",
                        parts=tuple(kb.ToolResult("done", "f", one) for one in ids),
                        id="r",
                        time=kb.user("t").time,
                    )
                )
            ),
            max_size=12,
        )
    )
    return list(pieces)


@st.composite
def valid_histories(draw: Callable[..., Any]) -> list[Message]:
    """Histories that keep the rule, with ids that are missing or used again, later or in the same message."""
    found: list[Message] = []
    for ids in draw(st.lists(st.none() | st.lists(IDS, max_size=3), max_size=8)):
        if ids is None:
            found.append(kb.user("x"))
        else:
            # Ids may be missing or come twice, and a result may lack the id that its call has.
            given = [one if draw(st.booleans()) else None for one in ids]
            found += [_calls(*ids), *(_result(one) for one in given)]
    return found


@given(any_histories())
def test_groups_cover_the_list_without_gaps(history: list[Message]) -> None:
    """Cutting at the borders of groups loses and doubles nothing [EXE-02]."""
    assert [at for group in groups(history) for at in group] == list(range(len(history)))


@given(any_histories())
def test_no_pair_is_parted_by_a_group(history: list[Message]) -> None:
    """Whatever else is broken in a history, a call and its result are in one group [EXE-02]."""
    group_of = {at: number for number, group in enumerate(groups(history)) for at in group}
    pairs = pair_messages(history).pairs

    assert all(group_of[pair.call_message] == group_of[pair.result_message] for pair in pairs)


@given(any_histories())
def test_a_result_comes_after_its_call_and_belongs_to_one_only(history: list[Message]) -> None:
    """One result per call, and it follows [EXE-02]."""
    pairs = pair_messages(history).pairs

    assert all(pair.call_message < pair.result_message for pair in pairs)
    assert len({(pair.call_message, pair.call_part) for pair in pairs}) == len(pairs)
    assert len({(pair.result_message, pair.result_part) for pair in pairs}) == len(pairs)


@given(any_histories())
def test_every_call_and_every_result_is_accounted_for(history: list[Message]) -> None:
    """Each is in a pair, a defect, or the open tail: nothing is overlooked [EXE-02]."""
    pairing = pair_messages(history)
    kinds = [defect.kind for defect in pairing.defects]
    calls = sum(len(message.calls) for message in history)
    results = sum(len(message.results) for message in history)
    waiting = open_calls(history)

    assert calls == len(pairing.pairs) + kinds.count("unanswered_call") + len(waiting)
    assert open_calls(history, pairing) == waiting
    assert results == len(pairing.pairs) + kinds.count("orphan_result")


@given(valid_histories())
def test_a_valid_history_has_no_defects(history: list[Message]) -> None:
    """Each result follows in the order of the calls: then neither missing ids nor ids used again matter [EXE-02]."""
    pairing = pair_messages(history)

    assert pairing.defects == ()
    assert pairing.tail is None
    assert [pair.call_part for pair in pairing.pairs] == [
        part for one in history for part in range(len(one.calls))
    ]
    require_pairs(history, "request()", open_tail=False)


@pytest.mark.parametrize(
    ("history", "waiting"),
    [
        ([], []),
        ([kb.user("x")], []),
        ([_calls("a", "b")], [0, 1]),
        ([_calls("a", "b", "c"), _result("b")], [0, 2]),
        ([_calls("a", "b"), _result("a"), _result("b")], []),
        ([_calls("a", "a"), _result("a")], [1]),
        ([_calls(None, None), _result(None)], [1]),
        ([_calls("a", "b"), _result("a"), kb.user("x")], []),
    ],
    ids=["empty", "no calls", "no result", "some", "all", "one id twice", "without ids", "not at the end"],
)
def test_the_calls_at_the_end_that_have_no_result_are_open(
    history: list[Message], waiting: list[int]
) -> None:
    """In their order; a call that something else follows is a defect, and waits for nothing [EXE-02]."""
    named = [replace(one, tool=str(at)) for at, one in enumerate(history[0].calls)] if history else []
    history = [kb.assistant(calls=named), *history[1:]] if named else history

    assert [call.tool for call in open_calls(history)] == [str(at) for at in waiting]


def test_neither_what_is_said_beside_calls_nor_an_answered_turn_before_them_counts() -> None:
    """Only calls are open, and only those at the end [EXE-02]."""
    asked = kb.assistant("I look.", calls=[kb.ToolCall("f", "{}", "a")])
    history = [_calls("a", "b"), _result("a"), _result("b"), asked]

    assert open_calls(history) == list(asked.calls)


def test_an_id_that_is_used_again_belongs_to_the_nearest_call() -> None:
    """Some providers count from call-0 in every turn [EXE-02]."""
    history = [_calls("a"), _result("a"), kb.user("x"), _calls("a"), _result("a")]

    assert [(pair.call_message, pair.result_message) for pair in pair_messages(history).pairs] == [
        (0, 1),
        (3, 4),
    ]


@pytest.mark.parametrize(
    ("history", "kind", "position"),
    [
        ([_result("a")], "orphan_result", 0),
        ([_calls("a"), _result("b")], "orphan_result", 1),
        ([_calls("a"), kb.user("x")], "unanswered_call", 0),
        ([_calls("a"), kb.user("x"), _result("a")], "orphan_result", 2),
        ([_calls("a", "b"), _result("b"), _result("a")], "out_of_order", 1),
        ([_calls("a"), _result("a"), _result("a")], "orphan_result", 2),
    ],
    ids=["alone", "wrong id", "unanswered", "late", "order", "twice"],
)
def test_a_broken_rule_is_a_defect_with_its_place(history: list[Message], kind: str, position: int) -> None:
    """Every way of breaking the rule has a name and a position [EXE-02]."""
    assert (kind, position) in [(one.kind, one.position) for one in pair_messages(history).defects]


def test_the_calls_of_the_last_message_may_still_be_open() -> None:
    """A turn that is not done is the tail, not a defect [EXE-02]."""
    pairing = pair_messages([kb.user("x"), _calls("a", "b"), _result("a")])

    assert pairing.defects == ()
    assert pairing.tail == 1


def test_an_orphan_after_a_call_that_is_answered_later_does_not_part_them() -> None:
    """The orphan goes with the pair that it stands in [EXE-02]."""
    assert groups([_calls("a"), _result("x"), _result("a"), kb.user("y")]) == [range(3), range(3, 4)]


def test_a_broken_history_is_refused_by_the_names_of_its_ids() -> None:
    """The error says which calls and results, and what to do [EXE-02]."""
    with pytest.raises(ToolPairingError, match="id 'call-7'") as caught:
        require_pairs([_calls("call-7"), kb.user("x")], "request()")

    assert "kb.tool_result" in str(caught.value)


def test_an_open_tail_is_refused_where_a_request_cannot_have_one() -> None:
    """A provider refuses a last call without its result, so it is never sent [EXE-02]."""
    history = [kb.user("x"), _calls("a", "b"), _result("a")]
    require_pairs(history, "request_without_tools()", open_tail=True)

    with pytest.raises(ToolPairingError, match="id 'b'"):
        require_pairs(history, "request()", open_tail=False)


def test_a_history_full_of_defects_names_the_first_five() -> None:
    """The message stays readable [EXE-02]."""
    with pytest.raises(ToolPairingError, match="and 3 more"):
        require_pairs([_result(None) for _ in range(8)], "request()")


def test_a_result_with_an_id_does_not_answer_a_call_without_one_beside_calls_with_ids() -> None:
    """Where a turn gives ids, an id that none of its open calls has is wrong [EXE-02]."""
    history = [_calls(None, "a"), _result(None), _result("a"), _result("a")]

    assert [(one.kind, one.position) for one in pair_messages(history).defects] == [("orphan_result", 3)]


def test_results_with_ids_answer_calls_without_ids_by_position() -> None:
    """Some exports give ids to results only [EXE-02]."""
    history = [_calls(None, None), _result("x"), _result("y")]

    assert pair_messages(history).defects == ()


@given(st.permutations(["a", "b", "c", None]))
def test_an_id_finds_its_call_in_any_order(order: list[str | None]) -> None:
    """And the one without an id takes the call that is left, wherever it stands [EXE-02]."""
    calls: list[str | None] = ["a", None, "b", "c"]
    pairs = pair_messages([_calls(*calls), *map(_result, order)]).pairs

    assert [(calls[pair.call_part], order[pair.result_message - 1]) for pair in pairs] == [
        (one, one) for one in order
    ]


@pytest.mark.parametrize(
    ("calls", "results", "parts"),
    [
        (["a", "b"], [None, None], [0, 1]),
        ([None, None], ["x", "x"], [0, 1]),
        ([None, "b"], [None, "b"], [0, 1]),
        (["a", None], [None, "a"], [1, 0]),
        (["a", "a"], ["a", "a"], [0, 1]),
        (["a", "a"], [None, "a"], [0, 1]),
        (["a", "b", "a"], ["a", "a", "b"], [0, 2, 1]),
        (["a", "b"], ["b"], [1]),
        (["", None], [None, ""], [1, 0]),
    ],
    ids=repr,
)
def test_results_find_their_calls_by_id_and_then_by_position(
    calls: list[str | None], results: list[str | None], parts: list[int]
) -> None:
    """Calls of one id in one message are answered in their order [EXE-02]."""
    pairs = pair_messages([_calls(*calls), *map(_result, results)]).pairs

    assert [(pair.call_part, pair.result_message) for pair in pairs] == [
        (part, at) for at, part in enumerate(parts, 1)
    ]


def test_a_third_result_of_two_calls_of_one_id_is_an_orphan() -> None:
    """One result per call [EXE-02]."""
    history = [_calls("a", "a"), _result("a"), _result("a"), _result("a")]

    assert [(one.kind, one.position) for one in pair_messages(history).defects] == [("orphan_result", 3)]
    with pytest.raises(ToolPairingError, match="message 3: a result without a call before it"):
        require_pairs(history, "request()")


def test_of_two_calls_of_one_id_the_second_is_the_open_one() -> None:
    """The message names the id, and a request is refused [EXE-02]."""
    history = [kb.user("x"), _calls("a", "a"), _result("a")]

    assert pair_messages(history).tail == 1
    with pytest.raises(ToolPairingError, match=r"message 1: a call without a result \(tool f, id 'a'\)"):
        require_pairs(history, "request()", open_tail=False)


def test_results_in_one_message_are_paired_like_results_in_several() -> None:
    """Some providers put the results of a turn together [EXE-02]."""
    several = [_calls("a", None, "a"), _result("a"), _result(None), _result("a")]
    together = [several[0], message("tool", [part for one in several[1:] for part in one.parts])]

    assert [pair.call_part for pair in pair_messages(together).pairs] == [0, 1, 2]
    assert groups(together) == [range(2)]


def test_an_id_that_is_used_again_does_not_reach_over_its_turn() -> None:
    """The late result of the first call is an orphan, not a result of the second [EXE-02]."""
    history = [_calls("a"), kb.user("x"), _calls("a"), _result("a"), _result("a")]
    pairing = pair_messages(history)

    assert [(pair.call_message, pair.result_message) for pair in pairing.pairs] == [(2, 3)]
    assert [(one.kind, one.position) for one in pairing.defects] == [
        ("unanswered_call", 0),
        ("orphan_result", 4),
    ]
    assert groups(history) == [range(1), range(1, 2), range(2, 4), range(4, 5)]
