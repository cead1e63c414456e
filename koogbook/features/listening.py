"""What features have in common that only listen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from koogbook.pipeline import Interceptor, Subscription


class Listening:
    """One installation of a feature that reads events and changes nothing; nodes get it from ``ctx.feature(key)``."""

    interceptors: tuple[Interceptor, ...] = ()

    def __init__(self, key: str, subscriptions: Sequence[Subscription]) -> None:
        self.key = key
        self.subscriptions = tuple(subscriptions)

    def bind(self, context: Any, /) -> Any:
        """Itself."""
        return self

    async def close(self) -> None:
        """Nothing to flush."""
