"""The prompt diff as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from koogbook.compression.fact_check import Fact, check_facts
from koogbook.messages.ledger import Ledger
from koogbook.notebook.views.diff_view.model import DiffState
from koogbook.notebook.views.diff_view.state import diff_ledger, diff_state
from koogbook.notebook.views.diff_view.text import diff_text
from koogbook.notebook.views.diff_view.view import diff_element
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.view import View


class DiffView(View[DiffState]):
    """A compression, or two histories, side by side; made by ``kb.diff``."""

    title = "Prompt diff"

    def __init__(self, ledger: Ledger, *, must_keep: Sequence[Fact] = (), name: str = "") -> None:
        self.ledger = ledger
        self._facts = check_facts(ledger, must_keep)
        self._name = name
        super().__init__(ledger)

    def look(self) -> DiffState:
        """Both histories, with the fate of each message."""
        return diff_state(self.ledger, facts=self._facts, name=self._name)

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return diff_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return diff_element(self.state)


def diff(before: Any, after: Any = None, *, must_keep: Sequence[Fact] = (), name: str = "") -> DiffView:
    """Two histories side by side, with the fate of each message.

    Args:
        before: The ledger of a compression (``run.compressions[0]``), what ``kb.compress`` gave, or any history.
        after: Another history, where ``before`` is one.
        must_keep: Facts that must survive: texts, patterns, or functions of a message.
        name: What it is of.

    Raises:
        TypeError: One history alone.
    """
    ledger = getattr(before, "ledger", before)
    if not isinstance(ledger, Ledger):
        if after is None:
            raise TypeError(
                f"diff takes the ledger of a compression, or two histories; got {type(before).__name__} alone. "
                "For two histories: kb.diff(before, after)."
            )
        ledger = diff_ledger(before, after)
    return DiffView(ledger, must_keep=must_keep, name=name)
