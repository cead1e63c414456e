"""What a prompt view shows of a call: layers, messages, where they came from, and what is around them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from prompt_stories import Changes, FeatureOf, asking, html, origin, rows, story

import koogbook as kb
from koogbook.agents.run import Run
from koogbook.llm.layers import MESSAGE_LAYERS
from koogbook.messages.parts import Attachment, Foreign
from koogbook.notebook.views.look.markup import render
from koogbook.notebook.views.prompt_view.model import MessageRow, OffRow
from koogbook.notebook.views.prompt_view.prompt import prompt


@pytest.fixture(scope="module")
def run() -> Run:
    """A run of five calls with everything in it."""
    return story()


# ------------------------------------------------------------------------------------------- the head


def test_the_head_says_what_was_sent_and_what_came_of_it(run: Run) -> None:
    """Number, place, purpose, size, window, end, in one sentence. [NBK-07]"""
    said = " ".join(str(prompt(run, call=4)).split("\n")[1:3])
    record = run.calls[3]

    assert said == (
        f"Call 4 of 5, in trip/answer, for the conversation: 61 messages and 2 tools, about {record.tokens:,} tokens "
        "(the provider counted 2,410), 1.9 % of the window; answered in 840 ms."
    )
    assert said in html(prompt(run, call=4))


@pytest.mark.parametrize(
    ("call", "end"),
    [
        (1, "answered in 840 ms."),
        (2, "failed after 840 ms: ExecutorError."),
        (3, "for a compression: 2 messages, about 508 tokens, 0.4 % of the window; answered in 840 ms."),
    ],
)
def test_the_head_tells_how_a_call_ended(run: Run, call: int, end: str) -> None:
    """Also of one that failed, and of one that is no part of the conversation. [NBK-07]"""
    assert " ".join(str(prompt(run, call=call)).split("\n\n")[0].split()).endswith(end)


# ------------------------------------------------------------------------------------------- layers


def test_each_layer_has_its_messages_and_tokens(run: Run) -> None:
    """Together they are what was sent, tools included. [NBK-07]"""
    state = prompt(run, call=4).state

    assert [(row.name, row.count) for row in state.layers] == [
        ("system", 1),
        ("tools", 2),
        ("history", 55),
        ("memory", 2),
        ("retrieval", 1),
        ("compression", 1),
        ("added by Guide", 1),
    ]
    assert sum(row.tokens for row in state.layers) == state.tokens == run.calls[3].tokens
    assert sum(row.share for row in state.layers) == pytest.approx(1)
    assert state.absent == ("file memory", "instruction")


def test_a_layer_that_is_off_is_taken_from_the_total_and_its_messages_are_counted(run: Run) -> None:
    """Nothing was sent again, and that is said. [NBK-07]"""
    state = prompt(run, call=4, off=["history", "tools"]).state
    gone = sum(row.tokens for row in state.layers if row.name in ("history", "tools"))

    assert state.left == state.tokens - gone
    assert [row.position if isinstance(row, MessageRow) else row for row in state.rows] == [
        0,
        1,
        2,
        3,
        OffRow(
            first=4,
            last=56,
            count=53,
            tokens=sum(m.tokens for m in run.calls[3].request.messages[4:57]),
            layers=("history",),
        ),
        57,
        OffRow(
            first=58,
            last=59,
            count=2,
            tokens=sum(m.tokens for m in run.calls[3].request.messages[58:60]),
            layers=("history",),
        ),
        60,
    ]
    for form in (str(prompt(run, call=4, off="history")), html(prompt(run, call=4, off="history"))):
        assert f"What is left has {state.tokens - 2783:,} tokens; nothing was sent again." in form


@given(st.sets(st.sampled_from([*MESSAGE_LAYERS, "tools", "added by Guide"])))
@settings(max_examples=60)
def test_every_message_is_in_one_row_whatever_is_off(run: Run, off: set[str]) -> None:
    """A row that is missing or stands twice is a lie about the prompt. [NBK-07]"""
    state = prompt(run, call=4, off=off).state
    places: list[int] = []
    for row in state.rows:
        match row:
            case MessageRow():
                places.append(row.position)
            case OffRow():
                places += range(row.first, row.last + 1)
            case _:
                pass

    assert places == list(range(61))
    assert state.left == sum(row.tokens for row in state.layers if row.name not in off)


async def test_a_tag_that_names_no_layer_needs_a_look() -> None:
    """It is neither hidden nor obeyed. [NBK-07]"""
    view = prompt([kb.user("x", metadata={"layer": "memroy"})], selected=0)

    assert "There is no layer 'memroy', which is the tag of message 0" in html(view)
    assert "! There is no layer 'memroy'" in str(view)
    assert "names no layer" in origin(view)


# ------------------------------------------------------------------------------------------- messages


def test_messages_stand_in_the_order_in_which_they_were_sent(run: Run) -> None:
    """With their number in Python. [NBK-07]"""
    view = prompt(run, call=2)

    assert [row.position for row in rows(view)] == list(range(12))
    assert [row.layer for row in rows(view)] == [one.layer for one in run.calls[1].layers]


def test_new_messages_are_marked_beside_the_call_before_of_the_same_purpose(run: Run) -> None:
    """Call 4 is compared with call 2: call 3 was for a summary. [NBK-07]"""
    state = prompt(run, call=4).state

    assert state.since is not None
    assert (state.since.call, state.since.new, state.since.edited, state.since.gone) == (2, 57, 0, 8)
    assert [row.position for row in state.rows if isinstance(row, MessageRow) and not row.novelty] == [
        0,
        1,
        2,
        60,
    ]
    assert prompt(run, call=1).state.since is None


async def test_a_message_with_other_words_is_edited_one_with_another_time_is_not() -> None:
    """What a model sees of it counts. [NBK-07]"""
    texts = iter(["It is nine.", "It is nine.", "It is ten."])
    clocks = Changes(lambda messages: [*messages, kb.user(next(texts), id="clock")])
    run = await asking("a", "b", "c").install(FeatureOf("Clock", clocks)).run("")

    assert [rows(prompt(run, call=call))[-1].novelty for call in (1, 2, 3)] == ["", "", "edited"]


def test_calls_and_results_are_joined_also_where_they_were_sent_as_text(run: Run) -> None:
    """The mark says that the history holds them; what was sent is what is shown in full. [NBK-07]"""
    with_tools, as_text = prompt(run, call=4), prompt(run, call=5, selected=6)
    row = rows(as_text)[6]

    assert [(one.first, one.last) for one in with_tools.state.brackets] == [
        (one.first, one.last) for one in as_text.state.brackets
    ]
    assert (row.role, row.as_text, rows(with_tools)[6].as_text) == ("result", True, False)
    assert "the history holds a tool result here; it was sent as text" in origin(as_text)
    assert as_text.state.detail is not None
    assert as_text.state.detail.text.startswith("[find_hotels answered: 9 hotels near the river")
    assert "(as text) 9 hotels" in str(as_text)


def test_a_user_who_writes_like_a_call_is_not_taken_for_one() -> None:
    """Only what the history holds is said of it. [NBK-07]"""
    view = prompt([kb.user("[called find_hotels with {}]")])

    assert not rows(view)[0].as_text


async def test_a_result_that_an_interceptor_made_into_other_words_is_not_said_to_be_one() -> None:
    """It was changed on the way, and is shown as it was sent. [NBK-07]"""
    call = kb.ToolCall("find", "{}", "c")
    history = [kb.user("x"), kb.assistant(calls=[call]), kb.tool_result(call, "9 hotels", id="result")]
    shorter = Changes(
        lambda messages: [one.with_text("cut") if one.id == "result" else one for one in messages]
    )
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*history)
            return (await session.request_without_tools()).text

    trip.start >> ask >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip).install(FeatureOf("Cuts", shorter))
    view = prompt(await agent.run(""))

    assert [(row.text, row.as_text) for row in rows(view)[1:]] == [("find()", True), ("cut", False)]


async def test_an_interceptor_that_handed_on_an_equal_request_changed_nothing() -> None:
    """It is not listed. [NBK-07]"""
    run = await asking("x").install(FeatureOf("Copies", Changes(lambda messages: list(messages)))).run("")

    assert prompt(run).state.changes == ()


def test_a_call_without_its_result_has_an_open_bracket() -> None:
    """The result is missing. [NBK-07]"""
    view = prompt([kb.user("x"), kb.assistant(calls=[kb.ToolCall("find", "{}", "c")])])

    assert [(one.first, one.open) for one in view.state.brackets] == [(1, True)]
    assert re.search(r"^  \?   1  call ", str(view), re.M)


PICTURE = Attachment("image", "image/png", data=b"\x89PNG" * 11_000, name="ticket.png")
IN_ADDRESS = Attachment("image", "image/png", url="data:image/png;base64," + "iVBORw0KGgo" * 400)
FOREIGN = Foreign("web_search", '{"data": "' + "QUJD" * 400 + '"}')


@pytest.mark.parametrize(
    ("part", "mark", "bytes_"),
    [
        (PICTURE, "[image/png, ticket.png, 43 KB]", "iVBOR"),
        (IN_ADDRESS, "[image/png, 3 KB in its address]", "iVBOR"),
        (FOREIGN, '[web_search] {"data": "[1 KB of data]"}', "QUJD"),
    ],
    ids=["bytes", "address", "foreign"],
)
def test_pictures_and_unknown_parts_are_short_marks(part: Any, mark: str, bytes_: str) -> None:
    """With their size, in the row and in full, never as encoded data. [NBK-07]"""
    view = prompt([kb.user([part, "See this."])], selected=0)

    assert rows(view)[0].text == f"{mark}  See this."
    assert view.state.detail is not None
    assert view.state.detail.text == f"{mark}\nSee this."
    assert bytes_ not in str(view) + render(view.element)


# ------------------------------------------------------------------------------------------- where it came from


@pytest.mark.parametrize(
    ("call", "position", "said"),
    [
        (4, 0, "the system prompt of the agent"),
        (4, 1, "put in by Guide on the way; tagged as retrieval by who made it"),
        (4, 2, "loaded by ChatMemory"),
        (
            4,
            3,
            "made by compression WholeHistory() in trip/compress: of the messages 0\u201310 that were there then",
        ),
        (4, 57, "memory by the marker in its text"),
        (4, 59, "part of the conversation"),
        (4, 60, "put in by Guide on the way"),
        (2, 9, "changed by Tidy on the way"),
        (2, 10, "answered in call 1, in trip/ask"),
        (5, 61, "added by this request alone, for an answer that is data"),
        (3, 0, "made for this request alone"),
    ],
)
def test_a_message_says_where_it_came_from(run: Run, call: int, position: int, said: str) -> None:
    """From the features, the compressions and the calls of the run. [NBK-07]"""
    assert origin(prompt(run, call=call, selected=position)).startswith(said)


def test_the_expression_of_a_message_gets_it(run: Run) -> None:
    """The picture navigates, Python has the object. [NBK-07]"""
    view = prompt(run, call=4, selected=3)

    assert view.state.detail is not None
    found = eval(view.state.detail.python, {"run": run})
    assert (view.selected, found) == (replace(view.selected, message=found), view.selected.message)  # type: ignore[union-attr, type-var]
    assert f"in Python: {view.state.detail.python}" in str(view)


def test_a_very_long_message_is_cut_and_says_how_much_is_missing() -> None:
    """Nothing lost is hidden. [NBK-07]"""
    view = prompt([kb.user("x" * 5_000)], selected=0)

    assert "1,000 characters left out; all of it: .selected.message" in html(view)
    assert view.selected is not None
    assert len(view.selected.message.text) == 5_000


# ------------------------------------------------------------------------------------------- around them


def test_parameters_are_shown_and_what_was_left_to_the_provider(run: Run) -> None:
    """Also the schema of an answer that is data. [NBK-07]"""
    state = prompt(run, call=5).state

    assert state.params == (
        ("model", "scripted:gpt-story"),
        ("window", "128,000 tokens"),
        ("temperature", "0.2"),
        ("most tokens", "800"),
        ("stop texts", "'END'"),
    )
    assert state.left_to_provider == ("choices", "seed", "tool choice", "user")
    assert '"type": "integer"' in state.schema


def test_tools_are_shown_with_their_schema_and_tokens(run: Run) -> None:
    """As the model got them. [NBK-07]"""
    view = prompt(run, call=4)
    first = view.state.tools[0]

    assert (first.name, first.tokens > 0) == ("find_hotels", True)
    assert "step_free" in first.schema
    assert "The list has at most nine entries" in html(view)


def test_what_interceptors_changed_is_shown_with_what_they_took_out(run: Run) -> None:
    """Nothing lost is hidden. [NBK-07]"""
    view = prompt(run, call=2)
    guide, tidy = view.state.changes

    assert (guide.feature, guide.added.count, guide.taken_out.count) == ("Guide", 2, 0)
    assert (tidy.feature, [one.text for one in tidy.taken_out.shown]) == ("Tidy", ["Thanks!"])
    assert [(one.was, one.text) for one in tidy.changed.shown] == [
        ("And now by train on Fri, please.", "And now by train on Friday 5 June, please.")
    ]
    for form in (str(view), html(view)):
        assert "Thanks!" in form
        assert "And now by train on Fri, please." in form


async def test_other_changes_of_a_request_are_told() -> None:
    """Model, parameters and tools. [NBK-07]"""
    changes = Changes(lambda messages: messages, model=kb.LLModel("small"), params=kb.LLMParams(seed=7))
    run = await asking("x").install(FeatureOf("Cheap", changes)).run("")
    (change,) = prompt(run).state.changes

    assert change.others == ("the model: offline \u2192 small", "the parameters: seed - \u2192 7")


async def test_many_messages_that_were_taken_out_are_counted() -> None:
    """The first of them are shown. [NBK-07]"""
    run = (
        await asking(*"abcdefghij")
        .install(FeatureOf("Short", Changes(lambda messages: messages[-1:])))
        .run("")
    )
    (change,) = prompt(run).state.changes

    assert (change.taken_out.count, len(change.taken_out.shown)) == (18, 6)
    assert "and 12 more" in html(prompt(run))
    assert "... 12 more" in str(prompt(run))


def test_the_answer_is_shown_and_an_error_in_its_place(run: Run) -> None:
    """With what the provider counted. [NBK-07]"""
    good, bad = prompt(run, call=4).state.answer, prompt(run, call=2).state.answer

    assert good.text.startswith("I would take h-31")
    assert "the provider counted 2,410 tokens in, 61 out, 1,024 read from the cache" in good.more
    assert (bad.state, bad.error) == ("failed", "ExecutorError: the provider closed the connection")
    assert bad.error in html(prompt(run, call=2))


async def test_who_answered_is_said_where_no_model_did() -> None:
    """An offline executor says so in its reply. [NBK-07] [EXE-03]"""
    view = prompt(await asking("x").run(""))

    assert (view.state.answer.words, view.state.answer.more[0]) == (
        "answered by OfflineExecutor",
        "by no model",
    )


def test_all_calls_of_the_run_are_listed(run: Run) -> None:
    """With purpose, place, size, time and state. [NBK-07]"""
    calls = prompt(run).state.calls

    assert [(call.number, call.purpose, call.path, call.state) for call in calls] == [
        (1, "conversation", "trip/ask", "done"),
        (2, "conversation", "trip/fail", "failed"),
        (3, "compression", "trip/compress", "done"),
        (4, "conversation", "trip/answer", "done"),
        (5, "conversation", "trip/choose", "done"),
    ]
    assert re.search(r"^      2  conversation  .* FAILED     trip/fail$", str(prompt(run)), re.M)


async def test_of_many_calls_those_around_this_one_are_listed_and_the_others_counted() -> None:
    """The list at the top has all. [NBK-07]"""
    run = await asking(*map(str, range(40)), executor=kb.OfflineExecutor()).run("")
    view = prompt(run, call=20)

    assert "28 other calls: the list at the top has all." in html(view)
    assert "13 calls before" in str(view)
    assert "15 calls after" in str(view)


async def test_where_no_model_answers_no_provider_has_counted() -> None:
    """The figures of an offline executor are estimates like all others. [NBK-07]"""
    run = await kb.Agent(kb.ExtractiveExecutor(), "offline").run("To Beijing, 500 yuan, museums.")
    view = kb.prompt(run)

    assert (view.state.call.counted, "the provider counted" in str(view)) == (None, False)


async def test_an_answer_says_what_it_cost() -> None:
    """By the price of the model that gave it; an unknown price is none, and not 0. [NBK-07] [EXE-04]"""
    told = {}
    for model in ("openai:gpt-4o", "openai-compatible:own"):
        answer = kb.assistant("Yes.", usage=kb.Usage(1_000, 100), metadata={"answered_by": model})
        run = await kb.Agent(kb.ScriptedExecutor([answer]), model).run("Sure?")
        parts = [part for part in kb.prompt(run).state.answer.more if "price" in part or "USD" in part]
        told[model] = (parts, run.cost)

    parts, cost = told["openai:gpt-4o"]
    assert cost is not None
    assert parts == [f"{cost:,.4f} USD"]
    assert told["openai-compatible:own"] == (["no price"], None)
