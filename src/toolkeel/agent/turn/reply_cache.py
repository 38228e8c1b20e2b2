"""A cache of replies: the same request is answered as it was before (a model step)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import fields, replace

from toolkeel._common.checked_arguments import checked
from toolkeel.agent.turn.steps import Ask
from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage, Message, Usage
from toolkeel.model_interface import ModelRequest


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
        self, request: ModelRequest, run: RunContext, proceed: Ask
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
