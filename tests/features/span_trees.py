"""Spans that were exported, by name and as a tree."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

Spans = list[ReadableSpan]


def named(spans: Spans, name: str) -> Spans:
    """The spans of a name, in the order in which they began."""
    return sorted((span for span in spans if span.name == name), key=lambda span: span.start_time or 0)


def the(spans: Spans, name: str) -> ReadableSpan:
    """The only one of a name."""
    [span] = named(spans, name)
    return span


def of(span: ReadableSpan) -> dict[str, Any]:
    """The attributes of a span."""
    return dict(span.attributes or {})


def tree(spans: Spans) -> list[str]:
    """Spans as indented lines, in the order in which they began."""
    lines: list[str] = []

    def grow(parent: int | None, depth: int) -> None:
        inner = [span for span in spans if (span.parent.span_id if span.parent else None) == parent]
        for span in sorted(inner, key=lambda span: span.start_time or 0):
            lines.append("  " * depth + span.name)
            grow(span.context.span_id if span.context else None, depth + 1)

    grow(None, 0)
    return lines
