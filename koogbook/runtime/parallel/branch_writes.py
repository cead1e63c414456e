"""What the branches of a parallel block wrote, what of it the context around takes over, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from koogbook.errors import MergeConflictError
from koogbook.events import BranchesMerged
from koogbook.llm.context import Committed
from koogbook.llm.write_session import LLMWriteSession
from koogbook.messages.message import Message
from koogbook.messages.pairing import pair_messages
from koogbook.messages.prompt import Prompt
from koogbook.runtime.context import Context
from koogbook.runtime.histories import counted, replace_history
from koogbook.runtime.parallel.merge_kinds import BranchResult, Chosen, Merge
from koogbook.runtime.parallel.policies import StorageUnion, first_few
from koogbook.runtime.parallel.storage_copies import (
    Changes,
    StorageCopies,
    Union,
    differ,
    lost_in,
    united,
)

_NOTHING: tuple[Message, ...] = ()


class Writes(Struct, frozen=True):
    """What one branch wrote: ``appended`` is None where its history does not begin with the one before the block.

    ``began`` is its LLM context as it was at first.
    """

    result: BranchResult
    began: Committed
    appended: tuple[Message, ...] | None
    changes: Changes

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self.result.name

    @property
    def committed(self) -> Committed:
        """The branch's LLM context as it was left."""
        return self.result.context.llm.committed


class Lost(NamedTuple):
    """What of the writes of a branch did not get into the context that goes on, in words."""

    branch: str
    messages: list[str]
    storage: list[str]

    def __str__(self) -> str:
        stored = [f"storage {', '.join(self.storage)}"] if self.storage else []
        return f"{self.branch}: {', '.join(self.messages + stored)}"


def writes_of(result: BranchResult, began: Committed, copies: StorageCopies) -> Writes:
    """What a branch wrote to its copies of the LLM context and of the storage."""
    context = result.context
    appended = _appended(began.prompt, context.llm.committed.prompt)
    return Writes(result, began, appended, copies.changes_in(context.storage))


async def take_over(
    ctx: Context,
    where: str,
    merge: Merge,
    chosen: Chosen,
    writes: Sequence[Writes],
    copies: StorageCopies,
) -> None:
    """Write to the context around the block at ``where`` what the policies say, and tell what is lost.

    Raises:
        MergeConflictError: What branches wrote does not fit together; nothing was taken over.
    """
    handing_over = [one for one in writes if one.result.error is None]
    winner = next((one for one in writes if one.result is chosen.winner), None)
    union = await _stored(merge, where, winner, handing_over)
    history = merge.history_policy
    settings: list[str] = []
    # Between the look at what is there and the write nothing is awaited: what somebody has changed there is told.
    if history == "winner" and winner is not None and winner.committed is not winner.began:
        async with ctx.llm.write_session() as session:
            settings = _become(session, winner, where)
            stored = copies.hand_over(union.changes)
    elif history == "append_all" and any(one.appended is None or one.appended for one in handing_over):
        async with ctx.llm.write_session() as session:
            joined = _joined(session.prompt, handing_over, where)
            if joined:
                session.prompt = session.prompt.append(*joined, allow_duplicate=True)
            stored = copies.hand_over(union.changes)
    else:
        stored = copies.hand_over(union.changes)
    _tell(ctx, where, merge, winner, writes, union)
    _tell_replaced(ctx, where, stored, settings)


async def _stored(merge: Merge, where: str, winner: Writes | None, writes: Sequence[Writes]) -> Union:
    """The changes of storages that are taken over."""
    policy = merge.storage_policy
    if isinstance(policy, StorageUnion):
        return await united([(one.name, one.changes) for one in writes], policy.on_conflict, where)
    return Union(winner.changes if policy == "winner" and winner is not None else {})


# ------------------------------------------------------------------------------------------- histories


def _become(session: LLMWriteSession, winner: Writes, where: str) -> list[str]:
    """Make the LLM context the winner's; what it appended is appended here, and what it left as it was stays.

    The settings that it replaces though somebody else has changed them meanwhile are returned, in words.
    """
    began, new = winner.began, winner.committed
    if winner.appended is None:
        replace_history(
            session,
            began.prompt,
            new.prompt,
            who=f"history='winner' of {where}: branch {winner.name}, which has rewritten its history,",
            otherwise="Nothing of the branches was taken over. Let the task that writes there wait for the block.",
            branches=(winner.name,),
        )
    elif winner.appended:
        session.prompt = session.prompt.append(*winner.appended, allow_duplicate=True)
    now = Committed(session.prompt, session.tools, session.model)
    changed = _changed_settings(began, new)
    if "tools" in changed:
        session.tools = new.tools
    if "model" in changed:
        session.model = new.model
    if "parameters" in changed:
        session.params = new.prompt.params
    others = _unlike(now, began, new)
    return [name for name in changed if name in others]


