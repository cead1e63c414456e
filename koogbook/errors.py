"""Every exception that koogbook raises on purpose.

A message says what happened, where, what it did to your data, and what to do instead. A misuse is also the
built-in exception that it resembles, so that ``except ValueError`` keeps working::

    KoogbookError
    |- SessionError
    |  |- SessionClosedError        (RuntimeError)   a session was used after its block
    |  |- NestedSessionError        (RuntimeError)   a second session on a context held by this task or its waiter
    |  |- SessionTimeoutError       (TimeoutError)   the wait for the lock was over its limit
    |  |- WrongLoopError            (RuntimeError)   an object of one event loop was used on another
    |  `- StreamOpenError           (RuntimeError)   the history was used before an answer was whole
    |- MessageError                 (ValueError)     a message that cannot be
    |  |- DuplicateMessageError                      the prompt holds this message already
    |  `- ToolPairingError                           a call without its result, or the other way round
    |- CodecError                   (ValueError)     stored bytes, or a value that cannot become bytes
    |  |- UnencodableValueError                      saving would lose something
    |  `- UndecodableValueError                      what is stored does not fit the declared type
    |- TranscriptError              (ValueError)     a file that is no conversation
    |  `- NotAConversationError     (TypeError)      a value that is none
    |- TraceError                   (ValueError)     a file that is no trace, or an event that cannot be in one
    |- ExecutorError
    |  |- ExecutorClosedError       (RuntimeError)
    |  |- StructuredOutputError                      no answer fitted the schema
    |  |- UnknownModelError         (LookupError)    no provider, or no model, of this name
    |  |- MissingKeyError           (LookupError)    the environment has no key for a provider
    |  |- ProviderError                              a provider refused, broke off, or was not to be reached
    |  |  `- ContextOverflowError                    the request is longer than the model's context
    |  `- ScriptExhaustedError      (LookupError)    a scripted executor has no answer left
    |- GraphError
    |  |- StrategyCheckError        (ValueError)     the graph cannot run
    |  |- RedefinitionError         (ValueError)     a name is taken, and may not be
    |  |- ForeignNodeError          (ValueError)     a node of another strategy object
    |  |- BoundaryTypeError         (TypeError)      a value of another type than a graph takes or gives
    |  |- StuckInNodeError                           no edge takes the output
    |  |- MaxIterationsError                         more node runs than max_iterations
    |  |- MergeError                (LookupError)    no branch of a parallel block can be taken
    |  |  `- MergeConflictError     (ValueError)     what was written at once does not fit together
    |  |- TaskNotFinishedError                       the model did not finish the task of a subgraph
    |  `- StorageKeyError           (KeyError)       a storage key misused, without a value, or with one of another type
    |- ToolError                    (ValueError)     a function that cannot be a tool, or a name twice
    |- FeatureError
    |  |- FeatureNotInstalledError  (LookupError)
    |  `- FeatureInstallError       (RuntimeError)   twice, or after the first run
    |- CompressionError
    |  |- EmptySummaryError                          the summary call gave no text
    |  `- InvalidCompressionError                    a strategy's result breaks the history
    |- CheckpointError
    |  |- UnfinishedRunError                         another input while a run waits to be resumed
    |  |- IncompatibleCheckpointError                the code no longer fits what is stored
    |  |- CheckpointNotFoundError   (LookupError)
    |  |- CheckpointConflictError                    a version or id that exists already
    |  |- SessionBusyError                           another run holds this session id
    |  |- LostLeaseError                             this run was taken over and may not save
    |  |- CorruptStoreError                          stored rows that contradict themselves
    |  `- StoreError                                 the file cannot be used as a store
    |- ViewError                    (ValueError)     what a view cannot do, or has not
    `- NotebookFileError            (ValueError)     a file that cannot be read as a notebook
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from koogbook.messages.message import Usage


class KoogbookError(Exception):
    """Root of everything that koogbook raises on purpose."""


# ------------------------------------------------------------------------------------------- sessions


class SessionError(KoogbookError):
    """Something about a session on an LLM context."""


class SessionClosedError(SessionError, RuntimeError):
    """A session was used after its ``async with`` block had ended."""


class NestedSessionError(SessionError, RuntimeError):
    """A task opened a session on a context that it, or a task that waits for it, holds already.

    Koog hangs for ever here. ``first`` and ``second`` are the places in the code (``file:line``).
    """

    def __init__(self, message: str, *, first: str = "", second: str = "") -> None:
        super().__init__(message)
        self.first = first
        self.second = second


class SessionTimeoutError(SessionError, TimeoutError):
    """The wait for a session's lock was over its limit; nothing was changed."""


