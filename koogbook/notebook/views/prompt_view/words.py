"""What a prompt view says of a call in words, in every form."""

from __future__ import annotations

from koogbook.notebook.views.look.isolates import path_apart, set_apart
from koogbook.notebook.views.look.measure import count, duration, thousands
from koogbook.notebook.views.prompt_view.model import CallRow, LayerRow, PromptState, Since

_PURPOSES = {
    "conversation": "for the conversation",
    "compression": "for a compression",
    "flush": "for a flush of memory",
    "consolidation": "for a consolidation of memory",
    "extraction": "for an extraction",
    "selection": "for a selection",
}


def sentence(state: PromptState) -> str:
    """What was sent and what came of it, in one sentence."""
    call = state.call
    size = f"{_what(call)}, about {count(state.tokens, 'token')}"
    if call.counted is not None:
        size += f" (the provider counted {thousands(call.counted)})"
    if state.window:
        size += f", {share_words(used_of_window(state))} of the window"
    if call.state == "not sent":
        return f"A history as it would be sent: {size}; nothing was sent."
    where = f", in {path_apart(call.path)}" if call.path else ""
    why = _PURPOSES.get(call.purpose, f"for {call.purpose}")
    return (
        f"Call {call.number} of {len(state.calls)}{where}, {why}: {size}; {ended(call, state.answer.error)}."
    )


def _what(call: CallRow) -> str:
    messages = count(call.messages, "message")
    return f"{messages} and {count(call.tools, 'tool')}" if call.tools else messages


def ended(call: CallRow, error: str = "") -> str:
    """How a call ended: ``answered in 840 ms``."""
    after = "" if call.seconds is None else duration(call.seconds)
    frames = " in frames" if call.streamed else ""
    match call.state:
        case "done":
            return f"answered{frames} in {after}"
        case "failed":
            kind = error.partition(":")[0]
            return f"failed after {after}" + (f": {set_apart(kind)}" if kind else "")
        case "stopped":
            return f"cancelled after {after}"
        case "running":
            return f"on its way{frames}"
        case _:
            return "nothing was sent"


def used_of_window(state: PromptState) -> float:
    """The share of the model's window that the call takes: as the provider counted, else as estimated."""
    used = state.tokens if state.call.counted is None else state.call.counted
    return used / state.window if state.window else 0.0


def share_words(share: float) -> str:
    """A share with one place where it is small: ``1.0 %``, ``62 %``; a little is never nothing."""
    value = share * 100
    if 0 < value < 0.05:
        return "<0.1 %"
    return f"{value:.1f} %" if value < 9.95 else f"{value:,.0f} %"


def off_words(state: PromptState) -> str:
    """What the switches did; empty where all layers are on."""
    off = state.off
    if not off:
        return ""
    names = ", ".join(map(set_apart, off))
    gone = state.tokens - state.left
    sent = "" if state.call.state == "not sent" else "; nothing was sent again"
    return f"Off: {names} with {count(gone, 'token')}. What is left has {count(state.left, 'token')}{sent}."


def since_words(since: Since) -> str:
    """What is other than in the call before it."""
    pieces = [f"{thousands(since.new)} new"]
    if since.edited:
        pieces.append(f"{thousands(since.edited)} edited")
    if since.gone:
        pieces.append(f"{thousands(since.gone)} no longer sent")
    said = ", ".join(pieces) if since.new or since.edited or since.gone else "the same messages"
    return f"Compared with call {since.call}, the last one before it for the same purpose: {said}."


def layer_count(row: LayerRow) -> str:
    """How much a layer has: messages, or tools."""
    return count(row.count, "tool" if row.name == "tools" else "message")


def call_words(call: CallRow) -> str:
    """A call in the list of all: ``3 · conversation · trip/answer · failed``."""
    pieces = [str(call.number), call.purpose, *([call.path] if call.path else [])]
    if call.state != "done":
        pieces.append({"running": "on its way", "stopped": "cancelled"}.get(call.state, call.state))
    return " \u00b7 ".join(pieces)
