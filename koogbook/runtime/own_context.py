"""The context of a subgraph that has one of its own: how it begins, and what it gives back."""

from __future__ import annotations

from koogbook.errors import MergeConflictError
from koogbook.llm.context import LLMContext
from koogbook.messages.message import Message, system
from koogbook.runtime.compiled import CompiledNode
from koogbook.runtime.context import Context
from koogbook.tools.tool import ToolRegistry


async def enter(ctx: Context, node: CompiledNode) -> Context:
    """The context that a subgraph runs on: a copy of the one around it, with what is its own."""
    options = node.options
    assert options is not None
    around = ctx.llm.committed
    prompt = around.prompt
    if options.history == "fresh" or options.system_prompt is not None:
        prompt = prompt.with_messages(
            _first_messages(prompt.messages, options.history, options.system_prompt)
        )
    if options.params is not None:
        prompt = prompt.with_params(
            **{name: getattr(options.params, name) for name in options.params.__struct_fields__}
        )
    tools = around.tools if options.tools is None else ToolRegistry(options.tools)
    model = around.model if options.model is None else ctx.llm.calls.executor.resolve(options.model)
    llm: LLMContext = ctx.llm.fork(node.path, prompt=prompt, tools=tools, model=model)
    return ctx.fork(llm)


async def hand_back(ctx: Context, child: Context, node: CompiledNode) -> None:
    """Make the messages of a subgraph those of the context around it, as its options say."""
    options = node.options
    assert options is not None
    if options.history == "fresh":
        return
    async with ctx.llm.write_session() as session:
        session.prompt = session.prompt.with_messages(child.llm.committed.prompt.messages)


def _first_messages(messages: tuple[Message, ...], history: str | None, prompt: object) -> list[Message]:
    raise MergeConflictError("not yet")


_ = system
