"""Agents, runs and forks by magics."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from notebook_cells import ANSWER, PREPARE, Cells

import koogbook as kb

# ------------------------------------------------------------------------------------------- agents


async def test_an_agent_is_made_in_a_variable(cells: Cells, trip: kb.Strategy) -> None:
    """With all that can be said of it. [NBK-02]"""
    await cells("def weather(city: str) -> str:\n    'Weather.'\n    return city")
    await cells(
        "%koog_agent planner --executor offline --model tiny --system 'Be brief.' --tools weather, --id p "
        "--max-iterations 7 --checkpoints sqlite:kept.db"
    )
    made = cells["planner"]

    assert (made.strategy, made.id, made.max_iterations, made.model.id) == (trip, "p", 7, "tiny")
    assert (type(made.executor), made.feature("Persistence").storage.path.name) == (
        kb.OfflineExecutor,
        "kept.db",
    )
    assert [tool.name for tool in made.tools] == ["weather"]


@pytest.mark.parametrize(
    ("flags", "executor", "store"),
    [
        ("", "ExtractiveExecutor", None),
        ("--executor extractive --checkpoints none", "ExtractiveExecutor", None),
        ("--executor offline --checkpoints memory", "OfflineExecutor", "MemoryCheckpoints"),
        ("--checkpoints sqlite", "ExtractiveExecutor", "SqliteCheckpoints"),
        (
            "--executor 'kb.ScriptedExecutor([\"a\"])' --checkpoints store",
            "ScriptedExecutor",
            "MemoryCheckpoints",
        ),
    ],
)
async def test_executor_and_checkpoints_are_words_or_expressions(
    cells: Cells, trip: kb.Strategy, flags: str, executor: str, store: str | None
) -> None:
    """Without a word nothing is kept. [NBK-02]"""
    await cells("store = kb.MemoryCheckpoints()")
    made = await cells(f"%koog_agent {flags}")
    with contextlib.suppress(kb.errors.FeatureNotInstalledError):
        assert type(made.feature("Persistence").storage).__name__ == store
    found = "Persistence" in repr(made)

    assert (cells["agent"], type(made.executor).__name__, found) == (made, executor, store is not None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--executor extractve",
            "--executor: there is no 'extractve' in this notebook. Nothing was changed. Did you mean "
            "'extractive'? It knows extractive, offline, provider, or takes an expression.",
        ),
        (
            "--executor trip",
            "executor is what answers requests, such as kb.ExtractiveExecutor(), not <strategy 'trip': 2 "
            "nodes, 3 edges>. Nothing was changed.",
        ),
        (
            "--checkpoints sqllite",
            "--checkpoints: there is no 'sqllite' in this notebook. Nothing was changed. Did you mean "
            "'sqlite'? It knows none, memory, sqlite, sqlite:PATH, or takes an expression.",
        ),
        (
            "--checkpoints 3",
            "storage is where checkpoints are kept, not 3. For a file: "
            'kb.Persistence(storage=kb.SqliteCheckpoints("path.db")). Nothing was changed.',
        ),
        (
            "--max-iterations many",
            "--max-iterations is a whole number from 1 on, not 'many'. Nothing was changed.",
        ),
        (
            "--tools wether",
            "--tools: there is no 'wether' in this notebook. Nothing was changed. Did you mean 'weather'?",
        ),
        (
            "--tools weather, trip",
            "trip holds a Strategy, not an agent. Nothing was changed. Choose another name, or let go of it first: "
            "del trip",
        ),
        ("2nd", "NAME is the name of a variable, not '2nd'. Nothing was changed. Use letters, digits and _."),
    ],
)
async def test_a_wrong_agent_is_not_made(cells: Cells, trip: kb.Strategy, line: str, message: str) -> None:
    """One line, with the nearest word. [NBK-02]"""
    await cells("def weather(city: str) -> str:\n    'Weather.'\n    return city")

    assert await cells.refused(f"%koog_agent {line}") == f"%koog_agent: {message}"
    assert "agent" not in cells


async def test_an_agent_of_a_strategy_that_cannot_run_is_not_made(cells: Cells) -> None:
    """What is to do stands in one line. [NBK-03]"""
    await cells("%koog_strategy trip")
    message = await cells.refused("%koog_agent")

    assert message.startswith(
        "%koog_agent: Strategy 'trip' cannot run yet, 1 to do: - trip has no first node."
    )


# ------------------------------------------------------------------------------------------- runs


async def test_a_run_is_left_in_its_variable(
    cells: Cells, agent: kb.Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    """The body is the input; only the panel is shown. [NBK-04]"""
    capsys.readouterr()
    value = await cells("# where to\n%%koog_run --session chat-1 --to first\n\nTo Beijing, 500 yuan.\n\n")
    shown = capsys.readouterr().out

    assert (cells["first"].output, cells["first"].session_id, value) == (
        "To Beijing, 500 yuan.",
        "chat-1",
        None,
    )
    assert shown.startswith("Run ")
    assert "Out[" not in shown


@pytest.mark.parametrize(
    ("cell", "output"),
    [
        ("%%koog_run agent\nhello", "hello"),
        ("%koog_run agent --input \"'hello' * 2\"", "hellohello"),
        ("%koog_run --input text", "from a variable"),
        ("%%koog_run {name}\nhello {name}", "hello {name}"),
        ("%koog_run $name --input text", "from a variable"),
    ],
)
async def test_the_input_is_the_body_or_an_expression(
    cells: Cells, agent: kb.Agent, cell: str, output: str
) -> None:
    """And the line is expanded as that of any magic, the body is not. [NBK-04]"""
    await cells("text = 'from a variable'; name = 'agent'")
    await cells(cell)

    assert cells["run"].output == output


async def test_an_assignment_gives_the_run(cells: Cells, agent: kb.Agent) -> None:
    """And leaves the variable ``run`` alone. [NBK-04]"""
    await cells("other = %koog_run --input \"'hello'\"")

    assert (cells["other"].output, "run" in cells) == ("hello", False)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            "%%koog_run agnt\nhello",
            "AGENT: there is no 'agnt' in this notebook. Nothing was changed. Did you mean 'agent'?",
        ),
        (
            "%%koog_run trip\nhello",
            "AGENT: trip is a Strategy, not an agent. Nothing was changed. There is agent.",
        ),
        (
            "%%koog_run\n\n",
            "There is no input. Nothing was changed. Write it below %%koog_run, or --input EXPR; "
            "--input None goes on with what is unfinished.",
        ),
        (
            "%koog_run",
            "There is no input. Nothing was changed. Write it below %%koog_run, or --input EXPR; "
            "--input None goes on with what is unfinished.",
        ),
        (
            "%%koog_run --input 1\nhello",
            "There is a text below, and --input as well. Nothing was changed. Leave one of them out.",
        ),
        (
            "%%koog_run --to 1st\nhello",
            "--to is the name of a variable, not '1st'. Nothing was changed. Use letters, digits and _.",
        ),
    ],
)
async def test_a_wrong_run_does_not_begin(cells: Cells, agent: kb.Agent, cell: str, message: str) -> None:
    """One line, with the nearest name. [NBK-02]"""
    assert await cells.refused(cell) == f"%%koog_run: {message}"
    assert (agent.last_run, "run" in cells) == (None, False)


async def test_of_several_agents_one_has_to_be_named(cells: Cells, trip: kb.Strategy) -> None:
    """The line to write stands in the message. [NBK-02]"""
    await cells("a, b = (kb.Agent(kb.OfflineExecutor(), 'offline', trip) for _ in 'ab')")
    message = await cells.refused("%%koog_run\nhello")
    await cells("%%koog_run b\nhello")
    await cells("%%koog_run\nhello again")

    assert message == (
        "%%koog_run: There are several: a, b. Nothing was changed. Say which agent is meant: %%koog_run NAME"
    )
    assert (cells["a"].last_run, cells["b"].last_run) == (None, cells["run"])


async def test_a_run_that_fails_raises_what_it_raised_and_is_kept(cells: Cells, trip: kb.Strategy) -> None:
    """The exception goes up as it is, and the variable holds the run. [NBK-04]"""
    await cells("%koog_agent --executor 'kb.OfflineExecutor(fail=True)'")
    result = await cells.run("%%koog_run --to broken\nhello")

    assert isinstance(result.error_in_exec, kb.errors.ExecutorError)
    assert (cells["broken"].state, cells["broken"].error) == ("failed", result.error_in_exec)


async def test_a_run_that_is_cancelled_is_kept_and_the_next_one_works(cells: Cells) -> None:
    """As after an interrupt: one line, and no task of ours is left. [KB-126]"""
    await cells("%koog_strategy slow\nimport asyncio\nbegun = asyncio.Event(); go_on = asyncio.Event()")
    await cells(
        "%%koog_node --after start --no-graph\nasync def rest(ctx, x: str) -> str:\n"
        "    begun.set()\n    await go_on.wait()\n    return x"
    )
    await cells("%koog_edge rest >> finish --no-graph\n%koog_agent")
    cell = asyncio.create_task(cells.run("%%koog_run\nhello"))
    await cells["begun"].wait()
    cell.cancel()
    result = await cell
    left = [task for task in asyncio.all_tasks() if task.get_name().startswith("koogbook")]
    first = cells["run"]
    cells["go_on"].set()
    await cells("%%koog_run\nhello")

    assert isinstance(result.error_in_exec, UsageError)
    assert str(result.error_in_exec).startswith("The run of session ")
    assert (first.state, left, cells["run"].output) == ("cancelled", [], "hello")


async def test_a_run_that_was_stopped_says_how_to_go_on(cells: Cells) -> None:
    """After which node something was saved, and the line that goes on from there. [NBK-04]"""
    await cells("%koog_strategy two\nimport asyncio\nbegun = asyncio.Event()")
    await cells("%%koog_node --after start --no-graph\nasync def quick(ctx, x: str) -> str:\n    return x")
    await cells(
        "%%koog_node --after quick --no-graph\nasync def slow(ctx, x: str) -> str:\n"
        "    begun.set()\n    await asyncio.sleep(60)\n    return x"
    )
    await cells("%koog_edge slow >> finish --no-graph\n%koog_agent --checkpoints memory")
    cell = asyncio.create_task(cells.run("%%koog_run --session s\nhello"))
    await cells["begun"].wait()
    cell.cancel()

    assert str((await cell).error_in_exec) == (
        "The run of session 's' was stopped. What was saved after two/quick stays; go on with: "
        "%koog_run --session s --input None"
    )


async def test_going_on_with_nothing_is_refused(cells: Cells, agent: kb.Agent) -> None:
    """None is no input: one line says so, and nothing is run. [NBK-02]"""
    message = await cells.refused("%koog_run --session nowhere --input None")

    assert message.startswith("%%koog_run: Nothing is unfinished in session 'nowhere'. Nothing was changed.")
    assert agent.last_run is None


async def test_a_handle_stands_for_its_run(cells: Cells, agent: kb.Agent) -> None:
    """What runs in the background can be looked at by the name of its handle. [NBK-04]"""
    await cells("%%koog_run --background --to handle\nhello")
    await cells("done = await handle")
    views = [await cells(f"%koog_{name} handle") for name in ("graph", "locks")]

    assert [view.goes_on for view in views] == [False, False]


async def test_a_run_in_the_background_leaves_a_handle(cells: Cells, agent: kb.Agent) -> None:
    """To await in a later cell. [KB-130]"""
    await cells("%%koog_run --background --to handle\nhello")
    went_on = not cells["handle"].done
    await cells("%koog_locks") if not went_on else None
    await cells("run = await handle")

    assert (went_on, cells["run"].output) == (True, "hello")


async def test_a_timed_run_says_how_long_it_took(
    cells: Cells, agent: kb.Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the run, in one line. [NBK-02]"""
    await cells("%%time\n%%koog_run --to timed\nhello")
    last = capsys.readouterr().out.splitlines()[-1]

    assert last.startswith("Wall time: ")
    assert last.split()[-1] in ("ms", "s")
    assert cells["timed"].output == "hello"


