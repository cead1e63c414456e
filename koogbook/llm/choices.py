"""Several answers to one request, and which of them is taken."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from msgspec import Struct

from koogbook.messages.message import Message

#: Picks one of several answers: gives its place, or the answer itself.
Chooser = Callable[[Sequence[Message]], "int | Message | Awaitable[int | Message]"]


class Choices(Struct, frozen=True):
    """Several answers to one request; ``reply`` is the one that was chosen, ``chosen`` its place from 0."""

    messages: tuple[Message, ...]
    chosen: int

    @property
    def reply(self) -> Message:
        """The answer that was chosen."""
        return self.messages[self.chosen]


async def all_of(requests: Sequence[Coroutine[Any, Any, Message]]) -> tuple[Message, ...]:
    """All answers, asked for at once; where one fails the others are cancelled, and its exception is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(request) for request in requests]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return tuple(task.result() for task in tasks)


async def place_chosen(choose: Chooser | None, answers: tuple[Message, ...]) -> int:
    """The place of the answer that was chosen; the first one where nobody chooses.

    Raises:
        ValueError: It is none of the answers.
    """
    if choose is None:
        return 0
    if not callable(choose):
        raise ValueError(f"choose is a function of the answers, not {choose!r:.60}. Nothing was appended.")
    given = choose(answers)
    picked = await given if inspect.isawaitable(given) else given
    place = next((place for place, answer in enumerate(answers) if answer is picked), picked)
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(answers):
        raise ValueError(
            f"choose gave {picked!r:.60}; it gives the place of one of {len(answers)} answers, from 0, or the answer "
            "itself. Nothing was appended."
        )
    return place
