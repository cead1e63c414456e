"""Where a table of checkpoints comes from: a store and the code as it is now, each looked at when it has to be."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any

from koogbook import clock
from koogbook.errors import FeatureError, ViewError
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo
from koogbook.features.persistence.storage import CheckpointStorage, ListsCheckpoints
from koogbook.notebook.views.checkpoint_view.judging import Code, code_now, judge
from koogbook.notebook.views.checkpoint_view.reading import read_checkpoint
from koogbook.notebook.views.checkpoint_view.table import CheckpointTable, checkpoint_key
from koogbook.notebook.views.checkpoint_view.tree import TreeRow, tree_rows
from koogbook.notebook.views.look.isolates import set_apart

# Seconds: a store that takes longer to list is read again when somebody asks for it, not whenever a run has saved.
_QUICK = 0.1
_SEARCHED_FOR_NEAR = 1_000


class CheckpointSource:
    """The checkpoints of a session and its forks, or of a whole store, as a table.

    The store is read once, again when that was asked for, and when a run of the agent has saved something, unless it
    is slow to list. The verdicts are worked out again when the code has changed.

    Args:
        of: An agent with Persistence, or a store.
        session: The session id; None for all.

    Raises:
        FeatureNotInstalledError: The agent has no Persistence.
        FeatureError: The store cannot list.
    """

    def __init__(self, of: Any, session: str | None) -> None:
        self.of = of
        self.session = session
        self.storage = _storage_of(of)
        self.code = Code()
        #: What to say of a session that has none where others have some.
        self.empty = ""
        self._strategy = getattr(of, "strategy", None)
        self._rows: tuple[TreeRow, ...] | None = None
        self._table: CheckpointTable | None = None
        self._stamp: object = None
        self._slow = False

    @property
    def forks(self) -> bool:
        """Whether there is somebody who can fork."""
        return hasattr(self.of, "fork")

    def forget(self) -> None:
        """Read the store again when it is needed."""
        self._rows = None

    @property
    def is_behind(self) -> bool:
        """Whether a run of the agent has saved something since the store was read."""
        return self._rows is not None and self._stamp_now() != self._stamp

    def table(self) -> CheckpointTable:
        """The table, made again only as far as what it depends on has changed."""
        if self._rows is None or (self.is_behind and not self._slow):
            began = clock.glance()
            infos = self.storage.list_infos(self.session, with_forks=self.session is not None)
            self._slow = clock.glance() - began > _QUICK
            self._rows, self._table = tree_rows(infos), None
            self._stamp = self._stamp_now()
            self.empty = "" if infos or self.session is None else self._no_such_session(self.session)
        code = code_now(self._strategy)
        if self._table is None or (code.key, code.why_not) != (self.code.key, self.code.why_not):
            infos = [row.info for row in self._rows]
            verdict = _no_verdict if code.strategy is None else judge(code.strategy, infos, self.storage)
            self.code, self._table = code, CheckpointTable(self._rows, verdict)
        return self._table

    def sessions(self) -> list[str]:
        """The session that it is of, with its forks; none where it is of all."""
        if self.session is None:
            return []
        return [self.session, *(one for one in self.table().sessions if one != self.session)]

    def place(self, given: str) -> int:
        """Where the checkpoint of an id stands; the id may be cut short, or be the key that a click gives.

        Raises:
            ViewError: There is none, or there are several.
        """
        table = self.table()
        if given.startswith("["):
            try:
                session, id = json.loads(given)
                place = table.find(session, id)
            except (ValueError, TypeError):
                place = None
            if place is not None:
                return place
        found = table.named(given) or (table.beginning(given) if given else [])
        if len(found) == 1:
            return found[0]
        infos = [table.rows[place].info for place in found[:5]]
        if infos and all(info.id == given for info in infos):
            raise ViewError(
                f"{len(found):,} checkpoints have the id {given!r}, of the sessions "
                f"{', '.join(repr(info.session_id) for info in infos)}. Give the session, too, as in "
                f"{checkpoint_key(infos[0])!r}."
            )
        if infos:
            raise ViewError(
                f"{len(found):,} checkpoints begin with {given!r}: {', '.join(info.id for info in infos)}. "
                "Give more of the id."
            )
        known = [row.info.id for row in table.rows[-_SEARCHED_FOR_NEAR:]]
        near = get_close_matches(given, dict.fromkeys(known), n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ViewError(
            f"There is no checkpoint {given!r} among the {len(table.rows):,} of this table.{hint}"
        )

    async def whole(self, info: CheckpointInfo) -> Checkpoint:
        """The whole checkpoint of a light form.

        Raises:
            CheckpointNotFoundError: It is not in the store any more.
        """
        storage: Any = self.storage
        stored: CheckpointStorage = storage
        return await read_checkpoint(stored, info)

    def free_session(self, session_id: str) -> str:
        """A session id for a fork that the store has not."""
        number, name = 1, f"{session_id}-fork"
        while self.storage.list_infos(name):
            number += 1
            name = f"{session_id}-fork-{number}"
        return name

    def _stamp_now(self) -> object:
        run = getattr(self.of, "last_run", None)
        if run is None:
            return None
        return id(run), run.last_checkpoint

    def _no_such_session(self, session: str) -> str:
        known = list(dict.fromkeys(info.session_id for info in self.storage.list_infos()))
        if not known:
            return ""
        near = get_close_matches(session, known, n=3, cutoff=0.4)
        first, *others = map(_quoted, near or known[-1:])
        nearest = f"the nearest is {first}" if near else f"the last is {first}"
        others_too = f", then {', '.join(others)}" if others else ""
        return f"no checkpoints of session {_quoted(session)}; of the {len(known):,} in the store {nearest}{others_too}"


def _quoted(session: str) -> str:
    return set_apart(repr(session))


def _no_verdict(info: CheckpointInfo) -> None:
    return None


def _storage_of(agent: Any) -> ListsCheckpoints:
    if isinstance(agent, type):
        raise TypeError(
            f"checkpoints takes an agent, or a store of checkpoints, not the class {agent.__name__}. Give the agent "
            'that runs: kb.checkpoints(agent, "chat-1").'
        )
    storage = agent.feature("Persistence").storage if hasattr(agent, "feature") else agent
    if not hasattr(storage, "get_latest_checkpoint"):
        raise TypeError(f"checkpoints takes an agent, or a store of checkpoints, not {agent!r:.60}.")
    if not isinstance(storage, ListsCheckpoints):
        raise FeatureError(
            f"{type(storage).__name__} has no list_infos and cannot be shown as a table. Read it with "
            "await storage.get_checkpoints(session_id), or use kb.SqliteCheckpoints()."
        )
    return storage