def _changed_settings(one: Committed, other: Committed) -> list[str]:
    """What differs in two LLM contexts besides their messages, in words."""
    settings = (
        ("tools", tuple(one.tools), tuple(other.tools)),
        ("model", one.model, other.model),
        ("parameters", one.prompt.params, other.prompt.params),
    )
    return [name for name, here, there in settings if here != there]


def _unlike(one: Committed, before: Committed, now: Committed) -> list[str]:
    """The settings of one LLM context that are neither those from before nor those of now."""
    gone = _changed_settings(one, now)
    return [name for name in _changed_settings(before, one) if name in gone]


def _appended(before: Prompt, prompt: Prompt) -> tuple[Message, ...] | None:
    if prompt is before:
        return _NOTHING
    messages, length = prompt.messages, len(before)
    if prompt.is_extension_of(before) or messages[:length] == before.messages:
        return messages[length:]
    return None


def _joined(prompt: Prompt, writes: Sequence[Writes], where: str) -> list[Message]:
    """What all branches have appended, each message once, as it stands behind the messages of ``prompt``."""
    at_first = prompt.messages
    # What the merge itself has appended counts as written already.
    known = {message.id: ("", message) for message in at_first[len(writes[0].began.prompt) :]}
    joined: list[Message] = []
    owners: list[str] = []
    for one in writes:
        if one.appended is None:
            raise _no_history(
                where,
                one.name,
                f"Branch {one.name} has rewritten its history, which does not begin with the messages from before the "
                "block any more (it was compressed, cut, or replaced), and nothing can be appended to it.",
                "Compress before the block or after it",
            )
        for message in one.appended:
            other, same = known.get(message.id, ("", None))
            if same is not None and same != message:
                raise _no_history(
                    where,
                    one.name,
                    f"Branch {one.name} has appended another message under the id {message.id!r} than "
                    f"{f'branch {other}' if other else 'the merge itself'}.",
                    "Give each message an id of its own, or none",
                    other,
                )
            if same is None or other == one.name:
                known[message.id] = (one.name, message)
                joined.append(message)
                owners.append(one.name)
    _require_whole(at_first, joined, owners, where)
    return joined


def _require_whole(
    at_first: tuple[Message, ...], joined: Sequence[Message], owners: Sequence[str], where: str
) -> None:
    """Refuse what leaves calls without results, or results without calls, that were not there before."""
    before = pair_messages(at_first)
    if before.tail is None and not any(message.role == "tool" or message.calls for message in joined):
        return
    after = pair_messages([*at_first, *joined])
    known = set(before.defects)
    broken = next((defect for defect in after.defects if defect not in known), None)
    length = len(at_first)
    if broken is not None:
        position, what = broken.position, str(broken)
    elif after.tail is not None and joined:
        position, what = after.tail, "calls are left open"
    else:
        return
    owner = owners[max(position - length, 0)]
    raise _no_history(
        where,
        owner,
        f"The messages of branch {owner} do not stand behind those of the others with each call followed by its "
        f"results: {what}.",
        "Let each branch run the tools that it calls, and append the results, before it ends",
    )


def _no_history(where: str, branch: str, what: str, remedy: str, other: str = "") -> MergeConflictError:
    return MergeConflictError(
        f"history='append_all' of {where}: {what} Nothing of the branches was taken over. {remedy}; or go on with one "
        "history: history='base', or a selection such as kb.select_by_max(...) with history='winner'.",
        branches=(other, branch) if other else (branch,),
    )


# ------------------------------------------------------------------------------------------- what is lost


def _tell_replaced(ctx: Context, where: str, stored: Sequence[str], settings: Sequence[str]) -> None:
    """Say what somebody had changed around the block, and is gone since branches have changed it too."""
    if stored:
        ctx.log.notice(
            "storage value replaced",
            f"storage of {first_few([repr(name) for name in stored])} was changed around {where} while its "
            "branches or its merge ran: what they left counts, and the other value is gone. Let whatever writes there "
            "wait for the block, or use a key of its own.",
        )
    if settings:
        ctx.log.notice(
            "settings replaced",
            f"{', '.join(settings)} of the LLM context around {where} changed while its branches or its merge ran, and "
            "in the branch that goes on as well: what the branch left counts, and the other one is gone. Let whatever "
            "changes it there wait for the block.",
        )


