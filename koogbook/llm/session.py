"""Sessions: short scopes in which the prompt, tools and model of a running agent are read or changed.

They are Koog's ``AIAgentLLMReadSession`` and ``AIAgentLLMWriteSession``.

A session has nothing to do with the *session id*, which names a conversation in a store.

What a commit covers: prompt, tools and model of the context. Money spent on requests and the effects of tools that
ran inside a discarded session are not undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from koogbook.errors import SessionClosedError
from koogbook.llm.request import Purpose, Request, without_tool_parts
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams, as_model
from koogbook.messages.pairing import require_pairs
from koogbook.messages.prompt import Prompt
from koogbook.tools.tool import ToolRegistry

if TYPE_CHECKING:
    from koogbook.llm.context import LLMContext


class LLMReadSession:
    """Sees prompt, tools and model as they were when it began; nothing done in it reaches the context.

    Koog's ``AIAgentLLMReadSession``. Get one from ``async with ctx.llm.read_session() as session`` (Koog's
    ``readSession``).

    Raises:
        SessionClosedError: On every use after the block (from any method or property).
    """

    __slots__ = ("_closed", "_context", "_model", "_prompt", "_tools")

    def __init__(self, context: LLMContext, prompt: Prompt, tools: ToolRegistry, model: LLModel) -> None:
        self._context = context
        self._prompt = prompt
        self._tools = tools
        self._model = model
        self._closed = False

    @property
    def prompt(self) -> Prompt:
        """The messages with their parameters."""
        self._require_open()
        return self._prompt

    @property
    def tools(self) -> ToolRegistry:
        """The tools that :meth:`request` offers."""
        self._require_open()
        return self._tools

    @property
    def model(self) -> LLModel:
        """The model that is asked."""
        self._require_open()
        return self._model

    @property
    def params(self) -> LLMParams:
        """The parameters of requests."""
        self._require_open()
        return self._prompt.params

    @property
    def messages(self) -> tuple[Message, ...]:
        """Short for ``session.prompt.messages``."""
        return self.prompt.messages

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
        only; otherwise as :meth:`request`.

        Raises:
            ToolPairingError: A call has no result or a result no call; nothing was sent.
        """
        messages = without_tool_parts(self._history("request_without_tools()", open_tail=True))
        return await self._ask(messages, None, self._prompt.params.with_changes(tool_choice=None))

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
        sent = tuple(messages)
        require_pairs(sent, "send()", open_tail=False)
        chosen = self._prompt.params.with_changes(stop=()) if params is None else params
        return await self._send(sent, None, purpose, chosen.with_changes(tool_choice=None, choices=None))

    def _history(self, what: str, *, open_tail: bool) -> tuple[Message, ...]:
        self._require_open()
        messages = self._prompt.messages
        require_pairs(messages, what, open_tail=open_tail)
        return messages

    async def _ask(
        self, messages: tuple[Message, ...], tools: ToolRegistry | None, params: LLMParams
    ) -> Message:
        reply = await self._send(messages, tools, "conversation", params)
        self._require_open()
        self._take(reply)
        return reply

    async def _send(
        self,
        messages: tuple[Message, ...],
        tools: ToolRegistry | None,
        purpose: Purpose,
        params: LLMParams,
    ) -> Message:
        request = Request(
            messages=messages,
            model=self._model,
            purpose=purpose,
            tools=tools.specs if tools is not None else (),
            params=params,
        )
        return await self._context.calls.execute(request)

    def _take(self, reply: Message) -> None:
        """What a session does with a reply; a reading one leaves the history alone."""

    def _require_open(self) -> None:
        if self._closed:
            raise SessionClosedError(
                "Cannot use session after it was closed: its 'async with' block has ended. Nothing was sent or "
                "changed. Keep the call inside the block, take plain values out of it, or open a new session; "
                "ctx.llm.committed can be read at any time."
            )

    def _close(self) -> None:
        self._closed = True


class LLMWriteSession(LLMReadSession):
    """May change prompt, tools and model; on a normal end of the block all three are written back together.

    Koog's ``AIAgentLLMWriteSession``. Get one from ``async with ctx.llm.write_session() as session`` (Koog's
    ``writeSession``). An exception or cancellation that leaves the block
    commits nothing. Appending never asks the model; only a request does, at that moment.
    """

    __slots__ = ()

    @property
    def prompt(self) -> Prompt:
        """The messages with their parameters; assign another prompt to replace the history."""
        self._require_open()
        return self._prompt

    @prompt.setter
    def prompt(self, prompt: Prompt) -> None:
        self._require_open()
        if not isinstance(prompt, Prompt):
            raise TypeError(
                f"session.prompt takes a Prompt, not {type(prompt).__name__}. For a list of messages: "
                "session.prompt = session.prompt.with_messages(messages)."
            )
        self._prompt = prompt

    @property
    def tools(self) -> ToolRegistry:
        """The tools on offer; assign a list of tools or functions to change them."""
        self._require_open()
        return self._tools

    @tools.setter
    def tools(self, tools: ToolRegistry | Iterable[Any]) -> None:
        self._require_open()
        self._tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)

    @property
    def model(self) -> LLModel:
        """The model that is asked; assign a model or its name to change it."""
        self._require_open()
        return self._model

    @model.setter
    def model(self, model: LLModel | str) -> None:
        self._require_open()
        self._model = self._context.calls.executor.resolve(as_model(model))

    @property
    def params(self) -> LLMParams:
        """The parameters of requests; assign changed ones, for example ``params.with_changes(temperature=0)``."""
        self._require_open()
        return self._prompt.params

    @params.setter
    def params(self, params: LLMParams) -> None:
        self._require_open()
        self._prompt = self._prompt.with_params(
            **{name: getattr(params, name) for name in LLMParams.__struct_fields__}
        )

    def append(self, *messages: Message, allow_duplicate: bool | None = None) -> None:
        """Put messages at the end of the history (Koog's ``appendPrompt``); the model is not asked.

        ``allow_duplicate=None`` means False, and True where the agent has ``compat="koog"``.

        Raises:
            DuplicateMessageError: The prompt holds a message with that id, such as a reply that a request has
                appended itself. ``allow_duplicate=True`` doubles it silently, as Koog does.
        """
        self._require_open()
        doubles = self._context.compat == "koog" if allow_duplicate is None else allow_duplicate
        self._prompt = self._prompt.append(*messages, allow_duplicate=doubles)

    async def replace_history_with_tldr(
        self, strategy: Any = None, *, preserve_memory: bool = True, allow_longer: bool | None = None
    ) -> Ledger:
        """Compress the history in place (Koog's ``replaceHistoryWithTLDR``) and say what became of each message.

        Args:
            strategy: How; ``WholeHistory()`` when left out.
            preserve_memory: Hand the messages that carry a memory marker to the strategy.
            allow_longer: Take a summary that is longer than what it replaces.

        Raises:
            CompressionError: The summary failed or the result breaks a rule; the prompt is as it was.
        """
        self._require_open()
        return await self._context.compressor(self, strategy, preserve_memory, allow_longer)

    def _take(self, reply: Message) -> None:
        self._prompt = self._prompt.append(reply)