class WrongLoopError(SessionError, RuntimeError):
    """An object that belongs to one event loop was used on another."""


class StreamOpenError(SessionError, RuntimeError):
    """The history was changed, or another request made, while an answer was on its way and not whole yet."""


# ------------------------------------------------------------------------------------------- messages


class MessageError(KoogbookError, ValueError):
    """A message that cannot be built as asked."""


class DuplicateMessageError(MessageError):
    """The prompt holds a message with this id already; ``position`` says where."""

    def __init__(self, message: str, *, position: int = -1) -> None:
        super().__init__(message)
        self.position = position


class ToolPairingError(MessageError):
    """A tool call without its result in the middle of a history, or a result without its call."""


class CodecError(KoogbookError, ValueError):
    """Encoding or decoding of stored values."""


class UnencodableValueError(CodecError):
    """A value that cannot be stored without loss; ``path`` names the place inside it."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class UndecodableValueError(CodecError):
    """Stored data that does not fit the declared type; ``path`` names the place inside it."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class TranscriptError(KoogbookError, ValueError):
    """A file that cannot be read as a conversation."""


class NotAConversationError(TranscriptError, TypeError):
    """A value was handed over as a conversation and is none; nothing was made of it."""


class TraceError(KoogbookError, ValueError):
    """A file that cannot be read or written as a trace, or an event that cannot stand in one."""


# ------------------------------------------------------------------------------------------- executors


class ExecutorError(KoogbookError):
    """A prompt executor could not answer."""


class ExecutorClosedError(ExecutorError, RuntimeError):
    """The executor was closed before this request."""


