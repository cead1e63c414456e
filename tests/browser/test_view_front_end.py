"""The script of the live views in a real browser, driven by a model as anywidget gives one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_trees import TREES

import koogbook as kb
from koogbook.notebook.views.look.styles import widget_sheet
from koogbook.notebook.widgets.patch import changes

SCRIPT = (Path(kb.__file__).parent / "notebook" / "widgets" / "view.js").read_text(encoding="utf-8")
QUOTED = json.dumps(SCRIPT).replace("</", "<\\/")

#: The part of anywidget's model that a script may use: what a front end keeps, and what it hears and says.
MODEL = """
class Model {
  constructor(state) { this.state = state; this.heard = {}; this.sent = []; this.alive = { comm_live: true };
    this.widget_manager = { get_model: async () => this.alive }; }
  get(name) { return this.state[name]; }
  set(name, value) { this.state[name] = value; }
  on(name, call) { (this.heard[name] ??= []).push(call); }
  off(name, call) { this.heard[name] = (this.heard[name] ?? []).filter((one) => one !== call); }
  send(message) { this.sent.push(message); }
  say(name, message) { for (const call of [...(this.heard[name] ?? [])]) call(message); }
  ears() { return Object.values(this.heard).reduce((sum, calls) => sum + calls.length, 0); }
}
"""
PAGE = f"""
<!doctype html><html><head><style>{widget_sheet()}</style></head><body>
<div id="one"></div><div id="two"></div>
<script type="module">
{MODEL}
const source = {QUOTED};
const made = await import(URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }})));
window.begin = (tree) => {{
  for (const end of window.ends ?? []) end();
  for (const id of ["one", "two"]) document.getElementById(id).replaceChildren();
  const widget = made.default();
  const model = new Model({{ tree, version: 0, model_name: "m" }});
  const one = document.getElementById("one"), two = document.getElementById("two");
  const leave = widget.initialize({{ model }});
  const closeOne = widget.render({{ model, el: one }}), closeTwo = widget.render({{ model, el: two }});
  Object.assign(window, {{ model, widget, ends: [closeOne, closeTwo, leave] }});
}};
window.html = (id) => document.getElementById(id).firstChild?.firstChild?.outerHTML ?? "";
const OWN = new Set(["tabindex", "data-lm-suppress-shortcuts"]);  // what the script itself adds
const plain = (node) => node.nodeType === 3 ? node.data : [node.namespaceURI, node.tagName,
  [...node.attributes].map((one) => [one.name, one.value]).filter(([name]) => !OWN.has(name)).sort(),
  [...node.childNodes].map(plain)];