async def test_a_run_that_does_not_begin_has_no_time(
    cells: Cells, agent: kb.Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong use is one line, under ``%%time`` too. [NBK-02]"""
    capsys.readouterr()
    await cells.refused("%%time\n%%koog_run agnt\nhello")

    assert "Wall time" not in capsys.readouterr().out


async def test_a_run_inside_of_something_is_refused_with_the_remedy(cells: Cells, agent: kb.Agent) -> None:
    """Where the loop is running and nothing can wait for it. [NBK-04]"""
    message = await cells.refused("if True:\n    %koog_run --input 1")

    assert message == (
        "%%koog_run: It has to wait, and nothing can wait here, where the cell is running already. Nothing was run. "
        "Write it alone in a line of the cell, not indented and not under another cell magic; a result goes to a "
        'variable with --to NAME. Or: run = await kb.watch(agent, "...", session_id="chat-1")'
    )
    assert agent.last_run is None


async def test_without_a_running_loop_the_magic_waits_by_itself(cells: Cells, agent: kb.Agent) -> None:
    """In a script, or where a thread calls it. [NBK-04]"""
    await asyncio.to_thread(cells.shell.run_cell_magic, "koog_run", "--to far", "hello")

    assert cells["far"].output == "hello"


# ------------------------------------------------------------------------------------------- forks


async def test_a_fork_goes_on_from_a_checkpoint(cells: Cells, agent: kb.Agent) -> None:
    """Of the last run's session unless another is named; ``--input None`` goes on. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")
    infos = agent.feature("Persistence").storage.list_infos("chat-1")
    shown = await cells(f"%koog_fork {infos[0].id[:6]} --as chat-2 --to fork")
    await cells("%koog_run --input None --session chat-2 --to again")

    assert (cells["fork"].session_id, cells["fork"].parent, shown) == ("chat-2", infos[0].id, cells["fork"])
    assert (cells["again"].resumed, cells["again"].output) == (True, "To Beijing.")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--as x",
            "CHECKPOINT is missing: its id, as much of it as is unique, or a node for the last one after it. "
            "Nothing was changed. Write, for example: "
            "%koog_fork 3f2a --as chat-2",
        ),
        (
            "1a2b",
            "--as is missing: the id of the new session. Nothing was changed. Write: %koog_fork 1a2b --as chat-2",
        ),
        (
            "1a2b --as x --session chat",
            "There is no checkpoint of session 'chat'. Nothing was changed. Did you mean "
            "'chat-1'? There is chat-1.",
        ),
    ],
)
async def test_a_wrong_fork_is_not_made(cells: Cells, agent: kb.Agent, line: str, message: str) -> None:
    """One line, with the nearest session. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")

    assert await cells.refused(f"%koog_fork {line}") == f"%koog_fork: {message}"
    assert len(agent.feature("Persistence").storage.list_infos()) == 3


async def test_a_fork_takes_the_name_of_a_node(cells: Cells, agent: kb.Agent) -> None:
    """The last checkpoint after it is meant, whatever its id. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")
    infos = agent.feature("Persistence").storage.list_infos("chat-1")
    await cells("%koog_fork prepare --as chat-2 --to fork")

    assert cells["fork"].parent == next(info.id for info in infos if info.path == "trip/prepare")


