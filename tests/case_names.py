"""Names of test cases that are the same in every process."""

from __future__ import annotations

import re
from typing import Any


def without_address(value: Any) -> str:
    """How a value shows itself, without what is another one in each process: addresses, and messages with their ids."""
    return re.sub(r" at 0x[0-9a-f]+|Message\(.*\)", "", repr(value))
