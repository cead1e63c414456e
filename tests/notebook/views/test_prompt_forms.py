"""A prompt view in text and in markup, and of a history that was not sent."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from prompt_stories import Changes, FeatureOf, asking, html, rich_run, story

import koogbook as kb
from koogbook import clock
from koogbook.agents.run import Run
from koogbook.clock import FixedClock
from koogbook.llm.layers import layer_tag
from koogbook.llm.request import Request
from koogbook.notebook.views.look.markup import render, render_static
from koogbook.notebook.views.prompt_view.prompt import PromptView, prompt

HOSTILE = "</script><img src=x onerror=alert(1)> \"'& \u202e \x00 \ud83c"


@pytest.fixture(scope="module")
def run() -> Run:
    """A run of five calls with everything in it."""
    return story()


# ------------------------------------------------------------------------------------------- a history


def test_a_history_is_shown_as_it_would_be_sent() -> None:
    """With its layers; no call is compared, and no answer is told. [NBK-07]"""
    history = kb.Prompt(
        [kb.system("rules"), kb.user("page", metadata=layer_tag("retrieval")), kb.user("x")],
        id="chat-1",
        params=kb.LLMParams(temperature=0.5),
    )
    view = prompt(history, selected=2)
    state = view.state

    assert str(view).split("\n")[:2] == [
        "Prompt  chat-1",
        f"A history as it would be sent: 3 messages, about {history.tokens} tokens; nothing was sent.",
    ]
    assert [row.name for row in state.layers] == ["system", "history", "retrieval"]
    assert (state.params, state.since, state.calls) == ((("temperature", "0.5"),), None, ())
    assert state.detail is not None
    assert state.detail.python == "history.messages[2]"
    assert prompt(list(history.messages), selected=1).state.detail.python == "history[1]"  # type: ignore[union-attr]


@pytest.mark.parametrize("history", [[], kb.Prompt([])])
def test_an_empty_history_says_so(history: Any) -> None:
    """In every form. [NBK-10]"""
    view = prompt(history)

    assert "There are no messages." in str(view)
    assert "There are no messages." in html(view)


def test_a_transcript_and_the_result_of_a_compression_are_histories() -> None:
    """Whatever has messages. [NBK-07]"""
    transcript = kb.sample_transcript("travel")

    assert len(prompt(transcript).state.texts) > 0
    assert prompt(transcript).state.call.messages == len(transcript.messages)


# ------------------------------------------------------------------------------------------- forms


def hostile() -> PromptView:
    """Everything that comes from outside is markup."""
    messages = [
        kb.user(HOSTILE, name=HOSTILE, metadata={"layer": HOSTILE, "x": HOSTILE}),
        kb.assistant(calls=[kb.ToolCall(HOSTILE, HOSTILE, "c")]),
        kb.tool_result("c", HOSTILE, tool=HOSTILE),
    ]
    return prompt(kb.Prompt(messages, id=HOSTILE), selected=0)


async def hostile_run() -> Run:
    """So is all that is around the messages."""

    def tool(x: int) -> str:
        """Find."""
        return ""

    def answer(request: Request) -> str:
        raise ValueError(HOSTILE)

    tools = [kb.Tool(tool, description=HOSTILE)]
    agent = asking(HOSTILE, executor=kb.ScriptedExecutor(answer), model=HOSTILE, tools=tools)
    agent.install(FeatureOf(HOSTILE, Changes(lambda messages: [kb.user(HOSTILE)])))
    with pytest.raises(ValueError, match="script") as raised:
        await agent.run("", session_id=HOSTILE.replace("\ud83c", ""))
    return raised.value.run  # type: ignore[attr-defined, no-any-return]


async def test_text_from_outside_is_text_in_every_form() -> None:
    """What a model, a tool or a user wrote is never markup, and never stops a page from being written. [NBK-11]"""
    for view in (hostile(), prompt(await hostile_run(), selected=0)):
        element = view.element

        assert "<img src=x" not in render(element) + render_static(element)
        assert (render(element) + render_static(element)).encode("utf-8")


async def test_the_text_is_ascii_of_at_most_100_columns(run: Run) -> None:
    """It must survive every terminal. [NBK-10]"""
    long = prompt([kb.user("你好" * 300, id=str(n)) for n in range(400)], selected=3)
    views = [prompt(run, call=call, selected=0) for call in range(1, 6)]
    for view in [
        *views,
        long,
        hostile(),
        prompt(await hostile_run(), selected=0),
        prompt(run, call=4, off="history"),
    ]:
        text = str(view)

        assert text.isascii()
        assert max(map(len, text.split("\n"))) <= 100


def test_the_same_call_gives_the_same_bytes() -> None:
    """A saved notebook does not change when nothing did. [NBK-10]"""
    twice = []
    for _ in range(2):
        fixed = FixedClock()
        with clock.use(fixed):
            made = prompt(asyncio.run(rich_run(fixed)), call=5, off=["memory"], selected=6)
            twice.append((str(made), made.to_html(), made.to_html("dark")))

    assert twice[0] == twice[1]


def test_the_static_form_says_all_without_styles(run: Run) -> None:
    """Layers, switches, numbers, marks and words are in the text of the markup. [NBK-10]"""
    said = html(prompt(run, call=4, off="tools", selected=57))

    for word in (
        "memory on 2 messages 34 1.1 %",
        "tools off 2 tools 119 3.9 %",
        "added by Guide",
        "Message 57",
        "Memory by the marker in its text.",
        "run.calls[3].request.messages[57]",
        "1 message taken out, 6 tokens",
        "Calls of this run 5 in all",
    ):
        assert word in said


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5])
def test_a_saved_cell_stays_small(run: Run, call: int) -> None:
    """Under 200 kB, whatever a call holds. [NBK-10]"""
    view = prompt(run, call=call, selected=0)

    assert len(view.to_html()) + len(str(view)) < 200_000


def test_a_long_request_leaves_out_the_middle_and_counts_it() -> None:
    """Nobody takes the part for the whole. [NBK-07]"""
    view = prompt([kb.user(f"message {number} about the museum " * 9) for number in range(2_000)])

    assert "1,944 messages that are left out here" in html(view)
    assert re.search(r"\.\.\. 1,9\d\d more messages \.\.\.", str(view))
    assert len(view.to_html()) + len(str(view)) < 200_000


def test_right_to_left_names_keep_to_themselves() -> None:
    """A feature, a strategy or a path in Hebrew does not turn the numbers beside it. [NBK-11]"""
    agent = asking("שלום, מה שלומך?").install(FeatureOf("זיכרון", Changes(lambda m: [*m, kb.system("x")])))
    view = prompt(asyncio.run(agent.run("")), off=["added by זיכרון"])
    markup = render(view.element)

    assert "<bdi>added by זיכרון</bdi>" in markup
    assert "Off: <bdi>added by זיכרון</bdi> with" in markup
    assert 'dir="auto"' in markup
