"""Who holds a lock, who waits for it and who has just asked, in the order in which it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from koogbook.events import SessionMode
from koogbook.notebook.views.lock_view.rows import Outcome, SessionRow, Stopped
from koogbook.notebook.views.look.isolates import set_apart
from koogbook.notebook.views.look.measure import count

#: In each context first who holds the lock, then the queue, then who has only just asked.
_ORDER: dict[Outcome, int] = {"open": 0, "waiting": 1, "asking": 2}

_HOLDS: dict[Stopped, str] = {"": "holds", "run": "holds", "trace": "held"}


class QueueRow(Struct, frozen=True, kw_only=True):
    """A session that holds a lock, waits for it or has just asked for it, now; ``number`` is its number."""

    number: int
    context: str
    place: str
    mode: SessionMode
    who: str
    code: str
    since: float
    waits_for: tuple[str, ...]
    holds: bool
    asks: bool = False


def queue_rows(rows: Sequence[SessionRow], now: float) -> tuple[QueueRow, ...]:
    """Who holds a lock, waits for it or has just asked; ``now`` is in seconds since the first event."""
    names = {row.number: row.who for row in rows if not row.over}
    found: list[QueueRow] = []
    place: Counter[tuple[str, str]] = Counter()
    for row in _waiting_in_order(rows):
        if row.outcome == "waiting":
            place[row.run, row.context] += 1
        found.append(
            QueueRow(
                number=row.number,
                context=row.context,
                place=_place(row, place[row.run, row.context]),
                mode=row.mode,
                who=row.who,
                code=row.place,
                since=now - (row.opened if row.acquired is None else row.acquired),
                waits_for=tuple(names[number] for number in row.ahead if number in names),
                holds=row.outcome == "open",
                asks=row.outcome == "asking",
            )
        )
    return tuple(found)


def _place(row: SessionRow, position: int) -> str:
    if row.outcome == "open":
        return _HOLDS[row.stopped]
    return "asks" if row.outcome == "asking" else _ordinal(position)


def _waiting_in_order(rows: Sequence[SessionRow]) -> list[SessionRow]:
    """What is not over: in each context in the order of the queue."""
    return sorted(
        (row for row in rows if not row.over),
        key=lambda row: (
            row.run,
            row.context,
            _ORDER[row.outcome],
            row.queued_at,
            row.number,
        ),
    )


def next_up(rows: Sequence[SessionRow]) -> str:
    """Who enters next, and when, for the first context in which somebody waits."""
    unfinished = _waiting_in_order(rows)
    first = next((row for row in unfinished if row.outcome == "waiting"), None)
    if first is None:
        return ""
    here = [row for row in unfinished if (row.run, row.context) == (first.run, first.context)]
    holders = [row for row in here if row.outcome == "open"]
    queue = [row for row in here if row.outcome == "waiting"]
    together = [first]
    for row in queue[1:]:
        if first.mode == "write" or row.mode == "write":
            break
        together.append(row)
    enter = f"with {count(len(together) - 1, 'more read')} enter" if len(together) > 1 else "enters"
    when = ""
    if holders:
        others = f" and {len(holders) - 1} more have" if len(holders) > 1 else " has"
        when = f" when {set_apart(holders[0].who)}{others} left"
    return f"First come, first served: {first.mode} {set_apart(first.who)} {enter} next{when}."


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
