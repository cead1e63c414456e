"""Conversations written in any format, with a list of what the format has no place for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from koogbook.errors import NotAConversationError, TranscriptError
from koogbook.messages.message import Message
from koogbook.messages.prompt import Prompt
from koogbook.transcripts.files import LINE_SUFFIXES, json_bytes, replaced_file
from koogbook.transcripts.formats import Loss, format_named, written_formats
from koogbook.transcripts.lone_surrogates import lone_surrogates, without_lone_surrogates
from koogbook.transcripts.openai_chat.shape import LIST_KEY
from koogbook.transcripts.transcript import Transcript

History = Sequence[Message] | Prompt | Transcript

_MOST_LINES = 20


class Export(Struct, frozen=True):
    """A conversation in a format: its JSON value, and what the format had no place for."""

    format: str
    value: Any
    losses: tuple[Loss, ...] = ()
    path: str = ""

    def __repr__(self) -> str:
        to = f" in {self.path!r}" if self.path else ""
        if not self.losses:
            return f"<{self.format}{to}: nothing was lost>"
        lines = _in_lines(self.losses)
        more = [f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        count = "1 thing has" if len(self.losses) == 1 else f"{len(self.losses):,} things have"
        told = "".join(f"\n  {line}" for line in [*lines[:_MOST_LINES], *more])
        return f"<{self.format}{to}: {count} no place in it{told}>"


def _in_lines(losses: Sequence[Loss]) -> list[str]:
    """The losses in words; what was lost of several messages in the same words is told once."""
    counts = Counter(loss.text for loss in losses)
    first = {loss.text: loss for loss in reversed(losses)}
    return [
        str(first[text]) if count == 1 else f"{count:,} messages: {text}" for text, count in counts.items()
    ]


def export_transcript(history: History, format: str | None = None) -> Export:
    """A conversation as JSON values of a format.

    A message that came from this format and is unchanged comes out as it went in. What the format has no place for is
    in ``losses``; :func:`koogbook.messages.codec.encode_message` keeps all.

    Args:
        history: A transcript, a prompt, a run's prompt, or messages.
        format: One of ``openai-chat``, ``openai-responses``, ``anthropic``, ``langchain``, ``sharegpt``; left out, the
            one that a transcript came from, where it can be written, else ``openai-chat``.

    Raises:
        NotAConversationError: An item is no message; the error is a TypeError as well.
        TranscriptError: There is no such format, or it is only read.
    """
    chosen = format_named(_chosen(history, format))
    if chosen.write is None:
        raise TranscriptError(
            f"{chosen.title} are read and not written. Choose one of: {', '.join(written_formats())}."
        )
    messages = _messages(history)
    extra = history.extra if isinstance(history, Transcript) else {}
    if chosen.name != "openai-chat":
        extra.pop(LIST_KEY, None)
    losses: list[Loss] = []
    if extra and isinstance(history, Transcript) and history.format != chosen.name:
        named = ", ".join(map(repr, extra))
        losses.append(
            Loss(-1, f"what the file said besides the messages ({named}) is {history.format}'s own")
        )
        extra = {}
    written = chosen.write(messages, extra)
    losses += written.losses
    value = written.value
    if any(lone_surrogates(value)):
        # A server refuses every request with one; those of a file are in the defects already.
        value = without_lone_surrogates(value)
        text = "half of a pair of characters, replaced by U+FFFD"
        losses += [
            Loss(at, text)
            for at, one in enumerate(messages)
            if any(lone_surrogates([one.name, *map(to_builtins, one.parts)]))
        ]
    return Export(chosen.name, value, tuple(losses))


def save_transcript(history: History, path: str | Path, format: str | None = None) -> Export:
    """Write one conversation to a file, in one step; a file named ``.jsonl`` gets it as one line.

    Args:
        history: See :func:`export_transcript`.
        path: The file; one that is there is replaced when all is written.
        format: See :func:`export_transcript`.

    Raises:
        TranscriptError: See :func:`export_transcript`; or the file cannot be written. One that was there is as it was.
    """
    done = export_transcript(history, format)
    lines = Path(path).suffix.lower() in LINE_SUFFIXES
    with replaced_file(path) as file:
        file.write(json_bytes(done.value, indent=None if lines else 2) + b"\n")
    return replace(done, path=str(path))


def save_transcripts(
    histories: Iterable[History], path: str | Path, format: str | None = None
) -> tuple[Export, ...]:
    """Write conversations to a JSONL file, one per line, in one step; gives what each lost.

    They are taken one after the other, so that a generator of many needs no more memory than one.

    Raises:
        TranscriptError: See :func:`save_transcript`; then nothing was written.
    """
    done: list[Export] = []
    with replaced_file(path) as file:
        for history in histories:
            one = export_transcript(history, format)
            file.write(json_bytes(one.value) + b"\n")
            done.append(replace(one, value=None, path=str(path)))
    return tuple(done)


def _chosen(history: History, format: str | None) -> str:
    if format is not None:
        return format
    own = history.format if isinstance(history, Transcript) else ""
    return own if own in written_formats() else "openai-chat"


def _messages(history: History) -> tuple[Message, ...]:
    """The messages of a history.

    Raises:
        NotAConversationError: It is none.
    """
    found = getattr(history, "messages", history)
    items = tuple(found) if isinstance(found, Iterable) and not isinstance(found, str | Mapping) else None
    if items is None:
        what = f"A history is a list of messages, a prompt or a transcript, not {type(history).__name__}"
    else:
        other = next((index for index, one in enumerate(items) if not isinstance(one, Message)), None)
        if other is None:
            return items
        what = f"Item {other} of the history is {type(items[other]).__name__}, no message"
        if hasattr(items[other], "messages"):
            raise NotAConversationError(
                f"{what}. Nothing was written. Several conversations go to a file of lines: "
                "kb.save_transcripts(conversations, path)."
            )
    raise NotAConversationError(
        f"{what}. Nothing was written. JSON values of a conversation become one first: kb.as_transcript(values)."
    )
