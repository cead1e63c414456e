"""The lock race as one call, and its view as an object."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import msgspec

from koogbook.errors import ViewError
from koogbook.events import Event
from koogbook.labs.lock_race import Race, RacePlan, run_race
from koogbook.notebook.views.lab_view.state import RaceRow, RaceState, race_state
from koogbook.notebook.views.lab_view.text import race_text
from koogbook.notebook.views.lab_view.view import race_element
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.view import View

if TYPE_CHECKING:
    import pandas


class LockRaceView(View[RaceState]):
    """A race of readers and writers on two locks; made by ``kb.lock_race``."""

    title = "Lock race"

    def __init__(self, of: Race) -> None:
        self._race = of
        super().__init__(of)

    def look(self) -> RaceState:
        """The verdict, the table and the lanes."""
        return race_state(self._race)

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return race_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return race_element(self.state)

    @property
    def rows(self) -> tuple[RaceRow, ...]:
        """The table: the readers and the writers of each lock."""
        return self.state.rows

    def to_dataframe(self) -> pandas.DataFrame:
        """The table as a DataFrame, a row for the readers and one for the writers of each lock; waits in seconds."""
        import pandas

        return pandas.DataFrame([msgspec.structs.asdict(row) for row in self.rows])

    def events(self, lock: str) -> tuple[Event, ...]:
        """What happened on a lock, ``"fair"`` or ``"reader-first"``: ``kb.locks(race.events("fair"))`` replays it.

        Times are seconds since the race began; nothing of them is on a clock.

        Raises:
            ViewError: There is no such lock.
        """
        events = self._race.events
        if lock not in events:
            near = get_close_matches(str(lock), events, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ViewError(f"The race had no lock {lock!r}.{hint} It had: {', '.join(events)}.")
        return events[lock]


def lock_race(
    readers: int = 4,
    writers: int = 2,
    *,
    seconds: float = 10.0,
    read_seconds: float = 0.4,
    write_seconds: float = 0.2,
    pause: float = 0.1,
    seed: int = 0,
) -> LockRaceView:
    """Readers and writers race for two locks: the fair one of koogbook, and a reader-first one as Koog 1.3 has it.

    Each of them asks for a session, holds it, pauses, and asks again, with the same plan on both locks. Where readers
    overlap all the time, a reader-first lock lets no writer in; on the fair one nobody is overtaken, and readers wait
    for it. The locks are real, the time is not: a race takes milliseconds, reads no clock, and the same arguments give
    the same bytes. How often and for how long they come decides the outcome; it is what happened, whatever that is.

    Args:
        readers: How many tasks read, from 1 on; with the writers at most 40.
        writers: How many tasks write, from 1 on.
        seconds: How long the race is, at most 600.
        read_seconds: How long a read session holds the lock, on average; each from half to one and a half times that.
        write_seconds: How long a write session holds it, likewise.
        pause: Seconds from the end of a session to the next one of the same task, likewise.
        seed: Another seed, other times.

    Raises:
        ValueError: A number is out of its range, or there would be more than about 600 sessions; nothing was run.
    """
    return LockRaceView(
        run_race(
            RacePlan(
                readers=readers,
                writers=writers,
                seconds=seconds,
                read_seconds=read_seconds,
                write_seconds=write_seconds,
                pause=pause,
                seed=seed,
            )
        )
    )
