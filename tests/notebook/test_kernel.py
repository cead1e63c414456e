"""The magics in a real kernel: on its own loop, interrupted, in the background, and in a batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from built_kernel import BUILD, TASKS, built_kernel, wait_until_something_is_shown
from kernels import WIDGET_VIEW, Kernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel in which a strategy was built by magics, cell by cell."""
    with built_kernel(tmp_path_factory.mktemp("kernel")) as running:
        yield running


def asking(kernel: Kernel, code: str, **metadata: Any) -> str:
    """Run a cell with what a front end says beside it; gives what it printed."""
    content = {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
    }
    message = kernel.client.session.msg("execute_request", content, metadata=metadata)
    kernel.client.shell_channel.send(message)
    return kernel.wait_for(message["header"]["msg_id"]).printed


def test_a_run_is_awaited_on_the_kernels_own_loop(kernel: Kernel) -> None:
    """Other tasks go on meanwhile, and the result is in the variable. [NBK-04]"""
    kernel.run(
        "wait = 0.3; ticks = []\nasync def tick():\n    while True:\n        ticks.append(1); await asyncio.sleep(0.02)"
    )
    kernel.run("ticking = asyncio.create_task(tick())")
    ran = kernel.run("# where to\n%%koog_run --session live --to live\nto Beijing", cell_id="run")
    printed = kernel.run(
        "ticking.cancel(); print(live.output, len(ticks) > 5, asyncio.get_running_loop() is not None)"
    )

    assert (ran.status, ran.printed) == ("ok", "")
    assert printed.printed == "TO BEIJING True True\n"


def test_a_run_shows_one_panel_under_its_cell(kernel: Kernel) -> None:
    """It ends as a picture: text and HTML, no widget that would be dead in the saved notebook. [NBK-04]"""
    kernel.run("wait = 0.0")
    ran = kernel.run("%%koog_run\nto Beijing", cell_id="panel")
    last = ran.updates[-1]["data"] if ran.updates else ran.outputs[-1]["data"]

    assert len(ran.outputs) == 1
    assert {"text/plain", "text/html"} <= set(last)
    assert WIDGET_VIEW not in last


def test_lines_that_wait_stand_among_others(kernel: Kernel) -> None:
    """Also with their value in a variable. [NBK-04]"""
    kernel.run("wait = 0.0\ntext = 'again'")
    ran = kernel.run(
        "a = 1\nfirst = %koog_run agent --input text\n%koog_run --input 'text * 2'\nprint(first.output, run.output)"
    )

    assert (ran.status, ran.printed) == ("ok", "AGAIN AGAINAGAIN\n")


def test_agent_run_needs_nothing_but_await(kernel: Kernel) -> None:
    """No nested loop and no second one. [KB-131]"""
    ran = kernel.run(
        "wait = 0.0\nimport sys\nrun = await agent.run('by hand')\nprint(run.output, 'nest_asyncio' in sys.modules)"
    )

    assert (ran.status, ran.printed) == ("ok", "BY HAND False\n")


def test_a_run_that_was_stopped_is_kept(kernel: Kernel) -> None:
    """The variable holds it as far as it came. [KB-126]"""
    kernel.run("wait = 60.0")
    request = kernel.send("%%koog_run --to stopped --session stop-1\nto Beijing")
    wait_until_something_is_shown(kernel, request)
    kernel.interrupt()
    kernel.wait_for(request, timeout=20)

    assert kernel.run("print(stopped.session_id, stopped.state)").printed == "stop-1 cancelled\n"


def test_a_background_run_stays_with_its_own_cell(kernel: Kernel) -> None:
    """The cell ends at once; what the run shows later goes to that cell, not to the one that runs then. [KB-130]"""
    kernel.run("wait = 1.0")
    ran = kernel.run("%%koog_run --background --to handle\nto Beijing", cell_id="background")
    other = kernel.run(
        "print(handle.done)\nrun = await handle\nprint(run.output, handle.done)", cell_id="other"
    )

    assert ran.status == "ok"
    assert {one.get("name") for one in other.outputs} == {"stdout"}
    assert other.printed == "False\nTO BEIJING True\n"


def test_what_a_background_run_prints_goes_to_its_cell(kernel: Kernel) -> None:
    """A node prints while another cell runs. [KB-130]"""
    kernel.run("wait = 0.4\nagent.on(lambda event: print(event.name), kb.events.RunCompleted)")
    request = kernel.send("%%koog_run --background --to handle\nto Beijing", cell_id="printing")
    kernel.wait_for(request)
    other = kernel.send("run = await handle\nawait asyncio.sleep(0.2)", cell_id="other")
    parents = []
    idle = False
    while not idle:
        message = kernel.client.get_iopub_msg(timeout=20)
        if message["msg_type"] == "stream":
            parents.append(message["parent_header"]["msg_id"])
        idle = (
            message["msg_type"] == "status"
            and message["content"]["execution_state"] == "idle"
            and message["parent_header"].get("msg_id") == other
        )
    kernel.client.get_shell_msg(timeout=10)
    kernel.run("agent = kb.Agent(kb.ExtractiveExecutor(), 'offline', trip)")

    assert parents == [request]


