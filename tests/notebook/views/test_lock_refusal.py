"""A nested session: both places in the code, how the holder waits, and what to do instead."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock_stories import HOSTILE, NOW, REFUSED, session
from msgspec.structs import replace

import koogbook as kb
from koogbook.code_place import CodeExcerpt
from koogbook.errors import NestedSessionError
from koogbook.events import SessionRefused
from koogbook.notebook.views.lock_view.refusal import code_lines
from koogbook.notebook.views.look.markup import Element, live_tree, render, render_static

FIRST = CodeExcerpt(
    first=1,
    marked=3,
    lines=(
        "@trip.node",
        "async def audit(ctx, text):",
        "    async with ctx.llm.write_session() as s:",
        "        s.append(kb.user(text))",
        "        n = await count_tokens(ctx)",
    ),
)
SECOND = CodeExcerpt(
    first=8,
    marked=9,
    lines=(
        "async def count_tokens(ctx):",
        "    async with ctx.llm.read_session() as r:",
        "        return r.prompt.tokens",
    ),
)
SHOWN = replace(REFUSED, first_code=FIRST, code=SECOND)
WAITED_FOR = replace(SHOWN, waits="awaits it through gather")
FORMS = [render, render_static, lambda element: repr(live_tree(element))]


def events(refused: SessionRefused) -> list[kb.events.Event]:
    """A run in which a session was refused."""
    return [*session(1, 0.0, 0.0, 2.8, context="audit"), refused, NOW]


def said(element: Element) -> str:
    """The text of an element, blanks as one."""
    texts = [said(child) if isinstance(child, Element) else child for child in element.children]
    return re.sub(r"[ \n]+", " ", " ".join(texts))


@pytest.mark.parametrize("form", FORMS, ids=["page", "notebook", "live"])
def test_both_places_show_their_code(form) -> None:
    """In every form, without a click. [NBK-06] [SES-10]"""
    shown = form(kb.locks(events(SHOWN)).element)

    assert [line.strip() in shown for line in (*FIRST.lines, *SECOND.lines)] == [True] * 8


def test_the_text_shows_both_places_and_marks_the_line() -> None:
    """A terminal has it, too. [NBK-06] [NBK-10]"""
    text = str(kb.locks(events(SHOWN)))

    assert "  first, still open  cell 14:3   write\n     1  @trip.node\n     2  async def audit" in text
    assert "    >3      async with ctx.llm.write_session() as s:\n" in text
    assert "    > 9      async with ctx.llm.read_session() as r:\n" in text


def test_the_line_that_is_meant_is_told_without_colour() -> None:
    """By a sign before its number. [NBK-11]"""
    text = said(kb.locks(events(SHOWN)).element)

    assert ">3 async with ctx.llm.write_session() as s:" in text
    assert text.count(">3") == text.count("> 9") == 1


def test_one_task_is_told_from_two() -> None:
    """Where a task asked twice, and where the holder waits for the one that asks. [SES-10]"""
    one, two = (said(kb.locks(events(refused)).element) for refused in (SHOWN, WAITED_FOR))

    assert "raised at once in place of a wait without end; it changed nothing." in one
    assert "One task asked for the second session while it had the first one open." in one
    assert "raised within a moment in place of a wait without end" in two
    assert (
        "Another task asked for the second session, and the task that has the first one open awaits it through gather."
    ) in two


@pytest.mark.parametrize(
    ("refused", "remedy"),
    [
        (SHOWN, "Instead: hand the open session on, or open the second one after the first block has ended."),
        (
            WAITED_FOR,
            "Instead: hand the open session on to that task, or wait for the task when the block has ended.",
        ),
    ],
    ids=["one task", "two tasks"],
)
def test_one_sentence_says_what_to_do(refused: SessionRefused, remedy: str) -> None:
    """In the view and in its text. [NBK-06]"""
    view = kb.locks(events(refused))

    assert said(view.element).count(remedy) == 1
    assert " ".join(remedy.split()) in " ".join(str(view).split())


def test_code_that_cannot_be_read_is_said_to_be_missing() -> None:
    """The place stands there all the same. [NBK-06]"""
    text = said(kb.locks(events(REFUSED)).element)

    assert text.count("The code of this place cannot be shown.") == 2
    assert "first, still open write session cell 14:3" in text


def test_the_selected_refusal_is_shown_once() -> None:
    """In the panel of the session, and not beside it again. [NBK-06]"""
    text = said(kb.locks(events(SHOWN), selected=9).element)

    assert (text.count("first, still open"), text.count("Instead:")) == (1, 1)


def test_more_refusals_than_are_shown_are_counted() -> None:
    """Three stand there, the others in the table. [NBK-06]"""
    many = [replace(SHOWN, session=number, at=2.0 + number / 100) for number in range(20, 25)]
    view = kb.locks([*session(1, 0.0, 0.0, 2.8, context="audit"), *many])

    assert said(view.element).count("first, still open") == 3
    assert "2 more refused; the table has them." in said(view.element)
    assert "2 more refused" in str(view)


@pytest.mark.parametrize("form", FORMS[:2], ids=["page", "notebook"])
def test_code_is_text_and_never_markup(form) -> None:
    """A line of code may hold anything, and so may the words for the wait. [NBK-11]"""
    evil = CodeExcerpt(1, 1, (f"x = '{HOSTILE}'", "<img src=x onerror=alert(1)>"))
    shown = form(
        kb.locks(events(replace(REFUSED, first_code=evil, code=evil, waits=HOSTILE, first=HOSTILE))).element
    )

    assert "<script" not in shown
    assert "<img src=x" not in shown
    assert "\u202e" not in shown


def test_five_lines_stand_around_the_one_that_is_meant() -> None:
    """Of a longer excerpt the others are left out. [NBK-06]"""
    excerpt = CodeExcerpt(100, 120, tuple(f"line {number}" for number in range(100, 140)))

    assert [line.number for line in code_lines(excerpt)] == [118, 119, 120, 121, 122]


@given(st.integers(1, 50), st.integers(0, 8), st.lists(st.text(max_size=20), min_size=1, max_size=9))
def test_the_marked_line_is_among_those_that_are_shown(first: int, place: int, lines: list[str]) -> None:
    """Whatever stands in the lines. [NBK-06]"""
    clean = tuple(" ".join(line.split()) for line in lines)
    place = min(place, len(clean) - 1)
    shown = code_lines(CodeExcerpt(first, first + place, clean))

    assert [(line.number, line.text) for line in shown if line.marked] == [(first + place, clean[place])]
    assert len(shown) == min(len(clean), 5)


def test_code_begins_at_the_left_whatever_it_stands_in() -> None:
    """Blanks that all lines begin with say nothing. [NBK-06]"""
    excerpt = CodeExcerpt(5, 6, ("\t\tif deep:", "", "\t\t    async with x:"))

    assert [line.text for line in code_lines(excerpt)] == ["if deep:", "", "    async with x:"]


async def test_a_real_refusal_shows_the_code_of_both_places() -> None:
    """From the run to the picture. [SES-10] [NBK-06]"""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def audit(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session():
            with pytest.raises(NestedSessionError):
                async with ctx.llm.read_session():
                    pass
        return text

    trip.start >> audit >> trip.finish
    run = await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("x")
    text = str(kb.locks(run))

    assert re.search(r">\d+ +async with ctx\.llm\.write_session\(\):", text)
    assert re.search(r">\d+ +async with ctx\.llm\.read_session\(\):", text)
