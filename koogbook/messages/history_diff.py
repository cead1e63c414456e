"""What became of each message between two histories, whoever changed them.

A message is found again by its stored id, wherever it stands; without a shared id by role, name and content;
and last, between two messages that were found, by most of its words. Nothing is hashed beyond that: contents
are compared only where the ids leave a choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from itertools import repeat

from msgspec import Struct

from koogbook.messages.ledger import Fate, MessageFate
from koogbook.messages.message import RESERVED_NAMES, Message
from koogbook.messages.searchable import searchable_text
from koogbook.messages.word_diff import longest_increasing
from koogbook.messages.words import distinct_words

#: The share of words in common from which on a message counts as an edited other one.
LEAST_SIMILARITY = 0.6

_CANDIDATES = 8
_MOST_COMPARED = 200_000  # characters
_SAME_ID = "same id, other content"


class HistoryDiff(Struct, frozen=True):
    """One fate per original message, in their order, and the positions of the messages that are new.

    Fates are ``kept``, ``edited`` and ``dropped``: what a summary took up is known to the compression alone.
    """

    fates: tuple[MessageFate, ...]
    new_positions: tuple[int, ...]


def diff_messages(
    before: Sequence[Message], after: Sequence[Message], *, new_ids: Collection[str] = ()
) -> HistoryDiff:
    """Find each message of one history in another one.

    Same id: kept, or edited where role, name or parts differ. No shared id: kept where role, name and parts
    are the same; edited where it stands between the same neighbours, with the same role and at least 60 % of
    its words. Metadata, time and usage, which no model sees, do not count. A kept message may stand elsewhere
    than before.

    Args:
        before: The first history.
        after: The second one.
        new_ids: Messages of ``after`` that are known to be new, whatever they say: only a shared id finds them.
    """
    matches = _Matches(before, after, new_ids)
    matches.match_ids()
    if matches.may_find_more():
        matches.match_contents()
        matches.match_words()
    return matches.diff()


def same_content(one: Message, other: Message) -> bool:
    """Whether two messages say the same to a model: role, name and parts."""
    return one is other or (one.role == other.role and one.parts == other.parts and one.name == other.name)


class _Matches:
    """Where each original that was found stands now, while the rules are tried one after the other."""

    def __init__(
        self, before: Sequence[Message], after: Sequence[Message], new_ids: Collection[str] = ()
    ) -> None:
        self.before = before
        self.after = after
        self.new_ids = new_ids
        self.places: dict[int, int] = {}
        self.taken: set[int] = set()
        self.edits: dict[int, str] = {}
        self.words: dict[int, set[str]] = {}

    def put(self, position: int, place: int, edit: str = "") -> None:
        self.places[position] = place
        self.taken.add(place)
        if edit:
            self.edits[position] = edit

    def new_positions(self) -> tuple[int, ...]:
        taken = self.taken
        if len(taken) == len(self.after):
            return ()
        return tuple(place for place in range(len(self.after)) if place not in taken)

    def open_positions(self) -> list[int]:
        """Where a message stands that was not found yet and may still be."""
        return [place for place in self.new_positions() if self.after[place].id not in self.new_ids]

    def match_ids(self) -> None:
        before, after = self.before, self.after
        by_id = {message.id: place for place, message in enumerate(after)}
        looked_up = enumerate(map(by_id.get, [message.id for message in before]))
        found = {position: place for position, place in looked_up if place is not None}
        taken = set(found.values())
        if len(by_id) < len(after) or len(taken) < len(found):
            self._match_repeated_ids()
            return
        self.places, self.taken = found, taken
        for position, place in found.items():
            if not same_content(before[position], after[place]):
                self.edits[position] = _SAME_ID

    def may_find_more(self) -> bool:
        """Whether a new message could be one of the originals: not so for a first summary, the usual case."""
        names = {_reserved(self.after[place].name) for place in self.open_positions()}
        if not names or len(self.places) == len(self.before):
            return False
        return None in names or not names.isdisjoint({message.name for message in self.before})

    def _match_repeated_ids(self) -> None:
        """An id may stand twice: equal content is found first, then the order decides."""
        equal: defaultdict[object, deque[int]] = defaultdict(deque)
        same_id: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, message in enumerate(self.after):
            equal[message.id, _content_key(message)].append(place)
            same_id[message.id].append(place)
        for position, message in enumerate(self.before):
            if places := equal.get((message.id, _content_key(message))):
                self.put(position, places.popleft())
        for position, message in enumerate(self.before):
            places = same_id[message.id] if position not in self.places else deque()
            while places and places[0] in self.taken:
                places.popleft()
            if places:
                self.put(position, places.popleft(), _SAME_ID)

    def match_contents(self) -> None:
        # Equal contents have equal token counts, and those are known: few messages need a look at their text.
        places = self.open_positions()
        tokens = {self.after[place].tokens for place in places}
        free: defaultdict[object, deque[int]] = defaultdict(deque)
        for place in places:
            free[_content_key(self.after[place])].append(place)
        alike = [position for position, message in enumerate(self.before) if message.tokens in tokens]
        for position in alike:
            if position not in self.places and (equal := free.get(_content_key(self.before[position]))):
                self.put(position, equal.popleft())

    def match_words(self) -> None:
        new = self.open_positions()
        lost = [position for position in range(len(self.before)) if position not in self.places]
        anchors = longest_increasing(sorted(self.places.items()))
        gaps_before = _gaps(self.before, lost, [position for position, _ in anchors])
        gaps_after = _gaps(self.after, new, [place for _, place in anchors])
        for gap, places in gaps_after.items():
            positions = gaps_before.get(gap, [])
            for order, place in enumerate(places):
                self._match_nearest(place, positions, order * len(positions) // len(places))

    def _match_nearest(self, place: int, positions: Sequence[int], expected: int) -> None:
        """Take the most similar of the few that stand about there: the whole gap would cost its square."""
        wanted = _compared_words(self.after[place])
        start = max(0, min(expected - _CANDIDATES // 2, len(positions) - _CANDIDATES))
        best, nearest = 0.0, -1
        for position in positions[start : start + _CANDIDATES]:
            if position not in self.places:
                similarity = _similarity(self._words(position), wanted)
                if similarity > best:
                    best, nearest = similarity, position
        if best >= LEAST_SIMILARITY:
            self.put(nearest, place, f"{best:.0%} of its words are the same")

    def _words(self, position: int) -> set[str]:
        if position not in self.words:
            self.words[position] = _compared_words(self.before[position])
        return self.words[position]

    def diff(self) -> HistoryDiff:
        tokens = [message.tokens for message in self.before]
        # Most are gone in the case that has to be fast, so that is what all are taken for at first.
        gone: Fate = "dropped"
        fates = list(map(MessageFate, range(len(tokens)), repeat(gone), tokens))
        for position, place in self.places.items():
            if position in self.edits:
                fates[position] = MessageFate(
                    position, "edited", tokens[position], place, (), self.edits[position]
                )
            else:
                fates[position] = MessageFate(position, "kept", tokens[position], place)
        return HistoryDiff(tuple(fates), self.new_positions())


def _compared_words(message: Message) -> set[str]:
    """The words by which an edited message is known again; those of the beginning are enough for a very long one."""
    return distinct_words(searchable_text(message)[:_MOST_COMPARED])


def _content_key(message: Message) -> object:
    return message.role, message.name, message.parts


def _reserved(name: str | None) -> str | None:
    """A summary is no edited user message, so only names of koogbook's own part messages from each other."""
    return name if name in RESERVED_NAMES else None


def _gaps(
    messages: Sequence[Message], positions: Sequence[int], anchors: Sequence[int]
) -> dict[tuple[int, str, str | None], list[int]]:
    """These positions by the gap between anchors that they stand in, role and reserved name."""
    gaps: defaultdict[tuple[int, str, str | None], list[int]] = defaultdict(list)
    for position in positions:
        message = messages[position]
        gaps[bisect_left(anchors, position), message.role, _reserved(message.name)].append(position)
    return gaps


def _similarity(one: set[str], other: set[str]) -> float:
    """Different words in common, as a share of the mean number of them: 1 for the same words in any order."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
