"""An executor that answers a request that it has answered before without asking again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from koogbook import clock
from koogbook.errors import CodecError, ExecutorError, ProviderError
from koogbook.events import LLMCallCached, Notice
from koogbook.llm.answers import AnswerStore, FolderAnswers, MemoryAnswers
from koogbook.llm.around import AroundExecutor, in_words, place_of, streamed
from koogbook.llm.executor import EndFrame, Frame, PromptExecutor, frames_of, tell
from koogbook.llm.providers.to_provider import PARTS_KEY
from koogbook.llm.request import Request
from koogbook.messages.codec import encode_with_surrogates
from koogbook.messages.message import Message
from koogbook.messages.metadata import NO_METADATA, metadata_text

#: Part of each key, so that another way of making them finds nothing.
_KEYS: Final = "koogbook.request.2"
_encoder: Final = msgspec.json.Encoder()

#: What came of a request that others wait for: an answer, an error of the executor, or nothing (it was cancelled).
_Outcome = Message | ExecutorError | None
_Place = tuple[asyncio.AbstractEventLoop, str]


class CachedExecutor(AroundExecutor):
    """Gives the answer that it has got before to a request that looks the same (Koog's ``CachedPromptExecutor``).

    The ``entries`` most recently used answers are kept: in memory, or with ``folder`` in files there, which a restarted
    kernel finds again. Same means the same model on the same server, parameters, messages (role, name, parts), tools
    and schema, see :func:`request_key`. A temperature is a parameter like any other: a request that would be answered
    differently each time gets the first answer again. Each of several wanted answers has a place of its own, so that
    the next run gets the same ones. Not kept are failures, streams that were left or broke off, answers that say of
    themselves that they are ``incomplete``, answers to one request for several choices, and answers of a model that
    stood in for the one that was asked for.

    An answer that was there has an id and a time of its own, ``cached: true`` in its metadata and no usage, since it
    cost nothing; an :class:`~koogbook.events.LLMCallCached` tells of it. To a stream it comes in frames. Of equal
    requests at once one is sent, and the others get its answer, or its error; where it is cancelled, the next one is
    sent. A stream waits for an equal request, and no request for a stream, which lasts as long as its reader likes.

    What is damaged, or cannot be read or written, is asked for anew, stands in ``defects``, and in a run in its report.
    Closing it closes the executor inside.

    Raises:
        ValueError: ``entries`` is below 1.
        NotADirectoryError: ``folder`` is something else.
        TypeError: What it is made around is no executor.
    """

    def __init__(
        self, executor: PromptExecutor, *, entries: int = 1000, folder: str | Path | None = None
    ) -> None:
        super().__init__(executor)
        if not isinstance(entries, int) or entries < 1:
            raise ValueError(
                f"At least one answer is kept, not {entries!r}: CachedExecutor(..., entries=1000)."
            )
        self._answers: AnswerStore = (
            MemoryAnswers(entries) if folder is None else FolderAnswers(folder, entries)
        )
        self._on_the_way: dict[_Place, asyncio.Future[_Outcome]] = {}
        self.defects: list[str] = []

    async def execute(self, request: Request) -> Message:
        """See the class."""
        self._require_open()
        if _wants_several(request):
            return await self.executor.execute(request)
        place = (asyncio.get_running_loop(), self._key(request))
        kept = await self._kept(place)
        if kept is not None:
            return _again(kept, request, place[1])
        return await self._ask(request, place)

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """See the class."""
        self._require_open()
        key = None if _wants_several(request) else self._key(request)
        kept = None if key is None else await self._kept((asyncio.get_running_loop(), key))
        if key is not None and kept is not None:
            for frame in frames_of(_again(kept, request, key)):
                await clock.sleep(0)
                yield frame
            return
        async with streamed(self.executor, request) as frames:
            async for frame in frames:
                if key is not None and isinstance(frame, EndFrame):
                    self._keep(key, frame.message)
                yield frame

    def clear(self) -> None:
        """Forget all answers, in the folder as well."""
        self._answers.clear()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} around {type(self.executor).__name__}, {len(self._answers)} answers kept>"

    def _key(self, request: Request) -> str:
        return request_key(request, place_of(self.executor, request.model))

    async def _ask(self, request: Request, place: _Place) -> Message:
        """The answer of the executor, for this request and for those that wait for it."""
        on_the_way: asyncio.Future[_Outcome] = place[0].create_future()
        self._on_the_way[place] = on_the_way
        outcome: _Outcome = None
        try:
            reply = await self.executor.execute(request)
            outcome = reply if isinstance(reply, Message) else None
            self._keep(place[1], reply)
            return reply
        except ExecutorError as problem:
            outcome = problem
            raise
        finally:
            del self._on_the_way[place]
            if not place[0].is_closed():
                on_the_way.set_result(outcome)

    async def _kept(self, place: _Place) -> Message | None:
        """The answer that is there, or the one to an equal request that is on its way; None where one has to ask.

        Raises:
            ExecutorError: The equal request failed.
        """
        while True:
            on_the_way = self._on_the_way.get(place)
            if on_the_way is None:
                return self._known(place[1])
            # Unlike a plain await, this leaves the future alone when who waits here is cancelled.
            await asyncio.wait({on_the_way})
            outcome = on_the_way.result()
            if isinstance(outcome, ExecutorError):
                raise _copy_of(outcome) from outcome
            if outcome is not None:
                return outcome
            self._require_open()

    def _known(self, key: str) -> Message | None:
        try:
            return self._answers.get(key)
        except (CodecError, OSError) as problem:
            self._defect(f"a kept answer cannot be read and is asked for anew: {in_words(problem)}")
            return None

    def _keep(self, key: str, reply: object) -> None:
        if not isinstance(reply, Message) or reply.role != "assistant":
            return
        told = reply.metadata
        if "instead_of" in told or told.get("incomplete"):
            return
        try:
            self._answers.put(key, reply)
        except OSError as problem:
            self._defect(f"an answer cannot be kept and will be asked for again: {in_words(problem)}")

    def _defect(self, text: str) -> None:
        self.defects.append(text)
        tell(Notice, kind="cached answers", text=text)


def request_key(request: Request, place: str = "") -> str:
    """64 hexadecimal digits that stand for who is asked and for all that may be sent of a request.

    BLAKE2b over ``place`` (what the executor's ``cache_place`` says of the server), model (provider and id),
    parameters, messages (role, name, parts, and what its provider wants back of an answer), tools, schema, and which
    of several wanted answers it is for. A name of a message or of an attachment counts for every provider, though only
    some protocols have a place for it. One choice is the same as none said. Purpose, and the messages' ids, times,
    usage and other metadata, are never sent. A picture that is given by its address is the same as long as the
    address is.
    """
    asked = (
        _KEYS,
        place,
        (request.model.provider, request.model.id),
        request.params if _wants_several(request) else request.params.with_changes(choices=None),
        [
            (message.role, message.name, message.parts, _sent_of_metadata(message))
            for message in request.messages
        ],
        request.tools,
        request.schema,
        request.choice,
    )
    try:
        body = _encoder.encode(asked)
    except UnicodeEncodeError:
        body = encode_with_surrogates(msgspec.to_builtins(asked))
    return blake2b(body, digest_size=32).hexdigest()


def _wants_several(request: Request) -> bool:
    return (request.params.choices or 1) > 1


def _sent_of_metadata(message: Message) -> tuple[Any, Any]:
    """What of an answer's metadata goes back to a provider: its own fields, if it was the one that answered."""
    if message.metadata_json == NO_METADATA or message.role != "assistant":
        return None, None
    metadata = message.metadata
    return metadata.get("answered_by"), metadata.get(PARTS_KEY)


def _again(answer: Message, request: Request, key: str) -> Message:
    """The same answer as one that is given now."""
    tell(LLMCallCached, model=str(request.model), key=key)
    return replace(
        answer,
        id=clock.new_id(),
        time=clock.now(),
        usage=None,
        metadata_json=metadata_text({**answer.metadata, "cached": True}),
    )


def _copy_of(problem: ExecutorError) -> ExecutorError:
    """The same error for another task: what one adds to its own does not stand in the other's."""
    copied = type(problem).__new__(type(problem), *problem.args)
    copied.__dict__.update(problem.__dict__)
    if isinstance(copied, ProviderError):  # it was spent once, on the request that was sent
        copied.usage = None
    if hasattr(problem, "__notes__"):
        copied.__notes__ = list(problem.__notes__)
    return copied