async def test_an_unknown_checkpoint_is_one_line_with_the_nearest(cells: Cells, agent: kb.Agent) -> None:
    """A letter of the id is wrong. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")
    first = agent.feature("Persistence").storage.list_infos()[0].id
    wrong = f"{first[:-1]}x"
    message = await cells.refused(f"%koog_fork {wrong} --as chat-2")

    assert message.startswith(
        f"%koog_fork: Session 'chat-1' has no checkpoint {wrong!r}. Nothing was changed. Did you mean {first!r}?"
    )


async def test_a_fork_of_an_ended_run_is_one_line(cells: Cells, agent: kb.Agent) -> None:
    """What the store says, without its stack. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")
    last = agent.feature("Persistence").storage.list_infos()[-1].id
    message = await cells.refused(f"%koog_fork {last} --as chat-2")

    assert "is a tombstone" in message
    assert message.count("Nothing was changed.") == 1


async def test_the_main_job_works_by_magics_alone(cells: Cells, tmp_path: Path) -> None:
    """Build, run, look, fork and go on, from an empty notebook. [NBK-02] [NBK-03]"""
    await cells("%koog_strategy trip --input str --output str")
    await cells(PREPARE)
    await cells(ANSWER)
    await cells("%koog_edge answer >> finish")
    await cells("%koog_agent --checkpoints sqlite --system 'Plan short trips.'")
    await cells("%%koog_run --session chat-1 --to run\nTo Beijing, 500 yuan, museums, nothing outdoors.")
    table = await cells("%koog_checkpoints chat-1")
    await cells("%koog_graph\n%koog_locks")

    assert (cells["run"].state, (tmp_path / ".koogbook" / "koogbook.db").exists()) == ("completed", True)
    assert "3 checkpoints: 2 resumable, 1 ended" in str(table)


async def test_a_model_of_a_provider_is_asked_again_where_that_helps(
    cells: Cells, trip: kb.Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other executor need be named, and no key is ever typed. [NBK-02] [EXE-04]"""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown-anywhere")
    made = await cells("%koog_agent --model openai:gpt-5")

    assert str(made.model) == "openai:gpt-5"
    assert repr(made.executor) == "<RetryingExecutor around ProviderExecutor>"


async def test_a_model_without_a_key_names_the_variable(
    cells: Cells, trip: kb.Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, and no agent is made. [NBK-02] [EXE-06]"""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    assert "OPENAI_API_KEY is not set" in await cells.refused("%koog_agent --model openai:gpt-5")
    assert "Did you mean 'openai:gpt-5'" in await cells.refused("%koog_agent --model opnai:gpt-5")
    assert "agent" not in cells


async def test_a_named_executor_takes_a_model_of_any_name(cells: Cells, trip: kb.Strategy) -> None:
    """It is the one that was asked for. [NBK-02]"""
    made = await cells("%koog_agent --executor offline --model some:thing")

    assert isinstance(made.executor, kb.OfflineExecutor)
