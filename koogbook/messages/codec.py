"""Messages to bytes and back, exactly.

msgspec does the work. It refuses lone surrogates both ways, so a message that holds one goes through the standard
library's ``json``, which escapes them. Two that stand together would come back as the one character that they encode,
so they are written as three bytes each instead, as Python's ``surrogatepass`` does. Unknown fields are refused:
nothing that was stored is dropped on the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from koogbook.errors import UndecodableValueError
from koogbook.messages.message import Message

_PARTED_CHARACTER = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Message)
_list_decoder = msgspec.json.Decoder(list[Message])


def encode_message(message: Message) -> bytes:
    """One message as JSON, keys sorted; equal messages give equal bytes."""
    try:
        return _encoder.encode(message)
    except UnicodeEncodeError:
        return encode_with_surrogates(msgspec.to_builtins(message))


def encode_with_surrogates(built: object) -> bytes:
    """Plain data with lone surrogates in it as JSON, keys sorted; ``json.loads`` gives it back exactly."""
    text = json.dumps(built, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    if _PARTED_CHARACTER.search(text):
        return text.encode("utf-8", "surrogatepass")
    return text.encode("utf-8", "backslashreplace")


def decode_message(body: bytes) -> Message:
    """The message that :func:`encode_message` wrote.

    Raises:
        UndecodableValueError: The bytes are no message, or hold fields that this version does not know.
    """
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as first:
        return _decode_slowly(body, first)


def decode_messages(bodies: Iterable[bytes]) -> list[Message]:
    """Many messages at once: joined and decoded in one go, which takes half the time of one by one.

    Raises:
        UndecodableValueError: One of them is no message; ``path`` is its position.
    """
    bodies = list(bodies)
    try:
        found = _list_decoder.decode(b"[" + b",".join(bodies) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        found = []
    if len(found) == len(bodies):  # else a body is no message, or several
        return found
    decoded = []
    for position, body in enumerate(bodies):
        try:
            decoded.append(decode_message(body))
        except UndecodableValueError as problem:
            raise UndecodableValueError(
                f"Stored message {position} cannot be read: {problem}", path=str(position)
            ) from problem
    return decoded


def _decode_slowly(body: bytes, first: Exception) -> Message:
    try:
        built = json.loads(body.decode("utf-8", "surrogatepass"))
        return msgspec.convert(built, Message)
    except (ValueError, TypeError, RecursionError) as second:
        raise UndecodableValueError(
            f"These bytes are no koogbook message: {second} "
            f"(first {min(len(body), 60)} of {len(body)} bytes: {body[:60]!r})."
        ) from first


def encode_with_digest(message: Message) -> tuple[bytes, bytes]:
    """A message's bytes and content hash, encoded once; the hash stays with the message."""
    body = encode_message(message)
    digest = message.__dict__.get("digest")
    if digest is None:
        digest = blake2b(body, digest_size=16).digest()
        message.__dict__["digest"] = digest
    return body, digest
