"""An executor that asks another model where one did not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, NoReturn

from msgspec.structs import replace

from koogbook.errors import ContextOverflowError, ProviderError
from koogbook.events import LLMCallFellBack
from koogbook.llm.around import AroundExecutor, in_words, require_executor, spent_on, streamed
from koogbook.llm.executor import EndFrame, Frame, PromptExecutor, tell
from koogbook.llm.request import Request
from koogbook.messages.message import Message
from koogbook.messages.metadata import metadata_text
from koogbook.messages.model import LLModel

Stage = tuple[PromptExecutor, LLModel]


class FallbackExecutor(AroundExecutor):
    """Asks the model of the request, and where that does not answer the next one of ``models`` (Koog's fallback).

    Each of ``models`` is a model of the same executor, or a pair of another executor and a model of its own::

        FallbackExecutor(executor, models=["openai:gpt-5-mini", (local, "ollama:qwen3")])

    The same request goes to the next model on a :class:`~koogbook.errors.ProviderError`, whatever its kind. That
    includes :class:`~koogbook.errors.ContextOverflowError`, as the next model may have a longer context. It does not
    include :class:`~koogbook.errors.UnknownModelError` and :class:`~koogbook.errors.MissingKeyError`: these are
    mistakes in the set-up that last, and with another model in between every request would be answered by the second
    choice, at another price, without anyone looking for the reason. Nor does it include misuse, such as a call without
    its result. For a stream, the next model is asked only as long as no frame was given.

    Each step is an :class:`~koogbook.events.LLMCallFellBack` and stands in the report of the run; what the provider
    counted for it is part of what the run spent. The metadata of the
    answer say who gave it (``answered_by``) and, where that is not the model of the request, for whom it stood in
    (``instead_of``). Closing it closes all its executors.

    Raises:
        ValueError: There is no model to fall back to.
        UnknownModelError: One of ``models`` is unknown to its executor: better now than when it is needed.
        MissingKeyError: The environment has no key for one of them.
        TypeError: What stands where an executor belongs is none.
    """

    def __init__(
        self, executor: PromptExecutor, models: Sequence[LLModel | str | tuple[PromptExecutor, LLModel | str]]
    ) -> None:
        super().__init__(executor)
        if isinstance(models, str | LLModel) or not models:
            raise ValueError(
                f"The models to fall back to are a list with at least one, not {models!r:.60}: "
                "FallbackExecutor(executor, models=['provider:name'])."
            )
        self.models = tuple(_stage(executor, model) for model in models)

    async def execute(self, request: Request) -> Message:
        """See the class."""
        failed: list[ProviderError] = []
        for executor, model, following in self._stages(request):
            self._require_open()
            try:
                reply = await executor.execute(replace(request, model=model))
            except ProviderError as problem:
                failed.append(problem)
                _next(model, following, problem)
            else:
                return _signed(reply, request.model, model)
        _raise_all(self._stages(request), failed)

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """See the class."""
        failed: list[ProviderError] = []
        given = False
        for executor, model, following in self._stages(request):
            self._require_open()
            try:
                async with streamed(executor, replace(request, model=model)) as frames:
                    async for frame in frames:
                        given = True
                        if isinstance(frame, EndFrame):
                            yield EndFrame(_signed(frame.message, request.model, model))
                        else:
                            yield frame
                return
            except ProviderError as problem:
                if given:
                    raise
                failed.append(problem)
                _next(model, following, problem)
        _raise_all(self._stages(request), failed)

    async def close(self) -> None:
        """Answer no more, and close all executors, each once. Idempotent."""
        self._closed = True
        for executor in {id(one): one for one in (self.executor, *(one for one, _ in self.models))}.values():
            await executor.close()

    def _stages(self, request: Request) -> Iterator[tuple[PromptExecutor, LLModel, LLModel | None]]:
        """Who is asked, one after another, and which model is the next; none is asked twice."""
        asked: dict[tuple[int, str, str], Stage] = {}
        for executor, model in ((self.executor, request.model), *self.models):
            asked.setdefault((id(executor), model.provider, model.id), (executor, model))
        stages = list(asked.values())
        for place, (executor, model) in enumerate(stages, start=1):
            yield executor, model, stages[place][1] if place < len(stages) else None


def _stage(executor: PromptExecutor, model: LLModel | str | tuple[PromptExecutor, LLModel | str]) -> Stage:
    if isinstance(model, tuple):
        other, name = model
        return require_executor(other, FallbackExecutor.__name__), other.resolve(name)
    return executor, executor.resolve(model)


def _next(model: LLModel, following: LLModel | None, problem: ProviderError) -> None:
    if following is not None:
        tell(
            LLMCallFellBack,
            model=str(model),
            to=str(following),
            error=in_words(problem),
            **spent_on(problem, model),
        )


def _signed(reply: Message, wanted: LLModel, model: LLModel) -> Message:
    """The answer with the name of who gave it; what an executor without a model says of itself stays."""
    if type(reply) is not Message:  # whoever sends requests says so
        return reply
    metadata = reply.metadata
    if metadata.get("model") is not False and "instead_of" not in metadata:
        metadata["answered_by"] = str(model)
    if str(model) != str(wanted):
        metadata["instead_of"] = str(wanted)
    return replace(reply, metadata_json=metadata_text(metadata))


def _raise_all(
    stages: Iterator[tuple[PromptExecutor, LLModel, LLModel | None]], failed: list[ProviderError]
) -> NoReturn:
    """Raise one error for all of them, of a kind that says whether asking again, or for less, may help."""
    if len(failed) == 1:
        raise failed[0]
    told = [
        f"({place}) {model}: {in_words(problem)}{''.join(f' ({note})' for note in getattr(problem, '__notes__', ()))}"
        for place, ((_, model, _), problem) in enumerate(zip(stages, failed, strict=True), start=1)
    ]
    said = f"None of {len(failed)} models answered, and nothing was appended. {' '.join(told)}"
    passing = [problem for problem in failed if problem.may_pass]
    too_long = [problem for problem in failed if isinstance(problem, ContextOverflowError)]
    first = [*passing, *too_long, *failed][0]
    about: dict[str, Any] = {"kind": first.kind, "model": first.model, "status": first.status}
    # What the others cost was told when the next model was asked.
    about["usage"] = failed[-1].usage
    if not passing and too_long:
        limits = [problem.limit for problem in too_long if problem.limit is not None]
        raise ContextOverflowError(said, limit=max(limits, default=None), **about) from failed[-1]
    # The soonest counts, and one that names no time may answer at any.
    waits = [problem.retry_after for problem in passing]
    named = [wait for wait in waits if wait is not None]
    soonest = min(named, default=None) if len(named) == len(waits) else None
    raise ProviderError(said, retry_after=soonest, **about) from failed[-1]
