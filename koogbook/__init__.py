"""Build LLM-agent strategies in notebooks and see what sessions, compression and checkpoints do.

``import koogbook as kb`` loads nothing but this module; each name loads what it needs when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from koogbook import errors as errors
    from koogbook import events as events
    from koogbook.agents.agent import Agent as Agent
    from koogbook.agents.ready import chat_strategy as chat_strategy
    from koogbook.agents.ready import react_strategy as react_strategy
    from koogbook.agents.ready import single_run_strategy as single_run_strategy
    from koogbook.agents.run import Run as Run
    from koogbook.agents.traced_run import TracedRun as TracedRun
    from koogbook.agents.traced_run import load_run as load_run
    from koogbook.clock import FixedClock as FixedClock
    from koogbook.clock import deterministic as deterministic
    from koogbook.compression.compose import compose as compose
    from koogbook.compression.compress import Compressed as Compressed
    from koogbook.compression.compress import compress as compress
    from koogbook.compression.fact_check import check_facts as check_facts
    from koogbook.compression.strategies import UNCHANGED as UNCHANGED
    from koogbook.compression.strategies import HistoryCompressionStrategy as HistoryCompressionStrategy
    from koogbook.compression.strategies import NoCompression as NoCompression
    from koogbook.compression.strategies import WholeHistory as WholeHistory
    from koogbook.compression.strategies import summarise as summarise
    from koogbook.errors import KoogbookError as KoogbookError
    from koogbook.features.event_handler import EventHandler as EventHandler
    from koogbook.features.open_telemetry.feature import OpenTelemetry as OpenTelemetry
    from koogbook.features.persistence.checkpoint import Checkpoint as Checkpoint
    from koogbook.features.persistence.checkpoint import CheckpointInfo as CheckpointInfo
    from koogbook.features.persistence.feature import Persistence as Persistence
    from koogbook.features.persistence.storage import NoPersistence as NoPersistence
    from koogbook.features.tool_journal import ToolJournal as ToolJournal
    from koogbook.features.tracing import Tracing as Tracing
    from koogbook.fresh_folder import scratch as scratch
    from koogbook.llm.cached import CachedExecutor as CachedExecutor
    from koogbook.llm.executor import EndFrame as EndFrame
    from koogbook.llm.executor import ReasoningFrame as ReasoningFrame
    from koogbook.llm.executor import TextFrame as TextFrame
    from koogbook.llm.executor import ToolCallFrame as ToolCallFrame
    from koogbook.llm.extractive import ExtractiveExecutor as ExtractiveExecutor
    from koogbook.llm.fallback import FallbackExecutor as FallbackExecutor
    from koogbook.llm.layers import layer_tag as layer_tag
    from koogbook.llm.offline import OfflineExecutor as OfflineExecutor
    from koogbook.llm.prices import price_of as price_of
    from koogbook.llm.providers.executor import ProviderExecutor as ProviderExecutor
    from koogbook.llm.request import Request as Request
    from koogbook.llm.retrying import RetryingExecutor as RetryingExecutor
    from koogbook.llm.scripted import BrokenAnswer as BrokenAnswer
    from koogbook.llm.scripted import ScriptedExecutor as ScriptedExecutor
    from koogbook.messages.message import Message as Message
    from koogbook.messages.message import Usage as Usage
    from koogbook.messages.message import assistant as assistant
    from koogbook.messages.message import system as system
    from koogbook.messages.message import tool_result as tool_result
    from koogbook.messages.message import user as user
    from koogbook.messages.model import LLModel as LLModel
    from koogbook.messages.model import LLMParams as LLMParams
    from koogbook.messages.model import ToolChoice as ToolChoice
    from koogbook.messages.pairing import groups as groups
    from koogbook.messages.parts import Attachment as Attachment
    from koogbook.messages.parts import Reasoning as Reasoning
    from koogbook.messages.parts import Text as Text
    from koogbook.messages.parts import ToolCall as ToolCall
    from koogbook.messages.parts import ToolResult as ToolResult
    from koogbook.messages.prompt import Prompt as Prompt
    from koogbook.messages.token_counters import EncoderCounter as EncoderCounter
    from koogbook.messages.token_counters import TokenCounter as TokenCounter
    from koogbook.messages.token_counters import TokenEstimator as TokenEstimator
    from koogbook.messages.token_counters import count_tokens_with as count_tokens_with
    from koogbook.messages.tokens import estimate_tokens as estimate_tokens
    from koogbook.notebook.views.checkpoint_view.checkpoints import checkpoints as checkpoints
    from koogbook.notebook.views.diff_view.diff import diff as diff
    from koogbook.notebook.views.graph_view.export import export_graph as export_graph
    from koogbook.notebook.views.graph_view.graph import graph as graph
    from koogbook.notebook.views.lab_view.lock_race import lock_race as lock_race
    from koogbook.notebook.views.lock_view.locks import locks as locks
    from koogbook.notebook.views.prompt_view.prompt import prompt as prompt
    from koogbook.notebook.views.view import View as View
    from koogbook.notebook.watch import watch as watch
    from koogbook.pipeline import Feature as Feature
    from koogbook.pipeline import InstalledFeature as InstalledFeature
    from koogbook.pipeline import Interceptor as Interceptor
    from koogbook.runtime.builder import Strategy as Strategy
    from koogbook.runtime.builder import strategy as strategy
    from koogbook.runtime.context import Context as Context
    from koogbook.runtime.export.document import graph_from_json as graph_from_json
    from koogbook.runtime.parallel.merge_kinds import BranchResult as BranchResult
    from koogbook.runtime.parallel.merges import fold as fold
    from koogbook.runtime.parallel.merges import merge as merge
    from koogbook.runtime.parallel.merges import select_by as select_by
    from koogbook.runtime.parallel.merges import select_by_index as select_by_index
    from koogbook.runtime.parallel.merges import select_by_max as select_by_max
    from koogbook.runtime.parallel.policies import union as union
    from koogbook.runtime.parallel.storage_copies import REMOVED as REMOVED
    from koogbook.runtime.ready.conditions import calls_tool as calls_tool
    from koogbook.runtime.ready.conditions import has_text as has_text
    from koogbook.runtime.ready.conditions import has_tool_calls as has_tool_calls
    from koogbook.runtime.ready.conditions import history_over as history_over
    from koogbook.runtime.ready.conditions import is_instance as is_instance
    from koogbook.runtime.ready.conditions import not_ as not_
    from koogbook.runtime.ready.conditions import tools_failed as tools_failed
    from koogbook.runtime.ready.conditions import tools_succeeded as tools_succeeded
    from koogbook.runtime.storage import storage_key as storage_key
    from koogbook.runtime.subgraphs.task_subgraphs import CriticResult as CriticResult
    from koogbook.runtime.subgraphs.tools_for_task import tools_for_task as tools_for_task
    from koogbook.storage.memory_checkpoints import MemoryCheckpoints as MemoryCheckpoints
    from koogbook.storage.memory_journal import MemoryJournal as MemoryJournal
    from koogbook.storage.sqlite_checkpoints import SqliteCheckpoints as SqliteCheckpoints
    from koogbook.storage.sqlite_journal import SqliteJournal as SqliteJournal
    from koogbook.tools.journal import ToolExecution as ToolExecution
    from koogbook.tools.tool import Tool as Tool
    from koogbook.tools.tool import ToolException as ToolException
    from koogbook.tools.tool import tool as tool
    from koogbook.trace import load_trace as load_trace
    from koogbook.trace import save_trace as save_trace
    from koogbook.transcripts.export import export_transcript as export_transcript
    from koogbook.transcripts.export import save_transcript as save_transcript
    from koogbook.transcripts.export import save_transcripts as save_transcripts
    from koogbook.transcripts.load import as_transcript as as_transcript
    from koogbook.transcripts.load import load_transcript as load_transcript
    from koogbook.transcripts.load import load_transcripts as load_transcripts
    from koogbook.transcripts.load import sample_transcript as sample_transcript
    from koogbook.transcripts.openai_chat.write import to_openai as to_openai
    from koogbook.transcripts.repair import repair_pairs as repair_pairs
    from koogbook.transcripts.transcript import Transcript as Transcript

__version__ = "0.1.0"

#: Public name -> the module that has it; an empty module name means a module of this package.
_HOMES = {
    "Agent": "agents.agent",
    "as_transcript": "transcripts.load",
    "assistant": "messages.message",
    "Attachment": "messages.parts",
    "BranchResult": "runtime.parallel.merge_kinds",
    "BrokenAnswer": "llm.scripted",
    "CachedExecutor": "llm.cached",
    "calls_tool": "runtime.ready.conditions",
    "chat_strategy": "agents.ready",
    "check_facts": "compression.fact_check",
    "Checkpoint": "features.persistence.checkpoint",
    "CheckpointInfo": "features.persistence.checkpoint",
    "checkpoints": "notebook.views.checkpoint_view.checkpoints",
    "compose": "compression.compose",
    "compress": "compression.compress",
    "Compressed": "compression.compress",
    "Context": "runtime.context",
    "count_tokens_with": "messages.token_counters",
    "CriticResult": "runtime.subgraphs.task_subgraphs",
    "deterministic": "clock",
    "diff": "notebook.views.diff_view.diff",
    "EncoderCounter": "messages.token_counters",
    "EndFrame": "llm.executor",
    "errors": "",
    "estimate_tokens": "messages.tokens",
    "EventHandler": "features.event_handler",
    "events": "",
    "export_graph": "notebook.views.graph_view.export",
    "export_transcript": "transcripts.export",
    "ExtractiveExecutor": "llm.extractive",
    "FallbackExecutor": "llm.fallback",
    "Feature": "pipeline",
    "FixedClock": "clock",
    "fold": "runtime.parallel.merges",
    "graph": "notebook.views.graph_view.graph",
    "graph_from_json": "runtime.export.document",
    "groups": "messages.pairing",
    "has_text": "runtime.ready.conditions",
    "has_tool_calls": "runtime.ready.conditions",
    "history_over": "runtime.ready.conditions",
    "HistoryCompressionStrategy": "compression.strategies",
    "InstalledFeature": "pipeline",
    "Interceptor": "pipeline",
    "is_instance": "runtime.ready.conditions",
    "KoogbookError": "errors",
    "layer_tag": "llm.layers",
    "LLModel": "messages.model",
    "LLMParams": "messages.model",
    "load_run": "agents.traced_run",
    "load_trace": "trace",
    "load_transcript": "transcripts.load",
    "load_transcripts": "transcripts.load",
    "lock_race": "notebook.views.lab_view.lock_race",
    "locks": "notebook.views.lock_view.locks",
    "MemoryCheckpoints": "storage.memory_checkpoints",
    "MemoryJournal": "storage.memory_journal",
    "merge": "runtime.parallel.merges",
    "Message": "messages.message",
    "NoCompression": "compression.strategies",
    "NoPersistence": "features.persistence.storage",
    "not_": "runtime.ready.conditions",
    "OfflineExecutor": "llm.offline",
    "OpenTelemetry": "features.open_telemetry.feature",
    "Persistence": "features.persistence.feature",
    "price_of": "llm.prices",
    "Prompt": "messages.prompt",
    "prompt": "notebook.views.prompt_view.prompt",
    "ProviderExecutor": "llm.providers.executor",
    "react_strategy": "agents.ready",
    "Reasoning": "messages.parts",
    "ReasoningFrame": "llm.executor",
    "REMOVED": "runtime.parallel.storage_copies",
    "repair_pairs": "transcripts.repair",
    "Request": "llm.request",
    "RetryingExecutor": "llm.retrying",
    "Run": "agents.run",
    "sample_transcript": "transcripts.load",
    "save_trace": "trace",
    "save_transcript": "transcripts.export",
    "save_transcripts": "transcripts.export",
    "scratch": "fresh_folder",
    "ScriptedExecutor": "llm.scripted",
    "select_by": "runtime.parallel.merges",
    "select_by_index": "runtime.parallel.merges",
    "select_by_max": "runtime.parallel.merges",
    "single_run_strategy": "agents.ready",
    "SqliteCheckpoints": "storage.sqlite_checkpoints",
    "SqliteJournal": "storage.sqlite_journal",
    "storage_key": "runtime.storage",
    "Strategy": "runtime.builder",
    "strategy": "runtime.builder",
    "summarise": "compression.strategies",
    "system": "messages.message",
    "Text": "messages.parts",
    "TextFrame": "llm.executor",
    "to_openai": "transcripts.openai_chat.write",
    "TokenCounter": "messages.token_counters",
    "TokenEstimator": "messages.token_counters",
    "Tool": "tools.tool",
    "tool": "tools.tool",
    "tool_result": "messages.message",
    "ToolCall": "messages.parts",
    "ToolCallFrame": "llm.executor",
    "ToolChoice": "messages.model",
    "ToolException": "tools.tool",
    "ToolExecution": "tools.journal",
    "ToolJournal": "features.tool_journal",
    "ToolResult": "messages.parts",
    "tools_failed": "runtime.ready.conditions",
    "tools_for_task": "runtime.subgraphs.tools_for_task",
    "tools_succeeded": "runtime.ready.conditions",
    "TracedRun": "agents.traced_run",
    "Tracing": "features.tracing",
    "Transcript": "transcripts.transcript",
    "UNCHANGED": "compression.strategies",
    "union": "runtime.parallel.policies",
    "Usage": "messages.message",
    "user": "messages.message",
    "View": "notebook.views.view",
    "watch": "notebook.watch",
    "WholeHistory": "compression.strategies",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        from difflib import get_close_matches

        near = get_close_matches(name, __all__, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'koogbook' has no attribute {name!r}.{hint}")
    found = getattr(import_module(f"koogbook.{home}"), name) if home else import_module(f"koogbook.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext koogbook``: the magics, cells that await, and completion; may be repeated."""
    from koogbook.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext koogbook``: take back what was registered."""
    from koogbook.notebook.extension import unload

    unload(shell)