window.shape = (id) => JSON.stringify(plain(document.getElementById(id).firstChild.firstChild));
window.ready = true;
</script></body></html>
"""


@pytest.fixture(scope="module")
def front(chromium: Any) -> Iterator[Any]:
    """A page with the script in it; ``begin(tree)`` opens two views of one model."""
    context = chromium.new_context(viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.set_content(PAGE)
    page.wait_for_function("window.ready === true")
    yield page
    context.close()


def tree_of(*children: Any, **attributes: str) -> list[Any]:
    """A small tree."""
    return ["div", attributes, list(children)]


def button(do: str, value: str = "", **more: str) -> list[Any]:
    """A button of a tree."""
    return ["button", {"data-do": do, "data-value": value, **more}, [do]]


THREE = tree_of(button("select", "a"), button("select", "b"), button("select", "c"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(TREES, min_size=2, max_size=4))
def test_following_changes_shows_what_drawing_anew_shows(front: Any, trees: list[Any]) -> None:
    """After any changes both open views look as if the last tree had been drawn by itself. [KB-138]"""
    front.evaluate("tree => window.begin(tree)", trees[0])
    for version, (before, after) in enumerate(pairwise(trees)):
        message = {"from": version, "version": version + 1, "changes": changes(before, after)}
        front.evaluate("message => window.model.say('msg:custom', message)", message)
    followed = front.evaluate("[window.shape('one'), window.shape('two')]")
    front.evaluate("tree => window.begin(tree)", trees[-1])

    assert followed == [front.evaluate("window.shape('one')")] * 2


def test_text_is_never_read_as_markup(front: Any) -> None:
    """A model that writes HTML gets it shown, not made. [NBK-11]"""
    evil = '<img src=x onerror="window.hurt = 1"><script>window.hurt = 1</script>'
    front.evaluate("tree => window.begin(tree)", tree_of(evil, title=evil))
    front.wait_for_timeout(50)

    assert front.evaluate(
        "[document.querySelectorAll('#one img, #one script').length, window.hurt ?? 0]"
    ) == [0, 0]


@pytest.mark.parametrize("attribute", ["onclick", "onload", "onfocus"])
def test_no_handler_comes_out_of_a_tree(front: Any, attribute: str) -> None:
    """An attribute that would run something is not set. [NBK-11]"""
    front.evaluate("tree => window.begin(tree)", tree_of("a", **{attribute: "window.hurt = 1"}))

    assert attribute not in front.evaluate("window.html('one')")


def test_a_click_sends_its_word_and_nothing_else(front: Any) -> None:
    """What a click means is known to the kernel alone."""
    front.evaluate("tree => window.begin(tree)", THREE)
    front.click("#one button >> nth=1")

    assert front.evaluate("window.model.sent") == [{"do": "select", "value": "b"}]


def test_one_stop_for_tab_and_arrows_inside(front: Any) -> None:
    """A view is one stop on the way of Tab; the arrows reach everything in it. [NBK-11]"""
    front.evaluate("tree => window.begin(tree)", THREE)
    stops = front.evaluate("[...document.querySelectorAll('#one button')].map(one => one.tabIndex)")
    front.focus("#one button >> nth=0")
    front.keyboard.press("ArrowRight")
    front.keyboard.press("ArrowDown")
    front.keyboard.press("Enter")

    assert (stops, front.evaluate("window.model.sent")) == ([0, -1, -1], [{"do": "select", "value": "c"}])


def test_a_key_clicks_the_button_that_names_it(front: Any) -> None:
    """Every key has a button. [NBK-11]"""
    front.evaluate(
        "tree => window.begin(tree)", tree_of(button("select", "a"), button("fork", "", **{"data-key": "f"}))
    )
    front.focus("#one button >> nth=0")
    front.keyboard.press("f")

    assert front.evaluate("window.model.sent") == [{"do": "fork", "value": ""}]


def test_keys_stay_inside_the_view(front: Any) -> None:
    """What a key does in a view, it does not do in the notebook as well. [NBK-11]"""
    front.evaluate(
        "tree => { window.begin(tree); window.leaked = 0; "
        "document.body.addEventListener('keydown', () => { window.leaked += 1; }); }",
        THREE,
    )
    front.focus("#one button >> nth=0")
    front.keyboard.press("ArrowRight")
    marked = front.evaluate("document.activeElement.dataset.lmSuppressShortcuts")

    assert (front.evaluate("window.leaked"), marked) == (0, "true")


def test_the_focus_stays_where_it_was_when_its_element_is_made_anew(front: Any) -> None:
    """Somebody who works with the keyboard is not thrown out by an update. [NBK-11]"""
    front.evaluate("tree => window.begin(tree)", THREE)
    front.focus("#one button >> nth=1")
    other = ["span", {"data-do": "select", "data-value": "b"}, ["b"]]
    message = {"from": 0, "version": 1, "changes": changes(THREE, tree_of(THREE[2][0], other, THREE[2][2]))}
    front.evaluate("message => window.model.say('msg:custom', message)", message)

    assert front.evaluate("[document.activeElement.tagName, document.activeElement.dataset.value]") == [
        "SPAN",
        "b",
    ]


def test_a_change_that_was_missed_is_asked_for(front: Any) -> None:
    """A view that fell behind asks for all of it, and shows it. [KB-138]"""
    front.evaluate("tree => window.begin(tree)", THREE)
    front.evaluate(
        "window.model.say('msg:custom', {from: 7, version: 8, changes: [[[], 'a', {title: 'x'}]]})"
    )
    asked = front.evaluate("window.model.sent")
    front.evaluate("tree => window.model.say('msg:custom', {tree, version: 8})", tree_of("all of it"))

    assert (asked, front.evaluate("window.html('two')")) == ([{"ask": "all"}], "<div>all of it</div>")


def test_a_view_that_is_opened_later_begins_with_what_is_shown_now(front: Any) -> None:
    """Two views of one object agree, whenever they were opened. [NBK-11]"""
    front.evaluate("tree => window.begin(tree)", tree_of("before"))
    front.evaluate("window.model.say('msg:custom', {from: 0, version: 1, changes: [[[0], 't', 'after']]})")
    front.evaluate(
        "window.ends[1](); document.getElementById('two').replaceChildren(); "
        "void window.widget.render({model: window.model, el: document.getElementById('two')})"
    )

    assert front.evaluate("window.html('two')") == front.evaluate("window.html('one')") == "<div>after</div>"


def test_closing_one_view_leaves_the_other_alive(front: Any) -> None:
    """A view that is closed takes nothing from its neighbour, and closing it twice does no harm. [KB-134]"""
    front.evaluate("tree => { window.begin(tree); window.ends[0](); window.ends[0](); }", tree_of("a"))
    front.evaluate("window.model.say('msg:custom', {from: 0, version: 1, changes: [[[0], 't', 'b']]})")

    assert (front.evaluate("window.html('one')"), front.evaluate("window.html('two')")) == (
        "",
        "<div>b</div>",
    )


def test_nothing_listens_any_more_when_all_is_closed(front: Any) -> None:
    """Closing frees. [KB-134]"""
    front.evaluate("tree => { window.begin(tree); for (const end of window.ends) end(); }", tree_of("a"))

    assert front.evaluate("window.model.ears()") == 0


def test_a_view_whose_kernel_is_gone_says_so_and_sends_nothing(front: Any) -> None:
    """After a restart the picture stays, with what to do about it, and its buttons are off. [KB-137]"""
    stale = ["div", {"class": "kb-todo kb-stale"}, ["run the cell again"]]
    front.evaluate("tree => window.begin(tree)", tree_of(stale, button("select", "a")))
    hidden = front.is_visible("#one .kb-stale")
    front.evaluate("window.model.alive.comm_live = false; window.model.say('comm_live_update')")
    front.wait_for_selector("#one .kb-stale", state="visible")
    front.click("#one button")

    assert (hidden, front.evaluate("window.model.sent")) == (False, [])


@pytest.mark.parametrize(("paper", "theme"), [("#ffffff", "light"), ("#111111", "dark")])
def test_the_theme_is_that_of_what_lies_behind(front: Any, paper: str, theme: str) -> None:
    """A view is dark on dark paper, whoever painted it. [NBK-11]"""
    front.evaluate("paper => { document.body.style.background = paper; }", paper)
    front.evaluate("tree => window.begin(tree)", tree_of("a"))
    front.wait_for_selector(f'#one .kb-root[data-theme="{theme}"]', state="attached")
    front.evaluate("document.body.style.background = ''")


def test_what_is_typed_is_sent_once_it_rests(front: Any) -> None:
    """A field sends its text, not each key."""
    front.evaluate("tree => window.begin(tree)", tree_of(["input", {"data-do": "find", "value": ""}, []]))
    front.type("#one input", "answer", delay=10)
    front.wait_for_timeout(350)

    assert front.evaluate("window.model.sent") == [{"do": "find", "value": "answer"}]


def test_motion_stops_where_it_is_not_wanted(chromium: Any) -> None:
    """The arc of what runs turns, and stands still for who asked for less motion. [NBK-11]"""

    def animation(wish: str) -> str:
        context = chromium.new_context(reduced_motion=wish)
        page = context.new_page()
        page.set_content(
            f'<style>{widget_sheet()}</style><div class="kb-root"><svg><path class="kb-spin"/></svg></div>'
        )
        found: str = page.evaluate("getComputedStyle(document.querySelector('.kb-spin')).animationName")
        context.close()
        return found

    assert (animation("no-preference"), animation("reduce")) == ("kb-spin", "none")


def test_what_is_selected_is_brought_into_view(front: Any) -> None:
    """Where a table scrolls inside of a view, a selection by key is not out of sight. [NBK-11]"""

    def rows(picked: int) -> list[Any]:
        many = [
            [
                "p",
                {
                    "style": "height:30px",
                    "data-do": "select",
                    "data-item": "",
                    "aria-pressed": str(at == picked).lower(),
                },
                [],
            ]
            for at in range(60)
        ]
        return tree_of(["div", {"class": "kb-scroll", "style": "height:200px;overflow:auto"}, many])

    front.evaluate("tree => window.begin(tree)", rows(-1))
    message = {"from": 0, "version": 1, "changes": changes(rows(-1), rows(50))}
    front.evaluate("message => window.model.say('msg:custom', message)", message)
    inside = front.evaluate("""() => { const box = document.querySelector('#one .kb-scroll').getBoundingClientRect();
        const row = document.querySelector('#one [aria-pressed=true]').getBoundingClientRect();
        return row.top >= box.top && row.bottom <= box.bottom; }""")

    assert inside


def test_a_strict_policy_takes_nothing_away(chromium: Any) -> None:
    """Where a hub allows no inline style and no script but its own, a view looks the same. [NBK-11]"""
    policy = "default-src 'none'; img-src data:; style-src 'nonce-k'; script-src 'nonce-k' blob:"
    strict = PAGE.replace("<style>", '<style nonce="k">').replace("<script ", '<script nonce="k" ')
    strict = strict.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{policy}">')
    context = chromium.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if "Policy" in message.text else None)
    page.set_content(strict)
    page.wait_for_function("window.ready === true")
    page.evaluate("tree => window.begin(tree)", tree_of("a", style="padding-left: 31px"))
    seen = page.evaluate("getComputedStyle(document.querySelector('#one .kb-root > div')).paddingLeft")
    before = list(refused)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">')")
    page.wait_for_timeout(100)
    context.close()

    # What is refused in the end was put there to see that refusals are heard.
    assert (seen, before, len(refused) > 0) == ("31px", [], True)
