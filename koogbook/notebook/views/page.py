"""A whole HTML document of views: opens without a server and without a network, runs no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from msgspec import Struct

from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.markup import Element, h, render, visible
from koogbook.notebook.views.look.styles import SANS, stylesheet

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_PAGE_STYLE = (
    f"html{{background:var(--kb-paper);color:var(--kb-ink);font:400 15px/24px {SANS}}}"
    "body{margin:0 auto;max-width:1100px;padding:32px 16px 64px;box-sizing:border-box}"
    "h1{font-size:26px;line-height:34px;font-weight:600;margin:0 0 8px}"
    ".kb-section{margin:40px 0 0}"
    ".kb-section-title{font-size:19px;line-height:26px;font-weight:600;margin:0 0 4px}"
    ".kb-lead{margin:0 0 14px;max-width:68ch;color:var(--kb-ink2)}"
    ".kb-intro{max-width:68ch}"
    ".kb-contents{margin:20px 0 0;padding:10px 16px;border:1px solid var(--kb-line);border-radius:8px}"
    ".kb-contents ol{margin:0;padding:0 0 0 22px}"
    "a{color:var(--kb-accent)}"
    "a:focus-visible,summary:focus-visible{outline:2px solid var(--kb-accent);outline-offset:1px}"
    "details summary{cursor:pointer}"
    "@media print{html{font-size:12px;line-height:18px}body{max-width:none;padding:0}"
    ".kb-contents{break-after:avoid}.kb-section-title{break-after:avoid}"
    ".kb-scroll{overflow:visible}.kb-scroll .kb-picture{max-width:100%;height:auto}}"
)


class Section(Struct, frozen=True):
    """A part of a page: its anchor, heading, the sentence under it, and a view."""

    id: str
    heading: str
    lead: str
    element: Element


def page(title: str, intro: Element | None, sections: Sequence[Section]) -> str:
    """A page with a list of contents and one section per view; light or dark as the reader's system is.

    Raises:
        ValueError: Two sections have one id, or an id has a space in it.
    """
    ids = [section.id for section in sections]
    wrong = [id for place, id in enumerate(ids) if id in ids[:place] or not id or any(map(str.isspace, id))]
    if wrong:
        raise ValueError(
            f"Section ids must be single words, each used once; change {', '.join(map(repr, wrong))}."
        )
    body = h(
        "main",
        h("h1", own(title)),
        h("div", intro, cls="kb-intro") if intro else None,
        _contents(sections) if len(sections) > 1 else None,
        *(_section(section) for section in sections),
    )
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(visible(title))}</title>\n"
        f"<style>\n{stylesheet()}\n{_PAGE_STYLE}\n</style>\n"
        f"</head>\n<body>\n{render(body)}\n</body>\n</html>\n"
    )


def _contents(sections: Sequence[Section]) -> Element:
    return h(
        "nav",
        h("ol", *(h("li", h("a", own(section.heading), href=f"#{section.id}")) for section in sections)),
        cls="kb-contents",
        aria_label="Contents",
    )


def _section(section: Section) -> Element:
    return h(
        "section",
        h("h2", own(section.heading), cls="kb-section-title", id=f"{section.id}-title"),
        h("p", own(section.lead), cls="kb-lead") if section.lead else None,
        section.element,
        cls="kb-section",
        id=section.id,
        aria_labelledby=f"{section.id}-title",
    )
