"""Experiment E8: an own compression that keeps system messages, memory messages and the last message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import koogbook as kb
from koogbook.events import Notice

MEMORY = "Here are the relevant facts from memory: the customer prefers window seats."


class Filter:
    """Keeps system messages, what carries a memory marker, and the last message; asks no model."""

    def __init__(self, *, assigns: bool = True) -> None:
        self.assigns = assigns
        self.handed: Sequence[kb.Message] = ()

    async def compress(self, session: Any, memory_messages: Sequence[kb.Message]) -> None:
        """See :class:`koogbook.HistoryCompressionStrategy`."""
        self.handed = memory_messages
        last = session.messages[-1]
        kept = [
            one for one in session.messages if one.role == "system" or one in memory_messages or one is last
        ]
        if self.assigns:
            session.prompt = session.prompt.with_messages(kept)


async def run_with(strategy: Filter) -> tuple[kb.Run, kb.OfflineExecutor]:
    """Five messages, compressed in a node; the last node prints the figures behind its input."""
    executor = kb.OfflineExecutor()
    demo = kb.strategy("filter-demo", input=str, output=str)

    @demo.node
    async def fill(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(
                kb.user("Book me a seat."),
                kb.assistant(MEMORY),
                kb.assistant("Which day?"),
                kb.user("On Friday."),
            )
        return text

    compress = demo.compress_history(strategy, name="compress", preserve_memory=True)

    @demo.node
    async def count(ctx: kb.Context, text: str) -> str:
        messages = ctx.llm.committed.prompt.messages
        return (
            f"{text}: messages={len(messages)} last={messages[-1].role} memory={len(strategy.handed)} "
            f"requests={len(executor.prompts)}"
        )

    demo.start >> fill >> compress >> count >> demo.finish
    run = await kb.Agent(executor, "offline", demo, system_prompt="You sell tickets.").run("done")
    return run, executor


async def test_three_of_five_messages_are_left() -> None:
    """System, marked assistant, last user message; nothing was asked; the node's figures say so [E8]."""
    run, _ = await run_with(Filter())

    assert [(one.role, one.text) for one in run.prompt] == [
        ("system", "You sell tickets."),
        ("assistant", MEMORY),
        ("user", "On Friday."),
    ]
    assert run.output == "done: messages=3 last=user memory=1 requests=0"


async def test_the_ledger_counts_the_same() -> None:
    """No model call, one memory message, two dropped [E8]."""
    run, executor = await run_with(Filter())

    ledger = run.compressions[0]
    assert (ledger.model_calls, ledger.count("memory"), ledger.count("dropped")) == (0, 1, 2)
    assert executor.prompts == []


async def test_computing_and_not_assigning_changes_nothing_and_is_said() -> None:
    """Five messages, and the warning names the strategy [E8]."""
    run, _ = await run_with(Filter(assigns=False))

    warnings = [event.text for event in run.events if isinstance(event, Notice)]
    assert run.output == "done: messages=5 last=user memory=1 requests=0"
    assert warnings[0].startswith("Filter.compress returned nothing and assigned nothing")
