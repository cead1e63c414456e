"""A model may write anything as the name of a tool, and a span has no more of it than the name of a tool can be."""

from __future__ import annotations

from typing import Any

from span_trees import of

import koogbook as kb
from koogbook.features.open_telemetry import OpenTelemetry
from koogbook.tools.tool import LONGEST_NAME


async def test_a_span_has_the_name_of_a_tool_as_far_as_names_go(provider: Any, memory: Any) -> None:
    """In its title and in its attribute [AGT-04]."""
    trip = kb.strategy("trip", input=str, output=Any)

    @trip.node
    async def work(ctx: kb.Context, text: str) -> Any:
        await ctx.run_tools([kb.ToolCall("x" * 5_000, "{}", "c1")])

    trip.start >> work >> trip.finish
    feature = OpenTelemetry(provider, capture_content=True)
    await kb.Agent(kb.OfflineExecutor(), "offline", trip).install(feature).run("go")
    provider.force_flush()
    name = "x" * LONGEST_NAME
    spans = [one for one in memory.get_finished_spans() if one.name.startswith("execute_tool")]

    assert [(one.name, of(one)["gen_ai.tool.name"]) for one in spans] == [(f"execute_tool {name}", name)]
