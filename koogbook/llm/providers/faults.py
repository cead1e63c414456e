"""From what libraries raise to our errors: what happened, in the provider's words, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from koogbook.errors import (
    ContextOverflowError,
    ExecutorClosedError,
    ExecutorError,
    ProviderError,
    UnknownModelError,
)
from koogbook.llm.providers.exchange import Exchange, NoAnswerError
from koogbook.llm.providers.keys import Redactor, shown_url, variable_of
from koogbook.llm.providers.missing_model import names_model, says_no_such_model
from koogbook.llm.providers.names import Provider, nearest_model
from koogbook.llm.providers.overflow import limit_in, says_overflow
from koogbook.llm.providers.words import chain_of, error_in, quoted, refusal_status, retry_after, said_in
from koogbook.messages.message import Usage
from koogbook.messages.model import LLModel

#: Of a provider's words this much is told.
_WORDS = 300

_FILTERED = re.compile(
    r"content_filter|content_policy|content policy|content management policy|responsibleai|safety (?:system|filter)"
    r"|moderation|guardrail|prohibited_content|flagged",
    re.IGNORECASE,
)
_PAID = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance|billing|insufficient (?:balance|credits)"
    r"|payment required|spend limit",
    re.IGNORECASE,
)
#: What pydantic adds to each of its lines.
_ADVICE = re.compile(r" For further information visit https://errors\.pydantic\.dev/\S+")
#: What pydantic-ai advises where it will not fetch a file from a private network, and koogbook has not.
_OPTION_OF_OTHERS = re.compile(r"Use force_download=\S+ to allow local network access\.?")


class Faults:
    """Makes errors of ours for requests to one model.

    ``timeout`` is the limit in seconds that a slow answer was over, ``base_url`` where requests go, ``is_closed`` says
    whether the executor was closed meanwhile.
    """

    def __init__(
        self,
        *,
        model: LLModel,
        provider: Provider,
        base_url: str | None,
        key_variable: str | None,
        timeout: float,
        redactor: Redactor,
        is_closed: Callable[[], bool],
    ) -> None:
        self._model = model
        self._provider = provider
        self._base_url = base_url
        self._key_variable = key_variable
        self._timeout = timeout
        self._redactor = redactor
        self._is_closed = is_closed

    def fault(self, problem: Exception, seen: Exchange, *, began: bool = False) -> ExecutorError:
        """The error for an exception; ``began`` says that a part of the answer had come already.

        It is raised outside of the ``except`` block, so that no exception of a library, which might print headers,
        hangs on it.
        """
        if self._is_closed():
            return ExecutorClosedError(
                f"The executor was closed while {self._model} was asked. Nothing was appended; the provider may have "
                "counted the request. Make a new one, and close it when no request is out."
            )
        if isinstance(problem, ExecutorError):
            return problem
        chain = tuple(chain_of(problem))
        if seen.page is not None or any(isinstance(one, NoAnswerError) for one in chain):
            of_page = seen.status or 200
            if of_page < 300 or of_page == 404:
                return self._page(seen)
            return self._by_status(of_page, problem, chain, seen, began=began)
        status = next((one for one in map(refusal_status, chain) if one is not None), None)
        if status is not None:
            return self._by_status(status, problem, chain, seen, began=began)
        instead = error_in(seen.body)
        if instead is not None:
            return self._instead_of_an_answer(*instead, seen)
        silent = self._not_reached(chain, seen, began=began)
        if silent is not None:
            return silent
        words = self._words(problem)
        if says_overflow(words):
            return self._overflow(words, None)
        if seen.requests == 0 and self._provider.name != "bedrock":
            return self._error(f"cannot be asked this{quoted(words)}. Nothing was sent.", "", kind="refused")
        if began:
            return self._broken(words)
        return self._error(
            f"gave what is no answer{quoted(words)}. Nothing was appended.",
            f"Ask again, and if it stays so, look whether {self._where(seen)} speaks the protocol of "
            f"{self._provider.name!r}.",
            kind="bad_answer",
            status=seen.status,
        )

    def empty(
        self, finish_reason: str | None, details: str = "", usage: Usage | None = None
    ) -> ProviderError:
        """The error for an answer in which there is nothing, with what it cost."""
        said = self._cleaned(details)
        if finish_reason == "length":
            return self._error(
                "used all the tokens that it may write before it wrote a word of the answer: it was cut by the limit "
                "(finish_reason 'length'). Nothing was appended.",
                "Allow more, or leave it to the provider: session.change_params(max_tokens=None).",
                kind="refused",
                usage=usage,
            )
        if finish_reason == "content_filter":
            return self._error(
                f"gave no answer: its content filter stopped it{quoted(said)}. Nothing was appended.",
                "Change what is asked; the same request will be stopped again.",
                kind="refused",
                usage=usage,
            )
        return self._error(
            f"gave an empty answer, without text and without a call (finish_reason {finish_reason!r}). Nothing was "
            "appended.",
            "Ask again.",
            kind="bad_answer",
            usage=usage,
        )

    def cut(self) -> ProviderError:
        """The error for a stream that ended without saying why."""
        return self._broken("the stream ended without its last event")

    def half_a_call(self) -> ProviderError:
        """The error for a call whose arguments stop in the middle."""
        return self._broken("the stream ended in the middle of a tool call, and without its last event")

    def slow(self, *, began: bool) -> ProviderError:
        """The error for an answer that took longer than the limit."""
        what = "wrote nothing more for" if began else "did not answer within"
        return self._error(
            f"{what} {self._timeout:g} s. Nothing was appended; the provider may have counted the request.",
            "Ask again, ask for less, or wait longer: kb.ProviderExecutor(timeout=...).",
            kind="timeout",
        )

    def _by_status(
        self,
        status: int,
        problem: Exception,
        chain: tuple[BaseException, ...],
        seen: Exchange,
        *,
        began: bool,
    ) -> ExecutorError:
        words = self._words(problem) if seen.page is None else self._title(seen)
        everything = f"{words} {getattr(problem, 'provider_error_code', '') or ''}"
        wait = retry_after(problem, seen)
        if says_overflow(everything) and status not in (401, 403, 429):
            return self._overflow(words, status)
        if status in (400, 404) and self._is_unknown_model(everything, chain):
            return self._unknown_model(words, status)
        said = quoted(words)
        if seen.page is not None:
            said = f", and it was an HTML page that came from {self._where(seen)}{said}"
        if _PAID.search(everything) and status in (400, 402, 403, 429):
            return self._error(
                f"refused the request (HTTP {status}): the account has no credit left{said}. Nothing was appended.",
                f"Waiting does not help; look at the account with {self._provider.name}.",
                kind="refused",
                status=status,
            )
        if status in (401, 403) and not _FILTERED.search(everything):
            return self._error(
                f"did not accept the key (HTTP {status}){said}. Nothing was appended.",
                self._about_the_key(),
                kind="unauthorised",
                status=status,
            )
        if status == 429:
            return self._error(
                f"is asked too often (HTTP 429){said}. Nothing was appended.",
                f"Wait {wait:g} s, then ask again." if wait is not None else "Wait, then ask again.",
                kind="rate_limited",
                status=status,
                retry_after=wait,
            )
        if status == 408:
            return self._error(
                f"gave up waiting (HTTP 408){said}. Nothing was appended.",
                "Ask again.",
                kind="timeout",
                status=status,
                retry_after=wait,
            )
        if status >= 500:
            return self._error(
                f"has trouble of its own (HTTP {status}){said}. Nothing was appended.",
                f"Wait {wait:g} s, then ask again." if wait is not None else "Ask again later.",
                kind="broken" if began else "overloaded",
                status=status,
                retry_after=wait,
            )
        if _FILTERED.search(everything):
            return self._error(
                f"refused what was asked (HTTP {status}): its content filter stopped it{said}. Nothing was appended.",
                "Change what is asked; the same request will be stopped again.",
                kind="refused",
                status=status,
            )
        if status == 404:
            return self._error(
                f"was not found (HTTP 404) at {self._where(seen)}{said}. Nothing was appended.",
                "Look at the address: a base_url ends where the provider's own paths begin, often in /v1.",
                kind="refused",
                status=status,
            )
        if status == 413:
            return self._error(
                f"was sent more than the server, or a proxy before it, takes (HTTP 413){said}. Nothing was appended.",
                "Send less: smaller attachments, or a shorter history.",
                kind="refused",
                status=status,
            )
        if 300 <= status < 400:
            target = shown_url(seen.headers.get("location", "")) or "elsewhere"
            return self._error(
                f"sent the request on (HTTP {status}) from {self._where(seen)} to {target}, and a key is not carried "
                "to another address. Nothing was appended.",
                "Give that address as base_url, if it is the right one.",
                kind="refused",
                status=status,
            )
        return self._error(
            f"refused the request (HTTP {status}){said}. Nothing was appended.",
            "The same request will be refused again; change what these words name.",
            kind="refused",
            status=status,
        )

    def _not_reached(
        self, chain: tuple[BaseException, ...], seen: Exchange, *, began: bool
    ) -> ProviderError | None:
        names = {cls.__name__ for one in chain for cls in type(one).__mro__}
        phases = {getattr(one, "phase", None) for one in chain}
        if names & {
            "ConnectError",
            "ConnectTimeout",
            "EndpointConnectionError",
            "ConnectTimeoutError",
        } or phases & {
            "connect",
            "pool",
        }:
            return self._error(
                f"is not to be reached: {self._where(seen)} does not answer{quoted(self._reason(chain))}. Nothing "
                "was sent.",
                self._about_the_place(),
                kind="unreachable",
            )
        if names & {"TimeoutException", "ReadTimeoutError", "ModelTimeoutError", "ModelRequestTimeout"}:
            return self.slow(began=began)
        if names & {
            "ModelConnectionError",
            "TransportError",
            "HTTPClientError",
            "StreamError",
            "EventStreamError",
        }:
            return self._broken(self._reason(chain))
        return None

    def _reason(self, chain: tuple[BaseException, ...]) -> str:
        """What the system said, at the end of the chain: "Connection refused" says more than "Connection error"."""
        said = [str(one) for one in chain if str(one)]
        return self._cleaned(said[-1]) if said else ""

    def _broken(self, words: str) -> ProviderError:
        return self._error(
            f"broke off in the middle of its answer{quoted(words)}, which is not whole.",
            "Ask again.",
            kind="broken",
        )

    def _page(self, seen: Exchange) -> ProviderError:
        status = seen.status or 200
        return self._error(
            f"was asked at {self._where(seen)}, and an HTML page came back instead of JSON (HTTP {status})"
            f"{quoted(self._title(seen))}. Nothing was appended.",
            "A wrong path in base_url gives such a page (it often ends in /v1), and so does a proxy or a login "
            "in between.",
            kind="bad_answer" if status < 300 else "refused",
            status=status,
        )

    def _title(self, seen: Exchange) -> str:
        """What a page says of itself."""
        title = re.search(r"<title[^>]*>(.*?)</title>", seen.page or "", re.IGNORECASE | re.DOTALL)
        return self._cleaned(title.group(1)) if title else ""

    def _instead_of_an_answer(self, said: str, code: int | None, seen: Exchange) -> ExecutorError:
        """The error for one that came with HTTP 200."""
        words = self._cleaned(said)
        if says_overflow(words):
            return self._overflow(words, seen.status)
        if says_no_such_model(words):
            return self._unknown_model(words, seen.status or 200)
        kind = {429: "rate_limited", 408: "timeout", 401: "unauthorised", 403: "unauthorised"}.get(code or 0)
        if kind is None and code is not None:
            kind = "overloaded" if code >= 500 else "refused"
        return self._error(
            f"gave an error in place of an answer{quoted(words)}. Nothing was appended.",
            "Change what these words name, or ask again where they say that it passes.",
            kind=kind or "bad_answer",
            status=seen.status,
        )

    def _overflow(self, words: str, status: int | None) -> ContextOverflowError:
        limit = limit_in(words)
        size = f" of {limit} tokens" if limit else ""
        return ContextOverflowError(
            f"The request is longer than the context{size} of {self._model}{quoted(words)}. Nothing was appended. "
            "Compress the history first: await session.replace_history_with_tldr(kb.WholeHistory()), or take a model "
            "with a larger context.",
            limit=limit,
            kind="refused",
            model=str(self._model),
            status=status,
        )

    def _is_unknown_model(self, words: str, chain: tuple[BaseException, ...]) -> bool:
        if says_no_such_model(words):
            return True
        return names_model(words, self._model.id) and any(
            "NotFound" in cls.__name__ for one in chain for cls in type(one).__mro__
        )

    def _unknown_model(self, words: str, status: int) -> UnknownModelError:
        near = nearest_model(self._provider, self._model.id)
        hint = f"The nearest that is known is '{self._provider.name}:{near}'. " if near else ""
        if self._provider.name == "ollama":
            hint = f"Fetch it with: ollama pull {self._model.id}. "
        return UnknownModelError(
            f"{self._provider.name} has no model {self._model.id!r}, or this key may not use it (HTTP {status})"
            f"{quoted(words)}. Nothing was appended. {hint}".rstrip()
        )

    def _about_the_key(self) -> str:
        variable = variable_of(self._provider, self._key_variable)
        if variable is None:
            wanted = self._key_variable or next(iter(self._provider.keys), "")
            if wanted:
                return f"No key was sent; this server wants one in {wanted}."
            return "No key was sent; name its variable: kb.ProviderExecutor(key_variable='MY_SERVER_KEY')."
        return f"Look at the value of {variable}, and whether it may use this model."

    def _about_the_place(self) -> str:
        if self._provider.name == "ollama":
            return "Start it with: ollama serve. Another address goes into OLLAMA_BASE_URL or base_url=."
        if self._base_url:
            return "Look whether the server runs there, and at host and port of base_url."
        return "Look at the network: a proxy needs HTTPS_PROXY, and some networks let nothing out."

    def _where(self, seen: Exchange) -> str:
        return seen.url or shown_url(self._base_url or self._provider.default_url)

    def _words(self, problem: Exception) -> str:
        body = getattr(problem, "body", None)
        said = said_in(body) if body is not None else ""
        if not said:
            said = str(getattr(problem, "message", "") or problem) or type(problem).__name__
        return self._cleaned(said)

    def _cleaned(self, text: str) -> str:
        """In one line and without keys; cut only then, so that half a key does not stay."""
        plain = _ADVICE.sub("", " ".join(self._redactor.clean(text).split()))
        plain = _OPTION_OF_OTHERS.sub("Give its bytes with data=.", plain)
        return plain if len(plain) <= _WORDS else f"{plain[: _WORDS - 1]}…"

    def _error(self, what: str, todo: str, **fields: Any) -> ProviderError:
        return ProviderError(f"{self._model} {what} {todo}".rstrip(), model=str(self._model), **fields)
