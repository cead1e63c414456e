"""The prompt view as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from koogbook.agents.run import Run
from koogbook.agents.traced_run import TracedRun
from koogbook.errors import ViewError
from koogbook.llm.call_record import CallRecord
from koogbook.llm.layers import LAYERS
from koogbook.messages.message import Message
from koogbook.messages.model import LLMParams
from koogbook.messages.prompt import Prompt
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.look.measure import count
from koogbook.notebook.views.prompt_view.contents import CallContents, pages_of
from koogbook.notebook.views.prompt_view.model import PromptState
from koogbook.notebook.views.prompt_view.source import CallSource, OneHistory, RunCalls
from koogbook.notebook.views.prompt_view.state import prompt_state
from koogbook.notebook.views.prompt_view.text import prompt_text
from koogbook.notebook.views.prompt_view.view import prompt_element
from koogbook.notebook.views.recorded import as_view_error, is_going_on, no_such_file, recorded
from koogbook.notebook.views.view import Action, View, run_behind


class SentMessage(Struct, frozen=True, kw_only=True):
    """The selected message: the number of its call (0 for a history), its position there, its layer, and itself."""

    call: int
    position: int
    layer: str
    message: Message


class PromptView(View[PromptState]):
    """What the model saw in one call of a run, or would see of a history; made by ``kb.prompt``.

    Without a number it shows the last call, and follows a run that goes on.
    """

    title = "Prompt"

    def __init__(
        self,
        of: Any,
        source: CallSource,
        *,
        call: int | None = None,
        off: Iterable[str] = (),
        selected: int | str | None = None,
    ) -> None:
        self._source = source
        self._number = call
        self._off: tuple[str, ...] = ()
        self._page = 0
        self._contents: CallContents | None = None
        self._kept: tuple[int, dict[str, Message]] | None = None
        super().__init__(of)
        self._record()
        for layer in [off] if isinstance(off, str) else off:
            self._off = tuple(dict.fromkeys((*self._off, self._layer(layer))))
        if selected is not None:
            self._go(self._position(str(selected)))

    def look(self) -> PromptState:
        """The call as it is now."""
        return prompt_state(
            self._source, self._shown(), off=self._off, page=self._page, selected=self._selection
        )

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return prompt_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return prompt_element(self.state)

    @property
    def goes_on(self) -> bool:
        """While the run does."""
        return self._source.goes_on

    @property
    def record(self) -> CallRecord:
        """The call that is shown."""
        return self._record()

    @property
    def selected(self) -> SentMessage | None:
        """The selected message, with its layer, or None."""
        position = self._selection
        if position is None:
            return None
        shown = self._shown()
        return SentMessage(
            call=shown.record.number,
            position=position,
            layer=shown.layers[position],
            message=shown.messages[position],
        )

    def actions(self) -> Mapping[str, Action]:
        """Select a message, switch layers, turn to another call or page.

        - ``select``: the position of a message. What is selected already is let go of. ``back``: select nothing.
        - ``new``: the next message that is new or edited since the call before.
        - ``switch``: a layer off, or on again. ``only``: all others off. ``all``: all on.
        - ``call``: a number from 1, ``earlier`` or ``later``; ``last`` follows a run that goes on.
        - ``page``: ``earlier``, ``later`` or a number; 0 is the start and the end.
        """
        return {
            "select": self._select,
            "back": lambda value: self.select(""),
            "new": self._next_new,
            "switch": self._switch,
            "only": self._only,
            "all": self._all,
            "call": self._call,
            "page": self._turn,
        }

    # ------------------------------------------------------------------------------------- the call

    def _record(self) -> CallRecord:
        records = self._source.records
        return records[-1 if self._number is None or not self._source.sent else self._number - 1]

    def _shown(self) -> CallContents:
        """The call with all that is worked out of it, anew only where there is another record of it."""
        record = self._record()
        if self._contents is None or self._contents.record is not record:
            known = self._contents
            if known is None or known.record.number != record.number:
                self._page = 0
            earlier = (
                one
                for one in reversed(self._source.records[: record.number - 1])
                if one.request.purpose == record.request.purpose
            )
            before = next(earlier, None) if self._source.sent else None
            # Only where no tools were on offer are calls and results sent as text.
            kept = self._kept_messages() if not record.request.tools else {}
            self._contents = CallContents(record, before, kept)
        return self._contents

    def _kept_messages(self) -> dict[str, Message]:
        """Messages with calls and results, by id, as histories keep them."""
        calls = len(self._source.records)
        if self._kept is None or self._kept[0] != calls:
            found: dict[str, Message] = {}
            for history in self._source.histories():
                for message in history:
                    if (message.role == "tool" or message.calls) and message.id not in found:
                        found[message.id] = message
            self._kept = calls, found
        return self._kept[1]

    def _call(self, value: str) -> None:
        if not self._source.sent:
            raise ViewError("This is one history, and no call. The calls of a run: kb.prompt(run, call=1).")
        here, total = self._record().number, len(self._source.records)
        wanted = {"earlier": here - 1, "later": here + 1, "last": total}.get(value, -1)
        if value.isdecimal() and len(value) < 10:
            wanted = int(value)
        if not 1 <= wanted <= total:
            raise ViewError(
                f"There is no call {value!r} from call {here}. There are 1 to {total}, and earlier, later and last."
            )
        self._number = None if value == "last" else wanted
        self._contents = None
        self._page = 0

    # ------------------------------------------------------------------------------------- selection

    @property
    def _selection(self) -> int | None:
        record = self._record()
        position = _chosen(self._subject.selected).get(record.number)
        return None if position is None or position >= len(record.request.messages) else position

    def select(self, what: str) -> None:
        """Select a message of this call by its position, in all views of this run; an empty text selects nothing.

        Each call keeps its own selection.

        Raises:
            ViewError: The call has no such message.
        """
        chosen = _chosen(self._subject.selected)
        chosen.pop(self._record().number, None)
        if what:
            chosen[self._record().number] = self._position(what)
        super().select(",".join(f"{call}:{position}" for call, position in sorted(chosen.items())))

    def _select(self, value: str) -> None:
        position = self._position(value)
        if position == self._selection:
            self.select("")
        else:
            self._go(position)

    def _position(self, value: str) -> int:
        """The position of a message, which came with a click or from Python.

        Raises:
            ViewError: There is none.
        """
        total = len(self._record().request.messages)
        if value.isdecimal() and len(value) < 10 and int(value) < total:
            return int(value)
        there = f"There are 0 to {total - 1}" if total else "There are none"
        raise ViewError(f"There is no message {value[:40]!r} in {self._what()}. {there}.")

    def _go(self, position: int) -> None:
        """Select a message, and turn to the page that it is on."""
        self._page = self._shown().page_of(self._off, position, self._page)
        self.select(str(position))

    def _next_new(self, value: str) -> None:
        shown = self._shown()
        places = [at for at, novelty in enumerate(shown.novelties) if novelty]
        if not places:
            raise ViewError(
                "No message is new: this is the first call of its purpose."
                if shown.before is None
                else f"No message is new since call {shown.before.number}."
            )
        here = -1 if self._selection is None else self._selection
        self._go(next((place for place in places if place > here), places[0]))

    def _what(self) -> str:
        return f"call {self._record().number}" if self._source.sent else "this history"

    # ------------------------------------------------------------------------------------- layers

    def _layer(self, name: object) -> str:
        """A layer that can be switched: a known one, or one that some call has.

        Raises:
            ViewError: There is none of this name.
        """
        known = dict.fromkeys([*LAYERS, *self._shown().names])
        if isinstance(name, str) and name not in known:
            known.update(dict.fromkeys(one.layer for record in self._source.records for one in record.layers))
        if isinstance(name, str) and name in known:
            return name
        near = get_close_matches(name, known, n=1) if isinstance(name, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ViewError(
            f"There is no layer {name!r:.60} in {self._what()}.{hint} It has: {', '.join(self._shown().names)}."
        )

    def _switch(self, value: str) -> None:
        layer = self._layer(value)
        others = tuple(one for one in self._off if one != layer)
        self._set_off(others if layer in self._off else (*self._off, layer))

    def _only(self, value: str) -> None:
        layer = self._layer(value)
        self._set_off(tuple(one for one in self._shown().names if one != layer))

    def _all(self, value: str) -> None:
        self._set_off(())

    def _set_off(self, off: tuple[str, ...]) -> None:
        """Switch, and show the page that the first message shown stands on then."""
        self._off = off
        pages = pages_of(len(self._shown().all_rows(off)))
        self._page = min(self._page, pages)

    # ------------------------------------------------------------------------------------- pages

    def _turn(self, value: str) -> None:
        pages, here = pages_of(len(self._shown().all_rows(self._off))), self._page
        wanted = {"earlier": here - 1, "later": here + 1}.get(value, -1)
        if value.isdecimal() and len(value) < 10:
            wanted = int(value)
        if not pages:
            raise ViewError(f"All messages of {self._what()} are shown: it has one page.")
        if not 0 <= wanted <= pages:
            raise ViewError(
                f"There is no page {value!r} from page {here}. There are 1 to {pages}, earlier and later, and 0 for "
                "the start and the end."
            )
        self._page = wanted


def _chosen(selected: str) -> dict[int, int]:
    """By the number of a call: the position of its message that is selected."""
    pairs = (one.split(":") for one in selected.split(",") if one)
    return {int(call): int(position) for call, position in pairs}


def prompt(
    run: Any,
    call: int | None = None,
    *,
    off: Iterable[str] = (),
    selected: int | str | None = None,
    run_id: str | None = None,
) -> PromptView:
    """What the model really saw: the messages of one call in layers, tools, parameters, what was changed, the answer.

    Args:
        run: A run, the handle of a watched one, ``error.run``; the events of one, or the path of a trace file; or any
            history, which is shown as it would be sent.
        call: Which call, from 1; the last one where none is named, also when there are more.
        off: Layers that are switched off: their messages are left out, and their tokens are not counted.
        selected: The position of a message to show in detail.
        run_id: Which run of a trace that holds several.

    Raises:
        TypeError: It is neither a run nor a history, or a call of a history was asked for.
        TraceError: The file is not there, is no trace, or cannot be read.
        ViewError: The run has made no call, or none of this number, or its trace does not hold them; or there is no
            such layer or message.
    """
    of = run_behind(recorded(run, run_id))
    if isinstance(of, Run):
        return PromptView(of, RunCalls(of), call=_number(of, call), off=off, selected=selected)
    if call is not None:
        raise TypeError(f"call={call!r} is one of a run's: kb.prompt(run, call=1). Nothing is shown.")
    return PromptView(of, _history(of), off=off, selected=selected)


def _number(run: Run, call: object) -> int | None:
    with as_view_error():
        total = len(run.calls)
    if not total:
        yet = " yet" if is_going_on(run) else ""
        held = "" if isinstance(run, TracedRun) else " What it holds: kb.prompt(run.prompt)."
        raise ViewError(
            f"The run of session {run.session_id!r} has asked no model{yet}, so there is no prompt to show. A node "
            f"does it: async with ctx.llm.write_session() as session: await session.request().{held}"
        )
    if call is None:
        return None
    if isinstance(call, bool) or not isinstance(call, int) or not 1 <= call <= total:
        there = "is 1" if total == 1 else f"are 1 to {total}"
        raise ViewError(
            f"The run of session {run.session_id!r} has {count(total, 'call')} and no {call!r}: there {there}."
        )
    return call


def _history(given: Any) -> OneHistory:
    found = getattr(given, "messages", given)
    if isinstance(found, Sequence) and not isinstance(found, str | bytes):
        messages = tuple(found)
        if all(isinstance(one, Message) for one in messages):
            params: LLMParams | None = given.params if isinstance(given, Prompt) else None
            return OneHistory(messages, params, _name(given), in_object=found is not given)
    raise TypeError(
        f"prompt takes a run, or a history: a prompt, a transcript, a checkpoint or a list of messages; not "
        f"{given!r:.60}. A recorded run is given by its events, or by the path of its trace."
        f"{no_such_file(given)} Nothing is shown."
    )


def _name(given: object) -> str:
    return given.id if isinstance(given, Prompt) else ""
