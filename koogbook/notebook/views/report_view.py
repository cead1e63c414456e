"""The report of a run as a table, with what needs a look under it."""

from __future__ import annotations

from koogbook.agents.report import Report
from koogbook.notebook.views.look.isolates import phrase, set_apart, told_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.pieces import Column, frame, status_glyph, status_line, table


def report_element(report: Report, name: str, *, failed: bool = False) -> Element:
    """The markup of a report; ``name`` is what it is of."""
    count = len(report.attention)
    to_look_at = [
        h("div", status_glyph("warning"), h("span", phrase(told_apart(line)), cls="kb-text"), cls="kb-todo")
        for line in report.attention
    ]
    return frame(
        icon="page",
        title="Report",
        name=name,
        status=status_line("failed" if failed else "visited", phrase(told_apart(report.outcome))),
        body=[
            table(
                [Column("subject", cls="kb-word"), Column("what happened")],
                [[subject, phrase(told_apart(what))] for subject, what in report.rows],
                f"Report of {set_apart(name)}",
            ),
            *to_look_at,
        ],
        foot=f"{count} to look at" if count else "nothing to look at",
    )
