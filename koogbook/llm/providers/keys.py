"""Keys: read from the environment when a request is made, and taken out of every text that others may see."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from koogbook.errors import MissingKeyError
from koogbook.llm.providers.names import PROVIDERS, Provider
from koogbook.llm.providers.veil import HIDDEN, Veil

#: Variables with a secret beside those of the table: the other half of a pair, or what a provider's library reads.
_ALSO_SECRET = (
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "OPENAI_ADMIN_KEY",
    "OPENAI_WEBHOOK_SECRET",
)

#: Headers that libraries read from there, one in each line: their values are often secrets.
CUSTOM_HEADERS = {"openai": "OPENAI_CUSTOM_HEADERS", "anthropic": "ANTHROPIC_CUSTOM_HEADERS"}

#: A shorter value is a placeholder of a local server ("x"); taking it out would make other words unreadable. So would
#: one of plain words ("ollama", "lm-studio"), up to a length that none of those has.
_SHORTEST = 4
_SHORTEST_OF_WORDS = 12
_WORDS = re.compile(r"[A-Za-z]+(?:[-_][A-Za-z]+)*")

#: What a model wrote is changed only for what cannot be there by chance.
_SHORTEST_IN_AN_ANSWER = 8
_SHORTEST_OF_WORDS_IN_AN_ANSWER = 16

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")

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


def is_variable_name(name: str) -> bool:
    """Whether that can be the name of a variable with a key, and is not a key that was given in its place."""
    if not _VARIABLE.fullmatch(name):
        return False
    if name in os.environ:
        return True
    mixed = "_" not in name and len(name) >= 16 and any(char.isdigit() for char in name)
    return not mixed and not _LIKE_A_KEY.search(name)


def custom_headers(provider: Provider) -> dict[str, str]:
    """The headers that a provider's library takes from the environment."""
    text = os.environ.get(CUSTOM_HEADERS.get(provider.package, ""), "")
    pairs = (line.partition(":") for line in text.split("\n") if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def secrets_in_url(url: str | None) -> tuple[str, ...]:
    """The password of an address, and the header that an HTTP library makes of it."""
    try:
        parts = urlsplit(url or "")
        user, password = parts.username, parts.password
    except ValueError:
        return ()
    if not password:
        return ()
    plain = f"{unquote(user or '')}:{unquote(password)}"
    return (password, unquote(password), b64encode(plain.encode()).decode())


class Redactor:
    """Takes keys out of texts: the values of the key variables, then and now, and what looks like one.

    ``also`` names variables beside those that koogbook knows. ``sent`` are the secrets that go out with a request:
    only these can come back in an answer, and they are known here whatever happens to the environment.
    """

    __slots__ = ("_also", "_known", "_sent")

    def __init__(self, also: Iterable[str | None] = (), sent: Iterable[str | None] = ()) -> None:
        self._also = tuple(name for name in also if name)
        given = frozenset(one for one in sent if one)
        self._sent = _forms(
            one for one in given if _hides(one, _SHORTEST_IN_AN_ANSWER, _SHORTEST_OF_WORDS_IN_AN_ANSWER)
        )
        self._known = given | self._of_environment()

    def clean(self, text: str) -> str:
        """The text without keys, userinfo of URLs, and secrets in their queries."""
        text = self.without_values(text)
        text = _USERINFO.sub(rf"\1{HIDDEN}@", text)
        text = _IN_A_QUERY.sub(rf"\1{HIDDEN}", text)
        text = _BEARER.sub(rf"\1{HIDDEN}", text)
        return _LIKE_A_KEY.sub(HIDDEN, text)

    def without_values(self, text: str) -> str:
        """The text without the values of key variables; all else stays, so that a signature is not touched."""
        values = self._known | self._of_environment()
        for secret in _forms(one for one in values if _hides(one, _SHORTEST, _SHORTEST_OF_WORDS)):
            text = text.replace(secret, HIDDEN)
        return text

    def without_values_in(self, value: Any) -> Any:
        """The same for every text in plain JSON data; names of fields stay."""
        if isinstance(value, str):
            return self.without_values(value)
        if isinstance(value, list):
            return [self.without_values_in(one) for one in value]
        if isinstance(value, dict):
            return {key: self.without_values_in(one) for key, one in value.items()}
        return value

    def without_sent(self, text: str) -> str:
        """What a model wrote, without what was sent beside the request."""
        veil = self.veil()
        return veil.over(text) + veil.rest()

    def veil(self) -> Veil:
        """The same for a text that comes in pieces."""
        return Veil(self._sent)

    def _of_environment(self) -> frozenset[str]:
        names = {name for provider in PROVIDERS.values() for name in provider.keys}
        values = {os.environ.get(name, "").strip() for name in (*names, *_ALSO_SECRET, *self._also)}
        return frozenset(value for value in values if value)


def _hides(value: str, shortest: int, of_words: int) -> bool:
    return len(value) >= (of_words if _WORDS.fullmatch(value) else shortest)


def _forms(values: Iterable[str]) -> list[str]:
    """Each as it is, in a URL, and in JSON; long ones first, since a key may be the beginning of another."""
    found: set[str] = set()
    for value in values:
        found |= {value, quote(value, safe=""), json.dumps(value)[1:-1]}
    return sorted(found, key=len, reverse=True)


def shown_url(url: str) -> str:
    """A URL without userinfo, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "a URL that cannot be read"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
