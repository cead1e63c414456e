"""All magics in one table: flags, help, completion and checks are made from it and from nothing else."""

from __future__ import annotations

from koogbook.notebook.magics.magic import Argument, Flag, Magic
from koogbook.transcripts.formats import FORMATS, written_formats


def _strategy(help: str = "the strategy") -> Flag:
    return Flag(name="--strategy", kind="strategy", value="S", help=help, default="the current one")


def _to(what: str, default: str = "") -> Flag:
    return Flag(name="--to", kind="new", value="NAME", help=f"the variable for {what}", default=default)


_AGENT = Flag(name="--agent", kind="agent", value="A", help="the agent", default="the current one")
_WHEN = Flag(
    name="--when",
    kind="expression",
    value="EXPR",
    help="condition: an expression of output or ctx, or a function of (output) or (ctx, output)",
)
_LABEL = Flag(
    name="--label",
    kind="text",
    value="TEXT",
    help="what the drawing says",
    default="the text or the name of the condition",
)
_NO_GRAPH = Flag(name="--no-graph", kind="switch", help="show no graph")

MAGICS = (
    Magic(
        name="koog_strategy",
        form="line",
        first=True,
        help="Make a strategy in a variable, or go on with the one that is there, and show its graph.",
        example="%koog_strategy trip --input str --output str",
        call='trip = kb.strategy("trip", input=str, output=str); kb.graph(trip)',
        arguments=(
            Argument(
                name="NAME", kind="strategy", help="the variable, and the strategy's name", required=True
            ),
        ),
        flags=(
            Flag(
                name="--input",
                kind="expression",
                value="TYPE",
                help="what it takes",
                default="as it is, or Any",
            ),
            Flag(
                name="--output",
                kind="expression",
                value="TYPE",
                help="what it gives",
                default="as it is, or Any",
            ),
            Flag(name="--version", kind="text", value="V", help="its version", default="as it is, or 1"),
            Flag(name="--reset", kind="switch", help="take all nodes and edges out"),
        ),
    ),
    Magic(
        name="koog_node",
        form="cell",
        first=True,
        help="Make the async function of this cell a node of the strategy, and show the graph with what is to do.",
        example="%%koog_node --after start\nasync def prepare(ctx, text: str) -> str:\n    return text",
        call="@trip.node above the function; trip.edge(source, node, when=..., label=...); kb.graph(trip)",
        flags=(
            _strategy("the strategy, or a subgraph or a parallel block of one"),
            Flag(
                name="--after", kind="node", value="NODE", help="add the edge from this node", repeatable=True
            ),
            _WHEN,
            _LABEL,
            Flag(
                name="--name",
                kind="text",
                value="N",
                help="the node's name; of several async functions, the one that is the node",
                default="the function's",
            ),
            Flag(name="--note", kind="text", value="T", help="a note in the drawing"),
            Flag(name="--thread", kind="switch", help="a plain function that blocks, run in a thread"),
            Flag(name="--replace", kind="switch", help="take the node over from another cell"),
            _NO_GRAPH,
        ),
    ),
    Magic(
        name="koog_edge",
        form="line",
        first=True,
        help="Add edges between nodes, or take them out, and show the graph.",
        example='%koog_edge prepare >> answer >> finish\n%koog_edge answer >> prepare --when "len(output) < 200"',
        call='start >> prepare >> answer; trip.edge("answer", "prepare", when=..., label=...); trip.remove(edge)',
        arguments=(
            Argument(
                name="A >> B",
                kind="node",
                help="names of nodes, start and finish; inside a subgraph sub/node; any number in a row",
                required=True,
                many=True,
            ),
        ),
        flags=(
            _strategy("the strategy, or a subgraph of one"),
            _WHEN,
            Flag(
                name="--map",
                kind="expression",
                value="EXPR",
                help="changes the output on its way: an expression or a function, as for --when",
            ),
            _LABEL,
            Flag(name="--remove", kind="switch", help="take the edge out"),
            _NO_GRAPH,
        ),
    ),
    Magic(
        name="koog_agent",
        form="line",
        help="Make an agent for the strategy in a variable.",
        example="%koog_agent --executor extractive --checkpoints sqlite",
        call='agent = kb.Agent(kb.ExtractiveExecutor(), "offline", trip); '
        "agent.install(kb.Persistence(storage=kb.SqliteCheckpoints()))",
        arguments=(Argument(name="NAME", kind="agent", help="the variable", default="agent"),),
        flags=(
            _strategy(),
            Flag(
                name="--executor",
                kind="words",
                value="X",
                words=("extractive", "offline", "provider"),
                help="what answers: extractive, offline, provider (a real model, asked again where that helps), or an "
                "expression",
                default="extractive, or provider where the model names one",
            ),
            Flag(
                name="--model",
                kind="text",
                value="M",
                help="the model; a real one as provider:name",
                default="offline",
            ),
            Flag(name="--system", kind="text", value="TEXT", help="the system prompt"),
            Flag(
                name="--tools",
                kind="variables",
                value="a,b",
                help="tools or typed functions, by their variables",
            ),
            Flag(
                name="--checkpoints",
                kind="words",
                value="STORE",
                words=("none", "memory", "sqlite"),
                help="where checkpoints are kept: none, memory (as long as this agent), sqlite "
                "(.koogbook/koogbook.db), sqlite:PATH, or an expression",
                default="none",
            ),
            Flag(name="--id", kind="text", value="ID", help="the agent's id", default="the strategy's name"),
            Flag(
                name="--max-iterations",
                kind="number",
                value="N",
                help="node runs that a run may have",
                default="50",
            ),
        ),
    ),
    Magic(
        name="koog_run",
        form="both",
        first=True,
        awaits=True,
        help="Run the agent on the text of the cell and show it live.",
        example="%%koog_run --session chat-1\nTo Beijing, 500 yuan, museums, nothing outdoors.",
        call='run = await kb.watch(agent, "...", session_id="chat-1")   # or await agent.run(...)',
        arguments=(
            Argument(
                name="AGENT",
                kind="agent",
                help="the agent, a variable or expression",
                default="the current one",
            ),
        ),
        flags=(
            Flag(
                name="--session",
                kind="session",
                value="ID",
                help="the conversation",
                default="a new one",
            ),
            _to("the run", "run"),
            Flag(
                name="--input",
                kind="expression",
                value="EXPR",
                help="the input in place of a text; None goes on with what is unfinished",
            ),
            Flag(
                name="--background",
                kind="switch",
                help="do not wait: the variable holds a handle to await or cancel",
            ),
        ),
    ),
    Magic(
        name="koog_graph",
        form="line",
        first=True,
        help="Show the graph of a strategy, or of a run with what happened in it.",
        example="%koog_graph trip --selected prepare",
        call='kb.graph(trip, selected="prepare")',
        arguments=(
            Argument(
                name="SUBJECT",
                kind="subject",
                help="a strategy, an agent or a run",
                default="the current strategy, with its last run",
            ),
        ),
        flags=(
            Flag(name="--selected", kind="node", value="NODE", help="the node to show in detail"),
            _to("the view"),
        ),
    ),
    Magic(
        name="koog_locks",
        form="line",
        first=True,
        help="Show the sessions of a run: who held the lock, who waited, what was committed or discarded.",
        example="%koog_locks run\n%koog_locks --file run.jsonl",
        call='kb.locks(run)   # or kb.locks("run.jsonl"), which kb.save_trace(run, "run.jsonl") has written',
        arguments=(Argument(name="RUN", kind="run", help="the run", default="the last one"),),
        flags=(
            Flag(name="--file", kind="text", value="PATH", help="a trace file in place of a run"),
            _to("the view"),
        ),
    ),
    Magic(
        name="koog_prompt",
        form="line",
        help="Show what the model really saw in one call: messages in layers, tools, parameters, changes, the answer.",
        example='%koog_prompt run --call 3 --off history\n%koog_prompt --off "file memory" --off tools --to seen',
        call='kb.prompt(run, call=3, off=["history"])',
        arguments=(
            Argument(
                name="RUN",
                kind="history",
                help="a run; or a history, which is shown as it would be sent",
                default="the last run",
            ),
        ),
        flags=(
            Flag(
                name="--call",
                kind="number",
                value="N",
                help="which call of the run, from 1",
                default="the last one",
            ),
            Flag(
                name="--off",
                kind="layer",
                value="LAYER",
                help="a layer that is switched off: system, tools, history, memory, 'file memory', retrieval, "
                "compression, instruction, or 'added by F'",
                repeatable=True,
            ),
            Flag(name="--selected", kind="text", value="N", help="the message to show in detail, from 0"),
            _to("the view"),
        ),
    ),
    Magic(
        name="koog_diff",
        form="line",
        first=True,
        help="Show a prompt before and after a compression, or any two histories, side by side.",
        example='%koog_diff run --compression 1 --keep "500 yuan"',
        call='kb.diff(run, compression=1, must_keep=["500 yuan"])',
        arguments=(
            Argument(
                name="BEFORE",
                kind="history",
                help="a run, a ledger, what kb.compress gave, or a history",
                default="the last run",
            ),
            Argument(name="AFTER", kind="history", help="another history"),
        ),
        flags=(
            Flag(
                name="--compression",
                kind="number",
                value="N",
                help="which compression of the run, from 1",
                default="the last one",
            ),
            Flag(name="--keep", kind="text", value="TEXT", help="a fact that must survive", repeatable=True),
            _to("the view"),
        ),
    ),
    Magic(
        name="koog_checkpoints",
        form="line",
        first=True,
        help="Show the checkpoints of a session and of its forks, with a verdict on each.",
        example="%koog_checkpoints chat-1",
        call='kb.checkpoints(agent, "chat-1")',
        arguments=(Argument(name="SESSION", kind="session", help="the conversation", default="all of them"),),
        flags=(_AGENT, _to("the view")),
    ),
    Magic(
        name="koog_fork",
        form="line",
        awaits=True,
        help="Start another session at a checkpoint; both lines stay.",
        example="%koog_fork 3f2a --as chat-2",
        call='await agent.fork("chat-1", "3f2a", to="chat-2")',
        arguments=(
            Argument(
                name="CHECKPOINT",
                kind="checkpoint",
                help="its id, as much of it as is unique, or a node for the last one after it",
                required=True,
            ),
        ),
        flags=(
            Flag(name="--as", kind="text", value="SESSION", help="the id of the new session (required)"),
            Flag(
                name="--session",
                kind="session",
                value="S",
                help="the session of the checkpoint",
                default="the last run's",
            ),
            _AGENT,
            _to("the checkpoint that begins it"),
        ),
    ),
    Magic(
        name="koog_import",
        form="line",
        help="Load a conversation from a file of any format into a variable, and list what is odd about it.",
        example="%koog_import export.json\n%koog_import many.jsonl --index 3 --repair --to chat",
        call='history = kb.load_transcript("export.json", index=0); history.defects; history.repaired()',
        arguments=(
            Argument(name="FILE", kind="text", help="the path of a JSON or JSONL file", required=True),
        ),
        flags=(
            Flag(
                name="--index",
                kind="text",
                value="N",
                help="which conversation of the file, from 0",
                default="0",
            ),
            Flag(
                name="--format",
                kind="words",
                value="F",
                words=tuple(FORMATS),
                help="read it as this format",
                default="found by itself",
            ),
            Flag(
                name="--branch",
                kind="text",
                value="B",
                help="another line of a conversation that is a tree, by the name that a defect tells",
            ),
            Flag(
                name="--max-bytes",
                kind="number",
                value="N",
                help="the largest JSON document, or line, that is read",
                default="64 MiB",
            ),
            Flag(
                name="--repair",
                kind="switch",
                help="make calls and results belong together, and list what was done",
            ),
            _to("the conversation", "history"),
        ),
    ),
    Magic(
        name="koog_export",
        form="line",
        help="Write a conversation to a file, and say what the format has no place for.",
        example="%koog_export history chat.json --format anthropic",
        call='kb.save_transcript(history, "chat.json", "anthropic").losses',
        arguments=(
            Argument(
                name="HISTORY",
                kind="history",
                help="a transcript, a run, a prompt or messages",
                required=True,
            ),
            Argument(
                name="FILE",
                kind="text",
                help="the path of the file; one named .jsonl gets a line",
                required=True,
            ),
        ),
        flags=(
            Flag(
                name="--format",
                kind="words",
                value="F",
                words=written_formats(),
                help="the format",
                default="the one it came from, or openai-chat",
            ),
            Flag(name="--replace", kind="switch", help="write over a file that is there"),
            _to("what was written and lost"),
        ),
    ),
    Magic(
        name="koog_freeze",
        form="line",
        help="Turn the live views of the notebook static, before it is saved or shared; gives how many.",
        example="%koog_freeze",
        call="koogbook.notebook.frame.freeze_all()   # of a saved notebook: koogbook freeze FILE",
    ),
)

BY_NAME = {magic.name: magic for magic in MAGICS}
