"""From the calls of a run to what a prompt view shows of one of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from koogbook.agents.report import in_dollars
from koogbook.llm.call_record import CallRecord, RequestChange
from koogbook.llm.layers import tool_tokens
from koogbook.llm.usage import usage_of_all
from koogbook.messages.message import Message
from koogbook.messages.model import LLMParams, ToolChoice
from koogbook.notebook.views.look.measure import cut_end
from koogbook.notebook.views.prompt_view.contents import CallContents, preview_of, text_of
from koogbook.notebook.views.prompt_view.detail import message_detail, usage_words
from koogbook.notebook.views.prompt_view.model import (
    Answer,
    CallRow,
    CallState,
    ChangeRow,
    MessageRow,
    Preview,
    Previews,
    PromptState,
    Row,
    ToolRow,
)
from koogbook.notebook.views.prompt_view.source import CallSource

_LONGEST_ANSWER = 3_000
_LONGEST_SCHEMA = 3_000
_MOST_PREVIEWS = 6
_LONGEST_STOP = 60


def prompt_state(
    source: CallSource,
    contents: CallContents,
    *,
    off: Collection[str] = (),
    page: int = 0,
    selected: int | None = None,
) -> PromptState:
    """What a prompt view shows of one call.

    Args:
        source: The run or the history.
        contents: The call.
        off: The layers that are switched off.
        page: Of a long request; 0 is the start and the end.
        selected: The position of a message.
    """
    record = contents.record
    layers = contents.layer_rows(off)
    shown = contents.shown(off, page)
    left_to_provider = tuple(_not_given(record.request.params)) if source.sent else ()
    return PromptState(
        name=source.name,
        call=call_row(record, source),
        calls=tuple(call_row(one, source) for one in source.records) if source.sent else (),
        tokens=record.tokens,
        left=sum(row.tokens for row in layers if row.on),
        window=record.request.model.context_tokens,
        layers=layers,
        absent=contents.absent,
        rows=tuple(_picked(row, selected) for row in shown.rows),
        brackets=contents.brackets,
        page=shown.page,
        since=contents.since,
        detail=None if selected is None else message_detail(source, contents, selected, off),
        params=tuple(_params(record)),
        left_to_provider=left_to_provider,
        schema=_pretty(record.request.schema) if record.request.schema else "",
        tools=tuple(
            ToolRow(spec.name, spec.description, _pretty(spec.parameters), tool_tokens(spec))
            for spec in record.request.tools
        ),
        changes=tuple(_change(change) for change in record.changes if not change.is_empty),
        answer=_answer(source, record),
        notes=tuple(_notes(contents)),
        texts=shown.texts,
        texts_left_out=shown.texts_left_out,
    )


def _picked(row: Row, selected: int | None) -> Row:
    return replace(row, picked=True) if isinstance(row, MessageRow) and row.position == selected else row


# ------------------------------------------------------------------------------------------- the call


def call_row(record: CallRecord, source: CallSource) -> CallRow:
    """A call in the list of all."""
    request, reply = record.request, record.reply
    state = state_of(record) if source.sent else "not sent"
    return CallRow(
        number=record.number,
        purpose=request.purpose,
        path=record.path,
        messages=len(request.messages),
        tools=len(request.tools),
        tokens=record.tokens,
        counted=_counted(reply),
        seconds=None if state in ("running", "not sent") else record.seconds,
        state=state,
        streamed=record.streamed,
    )


def state_of(record: CallRecord) -> CallState:
    """How a call stands."""
    if record.reply is not None:
        return "done"
    if not record.error:
        return "running"
    return "stopped" if record.error.startswith("CancelledError") else "failed"


def _answer(source: CallSource, record: CallRecord) -> Answer:
    if not source.sent:
        return Answer(state="not sent", words="nothing was sent: this is a history")
    state = state_of(record)
    if record.reply is None:
        pieces = source.pieces(record.number) if record.streamed else ""
        words = {
            "running": "on its way: nothing has come back yet",
            "stopped": "cancelled before it was answered",
            "failed": "failed: nothing was answered",
        }[state]
        if pieces:
            words = f"{'on its way' if state == 'running' else 'broke off'}: so far came"
        shown = pieces[:_LONGEST_ANSWER]
        return Answer(
            state=state, words=words, text=shown, left_out=len(pieces) - len(shown), error=record.error
        )
    text, left_out = text_of(record.reply, _LONGEST_ANSWER)
    words, *more = _answered(record, record.reply)
    return Answer(state=state, words=words, more=tuple(more), text=text, left_out=left_out)


def _counted(reply: Message | None) -> int | None:
    """What the provider counted of the request; None where there is none, or no model behind it."""
    if reply is None or reply.usage is None or reply.metadata.get("model") is False:
        return None
    return reply.usage.input_tokens


def _answered(record: CallRecord, reply: Message) -> Iterator[str]:
    told = reply.metadata
    if isinstance(by := told.get("answered_by"), str):
        yield f"answered by {by}"
    else:
        yield "answered"
    by_no_model = told.get("model") is False
    if by_no_model:
        yield "by no model"
    if reply.finish_reason is not None:
        yield f"finish reason {reply.finish_reason}"
    if not by_no_model and (said := usage_words(reply)):
        yield f"the provider counted {said}"
    spent = usage_of_all([record])
    if spent.priced or spent.unpriced:
        yield "no price" if spent.cost is None else in_dollars(spent.cost)
    yield f"about {reply.tokens:,} tokens"


def _notes(contents: CallContents) -> Iterator[str]:
    """What needs a look: tags that name no layer."""
    wrong = dict.fromkeys(one.wrong_tag for one in contents.record.layers if one.wrong_tag)
    for tag in wrong:
        places = [at for at, one in enumerate(contents.record.layers) if one.wrong_tag == tag]
        number = "message" if len(places) == 1 else f"{len(places)} messages, the first one"
        yield f"There is no layer {tag!r}, which is the tag of {number} {places[0]}; the tag is taken as none."


# ------------------------------------------------------------------------------------------- its parameters


def _params(record: CallRecord) -> Iterator[tuple[str, str]]:
    request, params = record.request, record.request.params
    if str(request.model):
        yield "model", str(request.model)
    if request.model.context_tokens is not None:
        yield "window", f"{request.model.context_tokens:,} tokens"
    yield from _given(params)


_NAMES = {
    "temperature": "temperature",
    "max_tokens": "most tokens",
    "choices": "choices",
    "seed": "seed",
    "stop": "stop texts",
    "tool_choice": "tool choice",
    "user": "user",
}


def _given(params: LLMParams) -> Iterator[tuple[str, str]]:
    for field, name in _NAMES.items():
        value = getattr(params, field)
        if value is not None and value != ():
            yield name, _written(value)


def _not_given(params: LLMParams) -> Iterator[str]:
    return (name for field, name in _NAMES.items() if getattr(params, field) in (None, ()))


def _written(value: Any) -> str:
    match value:
        case ToolChoice(mode="named"):
            return f"has to call {value.tool}"
        case ToolChoice():
            return {"auto": "as the model likes", "none": "none", "required": "has to call one"}[value.mode]
        case tuple():
            return ", ".join(repr(cut_end(one, _LONGEST_STOP)) for one in value)
        case float():
            return f"{value:g}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def _pretty(schema: str) -> str:
    try:
        written = json.dumps(json.loads(schema), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        written = schema
    return cut_end(written, _LONGEST_SCHEMA)


# ------------------------------------------------------------------------------------------- changes


_FIELDS = {
    "model": "the model",
    "purpose": "the purpose",
    "tools": "the tools",
    "params": "the parameters",
    "schema": "the schema",
}


def _change(change: RequestChange) -> ChangeRow:
    before, after = change.before.messages, change.after.messages
    return ChangeRow(
        feature=change.feature,
        added=_previews([(after[at], at, None) for at in change.added]),
        taken_out=_previews([(before[at], at, None) for at in change.taken_out]),
        changed=_previews([(after[new], new, before[old]) for old, new in change.changed]),
        others=tuple(_others(change)),
    )


def _others(change: RequestChange) -> Iterator[str]:
    if change.reordered:
        yield "the order of the messages"
    for field in change.fields:
        word = _FIELDS.get(field, field)
        if field == "model":
            yield f"{word}: {change.before.model} \u2192 {change.after.model}"
        elif field == "tools":
            old = {spec.name for spec in change.before.tools}
            new = {spec.name for spec in change.after.tools}
            signs = [f"+{name}" for name in sorted(new - old)] + [
                f"\u2212{name}" for name in sorted(old - new)
            ]
            yield f"{word}: {', '.join(signs) or 'their definitions'}"
        elif field == "params":
            old_params, new_params = dict(_given(change.before.params)), dict(_given(change.after.params))
            names = [name for name in _NAMES.values() if old_params.get(name) != new_params.get(name)]
            said = (
                f"{name} {old_params.get(name, '-')} \u2192 {new_params.get(name, '-')}" for name in names
            )
            yield f"{word}: {', '.join(said)}"
        else:
            yield word


def _previews(messages: Sequence[tuple[Message, int, Message | None]]) -> Previews:
    shown: list[Preview] = [preview_of(*one) for one in messages[:_MOST_PREVIEWS]]
    return Previews(tuple(shown), len(messages), sum(message.tokens for message, _, _ in messages))
