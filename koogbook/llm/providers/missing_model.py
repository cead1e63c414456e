"""How providers say that they have no such model."""

from __future__ import annotations

import re

_SAID = re.compile(
    r"model_not_found|unknown model|not a valid model|no such model|model identifier is invalid"
    r"|invalid model(?::| id\b| name\b| identifier\b| ['\"`])"
    # "models/x is not found", "the model `x` does not exist", "Model Not Exist": the name alone stands in between.
    r"|\bmodels?[ /:]{1,2}(?:['\"`]?[\w./:@-]+['\"`]? )?(?:is |was )?(?:not found|does not exist|not exist)"
    r"|\bmodels?[ /:]{1,2}['\"`]?[\w./:@-]+['\"`]? is not supported(?! (?:for|with|by|in|when)\b)"
    r"|^\s*model: \S+(?: \(not_found_error\))?\s*$",
    re.IGNORECASE,
)


def says_no_such_model(text: str) -> bool:
    """Whether a provider's words mean that it has no model of that name, and not that the model lacks something."""
    return _SAID.search(text) is not None


def names_model(text: str, name: str) -> bool:
    """Whether the name of a model stands in the words, as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE) is not None
