"""When two prompts are one history."""

from __future__ import annotations

import koogbook as kb
from koogbook.runtime.histories import is_same_history


def test_a_prompt_with_more_messages_is_another_history() -> None:
    """Though one of both begins with the other [GRA-06]."""
    prompt = kb.Prompt([kb.user("a")])
    longer = prompt.append(kb.user("b"))

    assert not is_same_history(prompt, longer)
    assert not is_same_history(longer, prompt)


def test_equal_messages_under_other_parameters_are_the_same_history() -> None:
    """Also where they were put together anew [GRA-06]."""
    prompt = kb.Prompt([kb.user("a")])

    assert is_same_history(prompt, kb.Prompt(prompt.messages).with_params(temperature=1))
