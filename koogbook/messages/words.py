"""What counts as a word when texts are compared."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

# Chinese and Japanese have no spaces between words, so each character of theirs is a word.
CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_CORE: Final = rf"[^\W{CJK}]"
#: A CJK character, letters and digits with marks inside ("14:05", "h-31", "1,940", "don't"), or one mark.
WORD_PATTERN: Final = rf"[{CJK}]|{_CORE}++(?:[-.,:/'’]{_CORE}++)*+|[^\w\s]"

_RUN = re.compile(rf"[{CJK}]+|{_CORE}++(?:[-.,:/'’]{_CORE}++)*+")
_IS_CJK = re.compile(rf"[{CJK}]")
_COMMON = frozenset(
    re.findall(
        "[a-z]+",
        """a about all also an and any are as at be been but by can could did do does for from had has
        have he her him his how i if in into is it its me more my no not of on one or our out over she
        so some than that the their them then there these they this to too up us very was we were what
        when where which who will with would you your b c d e f g h j k l m n o p q r s t u v w x y z""",
    )
)
_COMMON_CJK = frozenset("的了是在和有我你他她它们这那不就也都与及或对从到为以上下中吗呢吧啊个一")


def distinct_words(text: str) -> set[str]:
    """The different words of a text without marks; of Chinese and Japanese the pairs of neighbours."""
    runs = set(_RUN.findall(text))
    if text.isascii():
        return runs
    words = {run for run in runs if not _IS_CJK.match(run)}
    for run in runs - words:
        words.update(map("".join, pairwise(run)) if len(run) > 1 else run)
    return words


def informative_words(text: str) -> set[str]:
    """The words of a text that say what it is about: lower case, without the commonest and single letters."""
    words = distinct_words(text.lower()) - _COMMON
    if text.isascii():
        return words
    return {word for word in words if not (_IS_CJK.match(word) and _COMMON_CJK.intersection(word))}
