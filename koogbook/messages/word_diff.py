"""Which words differ between two texts, and which messages the sentences of a summary rest on.

The word diff is patience diff: words that occur once in both texts are anchors, the longest run of them that
is in order in both is kept, and the gaps between are treated alike. A gap without anchors goes to difflib
when it is small and counts as replaced when it is not, so that two texts that have nothing in common cost no
more than two that are alike.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from koogbook.messages.ledger import Sentence
from koogbook.messages.message import Message
from koogbook.messages.searchable import searchable_text
from koogbook.messages.sentences import split_sentences
from koogbook.messages.words import WORD_PATTERN, informative_words

_SMALL_GAP = 400
_DEEPEST = 8
_MOST_SOURCES = 4
_LEAST_SHARE = 0.5

_SPACED_WORD = re.compile(rf"(?:{WORD_PATTERN})\s*+")
_LIST_MARKER = re.compile(r"(?:[-*•·–]|\d{1,3}[.)])\s+")

Pairs = list[tuple[int, int]]


class WordSpan(Struct, frozen=True):
    """A piece of text that both texts have, or one of them only.

    ``same`` and ``removed`` pieces in order make the first text, ``same`` and ``added`` ones the second.
    """

    kind: Literal["same", "removed", "added"]
    text: str


def diff_words(before: str, after: str) -> tuple[WordSpan, ...]:
    """The difference between two texts, by words; each CJK character is a word."""
    if before == after:
        return (WordSpan("same", before),) if before else ()
    words_before, starts_before = _words(before)
    words_after, starts_after = _words(after)
    pieces: list[tuple[Literal["same", "removed", "added"], str]] = []
    end_before = end_after = 0
    for i, j in [*_match(words_before, words_after), (len(words_before), len(words_after))]:
        pieces += _gap(before[end_before : starts_before[i]], after[end_after : starts_after[j]])
        if i < len(words_before):
            pieces.append(("same", words_before[i]))
            end_before = starts_before[i] + len(words_before[i])
            end_after = starts_after[j] + len(words_before[i])
    return tuple(_merged(pieces))


def _words(text: str) -> tuple[list[str], list[int]]:
    lead = len(text) - len(text.lstrip())
    spaced = _SPACED_WORD.findall(text)
    starts = list(accumulate(map(len, spaced), initial=lead))
    # The last start is one past the end, so that the text after the last word is a gap like the others.
    starts[-1] = len(text)
    return [word.rstrip() for word in spaced], starts


def _gap(before: str, after: str) -> Iterator[tuple[Literal["same", "removed", "added"], str]]:
    """What lies between two matched words; white space at its ends that both have is the same."""
    if before == after:
        yield "same", before
        return
    lead = _shared_space(before, after)
    tail = _shared_space(before[lead:][::-1], after[lead:][::-1])
    yield "same", before[:lead]
    yield "removed", before[lead : len(before) - tail]
    yield "added", after[lead : len(after) - tail]
    yield "same", before[len(before) - tail :]


def _shared_space(first: str, second: str) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other or not one.isspace():
            break
        count += 1
    return count


def _merged(pieces: list[tuple[Literal["same", "removed", "added"], str]]) -> Iterator[WordSpan]:
    """Neighbours of one kind joined; between unchanged pieces, removed text comes before added."""
    same: list[str] = []
    removed: list[str] = []
    added: list[str] = []
    for kind, text in pieces:
        if not text:
            continue
        if kind == "same":
            if removed or added:
                yield from _spans(same, removed, added)
                same, removed, added = [], [], []
            same.append(text)
        else:
            (removed if kind == "removed" else added).append(text)
    yield from _spans(same, removed, added)


def _spans(same: list[str], removed: list[str], added: list[str]) -> Iterator[WordSpan]:
    if same:
        yield WordSpan("same", "".join(same))
    if removed:
        yield WordSpan("removed", "".join(removed))
    if added:
        yield WordSpan("added", "".join(added))


def _match(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Pairs of positions of equal words, growing in both."""
    pairs: Pairs = []
    waiting = [(0, len(before), 0, len(after), 0)]
    while waiting:
        low_b, high_b, low_a, high_a, depth = waiting.pop()
        while low_b < high_b and low_a < high_a and before[low_b] == after[low_a]:
            pairs.append((low_b, low_a))
            low_b, low_a = low_b + 1, low_a + 1
        while low_b < high_b and low_a < high_a and before[high_b - 1] == after[high_a - 1]:
            high_b, high_a = high_b - 1, high_a - 1
            pairs.append((high_b, high_a))
        if low_b == high_b or low_a == high_a:
            continue
        anchors = _anchors(before, after, (low_b, high_b, low_a, high_a)) if depth < _DEEPEST else []
        if anchors:
            pairs += anchors
            start_b, start_a = low_b, low_a
            for i, j in [*anchors, (high_b, high_a)]:
                if start_b < i and start_a < j:
                    waiting.append((start_b, i, start_a, j, depth + 1))
                start_b, start_a = i + 1, j + 1
        elif high_b - low_b + high_a - low_a <= _SMALL_GAP:
            pairs += _by_difflib(before[low_b:high_b], after[low_a:high_a], low_b, low_a)
    return sorted(pairs)


