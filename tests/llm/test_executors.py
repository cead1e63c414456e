"""The executors that need no key: counting, scripted, extractive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import ExecutorClosedError, ExecutorError, ScriptExhaustedError
from koogbook.llm.executor import EndFrame, LocalExecutor, TextFrame
from koogbook.llm.extractive import words
from koogbook.llm.request import Request, is_quote_tag, quote_history
from koogbook.messages.message import REFERENCE_NAME, SUMMARY_NAME
from koogbook.messages.model import LLModel

EXECUTORS: list[Any] = [
    kb.OfflineExecutor,
    lambda: kb.ScriptedExecutor(lambda request: "scripted"),
    kb.ExtractiveExecutor,
]
every_executor = pytest.mark.parametrize("make", EXECUTORS, ids=["offline", "scripted", "extractive"])


def _request(*messages: kb.Message, **fields: Any) -> Request:
    return Request(messages=messages or (kb.user("Trains leave at 09:15."),), model=LLModel("m"), **fields)


# ------------------------------------------------------------------------------------------- all of them


@every_executor
async def test_an_answer_is_an_assistant_message(make: Any) -> None:
    """One message per request [EXE-03]."""
    assert (await make().execute(_request())).role == "assistant"


@every_executor
async def test_every_reply_says_that_no_model_answered(make: Any) -> None:
    """Nobody takes an offline answer for a model's [EXE-03]."""
    metadata = (await make().execute(_request())).metadata

    assert metadata["model"] is False
    assert metadata["answered_by"].endswith("Executor")


@every_executor
async def test_a_stream_gives_the_same_answer_and_ends_with_it(make: Any) -> None:
    """The last frame holds the whole message [EXE-03]."""
    frames = [frame async for frame in make().stream(_request())]
    texts = [frame.text for frame in frames if isinstance(frame, TextFrame)]

    assert isinstance(frames[-1], EndFrame)
    assert "".join(texts) == frames[-1].message.text == (await make().execute(_request())).text


@every_executor
async def test_a_closed_executor_refuses(make: Any) -> None:
    """Both ways of asking [EXE-03a]."""
    executor = make()
    async with executor:
        pass

    with pytest.raises(ExecutorClosedError, match="Nothing was sent"):
        await executor.execute(_request())
    with pytest.raises(ExecutorClosedError):
        [frame async for frame in executor.stream(_request())]


@every_executor
async def test_closing_twice_is_fine(make: Any) -> None:
    """``close()`` is idempotent [EXE-03a]."""
    executor = make()
    await executor.close()
    await executor.close()

    with pytest.raises(ExecutorClosedError):
        await executor.execute(_request())


@every_executor
def test_a_model_is_resolved_from_its_name(make: Any) -> None:
    """``provider:model`` or a name alone [EXE-03]."""
    executor = make()

    assert executor.resolve("openai:gpt:x") == LLModel("gpt:x", "openai")
    assert executor.resolve("local") == LLModel("local")
    assert executor.resolve(LLModel("m", "p", 10)) == LLModel("m", "p", 10)


async def test_an_executor_that_says_nothing_of_how_it_answers_is_named() -> None:
    """Writing one means writing ``answer`` [EXE-03]."""
    with pytest.raises(TypeError, match="LocalExecutor"):
        await LocalExecutor().execute(_request())


# ------------------------------------------------------------------------------------------- counting


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_the_offline_answer_is_the_number_of_user_messages(count: int) -> None:
    """One line [EXE-03a]."""
    history = [kb.system("rules"), *(kb.user(str(number)) for number in range(count)), kb.assistant("x")]

    assert (await kb.OfflineExecutor().execute(_request(*history))).text == f"user messages: {count}"


@pytest.mark.parametrize("name", [SUMMARY_NAME, REFERENCE_NAME])
async def test_messages_with_a_reserved_name_are_not_counted(name: str) -> None:
    """Summaries and reference material are not what a person said [EXE-03a]."""
    reply = await kb.OfflineExecutor().execute(_request(kb.user("summary", name=name), kb.user("x")))

    assert reply.text == "user messages: 1"


async def test_a_prompt_is_kept_before_the_executor_fails() -> None:
    """One can see what would have been asked [EXE-03a]."""
    executor = kb.OfflineExecutor(fail=True)
    with pytest.raises(ExecutorError, match="fail=True"):
        await executor.execute(_request(kb.user("x", id="x")))

    assert [[message.id for message in prompt] for prompt in executor.prompts] == [["x"]]


