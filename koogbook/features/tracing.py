"""What happens, in a file and in a log, while it happens."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from koogbook.errors import FeatureInstallError, TraceError
from koogbook.events import AgentClosing, Event, HandlerFailed, Notice, RunCompleted, RunFailed
from koogbook.features.listening import Listening
from koogbook.pipeline import EventLog, OnHandlerError, Subscription
from koogbook.runtime.context import Context
from koogbook.trace import TraceFile

#: Fields with texts that are names of koogbook's or of the program's, and no text of a message.
_NAMES: Final = (
    *("agent_id", "strategy", "target", "label", "merge", "winner", "context", "mode", "who"),
    *("model", "purpose", "to", "tool", "call_id", "finish_reason", "checkpoint", "kind", "event", "handler"),
)
_LONGEST_NAME = 60  # characters
#: Those of every event stand at the beginning of a line, or are the logger's.
_OF_ALL: Final = frozenset(Event.__struct_fields__)


@dataclass(frozen=True)
class Tracing:
    """Writes what happens to a trace file or to a log while runs go on (Koog's ``Tracing``).

    A trace file has a line for each event of each run, as :mod:`koogbook.trace` describes it, written at once: what
    was written outlives the process. Several runs, also at once, share it, and so do processes, one after the other or
    by turns: what is there already stays. ``kb.load_trace(path)`` gives the events back, and
    ``kb.load_run(path, run_id)`` a run. ``AgentClosing`` is in the log alone, since it belongs to no run.

    The log has one line for each event: what happened, where, in which run, with numbers and names, and without the
    text of any message.

    Args:
        path: The file; without it, nothing is written to one.
        log: A logger, or True for the one named ``koogbook``; the level is INFO.
        events: The kinds of events that are wanted; without any, all.
        on_handler_error: What a file that cannot be written does: ``"raise"`` lets the run fail, ``"log"`` makes it an
            event ``HandlerFailed`` and goes on.

    Raises:
        TypeError: An argument is of another type.
        TraceError: The path holds something that is no trace, or its folder is not there.
        FeatureInstallError: There is neither a path nor a log, or ``on_handler_error`` is none of its words.
    """

    key: ClassVar[str] = "Tracing"
    path: str | Path | None = None
    _: KW_ONLY
    log: logging.Logger | Literal[True] | None = None
    events: Sequence[type[Event]] = ()
    on_handler_error: OnHandlerError = "raise"

    def __post_init__(self) -> None:
        if self.path is None and self.log in (None, False):
            raise FeatureInstallError(
                "Tracing writes to a file, to a log, or to both, and got neither. Nothing was installed. Write: "
                'kb.Tracing("runs.jsonl"), or kb.Tracing(log=True).'
            )
        if self.log not in (None, True, False) and not isinstance(self.log, logging.Logger):
            raise TypeError(
                f"log is a logging.Logger or True, not {self.log!r:.60}. Nothing was installed. Write: log=True."
            )
        kinds: Any = self.events if isinstance(self.events, list | tuple) else [self.events]
        wrong = [one for one in kinds if not isinstance(one, type) or not issubclass(one, Event)]
        if wrong:
            raise TypeError(
                f"events are kinds of events, such as kb.events.NodeStarting, not {wrong[0]!r:.60}. Nothing was "
                "installed."
            )
        object.__setattr__(self, "events", tuple(kinds))
        Subscription(print, (), self.on_handler_error)
        if self.path is not None:
            TraceFile(self.path)

    def install(self, agent: Any) -> InstalledTracing:
        """Make one installation: its own file, which is opened at the first event."""
        return InstalledTracing(self)


class InstalledTracing(Listening):
    """One installation of :class:`Tracing` on one agent."""

    def __init__(self, config: Tracing) -> None:
        subscriptions = []
        self._kinds = tuple(config.events)
        self._on_handler_error = config.on_handler_error
        self._file: TraceFile | None = None
        #: The events of the runs that go on, and how many of them were looked at.
        self._open: dict[str, tuple[EventLog, int]] = {}
        #: Runs that ended: what other listeners failed on comes after the last event, until one of another run comes.
        self._ended: list[str] = []
        #: The file was, and no run was told yet.
        self._begun_anew = False
        if config.path is not None:
            self._file = TraceFile(config.path)
            subscriptions.append(Subscription(self._write, (), config.on_handler_error))
        if config.log:
            self._log = logging.getLogger("koogbook") if config.log is True else config.log
            subscriptions.append(Subscription(self._tell, self._kinds, config.on_handler_error))
        super().__init__("Tracing", subscriptions)

    def bind(self, context: Context, /) -> InstalledTracing:
        """A run begins; what was told of it so far is written."""
        if self._file is not None:
            self._open[context.run_id] = context.log, len(context.log.events)
        return self

    async def close(self) -> None:
        """Write what is left, and close the file."""
        file = self._file
        if file is None:
            return
        try:
            for run_id in tuple(self._open):
                self._catch_up(run_id)
        except TraceError as problem:
            if self._on_handler_error == "raise":
                raise
            # What was not written says so in the run that it belongs to, and is not tried again.
            self._file = None
            self._open[run_id][0].emit_quietly(
                HandlerFailed,
                "",
                handler="Tracing.close",
                event="AgentClosing",
                error=f"TraceError: {problem}",
            )
        finally:
            file.close()

    def _write(self, event: Event) -> None:
        if isinstance(event, AgentClosing):
            return  # of no run; what is left is written on closing
        # Not this event alone: of what a listener did meanwhile, this one may have been told later, or not at all.
        for run_id in [one for one in self._ended if one != event.run_id]:
            self._catch_up(run_id)
            self._open.pop(run_id, None)
            self._ended.remove(run_id)
        if event.run_id in self._open:
            self._catch_up(event.run_id)
        elif self._file is not None:
            # Of a run that has just begun, or one that is over, whose events are all written.
            self._begun_anew |= self._file.write(self._wanted([event]))
        if isinstance(event, RunCompleted | RunFailed):
            self._ended.append(event.run_id)

    def _catch_up(self, run_id: str) -> None:
        """Write the events of a run that were not written yet, in their order."""
        if self._file is None or run_id not in self._open:
            return
        log, looked_at = self._open[run_id]
        events = log.events[looked_at:]
        if not events:
            return
        # Before they are written, so that an event that cannot be is not tried at each one that follows.
        self._open[run_id] = log, looked_at + len(events)
        self._begun_anew |= self._file.write(self._wanted(events))
        if self._begun_anew:
            self._begun_anew = False
            text = (
                f"{self._file.path} was removed or replaced while it was written to. What was written before is not "
                "in it; it goes on from here."
            )
            log.emit_quietly(Notice, "", kind="trace begun anew", text=text)

    def _wanted(self, events: Iterable[Event]) -> Iterable[Event]:
        return (event for event in events if not self._kinds or isinstance(event, self._kinds))

    def _tell(self, event: Event) -> None:
        if self._log.isEnabledFor(logging.INFO):
            self._log.info("%s", in_one_line(event))


def in_one_line(event: Event) -> str:
    """An event as a short line: what, where, in which run, with its numbers and names, and no text of a message."""
    said = [event.name, event.path, f"run={event.run_id}" if event.run_id else ""]
    for name in type(event).__struct_fields__:
        value = getattr(event, name)
        if name in _OF_ALL or value is None:
            continue
        if isinstance(value, bool):
            said.append(name if value else "")
        elif isinstance(value, float):
            said.append(f"{name}={value:.6g}")
        elif isinstance(value, int):
            said.append(f"{name}={value}")
        elif name == "error" and isinstance(value, str):
            # Its class, where it begins with one; what it says may be a text of the user's.
            kind = value.partition(":")[0]
            said.append(f"error={kind[:_LONGEST_NAME] if kind.isidentifier() else 'yes'}")
        elif name in _NAMES and isinstance(value, str) and value:
            said.append(f"{name}={ascii(value[:_LONGEST_NAME])[1:-1]}")
    return " ".join(one for one in said if one)
