"""A folder of one's own."""

from __future__ import annotations

import koogbook as kb


def test_each_folder_is_new_and_empty() -> None:
    """Nothing that is there already is touched [NBK-12a]."""
    first, second = kb.scratch(), kb.scratch()
    (first / "something").write_text("x")

    assert first != second
    assert list(second.iterdir()) == []
    assert [path.name for path in first.iterdir()] == ["something"]
