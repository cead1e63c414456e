"""What the request for a summary holds: the history as it is, without data that no model reads."""

from __future__ import annotations

import pytest

import koogbook as kb
from koogbook.messages.message import Message
from koogbook.messages.parts import Attachment, Foreign


async def asked(history: list[Message], instruction: str | None = None) -> list[Message]:
    """The messages of the request that a summary of this history is asked for with."""
    executor = kb.ScriptedExecutor(["A summary."])

    class Own:
        async def compress(self, session: object, memory_messages: object) -> object:
            more = {} if instruction is None else {"instruction": instruction}
            summary = await kb.summarise(session, history, **more)  # type: ignore[arg-type]
            return [*history, summary.message]

    await kb.compress(history, Own(), executor=executor, allow_longer=True)
    return list(executor.requests[0].messages)


@pytest.mark.parametrize(
    "text",
    ['A = {1; 2; 3} and {"k": {"v": 1}} and %d %s 100%', "{history} {{}} }{ %(name)s $x ${y} \\{z\\}"],
)
async def test_braces_and_percent_signs_reach_the_model_unchanged(text: str) -> None:
    """Nothing is put into a template, so nothing has to be doubled or can fail [KB-049]."""
    sent = await asked([kb.user(text)])

    assert text in sent[-1].text


async def test_an_instruction_with_braces_is_sent_as_it_stands() -> None:
    """It is no template, and the history stands in a message of its own [KB-049]."""
    instruction = 'Summarise as JSON like {"facts": []}, 100% exact: {history}'
    sent = await asked([kb.user("hello")], instruction)

    assert (sent[0].text, "hello" in sent[1].text) == (instruction, True)


async def test_a_picture_is_a_short_mark_for_the_summariser() -> None:
    """Texts go word for word, the picture as its kind and size [KB-025]."""
    picture = Attachment("image", "image/png", data=b"\0" * 150_000)
    sent = await asked([kb.user([kb.Text("What is this?"), picture]), kb.assistant("A cat.")])

    assert "What is this?\n[image/png, 146 KB]" in sent[-1].text
    assert len(sent[-1].text) < 1_000


async def test_unknown_parts_are_quoted_without_encoded_data() -> None:
    """Their readable fields may matter, base64 text does not [KB-025, KB-154]."""
    part = Foreign("snapshot", '{"title": "Harbour", "data": "' + "A" * 40_000 + '"}')
    sent = await asked([kb.user([part])])

    assert '"title": "Harbour"' in sent[-1].text
    assert len(sent[-1].text) < 1_000


async def test_thoughts_do_not_leak_into_a_summary() -> None:
    """What a model thought before an answer is no part of the conversation [KB-077]."""
    hidden = Foreign("redacted_thinking", '{"type": "redacted_thinking", "data": "hidden thought"}')
    answer = kb.assistant([kb.Reasoning("open thought"), hidden, kb.Text("4")])
    sent = await asked([kb.user("2+2?"), answer])

    assert "thought" not in sent[-1].text


async def test_a_quoted_history_is_history_and_no_memory() -> None:
    """A memory marker inside of it does not make memory of all [NBK-07]."""
    small = kb.strategy("small", input=str, output=str)
    compress = small.compress_history(kb.WholeHistory(), name="compress")

    @small.node
    async def fill(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("Here are the relevant facts from memory: vegetarian."), kb.user(text))
        return text

    small.start >> fill >> compress >> small.finish
    run = await kb.Agent(kb.ScriptedExecutor(["Short."]), "m", small).run("What was it?")

    assert [one.layer for one in run.calls[0].layers] == ["instruction", "history"]
