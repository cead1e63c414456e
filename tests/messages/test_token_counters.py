"""Who counts tokens: set for the process or a block, each message once by each, and what fails is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MessageError
from koogbook.messages import token_counters
from koogbook.messages.codec import decode_message, encode_message
from koogbook.messages.parts import Attachment, Foreign, Reasoning
from koogbook.messages.token_counters import (
    EncoderCounter,
    TokenCounter,
    TokenEstimator,
    count_tokens,
    count_tokens_with,
)
from koogbook.messages.tokens import ATTACHMENT_TOKENS, CALL_OVERHEAD, MESSAGE_OVERHEAD, estimate_tokens


@pytest.fixture(autouse=True)
def estimates_before_and_after() -> Iterator[None]:
    """What a test sets is gone after it."""
    assert type(token_counters.current) is TokenEstimator
    with count_tokens_with(TokenEstimator()):
        yield


class Fixed:
    """Gives always the same number, and counts how often it was asked."""

    def __init__(self, number: Any) -> None:
        self.number = number
        self.times = 0

    def count_text(self, text: str, /) -> Any:
        """The number."""
        self.times += 1
        return self.number

    def count_message(self, message: kb.Message, /) -> Any:
        """The number."""
        return self.count_text("")


class Raises(Fixed):
    """Raises what it was given."""

    def count_text(self, text: str, /) -> Any:
        """See the class."""
        raise self.number

    def __repr__(self) -> str:
        return "Raises()"


words = EncoderCounter(str.split)

# ------------------------------------------------------------------------------------------- who is in use


def test_tokens_are_estimated_unless_something_else_was_set() -> None:
    """For texts and messages [PRF-10]."""
    assert count_tokens("one two three") == estimate_tokens("one two three")
    assert kb.user("one two three").tokens == MESSAGE_OVERHEAD + estimate_tokens("one two three")


def test_a_counter_counts_from_when_it_is_set() -> None:
    """Also what was counted before, by another one [PRF-10]."""
    old = kb.user("one two three")
    estimated = old.tokens
    count_tokens_with(words)

    assert (old.tokens, kb.user("one").tokens, count_tokens("a b")) == (
        MESSAGE_OVERHEAD + 3,
        MESSAGE_OVERHEAD + 1,
        2,
    )
    count_tokens_with(TokenEstimator())
    assert old.tokens == estimated


def test_a_block_puts_the_former_counter_back() -> None:
    """However it is left, and in one another [PRF-10]."""
    message = kb.user("one two three")
    with count_tokens_with(Fixed(70)) as outer:
        with pytest.raises(OSError, match="gone"), count_tokens_with(words):
            raise OSError("gone")
        seen = message.tokens

    assert (seen, outer.count_text("x"), message.tokens) == (
        70,
        70,
        MESSAGE_OVERHEAD + estimate_tokens("one two three"),
    )


@pytest.mark.parametrize(
    "thing", [None, str.split, TokenEstimator, object()], ids=["None", "function", "class", "object"]
)
def test_what_is_no_counter_is_refused(thing: Any) -> None:
    """And tokens are counted as before [PRF-10]."""
    count_tokens_with(words)
    with pytest.raises(TypeError, match="counted as before"):
        count_tokens_with(thing)

    assert token_counters.current is words


@given(st.lists(st.tuples(st.integers(0, 2), st.text(max_size=5)), max_size=12))
def test_no_number_of_one_counter_is_given_for_another(steps: list[tuple[int, str]]) -> None:
    """Whatever the order, in messages and in prompts that grow [PRF-10]."""
    counters: list[TokenCounter] = [TokenEstimator(), Fixed(3), EncoderCounter(list)]
    prompt = kb.Prompt()
    for number, text in steps:
        prompt = prompt.append(kb.user(text))
        with count_tokens_with(counters[number]):
            expected = [counters[number].count_message(message) for message in prompt]

            assert [message.tokens for message in prompt] == expected
            assert prompt.tokens == sum(expected)
    assert prompt.tokens == sum(TokenEstimator().count_message(message) for message in prompt)


# ------------------------------------------------------------------------------------------- once


def test_each_message_is_counted_once_by_each_counter() -> None:
    """Though others are in use in between [PRF-10]."""
    first, second = Fixed(1), Fixed(2)
    message = kb.user("x")
    seen = []
    for counter in (first, second, first, TokenEstimator(), second):
        with count_tokens_with(counter):
            seen += [message.tokens, message.tokens]

    estimated = message.tokens
    assert seen == [1, 1, 2, 2, 1, 1, estimated, estimated, 2, 2]
    assert (first.times, second.times) == (1, 1)


def test_a_prompt_that_grows_counts_what_is_new() -> None:
    """Nothing twice, and no number of another counter [PRF-10]."""
    prompt = kb.Prompt([kb.user("a"), kb.user("b")])
    assert prompt.tokens == 2 * kb.user("a").tokens
    counter = Fixed(5)
    with count_tokens_with(counter):
        whole = [prompt.tokens, prompt.append(kb.user("c")).tokens, prompt.tokens]

    assert (whole, counter.times) == ([10, 15, 10], 3)


def test_a_message_is_the_same_value_whoever_counted_it() -> None:
    """Equal, with one hash, and with the same bytes [EXE-01]."""
    counted, other = (
        kb.Message(role="user", parts=(kb.Text("x"),), id="m", time=kb.user("").time) for _ in "ab"
    )
    counted = decode_message(encode_message(other))
    with count_tokens_with(words):
        assert counted.tokens == MESSAGE_OVERHEAD + 1

    assert (counted, hash(counted), counted.digest, encode_message(counted)) == (
        other,
        hash(other),
        other.digest,
        encode_message(other),
    )


def test_tokens_cannot_be_set() -> None:
    """A message is a value [EXE-01]."""
    message: Any = kb.user("x")
    with count_tokens_with(words), pytest.raises(AttributeError):
        message.tokens = 3


# ------------------------------------------------------------------------------------------- encoders


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (kb.user("a b c"), 3),
        (kb.user(["a b", "c"]), 3),
        (kb.assistant(Reasoning("a b", signature="c d e f g")), 2),
        (kb.assistant("a", calls=[kb.ToolCall("tool", "b c")]), 1 + CALL_OVERHEAD + 1 + 2),
        (kb.tool_result("1", "a b c", tool="tool"), CALL_OVERHEAD + 3),
        (kb.user(Attachment("image", data=b"x" * 9000)), ATTACHMENT_TOKENS["image"]),
        (kb.user(Attachment("file", "text/plain", data=b"a b c")), 3),
        (kb.user(Foreign("odd", "a b")), 2),
        (kb.user("", metadata={"a": "b c d"}), 0),
    ],
    ids=["text", "texts", "reasoning", "call", "result", "picture", "text file", "foreign", "metadata"],
)
def test_an_encoder_counts_texts_and_nothing_else(message: kb.Message, tokens: int) -> None:
    """What a message is besides them counts as estimated [PRF-10]."""
    assert words.count_message(message) == MESSAGE_OVERHEAD + tokens


def test_an_encoder_may_give_anything_that_has_a_length() -> None:
    """Lists, arrays, encodings [PRF-10]."""

    class Encoding:
        def __len__(self) -> int:
            return 4

    assert EncoderCounter(lambda text: Encoding()).count_text("x") == 4


@given(st.text(st.characters(codec=None), max_size=20))
def test_an_encoder_gets_only_what_can_be_encoded(text: str) -> None:
    """Any text of Python can be counted [EXE-01]."""
    assert EncoderCounter(lambda given: given.encode()).count_text(text) >= len(text)


def test_an_empty_text_is_not_encoded() -> None:
    """Some encoders would add a token of their own [PRF-10]."""
    assert EncoderCounter(lambda text: ["<start>", *text]).count_text("") == 0


def test_only_a_function_makes_a_counter() -> None:
    """The encoding itself is none [PRF-10]."""
    with pytest.raises(TypeError, match="encode_ordinary"):
        EncoderCounter("o200k_base")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- what fails


@pytest.mark.parametrize("number", [-1, 1.0, "3", None, True], ids=repr)
def test_what_is_no_count_is_refused(number: Any) -> None:
    """Named, with the message, and nothing is kept of it [PRF-10]."""
    counter = Fixed(number)
    message = kb.user("x", id="m1")
    with count_tokens_with(counter):
        for _ in range(2):
            with pytest.raises(MessageError, match=r"Fixed.* for message 'm1'.*Nothing was counted"):
                message.tokens  # noqa: B018
        counter.number = 3
        seen = message.tokens

    assert (seen, counter.times) == (3, 3)


@pytest.mark.parametrize("error", [KeyError("vocabulary"), AttributeError("encode")], ids=repr)
def test_a_counter_that_raises_is_named(error: Exception) -> None:
    """With what it raised, and on what; a prompt counts on when it is mended [PRF-10]."""
    counter = Raises(error)
    prompt = kb.Prompt([kb.user("x", id="m1")])
    with count_tokens_with(counter):
        with pytest.raises(MessageError, match=r"counter Raises\(\) failed on message 'm1'") as caught:
            prompt.tokens  # noqa: B018
        with pytest.raises(MessageError, match="failed on the text 'some'"):
            count_tokens("some")
    with count_tokens_with(words):
        assert prompt.tokens == MESSAGE_OVERHEAD + 1

    assert caught.value.__cause__ is error


def test_an_encoder_that_fails_is_named_by_its_function() -> None:
    """One sees which one it was [PRF-10]."""

    def my_encode(text: str) -> Any:
        raise ValueError("special token")

    with (
        count_tokens_with(EncoderCounter(my_encode)),
        pytest.raises(MessageError, match=r"EncoderCounter\(my_encode\) failed .*special token"),
    ):
        count_tokens("x")


def test_being_stopped_is_no_failure_of_the_counter() -> None:
    """It goes through as it is [AGT-06]."""
    with count_tokens_with(Raises(KeyboardInterrupt())), pytest.raises(KeyboardInterrupt):  # type: ignore[arg-type]
        count_tokens("x")
