"""The prompt diff as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from msgspec.structs import replace

from koogbook.agents.run import Run
from koogbook.compression.fact_check import Fact, check_facts
from koogbook.errors import ViewError
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.notebook.views.diff_view.model import Choices, DiffState, FoldedRow, Form, Selection
from koogbook.notebook.views.diff_view.pages import find, first_message
from koogbook.notebook.views.diff_view.selection import (
    SelectedMessage,
    read,
    selected_message,
    sources_of,
    written,
)
from koogbook.notebook.views.diff_view.state import Comparison, diff_ledger
from koogbook.notebook.views.diff_view.text import diff_text
from koogbook.notebook.views.diff_view.view import diff_element, of_one_form
from koogbook.notebook.views.diff_view.ways import next_change, next_lost
from koogbook.notebook.views.look.isolates import set_apart
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.look.measure import count, percent
from koogbook.notebook.views.recorded import no_such_file, recorded
from koogbook.notebook.views.view import Action, View, run_behind, subject_of


class DiffView(View[DiffState]):
    """A compression, or two histories, side by side; made by ``kb.diff``.

    ``ledger`` is the record that is shown.
    """

    title = "Prompt diff"

    def __init__(
        self,
        ledger: Ledger,
        *,
        must_keep: Sequence[Fact] = (),
        name: str = "",
        run: Run | None = None,
        selected: str | None = None,
    ) -> None:
        self._run = run
        self._must_keep = must_keep
        self._name = name
        self._choices = Choices()
        self._take(ledger)
        super().__init__(ledger)
        if selected is not None:
            self._go(read(selected, ledger))

    def look(self) -> DiffState:
        """Both histories, with the fate of each message."""
        ledgers = self._ledgers()
        return self._compared.state(
            name=set_apart(self._name) or self._name_in_run(),
            selected=self._selection,
            choices=self._choices,
            compressions=tuple(_in_words(number, ledgers) for number in range(1, len(ledgers) + 1)),
            compression=self._number(),
        )

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return diff_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return diff_element(self.state)

    def live_element(self, element: Element, fault: str = "") -> Element:
        """The markup of the live form; of many rows it has one table, not one for each width."""
        # None where no newer state could be made: the last good picture stays.
        if self._state is not None and (state := of_one_form(self._state)) is not self._state:
            element = diff_element(state)
        return super().live_element(element, fault)

    @property
    def selected(self) -> SelectedMessage | None:
        """The selected message or sentence of a summary, with its fate and its sources, or None."""
        return selected_message(self.ledger, self._selection)

    def actions(self) -> Mapping[str, Action]:
        """Select, go on to changes, lost facts and sources, fold and unfold, turn pages, take another compression.

        - ``select``: ``before:12``, ``after:4`` or ``sentence:3.2``; ``12``, ``S1`` and ``S1.2`` do, too. What is
          selected already is let go of.
        - ``back``: select nothing. ``next``: the next change. ``lost``: the next lost fact. ``sources``: the first
          source of what is selected.
        - ``fold``: open or fold the run that begins with an original. ``unfold``: open all runs, or fold them.
        - ``page``: ``earlier``, ``later`` or a number; 0 is the start and the end.
        - ``form``: ``side by side``, ``inline``, or empty: as the width has it.
        - ``compression``: another one of the run, from 1.
        """
        return {
            "select": self._select,
            "back": lambda value: self.select(""),
            "next": self._next,
            "lost": self._lost,
            "sources": self._sources,
            "fold": self._fold,
            "unfold": self._unfold,
            "page": self._page,
            "form": self._form,
            "compression": self._compression,
        }

    # ------------------------------------------------------------------------------------- selection

    @property
    def _selection(self) -> Selection:
        return read(self._subject.selected, self.ledger)

    def _select(self, value: str) -> None:
        wanted = read(value, self.ledger)
        if wanted == self._selection:
            self.select("")
        else:
            self._go(wanted)

    def _go(self, selection: Selection) -> None:
        """Select something and turn to the page that it is on."""
        bands, parts = self._compared.bands(self._choices), self._compared.parts(self._choices)
        place = find(bands, selection)
        if place is not None and not parts.shows(self._choices.page, place.band, len(bands)):
            self._choices = replace(self._choices, page=parts.page_of(place.band))
        self.select(written(selection))

    def _next(self, value: str) -> None:
        found = next_change(self._compared.bands(self._choices), self._selection)
        if found is None:
            raise ViewError("Nothing changed: both histories are the same.")
        self._go(found)

    def _lost(self, value: str) -> None:
        found = next_lost(self._compared.facts, self._selection)
        if found is None:
            raise ViewError(
                "No fact is lost."
                if self._compared.facts
                else "No facts are looked for: name them with kb.diff(..., must_keep=[...])."
            )
        self._go(found)

    def _sources(self, value: str) -> None:
        selection = self._selection
        sources = sources_of(self.ledger, selection)
        if not sources:
            what = (
                f"{written(selection)} has" if selection is not None else "Nothing is selected, so there are"
            )
            raise ViewError(f"{what} no sources: they are those of a summary, or of a sentence such as S1.1.")
        self._go(sources[0])

    # ------------------------------------------------------------------------------------- folds, pages, form

    def _fold(self, value: str) -> None:
        keys = {row.key for row in self._folded_rows()}
        if not value.isdecimal() or int(value) not in keys:
            there = ", ".join(map(str, sorted(keys)[:10])) or "none"
            raise ViewError(f"No run begins with message {value!r}. Runs begin with: {there}.")
        self._fold_anew(replace(self._choices, toggled=self._choices.toggled ^ {int(value)}), int(value))

    def _unfold(self, value: str) -> None:
        if not self._folded_rows():
            raise ViewError("There is no run of messages to fold or unfold.")
        all_open = not self._choices.all_open
        first = first_message(self.state.bands)
        self._fold_anew(replace(self._choices, all_open=all_open, toggled=frozenset()), first)

    def _folded_rows(self) -> list[FoldedRow]:
        bands = self._compared.bands(self._choices)
        return [row for band in bands for row in band.left if isinstance(row, FoldedRow)]

    def _fold_anew(self, choices: Choices, at: Selection) -> None:
        """Fold otherwise, and show the page that something stands on now."""
        bands, parts = self._compared.bands(choices), self._compared.parts(choices)
        place = find(bands, at)
        self._choices = replace(choices, page=0 if place is None else parts.page_of(place.band))

    def _page(self, value: str) -> None:
        pages, here = len(self._compared.parts(self._choices).pages), self._choices.page
        wanted = {"earlier": here - 1, "later": here + 1}.get(value, -1)
        if value.isdecimal() and len(value) < 10:
            wanted = int(value)
        if not pages:
            raise ViewError("All rows are shown: this diff has one page.")
        if not 0 <= wanted <= pages:
            raise ViewError(
                f"There is no page {value!r} from page {here}. There are 1 to {pages}, earlier and later, and 0 for "
                "the start and the end."
            )
        self._choices = replace(self._choices, page=wanted)

    def _form(self, value: str) -> None:
        forms: dict[str, Form] = {form: form for form in get_args(Form)}
        if value not in forms:
            raise ViewError(
                f"There is no form {value!r}. There are 'side by side' and 'inline', and '' for the one that fits."
            )
        self._choices = replace(self._choices, form=forms[value])

    # ------------------------------------------------------------------------------------- the compressions of a run

    def _compression(self, value: str) -> None:
        if self._run is None:
            raise ViewError("This diff is of one compression. All of a run: kb.diff(run).")
        ledger = compression_of(self._run, int(value) if value.isdecimal() and len(value) < 10 else value)
        self._subject.views.discard(self)
        self._subject = subject_of(self.title, ledger)
        self._subject.views.add(self)
        self._choices = Choices(form=self._choices.form)
        self._take(ledger)

    def _take(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._compared = Comparison(ledger, check_facts(ledger, self._must_keep))

    def _ledgers(self) -> Sequence[Ledger]:
        return () if self._run is None else self._run.compressions

    def _number(self) -> int:
        """Which compression of the run this is, from 1; 0 without a run."""
        places = [place for place, one in enumerate(self._ledgers(), start=1) if one is self.ledger]
        return places[0] if places else 0

    def _name_in_run(self) -> str:
        if self._run is None:
            return ""
        return f"{set_apart(self._run.strategy.name)}, compression {self._number()} of {len(self._ledgers())}"


def compression_of(run: Run, number: object = None) -> Ledger:
    """One of the compressions of a run, from 1; the last one where none is named.

    Raises:
        ViewError: The run compressed nothing, or not so often.
    """
    found = run.compressions
    if not found:
        raise ViewError(
            f"The run of session {run.session_id!r} compressed nothing, so there is no diff of it. A node does it: "
            "strategy.compress_history(kb.WholeHistory()), behind an edge with when=kb.history_over(max_tokens=...). "
            "Two histories: kb.diff(before, after)."
        )
    if number is None:
        return found[-1]
    if not isinstance(number, int) or not 1 <= number <= len(found):
        there = "is 1" if len(found) == 1 else f"are 1 to {len(found)}"
        raise ViewError(
            f"The run of session {run.session_id!r} has {count(len(found), 'compression')} and no {number!r}: there "
            f"{there}."
        )
    return found[number - 1]


def _in_words(number: int, ledgers: Sequence[Ledger]) -> str:
    ledger = ledgers[number - 1]
    share = percent(-ledger.saved_share, signed=True) if ledger.status == "applied" else ledger.status
    return f"{number} of {len(ledgers)} \u00b7 {ledger.strategy} \u00b7 {share}"


def diff(
    before: Any,
    after: Any = None,
    *,
    compression: int | None = None,
    must_keep: Sequence[Fact] = (),
    name: str = "",
    selected: str | None = None,
    run_id: str | None = None,
) -> DiffView:
    """Two histories side by side, with the fate of each message.

    Args:
        before: A run, its events or the path of its trace, the ledger of a compression (``run.compressions[0]``), what
            ``kb.compress`` gave, or any history.
        after: Another history, where ``before`` is one.
        compression: Which compression of the run, from 1; the last one where none is named.
        must_keep: Facts that must survive: texts, patterns, or functions of a message.
        name: What it is of.
        selected: What to show in detail: ``before:12``, ``after:4``, ``S1``, or ``S1.2`` for a sentence.
        run_id: Which run of a trace that holds several.

    Raises:
        TypeError: One history alone, or a compression of something that is no run.
        TraceError: The file is not there, is no trace, or cannot be read.
        ViewError: The run has no such compression, or there is nothing of that name to select.
    """
    before, after = run_behind(recorded(before, run_id)), run_behind(recorded(after))
    if isinstance(before, Run) and after is None:
        ledger = compression_of(before, compression)
        return DiffView(ledger, must_keep=must_keep, name=name, run=before, selected=selected)
    if compression is not None:
        raise TypeError(f"compression={compression!r} is one of a run's: kb.diff(run, compression=1).")
    ledger = getattr(before, "ledger", before)
    if not isinstance(ledger, Ledger):
        if after is None:
            raise TypeError(
                f"diff takes a run, the ledger of a compression, or two histories; got {type(before).__name__} alone. "
                f"For two histories: kb.diff(before, after).{no_such_file(before)}"
            )
        ledger = diff_ledger(_history(before), _history(after))
    return DiffView(ledger, must_keep=must_keep, name=name, selected=selected)


def _history(given: Any) -> tuple[Message, ...]:
    """The messages of a history; a run stands for its last committed prompt."""
    whole = given.prompt if isinstance(given, Run) else given
    found = getattr(whole, "messages", whole)
    if isinstance(found, list | tuple) and all(isinstance(one, Message) for one in found):
        return tuple(found)
    raise TypeError(
        f"diff takes histories: runs, prompts, transcripts, checkpoints or lists of messages; not {given!r:.60}."
        f"{no_such_file(given)}"
    )
