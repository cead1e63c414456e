"""What to write where a feature is used that is not installed."""

from __future__ import annotations

from difflib import get_close_matches

#: The line that installs each feature, as it can be pasted.
LINES = {
    "EventHandler": "agent.install(kb.EventHandler(on_event=print))",
    "OpenTelemetry": "agent.install(kb.OpenTelemetry())",
    "Persistence": "agent.install(kb.Persistence(storage=kb.SqliteCheckpoints()))",
    "ToolJournal": "agent.install(kb.ToolJournal(storage=kb.SqliteJournal()))",
    "Tracing": 'agent.install(kb.Tracing("runs.jsonl"))',
}


def not_installed(key: str, agent_id: str, *, was_run: bool) -> str:
    """The message for a feature that an agent does not have, with the line to add where it is one of koogbook's."""
    when = "before the first run of a new agent" if was_run else "before the first run"
    if key in LINES:
        return f"{key} is not installed on agent {agent_id!r}. Add it {when}: {LINES[key]}"
    near = get_close_matches(key, LINES, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return (
        f"No feature {key!r} is installed on agent {agent_id!r}, and koogbook has none of that name.{hint} Of its own "
        f"there are: {', '.join(LINES)}. Install one of yours {when}, with agent.install(...)."
    )
