"""Ready nodes: what nearly every strategy does, as methods that add a node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from koogbook.errors import GraphError
from koogbook.messages.message import Message
from koogbook.runtime.node import Node, NodeFunction
from koogbook.runtime.ready.functions import (
    Asking,
    Given,
    append_function,
    compress_function,
    compress_note,
    pass_on,
    request_function,
    streaming_function,
    structured_function,
    tool_name,
)
from koogbook.runtime.ready.tool_nodes import ReadyToolNodes
from koogbook.runtime.subgraphs.task_subgraphs import TaskSubgraphs
from koogbook.state.codec import describe_type

if TYPE_CHECKING:
    from koogbook.llm.choices import Chooser
    from koogbook.llm.executor import Frame
    from koogbook.messages.model import LLModel

T = TypeVar("T")
#: What a node that asks appends before it does: a text as a user message, a message, or several of them.
Asked = str | Message | list[Message]


class ReadyNodes(ReadyToolNodes, TaskSubgraphs):
    """The ready nodes of a graph (Koog's predefined nodes); each method adds one and gives it.

    A node that asks takes a text, which becomes a user message, a message, or a list of them; ``[]`` asks with the
    history as it is. What is appended and the answer are committed together: where the request fails, nothing is.

    Two of a kind in one graph need names of their own: defining a name again replaces the node, as everywhere; in
    another cell of a notebook, with ``replace=True``. Each method raises RedefinitionError as ``node`` does.
    """

    def do_nothing(self, *, name: str = "do_nothing", replace: bool = False) -> Node:
        """A node that passes its input on (Koog's ``nodeDoNothing``): a place where edges meet."""
        return self._ready(name, pass_on, replace=replace)

    def append_prompt(
        self,
        *messages: Message | str | Callable[..., Any],
        name: str = "append_prompt",
        replace: bool = False,
    ) -> Node:
        """A node that appends messages and passes its input on (Koog's ``nodeAppendPrompt``); the model is not asked.

        ``messages`` are messages and texts, each a user message, with an id and a time of their own at every run of
        the node; or one function of ``(input)`` or ``(ctx, input)`` that gives some.

        Raises:
            GraphError: There are none, or something else is among them.
        """
        return self._ready(name, append_function(messages, name), replace=replace)

    def llm_request(
        self, *, allow_tool_calls: bool = True, name: str = "llm_request", replace: bool = False
    ) -> Node[Asked, Message]:
        """A node that appends its input and asks the model (Koog's ``nodeLLMRequest``); it gives the reply.

        With ``allow_tool_calls=False`` no tools are offered.
        """
        method = "request" if allow_tool_calls else "request_without_tools"
        note = "" if allow_tool_calls else "without tools"
        return self._asks(name, request_function(Asking(method)), replace=replace, note=note)

    def llm_request_only_calling_tools(
        self, *, name: str = "llm_request_only_calling_tools", replace: bool = False
    ) -> Node[Asked, Message]:
        """A node that appends its input and has the model call tools (Koog's ``nodeLLMRequestOnlyCallingTools``).

        A model that answers in text all the same is told of in a notice, and its reply is given as it is.
        """
        function = request_function(Asking("request_only_calling_tools"))
        return self._asks(name, function, replace=replace, note="only calling tools")

    def llm_request_force_one_tool(
        self, tool: Any, *, name: str = "llm_request_force_one_tool", replace: bool = False
    ) -> Node[Asked, Message]:
        """A node that appends its input and has the model call this tool (Koog's ``nodeLLMRequestForceOneTool``).

        ``tool`` is its name, the tool, or its function; it has to be on offer when the node runs.

        Raises:
            GraphError: It is none of these.
        """
        chosen = tool_name(tool, "llm_request_force_one_tool")
        function = request_function(Asking("request_force_one_tool", Given({"tool": chosen})))
        return self._asks(name, function, replace=replace, note=chosen)

    @overload
    def llm_request_structured(
        self,
        shape: type[T],
        *,
        attempts: int = 3,
        examples: Sequence[Any] = (),
        fixing_model: LLModel | str | None = None,
        on_failure: Literal["raise"] = "raise",
        name: str = "llm_request_structured",
        replace: bool = False,
    ) -> Node[Asked, T]: ...
    @overload
    def llm_request_structured(
        self,
        shape: Any,
        *,
        attempts: int = 3,
        examples: Sequence[Any] = (),
        fixing_model: LLModel | str | None = None,
        on_failure: Literal["raise", "output"] = "raise",
        name: str = "llm_request_structured",
        replace: bool = False,
    ) -> Node[Asked, Any]: ...
    def llm_request_structured(
        self,
        shape: Any,
        *,
        attempts: int = 3,
        examples: Sequence[Any] = (),
        fixing_model: LLModel | str | None = None,
        on_failure: Literal["raise", "output"] = "raise",
        name: str = "llm_request_structured",
        replace: bool = False,
    ) -> Node[Asked, Any]:
        """A node that appends its input and asks for data (Koog's ``nodeLLMRequestStructured``); it gives the data.

        Koog gives a Result, which each edge has to unwrap. Here no answer that fits is an error of the node; with
        ``on_failure="output"`` the error is what the node gives, so that an edge can take it:
        ``when=kb.is_instance(StructuredOutputError)``. In both cases nothing is appended, the input included.

        Args:
            shape: A Python type, or a JSON schema as a dict; see ``session.request_structured``.
            attempts: How many requests at most.
            examples: Values that are shown to the model.
            fixing_model: Asked from the second attempt on.
            on_failure: ``"raise"`` or ``"output"``.
            name: Its name.
            replace: Take the name over from another cell.

        Raises:
            GraphError: ``on_failure`` or ``attempts`` is none of these.
        """
        if on_failure not in ("raise", "output"):
            raise GraphError(
                f"Node {name!r}, on_failure=: it is 'raise' or 'output', not {on_failure!r:.60}. Nothing was defined."
            )
        _require_count(name, "attempts", attempts)
        arguments = {
            "shape": shape,
            "attempts": attempts,
            "examples": list(examples),
            "fixing_model": fixing_model,
        }
        asking = Asking("request_structured", Given(arguments), part="value")
        gives = shape if on_failure == "raise" and not isinstance(shape, dict) else Any
        note = "a JSON schema" if isinstance(shape, dict) else describe_type(shape)
        return self._asks(
            name, structured_function(asking, on_failure), replace=replace, note=note, output=gives
        )

    def llm_request_streaming(
        self,
        *,
        on_frame: Callable[[Frame], Awaitable[None] | None] | None = None,
        name: str = "llm_request_streaming",
        replace: bool = False,
    ) -> Node[Asked, Message]:
        """A node that appends its input and asks for an answer in frames (Koog's ``nodeLLMRequestStreaming``).

        Koog gives a flow, whose answer nobody appends. This one reads the answer to its end, hands each frame to
        ``on_frame``, a function of the frame, sync or async, appends the whole answer once, and gives it.

        The session is open meanwhile: ``on_frame`` opens none on the same context. Of an answer that breaks off
        nothing is appended.

        Raises:
            GraphError: ``on_frame`` is no function.
        """
        if on_frame is not None and not callable(on_frame):
            raise GraphError(
                f"Node {name!r}, on_frame=: it is a function of a frame, not {on_frame!r:.60}. Nothing was defined."
            )
        function = streaming_function(Given(on_frame))
        return self._asks(name, function, replace=replace, note="streaming")

    def llm_request_multiple_choices(
        self,
        count: int,
        *,
        choose: Chooser | None = None,
        name: str = "llm_request_multiple_choices",
        replace: bool = False,
    ) -> Node[Asked, Message]:
        """A node that appends its input, asks for several answers and gives the one that is chosen.

        Koog's ``nodeLLMRequestMultipleChoices`` and ``nodeSelectLLMChoice`` in one: the one that was chosen is
        appended, and no other.

        Args:
            count: How many.
            choose: Gets the answers and gives the place of one, from 0, or the answer; may be async. The first one
                where it is left out.
            name: Its name.
            replace: Take the name over from another cell.

        Raises:
            GraphError: ``count`` is below 1, or ``choose`` is no function.
        """
        _require_count(name, "count", count)
        if choose is not None and not callable(choose):
            raise GraphError(
                f"Node {name!r}, choose=: it is a function of the answers, not {choose!r:.60}. Nothing was defined."
            )
        asking = Asking("request_multiple_choices", Given({"count": count, "choose": choose}), part="reply")
        return self._asks(name, request_function(asking), replace=replace, note=f"{count} choices")

    def compress_history(
        self,
        strategy: Any = None,
        *,
        name: str = "compress_history",
        preserve_memory: bool = True,
        allow_longer: bool | None = None,
        replace: bool = False,
    ) -> Node:
        """A node that compresses the history and passes its input on (Koog's ``nodeLLMCompressHistory``)."""
        return self._ready(
            name,
            compress_function(strategy, preserve_memory, allow_longer),
            replace=replace,
            kind="compress",
            note=compress_note(strategy),
        )

    def _asks(
        self, name: str, function: NodeFunction, *, replace: bool, note: str = "", output: Any = Message
    ) -> Node[Asked, Any]:
        return self._ready(name, function, replace=replace, note=note, input=Asked, output=output)


def _require_count(name: str, option: str, given: Any) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise GraphError(
            f"Node {name!r}, {option}=: it is at least 1, not {given!r:.60}. Nothing was defined."
        )
