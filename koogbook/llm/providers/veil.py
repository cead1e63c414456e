"""Secrets taken out of a text that comes in pieces."""

from __future__ import annotations

from collections.abc import Sequence

HIDDEN = "[key]"


class Veil:
    """Takes secrets out of a text; a piece that may be the beginning of one waits for the next piece.

    ``secrets`` are in order of length, the longest first.
    """

    __slots__ = ("_begin", "_secrets", "_waiting")

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)
        self._begin = frozenset(secret[0] for secret in secrets)
        self._waiting = ""

    def over(self, piece: str) -> str:
        """What may be shown after that piece."""
        return self._shown(piece, last=False)

    def rest(self) -> str:
        """What waited, when no more comes."""
        return self._shown("", last=True)

    def _shown(self, piece: str, *, last: bool) -> str:
        text, self._waiting = self._waiting + piece, ""
        shown: list[str] = []
        at = done = 0
        while at < len(text):
            if text[at] not in self._begin:
                at += 1
                continue
            if not last and any(
                len(one) > len(text) - at and one.startswith(text[at:]) for one in self._secrets
            ):
                self._waiting = text[at:]
                break
            found = next((one for one in self._secrets if text.startswith(one, at)), "")
            if found:
                shown += (text[done:at], HIDDEN)
                done = at + len(found)
            at += len(found) or 1
        return "".join((*shown, text[done:at]))
