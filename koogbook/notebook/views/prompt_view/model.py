"""What a prompt view shows, as plain data: layers, messages, parameters, tools, changes, the answer, the calls."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from koogbook.notebook.views.diff_view.model import RoleMark

#: What a message is beside the call before it, of the same purpose.
Novelty = Literal["", "new", "edited"]

#: How a call stands; ``not sent`` is a history that no call has sent.
CallState = Literal["done", "failed", "stopped", "running", "not sent"]


class LayerRow(Struct, frozen=True, kw_only=True):
    """A layer: whether it is on, how many messages (or tools) it has, its tokens and their share of all."""

    name: str
    on: bool
    count: int
    tokens: int
    share: float


class MessageRow(Struct, frozen=True, kw_only=True):
    """One message as it was sent; ``as_text`` says that the history holds a call or a result there."""

    position: int
    role: RoleMark
    layer: str
    tokens: int
    text: str
    code: bool = False
    as_text: bool = False
    novelty: Novelty = ""
    picked: bool = False


class OffRow(Struct, frozen=True, kw_only=True):
    """A run of messages whose layers are off: numbers of the first and the last, how many, tokens of all."""

    first: int
    last: int
    count: int
    tokens: int
    layers: tuple[str, ...]


class CutRow(Struct, frozen=True, kw_only=True):
    """Rows that are left out of the middle: how many messages, and the page on which they begin."""

    messages: int
    page: int


Row = MessageRow | OffRow | CutRow


class Bracket(Struct, frozen=True):
    """A call and its results, first and last position; ``open``: a result is still missing."""

    first: int
    last: int
    open: bool = False


class Page(Struct, frozen=True):
    """Which rows of a long request are shown: page 0 is the start and the end, pages from 1 on have all rows."""

    number: int = 0
    count: int = 0
    words: str = ""


class Link(Struct, frozen=True):
    """What is said of another message, and its position."""

    about: str
    position: int


class MessageDetail(Struct, frozen=True, kw_only=True):
    """All about the selected message.

    ``origin`` says where it came from, a sentence each. ``facts`` are its id, name and the like. ``left_out``
    characters of a very long one are not in ``text``. ``python`` gets it.
    """

    position: int
    role: RoleMark
    layer: str
    novelty: Novelty
    tokens: int
    on: bool
    origin: tuple[str, ...]
    links: tuple[Link, ...]
    facts: tuple[tuple[str, str], ...]
    text: str
    left_out: int
    python: str


class ToolRow(Struct, frozen=True):
    """A tool that was on offer, with its JSON schema as text."""

    name: str
    description: str
    schema: str
    tokens: int


class Preview(Struct, frozen=True):
    """A message in one line; ``was`` is its line before, where it was changed."""

    position: int
    role: RoleMark
    text: str
    tokens: int
    was: str = ""


class Previews(Struct, frozen=True):
    """The first of some messages, how many they are, and their tokens."""

    shown: tuple[Preview, ...] = ()
    count: int = 0
    tokens: int = 0


class ChangeRow(Struct, frozen=True, kw_only=True):
    """What one interceptor did on the way; ``others`` are the other parts of the request that it changed, in words."""

    feature: str
    added: Previews
    taken_out: Previews
    changed: Previews
    others: tuple[str, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """What came back, in a few words and ``more`` of them; the text with ``left_out`` characters missing; the error."""

    state: CallState
    words: str
    more: tuple[str, ...] = ()
    text: str = ""
    left_out: int = 0
    error: str = ""


class CallRow(Struct, frozen=True, kw_only=True):
    """One call of the run, in the list of all; ``counted`` is what the provider counted."""

    number: int
    purpose: str
    path: str
    messages: int
    tools: int
    tokens: int
    counted: int | None
    seconds: float | None
    state: CallState
    streamed: bool = False


class Since(Struct, frozen=True):
    """What is other than in the call before, of the same purpose."""

    call: int
    new: int
    edited: int
    gone: int


class FullText(Struct, frozen=True):
    """A message in full, for who cannot click; ``left_out`` characters of a very long one are not in ``text``."""

    position: int
    role: RoleMark
    layer: str
    text: str
    left_out: int = 0


class PromptState(Struct, frozen=True, kw_only=True):
    """All that a prompt view shows of one call, or of a history that was not sent.

    ``tokens`` are estimates of all messages and tools, ``left`` of those whose layers are on. ``counted`` is what the
    provider counted, ``window`` how many tokens the model takes. ``absent`` are the layers that have nothing.
    """

    name: str
    call: CallRow
    calls: tuple[CallRow, ...]
    tokens: int
    left: int
    window: int | None
    layers: tuple[LayerRow, ...]
    absent: tuple[str, ...]
    rows: tuple[Row, ...]
    brackets: tuple[Bracket, ...]
    page: Page
    since: Since | None
    detail: MessageDetail | None
    params: tuple[tuple[str, str], ...]
    left_to_provider: tuple[str, ...]
    schema: str
    tools: tuple[ToolRow, ...]
    changes: tuple[ChangeRow, ...]
    answer: Answer
    notes: tuple[str, ...]
    texts: tuple[FullText, ...]
    texts_left_out: int

    @property
    def off(self) -> tuple[str, ...]:
        """The layers that are off."""
        return tuple(row.name for row in self.layers if not row.on)
