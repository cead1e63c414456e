"""All about one message of a call: what it is, where it came from, how one gets it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from koogbook.llm.call_record import SentLayer
from koogbook.llm.layers import tag_of
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import MEMORY_MARKERS, Message
from koogbook.messages.metadata import NO_METADATA
from koogbook.messages.parts import Text
from koogbook.notebook.views.diff_view.checks import numbers
from koogbook.notebook.views.look.isolates import path_apart, set_apart
from koogbook.notebook.views.look.measure import cut_end
from koogbook.notebook.views.message_preview import role_mark
from koogbook.notebook.views.prompt_view.contents import CallContents, text_of
from koogbook.notebook.views.prompt_view.model import Link, MessageDetail
from koogbook.notebook.views.prompt_view.source import CallSource

#: A message in full is cut here, so that a saved cell stays small.
LONGEST_TEXT = 4_000
_LONGEST_FACT = 300
_MOST_LINKS = 8


def message_detail(
    source: CallSource, contents: CallContents, position: int, off: Collection[str]
) -> MessageDetail:
    """All about the message at a position."""
    message = contents.messages[position]
    text, left_out = text_of(message, LONGEST_TEXT)
    return MessageDetail(
        position=position,
        role=role_mark(contents.originals.get(position, message)),
        layer=contents.layers[position],
        novelty=contents.novelties[position],
        tokens=message.tokens,
        on=contents.layers[position] not in off,
        origin=tuple(_origin(source, contents, position)),
        links=tuple(_links(contents, position))[:_MOST_LINKS],
        facts=tuple(_facts(message)),
        text=text,
        left_out=left_out,
        python=source.python(contents.record, position),
    )


# ------------------------------------------------------------------------------------------- where it came from


def _origin(source: CallSource, contents: CallContents, position: int) -> Iterator[str]:
    message, placed = contents.messages[position], contents.record.layers[position]
    said = [*_said_of_it(contents, message, placed), *_made_by(source, message)]
    if position in contents.originals:
        what = "result" if contents.originals[position].role == "tool" else "call"
        said.append(
            f"the history holds a tool {what} here; it was sent as text, since no tools were on offer"
        )
    yield from said or ["part of the conversation"]
    if placed.wrong_tag:
        yield (
            f"its tag layer={set_apart(repr(placed.wrong_tag))} names no layer, so it stands where it would without"
        )


def _said_of_it(contents: CallContents, message: Message, placed: SentLayer) -> Iterator[str]:
    """What is known from the record of the call."""
    if placed.added_by:
        yield f"put in by {set_apart(placed.added_by)} on the way"
    if placed.loaded_by:
        yield f"loaded by {set_apart(placed.loaded_by)}"
    elif message.id in contents.record.marks:
        yield f"marked as {placed.layer} in the registry of the run"
    if placed.changed_by:
        yield f"changed by {', '.join(map(set_apart, placed.changed_by))} on the way"
    if placed.made_for_it:
        schema = contents.record.request.schema is not None
        yield (
            "added by this request alone, for an answer that is data"
            if schema
            else "made for this request alone"
        )
    if tag_of(message) == placed.layer:
        yield f"tagged as {placed.layer} by who made it"
    elif placed.layer == "memory" and not placed.loaded_by:
        marked = any(
            sign in part.text for part in message.parts if isinstance(part, Text) for sign in MEMORY_MARKERS
        )
        yield "memory by the marker in its text" if marked else "memory by its metadata"
    if message.role == "system" and not placed.added_by and message.metadata.get("from_agent") is True:
        yield "the system prompt of the agent"


def _made_by(source: CallSource, message: Message) -> Iterator[str]:
    """Which compression or call of the run made it."""
    if message.is_summary:
        made = next((one for one in source.compressions() if _is_from(one[1], message)), None)
        if made is not None:
            yield _made_in(*made, message)
        elif source.sent:
            yield "a summary that was there before this run compressed anything"
        return
    if message.role != "assistant":
        return
    for record in source.records:
        if record.reply is not None and record.reply.id == message.id:
            yield f"answered in call {record.number}" + (
                f", in {path_apart(record.path)}" if record.path else ""
            )
            return


def _is_from(ledger: Ledger, message: Message) -> bool:
    return any(ledger.after[new.position].id == message.id for new in ledger.new_messages)


def _made_in(path: str, ledger: Ledger, message: Message) -> str:
    new = next(one for one in ledger.new_messages if ledger.after[one.position].id == message.id)
    where = f" in {path_apart(path)}" if path else ""
    sources = f": of the messages {numbers(new.sources)} that were there then" if new.sources else ""
    return f"made by compression {set_apart(ledger.strategy)}{where}{sources}"


def _links(contents: CallContents, position: int) -> Iterator[Link]:
    """The other side of a pair."""
    for bracket in contents.brackets:
        if bracket.open or not bracket.first <= position <= bracket.last:
            continue
        if position == bracket.first:
            yield from (Link("its result", at) for at in range(bracket.first + 1, bracket.last + 1))
        else:
            yield Link("its call", bracket.first)


# ------------------------------------------------------------------------------------------- what it carries


def _facts(message: Message) -> Iterator[tuple[str, str]]:
    yield "id", message.id
    yield "time", f"{message.time:%Y-%m-%d %H:%M:%S} UTC"
    if message.name is not None:
        yield "name", message.name
    if message.finish_reason is not None:
        yield "finish reason", message.finish_reason
    if message.usage is not None:
        yield "usage", usage_words(message)
    if message.metadata_json != NO_METADATA:
        yield "metadata", cut_end(message.metadata_json, _LONGEST_FACT)


def usage_words(message: Message) -> str:
    """What the provider counted: ``1,198 tokens in, 40 out``; what it did not say is left out."""
    usage = message.usage
    if usage is None:
        return ""
    sides: Sequence[tuple[int | None, str]] = (
        (usage.input_tokens, "tokens in"),
        (usage.output_tokens, "out"),
        (usage.cache_read_tokens, "read from the cache"),
        (usage.cache_write_tokens, "written to it"),
        (usage.reasoning_tokens, "of reasoning"),
    )
    return ", ".join(f"{number:,} {word}" for number, word in sides if number is not None)
