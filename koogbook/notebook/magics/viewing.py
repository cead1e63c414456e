"""Looking at things: ``%koog_graph``, ``%koog_locks``, ``%koog_prompt``, ``%koog_diff``, ``%koog_checkpoints``."""

from __future__ import annotations

from typing import Any

import koogbook as kb
from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.notebook import frame
from koogbook.notebook.magics.current import Current
from koogbook.notebook.magics.parsing import Given
from koogbook.notebook.magics.running import require_session
from koogbook.notebook.magics.wrong_use import WrongUse, listed, nearest
from koogbook.runtime.builder import Strategy
from koogbook.runtime.shape import GraphShape


def graph_magic(current: Current, given: Given) -> Any:
    """``%koog_graph``: the view."""
    subject = _subject(current, given.text("SUBJECT"))
    selected = given.text("--selected")
    if selected is not None:
        strategy = subject if isinstance(subject, Strategy) else subject.strategy
        shape = strategy.shape() if isinstance(strategy, Strategy) else strategy.shape
        selected = _path(shape, selected)
    run = current.run_of(subject) if given.text("SUBJECT") is None and isinstance(subject, Strategy) else None
    return _keep(current, given, kb.graph(subject if run is None else run, selected=selected))


def _subject(current: Current, text: str | None) -> Any:
    if text is None:
        return current.strategy("%koog_graph")
    found = current.code.evaluate(text, "SUBJECT")
    if isinstance(found, Strategy | Agent | Run):
        return found
    known = [name for kind in (Strategy, Agent, Run) for name in current.code.variables(kind)]
    raise WrongUse(
        f"SUBJECT: {text} is {type(found).__name__}, and no strategy, agent or run.",
        nearest(text, known) or (f"There is {listed(known)}." if known else ""),
    )


def _path(shape: GraphShape, name: str) -> str:
    known = {node.path.partition("/")[2]: node.path for node in shape.nodes}
    found = known.get(name) or known.get(name.removeprefix(f"{shape.name}/"))
    if found is None:
        raise WrongUse(
            f"There is no node {name!r} in {shape.name!r}.",
            f"{nearest(name, known)} It has: {listed(known)}.",
        )
    return found


def locks_magic(current: Current, given: Given) -> Any:
    """``%koog_locks``: the view."""
    file, run = given.text("--file"), given.text("RUN")
    if file is None:
        return _keep(current, given, kb.locks(_run(current, run, "RUN")))
    if run is not None:
        raise WrongUse("It is of a run or of a file, not of both.", "Leave one of them out.")
    if not file.strip():
        raise WrongUse("--file: an empty path names no file.")
    return _keep(current, given, kb.locks(file))


def _run(current: Current, text: str | None, what: str) -> Run:
    return current.last_run() if text is None else current.code.find(text, Run, "run", what)


def prompt_magic(current: Current, given: Given) -> Any:
    """``%koog_prompt``: the view."""
    found = _history(current, given, "RUN")
    call = given.number("--call")
    of = current.last_run() if found is None else found
    if call is not None and not isinstance(of, Run):
        raise WrongUse("--call counts the calls of a run.", "Leave it out, or name a run.")
    try:
        view = kb.prompt(of, call, off=given.texts("--off"), selected=given.text("--selected"))
    except TypeError:
        raise WrongUse(
            f"RUN: {given.text('RUN')} is {type(of).__name__}, and no run or history.",
            "It takes a run, a prompt, a transcript or messages.",
        ) from None
    return _keep(current, given, view)


def diff_magic(current: Current, given: Given) -> Any:
    """``%koog_diff``: the view."""
    before = _history(current, given, "BEFORE")
    after = _history(current, given, "AFTER")
    keep = given.texts("--keep")
    number = given.number("--compression")
    if any(not text.strip() for text in keep):
        raise WrongUse("--keep: an empty text stands in every message and is no fact.")
    if number is not None and (after is not None or not (before is None or isinstance(before, Run))):
        raise WrongUse(
            "--compression counts the compressions of one run.", "Leave it out, or name the run alone."
        )
    if after is None and (before is None or isinstance(before, Run)):
        run = current.last_run() if before is None else before
        _require_compression(run, number)
        return _keep(current, given, kb.diff(run, compression=number, must_keep=keep))
    if after is None:
        if not isinstance(getattr(before, "ledger", before), Ledger):
            raise WrongUse("BEFORE is one history alone.", "Two histories: %koog_diff before after")
        return _keep(current, given, kb.diff(before, must_keep=keep))
    return _keep(
        current, given, kb.diff(_messages(before, "BEFORE"), _messages(after, "AFTER"), must_keep=keep)
    )


def _history(current: Current, given: Given, name: str) -> Any:
    text = given.text(name)
    if text is None:
        return None
    found = current.code.evaluate(text, name)
    if found is None:
        raise WrongUse(
            f"{name}: {text} is None.", "It takes a run, a ledger, what kb.compress gave, or a history."
        )
    return found


def _messages(history: Any, what: str) -> tuple[Message, ...]:
    whole = history.prompt if isinstance(history, Run) else history
    found = getattr(whole, "messages", whole)
    if isinstance(found, list | tuple) and all(isinstance(one, Message) for one in found):
        return tuple(found)
    raise WrongUse(
        f"{what} is {type(history).__name__}, and no history.",
        "It takes a run, a prompt, a transcript or messages.",
    )


def _require_compression(run: Run, number: int | None) -> None:
    found = run.compressions
    if not found:
        raise WrongUse(
            f"Nothing was compressed in the run of session {run.session_id!r}.",
            "Two histories: %koog_diff before after",
        )
    if number is not None and number > len(found):
        raise WrongUse(
            f"The run has {len(found)} compressions, and no number {number}.", "They count from 1."
        )


def checkpoints_magic(current: Current, given: Given) -> Any:
    """``%koog_checkpoints``: the view."""
    text = given.text("--agent")
    agent = current.agent() if text is None else current.code.find(text, Agent, "agent", "--agent")
    session = given.text("SESSION")
    if session is not None:
        require_session(agent, session)
    return _keep(current, given, kb.checkpoints(agent, session))


def freeze_magic(current: Current, given: Given) -> int:
    """``%koog_freeze``: how many views are static now that were live."""
    return frame.freeze_all()


def _keep(current: Current, given: Given, view: Any) -> Any:
    to = given.text("--to")
    if to is not None:
        current.code.assign(current.code.new_name(to, "--to"), view)
    return view
