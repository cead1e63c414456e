"""What an own compression strategy may do, and what is refused: assigning, returning, both, neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

import koogbook as kb
from koogbook.compression.compose import Composition, Summary
from koogbook.errors import CompressionError, InvalidCompressionError
from koogbook.messages.message import MEMORY_FACTS_MARKER

CALL = kb.ToolCall("look", "{}", "c1")
OPEN = kb.ToolCall("book", "{}", "c2")


def talk() -> list[kb.Message]:
    """A system message, a user turn with a finished call, and a last user message."""
    return [
        kb.system("rules", id="s"),
        kb.user("first", id="u1"),
        kb.assistant(calls=[CALL], id="call"),
        kb.tool_result(CALL, "found", id="result"),
        kb.assistant("answer", id="a"),
        kb.user("last", id="u2"),
    ]


class Own:
    """A strategy that does what it was made with."""

    def __init__(
        self, action: Callable[[Any, Sequence[kb.Message]], Any], drops_system: bool = False
    ) -> None:
        self.action = action
        self.drops_system = drops_system

    async def compress(self, session: Any, memory_messages: Sequence[kb.Message]) -> Any:
        """See :class:`koogbook.HistoryCompressionStrategy`."""
        return self.action(session, memory_messages)


def ends(session: Any) -> list[kb.Message]:
    """System message and last message."""
    return [session.messages[0], session.messages[-1]]


async def run(action: Callable[[Any, Sequence[kb.Message]], Any], **options: Any) -> kb.Compressed:
    """One compression of :func:`talk` by an own strategy."""
    return await kb.compress(talk(), Own(action, **options), executor=kb.ScriptedExecutor([]))


def ids(done: kb.Compressed) -> list[str]:
    """The ids of what is left."""
    return [message.id for message in done.prompt]


async def test_a_returned_list_is_assigned_by_the_framework() -> None:
    """A strategy that returns its list needs to do nothing more [CMP-10]."""
    done = await run(lambda session, memory: ends(session))

    assert ids(done) == ["s", "u2"]


async def test_a_returned_prompt_is_taken_like_a_list() -> None:
    """``session.prompt.with_messages(...)`` may be returned as it is [CMP-10]."""
    done = await run(lambda session, memory: session.prompt.with_messages(ends(session)))

    assert ids(done) == ["s", "u2"]


async def test_an_assigned_prompt_is_taken() -> None:
    """Koog's way, assigning ``session.prompt``, works as well [CMP-10]."""

    def assign(session: Any, memory: Sequence[kb.Message]) -> None:
        session.prompt = session.prompt.with_messages(ends(session))

    assert ids(await run(assign)) == ["s", "u2"]


async def test_assigning_and_returning_the_same_list_is_fine() -> None:
    """Only different lists contradict each other [CMP-10]."""

    def both(session: Any, memory: Sequence[kb.Message]) -> Any:
        session.prompt = session.prompt.with_messages(ends(session))
        return session.messages

    assert ids(await run(both)) == ["s", "u2"]


async def test_assigning_and_returning_different_lists_raises() -> None:
    """Nobody could say which one was meant [CMP-10]."""

    def both(session: Any, memory: Sequence[kb.Message]) -> Any:
        session.prompt = session.prompt.with_messages(ends(session))
        return [*session.messages, kb.assistant("more")]

    with pytest.raises(InvalidCompressionError, match="Do one of the two"):
        await run(both)


async def test_an_appended_request_beside_a_returned_list_is_explained() -> None:
    """``session.request()`` appends, which counts as assigning; the message names what does not [CMP-10]."""

    def ask(session: Any, memory: Sequence[kb.Message]) -> Any:
        kept = ends(session)
        session.append(kb.user("Summarise."))
        return kept

    with pytest.raises(InvalidCompressionError, match=r"session\.send\(\) do not"):
        await run(ask)


async def test_computing_and_forgetting_both_is_detected() -> None:
    """The slip of returning nothing and assigning nothing leaves the history alone and is named [CMP-10]."""

    def forget(session: Any, memory: Sequence[kb.Message]) -> None:
        ends(session)

    done = await run(forget)

    assert ids(done) == [message.id for message in talk()]
    assert "Own.compress returned nothing and assigned nothing" in done.ledger.notes[0]


