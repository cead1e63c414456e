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
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from koogbook import clock
from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.compression.strategies import HistoryCompressionStrategy, WholeHistory
from koogbook.errors import TranscriptError
from koogbook.features.persistence.feature import Persistence
from koogbook.llm.extractive import ExtractiveExecutor
from koogbook.messages.message import Message, user
from koogbook.messages.pairing import groups
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.pieces import frame
from koogbook.notebook.views.page import Section, page
from koogbook.notebook.views.report_view import report_element
from koogbook.notebook.views.view import checkpoints, diff, graph, locks
from koogbook.runtime.builder import Strategy, strategy
from koogbook.runtime.context import Context
from koogbook.runtime.ready import history_over
from koogbook.storage.sqlite_checkpoints import SqliteCheckpoints
from koogbook.transcripts.load import load_transcript, sample_transcript
from koogbook.transcripts.transcript import Transcript

if TYPE_CHECKING:
    from koogbook.features.persistence.checkpoint import CheckpointInfo

QUESTION = "Before we go on: what has been decided, with figures, and what is still open?"
SAMPLE_FACTS = ("peanut", "500 yuan", "21:40", "Terminal 3", "花生")
_SECONDS_PER_MESSAGE = 0.002  # so that sessions have a length that can be seen
_SMALLEST_ROOM = 300  # tokens
_MOST_DIFFS = 4  # drawn on the page; all compressions stand in the report
_MOST_FACTS = 6
_FIGURE = re.compile(
    r"[$€£¥]\s?\d[\d,.]*\d|\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,8}\b|\b\d{1,2}:\d{2}\b"
)


class Demo(Struct, frozen=True):
    """What a demo gave: both runs, where the checkpoints are, and the page."""

    transcript: Transcript
    run: Run
    fork: Run
    forked_from: CheckpointInfo | None
    page: Path
    database: Path


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
) -> Demo:
    """Run the demo on the sample conversation or on a file, and write the page into a fresh folder.

    Args:
        file: An OpenAI chat as JSON or JSONL; None is the sample that comes with koogbook.
        index: Which conversation of the file.
        folder: Where the fresh folder is made.
        budget: Tokens over which the history is compressed; by default so that it happens at least once.
        must_keep: Facts to look for after each compression.

    Raises:
        TranscriptError: The file holds no conversation that can be replayed.
    """
    loaded = sample_transcript() if file is None else load_transcript(file, index=index)
    transcript = loaded.repaired()
    system = [message.text for message in transcript.messages if message.role == "system"]
    spoken = [message for message in transcript.messages if message.role != "system"]
    if not spoken:
        raise TranscriptError(f"{transcript.source} has system messages only: there is no turn to replay.")
    limit = budget or _budget(transcript)
    facts = tuple(must_keep) or (SAMPLE_FACTS if file is None else facts_in(spoken))
    target = _fresh_folder(Path(folder), Path(transcript.source or "sample").stem)
    store = SqliteCheckpoints(target / "checkpoints.db")

    def agent(compression: HistoryCompressionStrategy) -> Agent:
        made = Agent(
            ExtractiveExecutor(),
            model="offline",
            strategy=replay_strategy(turns_of(spoken), limit, compression),
            system_prompt=system,
            id="demo",
            max_iterations=4 * len(spoken) + 10,
        )
        return made.install(Persistence(storage=store))

    first = agent(WholeHistory())
    run = await first.run(transcript.source or "sample", session_id="demo")
    forked_from = _place_to_fork(store.list_infos("demo"))
    other = agent(WholeHistory(keep_last=6))
    await other.fork("demo", forked_from.id, to="demo-fork")
    fork = await other.run(None, session_id="demo-fork")
    path = target / "page.html"
    path.write_text(_page(transcript, first, run, fork, forked_from, facts), encoding="utf-8")
    store.close()
    return Demo(transcript, run, fork, forked_from, path, store.path)


def _budget(transcript: Transcript) -> int:
    """Tokens that the history is over at least once: the system messages, which always stay, and half of the rest."""
    fixed = sum(message.tokens for message in transcript.messages if message.role == "system")
    return fixed + max(_SMALLEST_ROOM, int((transcript.tokens - fixed) * 0.45))