def _tell(
    ctx: Context,
    where: str,
    merge: Merge,
    winner: Writes | None,
    writes: Sequence[Writes],
    union: Union,
) -> None:
    history, storage = merge.history_policy, merge.storage_policy
    lost = [one for one in (_lost(ctx, each, union) for each in writes) if one is not None]
    ctx.log.emit(
        BranchesMerged,
        where,
        merge=merge.how,
        history=history,
        storage=repr(storage) if isinstance(storage, StorageUnion) else storage,
        winner="" if winner is None else winner.name,
        failed=tuple(one.name for one in writes if one.result.error is not None),
        thrown_away=tuple(map(str, lost)),
    )
    for name, branches in union.replaced.items():
        ctx.log.notice(
            "storage value replaced",
            f"branches of {where} have left different values under the storage key {name!r}: that of the last one "
            f"counts, and those of {', '.join(branches)} are gone (on_conflict='last')",
            level="info",
        )
    untold = _unsaid(_without(lost, union.replaced), merge)
    if untold:
        text, level = _dropped(where, merge, winner, untold, writes)
        ctx.log.notice("branch writes dropped", text, level=level)


def _lost(ctx: Context, one: Writes, union: Union) -> Lost | None:
    own, now = one.committed, ctx.llm.committed
    messages: list[str] = []
    if own is not one.began:
        messages = [*_lost_messages(one, now.prompt), *_unlike(own, one.began, now)]
    storage = lost_in(ctx.storage, one.changes, union.settled) if one.changes else []
    if not messages and not storage:
        return None
    return Lost(f"{one.name} (failed)" if one.result.error is not None else one.name, messages, storage)


def _lost_messages(one: Writes, now: Prompt) -> list[str]:
    if one.appended is None:
        own = one.committed.prompt.messages
        return [] if own == now.messages else [f"a rewritten history of {counted(len(own))}"]
    if not one.appended:
        return []
    there = {message.id for message in now.messages}
    missing = sum(message.id not in there for message in one.appended)
    return [counted(missing)] if missing else []


def _without(lost: Sequence[Lost], told: Mapping[str, tuple[str, ...]]) -> list[Lost]:
    """What has not been told of yet."""
    left = [one._replace(storage=[name for name in one.storage if name not in told]) for one in lost]
    return [one for one in left if one.messages or one.storage]


def _unsaid(lost: Sequence[Lost], merge: Merge) -> list[Lost]:
    """What is lost and was not said to be meant."""
    left = [
        one._replace(
            messages=[] if merge.history in ("base", "winner") else one.messages,
            storage=[] if merge.storage in ("base", "winner") else one.storage,
        )
        for one in lost
    ]
    return [one for one in left if one.messages or one.storage]


def _dropped(
    where: str, merge: Merge, winner: Writes | None, lost: Sequence[Lost], writes: Sequence[Writes]
) -> tuple[str, Literal["info", "warning"]]:
    """The text and the level of the notice: nobody has to be warned of what was chosen or said."""
    messages = any(one.messages for one in lost)
    storage = any(one.storage for one in lost)
    unsaid = (messages and merge.history is None) or (storage and merge.storage is None)
    warns = unsaid and not merge.has_winner
    handing_over = [one for one in writes if one.result.error is None]
    can_append = all(one.appended is not None for one in handing_over)
    differing = differ([one.changes for one in handing_over])
    keeping = 'storage=kb.union(on_conflict="last")' if differing else 'storage="union"'
    options = [
        *(
            ['history="append_all"']
            if messages and merge.history_policy != "append_all" and can_append
            else []
        ),
        *([keeping] if storage and not isinstance(merge.storage_policy, StorageUnion) else []),
    ]
    meant = [
        *([f'history="{merge.history_policy}"'] if messages and merge.history is None else []),
        *([f'storage="{merge.storage_policy}"'] if storage and merge.storage is None else []),
    ]
    goes_on = "with the context from before it" if winner is None else f"with branch {winner.name}"
    text = (
        f"{where} goes on {goes_on}, and what its branches wrote is gone: {first_few(list(map(str, lost)))}."
    )
    if options:
        text += f" To keep it: {merge.call_with(', '.join(options))}."
    if meant:
        text += f" If it may go, say so: {', '.join(meant)}."
    return text, "warning" if warns else "info"
