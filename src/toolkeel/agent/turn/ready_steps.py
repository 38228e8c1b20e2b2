"""Ready steps around a model request: fallback to other models, a cache of replies, redaction."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from toolkeel._common.checked_arguments import checked
from toolkeel.agent.turn.steps import Ask
from toolkeel.content import Text
from toolkeel.context import RunContext
from toolkeel.errors import ModelError, OutputError, RequestTooLarge, SetupError
from toolkeel.messages import AssistantMessage, Message, Usage
from toolkeel.model import Model, ModelRequest, connected


def passes_on(error: ModelError) -> bool:
    """Whether another model may do better: this one is busy, down, gone or too small.

    A wrong key or a malformed request would fail alike, and the cause would be hidden.
    """
    return error.retryable or error.status == 404 or isinstance(error, RequestTooLarge)


class Fallback:
    """A `ModelStep`: other models answer when the agent's fails.

    The one that answered is asked first from then on in the same run. Nobody else is asked once a
    part of a reply was told to listeners: they would read two answers.

    Args:
        models: Who is asked, in order; names or models.
        when: Whether an error is a reason; see `passes_on`.

    Raises:
        SetupError: for no model, or a name nobody knows.
    """

    def __init__(
        self, *models: str | Model, when: Callable[[ModelError], bool] = passes_on
    ) -> None:
        if not models:
            raise SetupError("Fallback() names no model; give the models to fall back to")
        self.models = tuple(connected(each) if isinstance(each, str) else each for each in models)
        self._when = when

    async def __call__(
        self, request: ModelRequest, run: RunContext[Any], proceed: Ask
    ) -> AssistantMessage:
        tried = (request.model, *self.models)
        first = run.notes.get(self, 0)
        assert isinstance(first, int)
        for place in range(first, len(tried)):
            try:
                reply = await proceed(replace(request, model=tried[place]))
            except ModelError as error:
                last = place + 1 == len(tried)
                if last or error.told or isinstance(error, OutputError) or not self._when(error):
                    raise
            else:
                run.notes[self] = place
                return reply
        raise AssertionError("the last model has answered or failed")


@checked
class ReplyCache:
    """A `ModelStep`: the same request, in whatever run, is answered as it was before; costs nothing.

    For tests, evaluations and questions whose answer does not depend on when they are asked. Kept in
    memory; a reply that did not end well is not kept.

    Args:
        size: How many replies are kept; the one longest unused goes.
    """

    def __init__(self, size: int = 1000) -> None:
        self._size = size
        self._replies: OrderedDict[str, AssistantMessage] = OrderedDict()

    async def __call__(
        self, request: ModelRequest, run: RunContext[Any], proceed: Ask
    ) -> AssistantMessage:
        tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
        name = request.model.name if request.model is not None else ""
        key = repr((name, list(map(_told, request.messages)), tools, request.settings))
        reply = self._replies.get(key)
        if reply is None:
            reply = await proceed(request)
            if reply.finish_reason in ("stop", "tool_calls"):
                self._replies[key] = replace(reply, usage=Usage())
        else:
            self._replies.move_to_end(key)
        while len(self._replies) > self._size:
            self._replies.popitem(last=False)
        return reply


def _told(message: Message) -> list[object]:
    """What a model is told of a message: not how long a call took, nor what only programs see."""
    hidden = ("duration", "artifact", "details", "usage", "provider_options")
    return [
        type(message).__name__,
        *(getattr(message, f.name) for f in fields(message) if f.name not in hidden),
    ]


@checked
class Redact:
    """A `ModelStep`: what matches is replaced in what the model is sent, and stays in the transcript.

    It looks at texts of messages, those of results included; not at arguments of calls, which the
    model made itself, nor into pictures and files.

    Args:
        patterns: Regular expressions.
        by: What stands in their place.
    """

    def __init__(self, *patterns: str, by: str = "[redacted]") -> None:
        self._pattern = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
        self._by = by

    async def __call__(
        self, request: ModelRequest, run: RunContext[Any], proceed: Ask
    ) -> AssistantMessage:
        return await proceed(replace(request, messages=self._all(request.messages)))

    def _all(self, messages: Sequence[Message]) -> list[Message]:
        return [replace(message, content=self._one(message.content)) for message in messages]

    def _one(self, content: Any) -> Any:
        if isinstance(content, str):
            return self._pattern.sub(self._by, content)
        return tuple(
            replace(block, text=self._pattern.sub(self._by, block.text))
            if isinstance(block, Text)
            else block
            for block in content
        )
