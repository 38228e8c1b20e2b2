"""Reads stored conversations of Gemini's wire as messages."""

from __future__ import annotations

from collections.abc import Iterator

from toolkeel.content import Block, Content, Text
from toolkeel.messages import Message, SystemMessage, UserMessage
from toolkeel.providers.gemini.profile import WIRE
from toolkeel.providers.gemini.stream import DECODING
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text
from toolkeel.providers.wire.stored_conversations import (
    StoredCalls,
    base64_block,
    body_of,
    content_of,
    data_block,
    from_wire,
    media_block,
    texts_of,
    unknown_block,
)
from toolkeel.providers.wire.tools import Tools


def decode_messages(body: object, *, tools: Tools = (), model: str = "") -> list[Message]:
    """A stored conversation of this wire as messages, to go on with over any.

    Args:
        body: A request's body, or its ``contents`` alone.
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model answered, since the body does not say it: what is signed goes back to
            that one alone. Unknown, it goes back to any model on this wire.

    >>> [message] = decode_messages([{"role": "user", "parts": [{"text": "几点?"}]}])
    >>> message
    UserMessage(content='几点?')
    """
    request = body_of(body, "contents")
    system = request.get("systemInstruction") or request.get("system_instruction")
    told = system if isinstance(system, str) else as_dict(system).get("parts")
    messages: list[Message] = [SystemMessage(text) for text in texts_of(told) if text]
    calls = StoredCalls()
    for content in map(as_dict, as_list(request.get("contents"))):
        parts = [as_dict(part) for part in as_list(content.get("parts"))]
        if content.get("role") == "model":
            candidate = {"content": {"parts": parts}, "finishReason": "STOP"}
            said = DECODING.decode({"candidates": [candidate]}, tools=tools)
            reply = from_wire(said, WIRE, model)
            called = [as_dict(part["functionCall"]) for part in parts if "functionCall" in part]
            calls.add(reply, [as_text(one.get("id")) for one in called])
            messages.append(reply)
        else:
            messages += _said(parts, calls)
    return messages


def _said(parts: list[Json], calls: StoredCalls) -> Iterator[Message]:
    """The results in a content of the person's, and what else it says."""
    for part in parts:
        if "functionResponse" in part:
            told = as_dict(part["functionResponse"])
            id, name = as_text(told.get("id")), as_text(told.get("name"))
            response = as_dict(told.get("response"))
            failed = response.keys() == {"error"}
            inside = _result(response, as_list(told.get("parts")))
            yield calls.answer(inside, id, name=name, failed=failed)
    rest = [part for part in parts if "functionResponse" not in part]
    if rest:
        yield UserMessage(content_of(map(_part, rest)))


def _result(response: Json, media: list[object]) -> Content:
    value: object = response
    if len(response) == 1 and response.keys() <= {"output", "error"}:
        [value] = response.values()
    said: Block = Text(value) if isinstance(value, str) else data_block(value)
    return content_of([said, *(_part(as_dict(one)) for one in media)])


def _part(part: Json) -> Block:
    data, file = as_dict(part.get("inlineData")), as_dict(part.get("fileData"))
    if isinstance(part.get("text"), str):
        return Text(as_text(part["text"]))
    if data:
        return base64_block(data.get("data"), data.get("mimeType"))
    if file:
        media_type = as_text(file.get("mimeType")) or "application/octet-stream"
        return media_block(b"", media_type, as_text(file.get("fileUri")))
    return unknown_block(WIRE, part)
