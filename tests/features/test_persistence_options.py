"""The settings of persistence: their defaults, their words, and that they stay as they were given."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from persisted_runs import Trip, notices

import koogbook as kb

README = Path(__file__).parents[2] / "README.md"


def documented_defaults() -> dict[str, str]:
    """Setting and default, as the table in README.md has them."""
    section = (
        README.read_text(encoding="utf-8").partition("### Persistence, by default")[2].partition("\n#")[0]
    )
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    return {name.strip(" `"): default.strip(" `").strip('"') for name, default in rows}


def test_the_defaults_are_the_documented_ones() -> None:
    """One table in README.md, row by row, with the policy that counts when none is given [PER-03b]."""
    config = kb.Persistence()
    effective = {
        **{field.name: str(getattr(config, field.name)).replace("None", "none") for field in fields(config)},
        "resume": config.resume_policy(""),
    }

    assert effective == documented_defaults()


@pytest.mark.parametrize(
    ("option", "given", "nearest"),
    [
        ("on_save_error", "lgo", "'log'"),
        ("on_save_error", "RAISE", "'raise'"),
        ("on_busy", "wiat", "'wait'"),
        ("on_busy", "rase", "'raise'"),
        ("resume", "alwyas", "'auto'"),
        ("resume", "nevr", "'never'"),
        ("resume", "same-input", "'same_input'"),
        ("resume", "Auto", "'auto'"),
    ],
)
def test_a_word_that_is_none_is_refused_with_the_nearest_one(option: str, given: str, nearest: str) -> None:
    """When the setting is made, not when it would have counted [PER-03b]."""
    with pytest.raises(ValueError, match=rf"^{option} is .*, not '{given}'\. Did you mean {nearest}\?$"):
        kb.Persistence(**{option: given})  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["on_save_error", "on_busy", "resume", "automatic", "strict"])
@pytest.mark.parametrize("given", [7, "", [], 1.5])
def test_a_value_of_another_kind_is_refused(option: str, given: Any) -> None:
    """Whatever it is; the error names the setting [PER-03b]."""
    with pytest.raises(ValueError, match=f"^{option} is "):
        kb.Persistence(**{option: given})


@pytest.mark.parametrize("storage", ["trip.db", kb.MemoryCheckpoints])
def test_a_storage_that_is_none_is_refused(storage: Any) -> None:
    """A path and a class are near misses; the error shows the form that is meant [PER-03b]."""
    with pytest.raises(TypeError, match=r"kb\.SqliteCheckpoints"):
        kb.Persistence(storage)


def test_the_settings_cannot_be_changed() -> None:
    """An installed feature stays what it was installed as [AGT-02]."""
    config = kb.Persistence()

    with pytest.raises(FrozenInstanceError):
        config.automatic = False  # type: ignore[misc]


def test_only_the_storage_may_be_given_by_place() -> None:
    """The words need their names [AGT-02]."""
    with pytest.raises(TypeError):
        kb.Persistence(None, False)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("answer", "output"), [(True, "pay(book(plan(Rome)))"), (False, "pay(book(plan(Oslo)))")]
)
async def test_an_async_function_can_decide(store: Any, answer: bool, output: str) -> None:
    """It is awaited [PER-05a]."""
    await Trip(store).crash("Rome")

    async def policy(checkpoint: kb.Checkpoint, value: Any) -> bool:
        return answer

    assert (await Trip(store, resume=policy).run("Oslo")).output == output


async def test_a_function_that_says_no_leaves_the_run_behind_and_that_is_said(store: Any) -> None:
    """As ``"never"`` does [PER-05a]."""
    await Trip(store).crash("Rome")

    run = await Trip(store, resume=lambda checkpoint, value: False).run("Oslo")

    assert "trip/plan stays where it is" in notices(run, "unfinished run left behind")[0]
