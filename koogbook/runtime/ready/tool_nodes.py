"""Ready nodes that run tool calls and send what they gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from koogbook.errors import GraphError
from koogbook.messages.message import Message
from koogbook.messages.parts import ToolCall
from koogbook.runtime.graph_methods import GraphMethods
from koogbook.runtime.ready.functions import Asking, execute_function, execute_one, request_function

if TYPE_CHECKING:
    from koogbook.runtime.node import Node


class ReadyToolNodes(GraphMethods):
    """The ready nodes of a graph that have to do with tools; see :class:`ReadyNodes`."""

    def execute_tools(
        self, *, parallel: int | bool = False, name: str = "execute_tools", replace: bool = False
    ) -> Node[Message, list[Message]]:
        """A node that runs all calls of a reply (Koog's ``nodeExecuteMultipleTools``); it gives the results.

        One result message for each call, in call order; what fails is a result as well. Nothing is appended:
        :meth:`send_tool_results` does that.

        Args:
            parallel: One after another, or at once: at most so many, 16 with ``True``.
            name: Its name.
            replace: Take the name over from another cell.

        Raises:
            GraphError: ``parallel`` is no such number.
        """
        if not isinstance(parallel, int) or parallel < 0:
            raise GraphError(
                f"Node {name!r}, parallel=: it is True, False or how many calls at once, not {parallel!r:.60}. Nothing "
                "was defined."
            )
        return self._ready(
            name,
            execute_function(parallel),
            replace=replace,
            note="at once" if parallel else "",
            input=Message,
            output=list[Message],
        )

    def execute_tool(
        self, *, name: str = "execute_tool", replace: bool = False
    ) -> Node[Message | ToolCall, Message]:
        """A node that runs one call (Koog's ``nodeExecuteTool``): that of a reply with exactly one, or a call itself.

        It gives the result message, which is not appended. A reply with several calls is an error of the node, since
        none of them may be dropped.
        """
        return self._ready(name, execute_one, replace=replace, input=Message | ToolCall, output=Message)

    def send_tool_results(
        self,
        *,
        allow_tool_calls: bool = True,
        only_calling_tools: bool = False,
        name: str = "send_tool_results",
        replace: bool = False,
    ) -> Node[Message | list[Message], Message]:
        """A node that appends results and asks the model (Koog's ``nodeLLMSendMultipleToolResults``).

        It takes a result message, or the list of them that :meth:`execute_tools` gives, and gives the reply.

        Args:
            allow_tool_calls: Off: no tools are offered, so that the reply is an answer.
            only_calling_tools: The model has to call a tool again.
            name: Its name.
            replace: Take the name over from another cell.

        Raises:
            GraphError: The two do not go together.
        """
        if only_calling_tools and not allow_tool_calls:
            raise GraphError(
                f"Node {name!r}: only_calling_tools=True and allow_tool_calls=False do not go together. Nothing was "
                "defined. Leave one of them out."
            )
        method, note = "request", ""
        if only_calling_tools:
            method, note = "request_only_calling_tools", "only calling tools"
        elif not allow_tool_calls:
            method, note = "request_without_tools", "without tools"
        return self._ready(
            name,
            request_function(Asking(method)),
            replace=replace,
            note=note,
            input=Message | list[Message],
            output=Message,
        )
