"""Reads stored conversations of Bedrock's Converse wire as messages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolkeel.content import Block, File, Text
from toolkeel.messages import Message, SystemMessage, UserMessage
from toolkeel.providers.bedrock.profile import WIRE, media_type_of, packed, unpacked
from toolkeel.providers.bedrock.stream import DECODING
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, decoded_base64
from toolkeel.providers.wire.stored_conversations import (
    StoredCalls,
    body_of,
    content_of,
    data_block,
    from_wire,
    media_block,
    texts_of,
    unknown_block,
)
from toolkeel.providers.wire.tools import Tools

_INTRO = re.compile(r"Document '(.*)' is the file '(.*)':", re.DOTALL)


def decode_messages(body: object, *, tools: Tools = (), model: str = "") -> list[Message]:
    """A stored conversation of this wire as messages, to go on with over any.

    Args:
        body: The keyword arguments of a request, or its ``messages`` alone; bytes as bytes, or as
            base64 text.
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model answered, if the body does not say it: reasoning that is signed goes
            back to that one alone. Unknown, it goes back to any model on this wire.

    >>> [message] = decode_messages([{"role": "user", "content": [{"text": "几点?"}]}])
    >>> message
    UserMessage(content='几点?')
    """
    request = body_of(body, "messages")
    named = model or as_text(request.get("modelId"))
    messages: list[Message] = [
        SystemMessage(text) for text in texts_of(request.get("system")) if text
    ]
    calls = StoredCalls()
    for wire in map(as_dict, as_list(request.get("messages"))):
        blocks = [as_dict(block) for block in as_list(wire.get("content"))]
        blocks = [block for block in blocks if "cachePoint" not in block]
        if wire.get("role") == "assistant":
            answer = {"output": {"message": {"role": "assistant", "content": blocks}}}
            said = DECODING.decode({**answer, "stopReason": "end_turn"}, tools=tools)
            reply = from_wire(said, WIRE, named)
            calls.add(reply)
            messages.append(reply)
        else:
            messages += _said(blocks, calls)
    return messages


def _said(blocks: list[Json], calls: StoredCalls) -> Iterator[Message]:
    """The results in a message of the person's, and what else it says."""
    for block in blocks:
        if "toolResult" in block:
            result = as_dict(block["toolResult"])
            inside = content_of(_blocks([as_dict(one) for one in as_list(result.get("content"))]))
            failed = result.get("status") == "error"
            yield calls.answer(inside, as_text(result.get("toolUseId")), failed=failed)
    rest = [block for block in blocks if "toolResult" not in block]
    if rest:
        yield UserMessage(content_of(_blocks(rest)))


def _blocks(blocks: list[Json]) -> Iterator[Block]:
    """Our blocks; the text that introduces a document is part of it."""
    for index, block in enumerate(blocks):
        follows = as_dict(blocks[index + 1].get("document")) if index + 1 < len(blocks) else {}
        before = _INTRO.fullmatch(as_text(blocks[index - 1].get("text"))) if index else None
        intro = _INTRO.fullmatch(as_text(block.get("text")))
        if follows and intro is not None and intro[1] == follows.get("name"):
            continue
        label = as_text(as_dict(block.get("document")).get("name"))
        yield _block(block, before[2] if before is not None and before[1] == label else "")


def _block(block: Json, name: str) -> Block:
    if isinstance(block.get("text"), str):
        return Text(as_text(block["text"]))
    if "json" in block:
        return data_block(block["json"])
    for kind, told in block.items():
        media = as_dict(told)
        source = as_dict(unpacked(media.get("source")))
        media_type = media_type_of(kind, as_text(media.get("format")))
        url = as_text(as_dict(source.get("s3Location")).get("uri"))
        given = source.get("bytes")
        data = given if isinstance(given, bytes) else decoded_base64(as_text(given))
        if media_type and (data or url):
            label = as_text(media.get("name"))
            if kind == "document" and not name:
                return File(data, label, media_type, url, {WIRE: {"label": label}})
            return media_block(data, media_type, url, name or "file")
    return unknown_block(WIRE, as_dict(packed(block)))
