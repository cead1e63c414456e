"""Whether a run is started with the input that an unfinished one was started with."""

from __future__ import annotations

import json
from typing import Any

from koogbook.errors import UndecodableValueError, UnencodableValueError
from koogbook.state.codec import decode_state, encode_state

# Envelopes of mappings whose entries are equal in any order; an OrderedDict's are not.
_PAIRS = ("$dict", "$Counter")


def is_same_input(stored: bytes, value: Any, declared: Any) -> bool:
    """Whether a stored input equals a new one, in every type; entries of a mapping may stand in another order."""
    try:
        encoded = encode_state(value, declared)
        if encoded == stored:
            return True
        before = decode_state(stored, declared)
        return _orderless(json.loads(encode_state(before, declared))) == _orderless(
            json.loads(encoded)
        ) and _is_equal(before, value)
    except (UnencodableValueError, UndecodableValueError):
        return False


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        # A user's own ==, or an array's, which is no yes or no. What is not known to be the same is another input.
        return False


def _orderless(node: Any) -> str:
    """A stored node as text that is the same for mappings with the same entries, and tells 1 from 1.0 and True."""
    if isinstance(node, list):
        return f"[{','.join(map(_orderless, node))}]"
    if not isinstance(node, dict):
        return json.dumps(node)
    return f"{{{','.join(sorted(f'{json.dumps(key)}:{_entries(key, part)}' for key, part in node.items()))}}}"


def _entries(key: str, node: Any) -> str:
    if key == "$defaultdict" and isinstance(node, list) and len(node) == 2:
        return f"{json.dumps(node[0])}{_entries('$dict', node[1])}"
    if key in _PAIRS and isinstance(node, list):
        return f"[{','.join(sorted(map(_orderless, node)))}]"
    return _orderless(node)
