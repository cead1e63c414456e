"""What a subgraph has of its own, and how a parallel block becomes one, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from koogbook.runtime.parallel.policies import Join
    from koogbook.runtime.subgraph import Subgraph
    from koogbook.runtime.subgraphs.options import SubgraphOptions

_MOST_NAMES = 5


def details_of(graph: Subgraph) -> tuple[str, ...]:
    """Short phrases, each of one subject: ``("tools: weather", "model fast", "fresh history")``."""
    options = () if graph.own_options is None else _of_options(graph.own_options)
    return options if graph.join is None else (*_of_join(graph.join), *options)


def _of_options(options: SubgraphOptions) -> tuple[str, ...]:
    found = []
    if options.tools is not None:
        found.append(_tools(options.tools))
    if options.model is not None:
        found.append(f"model {getattr(options.model, 'id', options.model)}")
    if options.params is not None:
        given = [
            f"{name} {value}"
            for name in options.params.__struct_fields__
            if (value := getattr(options.params, name)) not in (None, ())
        ]
        found.append(", ".join(given) or "parameters of the provider")
    if options.history is not None:
        found.append(f"{'fresh' if options.history == 'fresh' else 'inherited'} history")
    if options.hand_out != "nothing":
        given_out = options.hand_out if isinstance(options.hand_out, str) else name_of(options.hand_out)
        found.append(f"hands out {given_out}")
    if options.system_prompt is not None:
        found.append("own system prompt")
    if options.finish_tool is not None:
        found.append(f"ends with {options.finish_tool.name}")
    if options.on_failure == "keep":
        found.append("keeps its messages when it fails")
    return tuple(found)


def _tools(tools: Any) -> str:
    if isinstance(tools, list | tuple):
        names = [one if isinstance(one, str) else name_of(one) for one in tools]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"tools: {', '.join(names[:_MOST_NAMES])}{more}" if names else "no tools"
    return "tools chosen for the task"


def _of_join(join: Join) -> tuple[str, ...]:
    merge = f"merge {join.merge.how or name_of(join.merge)}"
    return (merge, "goes on without a branch that fails") if join.on_error == "collect" else (merge,)


def name_of(thing: Any) -> str:
    """What something is called that a user handed over: its own name, or the one of its class."""
    for attribute in ("name", "kind", "__name__"):
        found = getattr(thing, attribute, None)
        if isinstance(found, str) and found:
            return "a function" if found == "<lambda>" else found
    return type(thing).__name__
