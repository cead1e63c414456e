"""Looking at things by magics."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from notebook_cells import ANSWER, PREPARE, Cells

import koogbook as kb
from koogbook.notebook.views.prompt_view.prompt import prompt


async def test_a_line_gives_the_view_and_can_keep_it(cells: Cells, agent: kb.Agent) -> None:
    """By assignment, and by ``--to``. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")
    await cells(
        "a = %koog_graph\n%koog_locks --to b\n%koog_checkpoints chat-1 --to c\n%koog_diff run run --to d\n"
        "%koog_prompt --to e"
    )

    assert [cells[name].title for name in "abcde"] == [
        "Strategy graph",
        "Lock view",
        "Checkpoints",
        "Prompt diff",
        "Prompt",
    ]


async def test_the_graph_shows_the_last_run_of_the_strategy(cells: Cells, agent: kb.Agent) -> None:
    """And the strategy as it is, where it was changed after the run. [NBK-02]"""
    await cells("%%koog_run\nTo Beijing.")
    run = await cells("%koog_graph --selected answer")
    await cells("%koog_edge answer >> prepare --when 'len(output) < 3'")
    changed = await cells("%koog_graph")

    assert (cells["run"].run_id in str(run), cells["run"].run_id in str(changed)) == (True, False)
    assert str(await cells("%koog_graph run")) == str(kb.graph(cells["run"]))
    assert str(await cells("%koog_graph agent")) == str(kb.graph(cells["agent"]))


