"""Files that are no store, are damaged, or cannot be written: one clear error, and nothing is harmed."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from stored_values import checkpoint, draft, message

import koogbook as kb
from koogbook.errors import CorruptStoreError, StoreError

LARGE = b'"' + b"x" * 5_000 + b'"'


@pytest.fixture
async def stored(tmp_path: Path) -> Path:
    """A file with one session of three messages in it, a small state and a large one; closed."""
    store = kb.SqliteCheckpoints(tmp_path / "kb.db")
    prompt = kb.Prompt([message("a"), message("b")], id="p")
    await store.append_checkpoint(draft("s", "c0", prompt=prompt))
    await store.append_checkpoint(draft("s", "c1", prompt=prompt.append(message("c")), output=LARGE))
    store.close()
    return store.path


def change(path: Path, statement: str, *values: object) -> None:
    """Forge a row behind the store's back."""
    db = sqlite3.connect(path)
    db.execute(statement, values)
    db.commit()
    db.close()


def cut(path: Path, share: float, more: bytes = b"") -> None:
    """Leave the first part of a file and put something else behind it."""
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)] + more)


def remove(path: Path) -> None:
    """Take a file away, as a user does in a terminal."""
    path.unlink()


async def test_a_file_of_another_program_is_not_touched(tmp_path: Path) -> None:
    """An SQLite file that holds somebody else's tables stays byte for byte."""
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE theirs(x)")
    before = path.read_bytes()

    with pytest.raises(StoreError, match="of another program"):
        await kb.SqliteCheckpoints(path).get_latest_checkpoint("s")

    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path) -> None:
    """Nor is a text file."""
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes. " * 100)

    with pytest.raises(StoreError, match="no readable SQLite file"):
        await kb.SqliteCheckpoints(path).get_latest_checkpoint("s")

    assert path.read_text() == "These are my notes. " * 100


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """As ``touch`` leaves it."""
    path = tmp_path / "kb.db"
    path.touch()

    await kb.SqliteCheckpoints(path).save_checkpoint("s", checkpoint())

    assert len(kb.SqliteCheckpoints(path).list_infos()) == 1


async def test_a_newer_schema_is_refused(stored: Path) -> None:
    """An older koogbook must not write into what it does not understand."""
    change(stored, "PRAGMA user_version=99")

    with pytest.raises(StoreError, match="newer koogbook"):
        await kb.SqliteCheckpoints(stored).get_latest_checkpoint("s")


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """The message says what to give."""
    with pytest.raises(StoreError, match=r"Give|give"):
        await kb.SqliteCheckpoints(tmp_path).get_latest_checkpoint("s")


async def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="cannot be made"):
        await kb.SqliteCheckpoints(tmp_path / "file" / "deeper" / "kb.db").get_latest_checkpoint("s")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/sys is a read-only file system on Linux")
async def test_a_read_only_file_system_is_an_error() -> None:
    """Whoever the user is."""
    with pytest.raises(StoreError):
        await kb.SqliteCheckpoints("/sys/koogbook/kb.db").get_latest_checkpoint("s")


async def test_a_torn_file_is_an_error(stored: Path) -> None:
    """Half of a database is never read as checkpoints [PER-18]."""
    cut(stored, 1 / 3, b"\xff" * 4096)

    with pytest.raises((StoreError, CorruptStoreError)):
        await kb.SqliteCheckpoints(stored).get_checkpoints("s")


async def test_a_header_with_nothing_behind_it_is_an_error(stored: Path) -> None:
    """A file cut down to its first page has lost its tables [PER-18]."""
    cut(stored, 1 / 17)

    with pytest.raises((StoreError, CorruptStoreError)):
        await kb.SqliteCheckpoints(stored).get_checkpoints("s")


async def test_a_lost_table_is_an_error_of_the_store(stored: Path) -> None:
    """Not a bare one of SQLite."""
    change(stored, "DROP TABLE state")

    with pytest.raises(StoreError, match="no whole koogbook store"):
        await kb.SqliteCheckpoints(stored).get_checkpoints("s")


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("DELETE FROM state WHERE ?", 1),
        ("DELETE FROM fingerprint WHERE ?", 1),
        ("DELETE FROM setting WHERE ?", 1),
        ("DELETE FROM segment WHERE ?", 1),
        ("DELETE FROM entry WHERE position = ?", 1),
        ("UPDATE checkpoint SET state = NULL WHERE ?", 1),
        ("UPDATE checkpoint SET state = ?", b"\xc1 forged"),
        ("UPDATE checkpoint SET state = ?", b""),
        ("UPDATE checkpoint SET state = ?", "text"),
        ("UPDATE state SET body = ?", b"\xc1 forged"),
        ("UPDATE state SET body = ?", b""),
        ("UPDATE state SET body = ?", "text"),
        ("UPDATE setting SET body = ?", b"{}"),
        ("UPDATE setting SET body = ?", b"no json"),
        ("UPDATE message SET body = ?", b'{"role":"user"}'),
        ("UPDATE message SET body = cast(replace(cast(body AS TEXT), ?, ':\"z\"') AS BLOB)", ':"a"'),
        ("UPDATE segment SET base = id, head = ?", 3),
        ("UPDATE checkpoint SET length = ?", 10**15),
        ("UPDATE checkpoint SET length = ?", 9),
        ("UPDATE checkpoint SET length = ?", "many"),
        ("UPDATE checkpoint SET kind = ?", "unheard of"),
        ("UPDATE checkpoint SET created = ?", 1e300),
        ("UPDATE checkpoint SET left_out = ?", "{"),
        ("UPDATE checkpoint SET path = ?", b"\xff"),
    ],
)
async def test_a_forged_or_lost_row_is_one_clear_error(stored: Path, statement: str, value: object) -> None:
    """No row runs code, none is repaired, and the message says that nothing was changed [PER-08]."""
    change(stored, statement, value)

    with pytest.raises(CorruptStoreError, match="copy"):
        await kb.SqliteCheckpoints(stored).get_checkpoints("s")


