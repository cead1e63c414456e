"""An executor that summarises and answers by picking sentences: real, deterministic, and without a model.

It lets one see what compression does to a true text where no model is to be had. Each sentence of its output stands
word for word in its input. How it picks: a sentence counts by how many of its words are frequent in the whole, by the
numbers and names in it, and by standing near an end; sentences that repeat a chosen one are passed over. What is too
long for a sentence is cut at spaces. Of data (JSON) only the sentences among its values are looked at. Where nothing
reads like a sentence, the first pieces are taken as they stand.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator

from koogbook.llm.executor import LocalExecutor
from koogbook.llm.request import Request, is_quote_tag
from koogbook.messages.message import Message, Usage, assistant
from koogbook.messages.sentences import split_sentences

# Thai to Myanmar, Khmer, and what Chinese, Japanese and Korean are written in: no spaces between words.
_UNSPACED = (
    r"\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d"
    r"\U00020000-\U0003ffff"
)
# Signs that belong to the letter before them and are no letters to ``\w``: accents, vowel signs, joiners.
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0730-\u074a\u07a6-\u07b0"
    r"\u0816-\u082d\u08ca-\u0963\u0966-\u0dff\u1dc0-\u1dff\u200c\u200d"
)
_WORD = re.compile(rf"[^\W\d_{_UNSPACED}](?:[^\W\d_{_UNSPACED}]|[{_MARKS}'-]){{2,}}|\d[\d.,:]*")
_RUN = re.compile(rf"[{_UNSPACED}]+")
_FACT = re.compile(r"\d|[A-Z]{2,}")
_COMMON = frozenset(
    """
    the and for are but not you all any can had her was one our out has have with this that from they will would
    there their what about which when your just like than then them these some into only over also been more very
    here could should please let its get got did does were who how why where
    """.split()
)
_LONGEST_PIECE = 320  # characters
_LONGEST_WORDS = 20  # characters for each word of a cut piece on the average; more is data, not language
_PIECE = re.compile(rf"\S(?:.{{0,{_LONGEST_PIECE - 2}}}\S)?(?=\s|$)|\S{{1,{_LONGEST_PIECE}}}")
_FEWEST_WORDS = 3
_LEAST_BUDGET = 120  # characters
_SHORTEST_VALUE = 24  # characters of a JSON value that may be a sentence


class ExtractiveExecutor(LocalExecutor):
    """Picks sentences of the input; says in every reply's metadata that no model answered.

    Args:
        share: The most that an answer may take of the input's characters, as a fraction.
        most_sentences: The most sentences in an answer.
    """

    def __init__(self, *, share: float = 0.2, most_sentences: int = 12) -> None:
        super().__init__()
        if not 0 < share <= 1 or most_sentences < 1:
            raise ValueError(
                f"share is a fraction above 0 and up to 1, most_sentences at least 1; got {share} and "
                f"{most_sentences}."
            )
        self.share = share
        self.most_sentences = most_sentences

    async def answer(self, request: Request) -> Message:
        """See the class."""
        text = self._reply(request) if request.purpose == "conversation" else self._summary(request)
        told = {"answered_by": "ExtractiveExecutor", "model": False}
        made = assistant(text, metadata=told).tokens
        return assistant(text, usage=Usage(request.tokens, made), finish_reason="stop", metadata=told)

    def _summary(self, request: Request) -> str:
        material = [message.text for message in request.messages if message.role != "system"]
        return "\n".join(pick_sentences("\n".join(material), "", self.share, self.most_sentences))

    def _reply(self, request: Request) -> str:
        asked = next((one.text for one in reversed(request.messages) if one.is_from_user), "")
        material = [
            message.text for message in request.messages if message.role != "system" and message.text != asked
        ]
        found = pick_sentences("\n".join(material), asked, self.share, min(6, self.most_sentences))
        if found or asked.strip():
            return "\n".join(found) or asked
        return "\n".join(message.text for message in request.messages).strip()[:200]


def words(text: str) -> list[str]:
    """The words that carry meaning: lower case, without common ones; of scripts without spaces, pairs of characters."""
    found = [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
    for run in _RUN.findall(text):
        found.extend(run[at : at + 2] for at in range(len(run) - 1))
    return found


def pick_sentences(text: str, question: str, share: float, most: int) -> list[str]:
    """The sentences that say most, in their order, each word for word from ``text``.

    With a question, those that share its words come first. Empty only where ``text`` has nothing to see besides the
    tags of a quotation.
    """
    sentences = list(dict.fromkeys(_candidates(text)))
    if not sentences:
        return _first_pieces(text, max(int(len(text) * share), _LEAST_BUDGET), most)
    bags = [set(words(sentence)) for sentence in sentences]
    frequency = Counter(word for bag in bags for word in bag)
    asked = set(words(question))
    budget = max(int(sum(map(len, sentences)) * share), _LEAST_BUDGET)
    scores = [_score(at, sentences, bags, frequency, asked) for at in range(len(sentences))]
    chosen: list[int] = []
    used = 0
    for at in sorted(range(len(sentences)), key=lambda at: (-scores[at], at)):
        if len(chosen) == most:
            break
        if chosen and used + len(sentences[at]) > budget:
            continue
        if any(len(bags[at] & bags[other]) > 0.6 * min(len(bags[at]), len(bags[other])) for other in chosen):
            continue
        chosen.append(at)
        used += len(sentences[at])
    return [sentences[at] for at in sorted(chosen)]


def _first_pieces(text: str, budget: int, most: int) -> list[str]:
    lines = [line for line in text.split("\n") if not is_quote_tag(line)]
    said = [line for line in lines if line.strip() and not _is_call(line)] or lines
    chosen: list[str] = []
    for piece in dict.fromkeys(
        piece for line in said for one in split_sentences(line) for piece in _cut(one)
    ):
        if len(chosen) == most or (chosen and sum(map(len, chosen)) + len(piece) > budget):
            break
        chosen.append(piece)
    return chosen


def _candidates(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if is_quote_tag(line) or _is_call(line):
            continue
        is_data = line[:1] in ("{", "[")
        for part in _sentences_in_data(line) if is_data else [line]:
            for sentence in split_sentences(part):
                pieces = [sentence]
                if len(sentence) > _LONGEST_PIECE:
                    pieces = [] if is_data else [piece for piece in _cut(sentence) if _is_language(piece)]
                yield from (piece for piece in pieces if len(words(piece)) >= _FEWEST_WORDS)


def _is_call(line: str) -> bool:
    return line.startswith("[called ")


def _cut(sentence: str) -> list[str]:
    """A sentence in pieces that are short enough, cut at spaces, or anywhere where there are none."""
    found: list[str] = _PIECE.findall(sentence)
    return found


def _is_language(piece: str) -> bool:
    return len(piece) <= _LONGEST_WORDS * len(piece.split()) or _RUN.search(piece) is not None


def _sentences_in_data(line: str) -> Iterator[str]:
    try:
        waiting = [json.loads(line)]
    except (ValueError, RecursionError):
        yield line
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, str) and len(value) >= _SHORTEST_VALUE and " " in value and value in line:
            yield value


def _score(
    at: int, sentences: list[str], bags: list[set[str]], frequency: Counter[str], asked: set[str]
) -> float:
    bag = bags[at]
    central = sum(math.log1p(frequency[word]) for word in bag) / math.sqrt(len(bag) + 2)
    facts = min(len(_FACT.findall(sentences[at])), 4) * 0.25
    place = 0.5 if at < 3 or at >= len(sentences) - 3 else 0.0
    return central + facts + place + 2.0 * len(bag & asked)
