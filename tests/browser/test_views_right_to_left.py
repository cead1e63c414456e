"""Texts from right to left in every view, as a browser draws them: what stands beside one keeps its place."""

from __future__ import annotations

from typing import Any

import pytest
from bidi_stories import ARABIC, FORMS, HEBREW, LATIN, SHORT

from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.page import Section, page

#: Pieces that do not stand in the order in which they are read, an isolate or a word each: one begins right of the end
#: of the piece before it, or in a line below.
_OUT_OF_ORDER = """
() => {
  const blocks = new Map(), found = [];
  const block = (node) => {
    const text = node.closest('svg text');
    if (text || node.closest('svg')) return text;
    for (let at = node; at; at = at.parentElement)
      if (!getComputedStyle(at).display.startsWith('inline')) return at;
  };
  const add = (node, words, range) => {
    const inside = block(node.parentElement);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0.5);
    if (!inside || !boxes.length || node.parentElement.closest('.kb-hidden, title, desc')) return;
    const tops = boxes.map((box) => box.top), first = Math.min(...tops), last = Math.max(...tops);
    const piece = {
      words,
      begin: Math.min(...boxes.filter((box) => box.top < first + 4).map((box) => box.left)),
      end: Math.max(...boxes.filter((box) => box.top > last - 4).map((box) => box.right)),
      middle: first + boxes.find((box) => box.top < first + 4).height / 2,
      bottom: Math.max(...boxes.map((box) => box.bottom)),
    };
    if (!blocks.has(inside)) blocks.set(inside, []);
    blocks.get(inside).push(piece);
  };
  const visit = (node) => {
    const range = document.createRange();
    if (node.nodeType === 1) {
      if (node.tagName === 'BDI' || node.getAttribute('dir') === 'auto') {
        range.selectNodeContents(node);
        add(node, node.textContent, range);
      } else for (const child of node.childNodes) visit(child);
    } else if (node.nodeType === 3) {
      for (const word of node.data.matchAll(/\\u2068[^\\u2069]*\\u2069|[^\\s\\u2068]+/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        add(node, word[0], range);
      }
    }
  };
  document.querySelectorAll('details').forEach((one) => { one.open = true; });
  visit(document.querySelector('.kb-card'));
  for (const pieces of blocks.values())
    pieces.slice(1).forEach((piece, place) => {
      const before = pieces[place];
      const inLine = piece.middle < before.bottom;
      if (inLine && piece.begin < before.end - 1) found.push(`${piece.words} before ${before.words}`);
    });
  return [found, [...blocks.values()].reduce((sum, pieces) => sum + pieces.length, 0)];
}
"""


def document(element: Element) -> str:
    """An element on a page of its own."""
    return page("Right to left", None, [Section("one", "One", "", element)])


def out_of_order(shown: Any) -> list[str]:
    """The pieces of a page that stand left of what is read before them."""
    found, pieces = shown.evaluate(_OUT_OF_ORDER)
    assert pieces > 3
    return list(found)


@pytest.mark.parametrize("width", [1100, 640])
@pytest.mark.parametrize("text", [LATIN, SHORT, HEBREW, ARABIC], ids=["latin", "short", "hebrew", "arabic"])
@pytest.mark.parametrize("view", FORMS)
def test_what_stands_beside_a_name_has_the_same_order_as_beside_a_latin_one(
    chromium_page: Any, view: str, text: str, width: int
) -> None:
    """Numbers, ids and arrows, in sentences, tables and pictures. [KB-046]"""
    assert out_of_order(chromium_page(document(FORMS[view](text)[0]), width=width)) == []


def test_a_name_that_is_not_set_apart_would_be_found(chromium_page: Any) -> None:
    """What is measured above does turn. [KB-046]"""
    turned = h("div", h("p", f"{SHORT} 3 \u2192 4"), h("p", f"a {LATIN} 3 \u2192 4"), cls="kb-card")

    assert out_of_order(chromium_page(document(turned))) != []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", FORMS)
def test_such_names_stay_in_their_boxes(
    chromium_page: Any, sideways: Any, collisions: Any, view: str, theme: str
) -> None:
    """No text of a picture lies on another, and the page does not scroll sideways. [KB-046]"""
    shown = chromium_page(document(FORMS[view](HEBREW)[0]), width=640, theme=theme)

    assert (collisions(shown), sideways(shown)) == ([], 0)


def test_a_long_message_from_right_to_left_shows_its_beginning(chromium_page: Any) -> None:
    """Where there is no room it is its end that is not seen. [KB-046]"""
    words = " ".join([HEBREW.partition(":")[0]] * 40)
    shown = chromium_page(document(FORMS["diff"](words)[0]), width=1100)
    seen = shown.evaluate(
        """() => [...document.querySelectorAll('td div[dir=auto]')].filter((one) => one.scrollWidth > one.clientWidth)
        .map((one) => {
          const range = document.createRange(), text = document.createTreeWalker(one, 4).nextNode();
          range.setStart(text, 0); range.setEnd(text, 1);
          const letter = range.getBoundingClientRect(), box = one.getBoundingClientRect();
          return letter.left >= box.left && letter.right <= box.right + 1;
        })"""
    )

    assert seen
    assert all(seen)
