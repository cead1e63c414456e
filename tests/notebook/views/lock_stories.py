"""Events of sessions on locks, as a run has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from koogbook.events import (
    Event,
    NodeStarting,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionOpened,
    SessionRefused,
    SessionWaiting,
)

HOSTILE = "</text><script>\"'&\x00\ud83c\u202e"


def session(
    number: int,
    *times: float,
    mode: Any = "write",
    context: str = "trip",
    who: str = "",
    end: type[Event] | None = SessionCommitted,
    ahead: tuple[int, ...] = (),
) -> list[Event]:
    """One session: asked for, acquired and ended at the times given; fewer times stop it earlier."""
    same: dict[str, Any] = {
        "context": context,
        "session": number,
        "mode": mode,
        "who": who or f"node_{number}",
        "place": f"cell {number}:2",
        "run_id": "41",
    }
    asked, *later = times
    events: list[Event] = [SessionOpened(at=asked, **same)]
    if not later or later[0] > asked:
        events.append(SessionWaiting(at=asked, ahead=ahead, **same))
    if later:
        events.append(SessionAcquired(at=later[0], waited=later[0] - asked, **same))
    if len(later) > 1:
        if mode == "write" and end is not None:
            events.append(end(at=later[1], **same))
        events.append(SessionClosed(at=later[1], held=later[1] - later[0], **same))
    return events


def story(*sessions: Sequence[Event]) -> list[Event]:
    """The events of several sessions in the order of time."""
    return sorted((event for events in sessions for event in events), key=lambda event: event.at)


REFUSED = SessionRefused(
    at=2.5,
    context="audit",
    session=9,
    mode="read",
    who="audit",
    place="cell 11:2",
    first="cell 14:3",
    first_mode="write",
    run_id="41",
)
NOW = NodeStarting(at=3.0, path="trip/x", visit=1, iteration=1, run_id="41")
LIVE = [
    *story(
        session(1, 0.0, 0.0, 0.5, who="prepare"),
        session(2, 0.5, 0.5, 1.0, mode="read", who="meter"),
        session(3, 0.6, 1.0, 2.0, who="ask", ahead=(2,)),
        session(4, 0.7, 2.0, 2.4, who="tools", end=SessionDiscarded),
        session(5, 2.0, 2.4, who="trim"),
        session(6, 2.5, mode="read", who="view", ahead=(5,)),
        session(7, 2.6, who="late", ahead=(5, 6)),
        [REFUSED],
    ),
    NOW,
]


def many(size: int) -> list[Event]:
    """So many short sessions, one after the other."""
    return story(*(session(number, number / 10, number / 10, number / 10 + 0.05) for number in range(size)))


HOSTILE_EVENTS = [
    *session(1, 0.0, 0.0, 1.0, who=HOSTILE, context=HOSTILE),
    *session(2, 0.5, who=HOSTILE, context=HOSTILE),
]
