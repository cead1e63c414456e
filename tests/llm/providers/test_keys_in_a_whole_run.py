"""A run that asks a server which echoes the key everywhere, searched from end to end for that key."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest
from provider_world import KEYS, Wire, chat, chunk, events, reply

import koogbook as kb
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.retrying import RetryingExecutor
from koogbook.notebook.frame import Live
from koogbook.trace import encode_event

KEY = KEYS["OPENAI_API_KEY"]


def _trip() -> kb.Strategy:
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return (await session.request()).text

    @trip.node
    async def stream(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("and more?"))
            async with session.request_streaming() as frames:
                async for _ in frames:
                    pass
            return frames.text

    trip.start >> ask >> stream >> trip.finish
    return trip


async def _run(url: str, folder: Path) -> tuple[kb.Agent, Any, BaseException | None]:
    executor = RetryingExecutor(ProviderExecutor(url), first_wait=0.001)
    agent = kb.Agent(executor, "openai:gpt-4o", _trip())
    agent.install(kb.Persistence(storage=kb.SqliteCheckpoints(folder / "store.db")))
    problem = None
    try:
        await agent.run("hello", session_id="chat-1")
    except kb.errors.ExecutorError as raised:
        problem = raised
    await executor.close()
    return agent, agent.last_run, problem


def _all_that_is_seen(agent: kb.Agent, run: Any, folder: Path) -> str:
    """Reprs, events, report, trace, checkpoints, views as text and HTML, and what a widget would save."""
    views: list[Any] = [kb.graph(run), kb.locks(run), kb.checkpoints(agent, "chat-1"), kb.prompt(run)]
    kb.save_trace(run, folder / "run.jsonl")
    stored = b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
    widgets = [repr(Live(view).widget.get_state()) for view in views]
    seen = [
        repr(agent),
        repr(agent.executor),
        repr(run),
        str(run.report()),
        *(repr(event) for event in run.events),
        *(encode_event(event).decode() for event in run.events),
        *(repr(record) for record in run.calls),
        *(str(view) for view in views),
        *(view.to_html() for view in views),
        *widgets,
        stored.decode("latin-1"),
    ]
    return "\n".join(seen)


async def test_no_key_is_anywhere_after_a_run_that_failed(tmp_path: Path) -> None:
    """Events, reprs, traces, checkpoints, views, widget state and error texts hold no key [EXE-06]."""
    busy = reply({"error": {"message": f"Busy with {KEY}"}}, 503)
    cut = reply(events(chunk("Half"), {"error": {"message": f"Lost {KEY}"}}), 200, "text/event-stream")
    answers = [busy, reply(chat("Hello.", id=KEY)), cut]
    async with Wire(answers) as wire:
        agent, run, problem = await _run(wire.url, tmp_path)

    assert problem is not None
    assert KEY not in "".join(traceback.format_exception(problem))
    assert KEY not in _all_that_is_seen(agent, run, tmp_path)


async def test_the_search_would_find_it(tmp_path: Path) -> None:
    """What a person typed into the conversation is there, in every kind of place that is searched [EXE-06]."""
    refused = reply({"error": {"message": "No"}}, 400)
    async with Wire([reply(chat(f"Your word is {KEY[::-1]}.")), refused]) as wire:
        agent, run, _ = await _run(wire.url, tmp_path)

    found = _all_that_is_seen(agent, run, tmp_path)
    assert found.count(KEY[::-1]) > 5
    assert KEY not in found


@pytest.mark.parametrize("name", ["OPENAI_API_KEY"])
async def test_a_missing_key_is_named_and_never_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent is refused where it is made, with the name of the variable [EXE-06]."""
    monkeypatch.delenv(name)
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr("getpass.getpass", lambda *_: pytest.fail("asked"))

    with pytest.raises(kb.errors.MissingKeyError, match=name) as caught:
        kb.Agent(ProviderExecutor(), "openai:gpt-4o")

    assert caught.value.variable == name