def _fresh_folder(parent: Path, name: str) -> Path:
    stem = f"{clock.now():%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:40]}"
    for count in range(1, 1000):
        target = parent / (stem if count == 1 else f"{stem}-{count}")
        try:
            target.mkdir(parents=True)
        except FileExistsError:
            continue
        return target
    raise TranscriptError(f"No fresh folder can be made in {parent}: it holds a thousand of {stem}.")


def _place_to_fork(infos: Sequence[CheckpointInfo]) -> CheckpointInfo:
    """The checkpoint before the last compression, or the first one where there was none."""
    before = [
        earlier
        for earlier, later in pairwise(infos)
        if later.path == "replay/compress" and not earlier.is_tombstone
    ]
    return before[-1] if before else infos[0]


def _page(
    transcript: Transcript,
    agent: Agent,
    run: Run,
    fork: Run,
    forked_from: CheckpointInfo,
    facts: Sequence[str],
) -> str:
    sections = [
        Section("report", "What happened", "The report of the run, then of its fork.", _reports(run, fork)),
        Section(
            "graph",
            "The strategy",
            "What was visited, how often, and by which edges.",
            graph(run, selected="compress" if run.compressions else "append_turn").element,
        ),
        Section(
            "locks",
            "Sessions and the lock",
            "Each bar is a session on the prompt. At the end two readers share the lock and a writer waits for both.",
            locks(run).element,
        ),
    ]
    for number, ledger in enumerate(run.compressions[:_MOST_DIFFS], start=1):
        name = f"compression {number} of {len(run.compressions)}"
        sections.append(
            Section(
                f"compression-{number}",
                f"Compression {number}",
                "What became of each message, and what the summary rests on.",
                diff(ledger, must_keep=facts, name=name).element,
            )
        )
    sections.append(
        Section(
            "checkpoints",
            "Checkpoints",
            f"One after each node. The fork went on from version {forked_from.version} with another compression.",
            checkpoints(agent, "demo").element,
        )
    )
    sections.append(
        Section("answers", "Two answers", "The run and its fork, asked the same.", _answers(run, fork))
    )
    return page(f"koogbook: {transcript.source or 'sample'}", _intro(transcript), sections)


def _intro(transcript: Transcript) -> Element:
    defects = [h("li", str(defect)) for defect in transcript.defects[:20]]
    more = len(transcript.defects) - len(defects)
    noted = (
        h(
            "details",
            h("summary", f"{len(transcript.defects)} defects in the file"),
            h("ul", *defects),
            h("p", f"and {more} more") if more > 0 else None,
        )
        if defects
        else h("p", "The file has no defects.")
    )
    return h(
        "div",
        h(
            "p",
            f"{len(transcript)} messages, about {transcript.tokens:,} tokens, replayed turn by turn through a strategy "
            f"that compresses its history. Replayed at {_SECONDS_PER_MESSAGE * 1000:g} ms a message, so that sessions "
            "have a length that can be seen. No model answered: summaries and answers are sentences of the "
            "conversation, picked by a fixed rule.",
        ),
        noted,
    )


def _reports(run: Run, fork: Run) -> Element:
    return h(
        "div",
        *(h("div", report_element(one.report(), one.session_id), cls="kb-block") for one in (run, fork)),
    )


def _answers(run: Run, fork: Run) -> Element:
    return h("div", h("p", f"Asked: {QUESTION}", cls="kb-text"), *(_answer(one) for one in (run, fork)))


def _answer(run: Run) -> Element:
    lines = [line for line in run.output.split("\n") if line.strip()]
    return h(
        "div",
        frame(
            icon="assistant",
            title="Answer",
            name=run.session_id,
            status=f"from {len(run.prompt)} messages, about {run.prompt.tokens:,} tokens",
            body=[
                h(
                    "div",
                    h("blockquote", *(h("p", line, cls="kb-text") for line in lines), cls="kb-quote"),
                    cls="kb-panel",
                )
            ],
            foot="sentences of the conversation, picked by a fixed rule",
        ),
        cls="kb-block",
    )