def _anchors(before: Sequence[str], after: Sequence[str], window: tuple[int, int, int, int]) -> Pairs:
    """Words that occur once in both windows; where there are none, as in Chinese, runs of three."""
    low_b, high_b, low_a, high_a = window
    gap_before, gap_after = before[low_b:high_b], after[low_a:high_a]
    common = _once_in_both(gap_before, gap_after)
    if not common and len(gap_before) + len(gap_after) > _SMALL_GAP:
        common = _once_in_both(_triples(gap_before), _triples(gap_after))
    return [(low_b + i, low_a + j) for i, j in longest_increasing(common)]


def _once_in_both(before: Sequence[str], after: Sequence[str]) -> Pairs:
    counts_before, counts_after = Counter(before), Counter(after)
    once = {word for word, count in counts_after.items() if count == 1 and counts_before[word] == 1}
    # A mark alone says too little to be an anchor.
    places = {word: place for place, word in enumerate(after) if word in once and word[0].isalnum()}
    return [(position, places[word]) for position, word in enumerate(before) if word in places]


def _triples(words: Sequence[str]) -> list[str]:
    return list(map("\n".join, zip(words, words[1:], words[2:], strict=False)))


def longest_increasing(pairs: Sequence[tuple[int, int]]) -> Pairs:
    """The longest run of pairs, given in order of the first, whose second numbers grow (patience sorting)."""
    tails: list[int] = []
    at: list[int] = []
    previous: list[int] = []
    for index, (_, second) in enumerate(pairs):
        place = bisect_left(tails, second)
        previous.append(at[place - 1] if place else -1)
        tails[place : place + 1] = [second]
        at[place : place + 1] = [index]
    found: Pairs = []
    index = at[-1] if at else -1
    while index >= 0:
        found.append(pairs[index])
        index = previous[index]
    return found[::-1]


def _by_difflib(before: Sequence[str], after: Sequence[str], low_b: int, low_a: int) -> Pairs:
    if set(before).isdisjoint(after):
        return []
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return [
        (low_b + block.a + offset, low_a + block.b + offset)
        for block in blocks
        for offset in range(block.size)
    ]


def provenance(summary_text: str, sources: Sequence[tuple[int, Message]]) -> tuple[Sentence, ...]:
    """The sentences of a summary with the original messages that each of them rests on.

    Args:
        summary_text: The text of the summary.
        sources: Position and message of each original that it may rest on.

    A sentence found word for word names all messages that hold it. Any other names at most four: those that
    share the most of its informative words, and at least half of them. Without such a message it has no
    source.
    """
    sentences = split_sentences(summary_text)
    if not sources:
        return tuple(Sentence(sentence) for sentence in sentences)
    ordered = sorted(sources, key=lambda source: source[0])
    positions = [position for position, _ in ordered]
    texts = [searchable_text(message) for _, message in ordered]
    found = _verbatim(sentences, positions, texts)
    loose = {sentence: informative_words(sentence) for sentence in sentences if not found[sentence]}
    nearest = _nearest(loose, positions, texts) if loose else {}
    return tuple(
        Sentence(sentence, found[sentence], True)
        if found[sentence]
        else Sentence(sentence, nearest[sentence])
        for sentence in sentences
    )


def _verbatim(
    sentences: Sequence[str], positions: Sequence[int], texts: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    # All texts are searched at once. A sentence has no line break inside, so it is never found across two.
    joined = "\n".join(texts)
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    found: dict[str, tuple[int, ...]] = {}
    for sentence in sentences:
        wanted = _LIST_MARKER.sub("", sentence, count=1) if _LIST_MARKER.match(sentence) else sentence
        holders: list[int] = []
        # A lone mark or an empty list item stands everywhere and says nothing.
        place = joined.find(wanted) if any(map(str.isalnum, wanted)) else -1
        while place >= 0:
            index = bisect_right(starts, place) - 1
            if _stands_alone(joined, place, place + len(wanted)):
                holders.append(positions[index])
                place = joined.find(wanted, starts[index + 1])
            else:
                place = joined.find(wanted, place + 1)
        found[sentence] = tuple(holders)
    return found


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether what is found does not begin or end inside a word ("Yes" in "Yesterday")."""
    inside_before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    inside_after = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
    return not ((inside_before and text[start].isascii()) or (inside_after and text[end].isascii()))


def _nearest(
    wanted: dict[str, set[str]], positions: Sequence[int], texts: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    vocabulary = set().union(*wanted.values())
    holders: dict[str, list[int]] = {word: [] for word in vocabulary}
    for position, text in zip(positions, texts, strict=True):
        for word in informative_words(text) & vocabulary:
            holders[word].append(position)
    nearest: dict[str, tuple[int, ...]] = {}
    for sentence, words in wanted.items():
        shared = Counter(position for word in words for position in holders[word])
        enough = [
            (-count, position) for position, count in shared.items() if count >= _LEAST_SHARE * len(words)
        ]
        nearest[sentence] = tuple(sorted(position for _, position in sorted(enough)[:_MOST_SOURCES]))
    return nearest
