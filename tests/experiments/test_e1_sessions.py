"""Sessions: what is asked, what is kept, what is refused. An agent with a system message and one node; no model."""

from __future__ import annotations

from typing import Any

import koogbook as kb
from koogbook.errors import SessionClosedError

QUESTION = "new question"


def _check(name: str, held: bool, counts: str) -> None:
    print(f"{'PASS' if held else 'FAIL'} {name}: {counts}")


def _strategy(executor: kb.OfflineExecutor) -> kb.Strategy:
    sessions = kb.strategy("sessions", input=str, output=str)

    @sessions.node
    async def experiment(ctx: kb.Context, question: str) -> str:
        llm = ctx.llm

        async with llm.write_session() as session:
            session.append(kb.user(question))
            appended = (len(executor.prompts), len(session.prompt))
            await session.request()
            inside = len(session.prompt)
        after = len(llm.committed.prompt)
        _check(
            "1 append, request", (*appended, inside, after) == (0, 2, 3, 3), f"{(*appended, inside, after)}"
        )

        before = llm.committed.prompt
        async with llm.read_session() as reading:
            await reading.request()
            same = reading.prompt == before
        same = same and llm.committed.prompt == before
        counts = (same, len(before), len(executor.prompts))
        _check("2 read request", counts == (True, 3, 2), f"{counts}")

        try:
            async with llm.write_session() as session:
                session.append(kb.user("lost"))
                raise RuntimeError("on purpose")
        except RuntimeError:
            counts = (llm.committed.prompt == before, len(llm.committed.prompt), len(executor.prompts))
        _check("3 error in a write session", counts == (True, 3, 2), f"{counts}")

        try:
            await reading.request()
            refused = False
        except SessionClosedError:
            refused = True
        counts = (refused, len(llm.committed.prompt), len(executor.prompts))
        _check("4 closed session", counts == (True, 3, 2), f"{counts}")

        async with llm.write_session() as session:
            rules = [message for message in session.messages if message.role == "system"]
            last = [message for message in session.messages if message.role == "user"][-1:]
            session.prompt = session.prompt.with_messages([*rules, *last])
        roles = [message.role for message in llm.committed.prompt]
        _check("5 replaced by hand", roles == ["system", "user"], f"{len(roles)}")
        return question

    sessions.start >> experiment >> sessions.finish
    return sessions


async def _run() -> tuple[kb.Run, kb.OfflineExecutor]:
    executor = kb.OfflineExecutor()
    agent = kb.Agent(executor, "offline", _strategy(executor), system_prompt="You answer briefly.")
    return await agent.run(QUESTION), executor


async def test_five_checks_pass_in_order(capsys: Any) -> None:
    """One line each, with the counts as they have to be [SES-05, SES-06, SES-03, SES-08, SES-12]."""
    await _run()

    assert capsys.readouterr().out.splitlines() == [
        "PASS 1 append, request: (0, 2, 3, 3)",
        "PASS 2 read request: (True, 3, 2)",
        "PASS 3 error in a write session: (True, 3, 2)",
        "PASS 4 closed session: (True, 3, 2)",
        "PASS 5 replaced by hand: 2",
    ]


async def test_the_run_returns_its_input() -> None:
    """The sessions are about the history alone."""
    run, _ = await _run()

    assert run.output == QUESTION


async def test_two_requests_were_recorded_in_all() -> None:
    """The refused one never reached the executor [EXE-03a]."""
    run, executor = await _run()

    assert [len(prompt) for prompt in executor.prompts] == [2, 3]
    assert len(run.calls) == 2


async def test_the_context_holds_the_system_and_the_last_user_message() -> None:
    """After the replacement by hand, exactly these [SES-12]."""
    run, _ = await _run()

    assert [message.text for message in run.prompt] == ["You answer briefly.", QUESTION]
