"""What all views have in common: what they are of, what is chosen in them, and their forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet, WeakValueDictionary

from koogbook.agents.run import Run
from koogbook.errors import ViewError
from koogbook.notebook.views.look.markup import Element, Theme, h, render_static

#: An output that is not trusted loses this and stays light, on paper of its own. Colours are in each element there, and
#: pictures are images, so that turning all of it is the one rule that reaches everything.
_TURNS_DARK = (
    '<style>[data-jp-theme-light="false"] .kb-static,body.vscode-dark .kb-static'
    "{filter:invert(.88) hue-rotate(180deg)}</style>"
)

State = TypeVar("State")
Action = Callable[[str], None]


class Subject:
    """What views are of, with what is selected in it: all views of one object have one of these in common."""

    __slots__ = ("__weakref__", "of", "selected", "views")

    def __init__(self, of: Any) -> None:
        self.of = of
        self.selected = ""
        self.views: WeakSet[View[Any]] = WeakSet()


def run_behind(of: Any) -> Any:
    """The run that the handle of a watched one stands for, as soon as it has begun; anything else as it is."""
    run = getattr(of, "run", None)
    return run if isinstance(run, Run) else of


_subjects: WeakValueDictionary[tuple[str, int], Subject] = WeakValueDictionary()


def subject_of(kind: str, of: Any) -> Subject:
    """The subject of all views of this kind and this very object, as long as there is one."""
    # A subject holds its object, so the number stays this object's own for as long as the entry is there.
    found = _subjects.get((kind, id(of)))
    if found is None:
        found = _subjects[kind, id(of)] = Subject(of)
    return found


class View(ABC, Generic[State]):
    """A picture of something: its state as plain data, and that state as text, as HTML and as a live view.

    In a notebook it shows itself; ``print(view)`` gives the text. Same input, same bytes. Whatever a click or a key
    does is ``view.act(do, value)``.
    """

    title: ClassVar[str] = ""
    #: Views of one object share their selection where this word is the same; empty stands for the title.
    shares: ClassVar[str] = ""
    #: The sentence that says how to get it as a file that is no page, with a space before it, where one can.
    exports: ClassVar[str] = ""

    def __init__(self, of: Any) -> None:
        self._subject = subject_of(self.shares or self.title, of)
        self._subject.views.add(self)
        self._state: State | None = None
        self._went_on = False
        self._watchers: list[Callable[[], None]] = []
        #: What the last click could not do; shown in the live view, and gone after the next one.
        self.trouble = ""

    # ------------------------------------------------------------------------------------- what a view is

    @abstractmethod
    def look(self) -> State:
        """The state as it is now; a pure function of what the view is of and of what is chosen."""

    @abstractmethod
    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""

    @property
    @abstractmethod
    def element(self) -> Element:
        """The markup, for a page."""

    @property
    def selected(self) -> Any:
        """What is selected, as a Python object, or None."""
        return self._subject.selected or None

    @property
    def goes_on(self) -> bool:
        """Whether what it shows is still changing by itself."""
        return False

    def actions(self) -> Mapping[str, Action]:
        """What can be done in it, by the word that the front end sends."""
        return {}

    # ------------------------------------------------------------------------------------- what one does with it

    @property
    def state(self) -> State:
        """What it shows, as plain data."""
        # What was seen while it went on is not how it ended.
        if self._state is None or self._went_on or self.goes_on:
            self._went_on = self.goes_on
            self._state = self.look()
        return self._state

    def refresh(self) -> None:
        """Look again, and show it where the view is live."""
        self._state = None
        for watcher in tuple(self._watchers):
            watcher()

    def act(self, do: str, value: str = "") -> None:
        """Do what a click does: ``view.act("select", "trip/answer")``; all views of the same object follow.

        Raises:
            ViewError: This view cannot do that; the message names what it can.
        """
        actions = self.actions()
        if do not in actions:
            near = get_close_matches(do, actions, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ViewError(
                f"{self.title} cannot do {do!r}.{hint} It can: {', '.join(sorted(actions)) or 'nothing'}."
            )
        self.trouble = ""
        actions[do](value)
        self.refresh()

    def select(self, what: str) -> None:
        """Select something in this view and in all others of the same object; an empty text selects nothing."""
        self._subject.selected = what
        for view in tuple(self._subject.views):
            if view is not self:
                view.refresh()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call a function whenever the view has changed; gives the function that ends it."""
        self._watchers.append(watcher)

        def stop() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return stop

    def close(self) -> None:
        """End the live view; what it showed last stays as a picture. A closed view can be shown again."""
        from koogbook.notebook.frame import close

        close(self)

    # ------------------------------------------------------------------------------------- forms

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def to_html(self, theme: Theme = "light") -> str:
        """HTML that stands alone: no script, nothing from outside; in a dark notebook that trusts it, it turns dark."""
        written = render_static(self.element, theme)
        return f'{_TURNS_DARK}<div class="kb-static">{written}</div>' if theme == "light" else written

    def live_element(self, element: Element, fault: str = "") -> Element:
        """The markup of the live form: what every view has around it, and its element.

        ``fault`` says why the element is not the newest one.
        """
        from koogbook.notebook.views.look.isolates import phrase, told_apart
        from koogbook.notebook.views.look.pieces import status_glyph, status_word

        stale = h(
            "div",
            status_glyph("warning"),
            h("span", "A picture, no longer live: the kernel is gone. Run the cell again."),
            cls="kb-todo kb-stale",
            live={"role": "status"},
        )
        said = fault or self.trouble
        trouble = (
            h("div", status_word("failed", phrase(told_apart(said))), cls="kb-trouble") if said else None
        )
        return h("div", stale, trouble, element)

    def save(self, path: str | Path) -> Path:
        """Write a page with this view alone, in both themes, to a file ``.html`` or ``.htm``; gives the path.

        Raises:
            TypeError: It is no path.
            ViewError: Another suffix, or the file cannot be written; nothing was.
        """
        from koogbook.notebook.views.page import Section, page
        from koogbook.notebook.views.saving import target_with_suffix, write

        there = (".html", ".htm")
        target = target_with_suffix(
            "save", path, there, f"It writes a page, {' or '.join(there)}.{self.exports}"
        )
        whole = page(self.title, None, [Section("view", self.title, "", self.element)])
        return write(target, whole.encode("utf-8"))

    def _ipython_display_(self) -> None:
        from koogbook.notebook.frame import show

        show(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.to_html()}
