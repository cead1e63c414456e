"""Asking another model: when, which, and what is said of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from around_world import Broken, Named, asked, busy, frames, in_a_run, refused, told, whole

import koogbook as kb
from koogbook.errors import (
    ContextOverflowError,
    ExecutorClosedError,
    MissingKeyError,
    ProviderError,
    ScriptExhaustedError,
    ToolPairingError,
    UnknownModelError,
)
from koogbook.events import LLMCallFellBack
from koogbook.llm.fallback import FallbackExecutor
from koogbook.llm.retrying import RetryingExecutor
from koogbook.messages.model import LLMParams


def _models(executor: Named) -> list[str]:
    return [str(request.model) for request in executor.requests]


# ------------------------------------------------------------------------------------------- when


@pytest.mark.parametrize(
    "error",
    [busy(), refused(), ProviderError("key", kind="unauthorised"), ContextOverflowError("long")],
    ids=lambda error: f"{type(error).__name__} {error.kind}",
)
async def test_what_a_provider_refuses_goes_to_the_next_model(error: ProviderError) -> None:
    """Whether it may pass or not, and a history that is too long as well [EXE-04]."""
    inner = Named([error, "here"])
    reply = await FallbackExecutor(inner, ["b:c"]).execute(asked())

    assert (reply.text, _models(inner)) == ("here", ["openai:a", "b:c"])


@pytest.mark.parametrize(
    "error",
    [
        UnknownModelError("typo"),
        MissingKeyError("none"),
        ToolPairingError("pair"),
        ScriptExhaustedError("end"),
        ConnectionError("down"),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_another_model_does_not_mend_is_raised(error: BaseException) -> None:
    """A misspelt name or a missing key would hide behind the second choice for ever [EXE-04]."""
    inner = Named([error, "here"])
    with pytest.raises(type(error)) as caught:
        await FallbackExecutor(inner, ["b:c"]).execute(asked())

    assert (caught.value is error, len(inner.requests)) == (True, 1)


async def test_the_model_of_the_request_comes_first() -> None:
    """Where it answers nobody else is asked [EXE-04]."""
    inner = Named(["here"])
    await FallbackExecutor(inner, ["b:c"]).execute(asked())

    assert _models(inner) == ["openai:a"]


async def test_all_but_the_model_stays_as_it_was_asked() -> None:
    """Messages, tools, schema, parameters, purpose [EXE-04]."""
    inner = Named([busy(), "here"])
    request = asked(purpose="extraction", schema="{}", params=LLMParams(temperature=0.5))
    await FallbackExecutor(inner, ["b:c"]).execute(request)
    first, second = inner.requests

    assert first == request
    assert [name for name in request.__struct_fields__ if getattr(first, name) != getattr(second, name)] == [
        "model"
    ]


async def test_a_model_is_asked_once_though_it_is_named_twice() -> None:
    """The one of the request may be among those to fall back to [EXE-04]."""
    inner = Named(lambda request: busy())
    with pytest.raises(ProviderError):
        await FallbackExecutor(inner, ["openai:a", "b:c", "b:c"]).execute(asked())

    assert _models(inner) == ["openai:a", "b:c"]


async def test_another_executor_may_have_its_own_model() -> None:
    """As a pair [EXE-04]."""
    inner, other = Named([busy(), busy()]), Named(["local"])
    reply = await FallbackExecutor(inner, ["b:c", (other, "ollama:q")]).execute(asked())

    assert (reply.text, _models(inner), _models(other)) == ("local", ["openai:a", "b:c"], ["ollama:q"])


async def test_the_same_model_of_two_executors_is_two() -> None:
    """Another server may have it, too [EXE-04]."""
    inner, other = Named([busy()]), Named(["there"])

    assert (await FallbackExecutor(inner, [(other, "openai:a")]).execute(asked())).text == "there"


# ------------------------------------------------------------------------------------------- who answered


async def test_an_answer_says_which_model_gave_it() -> None:
    """The one that was asked for, or for which another one stood in [EXE-04]."""
    inner = Named([kb.assistant("a"), busy(), kb.assistant("b", metadata={"note": 1})])
    executor = FallbackExecutor(inner, ["b:c"])
    first, second = await executor.execute(asked()), await executor.execute(asked())

    assert first.metadata == {"answered_by": "openai:a"}
    assert second.metadata == {"answered_by": "b:c", "instead_of": "openai:a", "note": 1}


async def test_an_answer_without_a_model_keeps_saying_so() -> None:
    """And says for whom it stood in [EXE-04]."""
    executor = FallbackExecutor(Named([busy()]), [(kb.OfflineExecutor(), "offline")])

    assert (await executor.execute(asked())).metadata == {
        "answered_by": "OfflineExecutor",
        "model": False,
        "instead_of": "openai:a",
    }


async def test_a_chain_in_a_chain_says_who_answered_in_the_end() -> None:
    """Not who stood around [EXE-04]."""
    inner = Named([busy(), kb.assistant("here")])
    reply = await FallbackExecutor(FallbackExecutor(inner, ["b:c"]), ["d:e"]).execute(asked())

    assert reply.metadata == {"answered_by": "b:c", "instead_of": "openai:a"}


async def test_each_step_is_an_event_of_its_request() -> None:
    """From which model, to which one, and why [AGT-03]."""
    calls = in_a_run(FallbackExecutor(Named([busy(), refused(), "here"]), ["b:c", "d:e"]))
    await calls.execute(asked())

    assert [(one.call, one.model, one.to, one.error) for one in told(calls, LLMCallFellBack)] == [
        (1, "openai:a", "b:c", "ProviderError: The provider is busy."),
        (1, "b:c", "d:e", "ProviderError: The provider refused."),
    ]


# ------------------------------------------------------------------------------------------- nobody answered


async def test_an_error_for_all_lists_each() -> None:
    """With what was noted on it [EXE-04]."""
    first = busy()
    first.add_note("Asked 4 times.")
    calls = in_a_run(FallbackExecutor(Named([first, refused()]), ["b:c"]))
    with pytest.raises(ProviderError) as caught:
        await calls.execute(asked())

    assert str(caught.value) == (
        "None of 2 models answered, and nothing was appended. "
        "(1) openai:a: ProviderError: The provider is busy. (Asked 4 times.) "
        "(2) b:c: ProviderError: The provider refused."
    )
    assert len(told(calls, LLMCallFellBack)) == 1


async def test_where_there_was_one_its_error_is_raised() -> None:
    """Nothing is to be listed [EXE-04]."""
    error = refused()
    with pytest.raises(ProviderError) as caught:
        await FallbackExecutor(Named([error]), ["openai:a"]).execute(asked())

    assert caught.value is error


@pytest.mark.parametrize(
    ("errors", "may_pass", "retry_after"),
    [
        ([refused(), busy(5.0)], True, 5.0),
        ([busy(5.0), busy(2.0)], True, 2.0),
        ([busy(5.0), busy()], True, None),
        ([refused(), refused()], False, None),
        ([ContextOverflowError("long"), busy(3.0)], True, 3.0),
    ],
    ids=["one may pass", "the soonest", "any time", "none", "one too long"],
)
async def test_an_error_for_all_may_pass_if_one_of_them_may(
    errors: list[ProviderError], may_pass: bool, retry_after: float | None
) -> None:
    """So that asking all of them again is tried when it may help, and not before [EXE-04]."""
    with pytest.raises(ProviderError) as caught:
        await FallbackExecutor(Named(list(errors)), ["b:c"]).execute(asked())

    assert (caught.value.may_pass, caught.value.retry_after) == (may_pass, retry_after)
    assert not isinstance(caught.value, ContextOverflowError)


@pytest.mark.parametrize("others", [[], [refused()]], ids=["all too long", "one refused"])
async def test_where_a_shorter_history_would_help_the_error_says_so(others: list[ProviderError]) -> None:
    """With the longest context of those that were too short [EXE-04]."""
    errors = [ContextOverflowError("long", limit=1000), ContextOverflowError("long", limit=4000), *others]
    models = ["b:c", "d:e"][: len(errors) - 1]
    with pytest.raises(ContextOverflowError) as caught:
        await FallbackExecutor(Named(list(errors)), models).execute(asked())

    assert (caught.value.limit, caught.value.may_pass) == (4000, False)


# ------------------------------------------------------------------------------------------- streams


async def test_a_stream_goes_to_the_next_model_before_its_first_frame() -> None:
    """And its last frame says who answered [EXE-05]."""
    inner = Named([busy(), kb.assistant("two words")])
    read = await frames(FallbackExecutor(inner, ["b:c"]), asked())

    assert whole(read).metadata == {"answered_by": "b:c", "instead_of": "openai:a"}
    assert _models(inner) == ["openai:a", "b:c"]


async def test_a_stream_that_breaks_off_stays_broken() -> None:
    """Two answers would be mixed [EXE-05]."""
    inner = Broken(1, busy())
    with pytest.raises(ProviderError, match="busy"):
        await frames(FallbackExecutor(inner, ["b:c"]), asked())

    assert (len(inner.requests), inner.left) == (1, 1)


async def test_a_stream_that_nobody_begins_lists_each() -> None:
    """As without frames [EXE-05]."""
    inner = Broken(0, busy())
    with pytest.raises(ProviderError, match=r"None of 2 models answered.*\(2\) b:c"):
        await frames(FallbackExecutor(inner, ["b:c"]), asked())

    assert inner.left == 2


# ------------------------------------------------------------------------------------------- made and closed


@pytest.mark.parametrize("models", [[], "openai:b", ()], ids=str)
def test_without_a_list_of_models_there_is_nothing_to_fall_back_to(models: Any) -> None:
    """A single name is no list [EXE-04]."""
    with pytest.raises(ValueError, match="a list with at least one"):
        FallbackExecutor(Named([]), models)


def test_a_model_that_is_unknown_is_found_when_it_is_named() -> None:
    """Not on the day when it is needed [EXE-04]."""
    with pytest.raises(UnknownModelError):
        FallbackExecutor(kb.OfflineExecutor(), [(Named([]), "b:unknown")])
    with pytest.raises(UnknownModelError):
        FallbackExecutor(Named([]), ["b:unknown"])


def test_a_pair_begins_with_an_executor() -> None:
    """The other way round it is refused [EXE-04]."""
    with pytest.raises(TypeError, match="FallbackExecutor stands around an executor"):
        FallbackExecutor(Named([]), [("b:c", Named([]))])  # type: ignore[list-item]


async def test_closing_it_closes_all_of_them() -> None:
    """And it answers no more [EXE-03a]."""
    inner, other = Named(["x"]), Named(["x"])
    async with FallbackExecutor(RetryingExecutor(inner), [(other, "b:c"), (other, "d:e")]) as executor:
        pass

    assert (inner.is_closed, other.is_closed) == (True, True)
    with pytest.raises(ExecutorClosedError, match="FallbackExecutor was closed"):
        await executor.execute(asked())
    with pytest.raises(ExecutorClosedError):
        await frames(executor, asked())
