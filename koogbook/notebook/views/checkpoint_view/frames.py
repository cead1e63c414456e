"""A table of checkpoints as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.judging import WORDS
from koogbook.notebook.views.checkpoint_view.table import CheckpointTable

if TYPE_CHECKING:
    import pandas

_TEXTS: dict[str, Callable[[CheckpointInfo], str | None]] = {
    "id": lambda info: info.id,
    "session": lambda info: info.session_id,
    "node": lambda info: info.path,
    "kind": lambda info: info.kind,
    "parent": lambda info: info.parent,
    "agent": lambda info: info.agent_id,
    "run": lambda info: info.run_id,
    "strategy_version": lambda info: info.strategy_version,
    "fingerprint": lambda info: info.fingerprint,
}
_NUMBERS: dict[str, Callable[[CheckpointInfo], int]] = {
    "version": lambda info: info.version,
    "messages": lambda info: info.messages,
    "tokens": lambda info: info.tokens,
    "bytes": lambda info: info.bytes,
    "iterations": lambda info: info.iterations,
}
_ORDER = (
    *("id", "session", "time", "node", "version", "messages", "tokens", "bytes", "tombstone", "parent"),
    *("verdict", "reasons", "left_out", "kind", "agent", "run", "iterations", "strategy_version"),
    "fingerprint",
)


def as_frame(table: CheckpointTable, places: Sequence[int]) -> pandas.DataFrame:
    """One row per checkpoint, in this order.

    Texts are of the dtype ``string``, numbers ``int64``, the time ``datetime64`` in UTC, the verdict is a category with
    the best one first; reasons and what was left out are tuples.
    """
    import pandas

    infos = [table.rows[place].info for place in places]
    judged = [table.judged[place] for place in places]
    # The kind of text that can hold every id, lone surrogates too, wherever pandas is installed with what.
    text = pandas.StringDtype("python")
    columns: dict[str, Any] = {
        name: pandas.array([get(info) for info in infos], dtype=text) for name, get in _TEXTS.items()
    }
    columns.update(
        (name, pandas.array([get(info) for info in infos], dtype="int64")) for name, get in _NUMBERS.items()
    )
    columns["time"] = pandas.DatetimeIndex([info.created for info in infos], dtype="datetime64[us, UTC]")
    columns["tombstone"] = pandas.array([info.is_tombstone for info in infos], dtype="bool")
    columns["verdict"] = pandas.Categorical([one.word for one in judged], categories=WORDS, ordered=True)
    columns["reasons"] = pandas.Series([one.reasons for one in judged], dtype="object")
    columns["left_out"] = pandas.Series([info.left_out for info in infos], dtype="object")
    return pandas.DataFrame({name: columns[name] for name in _ORDER})
