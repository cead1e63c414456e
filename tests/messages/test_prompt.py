"""Prompts are values; they share what they have in common and never see each other's messages."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import DuplicateMessageError, MessageError
from koogbook.messages.message import Message
from koogbook.messages.model import LLMParams
from koogbook.messages.prompt import as_messages


def _users(*texts: str) -> list[Message]:
    return [kb.user(text, id=text) for text in texts]


def test_a_prompt_cannot_be_changed() -> None:
    """Only assigning another prompt to a session changes a history [SES-12]."""
    with pytest.raises(AttributeError, match="A prompt is a value"):
        kb.Prompt().id = "other"  # type: ignore[misc]


def test_appending_gives_a_new_prompt_and_leaves_the_old_one() -> None:
    """A prompt is a value [SES-12]."""
    before = kb.Prompt(_users("a"))
    after = before.append(*_users("b"))

    assert [message.id for message in before] == ["a"]
    assert [message.id for message in after] == ["a", "b"]


def test_with_messages_keeps_id_and_params() -> None:
    """Rewriting a history does not touch the parameters [SES-12]."""
    params = LLMParams(temperature=0.5)
    rewritten = kb.Prompt(_users("a", "b"), id="p", params=params).with_messages(_users("c"))

    assert (rewritten.id, rewritten.params, len(rewritten)) == ("p", params, 1)


def test_with_messages_takes_a_function_of_the_present_ones() -> None:
    """The short form for a filter [SES-12]."""
    prompt = kb.Prompt(_users("a", "b", "c")).with_messages(lambda messages: messages[-1:])

    assert [message.id for message in prompt] == ["c"]


def test_with_params_changes_only_what_is_named() -> None:
    """All other parameters are kept [SES-02]."""
    prompt = kb.Prompt(params=LLMParams(temperature=0.5, seed=1)).with_params(seed=2)

    assert (prompt.params.temperature, prompt.params.seed) == (0.5, 2)


def test_appending_a_message_that_is_there_names_its_position() -> None:
    """A reply that a request has appended itself is not doubled [SES-06a]."""
    prompt = kb.Prompt(_users("a", "b"))

    with pytest.raises(DuplicateMessageError, match="position 1") as caught:
        prompt.append(*_users("b"))
    assert caught.value.position == 1


def test_appending_one_message_twice_at_once_names_the_position_of_the_first() -> None:
    """Nothing is appended then [SES-06a, KB-057]."""
    prompt = kb.Prompt(_users("a"))

    with pytest.raises(DuplicateMessageError, match="position 2") as caught:
        prompt.append(*_users("x", "b", "b"))
    assert caught.value.position == 2
    assert len(prompt.append(*_users("b"))) == 2


def test_a_duplicate_is_taken_when_it_is_allowed() -> None:
    """Koog's silent doubling, on request [SES-06a]."""
    prompt = kb.Prompt(_users("a")).append(*_users("a"), allow_duplicate=True)

    assert [message.id for message in prompt] == ["a", "a"]


def test_a_prompt_made_of_duplicate_ids_is_refused() -> None:
    """The message names both places [SES-06a]."""
    with pytest.raises(DuplicateMessageError, match="Messages 0 and 2"):
        kb.Prompt(_users("a", "b", "a"))


def test_a_duplicate_is_found_whichever_branch_it_came_in_by() -> None:
    """A branch knows its own ids and not those of others [SES-06a]."""
    base = kb.Prompt(_users("a"))
    base.append(*_users("b"))
    branch = base.append(*_users("c")).append(*_users("b"))

    with pytest.raises(DuplicateMessageError):
        branch.append(*_users("b"))
    assert [message.id for message in branch] == ["a", "c", "b"]


@pytest.mark.parametrize("wrong", ["text", None, 5, {"role": "user"}], ids=repr)
def test_only_messages_can_be_in_a_prompt(wrong: Any) -> None:
    """The error says how to make one [SES-12]."""
    with pytest.raises(MessageError, match=r"kb\.user"):
        kb.Prompt().append(wrong)
    with pytest.raises(MessageError, match=r"kb\.user"):
        kb.Prompt([wrong], allow_duplicate=True)


def test_an_append_that_fails_in_the_middle_leaves_all_prompts_as_they_were() -> None:
    """A prompt that shares the log does not grow [SES-12]."""
    wrong: Any = "text"
    prompt = kb.Prompt(_users("a"))
    with pytest.raises(MessageError):
        prompt.append(*_users("b"), wrong, allow_duplicate=True)

    assert len(prompt.append(*_users("b"))) == 2


def test_prompts_are_equal_by_messages_id_and_params() -> None:
    """How they were built does not count [SES-12]."""
    built = kb.Prompt(_users("a"), id="p").append(*_users("b"))
    whole = kb.Prompt(
        [built[0], built[1]],
        id="p",
    )

    assert built == whole
    assert hash(built) == hash(whole)
    assert built != kb.Prompt(whole.messages, id="q")
    assert built != whole.with_params(seed=1)


def test_a_copy_of_a_prompt_is_the_prompt() -> None:
    """A value can be copied by whoever copies everything."""
    prompt = kb.Prompt(_users("a"))

    assert copy.deepcopy({"prompt": prompt})["prompt"] == prompt
    assert copy.copy(prompt) == prompt


def test_an_extension_is_known_without_comparing() -> None:
    """A store writes only what is new."""
    base = kb.Prompt(_users("a"))
    longer = base.append(*_users("b"))

    assert longer.is_extension_of(base)
    assert not base.is_extension_of(longer)
    assert not base.append(*_users("c")).is_extension_of(longer)


def test_messages_come_from_prompts_transcripts_and_lists_alike() -> None:
    """Whatever has ``messages`` is a history."""
    messages = _users("a", "b")

    assert as_messages(kb.Prompt(messages)) == as_messages(messages) == tuple(messages)


STEPS = st.lists(
    st.tuples(st.integers(min_value=0, max_value=30), st.sampled_from(["append", "replace", "params"])),
    max_size=40,
)


@settings(max_examples=100)
@given(STEPS)
def test_prompts_that_branch_never_see_each_others_messages(steps: list[tuple[int, str]]) -> None:
    """However prompts grow from one another, each holds what a plain list would hold."""
    prompts: list[kb.Prompt] = [kb.Prompt()]
    plain: list[list[str]] = [[]]
    for number, (source, what) in enumerate(steps):
        at = source % len(prompts)
        new = kb.user("x" * number, id=str(number))
        if what == "append":
            prompts.append(prompts[at].append(new))
            plain.append([*plain[at], new.id])
        elif what == "replace":
            prompts.append(prompts[at].with_messages([*prompts[at][1:], new]))
            plain.append([*plain[at][1:], new.id])
        else:
            prompts.append(prompts[at].with_params(seed=number))
            plain.append(plain[at])

    assert [[message.id for message in prompt] for prompt in prompts] == plain
    assert [prompt.tokens for prompt in prompts] == [
        sum(message.tokens for message in prompt) for prompt in prompts
    ]
