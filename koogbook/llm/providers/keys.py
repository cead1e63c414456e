"""Keys: read from the environment when a request is made, and taken out of every text that others may see."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from urllib.parse import quote, urlsplit, urlunsplit

from koogbook.errors import MissingKeyError
from koogbook.llm.providers.names import PROVIDERS, Provider

#: Variables with a secret beside those of the table: the other half of a pair, or what a provider's library reads.
_ALSO_SECRET = (
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "OPENAI_ADMIN_KEY",
    "OPENAI_WEBHOOK_SECRET",
)

#: A shorter value is a placeholder of a local server ("x"); taking it out would make other words unreadable.
_SHORTEST = 4

HIDDEN = "[key]"

#: What looks like a key although no variable holds it: providers quote a wrong one, masked in the middle or not.
_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[\w*.-]{6,}|\bAIza[\w*-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}")
_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=*-]{4,}")
_IN_A_QUERY = re.compile(
    r"(?i)([?&;](?:[\w-]*(?:key|token|secret|password|signature|credential)[\w-]*|sig)=)[^&\s\"'<>#]+"
)
_USERINFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s@\"'<>]+@")


def variable_of(provider: Provider, key_variable: str | None) -> str | None:
    """The variable that has a key for this provider; None where none has."""
    for name in (key_variable,) if key_variable else provider.keys:
        if os.environ.get(name, "").strip():
            return name
    return None


def read_key(provider: Provider, key_variable: str | None, *, is_local: bool) -> str | None:
    """The key for this provider; None where it needs none.

    Raises:
        MissingKeyError: The variable is not set, or holds what no key can be.
    """
    variable = variable_of(provider, key_variable)
    if variable is None:
        if key_variable is None and (is_local or not provider.needs_key):
            return None
        raise _missing(provider, key_variable)
    key = os.environ[variable].strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise MissingKeyError(
            f"The value of {variable} is no key: it holds blanks, line breaks or letters that a key cannot have. "
            "Nothing was sent. Set it again, without quotes or a comment around it, and restart the kernel.",
            variable=variable,
        )
    if variable == "AWS_ACCESS_KEY_ID" and not os.environ.get("AWS_SECRET_ACCESS_KEY", "").strip():
        raise MissingKeyError(
            "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not; bedrock needs both. Nothing was sent. Set it "
            "where Jupyter is started, and restart it.",
            variable="AWS_SECRET_ACCESS_KEY",
        )
    return key


def _missing(provider: Provider, key_variable: str | None) -> MissingKeyError:
    names = (key_variable,) if key_variable else provider.keys
    either = f" or {' or '.join(names[1:])}" if len(names) > 1 else ""
    return MissingKeyError(
        f"There is no key for {provider.name}: the environment variable {names[0]}{either} is not set. Nothing was "
        f"sent. Set it where Jupyter is started (export {names[0]}=...) and restart it, or without leaving a trace in "
        f"the notebook: import os, getpass; os.environ[{names[0]!r}] = getpass.getpass(). Never write a key into a "
        "cell: it would be saved with it.",
        variable=str(names[0]),
    )


class Redactor:
    """Takes keys out of texts: the values of the key variables as they are now, and what looks like one.

    ``also`` names variables beside those that koogbook knows.
    """

    __slots__ = ("_also",)

    def __init__(self, also: Iterable[str | None] = ()) -> None:
        self._also = tuple(name for name in also if name)

    def clean(self, text: str) -> str:
        """The text without keys, userinfo of URLs, and secrets in their queries."""
        text = self.without_values(text)
        text = _USERINFO.sub(rf"\1{HIDDEN}@", text)
        text = _IN_A_QUERY.sub(rf"\1{HIDDEN}", text)
        text = _BEARER.sub(rf"\1{HIDDEN}", text)
        return _LIKE_A_KEY.sub(HIDDEN, text)

    def without_values(self, text: str) -> str:
        """The text without the values of key variables; all else stays, so that a signature is not touched."""
        for secret in self._secrets():
            text = text.replace(secret, HIDDEN)
        return text

    def _secrets(self) -> list[str]:
        names = {name for provider in PROVIDERS.values() for name in provider.keys}
        found: set[str] = set()
        for name in (*names, *_ALSO_SECRET, *self._also):
            value = os.environ.get(name, "").strip()
            if len(value) >= _SHORTEST:
                # As it is, in a URL, and in JSON.
                found |= {value, quote(value, safe=""), json.dumps(value)[1:-1]}
        return sorted(found, key=len, reverse=True)  # a key may be the beginning of another


def shown_url(url: str) -> str:
    """A URL without userinfo, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "a URL that cannot be read"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
