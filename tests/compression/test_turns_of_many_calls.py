"""A turn that calls many tools at once is never parted from their results, wherever a cut would lie."""

from __future__ import annotations

import pytest

import koogbook as kb
from koogbook.messages.history_surgery import last_messages
from koogbook.messages.pairing import groups, pair_messages

CALLS = [kb.ToolCall("read", f'{{"n":{number}}}', f"r{number}") for number in range(10)]
#: One turn asks for ten files, and all ten answers follow.
TEN_FILES = (
    kb.user("Read ten files"),
    kb.assistant("On it", calls=CALLS),
    *(kb.tool_result(call, f"file {number}") for number, call in enumerate(CALLS)),
)


@pytest.mark.parametrize("keep", range(1, 12))
async def test_a_summary_of_all_but_the_last_messages_takes_the_whole_turn_or_nothing_of_it(
    keep: int,
) -> None:
    """The asking turn stands with all its answers, or all of it went into the summary [KB-003]."""
    done = await kb.compress(TEN_FILES, kb.WholeHistory(keep_last=keep), executor=kb.ExtractiveExecutor())
    after = done.prompt.messages
    calls = sum(len(message.calls) for message in after)

    assert pair_messages(after).defects == ()
    assert calls == sum(message.role == "tool" for message in after)
    assert calls in (0, 10)


@pytest.mark.parametrize("keep", range(12))
def test_cutting_by_hand_keeps_the_turn_whole(keep: int) -> None:
    """Never more stay than asked for, and what stays is whole [KB-003, KB-007]."""
    done = last_messages(TEN_FILES, keep, system=False)

    assert pair_messages(done.messages).defects == ()
    assert len(done.messages) <= keep
    assert bool(done.note) == (len(done.messages) != keep)


def test_answers_are_paired_by_their_ids_and_not_by_their_place() -> None:
    """Two calls of one turn both find theirs, in whichever order they came [KB-007, KB-018]."""
    first, second = kb.ToolCall("look", "{}", "p1"), kb.ToolCall("look", "{}", "p2")
    asked = kb.assistant(calls=[first, second])
    for results in ((first, second), (second, first)):
        messages = (asked, *(kb.tool_result(call, call.id or "") for call in results))
        pairs = pair_messages(messages).pairs

        assert {
            (asked.calls[pair.call_part].id, messages[pair.result_message].results[0].output)
            for pair in pairs
        } == {("p1", "p1"), ("p2", "p2")}
        assert [list(one) for one in groups(messages)] == [[0, 1, 2]]


def test_an_id_that_is_used_again_later_makes_two_pairs() -> None:
    """Each result answers the open call before it, of another tool too; no pair takes the place of one [KB-019]."""
    early, late = kb.ToolCall("get_user", "{}", "call_A"), kb.ToolCall("get_order", "{}", "call_A")
    messages = (
        kb.user("q1"),
        kb.assistant(calls=[early]),
        kb.tool_result(early, "gold"),
        kb.assistant("noted"),
        kb.user("q2"),
        kb.assistant(calls=[late]),
        kb.tool_result(late, "42"),
    )
    pairing = pair_messages(messages)

    assert [(pair.call_message, pair.result_message) for pair in pairing.pairs] == [(1, 2), (5, 6)]
    assert pairing.defects == ()
    assert [message.text or message.results for message in last_messages(messages, 4, system=False).messages][
        :1
    ] == ["noted"]