def test_a_background_run_can_be_stopped(kernel: Kernel) -> None:
    """By its handle. [KB-130]"""
    kernel.run("wait = 60.0")
    kernel.run("%%koog_run agent --background --to handle\nto Beijing")
    kernel.run("await asyncio.sleep(0.1)\nhandle.cancel()")

    assert (
        kernel.run(f"await asyncio.sleep(0.2)\nprint(handle.run.state)\n{TASKS}").printed == "cancelled\n[]\n"
    )


def test_running_a_cell_again_replaces_its_node(kernel: Kernel) -> None:
    """By the id that the front end sends; another cell may not define the same node. [KB-139]"""
    kernel.run("%koog_strategy other", cell_id="other-0")
    node = "%%koog_node --after start --no-graph\nasync def plan(ctx, text): return {}"
    kernel.run(node.format("1"), cell_id="other-1")
    again = kernel.run(node.format("2"), cell_id="other-1")
    conflict = kernel.run(node.format("3"), cell_id="other-2")
    seen = kernel.run(
        "print(list(other.nodes), await other.nodes['plan'](None, ''), other.changes, len(other.edges))"
    )
    kernel.run("%koog_strategy trip")

    assert (again.status, conflict.status) == ("ok", "error")
    assert conflict.error.startswith("UsageError: %%koog_node: 'other/plan' is defined by cell ")
    assert seen.printed == "['start', 'finish', 'plan'] 2 ['node plan redefined'] 1\n"


def test_a_node_of_a_deleted_cell_is_free(kernel: Kernel) -> None:
    """The front end says with the next cell which ones are gone. [KB-139]"""
    asking(kernel, "gone = kb.strategy('gone')\n@gone.node\nasync def plan(ctx, text): ...", cellId="gone-1")
    cell = "@gone.node\nasync def plan(ctx, text): ...\nprint(plan.cell.id)"

    assert asking(kernel, cell, cellId="gone-2") == ""
    assert asking(kernel, cell, cellId="gone-2", deletedCells=["gone-1"]) == "gone-2\n"


def test_the_source_and_the_place_of_a_node_are_those_on_the_page(kernel: Kernel) -> None:
    """The text of the function, and the number that the cell shows. [NBK-03] [KB-139]"""
    source = "async def think(ctx, text: str) -> str:\n    return text.upper()"
    ran = kernel.run(f"# why\n%%koog_node --strategy trip --no-graph\n{source}", cell_id="build-2")
    printed = kernel.run(
        "import inspect\nprint(think.place)\nprint(inspect.getsource(think.function))"
    ).printed

    assert printed == f"cell {ran.reply['execution_count']}:3\n{source}\n\n"


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%koog_run agnt\nhello", "%%koog_run: AGENT: there is no 'agnt' in this notebook."),
        ("%%capture\n%%koog_run\nhello", "%%koog_run: It has to wait, and under %%capture nothing can wait."),
        ("%%koog_node\nn = 1", "%%koog_node: There is no async function at the top level of the cell"),
        ("%koog_edge a >> b", "%koog_edge: There is no node 'a' in 'trip'."),
        ("for i in (1,):\n    %koog_run --input i", "%%koog_run: It has to wait, and nothing can wait here"),
    ],
)
def test_wrong_use_is_one_line_and_an_error(kernel: Kernel, cell: str, message: str) -> None:
    """On the page one line, and for whoever runs the cell a failure. [NBK-02]"""
    ran = kernel.run(cell)

    assert (ran.status, ran.reply["ename"]) == ("error", "UsageError")
    assert ran.reply["evalue"].startswith(message)
    assert "".join(one.get("text", "") for one in ran.outputs).count("\n") <= 1
    assert not any("Traceback" in str(one) for one in ran.outputs)


def test_completion_answers_in_the_kernel(kernel: Kernel) -> None:
    """As a front end asks for it. [NBK-02]"""
    code = "%%koog_node --after th\nasync def f(ctx, x): ..."
    request = kernel.client.complete(code, cursor_pos=code.index("\n"))
    while (reply := kernel.client.get_shell_msg(timeout=10))["parent_header"].get("msg_id") != request:
        pass

    assert reply["content"]["matches"] == ["think"]
    assert code[reply["content"]["cursor_start"] : reply["content"]["cursor_end"]] == "th"


@pytest.mark.parametrize(
    "last", ["%%koog_run agnt\nhello", "%%capture\n%%koog_run\nhello", "%koog_graph --selcted x"]
)
def test_a_batch_run_fails_on_wrong_use(tmp_path: Path, last: str) -> None:
    """Nothing is printed and passed over. [NBK-02]"""
    cells = [nbformat.v4.new_code_cell(source) for source in [*BUILD, last, "print('not reached')"]]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with pytest.raises(CellExecutionError, match="UsageError"):
        NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()

    assert notebook.cells[-1].outputs == []
