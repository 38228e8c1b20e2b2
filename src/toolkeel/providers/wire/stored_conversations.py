"""Stored conversations of every wire as messages: what `decode_messages` of the wires shares.

A reply is read by the wire's own decoder, so that signed reasoning, hosted items and the order of
parts are kept with it, and go back over the same wire as they were; to other wires goes what they
can say. What only one wire knows of a block of the person's is kept in the block's ``extra``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toolkeel._records.data_urls import inline
from toolkeel.content import Audio, Block, Content, Data, File, Image, Text
from toolkeel.messages import AssistantMessage, Status, ToolCall, ToolMessage
from toolkeel.providers.wire.ownership import ASKED
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    decoded_base64,
    dumps,
)


class StoredCalls:
    """The calls of a stored conversation, and which of them a result answers."""

    def __init__(self) -> None:
        self._open: list[tuple[ToolCall, str]] = []
        self._names: dict[str, str] = {}

    def add(self, reply: AssistantMessage, ids: Iterable[str] = ()) -> None:
        """Take the calls of a reply, with the ids that they had on the wire, if any."""
        given = [*ids]
        self._open = [
            (call, given[index] if index < len(given) else call.id)
            for index, call in enumerate(reply.tool_calls)
        ]
        self._names |= {call.id: call.name for call in reply.tool_calls}

    def answer(
        self, content: Content, id: str, *, name: str = "", failed: bool = False
    ) -> ToolMessage:
        """The result with that content.

        Args:
            content: What it says.
            id: Of its call, as the wire has it; empty if it has none.
            name: Of its call's tool, if the wire says it.
            failed: Whether the tool failed.
        """
        status: Status = "error" if failed else "success"
        for index, (call, wire_id) in enumerate(self._open):
            if (wire_id == id) if id else (name in ("", call.name)):
                del self._open[index]
                return ToolMessage(content, call.id, call.name, status)
        return ToolMessage(content, id, name or self._names.get(id, ""), status)


def from_wire(reply: AssistantMessage, wire: str, model: str) -> AssistantMessage:
    """A reply with where it came from, so that what is signed goes to no other wire.

    Args:
        reply: As the wire's decoder gives it.
        wire: Which wire that is.
        model: The model's name, if it is known.
    """
    name = model or reply.model
    thoughts = tuple(replace(one, model=one.model or name) for one in reply.reasoning)
    note = {ASKED: {"wire": wire, "model": name, "endpoint": ""}}
    options = {**reply.provider_options, **note}
    return replace(reply, model=name, reasoning=thoughts, provider_options=options)


def content_of(blocks: Iterable[Block]) -> Content:
    """Blocks as content: one plain text is text."""
    made = tuple(blocks)
    if len(made) == 1 and isinstance(made[0], Text) and not made[0].extra:
        return made[0].text
    return made


def unknown_block(wire: str, block: Json) -> Text:
    """A block that only its wire knows: it goes back there, and others are told of it."""
    kind = as_text(block.get("type")) or next(iter(block), "block")
    return Text(f"[{kind}, which only {wire} knows]", {wire: block})


def kept_block(wire: str, block: Block) -> Json:
    """The wire's own block that `unknown_block` kept; empty if there is none."""
    return as_dict(block.extra.get(wire)) if isinstance(block, Text) and block.extra else {}


def data_block(value: object) -> Data:
    """A JSON value as a block."""
    return Data(value, dumps(value))


def media_block(data: bytes, media_type: str, url: str = "", name: str = "file") -> Block:
    """A picture, a sound or a file, by its media type."""
    kind = media_type.partition("/")[0]
    if kind == "image":
        return inline(Image(data, media_type, url))
    if kind == "audio" and data:
        return Audio(data, media_type)
    return inline(File(data, name, media_type, url))


def base64_block(text: object, media_type: object, name: str = "file") -> Block:
    """A picture, a sound or a file whose bytes stand there as base64."""
    kind = as_text(media_type) or "application/octet-stream"
    return media_block(decoded_base64(as_text(text)), kind, "", name)


def body_of(body: object, key: str) -> Json:
    """A stored request, or its messages alone, as a request."""
    return {key: body} if isinstance(body, list) else as_dict(body)


def texts_of(value: object) -> list[str]:
    """The texts of instructions, which are a text or a list of blocks of text."""
    if isinstance(value, str):
        return [value]
    return [as_text(as_dict(one).get("text")) for one in as_list(value)]
