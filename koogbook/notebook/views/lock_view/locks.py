"""The lock view as an object: what it is of, and what can be done in it."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from numbers import Real
from pathlib import Path

from msgspec.structs import replace

from koogbook import clock
from koogbook.agents.run import Run
from koogbook.errors import ViewError
from koogbook.events import Event, SessionEvent
from koogbook.notebook.pace import running_loop
from koogbook.notebook.views.lock_view.rows import ERRORS, SessionRow, begin_of, on_one_clock
from koogbook.notebook.views.lock_view.state import (
    WINDOW,
    LockState,
    in_order,
    lock_state,
    lock_state_at,
    with_selection,
    with_zoom,
)
from koogbook.notebook.views.lock_view.text import lock_text
from koogbook.notebook.views.lock_view.view import lock_element
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.look.measure import count, duration
from koogbook.notebook.views.recorded import events_at, is_going_on, recorded
from koogbook.notebook.views.view import Action, View

#: Seconds between two moments of a replay that plays, and how many of them a whole run has: about 6 s.
_STEP = 0.2
_STEPS = 30


class LockView(View[LockState]):
    """The sessions of a run on its LLM contexts; made by ``kb.locks``."""

    title = "Lock view"

    def __init__(
        self,
        of: Run | Sequence[Event],
        *,
        selected: int | None = None,
        at: float | None = None,
        source: str = "",
    ) -> None:
        self._run = of if isinstance(of, Run) else None
        self._given: tuple[Event, ...] = () if isinstance(of, Run) else on_one_clock(of)
        self._source = source
        self._at: float | None = None
        self._zoom: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._known: tuple[int, LockState] | None = None
        super().__init__(of)
        if selected is not None:
            self.select(str(self._session(str(selected)).number))
        if at is not None:
            self._go_to(_seconds_of(at))

    def look(self) -> LockState:
        """The sessions so far, or at the moment of the replay."""
        selected = self._subject.selected
        number = int(selected) if selected.isdecimal() else None
        if self.goes_on:
            return with_selection(lock_state(self._events(), now=clock.glance()), number)
        state = self._whole()
        if self._at is not None:
            state = lock_state_at(self._events(), self._at, state)
        state = with_zoom(state, self._zoom)
        if state.replay is not None and self._timer is not None:
            state = replace(state, replay=replace(state.replay, playing=True))
        return with_selection(state, number)

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return lock_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return lock_element(self.state)

    @property
    def goes_on(self) -> bool:
        """While the run does."""
        return is_going_on(self._run)

    @property
    def selected(self) -> SessionRow | None:
        """The selected session as it was at the moment shown, or None; also before it was asked for."""
        selected = self.state.selected
        return None if selected is None else selected.row

    @property
    def at(self) -> float | None:
        """The moment that is shown, in seconds since the first session; None at the end and while the run goes on."""
        return self._at

    def actions(self) -> Mapping[str, Action]:
        """Select a session by its number, the one before, after, or one that went wrong; go through a run that is over.

        ``at`` takes seconds since the first session event; ``earlier`` and ``later`` go to the session event before
        and after, ``play`` goes through the whole run and pauses, ``end`` leaves the replay.

        ``zoom`` enlarges 200 sessions of a longer run that is over, around the one of this number; ``zoom_before`` and
        ``zoom_after`` go on from there, ``whole`` shows all of it again.
        """
        return {
            "select": self._select,
            "back": self._back,
            "previous": self._previous,
            "next": self._next,
            "error": self._error,
            "at": self._at_seconds,
            "earlier": self._earlier,
            "later": self._later,
            "play": self._play,
            "end": self._end,
            "zoom": self._enlarge,
            "zoom_before": self._enlarge_before,
            "zoom_after": self._enlarge_after,
            "whole": self._show_all,
        }

    def act(self, do: str, value: str = "") -> None:
        """Do what a click does: ``view.act("select", "3")``; whatever it is, a replay that plays stops.

        Raises:
            TypeError: The value is no text.
            ViewError: This view cannot do that; the message names what it can.
        """
        given: object = value
        if not isinstance(given, str):
            raise TypeError(
                f"act takes its value as text, as a click gives it, not {given!r:.60}. Nothing was done. "
                "view.act('select', '3') selects session 3."
            )
        if do != "play":
            self._pause()
        super().act(do, value)

    def close(self) -> None:
        """End the live view; what it showed last stays as a picture. A closed view can be shown again."""
        self._pause()
        super().close()

    # ------------------------------------------------------------------------------------- selection

    def _select(self, value: str) -> None:
        number = str(self._session(value).number)
        self.select("" if number == self._subject.selected else number)

    def _back(self, value: str) -> None:
        self.select("")

    def _previous(self, value: str) -> None:
        self._step_to(-1)

    def _next(self, value: str) -> None:
        self._step_to(1)

    def _step_to(self, step: int) -> None:
        order = self._order()
        place = next(
            (place for place, row in enumerate(order) if str(row.number) == self._subject.selected), None
        )
        start = -1 if step > 0 else len(order)
        target = (start if place is None else place) + step
        if not 0 <= target < len(order):
            edge = "first" if step < 0 else "last"
            raise ViewError(
                f"The {edge} of {count(len(order), 'session')} is selected: there is none beyond it."
            )
        self._reveal(target)
        self.select(str(order[target].number))

    def _error(self, value: str) -> None:
        """Select the first session that went wrong; where one of them is selected, the next one."""
        wrong = sorted(
            (row for row in self._order() if row.outcome in ERRORS), key=lambda row: (row.end, row.number)
        )
        if not wrong:
            raise ViewError("No session was refused, timed out or discarded.")
        numbers = [str(row.number) for row in wrong]
        selected = self._subject.selected
        row = wrong[(numbers.index(selected) + 1) % len(wrong) if selected in numbers else 0]
        if self._at is not None and self._at < row.end:
            self._go_to(row.end)
        self._reveal(self._order().index(row))
        self.select(str(row.number))

    def _order(self) -> list[SessionRow]:
        whole = lock_state(self._events()) if self.goes_on else self._whole()
        return in_order(whole.lanes)

    def _session(self, value: str) -> SessionRow:
        return session_numbered(value, self._order())

    # ------------------------------------------------------------------------------------- a part of a long run

    def _enlarge(self, value: str) -> None:
        row = self._session(value)
        self._require_long()
        self._zoom_to(self._order().index(row) - WINDOW // 2)

    def _enlarge_before(self, value: str) -> None:
        self._require_long()
        if not self._zoom:
            raise ViewError("The run begins here: there is no session before it.")
        self._zoom_to(self._zoom - WINDOW)

    def _enlarge_after(self, value: str) -> None:
        total = self._require_long()
        if self._zoom is not None and self._zoom + WINDOW >= total:
            raise ViewError("The run ends here: there is no session after it.")
        self._zoom_to(0 if self._zoom is None else self._zoom + WINDOW)

    def _show_all(self, value: str) -> None:
        self._zoom = None

    def _zoom_to(self, first: int) -> None:
        self._zoom = min(max(first, 0), self._whole().total - WINDOW)

    def _reveal(self, position: int) -> None:
        """Where a part is enlarged, let it be one that holds the session at this place."""
        if self._zoom is not None and not self._zoom <= position < self._zoom + WINDOW:
            self._zoom_to(position - WINDOW // 2)

    def _require_long(self) -> int:
        """How many sessions the run has.

        Raises:
            ViewError: It goes on, or they are so few that all of them are shown as they are.
        """
        if self.goes_on:
            raise ViewError(
                "The run goes on and is shown as it goes; a part of it can be enlarged when it is over."
            )
        total = self._whole().total
        if total <= WINDOW:
            raise ViewError(
                f"The run has {count(total, 'session')}; a part is enlarged of more than {WINDOW}."
            )
        return total

    # ------------------------------------------------------------------------------------- replay

    def _at_seconds(self, value: str) -> None:
        try:
            at = float(value)
        except ValueError:
            at = math.nan
        self._go_to(at, value)

    def _go_to(self, at: float, given: object = None) -> None:
        """Show a moment; from the end of the run on, the run as it ended.

        Raises:
            ViewError: It is no moment, or the run goes on.
        """
        seconds = self._seconds()
        if math.isnan(at) or at < 0:
            raise ViewError(
                f"{at if given is None else given!r:.60} is no moment of this run. "
                f"Give seconds from 0 to {seconds:.6g}, counted from its first session."
            )
        self._at = None if at >= seconds else at

    def _earlier(self, value: str) -> None:
        seconds, moments = self._seconds(), self._moments()
        place = bisect_left(moments, seconds if self._at is None else self._at)
        if place == 0:
            raise ViewError("The replay is at the first session event: nothing was before it.")
        self._at = moments[place - 1]

    def _later(self, value: str) -> None:
        seconds, moments = self._seconds(), self._moments()
        if self._at is None:
            raise ViewError(
                f"The replay is at the end of the run, {duration(seconds)}: nothing came after it."
            )
        place = bisect_right(moments, self._at)
        self._go_to(moments[place] if place < len(moments) else seconds)

    def _end(self, value: str) -> None:
        self._seconds()
        self._at = None

    def _play(self, value: str) -> None:
        if self._timer is not None:
            self._pause()
            return
        self._seconds()
        loop = running_loop()
        if loop is None:
            raise ViewError(
                "Playing needs a running event loop, as a notebook has one. Go through the run with "
                "view.act('at', '0') and view.act('later')."
            )
        if self._at is None:
            self._at = 0.0
        self._timer = loop.call_later(_STEP, self._played, loop)

    def _played(self, loop: asyncio.AbstractEventLoop) -> None:
        """One step of a replay that plays; it ends with the run, and where nobody sees it any more."""
        self._timer = None
        if self._watchers and self._at is not None:
            self._go_to(self._at + self._seconds() / _STEPS)
            if self._at is not None:
                self._timer = loop.call_later(_STEP, self._played, loop)
        self.refresh()

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._state = None

    def _seconds(self) -> float:
        """How long the run took, from its first session.

        Raises:
            ViewError: It goes on, or it had no session.
        """
        if self.goes_on:
            raise ViewError("The run goes on and is shown as it goes; its replay begins when it is over.")
        whole = self._whole()
        if not whole.total:
            raise ViewError("No session was opened: there is nothing to go through again.")
        return whole.seconds

    def _moments(self) -> list[float]:
        """The moments of all session events, each once, in order."""
        events = self._events()
        begin = begin_of(events)
        return sorted({event.at - begin for event in events if isinstance(event, SessionEvent)})

    def _whole(self) -> LockState:
        """The state at the end of a run that is over, made once."""
        events = self._events()
        if self._known is None or self._known[0] != len(events):
            self._known = len(events), lock_state(events, source=self._source)
        return self._known[1]

    def _events(self) -> Sequence[Event]:
        return self._given if self._run is None else self._run.events


def _seconds_of(at: object) -> float:
    """A moment in seconds, which came from Python.

    Raises:
        TypeError: It is no number.
        ViewError: It is larger than any float.
    """
    if isinstance(at, bool) or not isinstance(at, Real):
        raise TypeError(
            f"at is a number of seconds since the first session, not {at!r:.60}. Nothing is shown."
        )
    try:
        return float(at)
    except OverflowError as problem:
        raise ViewError(
            "at is no moment of this run: the number is too large. Nothing is shown."
        ) from problem


def session_numbered(value: str, order: Sequence[SessionRow]) -> SessionRow:
    """The session of a number, which came with a click or from Python.

    Raises:
        ViewError: There is none; the message lists the first ones.
    """
    found = next((row for row in order if str(row.number) == value.strip()), None)
    if found is None:
        names = ", ".join(f"{row.number} ({row.mode} {row.who})" for row in order[:12])
        more = f" and {len(order) - 12} more" if len(order) > 12 else ""
        raise ViewError(f"There is no session {value!r}. There is: {names or 'none yet'}{more}.")
    return found


def locks(
    run: Run | Sequence[Event] | str | Path,
    *,
    selected: int | None = None,
    at: float | None = None,
    run_id: str | None = None,
) -> LockView:
    """The sessions of a run on its LLM contexts: who held the lock, who waited, what was committed or discarded.

    Args:
        run: A run, a sequence of events of one run or of several, or the path of a trace file, which is read once.
        selected: The number of the session to show in detail.
        at: The moment of a run that is over to show, in seconds since its first session.
        run_id: Which run of events of several; all of them where none is named.

    Raises:
        TypeError: It is none of these.
        TraceError: The file is not there, is no trace, or cannot be read.
        ViewError: There is no such session, moment or run; nothing is shown.
    """
    source = Path(run).name if isinstance(run, str | Path) else ""
    if run_id is not None:
        run = recorded(run, run_id).events
    if isinstance(run, str | Path):
        run = events_at(run)
    if not isinstance(run, Run) and not _are_events(run):
        raise TypeError(f"locks takes a run, or a sequence of events, not {_instead(run)}")
    return LockView(run, selected=selected, at=at, source=source)


def _are_events(given: object) -> bool:
    return isinstance(given, Sequence) and all(isinstance(one, Event) for one in given)


def _instead(given: object) -> str:
    """What was given, and how one gets from it to what is taken."""
    from koogbook.notebook.views.lab_view.lock_race import LockRaceView

    if isinstance(given, LockRaceView):
        return 'a lock race. The events on one of its locks are: kb.locks(race.events("fair")).'
    if isinstance(given, View):
        return f"another view: {given.title}. Give what that is of."
    if isinstance(given, Iterator | Set):
        return f"{given!r:.60}. Give a list: kb.locks(list(events))."
    return f"{given!r:.60}. A trace file is given by its path."
