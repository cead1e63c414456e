"""Keys for every provider, and servers to ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from provider_world import KEYS, MISSING, Aimock, aimock_program, start_aimock

from koogbook.llm.providers.names import PROVIDERS


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A key for each provider, and no address or proxy from the machine."""
    for provider in PROVIDERS.values():
        for name in (*provider.keys, provider.base_url_variable):
            monkeypatch.delenv(name, raising=False) if name else None
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return dict(KEYS)


@pytest.fixture(scope="session")
def _aimock() -> Iterator[Aimock]:
    program = aimock_program()
    if program is None:
        pytest.skip(MISSING)
    running = start_aimock(program)
    yield running
    running.stop()


@pytest.fixture
def aimock(_aimock: Aimock) -> Aimock:
    """A server of many protocols, with an empty journal."""
    _aimock.forget()
    return _aimock
