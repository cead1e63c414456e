"""The law of segments: whatever happens to histories, what was saved is read back exactly, also by a new object."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from stored_values import WHEN, draft, message

import koogbook as kb
from koogbook.storage.sqlite_segments import _DEEPEST_CHAIN

Change = Callable[[kb.Prompt, int], kb.Prompt]


def append(prompt: kb.Prompt, salt: int) -> kb.Prompt:
    """One to three more messages; now and then one that was there before."""
    texts = [f"{salt % 7}-{number}" for number in range(salt % 3 + 1)]
    return prompt.append(*(message(text) for text in texts), allow_duplicate=True)


def replace_middle(prompt: kb.Prompt, salt: int) -> kb.Prompt:
    """A compression: a piece becomes one message."""
    at = salt % (len(prompt) + 1)
    kept = [*prompt.messages[:at], message(f"summary {salt}"), *prompt.messages[at + salt % 5 :]]
    return kb.Prompt(kept, id="p", allow_duplicate=True)


def drop_first(prompt: kb.Prompt, salt: int) -> kb.Prompt:
    """A window: only the end stays."""
    return kb.Prompt(prompt.messages[salt % 4 :], id="p", allow_duplicate=True)


def cut(prompt: kb.Prompt, salt: int) -> kb.Prompt:
    """A rollback: only the beginning stays."""
    return kb.Prompt(prompt.messages[: -(salt % 4 + 1)], id="p", allow_duplicate=True)


def same(prompt: kb.Prompt, salt: int) -> kb.Prompt:
    """A node that only computes."""
    return prompt


#: (change, salt, how far back the prompt stands that is changed, session, reopen the file before, fork afterwards)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([append, append, replace_middle, drop_first, cut, same]),
        st.integers(0, 50),
        st.sampled_from([1, 1, 1, 2, 3, 9]),
        st.sampled_from(["s", "s", "t"]),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([False, False, False, True]),
    ),
    min_size=5,
    max_size=30,
)


class Lines:
    """A store, the prompts that were made, and what was saved under which session and id."""

    def __init__(self, folder: str) -> None:
        self.store = kb.SqliteCheckpoints(Path(folder) / "kb.db")
        self.prompts = [kb.Prompt([message(f"start {number}") for number in range(6)], id="p")]
        self.saved: list[tuple[str, str, tuple[kb.Message, ...]]] = []

    async def step(
        self, change: Change, salt: int, back: int, session_id: str, reopen: bool, fork: bool
    ) -> None:
        """Change a prompt of before, save it, and perhaps restart or fork."""
        if reopen:
            await self.restart(session_id)
        prompt = change(self.prompts[-min(back, len(self.prompts))], salt)
        self.prompts.append(prompt)
        self.saved.append((session_id, f"c{len(self.saved)}", prompt.messages))
        await self.store.append_checkpoint(draft(*self.saved[-1][:2], prompt=prompt))
        if fork:
            origin = self.saved[-1]
            self.saved.append((f"fork {len(self.saved)}", f"c{len(self.saved)}", prompt.messages))
            await self.store.fork_checkpoint(
                *origin[:2], self.saved[-1][0], fork_id=self.saved[-1][1], created=WHEN
            )

    async def restart(self, session_id: str) -> None:
        """Forget everything and go on from the newest checkpoint of a session, as a resumed run does."""
        self.store.close()
        latest = await self.store.get_latest_checkpoint(session_id)
        if latest is not None:
            restored = kb.Prompt(latest.messages, id="p", allow_duplicate=True)
            self.store.remember_restored(latest.info, restored)
            self.prompts.append(restored)

    async def read_back(self) -> list[tuple[str, str, tuple[kb.Message, ...]]]:
        """What a new object on the same file finds, in the order of saving."""
        self.store.close()
        other = kb.SqliteCheckpoints(self.store.path)
        found = [await other.get_checkpoints(one, lambda info: True) for one, _, _ in self.saved]
        other.close()
        by_id = {one.info.id: one for line in found for one in line}
        return [(by_id[one].info.session_id, one, by_id[one].messages) for _, one, _ in self.saved]


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_every_history_ever_saved_is_read_back_exactly(
    steps: list[tuple[Change, int, int, str, bool, bool]],
) -> None:
    """Grown, compressed, cut, branched, forked, restarted: each saved list comes back as it was [PER-19]."""

    async def play(folder: str) -> tuple[object, object]:
        lines = Lines(folder)
        for step in steps:
            await lines.step(*step)
        return await lines.read_back(), lines.saved

    with tempfile.TemporaryDirectory() as folder:
        found, saved = asyncio.run(play(folder))

    assert found == saved


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 2)), min_size=_DEEPEST_CHAIN, max_size=3 * _DEEPEST_CHAIN
    )
)
def test_chains_of_changes_are_read_back_at_any_length(changes: list[tuple[int, int]]) -> None:
    """More changes on changes than a chain may be deep: the last history is still the last history [PER-19]."""
    messages = [message("start", id=f"m{number}") for number in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        store = kb.SqliteCheckpoints(Path(folder) / "kb.db")
        for number, (at, length) in enumerate(changes):
            messages[at : at + length] = [message("new", id=f"n{number}")]
            prompt = kb.Prompt(messages, id="p")
            asyncio.run(store.append_checkpoint(draft("s", f"c{number}", prompt=prompt)))
        found = asyncio.run(store.get_checkpoints("s"))
        store.close()

    assert [one.messages for one in found][-1:] == [tuple(messages)][: len(changes)]
