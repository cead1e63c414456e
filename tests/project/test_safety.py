"""What may not stand in the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import koogbook as kb

PACKAGE = Path(kb.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_can_run_stored_data(module: Path) -> None:
    """No pickle and no eval: a stored file may never run code."""
    banned = re.compile(r"\bimport (pickle|dill|cloudpickle|marshal|shelve)\b|(?<![\w.])(eval|exec)\(")

    assert banned.findall(module.read_text(encoding="utf-8")) == []


def test_no_constraint_names_an_address() -> None:
    """The constraints are plain names and versions."""
    constraints = (PACKAGE.parent / "constraints.txt").read_text(encoding="utf-8")

    assert re.findall(r"https?:|@ |file:", constraints) == []
