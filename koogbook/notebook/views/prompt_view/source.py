"""What a prompt view is of: the calls of a run with what is known around them, or one history that was not sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from koogbook.agents.run import Run
from koogbook.agents.traced_run import TracedRun
from koogbook.events import CompressionCompleted, LLMStreamingFrame
from koogbook.llm.call_record import CallRecord
from koogbook.llm.request import Request
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams
from koogbook.notebook.views.recorded import is_going_on


class CallSource(Protocol):
    """Where a prompt view has its calls from."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def sent(self) -> bool:
        """Whether these are calls; else it is a history, the only one."""

    @property
    def goes_on(self) -> bool:
        """Whether more may come."""

    @property
    def records(self) -> Sequence[CallRecord]:
        """The calls, in order."""

    def compressions(self) -> Iterator[tuple[str, Ledger]]:
        """The compressions that were taken, each with the path where it was."""

    def histories(self) -> Iterator[Sequence[Message]]:
        """Histories in which messages stand as they are kept, not as they were sent."""

    def pieces(self, number: int) -> str:
        """The text that has come of an answer in frames."""

    def python(self, record: CallRecord, position: int) -> str:
        """The expression that gets a message of a call."""


class RunCalls:
    """The calls of a run."""

    sent = True

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def name(self) -> str:
        """The strategy's."""
        name: str = self._run.strategy.name
        return name

    @property
    def goes_on(self) -> bool:
        """While the run does."""
        return is_going_on(self._run)

    @property
    def records(self) -> Sequence[CallRecord]:
        """Those so far."""
        return self._run.calls

    def compressions(self) -> Iterator[tuple[str, Ledger]]:
        """Those that were applied."""
        for event in self._run.events:
            if isinstance(event, CompressionCompleted) and event.ledger.status == "applied":
                yield event.path, event.ledger

    def histories(self) -> Iterator[Sequence[Message]]:
        """The committed prompt, or the answers of a recorded run; what was compressed, and the requests."""
        if isinstance(self._run, TracedRun):
            yield [record.reply for record in self.records if record.reply is not None]
        else:
            yield self._run.prompt.messages
        for _, ledger in self.compressions():
            yield ledger.before
        for record in self.records:
            yield record.asked.messages

    def pieces(self, number: int) -> str:
        """Of the frames with text."""
        return "".join(
            event.text
            for event in self._run.events
            if isinstance(event, LLMStreamingFrame) and event.call == number and event.kind == "text"
        )

    def python(self, record: CallRecord, position: int) -> str:
        """By the number of the call."""
        return f"run.calls[{record.number - 1}].request.messages[{position}]"


class OneHistory:
    """A history as it would be sent: nothing was asked, and nothing is known around it."""

    sent = False
    goes_on = False

    def __init__(
        self, messages: tuple[Message, ...], params: LLMParams | None, name: str, *, in_object: bool
    ) -> None:
        self.name = name
        self._messages = messages
        self._in_object = in_object
        request = Request(messages=messages, model=LLModel(""), params=params or LLMParams())
        self.records: Sequence[CallRecord] = (
            CallRecord(number=0, path="", request=request, reply=None, seconds=0.0),
        )

    def compressions(self) -> Iterator[tuple[str, Ledger]]:
        """None is known."""
        yield from ()

    def histories(self) -> Iterator[Sequence[Message]]:
        """It is sent as it is."""
        yield from ()

    def pieces(self, number: int) -> str:
        """Nothing came."""
        return ""

    def python(self, record: CallRecord, position: int) -> str:
        """In the list, or in the object that holds it."""
        return f"history.messages[{position}]" if self._in_object else f"history[{position}]"