async def test_changing_the_params_alone_is_still_forgetting_the_messages() -> None:
    """A changed temperature is no history [CMP-10]."""

    def cool(session: Any, memory: Sequence[kb.Message]) -> None:
        session.params = session.params.with_changes(temperature=0.0)

    assert "returned nothing and assigned nothing" in (await run(cool)).ledger.notes[0]


@pytest.mark.parametrize(
    "action",
    [
        lambda session, memory: kb.UNCHANGED,
        lambda session, memory: session.messages,
        lambda session, memory: session.prompt,
        lambda session, memory: setattr(session, "prompt", session.prompt.with_messages(session.messages)),
    ],
)
async def test_the_prompt_can_be_left_alone_on_purpose(action: Callable[..., Any]) -> None:
    """Returning it, ``UNCHANGED``, or assigning equal messages is no slip: no note [CMP-10]."""
    done = await run(action)

    assert (done.ledger.status, done.ledger.notes) == ("unchanged", ())


async def test_no_compression_leaves_the_prompt_the_very_same_object() -> None:
    """Nothing is asked, nothing changes [CMP-07]."""
    prompt = kb.Prompt(talk())

    done = await kb.compress(prompt, kb.NoCompression(), executor=kb.ScriptedExecutor([]))

    assert done.prompt is prompt


@pytest.mark.parametrize(
    ("kept", "complaint"),
    [
        ([], "left nothing of 6"),
        (["u1", "u2"], "dropped the system messages"),
        (["s", "call", "u2"], "parted tool calls"),
        (["s", "u1", "result", "u2"], "parted tool calls"),
        (["s", "u2", "call"], "results of its calls are gone"),
        (["s", "call", "u2", "result"], "parted tool calls"),
        (["s", "u2", "u2"], "put messages twice"),
    ],
)
async def test_a_result_that_breaks_a_rule_is_refused(kept: list[str], complaint: str) -> None:
    """Not empty, systems kept, pairs whole and in place, nothing twice [CMP-10] [CMP-11]."""
    by_id = {message.id: message for message in talk()}

    with pytest.raises(InvalidCompressionError, match=complaint):
        await run(lambda session, memory: [by_id[one] for one in kept])


async def test_system_messages_may_go_where_the_strategy_says_so() -> None:
    """``drops_system = True`` switches that rule off [CMP-10]."""
    done = await run(lambda session, memory: session.messages[-1:], drops_system=True)

    assert ids(done) == ["u2"]


async def test_a_history_that_was_broken_before_may_stay_as_broken() -> None:
    """A loaded history with an orphan result can be compressed; its defect is not the strategy's [CMP-10]."""
    history = [kb.user("a"), kb.tool_result("gone", "r"), kb.assistant("b"), kb.user("c")]

    done = await kb.compress(
        history, Own(lambda session, memory: session.messages[:2]), executor=kb.OfflineExecutor()
    )

    assert len(done.prompt) == 2


async def test_an_old_defect_does_not_excuse_a_new_one() -> None:
    """A strategy that drops a broken pair and breaks another one is refused [CMP-10]."""
    history = [kb.tool_result("gone", "r"), *talk()]

    with pytest.raises(InvalidCompressionError, match="parted tool calls"):
        await kb.compress(
            history,
            Own(lambda session, memory: [one for one in session.messages[1:] if one.id != "result"]),
            executor=kb.OfflineExecutor(),
        )


async def test_a_half_answered_tail_may_not_lose_its_result() -> None:
    """Of an open turn nothing may be taken out [CMP-11]."""
    history = [kb.user("a"), kb.assistant("x"), kb.assistant(calls=[CALL, OPEN]), kb.tool_result(CALL, "r")]

    with pytest.raises(InvalidCompressionError, match="results of its calls are gone"):
        await kb.compress(
            history, Own(lambda session, memory: session.messages[:3:2]), executor=kb.OfflineExecutor()
        )


@pytest.mark.parametrize("returned", ["text", 7, [kb.user("a"), "text"], {"messages": []}])
async def test_a_result_that_is_no_history_is_refused(returned: Any) -> None:
    """Only messages, a prompt or ``UNCHANGED`` mean something [CMP-10]."""
    with pytest.raises(InvalidCompressionError, match="it returns a list of messages"):
        await run(lambda session, memory: returned)


