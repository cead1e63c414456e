"""An executor that asks again when a provider could not answer and may soon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from math import ceil, isfinite

from koogbook import clock
from koogbook.errors import ProviderError
from koogbook.events import LLMCallRetrying
from koogbook.llm.around import AroundExecutor, in_words, spent_on, streamed
from koogbook.llm.executor import Frame, PromptExecutor, tell
from koogbook.llm.request import Request
from koogbook.messages.message import Message

#: Doubling more often than this is longer than any wait that somebody may want.
_MOST_DOUBLINGS = 60


class RetryingExecutor(AroundExecutor):
    """Asks up to ``attempts`` times in all, with a pause between two of them (Koog's ``RetryingLLMClient``).

    Only a :class:`~koogbook.errors.ProviderError` that may pass is met with another attempt: nothing else gets better
    by waiting. The first pause is at most ``first_wait`` seconds, each further one at most twice as long as the one
    before, none longer than ``longest_wait``; by chance it is between half of that and all, so that many who were
    refused together do not come back together. Where the provider says how long to wait, the pause is at least as
    long; where that is longer than ``longest_wait``, the error is raised at once.

    A stream is asked for again only as long as no frame of it was given. Each pause is an
    :class:`~koogbook.events.LLMCallRetrying` and stands in the report of the run; a cancellation ends it at once. What
    the provider counted for an attempt that failed is part of what the run spent. The error that is raised at last has
    a note that says how often was asked, and for how long. Closing it closes the executor inside.

    Raises:
        ValueError: ``attempts`` is below 1, or a wait is negative, or the first is longer than the longest.
        TypeError: What it is made around is no executor.
    """

    def __init__(
        self,
        executor: PromptExecutor,
        *,
        attempts: int = 4,
        first_wait: float = 0.5,
        longest_wait: float = 30.0,
    ) -> None:
        super().__init__(executor)
        if not all(isinstance(one, int | float) for one in (attempts, first_wait, longest_wait)) or (
            attempts < 1 or not 0 <= first_wait <= longest_wait or not isfinite(longest_wait)
        ):
            raise ValueError(
                "There is at least one attempt, and waits are seconds with 0 <= first_wait <= longest_wait, not "
                f"attempts={attempts!r}, first_wait={first_wait!r}, longest_wait={longest_wait!r}."
            )
        self.attempts = attempts
        self.first_wait = first_wait
        self.longest_wait = longest_wait

    async def execute(self, request: Request) -> Message:
        """See the class."""
        asked = _Asked(self, request)
        while True:
            self._require_open()
            try:
                return await self.executor.execute(request)
            except ProviderError as problem:
                await asked.pause(problem)

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """See the class."""
        asked = _Asked(self, request)
        given = False
        while True:
            self._require_open()
            try:
                async with streamed(self.executor, request) as frames:
                    async for frame in frames:
                        given = True
                        yield frame
                return
            except ProviderError as problem:
                if given:
                    raise
                await asked.pause(problem)


class _Asked:
    """The attempts for one request so far."""

    __slots__ = ("_limits", "_request", "_since", "_times")

    def __init__(self, limits: RetryingExecutor, request: Request) -> None:
        self._limits = limits
        self._request = request
        self._since = clock.monotonic()
        self._times = 0

    async def pause(self, problem: ProviderError) -> None:
        """Wait for the next attempt.

        Raises:
            ProviderError: The one that was given, where there is no next attempt.
        """
        self._times += 1
        wanted = problem.retry_after or 0.0
        if not problem.may_pass:
            if self._times > 1:
                problem.add_note(f"{self._so_far()}; this error does not pass by waiting.")
            raise problem
        if self._times >= self._limits.attempts:
            problem.add_note(f"{self._so_far()}, and no more: RetryingExecutor(..., attempts={self._times}).")
            raise problem
        if wanted > self._limits.longest_wait:
            problem.add_note(
                f"{self._so_far()}. The provider wants a pause of {wanted:g} s, which is longer than the longest that "
                f"is waited ({self._limits.longest_wait:g} s). Ask again later, or wait for it: "
                f"RetryingExecutor(..., longest_wait={_rounded_up(wanted)})."
            )
            raise problem
        wait = max(wanted, self._backoff())
        tell(
            LLMCallRetrying,
            model=str(self._request.model),
            attempt=self._times,
            wait=wait,
            error=in_words(problem),
            **spent_on(problem, self._request.model),
        )
        await clock.sleep(wait)

    def _backoff(self) -> float:
        doubled: float = self._limits.first_wait * 2 ** min(self._times - 1, _MOST_DOUBLINGS)
        longest = min(doubled, self._limits.longest_wait)
        # An id is the chance that a fixed clock fixes as well.
        return longest * (0.5 + int(clock.new_id(), 16) / 2**65)

    def _so_far(self) -> str:
        times = "once" if self._times == 1 else f"{self._times} times"
        return f"Asked {times} in {clock.monotonic() - self._since:.1f} s"


def _rounded_up(seconds: float) -> str:
    return str(ceil(seconds)) if isfinite(seconds) else "..."
