"""How the branches of a parallel block become one: what is given, as a value."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

OnError = Literal["cancel", "collect"]


class Join(Struct, frozen=True, kw_only=True):
    """The merge of a parallel block, and what happens when a branch fails; see :meth:`Subgraph.parallel`."""

    merge: Any
    on_error: OnError = "cancel"
