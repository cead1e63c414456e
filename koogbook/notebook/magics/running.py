"""Making and running an agent: ``%koog_agent``, ``%%koog_run`` and ``%koog_fork``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

import koogbook as kb
from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.errors import CheckpointError, FeatureError, KoogbookError
from koogbook.notebook.magics.current import Current, stored
from koogbook.notebook.magics.parsing import Given
from koogbook.notebook.magics.user_code import UserCode
from koogbook.notebook.magics.wrong_use import WrongUse, listed, nearest
from koogbook.notebook.watch import watch
from koogbook.runtime.builder import Strategy

_EXECUTORS: dict[str, Callable[[], Any]] = {
    "extractive": lambda: kb.ExtractiveExecutor(),
    "offline": lambda: kb.OfflineExecutor(),
    "provider": lambda: kb.RetryingExecutor(kb.ProviderExecutor()),
}


def agent_magic(current: Current, given: Given) -> Agent:
    """``%koog_agent``: the agent."""
    code = current.code
    name = code.own_name(given.text("NAME") or "agent", Agent, "agent")
    text = given.text("--strategy")
    strategy = current.strategy() if text is None else code.find(text, Strategy, "strategy", "--strategy")
    store = _store(code, given.text("--checkpoints") or "none")
    limit = given.number("--max-iterations")
    model = given.text("--model") or "offline"
    executor = _executor(code, given.text("--executor") or ("provider" if ":" in model else "extractive"))
    tools = [
        code.evaluate(word.strip(), "--tools")
        for word in (given.text("--tools") or "").split(",")
        if word.strip()
    ]
    try:
        made = kb.Agent(
            executor,
            model,
            strategy,
            system_prompt=given.text("--system"),
            tools=tools,
            id=given.text("--id"),
            max_iterations=50 if limit is None else limit,
        )
        if store is not None:
            made.install(kb.Persistence(storage=store))
    except (KoogbookError, TypeError, ValueError) as problem:
        raise WrongUse(str(problem)) from problem
    code.assign(name, made)
    current.remember_agent(name, made)
    return made


def _executor(code: UserCode, text: str) -> Any:
    if text in _EXECUTORS:
        return _EXECUTORS[text]()
    return _word_or_value(code, text, "--executor", tuple(_EXECUTORS))


def _store(code: UserCode, text: str) -> Any:
    word, parted, path = text.partition(":")
    if text == "none":
        return None
    if text == "memory":
        return kb.MemoryCheckpoints()
    if word == "sqlite" and (path or not parted):
        return kb.SqliteCheckpoints(Path(path)) if path else kb.SqliteCheckpoints()
    return _word_or_value(code, text, "--checkpoints", ("none", "memory", "sqlite", "sqlite:PATH"))


def _word_or_value(code: UserCode, text: str, flag: str, words: tuple[str, ...]) -> Any:
    try:
        return code.evaluate(text, flag)
    except WrongUse as problem:
        hint = nearest(text, words)
        knows = f"It knows {listed(words)}, or takes an expression."
        raise WrongUse(problem.what, f"{hint} {knows}" if hint else knows) from None


async def run_magic(current: Current, given: Given, body: str | None, *, to: str | None) -> Any:
    """``%%koog_run``: the run, or with ``--background`` its handle; also in the variable ``to``.

    Raises:
        WrongUse: It cannot begin.
        Exception: What the run raised; the variable then holds the failed run.
    """
    code = current.code
    agent = _agent(current, given)
    target = None if to is None else code.new_name(to, "--to")
    value, session = _input(code, given, body), given.text("--session")
    if value is None and session is not None:
        await _require_unfinished(agent, session)
    watched = watch(agent, value, session)
    if given.switch("--background"):
        return _keep(code, target, watched)
    try:
        run = await watched
    except asyncio.CancelledError:
        raise _stopped(watched.run) from None
    finally:
        if watched.run is not None:
            current.remember_run(watched.run)
            _keep(code, target, watched.run)
    return run


async def _require_unfinished(agent: Agent, session: str) -> None:
    """``--input None`` goes on with something, unless None is what the strategy takes.

    Raises:
        WrongUse: Nothing is unfinished in that session.
    """
    if agent.strategy.input_type in (None, type(None), Any):
        return
    with contextlib.suppress(FeatureError):
        latest = await agent.feature("Persistence").storage.get_latest_checkpoint(session)
        if latest is None or latest.info.is_tombstone:
            raise WrongUse(
                f"Nothing is unfinished in session {session!r}.",
                "Write an input below %%koog_run, or go on from a checkpoint: %koog_fork CHECKPOINT --as NEW",
            )


def _stopped(run: Run | None) -> UsageError:
    """What stands under the cell of a run that somebody has stopped: no fault, and no traceback."""
    if run is None:
        return UsageError("Stopped before the run had begun.")
    saved = run.last_checkpoint
    then = (
        f"What was saved after {saved.path} stays; go on with: %koog_run --session {run.session_id} --input None"
        if saved is not None
        else "Nothing was saved."
    )
    return UsageError(f"The run of session {run.session_id!r} was stopped. {then}")


def _keep(code: UserCode, target: str | None, value: Any) -> Any:
    if target is not None:
        code.assign(target, value)
    return value


def _agent(current: Current, given: Given) -> Agent:
    text = given.text("AGENT")
    if text is None:
        return current.agent("%%koog_run")
    found = current.code.find(text, Agent, "agent", "AGENT")
    if current.code.held(text) is found:
        current.remember_agent(text, found)
    return found


def _input(code: UserCode, given: Given, body: str | None) -> Any:
    text = given.text("--input")
    words = (body or "").strip()
    if text is None:
        if words:
            return words
        raise WrongUse(
            "There is no input.",
            "Write it below %%koog_run, or --input EXPR; --input None goes on with what is unfinished.",
        )
    if words:
        raise WrongUse("There is a text below, and --input as well.", "Leave one of them out.")
    try:
        return code.evaluate(text, "--input")
    except WrongUse as problem:
        raise WrongUse(
            problem.what, f"{problem.remedy} It is an expression; a text is written below %%koog_run."
        ) from None


async def fork_magic(current: Current, given: Given, body: str | None, *, to: str | None) -> Any:
    """``%koog_fork``: the checkpoint that begins the new session."""
    code = current.code
    checkpoint = given.text("CHECKPOINT") or ""
    new = given.text("--as")
    if not new:
        raise WrongUse(
            "--as is missing: the id of the new session.", f"Write: %koog_fork {checkpoint} --as chat-2"
        )
    text = given.text("--agent")
    agent = current.agent() if text is None else code.find(text, Agent, "agent", "--agent")
    session = given.text("--session")
    if session is None:
        session = current.last_run().session_id
    target = None if to is None else code.new_name(to, "--to")
    try:
        _require_known(agent, session, checkpoint)
        forked = await agent.fork(session, checkpoint, to=new)
    except (CheckpointError, FeatureError) as problem:
        raise WrongUse(str(problem)) from problem
    return _keep(code, target, forked)


def require_session(agent: Agent, session: str) -> None:
    """Find a session among those that the agent's store can list.

    Raises:
        WrongUse: It is not among them; with the nearest one.
    """
    infos = stored(agent)
    known = dict.fromkeys(info.session_id for info in infos or ())
    if infos is None or session in known:
        return
    raise WrongUse(
        f"There is no checkpoint of session {session!r}.",
        f"{nearest(session, known)} There is {listed(known) or 'none of any session'}.",
    )


def _require_known(agent: Agent, session: str, checkpoint: str) -> None:
    require_session(agent, session)
    infos = [info for info in stored(agent) or () if info.session_id == session]
    known = [info.id for info in infos]
    nodes = dict.fromkeys(info.path.rpartition("/")[2] for info in infos)
    named = checkpoint in nodes or any(info.path == checkpoint for info in infos)
    if known and not named and not any(one.startswith(checkpoint) for one in known):
        raise WrongUse(
            f"Session {session!r} has no checkpoint {checkpoint!r}.",
            f"{nearest(checkpoint, [*nodes, *known])} It has {listed(known)}, after {listed(nodes)}.",
        )
