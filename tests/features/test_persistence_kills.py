"""Killed at every event, at every statement and at many random instants, a run loses nothing that was saved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the program forks")

PROGRAM = Path(__file__).with_name("killed_runs.py")
STEPS = ["step 0", "step 1", "step 2", "step 3", "step 4", "step 5"]


@pytest.fixture(
    scope="module", params=[("event", 400), ("statement", 400), ("instant", 60)], ids=lambda one: one[0]
)
def kills(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What was found after each kill."""
    mode, most = request.param
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path_factory.mktemp(mode), mode, str(most)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_there_were_kills_to_look_at(kills: list[dict[str, Any]]) -> None:
    """Runs were killed before, between and after saves: the tests below say something [PER-18]."""
    killed = [one["returned"] for one in kills if one["killed"]]

    assert len(killed) >= 10
    assert len(set(killed)) >= 3


def test_no_store_is_unreadable_after_a_kill(kills: list[dict[str, Any]]) -> None:
    """Each opens, and each checkpoint in it is read [PER-18]."""
    assert [one["error"] for one in kills if "error" in one] == []


def test_a_save_that_had_returned_is_there(kills: list[dict[str, Any]]) -> None:
    """The highest version is at least the last one whose save had returned [PER-18]."""
    assert [one["at"] for one in kills if max(one["versions"], default=-1) < one["returned"]] == []


def test_versions_have_no_gaps(kills: list[dict[str, Any]]) -> None:
    """No checkpoint is there without those before it [PER-18]."""
    assert [one["at"] for one in kills if one["versions"] != list(range(len(one["versions"])))] == []


def test_no_half_history_is_read(kills: list[dict[str, Any]]) -> None:
    """Each checkpoint has exactly the messages that the run had then [PER-18]."""
    whole = [["rules", *STEPS[: number + 1]] for number in range(3)]
    shrunk = ["rules", "step 0", "TLDR", "step 3"]
    expected = [*whole, shrunk, [*shrunk, "step 4"], [*shrunk, "step 4", "step 5"]]

    found = [one["histories"][:6] for one in kills]

    assert [one for one in found if one != expected[: len(one)]] == []


def test_a_killed_run_can_be_finished(kills: list[dict[str, Any]]) -> None:
    """Started again it gives the output of an undisturbed run, with the same history [PER-18]."""
    ends = {(one["output"], *one["final"]) for one in kills}

    assert ends == {(6, "rules", "step 0", "TLDR", "step 3", "step 4", "step 5")}


def test_no_node_runs_again_whose_checkpoint_was_saved(kills: list[dict[str, Any]]) -> None:
    """The restart begins after the last checkpoint in the file, or afresh after a tombstone [PER-05]."""
    wrong = [
        one["at"] for one in kills if not one["ended"] and one["ran"] != list(range(len(one["versions"]), 6))
    ]

    assert wrong == []
