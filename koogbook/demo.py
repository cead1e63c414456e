"""The main job without a notebook: a real conversation through a strategy, and a page that shows what happened.

The recorded conversation is replayed turn by turn into the prompt of a running agent, calls and results as they were
recorded. Whenever the history is over its budget it is compressed. At the end two readers and a writer meet at the
lock, and the agent answers. Every node leaves a checkpoint; one of them is forked and run on with another
compression. No model answers: the executor picks sentences of the conversation.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from koogbook import clock
from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.compression.fact_check import check_facts
from koogbook.compression.strategies import HistoryCompressionStrategy, WholeHistory
from koogbook.demo_page import demo_page, fresh_folder
from koogbook.errors import TranscriptError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.features.persistence.feature import Persistence
from koogbook.llm.extractive import ExtractiveExecutor
from koogbook.messages.message import Message, user
from koogbook.messages.pairing import groups
from koogbook.runtime.builder import Strategy, strategy
from koogbook.runtime.context import Context
from koogbook.runtime.ready.conditions import history_over
from koogbook.storage.sqlite_checkpoints import SqliteCheckpoints
from koogbook.transcripts.load import load_transcript, sample_transcript
from koogbook.transcripts.transcript import Transcript

QUESTION = "Before we go on: what has been decided, with figures, and what is still open?"
MOST_MESSAGES = 2_000  # some ten seconds
SAMPLE_FACTS = ("peanut", "500 yuan", "21:40", "Terminal 3", "花生")
_SECONDS_PER_MESSAGE = 0.002  # so that sessions have a length that can be seen
_SMALLEST_ROOM = 300  # tokens
_MOST_FACTS = 6
_FIGURE = re.compile(
    r"[$€£¥]\s?\d[\d,.]*\d|\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,8}\b|\b\d{1,2}:\d{2}\b"
)


class Demo(Struct, frozen=True):
    """What a demo gave: both runs, where the checkpoints are, and the page."""

    transcript: Transcript
    run: Run
    fork: Run
    forked_from: CheckpointInfo
    facts: tuple[str, ...]
    page: Path
    database: Path

    def lost_facts(self) -> tuple[str, ...]:
        """The facts that were there before a compression of the run and not after it, with the number of it."""
        return tuple(
            f"{finding.fact} is lost in compression {number}"
            for number, ledger in enumerate(self.run.compressions, start=1)
            for finding in check_facts(ledger, self.facts)
            if finding.found == "lost"
        )


def replay_strategy(
    turns: Sequence[Sequence[Message]], budget: int, compression: HistoryCompressionStrategy
) -> Strategy:
    """The strategy of the demo: ``read_turn``, ``append_turn``, ``compress`` in a loop, then ``answer``.

    ``turns`` are the pieces of the conversation; ``budget`` is in tokens.
    """
    replay = strategy("replay", input=str, output=str)

    @replay.node(note="next part of the record")
    async def read_turn(ctx: Context, at: int) -> int:
        await clock.sleep(_SECONDS_PER_MESSAGE)
        return at

    @replay.node(note="one write session")
    async def append_turn(ctx: Context, at: int) -> int:
        async with ctx.llm.write_session() as session:
            session.append(*turns[at])
            await clock.sleep(_SECONDS_PER_MESSAGE * len(turns[at]))
        return at + 1

    compress = replay.compress_history(compression, name="compress")

    @replay.node(note="two readers and a writer")
    async def take_stock(ctx: Context, at: int) -> str:
        async with asyncio.TaskGroup() as tasks:
            said = tasks.create_task(_count(ctx, "user"))
            results = tasks.create_task(_count(ctx, "tool"))
            tasks.create_task(_ask(ctx))
        return f"{said.result()} user messages and {results.result()} tool results are left in the prompt"

    @replay.node(note="asks the executor")
    async def answer(ctx: Context, stock: str) -> str:
        async with ctx.llm.write_session() as session:
            reply = await session.request_without_tools()
        return f"{reply.text}\n({stock})"

    def more_turns(at: int) -> bool:
        return at < len(turns)

    replay.edge(replay.start, read_turn, map=_from_the_first)
    read_turn >> append_turn
    replay.edge(append_turn, compress, when=history_over(max_tokens=budget), label=f"over {budget:,} tokens")
    replay.edge(append_turn, read_turn, when=more_turns, label="more turns")
    append_turn >> take_stock
    replay.edge(compress, read_turn, when=more_turns, label="more turns")
    compress >> take_stock
    take_stock >> answer >> replay.finish
    return replay


def _from_the_first(name: str) -> int:
    return 0


async def _count(ctx: Context, role: str) -> int:
    async with ctx.llm.read_session() as session:
        await clock.sleep(_SECONDS_PER_MESSAGE * 4)
        return sum(message.role == role for message in session.messages)


async def _ask(ctx: Context) -> None:
    async with ctx.llm.write_session() as session:
        session.append(user(QUESTION))


def turns_of(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """A conversation cut before each user message, with no call parted from its result."""
    turns: list[list[Message]] = []
    for group in groups(messages):
        piece = [messages[at] for at in group]
        if not turns or piece[0].role == "user":
            turns.append([])
        turns[-1].extend(piece)
    return [tuple(turn) for turn in turns]


def facts_in(messages: Sequence[Message]) -> tuple[str, ...]:
    """Figures and codes that the user named: what a compression of an unknown conversation should not lose."""
    found = [fact for message in messages if message.is_from_user for fact in _FIGURE.findall(message.text)]
    return tuple(dict.fromkeys(found))[:_MOST_FACTS]


async def run_demo(
    file: str | Path | None = None,
    *,
    index: int = 0,
    folder: str | Path = ".koogbook/demo",
    budget: int | None = None,
    must_keep: Sequence[str] = (),
    most: int = MOST_MESSAGES,
) -> Demo:
    """Run the demo on the sample conversation or on a file, and write the page into a fresh folder.

    Where anything fails, the fresh folder is removed again.

    Args:
        file: A conversation as JSON or JSONL, in any format that is read; None is the sample that comes with koogbook.
        index: Which conversation of the file.
        folder: Where the fresh folder is made.
        budget: Tokens over which the history is compressed; by default so that it happens at least once.
        must_keep: Facts to look for after each compression.
        most: The longest conversation that is replayed, in messages.

    Raises:
        TranscriptError: The file holds no conversation that can be replayed, or a longer one.
        ValueError: A number is below 1, or a fact is an empty text.
    """
    if most < 1 or (budget is not None and budget < 1) or not all(must_keep):
        raise ValueError(
            f"budget and most are at least 1 and a fact has some text; got budget={budget}, most={most}, "
            f"must_keep={must_keep!r}. Nothing was made."
        )
    transcript = _replayable(file, index, most)
    system = [message.text for message in transcript.messages if message.role == "system"]
    spoken = [message for message in transcript.messages if message.role != "system"]
    limit = budget or _budget(transcript)
    facts = tuple(must_keep) or (SAMPLE_FACTS if file is None else facts_in(spoken))

    def agent(compression: HistoryCompressionStrategy, store: SqliteCheckpoints) -> Agent:
        made = Agent(
            ExtractiveExecutor(),
            model="offline",
            strategy=replay_strategy(turns_of(spoken), limit, compression),
            system_prompt=system,
            id="demo",
            max_iterations=4 * len(spoken) + 10,
        )
        return made.install(Persistence(storage=store))

    with (
        fresh_folder(Path(folder), Path(transcript.source or "sample").stem) as target,
        closing(SqliteCheckpoints(target / "checkpoints.db")) as store,
    ):
        first = agent(WholeHistory(), store)
        run = await first.run(transcript.source or "sample", session_id="demo")
        forked_from = _place_to_fork(store.list_infos("demo"))
        other = agent(WholeHistory(keep_last=6), store)
        await other.fork("demo", forked_from.id, to="demo-fork")
        fork = await other.run(None, session_id="demo-fork")
        html = demo_page(
            transcript,
            first,
            run,
            fork,
            forked_from,
            facts=facts,
            question=QUESTION,
            seconds_per_message=_SECONDS_PER_MESSAGE,
        )
        path = target / "page.html"
        path.write_text(html, encoding="utf-8")
    return Demo(transcript, run, fork, forked_from, facts, path, store.path)


def _replayable(file: str | Path | None, index: int, most: int) -> Transcript:
    """The conversation, mended, with something to replay and not too much of it."""
    if file is None and index != 0:
        raise TranscriptError(f"The sample is one conversation, index={index} is not in it. Name a file.")
    loaded = sample_transcript() if file is None else load_transcript(file, index=index)
    if len(loaded) > most:
        raise TranscriptError(
            f"Conversation {index} of {loaded.source} has {len(loaded):,} messages, and the demo replays at most "
            f"{most:,}. Nothing was made. Choose a shorter one (--index N, or another file), or allow it: "
            f"--most {len(loaded)}."
        )
    mended = loaded.repaired(open_tail=False)
    if all(message.role == "system" for message in mended.messages):
        taken = [str(defect) for defect in mended.defects if defect.kind == "repaired"]
        if taken:
            more = f"; and {len(taken) - 3} more" if len(taken) > 3 else ""
            raise TranscriptError(
                f"{loaded.source} has nothing to replay besides system messages, after repairs: "
                f"{'; '.join(taken[:3])}{more}. Add what belongs to them, or choose another conversation."
            )
        raise TranscriptError(f"{loaded.source} has system messages only: there is no turn to replay.")
    return mended


def _budget(transcript: Transcript) -> int:
    """Tokens that the history is over at least once: the system messages, which always stay, and half of the rest."""
    fixed = sum(message.tokens for message in transcript.messages if message.role == "system")
    return fixed + max(_SMALLEST_ROOM, int((transcript.tokens - fixed) * 0.45))


def _place_to_fork(infos: Sequence[CheckpointInfo]) -> CheckpointInfo:
    """The checkpoint before the last compression, or the first one where there was none."""
    before = [
        earlier
        for earlier, later in pairwise(infos)
        if later.path == "replay/compress" and not earlier.is_tombstone
    ]
    return before[-1] if before else infos[0]