class StructuredOutputError(ExecutorError):
    """None of the model's answers fitted the schema; nothing was appended. ``answers`` are what came, in order."""

    def __init__(self, message: str, *, answers: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.answers = answers


class UnknownModelError(ExecutorError, LookupError):
    """There is no provider of this name, or it has no such model; the message names the nearest."""


class MissingKeyError(ExecutorError, LookupError):
    """The environment has no key for a provider; ``variable`` is the name of the one to set."""

    def __init__(self, message: str, *, variable: str = "") -> None:
        super().__init__(message)
        self.variable = variable


class ProviderError(ExecutorError):
    """A provider did not answer as asked; nothing was appended.

    ``kind`` says why: it ``refused`` the request, the key was ``unauthorised``, it was ``rate_limited`` or
    ``overloaded``, ``unreachable``, took too long (``timeout``), broke off in the middle (``broken``), or gave what is
    no answer (``bad_answer``). ``status`` is the HTTP status where there was one, ``retry_after`` the seconds that the
    provider asked to wait, ``usage`` the tokens that it counted all the same, None where it counted none.
    ``may_pass`` says whether the same request may succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "refused",
        model: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.model = model
        self.status = status
        self.retry_after = retry_after
        self.usage = usage

    @property
    def may_pass(self) -> bool:
        """Whether asking again later may help."""
        return self.kind in ("rate_limited", "overloaded", "unreachable", "timeout", "broken", "bad_answer")


class ContextOverflowError(ProviderError):
    """The request is longer than the model's context; ``limit`` is its size in tokens where the provider said it."""

    def __init__(self, message: str, *, limit: int | None = None, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.limit = limit


class ScriptExhaustedError(ExecutorError, LookupError):
    """A scripted executor was asked more often than it has answers."""


# ------------------------------------------------------------------------------------------- graph


class GraphError(KoogbookError):
    """A strategy graph cannot be built or run."""


class StrategyCheckError(GraphError, ValueError):
    """``strategy.check()`` found errors; ``findings`` holds them."""

    def __init__(self, message: str, *, findings: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class RedefinitionError(GraphError, ValueError):
    """A node or edge of this name exists, and ``redefine=False`` was given or another cell defines the node."""


class ForeignNodeError(GraphError, ValueError):
    """A node that belongs to another strategy object."""


class StuckInNodeError(GraphError):
    """No edge of a node takes its output (Koog's ``AIAgentStuckInTheNodeException``)."""

    def __init__(self, message: str, *, node: str = "", output: Any = None) -> None:
        super().__init__(message)
        self.node = node
        self.output = output


class MaxIterationsError(GraphError):
    """More node runs than ``max_iterations`` (Koog's ``AIAgentMaxNumberOfIterationsReachedException``)."""


class BoundaryTypeError(GraphError, TypeError):
    """A value came to the start or the finish of a graph that is of another type than declared there.

    Or a node gave a coroutine that nobody has awaited.

    ``node`` is the path of that node, ``value`` what came.
    """

    def __init__(self, message: str, *, node: str = "", value: Any = None) -> None:
        super().__init__(message)
        self.node = node
        self.value = value


class MergeError(GraphError, LookupError):
    """No branch of a parallel block can be taken: none fits, all failed, or an index names none."""


class MergeConflictError(MergeError, ValueError):
    """What branches, or a subgraph and the context around it, wrote at once does not fit together; none was taken.

    ``key`` is the name of the storage key where it is one, ``branches`` are the names of those that wrote it.
    """

    def __init__(self, message: str, *, key: str = "", branches: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.key = key
        self.branches = branches


class TaskNotFinishedError(GraphError):
    """The model answered without calling a tool more often than allowed, and never called the finish tool."""


class StorageKeyError(GraphError, KeyError):
    """A storage key that has no value or is given one of another type, or a name that is taken by another key."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ToolError(KoogbookError, ValueError):
    """A function that cannot be offered as a tool, or two tools of one name."""


# ------------------------------------------------------------------------------------------- features


class FeatureError(KoogbookError):
    """Installing or using a feature."""


class FeatureNotInstalledError(FeatureError, LookupError):
    """A feature was asked for that this agent does not have; the message holds the line to add."""


class FeatureInstallError(FeatureError, RuntimeError):
    """A feature was installed twice on one agent, or after its first run."""


# ------------------------------------------------------------------------------------------- compression


class CompressionError(KoogbookError):
    """History compression failed; the prompt is as it was."""


class EmptySummaryError(CompressionError):
    """The summary call gave no text; the prompt is as it was."""


class InvalidCompressionError(CompressionError):
    """A strategy returned a history that breaks a rule; the prompt is as it was."""


# ------------------------------------------------------------------------------------------- checkpoints


class CheckpointError(KoogbookError):
    """Saving, finding or restoring a checkpoint."""


class UnfinishedRunError(CheckpointError):
    """This session id has an unfinished run, and the new input is not the one it was started with."""

    def __init__(self, message: str, *, checkpoint_id: str = "") -> None:
        super().__init__(message)
        self.checkpoint_id = checkpoint_id


class IncompatibleCheckpointError(CheckpointError):
    """The strategy as it is now cannot go on from this checkpoint; ``differences`` says why."""

    def __init__(self, message: str, *, differences: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.differences = differences


class CheckpointNotFoundError(CheckpointError, LookupError):
    """No checkpoint with this id or version in this session."""


class CheckpointConflictError(CheckpointError):
    """A checkpoint with this version or id exists in this session already; nothing was saved."""


class SessionBusyError(CheckpointError):
    """Another run, here or in another process, holds this session id."""


class LostLeaseError(CheckpointError):
    """This run lost its session id to another one and may not save any more."""


class CorruptStoreError(CheckpointError):
    """Stored rows contradict each other or their content hash; nothing was changed."""


class StoreError(CheckpointError):
    """The file is no koogbook store, is of a newer version, or cannot be written."""


# ------------------------------------------------------------------------------------------- views


class ViewError(KoogbookError, ValueError):
    """A view was asked for something that it cannot do or does not have; it shows what it showed."""


class NotebookFileError(KoogbookError, ValueError):
    """A file that cannot be read as a notebook; nothing was changed."""
