"""The views as objects: one class for all, made by a function for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from koogbook import clock
from koogbook.compression.fact_check import Fact, check_facts
from koogbook.errors import FeatureError
from koogbook.events import Event, RunCompleted, RunFailed
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.features.persistence.fingerprint import compare
from koogbook.features.persistence.storage import ListsCheckpoints
from koogbook.messages.ledger import Ledger
from koogbook.notebook.views.checkpoint_view.view import (
    CheckpointState,
    Verdict,
    checkpoint_element,
    checkpoint_state,
    checkpoint_text,
)
from koogbook.notebook.views.diff_view.model import DiffState
from koogbook.notebook.views.diff_view.state import diff_state, diff_state_of
from koogbook.notebook.views.diff_view.text import diff_text
from koogbook.notebook.views.diff_view.view import diff_element
from koogbook.notebook.views.graph_view.state import GraphState, graph_state
from koogbook.notebook.views.graph_view.view import graph_element, graph_text
from koogbook.notebook.views.lock_view.state import LockState, lock_state
from koogbook.notebook.views.lock_view.view import lock_element, lock_text
from koogbook.notebook.views.look.markup import Element, Theme, render_static
from koogbook.runtime.compiled import CompiledStrategy, compile_strategy

State = TypeVar("State")


class View(Generic[State]):
    """A picture of something: its state as plain data, and that state as text and as HTML.

    In a notebook it shows itself; ``print(view)`` gives the text. Same input, same bytes.
    """

    def __init__(
        self,
        title: str,
        state: State,
        text: Callable[[State], str],
        element: Callable[[State], Element],
    ) -> None:
        self.title = title
        self.state = state
        self._text = text
        self._element = element

    def __str__(self) -> str:
        return self._text(self.state)

    __repr__ = __str__

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return self._element(self.state)

    def to_html(self, theme: Theme = "light") -> str:
        """HTML that stands alone: no style sheet, no script, nothing from outside."""
        return render_static(self.element, theme)

    def save(self, path: str | Path, theme: Theme = "light") -> Path:
        """Write a page with this view alone, in both themes; gives the path."""
        from koogbook.notebook.views.page import Section, page

        target = Path(path)
        target.write_text(
            page(self.title, None, [Section("view", self.title, "", self.element)]), encoding="utf-8"
        )
        return target

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.to_html()}


def graph(strategy: Any, run: Any = None, *, selected: str | None = None) -> View[GraphState]:
    """The graph of a strategy, or of a run with what happened in it.

    Args:
        strategy: A strategy, a run, or an agent.
        run: A run of that strategy.
        selected: Name or path of the node to show in detail.
    """
    subject = getattr(strategy, "strategy", strategy)
    happened = strategy if hasattr(strategy, "events") else run
    shape = subject.shape() if callable(subject.shape) else subject.shape
    events: Sequence[Event] = happened.events if happened is not None else ()
    path = None if selected is None else selected if "/" in selected else f"{shape.name}/{selected}"
    return View("Strategy graph", graph_state(shape, events, selected=path), graph_text, graph_element)


def locks(run: Any) -> View[LockState]:
    """The sessions of a run on its LLM contexts: who held the lock, who waited, what was committed or discarded.

    Takes a run, or a sequence of events.
    """
    events = run.events if hasattr(run, "events") else tuple(run)
    goes_on = hasattr(run, "events") and not any(
        isinstance(event, RunCompleted | RunFailed) for event in events
    )
    now = clock.monotonic() if goes_on else None
    return View("Lock view", lock_state(events, now=now), lock_text, lock_element)


def diff(
    before: Any, after: Any = None, *, must_keep: Sequence[Fact] = (), name: str = ""
) -> View[DiffState]:
    """Two histories side by side, with the fate of each message.

    Args:
        before: The ledger of a compression (``run.compressions[0]``), what ``kb.compress`` gave, or any history.
        after: Another history, where ``before`` is one.
        must_keep: Facts that must survive: texts, patterns, or functions of a message.
        name: What it is of.
    """
    ledger = getattr(before, "ledger", before)
    if isinstance(ledger, Ledger):
        state = diff_state(ledger, facts=check_facts(ledger, must_keep), name=name)
    elif after is None:
        raise TypeError(
            f"diff takes the ledger of a compression, or two histories; got {type(before).__name__} alone. "
            "For two histories: kb.diff(before, after)."
        )
    else:
        state = diff_state_of(before, after, facts=must_keep, name=name)
    return View("Prompt diff", state, diff_text, diff_element)


def checkpoints(agent: Any, session_id: str | None = None) -> View[CheckpointState]:
    """The checkpoints of a session and of its forks, each with a verdict against the strategy as it is now.

    Args:
        agent: An agent with Persistence, or a store.
        session_id: The session; None shows all.

    Raises:
        FeatureNotInstalledError: The agent has no Persistence.
        FeatureError: The store cannot list.
    """
    storage = agent.feature("Persistence").storage if hasattr(agent, "feature") else agent
    if not isinstance(storage, ListsCheckpoints):
        raise FeatureError(
            f"{type(storage).__name__} has no list_infos and cannot be shown as a table. Read it with "
            "await storage.get_checkpoints(session_id), or use kb.SqliteCheckpoints()."
        )
    infos = storage.list_infos(session_id, with_forks=True)
    verdicts = {}
    if hasattr(agent, "strategy"):
        stored = storage.get_fingerprints([info.fingerprint for info in infos])
        verdicts = _verdicts(infos, stored, compile_strategy(agent.strategy))
    state = checkpoint_state(
        infos, verdicts=verdicts, store=repr(storage), sessions=[session_id] if session_id is not None else []
    )
    return View("Checkpoints", state, checkpoint_text, checkpoint_element)


def _verdicts(
    infos: Sequence[CheckpointInfo], stored: dict[str, bytes], strategy: CompiledStrategy
) -> dict[str, Verdict]:
    judge = partial(_verdict, stored=stored, strategy=strategy)
    return {info.id: judge(info) for info in infos}


def _verdict(info: CheckpointInfo, *, stored: dict[str, bytes], strategy: CompiledStrategy) -> Verdict:
    if info.is_tombstone:
        return Verdict("ended", ())
    if strategy.graph.find(info.path) is None:
        return Verdict("not resumable", (f"node {info.path}: is gone",))
    body = stored.get(info.fingerprint, b"")
    found = compare(body, strategy, info.path) if body else None
    reasons = found.differences if found is not None else ("the strategy it was saved under is not known",)
    if info.left_out:
        reasons = (*reasons, f"saved without {', '.join(info.left_out)}, which cannot be stored")
    if found is not None and found.level == "incompatible":
        return Verdict("not resumable", reasons)
    return Verdict("with warning" if reasons else "resumable", reasons)
