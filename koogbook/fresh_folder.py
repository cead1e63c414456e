"""A folder that nobody else uses, for notebooks that can be run again and beside each other."""

from __future__ import annotations

import tempfile
from pathlib import Path


def scratch() -> Path:
    """A new, empty folder among the temporary files of this machine; nothing that is there already is touched.

    A notebook that keeps its stores and files in it gives the same outputs however often it is run. The folder stays
    when the process ends, and is cleared away by the system like other temporary files.
    """
    return Path(tempfile.mkdtemp(prefix="koogbook-"))
