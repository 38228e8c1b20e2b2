"""Reads stored conversations of Anthropic's wire as messages."""

from __future__ import annotations

from collections.abc import Iterator

from toolkeel.content import Block, File, Image, Text
from toolkeel.messages import Message, SystemMessage, UserMessage
from toolkeel.providers.anthropic.profile import WIRE
from toolkeel.providers.anthropic.stream import DECODING
from toolkeel.providers.wire.plain_json import as_dict, as_list, as_text
from toolkeel.providers.wire.stored_conversations import (
    StoredCalls,
    base64_block,
    body_of,
    content_of,
    from_wire,
    texts_of,
    unknown_block,
)
from toolkeel.providers.wire.tools import Tools


def decode_messages(body: object, *, tools: Tools = (), model: str = "") -> list[Message]:
    """A stored conversation of this wire as messages, to go on with over any.

    Args:
        body: A request's body, or its ``messages`` alone.
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model answered, if the body does not say it: reasoning that is signed goes
            back to that one alone. Unknown, it goes back to any model on this wire.

    >>> [message] = decode_messages([{"role": "user", "content": "几点?"}])
    >>> message
    UserMessage(content='几点?')
    """
    request = body_of(body, "messages")
    named = model or as_text(request.get("model"))
    messages: list[Message] = [
        SystemMessage(text) for text in texts_of(request.get("system")) if text
    ]
    calls = StoredCalls()
    for wire in map(as_dict, as_list(request.get("messages"))):
        match wire.get("role"):
            case "assistant":
                answer = {
                    "type": "message",
                    "stop_reason": "end_turn",
                    "content": wire.get("content"),
                }
                reply = from_wire(DECODING.decode(answer, tools=tools), WIRE, named)
                calls.add(reply)
                messages.append(reply)
            case "system":
                messages += [SystemMessage(text) for text in texts_of(wire.get("content"))]
            case _:
                messages += _said(wire.get("content"), calls)
    return messages


def _said(content: object, calls: StoredCalls) -> Iterator[Message]:
    """The results in a message of the person's, and what else it says."""
    if isinstance(content, str):
        yield UserMessage(content)
        return
    blocks = [as_dict(block) for block in as_list(content)]
    for block in blocks:
        if block.get("type") == "tool_result":
            said = block.get("content")
            inside = said if isinstance(said, str) else content_of(map(_block, as_list(said)))
            id = as_text(block.get("tool_use_id"))
            yield calls.answer(inside, id, failed=block.get("is_error") is True)
    rest = [block for block in blocks if block.get("type") != "tool_result"]
    if rest:
        yield UserMessage(content_of(map(_block, rest)))


def _block(value: object) -> Block:
    block = {key: one for key, one in as_dict(value).items() if key != "cache_control"}
    source = as_dict(block.get("source"))
    url, kind = as_text(source.get("url")), source.get("type")
    match block.get("type"), kind:
        case "text", _:
            return Text(as_text(block.get("text")))
        case "image", "base64":
            return base64_block(source.get("data"), source.get("media_type"))
        case "image", "url":
            return Image(url=url)
        case "document", "base64":
            name = as_text(block.get("title")) or "file"
            return base64_block(source.get("data"), source.get("media_type"), name)
        case "document", "url":
            name = as_text(block.get("title")) or "file"
            return File(url=url, name=name, media_type="application/pdf")
    return unknown_block(WIRE, block)
