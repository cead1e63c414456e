"""What a request costs, where that is known."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from importlib.util import find_spec

from koogbook import clock
from koogbook.llm.providers.names import PROVIDERS
from koogbook.messages.message import Usage
from koogbook.messages.model import LLModel, as_model


def price_of(model: LLModel | str, usage: Usage, *, when: datetime | None = None) -> Decimal | None:
    """The price in US dollars of so many tokens; None where it is unknown, never 0 for that.

    The prices are those that the package ``genai-prices`` lists for the provider, at the time ``when`` (default: now),
    whatever server was really asked. They are unknown without that package, for a model without provider or one that
    is not listed (such as those on a machine of one's own), and where a provider did not say how many tokens it
    counted, or what cannot be.

    Raises:
        MessageError: The model is none.
    """
    found = as_model(model)
    if not found.provider or usage.input_tokens is None or usage.output_tokens is None:
        return None
    if find_spec("genai_prices") is None:
        return None
    return _listed_price(found.provider, found.id, usage, when or clock.now())


@lru_cache(maxsize=10_000)  # a view of a run adds up all its requests again and again
def _listed_price(provider: str, model: str, usage: Usage, when: datetime) -> Decimal | None:
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    catalogue = _catalogue_of(provider)
    if catalogue is None:
        return None
    try:
        counted = Counted(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        found = calc_price(counted, model, provider_id=catalogue, genai_request_timestamp=when)
    except (LookupError, ValueError):
        return None
    return found.total_price


def _catalogue_of(provider: str) -> str | None:
    """The name under which the prices of a provider are listed.

    It has to be just that: given a name that is not listed, the package takes a provider whose name is part of it, and
    a server that merely speaks a provider's protocol would get that one's prices.
    """
    from genai_prices.data_snapshot import get_snapshot

    known = PROVIDERS.get(provider)
    name = provider if known is None else known.catalogue
    return name if any(one.id == name for one in get_snapshot().providers) else None
