"""Requests to models and their answers, whole or in frames."""

from __future__ import annotations

from typing import Any, Literal

from koogbook.events.event import Event
from koogbook.messages.message import Message, Usage


class LLMCallStarting(Event, frozen=True, kw_only=True):
    """A request goes to the executor (Koog's LLMCallStarting).

    ``request`` is the :class:`~koogbook.llm.request.Request` as it goes out, ``changes`` what interceptors did to it on
    its way (:class:`~koogbook.llm.call_record.RequestChange`), ``marks`` the layers of loaded messages, by message id.
    """

    call: int
    purpose: str
    model: str
    messages: int
    tokens: int
    tools: tuple[str, ...] = ()
    request: Any = None
    changes: Any = ()
    marks: Any = None


class LLMCallCompleted(Event, frozen=True, kw_only=True):
    """The executor answered with ``reply`` (Koog's LLMCallCompleted)."""

    call: int
    purpose: str
    seconds: float
    usage: Usage | None = None
    finish_reason: str | None = None
    reply: Message | None = None


class LLMCallFailed(Event, frozen=True, kw_only=True):
    """The executor raised, or the request was cancelled (Koog's LLMCallFailed).

    ``usage`` is what a provider counted all the same, None where it counted nothing or did not say, and ``spent_by``
    the model for which it did, ``provider:model``.
    """

    call: int
    purpose: str
    seconds: float
    error: str
    cancelled: bool = False
    usage: Usage | None = None
    spent_by: str = ""


class LLMCallRetrying(Event, frozen=True, kw_only=True):
    """A request failed and is to be made again after a pause of ``wait`` seconds, which begins now.

    A cancellation in the pause ends it: then there is no further attempt. ``attempt`` is the one that failed, from 1;
    ``usage`` and ``spent_by`` are those of :class:`LLMCallFailed`.
    """

    call: int
    model: str
    attempt: int
    wait: float
    error: str
    usage: Usage | None = None
    spent_by: str = ""


class LLMCallFellBack(Event, frozen=True, kw_only=True):
    """A model did not answer, and the request goes to the next one.

    ``usage`` and ``spent_by`` are those of :class:`LLMCallFailed`.
    """

    call: int
    model: str
    to: str
    error: str
    usage: Usage | None = None
    spent_by: str = ""


class LLMCallCached(Event, frozen=True, kw_only=True):
    """The answer was there already, and nobody was asked; ``key`` names it in the cache."""

    call: int
    model: str
    key: str


class LLMStreamingStarting(LLMCallStarting, frozen=True, kw_only=True):
    """A request goes to the executor, and its answer comes in frames (Koog's LLMStreamingStarting)."""


class LLMStreamingFrame(Event, frozen=True, kw_only=True):
    """A piece of the answer came (Koog's LLMStreamingFrameReceived); ``kind`` is what it is a piece of."""

    call: int
    kind: Literal["text", "reasoning", "tool call"]
    text: str


class LLMStreamingCompleted(LLMCallCompleted, frozen=True, kw_only=True):
    """The last frame came (Koog's LLMStreamingCompleted)."""

    frames: int = 0


class LLMStreamingFailed(LLMCallFailed, frozen=True, kw_only=True):
    """The stream broke off, or was left before its end: ``cancelled`` (Koog's LLMStreamingFailed)."""

    frames: int = 0
