"""What a subgraph may have of its own: tools, model, parameters, history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams

HandOut = Literal["nothing", "last", "all"] | Callable[[Sequence[Message]], Sequence[Message]]


class SubgraphOptions(Struct, frozen=True, kw_only=True):
    """How the context of a subgraph differs from the one around it; see :meth:`Subgraph.subgraph`."""

    tools: Any = None
    model: LLModel | str | None = None
    params: LLMParams | None = None
    history: Literal["inherit", "fresh"] | None = None
    system_prompt: str | Sequence[str] | None = None
    hand_out: HandOut = "nothing"
    on_failure: Literal["discard", "keep"] = "discard"

    @property
    def has_own_context(self) -> bool:
        """Whether it runs on a context of its own; without any option it is a group of nodes on the one around it."""
        return any(
            given is not None
            for given in (self.tools, self.model, self.params, self.history, self.system_prompt)
        )


def require_options(options: SubgraphOptions, name: str) -> None:
    """Refuse options that cannot be, or that do not go together.

    Raises:
        GraphError: The message names the subgraph and the option.
    """