@pytest.mark.parametrize("ending", [lambda: kb.UNCHANGED, lambda: 1 // 0])
async def test_a_strategy_changes_messages_and_nothing_else(ending: Callable[[], Any]) -> None:
    """Tools, model and params that it changed for its own request are put back, on an error too [CMP-08a]."""
    seen: list[Any] = []
    graph = kb.strategy("own", input=str, output=str)

    def meddle(session: Any, memory: Sequence[kb.Message]) -> Any:
        session.tools, session.model = [], "other"
        session.params = session.params.with_changes(temperature=0.0)
        return ending()

    @graph.node
    async def shrink(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            seen.append((session.tools, session.model, session.params, session.messages))
            with suppress(ZeroDivisionError):
                await session.replace_history_with_tldr(Own(meddle))
            seen.append((session.tools, session.model, session.params, session.messages))
        return text

    graph.start >> shrink >> graph.finish
    await kb.Agent(kb.OfflineExecutor(), "m", graph, system_prompt="rules").run("go")

    assert seen[0] == seen[1]


async def test_an_own_strategy_can_summarise_and_compose() -> None:
    """``kb.summarise`` and ``kb.compose`` are what the built-in ones are made of [CMP-10]."""

    class Halves:
        async def compress(self, session: Any, memory_messages: Sequence[kb.Message]) -> Any:
            middle = len(session.messages) // 2
            parts = (session.messages[:middle], session.messages[middle:])
            made = [await kb.summarise(session, part) for part in parts]
            return kb.compose(session.messages, memory_messages, made)

    done = await kb.compress(
        [*talk(), kb.user(f"{MEMORY_FACTS_MARKER}: x", id="m")],
        Halves(),
        executor=kb.ScriptedExecutor(["S1", "S2"]),
        allow_longer=True,
    )

    assert [message.text for message in done.prompt if message.is_summary] == ["S1", "S2"]
    assert [one.sources for one in done.ledger.new_messages] == [(0, 1, 2), (3, 4, 5, 6)]


@pytest.mark.parametrize("role", [kb.system, kb.user, kb.assistant])
async def test_a_note_that_a_strategy_adds_is_no_summary_that_is_too_long(role: Any) -> None:
    """Longer than what is gone is said of summaries alone; this one leaves everything and adds to it [CMP-13]."""
    done = await run(lambda session, memory: [role("a note of some length"), *session.messages])

    assert (done.ledger.status, len(done.prompt)) == ("applied", 7)
    assert [one.position for one in done.ledger.new_messages] == [0]


@pytest.mark.parametrize("name", ["koogbook.summary", None])
async def test_a_summary_counts_against_what_it_replaces_without_the_notes_beside_it(
    name: str | None,
) -> None:
    """By its name or by its place among a composition's summaries; the long note decides nothing [CMP-13]."""
    history = [kb.user("first"), kb.assistant("The train is full. " * 20), kb.user("last")]

    def note_and_sum_up(session: Any, memory: Sequence[kb.Message]) -> Any:
        first, gone, last = session.messages
        summary = Summary(kb.assistant("It is full.", name=name), (gone.id,))
        note = kb.system("Be brief. " * 60)
        return Composition((note, first, summary.message, last), (summary,))

    done = await kb.compress(history, Own(note_and_sum_up), executor=kb.OfflineExecutor())

    assert done.ledger.status == "applied"


async def test_a_composed_summary_of_any_name_is_refused_where_it_is_longer() -> None:
    """A strategy that names its summary counts as having made one [CMP-13]."""

    def sum_up(session: Any, memory: Sequence[kb.Message]) -> Any:
        first, gone, last = session.messages
        summary = Summary(kb.assistant("It is full, very full. " * 20), (gone.id,))
        return Composition((first, summary.message, last), (summary,))

    history = [kb.user("first"), kb.assistant("The train is full."), kb.user("last")]
    done = await kb.compress(history, Own(sum_up), executor=kb.OfflineExecutor())

    assert done.ledger.status == "refused"


async def test_the_history_given_is_never_changed() -> None:
    """A list that was compressed holds what it held [CMP-01]."""
    history = talk()
    copy = list(history)

    await kb.compress(history, Own(lambda session, memory: ends(session)), executor=kb.OfflineExecutor())

    assert history == copy


async def test_an_empty_history_cannot_be_compressed() -> None:
    """There is nothing to say of it."""
    with pytest.raises(CompressionError, match="no messages"):
        await kb.compress([], executor=kb.OfflineExecutor())
