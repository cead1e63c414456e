"""What the demo leaves behind: a fresh folder, and in it a page with pictures of the run and both answers."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from koogbook import clock
from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.errors import TranscriptError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.checkpoints import checkpoints
from koogbook.notebook.views.diff_view.diff import diff
from koogbook.notebook.views.graph_view.graph import graph
from koogbook.notebook.views.lock_view.locks import locks
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.pieces import frame
from koogbook.notebook.views.page import Section, page
from koogbook.notebook.views.report_view import report_element
from koogbook.transcripts.transcript import Defect, Transcript

_MOST_DIFFS = 4  # drawn on the page; all compressions stand in the report
_MOST_DEFECTS = 20


@contextmanager
def fresh_folder(parent: Path, name: str) -> Iterator[Path]:
    """A folder that did not exist before; where the block fails, all folders that were made are removed."""
    missing = [one for one in (parent, *parent.parents) if not one.exists()]
    target = _new_folder(parent, f"{clock.now():%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:40]}")
    try:
        yield target
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        with suppress(OSError):  # another demo may be at work in the same place
            for folder in missing:
                folder.rmdir()
        raise


def _new_folder(parent: Path, stem: str) -> Path:
    for count in range(1, 1000):
        target = parent / (stem if count == 1 else f"{stem}-{count}")
        with suppress(FileExistsError):
            target.mkdir(parents=True)
            return target
    raise TranscriptError(f"No fresh folder can be made in {parent}: it holds a thousand of {stem}.")


def demo_page(
    transcript: Transcript,
    agent: Agent,
    run: Run,
    fork: Run,
    forked_from: CheckpointInfo,
    *,
    facts: Sequence[str],
    question: str,
    seconds_per_message: float,
) -> str:
    """The page as HTML.

    Args:
        transcript: What was replayed, with its defects and repairs.
        agent: The agent of ``run``, with its checkpoints.
        run: The run over the whole conversation.
        fork: The run that went on from ``forked_from``.
        forked_from: The checkpoint between the two.
        facts: What to look for after each compression.
        question: What both were asked at the end.
        seconds_per_message: How fast the conversation was replayed.
    """
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
        Section(
            "answers", "Two answers", "The run and its fork, asked the same.", _answers(run, fork, question)
        )
    )
    return page(
        f"koogbook: {transcript.source or 'sample'}", _intro(transcript, seconds_per_message), sections
    )


def _intro(transcript: Transcript, seconds_per_message: float) -> Element:
    repairs = [defect for defect in transcript.defects if defect.kind == "repaired"]
    found = [defect for defect in transcript.defects if defect.kind != "repaired"]
    return h(
        "div",
        h(
            "p",
            f"{len(transcript)} messages, about {transcript.tokens:,} tokens, replayed turn by turn through a strategy "
            f"that compresses its history. Replayed at {seconds_per_message * 1000:g} ms a message, so that sessions "
            "have a length that can be seen. No model answered: summaries and answers are sentences of the "
            "conversation, picked by a fixed rule.",
        ),
        _listed("Defects in the file", found) if found else h("p", "The file has no defects."),
        _listed("Repairs, so that the conversation can be replayed", repairs) if repairs else None,
    )


def _listed(title: str, defects: Sequence[Defect]) -> Element:
    more = len(defects) - _MOST_DEFECTS
    return h(
        "details",
        h("summary", f"{title}: {len(defects):,}"),
        h("ul", *(h("li", str(defect)) for defect in defects[:_MOST_DEFECTS])),
        h("p", f"and {more:,} more") if more > 0 else None,
    )


def _reports(run: Run, fork: Run) -> Element:
    return h(
        "div",
        *(h("div", report_element(one.report(), one.session_id), cls="kb-block") for one in (run, fork)),
    )


def _answers(run: Run, fork: Run, question: str) -> Element:
    return h("div", h("p", f"Asked: {question}", cls="kb-text"), *(_answer(one) for one in (run, fork)))


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
