"""What tokens cost, where that is known."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MessageError
from koogbook.llm import prices
from koogbook.llm.prices import price_of

USAGE = kb.Usage(1_000, 100)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A price table of our own in the place of the package: so many dollars for a token; and what it was asked."""
    seen: list[Any] = []

    def calc_price(usage: Any, model: str, *, provider_id: str, genai_request_timestamp: datetime) -> Any:
        seen.append((model, provider_id, genai_request_timestamp))
        if model == "unlisted":
            raise LookupError(model)
        if (usage.cache_read_tokens or 0) > usage.input_tokens:
            raise ValueError("more read than given")
        return SimpleNamespace(total_price=usage.input_tokens * Decimal("0.001") + usage.output_tokens * 2)

    def get_snapshot() -> Any:
        return SimpleNamespace(providers=[SimpleNamespace(id=name) for name in ("openai", "aws", "groq")])

    package: Any = SimpleNamespace(
        Usage=lambda **counted: SimpleNamespace(**counted), calc_price=calc_price, __spec__=object()
    )
    monkeypatch.setitem(sys.modules, "genai_prices", package)
    monkeypatch.setitem(
        sys.modules,
        "genai_prices.data_snapshot",
        SimpleNamespace(get_snapshot=get_snapshot),  # type: ignore[arg-type]
    )
    prices._listed_price.cache_clear()
    monkeypatch.setattr(prices, "_listed_price", prices._listed_price.__wrapped__)
    return seen


def test_a_price_is_looked_up_by_provider_and_model(listed: list[Any]) -> None:
    """At the time of the request [EXE-04]."""
    when = datetime(2026, 1, 1, tzinfo=UTC)

    assert price_of("openai:gpt", USAGE, when=when) == Decimal("201.000")
    assert listed == [("gpt", "openai", when)]


@pytest.mark.parametrize(
    ("model", "catalogue"),
    [("openai-responses:gpt", "openai"), ("bedrock:claude", "aws"), ("groq:llama", "groq")],
)
def test_a_provider_has_the_prices_of_its_catalogue(listed: list[Any], model: str, catalogue: str) -> None:
    """Ours by the name that we know, others by their own [EXE-04]."""
    assert price_of(model, USAGE) is not None
    assert listed[0][1] == catalogue


@pytest.mark.parametrize(
    "model", ["openai-compatible:gpt", "ollama:gpt", "my-openai:gpt", "OpenAI:gpt", "gpt", "offline"]
)
def test_a_server_of_ones_own_has_no_price(listed: list[Any], model: str) -> None:
    """Though its name may hold that of a provider, and its model be called the same [EXE-04]."""
    assert (price_of(model, USAGE), listed) == (None, [])


def test_a_model_that_is_not_listed_has_no_price(listed: list[Any]) -> None:
    """Which is not 0 [EXE-04]."""
    assert price_of("openai:unlisted", USAGE) is None


@pytest.mark.parametrize(
    "usage", [kb.Usage(), kb.Usage(10), kb.Usage(None, 10), kb.Usage(5, 5, cache_read_tokens=9)], ids=str
)
def test_tokens_that_nobody_counted_have_no_price(listed: list[Any], usage: kb.Usage) -> None:
    """Nor those that cannot be [EXE-04]."""
    assert price_of("openai:gpt", usage) is None


@pytest.mark.parametrize(
    "usage", [kb.Usage(-10, 5), kb.Usage(10, -5), kb.Usage(10, 5, -1), kb.Usage(10, 5, 50)], ids=str
)
def test_tokens_that_cannot_be_have_no_price(usage: kb.Usage) -> None:
    """The real table refuses them in more than one place [EXE-04]."""
    found = price_of("openai:gpt-4o", usage)

    assert found is None or found >= 0


def test_without_the_package_there_is_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no error: a price is a comfort [EXE-04]."""
    found = importlib.util.find_spec
    monkeypatch.setattr(prices, "find_spec", lambda name: None if name == "genai_prices" else found(name))

    assert price_of("openai:gpt-4o", USAGE) is None


def test_what_is_no_model_is_refused() -> None:
    """As everywhere [EXE-04]."""
    with pytest.raises(MessageError, match="A model is a name"):
        price_of(None, USAGE)  # type: ignore[arg-type]


def test_the_table_is_not_loaded_before_it_is_used() -> None:
    """It is large, and an offline run needs none of it [PRF-01]."""
    code = (
        "import sys, asyncio, koogbook as kb\n"
        "run = asyncio.run(kb.Agent(kb.OfflineExecutor(), 'openai:gpt-4o').run('x'))\n"
        "assert (run.cost, 'cost' in str(run.report())) == (0, False)\n"
        "assert 'genai_prices' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.data())
def test_the_real_table_has_prices_that_add_up(given_tokens: int, made: int, data: st.DataObject) -> None:
    """Input and output apart cost what they cost together, at a price that is never below 0 [EXE-04]."""
    model = data.draw(st.sampled_from(["openai:gpt-4o", "mistral:mistral-large-latest"]))
    when = datetime(2026, 1, 1, tzinfo=UTC)
    whole, *apart = (
        price_of(model, usage, when=when)
        for usage in (kb.Usage(given_tokens, made), kb.Usage(given_tokens, 0), kb.Usage(0, made))
    )

    assert whole is not None
    assert whole == sum(price for price in apart if price is not None) >= 0