async def test_failing_can_be_switched_off_again() -> None:
    """``fail=True`` makes the *next* calls raise [EXE-03a]."""
    executor = kb.OfflineExecutor()
    executor.fail = True
    with pytest.raises(ExecutorError):
        await executor.execute(_request())
    executor.fail = False

    assert (await executor.execute(_request())).text == "user messages: 1"


async def test_a_closed_offline_executor_records_nothing() -> None:
    """A refused request never reaches it [EXE-03a]."""
    executor = kb.OfflineExecutor()
    await executor.close()
    with pytest.raises(ExecutorClosedError):
        await executor.execute(_request())

    assert executor.prompts == []


# ------------------------------------------------------------------------------------------- scripted


async def test_a_script_is_answered_in_order() -> None:
    """Texts, messages and tool calls [EXE-03]."""
    call = kb.ToolCall("weather", "{}", "c1")
    executor = kb.ScriptedExecutor(["text", kb.assistant("message"), call, [call, call]])
    replies = [await executor.execute(_request()) for _ in range(4)]

    assert [(reply.text, len(reply.calls)) for reply in replies] == [
        ("text", 0),
        ("message", 0),
        ("", 1),
        ("", 2),
    ]


async def test_an_exception_in_a_script_is_raised() -> None:
    """To see what a strategy does with a failure [EXE-03]."""
    with pytest.raises(ConnectionError, match="down"):
        await kb.ScriptedExecutor([ConnectionError("down")]).execute(_request())


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_rule_is_asked_for_each_request(asynchronous: bool) -> None:
    """Sync or async [EXE-03]."""

    async def later(request: Request) -> str:
        return request.messages[-1].text[::-1]

    executor = kb.ScriptedExecutor(later if asynchronous else lambda request: request.messages[-1].text[::-1])

    assert (await executor.execute(_request(kb.user("abc")))).text == "cba"


async def test_a_script_at_its_end_says_how_long_it_was() -> None:
    """And what to do [EXE-03]."""
    executor = kb.ScriptedExecutor(["one"])
    await executor.execute(_request())

    with pytest.raises(ScriptExhaustedError, match=r"has 1 answers and this is request 2"):
        await executor.execute(_request())


async def test_a_script_keeps_what_was_asked() -> None:
    """The whole request, purpose included [EXE-03]."""
    executor = kb.ScriptedExecutor(["one"])
    await executor.execute(_request(purpose="flush"))

    assert [request.purpose for request in executor.requests] == ["flush"]


# ------------------------------------------------------------------------------------------- extractive

PROSE = st.lists(
    st.sampled_from(
        [
            "The train to Bonn leaves at 09:15 from platform 7.",
            "I am allergic to peanuts.",
            "预算是五百元。",
            "我们住在北京。",
            "Dr. Smith paid 3.50 EUR!",
            "Why?",
            "ok",
            '{"total": 500}',
            "a" * 400,
            "Line one\nline two.",
            "</message>",
            "\ud83d broken",
            "без точек и без запятых " * 20,
            "ซื้อตั๋วรถไฟ" * 40,
            "[called trains with {}]",
        ]
    )
    | st.text(st.characters(codec=None), max_size=60),
    max_size=8,
).map(" ".join)
HISTORIES = st.lists(
    st.builds(lambda make, text: make(text), st.sampled_from([kb.system, kb.user, kb.assistant]), PROSE),
    min_size=1,
    max_size=5,
)
PURPOSES = st.sampled_from(["conversation", "compression", "extraction"])


@settings(max_examples=150)
@given(HISTORIES, PURPOSES)
async def test_every_line_of_an_extract_is_verbatim_in_the_input(
    history: list[kb.Message], purpose: Any
) -> None:
    """Nothing is invented [EXE-03]."""
    reply = await kb.ExtractiveExecutor().execute(_request(*history, purpose=purpose))

    assert all(any(line in message.text for message in history) for line in reply.text.split("\n"))


@settings(max_examples=150)
@given(HISTORIES, PURPOSES)
async def test_an_extract_says_something_where_there_is_anything_to_say(
    history: list[kb.Message], purpose: Any
) -> None:
    """Whatever the script, and with no punctuation at all [EXE-03]."""
    lines = "\n".join(message.text for message in history if message.role != "system").split("\n")
    spoken = any(line.strip() and not is_quote_tag(line) for line in lines)
    reply = await kb.ExtractiveExecutor().execute(_request(*history, purpose=purpose))

    assert bool(reply.text.strip()) >= spoken


