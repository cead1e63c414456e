"""An executor that counts, for tests and first steps: no key, no network, no model."""

from __future__ import annotations

from koogbook.errors import ExecutorError
from koogbook.llm.executor import LocalExecutor
from koogbook.llm.request import Request
from koogbook.messages.message import Message, assistant


class OfflineExecutor(LocalExecutor):
    """Answers with the number of user messages and keeps every prompt that it was sent.

    ``prompts`` holds the messages of each request, also of those that then failed. With ``fail=True`` the next
    requests raise. Messages with a reserved name (summaries, reference material) are not counted.
    """

    def __init__(self, *, fail: bool = False) -> None:
        super().__init__()
        self.fail = fail
        self.prompts: list[tuple[Message, ...]] = []

    async def answer(self, request: Request) -> Message:
        """See the class."""
        self.prompts.append(request.messages)
        if self.fail:
            raise ExecutorError("OfflineExecutor was told to fail (fail=True). The history is as it was.")
        count = sum(message.is_from_user for message in request.messages)
        return assistant(
            f"user messages: {count}", metadata={"answered_by": "OfflineExecutor", "model": False}
        )
