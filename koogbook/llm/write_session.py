"""The session that writes: it changes prompt, tools and model, and what it changed is committed at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal

from koogbook.errors import DuplicateMessageError, StreamOpenError
from koogbook.llm.session import LLMReadSession
from koogbook.messages.history_surgery import (
    Surgery,
    cleared,
    last_messages,
    messages_from,
    without_last,
    without_trailing_calls,
)
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams, ToolChoice
from koogbook.messages.prompt import Prompt
from koogbook.tools.tool import ToolRegistry


class LLMWriteSession(LLMReadSession):
    """May change prompt, tools and model; on a normal end of the block all three are written back together.

    Koog's ``AIAgentLLMWriteSession``. Get one from ``async with ctx.llm.write_session() as session`` (Koog's
    ``writeSession``). An exception or cancellation that leaves the block
    commits nothing. Appending never asks the model; only a request does, at that moment.
    """

    __slots__ = ()
    _keeps = True

    @property
    def prompt(self) -> Prompt:
        """The messages with their parameters; assign another prompt to replace the history."""
        self._require_open()
        return self._prompt

    @prompt.setter
    def prompt(self, prompt: Prompt) -> None:
        self._require_changeable()
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
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise TypeError(
                f"session.tools takes a list of tools or functions, not {tools!r:.60}. Nothing was changed. Write "
                "session.tools = [weather]; [] for none."
            )
        self._tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)

    @property
    def model(self) -> LLModel:
        """The model that is asked; assign a model or its name to change it."""
        self._require_open()
        return self._model

    @model.setter
    def model(self, model: LLModel | str) -> None:
        self._require_open()
        self._model = self._resolved(model)

    @property
    def params(self) -> LLMParams:
        """The parameters of requests; assign changed ones, for example ``params.with_changes(temperature=0)``."""
        self._require_open()
        return self._prompt.params

    @params.setter
    def params(self, params: LLMParams) -> None:
        self._require_open()
        if not isinstance(params, LLMParams):
            raise TypeError(
                f"session.params takes LLMParams, not {type(params).__name__}. To change some of them: "
                "session.change_params(temperature=0)."
            )
        self._prompt = self._prompt.with_params(
            **{name: getattr(params, name) for name in LLMParams.__struct_fields__}
        )

    def change_model(self, model: LLModel | str) -> None:
        """Ask another model from now on (Koog's ``changeModel``); the same as assigning :attr:`model`."""
        self.model = model

    def change_params(self, **changes: Any) -> None:
        """Change these parameters and keep all others (Koog's ``changeLLMParams`` replaces all).

        Raises:
            TypeError: There is no such parameter; the message names those there are.
            MessageError: A value of another type. Nothing was changed.
        """
        self._require_open()
        unknown = set(changes) - set(LLMParams.__struct_fields__)
        if unknown:
            raise TypeError(
                f"No such parameter: {', '.join(sorted(unknown))}. There are: "
                f"{', '.join(LLMParams.__struct_fields__)}. Nothing was changed."
            )
        self._prompt = self._prompt.with_params(**changes)

    def set_tool_choice(
        self, mode: Literal["auto", "none", "required", "named"] | ToolChoice, tool: str | None = None
    ) -> None:
        """Say from now on whether and which tool the model has to call (Koog's ``setToolChoice...``).

        ``session.set_tool_choice("named", "search")`` forces one tool.

        Raises:
            MessageError: There is no such mode, or a tool is missing or too many. Nothing was changed.
            TypeError: A tool beside a whole ToolChoice. Nothing was changed.
            ToolError: The session has no tool of that name. Nothing was changed.
        """
        if isinstance(mode, ToolChoice) and tool is not None:
            raise TypeError(
                f"A ToolChoice names its tool itself; {tool!r} is too many. Nothing was changed. Give one of both."
            )
        choice = mode if isinstance(mode, ToolChoice) else ToolChoice(mode, tool)
        if choice.tool is not None:
            self._tool_name(choice.tool)
        self.change_params(tool_choice=choice)

    def unset_tool_choice(self) -> None:
        """Leave the choice of tools to the provider again (Koog's ``unsetToolChoice``)."""
        self.change_params(tool_choice=None)

    def append(self, *messages: Message, allow_duplicate: bool | None = None) -> None:
        """Put messages at the end of the history (Koog's ``appendPrompt``); the model is not asked.

        ``allow_duplicate=None`` means False, and True where the agent has ``compat="koog"``.

        Raises:
            DuplicateMessageError: The prompt holds a message with that id, such as a reply that a request has
                appended itself. ``allow_duplicate=True`` doubles it silently, as Koog does.
        """
        self._require_changeable()
        doubles = self._context.compat == "koog" if allow_duplicate is None else allow_duplicate
        self._prompt = self._prompt.append(*messages, allow_duplicate=doubles)

    def rewrite_prompt(self, rewrite: Callable[[Prompt], Prompt]) -> None:
        """Replace the prompt by what a function makes of it (Koog's ``rewritePrompt``).

        Raises:
            TypeError: The function gave no prompt. Nothing was changed.
        """
        if not callable(rewrite):
            raise TypeError(
                f"rewrite_prompt takes a function of the prompt, not {rewrite!r:.60}. Nothing was changed."
            )
        self.prompt = rewrite(self.prompt)

    def clear_history(self, *, system: bool | None = None) -> Surgery:
        """Take all messages out (Koog's ``clearHistory``); system messages stay unless ``system=True``.

        ``system=None`` means False, and True where the agent has ``compat="koog"``; so it does below.
        """
        return self._operate(cleared(self.messages, system=self._cuts_system(system)))

    def leave_last_n_messages(self, count: int, *, system: bool | None = None) -> Surgery:
        """Keep the last messages and take the others out (Koog's ``leaveLastNMessages``).

        System messages stay and are not counted, unless ``system=True``. A tool call and its result are never parted:
        where the border lies between them both go, so that fewer may stay than asked, never more; the report says so.

        Raises:
            MessageError: ``count`` is no number from 0. Nothing was changed.
        """
        return self._operate(last_messages(self.messages, count, system=self._cuts_system(system)))

    def drop_last_n_messages(self, count: int, *, system: bool | None = None) -> Surgery:
        """Take the last messages out (Koog's ``dropLastNMessages``); otherwise as :meth:`leave_last_n_messages`.

        Raises:
            MessageError: ``count`` is no number from 0. Nothing was changed.
        """
        return self._operate(without_last(self.messages, count, system=self._cuts_system(system)))

    def leave_messages_from_timestamp(self, time: datetime, *, system: bool | None = None) -> Surgery:
        """Keep the messages from this time on (Koog's ``leaveMessagesFromTimestamp``); the time itself included.

        Otherwise as :meth:`leave_last_n_messages`.

        Raises:
            MessageError: ``time`` has no zone. Nothing was changed.
        """
        return self._operate(messages_from(self.messages, time, system=self._cuts_system(system)))

    def drop_trailing_tool_calls(self) -> Surgery:
        """Take calls at the end out that wait for a result (Koog's ``dropTrailingToolCalls``).

        With them go the results of other calls of the same turn. What the model said beside them stays.
        """
        return self._operate(without_trailing_calls(self.messages))

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
        self._require_changeable()
        return await self._context.compressor(self, strategy, preserve_memory, allow_longer)

    def _cuts_system(self, system: bool | None) -> bool:
        return self._context.compat == "koog" if system is None else system

    def _operate(self, done: Surgery) -> Surgery:
        self._require_changeable()
        if done.messages != self._prompt.messages:
            # What is left was in the prompt already, duplicates included.
            self._prompt = Prompt(
                done.messages, id=self._prompt.id, params=self._prompt.params, allow_duplicate=True
            )
        if done.note:
            self._context.log.notice("history", done.note, level="info")
        return done

    def _take(self, reply: Message) -> bool:
        try:
            self._prompt = self._prompt.append(reply, allow_duplicate=self._context.compat == "koog")
        except DuplicateMessageError as known:
            raise DuplicateMessageError(
                f"The executor answered with message {reply.id!r}, which the history holds already, at position "
                f"{known.position}. It was not appended again. Each answer is a message of its own: make it with "
                "kb.assistant(...) each time.",
                position=known.position,
            ) from None
        return True

    def _require_changeable(self) -> None:
        self._require_open()
        self._require_whole()

    def _require_whole(self) -> None:
        if any(stream.is_open for stream in self._streams):
            raise StreamOpenError(
                "A streamed answer is not whole yet, and what comes now would stand before it. Nothing was changed. "
                "Read it to its end, or leave it with 'async with stream:' or await stream.aclose()."
            )
        if self._asking:
            raise StreamOpenError(
                "A request of this session is on its way in another task, and what comes now would stand before its "
                "answer. Nothing was changed. Await the request first; for requests at once open a read session."
            )
