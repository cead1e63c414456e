"""Functions that are called when something happens, by the name of the event."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Final, TypedDict, TypeVar, Unpack, cast

from koogbook import events
from koogbook.events import Event
from koogbook.features.listening import Listening
from koogbook.pipeline import Listener, OnHandlerError, Subscription

_E = TypeVar("_E", bound=Event)
#: A function of an event, or several, which are called in this order.
On = Callable[[_E], object] | Sequence[Callable[[_E], object]]

_WORD = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Handlers(TypedDict, total=False):
    """The keywords of :class:`EventHandler`: one for each kind of event."""

    on_agent_closing: On[events.AgentClosing]
    on_branch_completed: On[events.BranchCompleted]
    on_branch_failed: On[events.BranchFailed]
    on_branch_starting: On[events.BranchStarting]
    on_branches_merged: On[events.BranchesMerged]
    on_checkpoint_restored: On[events.CheckpointRestored]
    on_checkpoint_saved: On[events.CheckpointSaved]
    on_checkpoint_skipped: On[events.CheckpointSkipped]
    on_compression_completed: On[events.CompressionCompleted]
    on_compression_failed: On[events.CompressionFailed]
    on_compression_starting: On[events.CompressionStarting]
    on_edge_taken: On[events.EdgeTaken]
    on_event: On[events.Event]
    on_handler_failed: On[events.HandlerFailed]
    on_llm_call_cached: On[events.LLMCallCached]
    on_llm_call_completed: On[events.LLMCallCompleted]
    on_llm_call_failed: On[events.LLMCallFailed]
    on_llm_call_fell_back: On[events.LLMCallFellBack]
    on_llm_call_retrying: On[events.LLMCallRetrying]
    on_llm_call_starting: On[events.LLMCallStarting]
    on_llm_streaming_completed: On[events.LLMStreamingCompleted]
    on_llm_streaming_failed: On[events.LLMStreamingFailed]
    on_llm_streaming_frame: On[events.LLMStreamingFrame]
    on_llm_streaming_starting: On[events.LLMStreamingStarting]
    on_node_completed: On[events.NodeCompleted]
    on_node_failed: On[events.NodeFailed]
    on_node_starting: On[events.NodeStarting]
    on_notice: On[events.Notice]
    on_prompt_changed: On[events.PromptChanged]
    on_run_completed: On[events.RunCompleted]
    on_run_failed: On[events.RunFailed]
    on_run_starting: On[events.RunStarting]
    on_session_acquired: On[events.SessionAcquired]
    on_session_closed: On[events.SessionClosed]
    on_session_committed: On[events.SessionCommitted]
    on_session_discarded: On[events.SessionDiscarded]
    on_session_event: On[events.SessionEvent]
    on_session_opened: On[events.SessionOpened]
    on_session_refused: On[events.SessionRefused]
    on_session_slow: On[events.SessionSlow]
    on_session_timed_out: On[events.SessionTimedOut]
    on_session_waiting: On[events.SessionWaiting]
    on_strategy_completed: On[events.StrategyCompleted]
    on_strategy_failed: On[events.StrategyFailed]
    on_strategy_starting: On[events.StrategyStarting]
    on_subgraph_completed: On[events.SubgraphCompleted]
    on_subgraph_failed: On[events.SubgraphFailed]
    on_subgraph_starting: On[events.SubgraphStarting]
    on_tombstone_saved: On[events.TombstoneSaved]
    on_tool_call_completed: On[events.ToolCallCompleted]
    on_tool_call_failed: On[events.ToolCallFailed]
    on_tool_call_starting: On[events.ToolCallStarting]
    on_tool_validation_failed: On[events.ToolValidationFailed]


def keyword_of(kind: type[Event]) -> str:
    """The keyword for a kind of event: ``on_`` and its name in words, ``on_llm_call_starting``."""
    return f"on_{_WORD.sub('_', kind.__name__).lower()}"


#: By keyword: the kind of event.
KINDS: Final[dict[str, type[Event]]] = {
    keyword_of(kind): kind
    for name in events.__all__
    if isinstance(kind := getattr(events, name), type) and issubclass(kind, Event)
}


@dataclass(frozen=True, init=False, repr=False)
class EventHandler:
    """Calls functions when something happens (Koog's ``EventHandler``, its ``handleEvents``).

    Write::

        agent.install(kb.EventHandler(on_tool_call_starting=print, on_node_completed=[count, show]))

    There is a keyword for each kind of event, ``on_`` and its name in words. Kinds that are kinds of another one are
    told to its functions, too: those of ``on_llm_call_starting`` are called for streamed calls as well, and those of
    ``on_event`` for everything. All functions that want an event are called in the order in which they stand here.

    Args:
        handlers: Functions for kinds of events that are one's own: ``{Lunch: eat}``.
        on_handler_error: ``"raise"`` lets the run fail with what a function raised, ``"log"`` makes it an event
            ``HandlerFailed`` and goes on.
        named: A function of an event, or several of them, for each kind that is wanted.

    Raises:
        TypeError: There is no such kind of event, or what is to be called is no function; the message says which.
        FeatureInstallError: A function is async, which nobody would wait for.
    """

    key: ClassVar[str] = "EventHandler"
    subscriptions: tuple[Subscription, ...]

    def __init__(
        self,
        handlers: Mapping[type[Event], On[Any]] | None = None,
        *,
        on_handler_error: OnHandlerError = "raise",
        **named: Unpack[Handlers],
    ) -> None:
        subscriptions = tuple(
            Subscription(cast("Listener", function), (kind,), on_handler_error)
            for kind, given in [*_by_class(handlers), *_by_keyword(named)]
            for function in _functions(kind, given)
        )
        object.__setattr__(self, "subscriptions", subscriptions)

    #: What editors offer: each keyword by itself.
    __signature__: ClassVar[inspect.Signature] = inspect.Signature(
        [
            inspect.Parameter("handlers", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
            inspect.Parameter("on_handler_error", inspect.Parameter.KEYWORD_ONLY, default="raise"),
            *(inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=()) for one in KINDS),
        ]
    )

    def install(self, agent: Any) -> Listening:
        """Make one installation."""
        return Listening(self.key, self.subscriptions)

    def __repr__(self) -> str:
        wanted = dict.fromkeys(one.kinds[0].__name__ for one in self.subscriptions)
        return f"<EventHandler of {', '.join(wanted) or 'nothing'}>"


def _by_class(handlers: Mapping[type[Event], Any] | None) -> Iterator[tuple[type[Event], Any]]:
    given: Any = {} if handlers is None else handlers
    if not isinstance(given, Mapping):
        raise TypeError(
            f"EventHandler takes functions by the name of the event, not {given!r:.60}. Nothing was installed. Write: "
            "kb.EventHandler(on_event=print), or {MyEvent: print} for kinds of your own."
        )
    for kind, one in given.items():
        if not isinstance(kind, type) or not issubclass(kind, Event):
            raise TypeError(f"{kind!r:.60} is no kind of event, a class of Event. Nothing was installed.")
        yield kind, one


def _by_keyword(named: Mapping[str, Any]) -> Iterator[tuple[type[Event], Any]]:
    for keyword, one in named.items():
        if keyword not in KINDS:
            near = get_close_matches(keyword, KINDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise TypeError(
                f"There is no event for {keyword}.{hint} Nothing was installed. on_event=... is called for each one, "
                "and its name says what there is."
            )
        yield KINDS[keyword], one


def _functions(kind: type[Event], given: Any) -> Sequence[Callable[[Any], object]]:
    functions = list(given) if isinstance(given, list | tuple) else [given]
    for function in functions:
        if not callable(function):
            raise TypeError(
                f"{keyword_of(kind)} takes a function of the event, or a list of them, not {function!r:.60}. Nothing "
                f"was installed. Write: {keyword_of(kind)}=print."
            )
    return functions