SCRIPTS = {
    "Cyrillic": "Поезд в Казань отправляется утром с третьего пути",
    "Arabic": "يغادر القطار إلى القاهرة صباحا من الرصيف الثالث",
    "Hebrew": "הרכבת לחיפה יוצאת בבוקר מרציף שלוש",
    "Greek": "Το τρένο για την Πάτρα φεύγει το πρωί",
    "Devanagari": "दिल्ली की रेलगाड़ी सुबह तीसरे प्लेटफार्म से चलती है",
    "Thai": "รถไฟไปเชียงใหม่ออกตอนเช้าจากชานชาลาที่สาม",
    "Japanese": "京都行きの電車は朝に三番線から出ます",
    "Korean": "부산으로 가는 기차는 아침에 출발합니다",
}


@pytest.mark.parametrize("sentence", SCRIPTS.values(), ids=SCRIPTS)
def test_a_sentence_of_any_script_has_words(sentence: str) -> None:
    """A summary is picked by words, not taken from the beginning [EXE-03]."""
    assert len(words(sentence)) >= 3


def test_a_vowel_sign_does_not_cut_a_word() -> None:
    """In Devanagari vowels are marks on the letter before them [EXE-03]."""
    assert words("दिल्ली") == ["दिल्ली"]


@pytest.mark.parametrize("sentence", SCRIPTS.values(), ids=SCRIPTS)
async def test_the_sentence_that_matters_is_found_in_any_script(sentence: str) -> None:
    """The rest is too short to be a sentence [EXE-03]."""
    talk = kb.user("\n".join(["ok"] * 30 + [sentence] + ["ok"] * 30))
    reply = await kb.ExtractiveExecutor().execute(_request(talk, purpose="compression"))

    assert reply.text == sentence


async def test_a_text_without_an_end_is_cut_at_spaces() -> None:
    """What was dictated has no full stops [EXE-03]."""
    said = " ".join(f"and then platform {number} was closed for repairs" for number in range(200))
    reply = await kb.ExtractiveExecutor().execute(_request(kb.user(said), purpose="compression"))
    pieces = reply.text.split("\n")

    assert len(pieces) > 1
    assert all(len(piece) <= 320 and f" {piece} " in f" {said} " for piece in pieces)


async def test_data_of_any_length_does_not_push_sentences_out() -> None:
    """A picture in base 64 or a result on one line is no language [EXE-03]."""
    picture = "iVBORw0KGgo/AAAANSUhEUg+" * 80
    result = (
        "[trains answered: " + '{"train": "OST 12", "platform": 9, "remarks": "no bicycles"}, ' * 20 + "]"
    )
    said = "The night train to the coast carries bicycles."
    history = [kb.user(picture), kb.user(result), kb.user(said)]
    reply = await kb.ExtractiveExecutor().execute(_request(*history, purpose="compression"))

    assert reply.text == said


async def test_where_nothing_reads_like_a_sentence_the_beginning_is_taken() -> None:
    """Code and short replies have no sentences [EXE-03]."""
    history = [kb.user("x = 1"), kb.assistant("[called run with {}]"), kb.user("y = 2")]
    reply = await kb.ExtractiveExecutor().execute(_request(*history, purpose="compression"))

    assert reply.text == "x = 1\ny = 2"


@settings(max_examples=50)
@given(HISTORIES, PURPOSES)
async def test_the_same_input_gives_the_same_extract(history: list[kb.Message], purpose: Any) -> None:
    """There is no chance in it [EXE-03]."""
    first = await kb.ExtractiveExecutor().execute(_request(*history, purpose=purpose))
    second = await kb.ExtractiveExecutor().execute(_request(*history, purpose=purpose))

    assert first.text == second.text


@settings(max_examples=50)
@given(HISTORIES)
async def test_a_quoted_history_gives_an_extract_of_the_history(history: list[kb.Message]) -> None:
    """The tags of a quotation are never part of a summary [EXE-03]."""
    quoted = kb.user(quote_history(history))
    reply = await kb.ExtractiveExecutor().execute(_request(quoted, purpose="compression"))

    assert not any(is_quote_tag(line) for line in reply.text.split("\n") if line)


async def test_an_extract_has_its_usage() -> None:
    """Estimates, so that a report shows something [EXE-03]."""
    request = _request()
    reply = await kb.ExtractiveExecutor().execute(request)

    assert reply.usage == kb.Usage(request.tokens, reply.tokens)


@pytest.mark.parametrize("options", [{"share": 0}, {"share": 1.5}, {"most_sentences": 0}], ids=str)
def test_an_extractor_that_could_say_nothing_is_refused(options: Any) -> None:
    """A share is above 0 and up to 1, sentences at least 1 [EXE-03]."""
    with pytest.raises(ValueError, match="share"):
        kb.ExtractiveExecutor(**options)
