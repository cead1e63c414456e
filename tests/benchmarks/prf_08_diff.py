"""PRF-08: what became of 2,000 messages in a history of 101."""

from __future__ import annotations

import difflib
import random
import time
from collections.abc import Callable
from functools import partial

import floors
from harness import Bound, Case, Column, Measures, Table

import koogbook as kb
from koogbook.messages.history_diff import diff_messages
from koogbook.messages.message import SUMMARY_NAME

OWN = "koogbook diff_messages"
FLOOR = "comparing stored ids"
DIFFLIB = "difflib over (role, text)"
DIFFLIB_IDS = "difflib over stored ids"

_REPEATS = 20
_WORDS = "ferry museum budget 状态 图表 planner history tool result of the and to opens 模型 nine runs value".split()


def table() -> Table:
    pick = random.Random(8)

    def text(length: int) -> str:
        return " ".join(pick.choice(_WORDS) for _ in range(length))

    before = [(kb.user, kb.assistant)[number % 2](f"{number} {text(60)}") for number in range(2_000)]
    after = [*before[:20], kb.assistant(text(200), name=SUMMARY_NAME), *before[-80:]]
    for message in (*before, *after):
        message.tokens  # noqa: B018 - counted once in a message's life, and known when a history is compressed

    return Table(
        statement="PRF-08",
        title=f"diff of {len(before):,} messages against {len(after)}",
        cases=[
            Case(OWN, "koogbook", _repeated(partial(diff_messages, before, after))),
            Case(FLOOR, "floor", _repeated(partial(floors.places_by_id, before, after))),
            Case(
                DIFFLIB,
                "peer",
                _repeated(
                    lambda: difflib.SequenceMatcher(
                        None,
                        [(message.role, message.text) for message in before],
                        [(message.role, message.text) for message in after],
                        autojunk=False,
                    ).get_opcodes()
                ),
            ),
            Case(
                DIFFLIB_IDS,
                "peer",
                _repeated(
                    lambda: difflib.SequenceMatcher(
                        None,
                        [message.id for message in before],
                        [message.id for message in after],
                        autojunk=False,
                    ).get_opcodes()
                ),
            ),
        ],
        columns=[Column("seconds", "ms", 1e-3 * _REPEATS, 3)],
        bounds=[Bound(OWN, DIFFLIB, 0.5), Bound(OWN, DIFFLIB_IDS, 0.5), Bound(OWN, FLOOR, 6.0)],
        notes=[
            "koogbook gives a fate with its position and tokens for each of the 2,000; the others give ranges."
        ],
    )


def _repeated(work: Callable[[], object]) -> Callable[[], Measures]:
    def run() -> Measures:
        started = time.perf_counter()
        for _ in range(_REPEATS):
            work()
        return {"seconds": time.perf_counter() - started}

    return run
