"""What can come next in the line of a magic: flags, nodes, variables, session ids and checkpoint ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)

from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.errors import KoogbookError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.llm.layers import LAYERS, in_order
from koogbook.notebook.magics.current import Current, stored
from koogbook.notebook.magics.graph_parts import node_names
from koogbook.notebook.magics.magic import Argument, Flag, Magic
from koogbook.notebook.magics.table import BY_NAME
from koogbook.notebook.magics.wrong_use import WrongUse
from koogbook.runtime.builder import Strategy, Subgraph

_LINE = re.compile(r"\s*(?:[^\W\d]\w*\s*=\s*)?%%?(koog_\w+)\s(.*)")


def completion_matcher(current: Current) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """What is put among the matchers of a shell's completer."""

    @context_matcher(identifier="koogbook.magics")  # type: ignore[untyped-decorator]
    def matcher(context: CompletionContext) -> SimpleMatcherResult:
        line = _LINE.fullmatch(context.text_until_cursor)
        magic = None if line is None else BY_NAME.get(line[1])
        if line is None or magic is None:
            return {"completions": []}
        before, word = _split(line[2])
        try:
            words = Place(current, magic, before, word).words()
        except (WrongUse, KoogbookError):
            # Somebody is still typing: what is wrong is said when the cell runs.
            words = []
        fitting = [one for one in dict.fromkeys(words) if one.startswith(word)]
        return {
            "completions": [SimpleCompletion(text=one, type="magic") for one in fitting],
            "matched_fragment": word,
            "suppress": bool(fitting),
            "ordered": True,
        }

    return matcher  # type: ignore[no-any-return]


def _split(text: str) -> tuple[list[str], str]:
    """The words before the one at the cursor, and that one as far as it is written."""
    words = text.replace(">>", " >> ").split() if ">>" in text else text.split()
    if not text or text[-1].isspace() or text.endswith(">>"):
        return words, ""
    return words[:-1], words[-1]


class Place:
    """The place of the cursor in the line of a magic."""

    def __init__(self, current: Current, magic: Magic, before: list[str], word: str) -> None:
        self._current = current
        self._code = current.code
        self._magic = magic
        self._before = before
        self._word = word

    def words(self) -> Iterable[str]:
        """What can stand here, whether it fits the letters that are there or not."""
        flag = self._flag(self._before[-1]) if self._before else None
        if flag is not None and flag.kind != "switch":
            return self._values(flag)
        if self._word.startswith("-"):
            return self._open_flags()
        argument = self._argument()
        return [*(self._values(argument) if argument is not None else ()), *self._open_flags()]

    def _flag(self, word: str) -> Flag | None:
        return next((flag for flag in self._magic.flags if flag.name == word), None)

    def _open_flags(self) -> list[str]:
        open_ones = [
            flag.name for flag in self._magic.flags if flag.repeatable or flag.name not in self._before
        ]
        return [*open_ones, "--help"]

    def _argument(self) -> Argument | None:
        """The argument whose place this is."""
        words, skip = [], False
        for word in self._before:
            flag = None if skip else self._flag(word)
            if flag is None and not skip:
                words.append(word)
            skip = flag is not None and flag.kind != "switch"
        many = next((argument for argument in self._magic.arguments if argument.many), None)
        if many is not None:
            return many if words[-1:] in ([], [">>"]) else None
        return self._magic.arguments[len(words)] if len(words) < len(self._magic.arguments) else None

    def _values(self, of: Flag | Argument) -> Iterable[str]:
        match of.kind:
            case "strategy":
                return self._code.variables(Strategy if isinstance(of, Argument) else Subgraph)
            case "agent":
                return self._code.variables(Agent)
            case "run":
                return self._code.variables(Run)
            case "history":
                return self._code.variables(Run)
            case "subject":
                return [name for kind in (Strategy, Agent, Run) for name in self._code.variables(kind)]
            case "node":
                return node_names(self._graph())
            case "session":
                return [info.session_id for info in self._stored()]
            case "checkpoint":
                return self._checkpoints()
            case "layer":
                return self._layers()
            case "words":
                return of.words if isinstance(of, Flag) else ()
            case _:
                return ()

    def _value(self, flag: str) -> str | None:
        """The value that a flag has been given so far."""
        if flag not in self._before[:-1]:
            return None
        return self._before[self._before.index(flag) + 1]

    def _graph(self) -> Subgraph:
        """The graph that the names of nodes are of."""
        text = self._value("--strategy")
        if text is None and self._magic.name == "koog_graph" and self._before and self._before[0][:1] != "-":
            text = self._before[0]
        if text is None:
            return self._current.strategy()
        found = self._code.held(text)
        return found if isinstance(found, Subgraph) else self._code.find(text, Agent, "agent", text).strategy

    def _stored(self) -> list[CheckpointInfo]:
        text = self._value("--agent")
        if text is None and self._magic.name == "koog_run" and self._before and self._before[0][:1] != "-":
            text = self._before[0]
        agent = self._current.agent() if text is None else self._code.find(text, Agent, "agent", text)
        return stored(agent) or []

    def _layers(self) -> list[str]:
        """Those of the last run's calls, or all that there are; one with a space is quoted."""
        run = self._current.known_run()
        there = [layer.layer for record in run.calls for layer in record.layers] if run is not None else []
        names = in_order([*(("tools",) if there else LAYERS), *there])
        return [f'"{name}"' if " " in name else name for name in names]

    def _checkpoints(self) -> list[str]:
        session = self._value("--session")
        if session is None:
            run = self._current.known_run()
            session = None if run is None else run.session_id
        return [info.id for info in reversed(self._stored()) if session is None or info.session_id == session]