async def test_an_undamaged_session_beside_a_damaged_one_is_read(stored: Path) -> None:
    """Damage stays where it is."""
    store = kb.SqliteCheckpoints(stored)
    await store.save_checkpoint("t", checkpoint("t", id="other", messages=(message("z"),)))
    store.close()
    change(stored, "UPDATE checkpoint SET state = x'00' WHERE id = x'6330'")

    assert len(await kb.SqliteCheckpoints(stored).get_checkpoints("t")) == 1


async def test_a_file_that_was_removed_while_in_use_is_said_to_be_gone(stored: Path) -> None:
    """Else everything would go on being saved into a file that nobody can open again."""
    store = kb.SqliteCheckpoints(stored)
    await store.save_checkpoint("t", checkpoint("t"))
    remove(stored)

    with pytest.raises(StoreError, match="removed or replaced"):
        await store.save_checkpoint("u", checkpoint("u"))


async def test_after_a_removed_file_the_next_use_makes_a_whole_new_one(stored: Path) -> None:
    """What is remembered of the old file must not be referred to in the new one."""
    store = kb.SqliteCheckpoints(stored)
    prompt = kb.Prompt([message("a")], id="p")
    await store.append_checkpoint(draft("t", prompt=prompt))
    shutil.rmtree(stored.parent)
    with pytest.raises(StoreError):
        await store.append_checkpoint(draft("t", "c1", prompt=prompt))

    await store.append_checkpoint(draft("t", "c2", prompt=prompt.append(message("b"))))

    assert [one.messages[0].text for one in await store.get_checkpoints("t")] == ["a"]


async def test_a_relative_path_means_the_folder_of_then(in_folder: Path, monkeypatch: Any) -> None:
    """A program that changes its folder later still writes to the same file."""
    store = kb.SqliteCheckpoints("kb.db")
    (in_folder / "deeper").mkdir()
    monkeypatch.chdir(in_folder / "deeper")

    await store.save_checkpoint("s", checkpoint())

    assert (in_folder / "kb.db").exists()


async def test_the_default_file_is_in_a_folder_of_its_own(in_folder: Path) -> None:
    """``.koogbook/koogbook.db``, made on first use."""
    await kb.SqliteCheckpoints().save_checkpoint("s", checkpoint())

    assert (in_folder / ".koogbook" / "koogbook.db").exists()


def test_making_a_store_makes_no_file(in_folder: Path) -> None:
    """Only using it does."""
    kb.SqliteCheckpoints()

    assert list(in_folder.iterdir()) == []


async def test_a_closed_store_opens_again_on_use(tmp_path: Path) -> None:
    """Closing is letting go, not ending."""
    store = kb.SqliteCheckpoints(tmp_path / "kb.db")
    await store.save_checkpoint("s", checkpoint())
    store.close()

    assert len(await store.get_checkpoints("s")) == 1


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    """A misspelt word must not mean less than was asked for."""
    with pytest.raises(ValueError, match="'normal' or 'full'"):
        kb.SqliteCheckpoints(tmp_path / "kb.db", durability="ful")  # type: ignore[arg-type]


@pytest.mark.parametrize("durability", ["normal", "full"])
async def test_both_durabilities_keep_checkpoints(tmp_path: Path, durability: Any) -> None:
    """They differ in what a power loss may take."""
    store = kb.SqliteCheckpoints(tmp_path / "kb.db", durability=durability)
    await store.save_checkpoint("s", checkpoint())
    store.close()

    assert len(await store.get_checkpoints("s")) == 1


async def test_a_filter_may_read_the_store_itself(stored: Path) -> None:
    """A condition that looks at other checkpoints is no deadlock."""
    store = kb.SqliteCheckpoints(stored)

    found = await store.get_checkpoints("s", lambda info: info == store.list_infos("s")[-1])

    assert [one.info.id for one in found] == ["c1"]
