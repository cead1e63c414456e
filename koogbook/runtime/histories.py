"""A history that is put in the place of another one, where nobody else has changed that one meanwhile."""

from __future__ import annotations

from koogbook.errors import MergeConflictError
from koogbook.llm.write_session import LLMWriteSession
from koogbook.messages.model import LLMParams
from koogbook.messages.prompt import Prompt


def is_same_history(one: Prompt, other: Prompt) -> bool:
    """Whether two prompts have equal messages; parameters do not count."""
    return one is other or (
        len(one) == len(other) and (one.is_extension_of(other) or one.messages == other.messages)
    )


def counted(messages: int) -> str:
    """So many messages, in words."""
    return "1 message" if messages == 1 else f"{messages} messages"


def with_params(prompt: Prompt, params: LLMParams | None) -> Prompt:
    """The prompt with these parameters, all of them; None leaves those that it has."""
    if params is None or params == prompt.params:
        return prompt
    return prompt.with_params(**{name: getattr(params, name) for name in params.__struct_fields__})


def replace_history(
    session: LLMWriteSession,
    began: Prompt,
    new: Prompt,
    *,
    who: str,
    otherwise: str,
    branches: tuple[str, ...] = (),
) -> None:
    """Make the history of a session the one that came of ``began``; the session keeps its parameters.

    The error begins with ``who`` made the new one, and ends with ``otherwise``: what became of it, and the remedy.

    Raises:
        MergeConflictError: Somebody has changed the history since; nothing was changed.
    """
    now = session.prompt
    if not is_same_history(began, now):
        raise MergeConflictError(
            f"{who} began with the history around it ({counted(len(began))}), and somebody else has changed that since "
            f"({counted(len(now))} now): both histories cannot hold. {otherwise}",
            branches=branches,
        )
    session.prompt = with_params(new, now.params)
