"""Sends a request with tools as one without: tools in the prompt, the reply held to a schema."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.providers.constrained.prompt import write_tools_as_text
from toolkeel.providers.constrained.reply_reader import ConstrainedReply, read_constrained
from toolkeel.providers.constrained.reply_schema import reply_schema
from toolkeel.providers.wire.retry import Deltas


def constrain(request: ModelRequest, model: str) -> ModelRequest:
    """Return a request whose tools are in its messages and whose reply is held to a schema.

    Args:
        request: Messages, tools and settings.
        model: Name of the model.
    """
    form = {"name": "reply", "schema": reply_schema(request), "strict": True}
    settings = replace(
        request.settings,
        tool_choice=None,
        parallel_tool_calls=None,
        strict=None,
        output=None,
        extra_body={
            "response_format": {"type": "json_schema", "json_schema": form},
            **request.settings.extra_body,
        },
    )
    messages = write_tools_as_text(request, model)
    return replace(request, messages=messages, tools=(), settings=settings)


async def send_constrained(
    request: ModelRequest, model: str, send: Callable[[ModelRequest], AsyncGenerator[Deltas]]
) -> AsyncGenerator[Deltas]:
    """Yield the reply to a constrained request, with its call or its answer.

    Args:
        request: Messages, tools and settings.
        model: Name of the model.
        send: Sends a request and yields the reply in parts.
    """
    output = request.settings.output
    reader = ConstrainedReply(request.tools, output)
    async with aclosing(send(constrain(request, model))) as parts:
        async for deltas in parts:
            read: list[Delta | AssistantMessage] = []
            for delta in deltas:
                if isinstance(delta, AssistantMessage):
                    read.append(read_constrained(delta, request.tools, output))
                else:
                    read += reader.feed(delta)
            yield read
