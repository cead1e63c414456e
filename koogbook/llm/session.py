"""Sessions: short scopes in which the prompt, tools and model of a running agent are read or changed.

They are Koog's ``AIAgentLLMReadSession`` and ``AIAgentLLMWriteSession``.

A session has nothing to do with the *session id*, which names a conversation in a store.

What a commit covers: prompt, tools and model of the context. Money spent on requests and the effects of tools that
ran inside a discarded session are not undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, get_args, overload

from msgspec.structs import replace

from koogbook.errors import SessionClosedError, ToolError
from koogbook.llm.choices import Choices, Chooser, all_of, place_chosen
from koogbook.llm.open_session import OpenSession
from koogbook.llm.request import Purpose, Request, without_tool_parts
from koogbook.llm.streaming import FrameStream, ReplyStream
from koogbook.llm.structured import Shape, StructuredReply, ask_until_it_fits, require_attempts
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams, ToolChoice
from koogbook.messages.pairing import require_pairs
from koogbook.messages.prompt import Prompt
from koogbook.tools.tool import Tool, ToolRegistry

T = TypeVar("T")


class LLMReadSession(OpenSession):
    """Sees prompt, tools and model as they were when it began; nothing done in it reaches the context.

    Koog's ``AIAgentLLMReadSession``. Get one from ``async with ctx.llm.read_session() as session`` (Koog's
    ``readSession``).

    Raises:
        SessionClosedError: On every use after the block (from any method or property).
    """

    __slots__ = ()

    async def request(self) -> Message:
        """Ask the model now, with the current tools on offer (Koog's ``requestLLM``).

        In a write session the reply is appended to the history, once; in a read session it is only returned.

        Raises:
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        messages = self._history("request()", open_tail=False)
        return await self._ask(messages, self._tools, self._prompt.params)

    async def request_without_tools(self) -> Message:
        """Ask the model now, offering no tools (Koog's ``requestLLMWithoutTools``).

        Calls and results of the history are sent as text and a forced tool choice is left out, for this request
        only; otherwise as :meth:`request`. A read session may ask while calls at the end wait for their results; in a
        write session the answer would stand between them.

        Raises:
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        messages = without_tool_parts(self._history("request_without_tools()", open_tail=not self._keeps))
        return await self._ask(messages, None, self._prompt.params.with_changes(tool_choice=None))

    async def request_only_calling_tools(self) -> Message:
        """Ask the model now to call a tool, any of them (Koog's ``requestLLMOnlyCallingTools``).

        The choice holds for this request only. An answer that calls none all the same is taken as it is, and said so.

        Raises:
            ToolError: The session has no tools; nothing was sent.
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        reply = await self._ask(
            self._history("request_only_calling_tools()", open_tail=False),
            self._tools,
            self._prompt.params.with_changes(tool_choice=ToolChoice("required")),
        )
        if not reply.calls:
            self._notice("tool choice", "The model was told to call a tool and called none.")
        return reply

    async def request_force_one_tool(self, tool: str | Tool | Callable[..., Any]) -> Message:
        """Ask the model now to call this one tool (Koog's ``requestLLMForceOneTool``).

        The choice holds for this request only. An answer that does something else is taken as it is, and said so.

        Raises:
            ToolError: It is none of the session's tools; nothing was sent.
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        name = self._tool_name(tool)
        reply = await self._ask(
            self._history("request_force_one_tool()", open_tail=False),
            self._tools,
            self._prompt.params.with_changes(tool_choice=ToolChoice("named", name)),
        )
        called = [call.tool for call in reply.calls]
        if set(called) != {name}:
            what = f"called {', '.join(called)}" if called else "called none"
            self._notice("tool choice", f"The model was told to call {name} and {what}.")
        return reply

    async def request_multiple_choices(
        self, count: int | None = None, *, choose: Chooser | None = None
    ) -> Choices:
        """Ask the model for several answers and take one (Koog's ``requestLLMMultipleChoices``).

        A write session appends the answer that was chosen, and no other. The answers are asked for at once, each by a
        request of its own, so that it works with every provider.

        Args:
            count: How many; ``params.choices`` when left out.
            choose: Gets the answers and gives the place of one, from 0, or the answer itself; may be async. The first
                one is taken when it is left out.

        Raises:
            ValueError: ``count`` is below 1 or not given at all, or ``choose`` gave none of the answers; nothing was
                appended.
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        messages = self._history("request_multiple_choices()", open_tail=False)
        wanted = self._prompt.params.choices if count is None else count
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
            raise ValueError(
                f"Give how many answers are wanted, at least 1, not {wanted!r}: request_multiple_choices(3), or "
                "session.change_params(choices=3). Nothing was sent."
            )
        params = self._prompt.params.with_changes(choices=None)
        request = self._request(messages, self._tools, "conversation", params)
        # A single one is a request like any other, and its answer may be there.
        asked = [request] if wanted == 1 else [replace(request, choice=place) for place in range(wanted)]
        with self._on_the_way():
            answers = await all_of([self._context.calls.execute(one) for one in asked])
            chosen = await place_chosen(choose, answers)
        self._take_if_open(answers[chosen])
        return Choices(answers, chosen)

    @overload
    async def request_structured(
        self,
        shape: type[T],
        *,
        examples: Sequence[Any] = (),
        attempts: int = 3,
        fixing_model: LLModel | str | None = None,
    ) -> StructuredReply[T]: ...
    @overload
    async def request_structured(
        self,
        shape: Any,
        *,
        examples: Sequence[Any] = (),
        attempts: int = 3,
        fixing_model: LLModel | str | None = None,
    ) -> StructuredReply[Any]: ...
    async def request_structured(
        self,
        shape: Any,
        *,
        examples: Sequence[Any] = (),
        attempts: int = 3,
        fixing_model: LLModel | str | None = None,
    ) -> StructuredReply[Any]:
        """Ask the model now for data of this shape (Koog's ``requestLLMStructured``); no tools are offered.

        The instruction, and answers that do not fit, stay out of the history: a write session appends the answer that
        fits, as the model wrote it, once.

        Args:
            shape: A Python type, or a JSON schema as a dict (needs the extra ``schema``).
            examples: Values, or their JSON text, that are shown to the model.
            attempts: How many requests at most. Only an answer that does not fit is asked for again, together with
                what was wrong; one that a limit of tokens cut is not.
            fixing_model: Asked from the second attempt on; the session's model when left out.

        Raises:
            StructuredOutputError: No answer fitted, there is no schema for the shape, or an example does not fit;
                nothing was appended.
            ValueError: ``attempts`` is below 1; nothing was sent.
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        history = self._history("request_structured()", open_tail=not self._keeps)
        require_attempts(attempts)
        wanted = Shape(shape)
        sent = (*without_tool_parts(history), wanted.instruction(examples))
        params = self._prompt.params.with_changes(tool_choice=None)
        fixing = self._model if fixing_model is None else self._resolved(fixing_model)

        async def ask(messages: tuple[Message, ...], attempt: int) -> Message:
            model = self._model if attempt == 1 else fixing
            request = self._request(messages, None, "conversation", params, schema=wanted.schema, model=model)
            return await self._context.calls.execute(request)

        with self._on_the_way():
            structured = await ask_until_it_fits(ask, sent, wanted, attempts, self._context.log)
        self._take_if_open(structured.message)
        return structured

    def request_streaming(self, *, keep_partial: bool = False) -> ReplyStream:
        """The model's answer in frames, with the current tools on offer (Koog's ``requestLLMStreaming``).

        Example::

            async with session.request_streaming() as stream:
                async for frame in stream:
                    ...

        The request goes out when the first frame is asked for. Once the last one was read, a write session appends the
        whole answer, once; until then its history cannot be changed and nothing else be requested. Of an answer that
        is left early, or that breaks off, nothing is appended.

        Args:
            keep_partial: Append the text that came of such an answer, as a message whose metadata says ``partial``. As
                all changes of a session it is committed when the block ends normally: an exception or a cancellation
                that broke the answer off has to be caught inside the block.

        Raises:
            ToolPairingError: A call has no result or a result no call; nothing was sent.
            SessionClosedError: On reading, when the session has ended, also where its end has ended this answer.
            StreamOpenError: Another streamed answer of this write session is not whole yet.
        """
        self._history("request_streaming()", open_tail=False)
        return ReplyStream(
            self._open_stream, self._stream_ended, self._context.log, keep_partial=keep_partial
        )

    async def send(
        self,
        messages: Sequence[Message],
        *,
        purpose: Purpose = "conversation",
        params: LLMParams | None = None,
    ) -> Message:
        """Send other messages than the history, offering no tools; the reply is returned and never appended.

        Summaries, extractions and the like are asked for with this, so that their instruction and answer stay out of
        the conversation.

        Args:
            messages: What is sent.
            purpose: What for; usage is reported by it.
            params: Those of the session when left out, without its stop texts, which are about the conversation. A
                tool choice and a number of choices are never sent: there is no tool to choose, and one reply.

        Raises:
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        self._require_open()
        sent = Prompt(messages, allow_duplicate=True).messages
        if purpose not in get_args(Purpose):
            raise ValueError(
                f"A purpose is one of {', '.join(get_args(Purpose))}, not {purpose!r}. Nothing was sent."
            )
        if params is not None and not isinstance(params, LLMParams):
            raise TypeError(f"params are LLMParams, not {type(params).__name__}. Nothing was sent.")
        require_pairs(sent, "send()", open_tail=False)
        chosen = self._prompt.params.with_changes(stop=()) if params is None else params
        without = chosen.with_changes(tool_choice=None, choices=None)
        return await self._context.calls.execute(self._request(sent, None, purpose, without))

    def _history(self, what: str, *, open_tail: bool) -> tuple[Message, ...]:
        self._require_open()
        self._require_whole()
        messages = self._prompt.messages
        require_pairs(messages, what, open_tail=open_tail)
        return messages

    async def _ask(
        self, messages: tuple[Message, ...], tools: ToolRegistry | None, params: LLMParams
    ) -> Message:
        with self._on_the_way():
            reply = await self._context.calls.execute(self._request(messages, tools, "conversation", params))
        if tools is None and reply.calls:
            called = ", ".join(call.tool for call in reply.calls)
            self._notice("tool choice", f"The model was offered no tools and called {called}.")
        self._take_if_open(reply)
        return reply

    @contextmanager
    def _on_the_way(self) -> Iterator[None]:
        """A request is, and its answer will stand where the history ends now."""
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    def _take_if_open(self, reply: Message) -> None:
        if self._closed:
            raise SessionClosedError(
                "Cannot use session after it was closed: its 'async with' block ended while a request was on its way. "
                "The request was sent and answered; the answer was not appended and stands in run.calls. Await the "
                "request inside the block."
            )
        self._take(reply)

    def _request(
        self,
        messages: tuple[Message, ...],
        tools: ToolRegistry | None,
        purpose: Purpose,
        params: LLMParams,
        *,
        schema: str | None = None,
        model: LLModel | None = None,
    ) -> Request:
        self._require_open()
        self._require_loop()
        if tools is not None and params.tool_choice is not None:
            self._require_choice(params.tool_choice, tools)
        if tools is not None and not len(tools):
            # As after a subgraph with tools of its own: providers refuse calls beside an empty tool list.
            messages = without_tool_parts(messages)
        return Request(
            messages=messages,
            model=self._model if model is None else model,
            purpose=purpose,
            tools=tools.specs if tools is not None else (),
            params=params,
            schema=schema,
        )

    def _open_stream(self, stream: ReplyStream) -> FrameStream:
        """The frames of the history as it is now; the session looks after the stream from here on."""
        messages = self._history("request_streaming()", open_tail=False)
        request = self._request(messages, self._tools, "conversation", self._prompt.params)
        self._streams = (*self._streams, stream)
        return self._context.calls.stream(request)

    def _require_choice(self, choice: ToolChoice, tools: ToolRegistry) -> None:
        if choice.tool is not None and tools.get(choice.tool) is None:
            raise self._no_such_tool(choice.tool)
        if choice.mode == "required" and not len(tools):
            raise ToolError(
                "The model cannot be told to call a tool: this session has none. Nothing was sent. Assign some with "
                "session.tools = [...], or ask without: session.request_without_tools()."
            )

    def _tool_name(self, tool: str | Tool | Callable[..., Any]) -> str:
        name = tool if isinstance(tool, str) else str(getattr(tool, "name", getattr(tool, "__name__", tool)))
        if self.tools.get(name) is None:
            raise self._no_such_tool(name)
        return name

    def _no_such_tool(self, name: str) -> ToolError:
        known = ", ".join(self.tools.names) or "none"
        return ToolError(
            f"This session has no tool {name!r}; it has: {known}. Nothing was sent or changed. Assign it first: "
            "session.tools = [...]."
        )