async def test_the_last_run_is_the_one_started_last(cells: Cells, agent: kb.Agent) -> None:
    """Whether a magic has started it or plain Python. [NBK-02]"""
    await cells("%%koog_run\nfirst")
    await cells("other = await agent.run('second', session_id='by hand')")
    view = await cells("%koog_graph")
    await cells("third = await kb.Agent(kb.OfflineExecutor(), 'offline', trip).run('third')")
    of_nobody = await cells("%koog_graph")

    assert cells["other"].run_id in str(view)
    assert cells["third"].run_id in str(of_nobody)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "%koog_graph trp",
            "SUBJECT: there is no 'trp' in this notebook. Nothing was changed. Did you mean 'trip'?",
        ),
        (
            "%koog_graph kb",
            "SUBJECT: kb is module, and no strategy, agent or run. Nothing was changed. "
            "There is trip, agent, run.",
        ),
        (
            "%koog_graph --selected anwser",
            "There is no node 'anwser' in 'trip'. Nothing was changed. Did you mean "
            "'answer'? It has: start, finish, prepare, answer.",
        ),
        (
            "%koog_locks rn",
            "RUN: there is no 'rn' in this notebook. Nothing was changed. Did you mean 'run'?",
        ),
        ("%koog_locks agent", "RUN: agent is an Agent, not a run. Nothing was changed. There is run."),
        (
            "%koog_diff",
            "Nothing was compressed in the run of session 'chat-1'. Nothing was changed. Two histories: "
            "%koog_diff before after",
        ),
        (
            "%koog_diff run --compression 0",
            "--compression is a whole number from 1 on, not '0'. Nothing was changed.",
        ),
        (
            "%koog_diff run run --compression 1",
            "--compression counts the compressions of one run. Nothing was changed. "
            "Leave it out, or name the run alone.",
        ),
        (
            "%koog_diff run.prompt",
            "BEFORE is one history alone. Nothing was changed. Two histories: %koog_diff before after",
        ),
        (
            "%koog_diff run trip",
            "AFTER is Strategy, and no history. Nothing was changed. It takes a run, a prompt, a "
            "transcript or messages.",
        ),
        (
            "%koog_diff run run.output",
            "AFTER is str, and no history. Nothing was changed. It takes a run, a prompt, a "
            "transcript or messages.",
        ),
        (
            "%koog_diff run run --keep ''",
            "--keep: an empty text stands in every message and is no fact. Nothing was changed.",
        ),
        (
            "%koog_prompt rn",
            "RUN: there is no 'rn' in this notebook. Nothing was changed. Did you mean 'run'?",
        ),
        (
            "%koog_prompt trip",
            "RUN: trip is Strategy, and no run or history. Nothing was changed. It takes a run, a prompt, a "
            "transcript or messages.",
        ),
        (
            "%koog_prompt --call 0",
            "--call is a whole number from 1 on, not '0'. Nothing was changed.",
        ),
        (
            "%koog_prompt --call 3",
            "The run of session 'chat-1' has 1 call and no 3: there is 1.",
        ),
        (
            "%koog_prompt run.prompt --call 1",
            "--call counts the calls of a run. Nothing was changed. Leave it out, or name a run.",
        ),
        (
            "%koog_prompt --off histroy",
            "There is no layer 'histroy' in call 1. Did you mean 'history'? It has: history.",
        ),
        (
            "%koog_prompt --selected last",
            "There is no message 'last' in call 1. There are 0 to 0.",
        ),
        (
            "%koog_prompt --select 0",
            "There is no flag --select. Nothing was changed. Did you mean '--selected'? It has --call, --off, "
            "--selected, --to.",
        ),
        (
            "%koog_checkpoints chat-2",
            "There is no checkpoint of session 'chat-2'. Nothing was changed. Did you mean "
            "'chat-1'? There is chat-1.",
        ),
        (
            "%koog_checkpoints --agent agnt",
            "--agent: there is no 'agnt' in this notebook. Nothing was changed. Did you mean 'agent'?",
        ),
        (
            "%koog_locks run --file run.jsonl",
            "It is of a run or of a file, not of both. Nothing was changed. Leave one of them out.",
        ),
        ("%koog_locks --file ''", "--file: an empty path names no file. Nothing was changed."),
        (
            "%koog_locks --to 1st",
            "--to is the name of a variable, not '1st'. Nothing was changed. Use letters, digits and _.",
        ),
    ],
)
async def test_a_wrong_view_is_one_line_with_the_nearest_name(
    cells: Cells, agent: kb.Agent, line: str, message: str
) -> None:
    """Of a variable, a node, a session. [NBK-02]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")

    assert await cells.refused(line) == f"{line.split()[0]}: {message}"


async def test_the_diff_of_a_run_is_that_of_its_compressions(cells: Cells) -> None:
    """The last one, or the one of a number. [NBK-02]"""
    await cells("%koog_strategy trip --input str --output str")
    await cells(PREPARE)
    await cells("for name in ('c1', 'c2'): trip.compress_history(kb.WholeHistory(), name=name)")
    await cells("%koog_edge prepare >> c1 >> c2 >> finish --no-graph\n%koog_agent")
    await cells("%%koog_run\n" + "The museum opens at nine. Tickets cost 40 yuan. " * 20)
    run = cells["run"]
    last = await cells("%koog_diff --keep '40 yuan'")
    first = await cells("%koog_diff run --compression 1")
    by_ledger = await cells("%koog_diff run.compressions[0]")
    message = await cells.refused("%koog_diff run --compression 3")

    assert [str(view) for view in (last, first, by_ledger)] == [
        str(kb.diff(run, must_keep=["40 yuan"])),
        str(kb.diff(run, compression=1)),
        str(kb.diff(run.compressions[0])),
    ]
    assert message == (
        "%koog_diff: The run has 2 compressions, and no number 3. Nothing was changed. They count from 1."
    )


async def test_a_trace_file_is_shown_like_its_run(cells: Cells, agent: kb.Agent, in_folder: Path) -> None:
    """By its name in the folder of the notebook. [NBK-02] [NBK-06]"""
    await cells("%%koog_run --session chat-1\nTo Beijing.")
    await cells("kb.save_trace(run, 'the run.jsonl')")
    view = await cells("%koog_locks --file 'the run.jsonl' --to kept")

    assert (str(view), cells["kept"]) == (str(kb.locks(in_folder / "the run.jsonl")), view)
    assert [row.place for lane in view.state.lanes for row in lane.sessions] == [
        row.place for lane in kb.locks(cells["run"]).state.lanes for row in lane.sessions
    ]


async def test_the_prompt_is_that_of_the_last_call(cells: Cells) -> None:
    """Or of a number, with layers off, and of any history. [NBK-02] [NBK-07]"""
    await cells("%koog_strategy trip --input str --output str")
    await cells(PREPARE)
    await cells(ANSWER)
    await cells("%koog_edge answer >> prepare --when 'len(ctx.llm.committed.prompt) < 4' --no-graph")
    await cells("%koog_edge answer >> finish --no-graph\n%koog_agent --system 'rules'")
    await cells("%%koog_run\nTo Beijing.")
    run = cells["run"]

    assert len(run.calls) == 2
    assert str(await cells("%koog_prompt")) == str(prompt(run))
    assert str(await cells("%koog_prompt run --call 1 --selected 1 --off system --off history")) == str(
        prompt(run, call=1, selected=1, off=["system", "history"])
    )
    assert str(await cells("%koog_prompt run.prompt --off 'file memory'")) == str(prompt(run.prompt))


async def test_layers_are_offered(cells: Cells, agent: kb.Agent) -> None:
    """All that there are, and of the last run once there is one; a name with a space is quoted. [NBK-02]"""

    def offered() -> list[str]:
        line = "%koog_prompt --off "
        with provisionalcompleter():
            return [one.text for one in cells.shell.Completer.completions(line, len(line))]

    before = offered()
    await cells("%%koog_run\nTo Beijing.")

    assert ('"file memory"' in before, offered()) == (True, ["tools", "history"])


async def test_a_run_without_a_call_is_one_line(cells: Cells) -> None:
    """With the line that makes one. [NBK-02]"""
    await cells("%koog_strategy trip --input str --output str")
    await cells(PREPARE)
    await cells("%koog_edge prepare >> finish --no-graph\n%koog_agent")
    await cells("%%koog_run --session chat-1\nTo Beijing.")

    assert (await cells.refused("%koog_prompt")).startswith(
        "%koog_prompt: The run of session 'chat-1' has asked no model, so there is no prompt to show."
    )


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("missing.jsonl", "There is no file 'missing.jsonl'. Nothing is shown."),
        ("other.jsonl", "other.jsonl is no trace: its first line is not"),
    ],
)
async def test_a_file_that_is_no_trace_is_one_line(
    cells: Cells, in_folder: Path, name: str, what: str
) -> None:
    """The file, what is wrong with it, what to do. [NBK-02]"""
    (in_folder / "other.jsonl").write_text("hello", encoding="utf-8")
    message = await cells.refused(f"%koog_locks --file {name}")

    assert message.startswith(f"%koog_locks: {what}")
    assert "Nothing was loaded" in message or "Nothing is shown" in message


async def test_without_a_run_it_is_said_how_to_make_one(cells: Cells, agent: kb.Agent) -> None:
    """The line to write. [NBK-02]"""
    assert await cells.refused("%koog_locks") == (
        "%koog_locks: There is no run yet. Nothing was changed. Make one: %%koog_run, or run = await agent.run(...)"
    )


async def test_an_agent_without_persistence_is_told_what_to_add(cells: Cells, trip: kb.Strategy) -> None:
    """The line to write. [NBK-02]"""
    await cells("%koog_agent")
    message = await cells.refused("%koog_checkpoints")

    assert message.startswith("%koog_checkpoints: Persistence is not installed on agent 'trip'.")


async def test_freezing_says_how_many_views_it_was(cells: Cells) -> None:
    """Here none is live. [NBK-02]"""
    assert await cells("%koog_freeze") == 0
