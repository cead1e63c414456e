"""The table of checkpoints as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from koogbook.errors import FeatureError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.features.persistence.fingerprint import compare
from koogbook.features.persistence.storage import ListsCheckpoints
from koogbook.notebook.views.checkpoint_view.state import CheckpointState, Verdict, checkpoint_state
from koogbook.notebook.views.checkpoint_view.text import checkpoint_text
from koogbook.notebook.views.checkpoint_view.view import checkpoint_element
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.view import View
from koogbook.runtime.compiled import CompiledStrategy, compile_strategy


class CheckpointView(View[CheckpointState]):
    """The checkpoints of a session and of its forks; made by ``kb.checkpoints``."""

    title = "Checkpoints"

    def __init__(self, of: Any, session_id: str | None = None) -> None:
        self._storage = _storage_of(of)
        self._strategy = getattr(of, "strategy", None)
        self._session = session_id
        super().__init__(of)

    def look(self) -> CheckpointState:
        """What is stored now, judged against the strategy as it is now."""
        storage = self._storage
        infos = storage.list_infos(self._session, with_forks=True)
        verdicts: dict[str, Verdict] = {}
        if self._strategy is not None:
            stored = storage.get_fingerprints([info.fingerprint for info in infos])
            verdicts = _verdicts(infos, stored, compile_strategy(self._strategy))
        return checkpoint_state(
            infos,
            verdicts=verdicts,
            store=repr(storage),
            sessions=[self._session] if self._session is not None else [],
        )

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return checkpoint_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return checkpoint_element(self.state)


def checkpoints(agent: Any, session_id: str | None = None) -> CheckpointView:
    """The checkpoints of a session and of its forks, each with a verdict against the strategy as it is now.

    Args:
        agent: An agent with Persistence, or a store.
        session_id: The session; None shows all.

    Raises:
        FeatureNotInstalledError: The agent has no Persistence.
        FeatureError: The store cannot list.
    """
    return CheckpointView(agent, session_id)


def _storage_of(agent: Any) -> ListsCheckpoints:
    storage = agent.feature("Persistence").storage if hasattr(agent, "feature") else agent
    if not isinstance(storage, ListsCheckpoints):
        raise FeatureError(
            f"{type(storage).__name__} has no list_infos and cannot be shown as a table. Read it with "
            "await storage.get_checkpoints(session_id), or use kb.SqliteCheckpoints()."
        )
    return storage


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
