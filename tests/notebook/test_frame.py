"""How views are shown under the cells of a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernels import WIDGET_VIEW, Kernel, Ran, running_kernel

BUILD = """
import asyncio, gc, weakref
import koogbook as kb
trip = kb.strategy("trip", input=str, output=str)

@trip.node
async def think(ctx, text: str) -> str:
    async with ctx.llm.write_session() as session:
        session.append(kb.user(text))
    await asyncio.sleep(wait)
    return text.upper()

trip.start >> think >> trip.finish
agent = kb.Agent(kb.OfflineExecutor(), "offline", trip)
wait = 0.0
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel with a small strategy in it."""
    with running_kernel(tmp_path_factory.mktemp("kernel")) as running:
        assert running.run(BUILD).status == "ok"
        yield running


@pytest.fixture(scope="module")
def static_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """The same, asked for static views."""
    with running_kernel(tmp_path_factory.mktemp("static"), {"KOOGBOOK_STATIC": "1"}) as running:
        assert running.run(BUILD).status == "ok"
        yield running


def model_of(ran: Ran) -> str:
    """The id of the widget that a cell showed."""
    return str(ran.shown(WIDGET_VIEW)[0]["model_id"])


def sent_changes(ran: Ran) -> list[dict[str, Any]]:
    """The updates that widgets were sent."""
    contents = [content["data"].get("content", {}) for kind, content in ran.comms if kind == "comm_msg"]
    return [content for content in contents if "changes" in content]


def kept_picture(*listened: Ran) -> dict[str, str]:
    """The last picture that a front end was given to save."""
    contents = [
        content["data"].get("content", {})
        for ran in listened
        for _, content in ran.comms
        if "data" in content
    ]
    found: dict[str, str] = [content["picture"] for content in contents if "picture" in content][-1]
    return found


def test_a_view_is_shown_in_three_forms_at_once(kernel: Kernel) -> None:
    """Beside the widget stand a real text and HTML, for who has no front end. [NBK-10]"""
    ran = kernel.run("kb.graph(trip)")
    data = ran.outputs[0]["data"]

    assert (
        set(data),
        data["text/plain"].startswith("Strategy graph   trip"),
        "<table" in data["text/html"],
    ) == (
        {"text/plain", "text/html", WIDGET_VIEW},
        True,
        True,
    )


def test_the_output_says_that_it_is_a_view(kernel: Kernel) -> None:
    """What freezes a saved notebook knows its own outputs by it. [NBK-10a]"""
    assert kernel.run("kb.graph(trip)").outputs[0]["metadata"] == {"koogbook": {"view": "Strategy graph"}}


def test_a_click_changes_the_view_and_the_selection_is_a_python_object(kernel: Kernel) -> None:
    """The node that was clicked is ``view.selected``. [NBK-05]"""
    shown = kernel.run("view = kb.graph(trip); view")
    kernel.click(model_of(shown), "select", "trip/think")
    answer = kernel.listen(0.5)

    assert "defined in" in str(sent_changes(answer))
    assert kernel.run("print(view.selected.node is think)").printed == "True\n"


def test_several_views_of_one_object_agree(kernel: Kernel) -> None:
    """What is selected in one view is selected in the other one, too. [NBK-11]"""
    shown = kernel.run(
        "one = kb.graph(trip); two = kb.graph(trip); one._ipython_display_(); two._ipython_display_()"
    )
    first, second = (data["model_id"] for data in shown.shown(WIDGET_VIEW))
    kernel.run("one.select(''); one.refresh()")
    kernel.click(first, "select", "trip/think")
    told = {content["comm_id"] for kind, content in kernel.listen(0.6).comms if kind == "comm_msg"}

    assert (first in told, second in told) == (True, True)
    assert kernel.run("print(two.selected.path)").printed == "trip/think\n"


def test_what_a_click_cannot_do_is_said_in_the_view(kernel: Kernel) -> None:
    """An error behind a click is shown, not swallowed, and the view goes on. [KB-137]"""
    shown = kernel.run("view = kb.graph(trip); view")
    kernel.click(model_of(shown), "select", "trip/nowhere")
    changed = sent_changes(kernel.listen(0.5))

    assert "There is no node 'trip/nowhere'" in str(changed)


def test_the_view_moves_while_the_cell_runs(kernel: Kernel) -> None:
    """The node that runs is lit before the cell has ended. [NBK-04]"""
    ran = kernel.run("wait = 0.6; run = await kb.watch(agent, 'hello', 'live'); print(run.output)")

    assert ("running think, visit 1" in str(sent_changes(ran)), ran.printed) == (True, "HELLO\n")


def test_a_live_panel_ends_as_its_static_form(kernel: Kernel) -> None:
    """After the run the output is a picture that needs no kernel. [NBK-10a]"""
    ran = kernel.run("wait = 0.3; run = await kb.watch(agent, 'hello', 'ends')")
    last = ran.updates[-1]["data"]

    assert (WIDGET_VIEW in ran.outputs[0]["data"], set(last), "HELLO" in last["text/plain"]) == (
        True,
        {"text/plain", "text/html"},
        True,
    )


def test_a_run_that_is_over_at_once_is_shown_when_it_is_over(kernel: Kernel) -> None:
    """No widget comes and goes for it."""
    ran = kernel.run("wait = 0.0; run = await kb.watch(agent, 'hello', 'quick')")

    assert ([set(one["data"]) for one in ran.outputs], ran.updates) == ([{"text/plain", "text/html"}], [])


def test_a_view_opened_during_a_run_ends_with_how_it_ended(kernel: Kernel) -> None:
    """It follows the run to its end, and then is quiet."""
    request = kernel.send("wait = 0.5; task = asyncio.ensure_future(agent.run('hello', 'watched'))")
    kernel.wait_for(request)
    kernel.run("view = kb.graph(agent.last_run); view")
    ended = kernel.listen(1.2)

    kept = kernel.listen(1.5)

    assert "completed in" in str(sent_changes(ended))
    assert "completed in" in kept_picture(ended, kept)["text/plain"]


def test_a_click_is_answered_while_a_run_goes_on(kernel: Kernel) -> None:
    """A button in a view works in the middle of a run, and not only after it. [NBK-04]"""
    view = model_of(kernel.run("view = kb.graph(trip); view.select(''); view"))
    request = kernel.send("wait = 1.5; run = await kb.watch(agent, 'hello', 'busy'); print('over')")
    kernel.listen(0.4)
    kernel.click(view, "select", "trip/think")
    during = kernel.listen(0.5)
    rest = kernel.wait_for(request)

    assert any(content["comm_id"] == view for kind, content in during.comms if kind == "comm_msg")
    assert rest.printed == "over\n"


def test_the_stop_button_ends_the_run(kernel: Kernel) -> None:
    """A run can be stopped from its panel; the sessions are given back. [NBK-04]"""
    request = kernel.send("wait = 20; run = await kb.watch(agent, 'hello', 'stopped')")
    begun = kernel.listen(0.5)
    panel = next(
        content["comm_id"] for kind, content in begun.comms if kind == "comm_open" and "tree" in str(content)
    )
    kernel.click(panel, "stop")
    ran = kernel.wait_for(request, timeout=5)
    after = kernel.run("wait = 0.0; print(agent.last_run.state, (await agent.run('again')).output)")

    assert (ran.status, after.printed) == ("error", "cancelled AGAIN\n")


def test_a_run_in_the_background_can_be_awaited_later(kernel: Kernel) -> None:
    """Without await the cell ends at once and the run goes on; with it, it gives the run. [NBK-04]"""
    kernel.run("wait = 0.4; handle = kb.watch(agent, 'later', 'back'); print(handle.done)")
    ran = kernel.run("run = await handle; print(run.output, handle.done)")

    assert ran.printed == "LATER True\n"


def test_twenty_thousand_events_send_ten_messages_a_second_at_most(kernel: Kernel) -> None:
    """Updates are coalesced: the last picture wins. [PRF-13]"""
    kernel.run(
        "busy = kb.strategy('busy', input=int, output=int)\n"
        "@busy.node\n"
        "async def step(ctx, n: int) -> int:\n"
        "    await asyncio.sleep(0)\n"
        "    return n - 1\n"
        "busy.start >> step\n"
        "busy.edge(step, step, when=lambda n: n > 0, label='more')\n"
        "step >> busy.finish\n"
        "many = kb.Agent(kb.OfflineExecutor(), 'offline', busy, max_iterations=10_000)"
    )
    ran = kernel.run(
        "import time; began = time.perf_counter(); run = await kb.watch(many, 6_700)\n"
        "print(len(run.events), time.perf_counter() - began)",
        timeout=60,
    )
    events, seconds = ran.printed.split()
    updates = len(sent_changes(ran))

    assert (int(events) >= 20_000, updates <= 10 * float(seconds) + 2) == (True, True)


def test_a_closed_view_is_freed(kernel: Kernel) -> None:
    """A hundred views that were shown and closed leave nothing behind. [KB-132]"""
    ran = kernel.run(
        "from ipywidgets.widgets.widget import _instances\n"
        "await asyncio.sleep(2.5)\n"  # a widget outlives its place on the page for a moment
        "before, refs = len(_instances), []\n"
        "for _ in range(100):\n"
        "    view = kb.graph(trip); view._ipython_display_(); refs.append(weakref.ref(view)); view.close(); del view\n"
        "await asyncio.sleep(2.5)\n"
        "gc.collect()\n"
        "print(sum(one() is not None for one in refs), len(_instances) - before)"
    )

    assert ran.printed == "0 0\n"


def test_a_cell_that_runs_again_frees_what_it_showed(kernel: Kernel) -> None:
    """Its old output is gone from the page, and the widget of it is closed. [KB-132]"""
    kernel.run("%load_ext koogbook")
    first = model_of(kernel.run("kb.graph(trip)", cell_id="shows"))
    ran = kernel.run("kb.graph(trip)", cell_id="shows")
    closed = [content["comm_id"] for kind, content in ran.comms if kind == "comm_close"]
    kernel.run("%unload_ext koogbook")

    assert first in closed


def test_a_view_under_another_cell_stays_when_a_cell_runs_again(kernel: Kernel) -> None:
    """Only what the cell itself had shown is freed."""
    kernel.run("%load_ext koogbook")
    kernel.run("kept = kb.graph(trip); kept", cell_id="first")
    ran = kernel.run("kb.graph(trip)", cell_id="second")
    kernel.run("%unload_ext koogbook")

    assert [kind for kind, _ in ran.comms if kind == "comm_close"] == []


def test_freezing_turns_every_live_view_into_a_picture(kernel: Kernel) -> None:
    """Before a notebook is shared nothing in it needs a kernel any more. [NBK-10a]"""
    kernel.run("from koogbook.notebook.frame import freeze_all; freeze_all()")
    kernel.run("kb.graph(trip)")
    ran = kernel.run("print(freeze_all(), freeze_all())")

    assert (ran.printed, [set(update["data"]) for update in ran.updates]) == (
        "1 0\n",
        [{"text/plain", "text/html"}],
    )


def test_a_static_notebook_shows_each_view_once_and_without_a_widget(static_kernel: Kernel) -> None:
    """In a batch run there is one output, final, that is never updated. [NBK-10a]"""
    ran = static_kernel.run("run = await kb.watch(agent, 'hello', 'static')")

    assert ([set(one["data"]) for one in ran.outputs], ran.updates, ran.comms) == (
        [{"text/plain", "text/html"}],
        [],
        [],
    )


def test_the_same_input_gives_the_same_bytes(static_kernel: Kernel) -> None:
    """A static output can be compared with the one that was saved. [NBK-10]"""
    first, second = (static_kernel.run("kb.graph(trip)").outputs[0]["data"] for _ in range(2))

    assert first == second


def test_nothing_is_written_to_stdout_by_a_run(static_kernel: Kernel) -> None:
    """A run writes no stream that could be split or merged otherwise the next time. [KB-146]"""
    ran = static_kernel.run("run = await kb.watch(agent, 'hello', 'quiet')")

    assert [one for one in ran.outputs if "name" in one] == []


def test_a_click_does_its_work_while_no_cell_runs(kernel: Kernel) -> None:
    """What a button begins goes on to its end with the kernel idle. [KB-129]"""
    kernel.run(
        "store = kb.MemoryCheckpoints()\n"
        "saved = kb.Agent(kb.OfflineExecutor(), 'offline', trip).install(kb.Persistence(storage=store))\n"
        "wait = 0.0; await saved.run('hello', 'one')"
    )
    shown = kernel.run("table = kb.checkpoints(saved, 'one'); table")
    first = kernel.run("print(store.list_infos('one')[0].id)").printed.strip()
    kernel.click(model_of(shown), "select", first)
    kernel.listen(0.4)
    kernel.click(model_of(shown), "fork")
    kernel.listen(0.8)

    assert kernel.run("print([info.kind for info in store.list_infos('one-fork')])").printed == "['fork']\n"


@pytest.mark.parametrize("static", [False, True])
def test_no_warning_comes_with_a_view(tmp_path: Path, static: bool) -> None:
    """With all warnings on, importing and showing writes nothing to stderr. [KB-148]"""
    environment = {"PYTHONWARNINGS": "default", "KOOGBOOK_STATIC": "1" if static else None}
    with running_kernel(tmp_path, environment) as kernel:
        outputs = (
            kernel.run(BUILD).outputs + kernel.run("run = await kb.watch(agent, 'a')\nkb.graph(run)").outputs
        )

    assert [one for one in outputs if one.get("name") == "stderr"] == []


def test_what_is_saved_is_what_the_view_shows_now(kernel: Kernel) -> None:
    """A click changes the picture that goes into the file, too, a moment later. [NBK-10a]"""
    shown = kernel.run("view = kb.graph(trip); view.select(''); view")
    kernel.click(model_of(shown), "select", "trip/think")
    picture = kept_picture(kernel.listen(1.8))

    assert ("Selected: trip/think" in picture["text/plain"], "Edges out" in picture["text/html"]) == (
        True,
        True,
    )


def test_a_view_that_selects_takes_the_others_along(kernel: Kernel) -> None:
    """What a new view of an object is told to select is selected in those that are there already. [NBK-11]"""
    first = model_of(kernel.run("one = kb.graph(trip); one.select(''); one"))
    ran = kernel.run("two = kb.graph(trip, selected='think')")
    later = kernel.listen(0.5)
    told = [content["comm_id"] for kind, content in ran.comms + later.comms if kind == "comm_msg"]

    assert first in told


def test_the_panel_of_a_background_run_belongs_to_the_cell_that_began_it(kernel: Kernel) -> None:
    """Other cells may run, and run again, and it stays until its own cell does. [KB-130]"""
    kernel.run("%load_ext koogbook")
    kernel.run("wait = 2.0; handle = kb.watch(agent, 'long', 'own')", cell_id="begins")
    others = [kernel.run("await asyncio.sleep(0.3)", cell_id="other") for _ in range(3)]
    again = kernel.run("handle.cancel()", cell_id="begins")
    kernel.run("%unload_ext koogbook")

    assert [kind for ran in others for kind, _ in ran.comms if kind == "comm_close"] == []
    assert "comm_close" in [kind for kind, _ in again.comms]


def test_a_view_under_a_deleted_cell_is_freed(kernel: Kernel) -> None:
    """A front end says which cells are gone. [KB-132]"""
    kernel.run("%load_ext koogbook")
    gone = model_of(kernel.run("kb.graph(trip)", cell_id="to delete"))
    ran = kernel.run("1", cell_id="another", deleted=["to delete"])
    kernel.run("%unload_ext koogbook")

    assert gone in [content["comm_id"] for kind, content in ran.comms if kind == "comm_close"]


def test_a_fault_in_a_picture_is_no_fault_of_the_run(kernel: Kernel) -> None:
    """The run is given all the same, and one line says what went wrong. [NBK-04]"""
    kernel.run("from koogbook.notebook.views.run_view.runs import RunView; whole = RunView.to_text")
    kernel.run("def broken(view): raise RuntimeError('no ink')\nRunView.to_text = broken")
    ran = kernel.run("wait = 0.0; run = await kb.watch(agent, 'fine', 's'); print(run.output)")
    kernel.run("RunView.to_text = whole")

    assert ran.printed == "FINE\n"
    assert "could not be shown: RuntimeError: no ink" in str(ran.shown())


def test_a_picture_that_cannot_be_made_leaves_the_last_one_and_says_so(kernel: Kernel) -> None:
    """And the line is gone as soon as one can be made again. [KB-137]"""
    kernel.run("from koogbook.notebook.views.graph_view.graph import GraphView; whole = GraphView.element")
    kernel.run("view = kb.graph(trip); view.select(''); view")
    kernel.run("GraphView.element = property(lambda view: 1 / 0); view.refresh()")
    broken = str(sent_changes(kernel.listen(0.5)))
    kernel.run("GraphView.element = whole; view.refresh()")
    mended = sent_changes(kernel.listen(0.5))[-1]["changes"]

    assert "No newer picture could be made: ZeroDivisionError" in broken
    assert mended[-1][1:4] == ["s", 1, 1]


def test_the_trouble_of_one_click_is_gone_after_the_next(kernel: Kernel) -> None:
    """What could not be done is said once."""
    shown = model_of(kernel.run("view = kb.graph(trip); view.select(''); view"))
    kernel.click(shown, "select", "trip/nowhere")
    kernel.listen(0.4)
    kernel.click(shown, "select", "trip/think")
    kernel.listen(0.4)

    assert kernel.run("print(repr(view.trouble))").printed == "''\n"


def test_the_tree_is_never_sent_as_state(kernel: Kernel) -> None:
    """Updates are changes; the whole tree goes out when a widget is made, and when it is asked for. [KB-138]"""
    shown = kernel.run("view = kb.graph(trip); view.select(''); view")
    kernel.click(model_of(shown), "select", "trip/think")
    updates = [content["data"] for kind, content in kernel.listen(0.5).comms if kind == "comm_msg"]

    assert [update for update in updates if "tree" in str(update.get("state", {}).keys())] == []


def test_a_view_shown_from_a_thread_without_a_loop_is_drawn_once(kernel: Kernel) -> None:
    """Where nothing can call back, it does not call itself without end."""
    ran = kernel.run(
        "import threading\nwait = 0.6; task = asyncio.ensure_future(agent.run('threads', 't'))\n"
        "await asyncio.sleep(0.1)\nfound = []\n"
        "def show():\n"
        "    try:\n"
        "        kb.graph(agent.last_run)._ipython_display_()\n"
        "    except BaseException as problem:\n"
        "        found.append(problem)\n"
        "one = threading.Thread(target=show); one.start(); one.join(); await task; print(found)"
    )

    assert ran.printed == "[]\n"
