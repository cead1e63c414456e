"""Where answers are kept that were given once: in memory, or in a folder."""

from __future__ import annotations

import json
import os
import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, Protocol

from koogbook.errors import UndecodableValueError
from koogbook.messages.codec import decode_message, encode_message
from koogbook.messages.message import Message

FORMAT: Final = "koogbook.answer"
VERSION: Final = 1
#: Our own files, and those that were left when the process died while writing one.
_OURS: Final = re.compile(r"[0-9a-f]{64}\.json|\.[0-9a-f]{64}\.[0-9a-f]{8}")


class AnswerStore(Protocol):
    """Keeps answers by key, the most recently used ones."""

    def get(self, key: str) -> Message | None:
        """The answer, or None.

        Raises:
            UndecodableValueError: What is kept is damaged.
            OSError: It cannot be read.
        """

    def put(self, key: str, answer: Message) -> None:
        """Keep this answer.

        Raises:
            OSError: It cannot be written.
        """

    def clear(self) -> None:
        """Forget all."""

    def __len__(self) -> int:
        """How many are kept."""


class MemoryAnswers:
    """Answers that live as long as the process."""

    __slots__ = ("_answers", "_entries")

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._answers: OrderedDict[str, Message] = OrderedDict()

    def get(self, key: str) -> Message | None:
        """See :class:`AnswerStore`."""
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def put(self, key: str, answer: Message) -> None:
        """See :class:`AnswerStore`."""
        self._answers[key] = answer
        self._answers.move_to_end(key)
        while len(self._answers) > self._entries:
            self._answers.popitem(last=False)

    def clear(self) -> None:
        """See :class:`AnswerStore`."""
        self._answers.clear()

    def __len__(self) -> int:
        return len(self._answers)


class FolderAnswers:
    """Answers in a folder, one file each, for this process and others, now and later.

    A file has a line that says what it is and a line with the message, and is there whole or not at all. A check sum
    over key and message tells what was changed, cut off or moved. When there are more than ``entries``, the tenth of
    them that was longest unused goes. Files of another name are left alone.

    Raises:
        ValueError: The path is empty.
        NotADirectoryError: It is something else than a folder.
    """

    __slots__ = ("_count", "_entries", "folder")

    def __init__(self, folder: str | Path, entries: int) -> None:
        if not str(folder).strip():
            raise ValueError(
                "The folder for answers has no name. Nothing was changed. Write folder='answers'."
            )
        self.folder = Path(folder).expanduser()
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(
                f"{self.folder} is no folder. Nothing was changed. Give the path of a folder, there or not."
            )
        self._entries = entries
        self._count: int | None = None

    def get(self, key: str) -> Message | None:
        """See :class:`AnswerStore`."""
        path = self._path(key)
        try:
            whole = path.read_bytes()
        except FileNotFoundError:
            return None
        answer = _read(path, key, whole)
        with suppress(OSError):  # a folder to which nothing may be written keeps its order
            os.utime(path)
        return answer

    def put(self, key: str, answer: Message) -> None:
        """See :class:`AnswerStore`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(key)
        fresh = not path.exists()
        beside = self.folder / f".{key}.{os.urandom(4).hex()}"
        try:
            beside.write_bytes(_written(key, answer))
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        if self._count is None:
            self._count = len(self)
        elif fresh:
            self._count += 1
        if self._count > self._entries:
            self._trim()

    def clear(self) -> None:
        """See :class:`AnswerStore`."""
        for path in self._files(every=True):
            path.unlink(missing_ok=True)
        self._count = None

    def __len__(self) -> int:
        return sum(1 for _ in self._files())

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _files(self, *, every: bool = False) -> Iterator[Path]:
        if self.folder.is_dir():
            for path in list(self.folder.iterdir()):
                if _OURS.fullmatch(path.name) and (every or path.suffix == ".json"):
                    yield path

    def _trim(self) -> None:
        used: list[tuple[float, str, Path]] = []
        for path in self._files():
            with suppress(FileNotFoundError):  # another process was faster
                used.append((path.stat().st_mtime, path.name, path))
        kept = self._entries - self._entries // 10
        for _, _, path in sorted(used)[: max(0, len(used) - kept)]:
            path.unlink(missing_ok=True)
        self._count = min(len(used), kept)


def _written(key: str, answer: Message) -> bytes:
    body = encode_message(answer)
    header = {"type": FORMAT, "version": VERSION, "checksum": _checksum(key, body)}
    return json.dumps(header).encode() + b"\n" + body


def _read(path: Path, key: str, whole: bytes) -> Message:
    first, _, body = whole.partition(b"\n")
    try:
        header = json.loads(first)
        sound = header == {"type": FORMAT, "version": VERSION, "checksum": _checksum(key, body)}
    except (ValueError, RecursionError):
        sound = False
    if not sound:
        raise UndecodableValueError(f"{path} is damaged, or of another version ({len(whole)} bytes)")
    return decode_message(body)


def _checksum(key: str, body: bytes) -> str:
    return blake2b(body, digest_size=16, key=bytes.fromhex(key)).hexdigest()
