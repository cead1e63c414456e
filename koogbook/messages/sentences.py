"""Text cut into sentences, English and Chinese, without a model and without a dictionary."""

from __future__ import annotations

import re

# A run of marks is looked at once, from its first mark on, so that "......" costs no more than other text. A
# full stop needs white space after it ("3.5", "kb.py"); a Chinese mark ends a sentence by itself.
_END = re.compile(
    r"(?<![.!?。！？])(?:"
    r"[.!?]++[\"')\]}”’»]*+(?=\s|$)"
    r"|[!?]++(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
    r"|[.!?]*+[。！？][。！？.!?]*+[\"')\]}”’»」』）】》]*+"
    r")"
)

_NEVER_AN_END = frozenset(
    ("e.g", "i.e", "mr", "mrs", "ms", "dr", "prof", "vs", "cf", "fig", "figs", "approx", "ca", "sr", "jr")
)
_SELDOM_AN_END = frozenset(
    (
        "etc",
        "no",
        "nos",
        "min",
        "max",
        "incl",
        "excl",
        "resp",
        "p",
        "pp",
        "vol",
        "sec",
        "ed",
        "est",
        "st",
        "a.m",
        "p.m",
    )
)
_LONGEST = 8


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, each as it stands there without the white space around it.

    A sentence ends at ``.``, ``!`` or ``?`` before white space, at ``。``, ``！`` or ``？``, and at a line
    break. Abbreviations and the number of a list item ("2. Book the hotel") end none.
    """
    return [sentence for line in text.splitlines() for piece in _cut(line) if (sentence := piece.strip())]


def _cut(line: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for end in _END.finditer(line):
        if end.group()[0] == "." and not _is_end(line, start, end):
            continue
        pieces.append(line[start : end.end()])
        start = end.end()
    pieces.append(line[start:])
    return pieces


def _is_end(line: str, start: int, end: re.Match[str]) -> bool:
    if end.group() != ".":
        return True
    stop = end.start()
    tail = line[max(start, stop - _LONGEST) : stop]
    word = re.split(r"[\s(\[{\"'“‘]", tail)[-1].lower()
    if word.isdigit() and line[start:stop].strip().isdigit():
        return False
    if word in _NEVER_AN_END:
        return False
    following = line[end.end() : end.end() + 8].lstrip()[:1]
    return word not in _SELDOM_AN_END or not (following.islower() or following.isdigit())
