"""The records of the calls are read from events, which a file may hold in other forms than a run."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import TraceError
from koogbook.events import LLMCallStarting
from koogbook.llm.call_record import RequestChange, calls_of
from koogbook.llm.request import Request
from koogbook.messages.model import LLModel

ASKED = Request(messages=(kb.user("hello", id="m1"),), model=LLModel("large"))
GUIDED = Request(messages=(kb.system("be kind", id="m0"), *ASKED.messages), model=LLModel("large"))


def begun(changes: Any) -> list[kb.events.Event]:
    """A call that has begun, with these changes on its way."""
    return [
        LLMCallStarting(
            **{"call": 1, "purpose": "conversation", "model": "large", "messages": 2, "tokens": 0},
            request=GUIDED,
            changes=changes,
        )
    ]


def test_a_list_of_changes_becomes_what_a_run_has() -> None:
    """The records are equal, and nobody can add to one [AGT-03]."""
    change = RequestChange(feature="Guide", before=ASKED, after=GUIDED)
    (read,) = calls_of(begun([change]))

    assert (read,) == calls_of(begun((change,)))
    assert read.changes == (change,)


@pytest.mark.parametrize(
    "broken",
    [{"before": None}, {"after": None}, {"before": {"messages": []}}, {"after": "text"}],
    ids=["nothing before", "nothing after", "another before", "another after"],
)
def test_a_change_without_a_whole_request_is_refused(broken: dict[str, Any]) -> None:
    """Who looks at what it did would fail, and not say why [AGT-03]."""
    changes = [
        RequestChange(feature="Guide", before=ASKED, after=GUIDED),
        RequestChange(**{"feature": "Guide", "before": ASKED, "after": GUIDED, **broken}),
    ]
    with pytest.raises(TraceError, match=r"What was done to request 1 .* is no list of changes"):
        calls_of(begun(changes))
