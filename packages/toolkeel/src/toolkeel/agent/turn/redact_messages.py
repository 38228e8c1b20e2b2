"""Redaction: text that is removed from the messages sent to a model (a model step)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolkeel._common.checked_arguments import checked
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.content import Text
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message
from toolkeel.model_interface import ModelRequest


@checked
class Redact:
    """A `ModelStep` that replaces matches in requests. The transcript keeps the original.

    It changes texts of messages, those of results included; not arguments of calls, which the model
    wrote itself, nor pictures and files.

    Args:
        patterns: Regular expressions, at least one.
        replacement: Text in place of each match.

    Raises:
        SetupError: there is no pattern, or one is no regular expression.
    """

    def __init__(self, *patterns: str, replacement: str = "[redacted]") -> None:
        if not patterns:
            raise SetupError("Redact() replaces nothing: give it a regular expression")
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise SetupError(f"Redact: {pattern!r} is no regular expression: {error}") from None
        self._pattern = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
        self._by = replacement

    async def __call__(
        self, request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        return await proceed(replace(request, messages=self._redact_messages(request.messages)))

    def _redact_messages(self, messages: Sequence[Message]) -> list[Message]:
        """Return copies of the messages with each match replaced."""
        return [
            replace(message, content=self._redact_content(message.content)) for message in messages
        ]

    def _redact_content(self, content: Any) -> Any:
        """Return text, or the text blocks of content, with each match replaced; leave other blocks as they are."""
        if isinstance(content, str):
            return self._pattern.sub(self._by, content)
        return tuple(
            replace(block, text=self._pattern.sub(self._by, block.text))
            if isinstance(block, Text)
            else block
            for block in content
        )
