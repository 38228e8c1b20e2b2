"""Reads stored conversations of Gemini's wire as messages."""

from __future__ import annotations

from toolkeel.content import Block, Content, Text
from toolkeel.messages import ToolMessage
from toolkeel.providers.gemini.profile import WIRE, wire_form
from toolkeel.providers.gemini.stream import StreamDecoder
from toolkeel.providers.wire.media import (
    base64_block,
    content_of,
    data_block,
    media_block,
    unknown_block,
)
from toolkeel.providers.wire.plain_json import Json, as_dict, as_text
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredTurns, blocks_of
from toolkeel.providers.wire.tools import WireTools


class StoredContents(StoredTurns):
    """Reads stored conversations of this wire, which never say which model answered.

    >>> [message] = decode_messages([{"role": "user", "parts": [{"text": "几点?"}]}])
    >>> message
    UserMessage(content='几点?', origin='person')
    """

    decoder = StreamDecoder
    key = "contents"
    inside = "parts"
    assistant = "model"

    form = staticmethod(wire_form)

    def system(self, request: Json) -> object:
        system = request.get("systemInstruction")
        system = system or as_dict(request.get("config")).get("systemInstruction")
        return system if isinstance(system, str) else as_dict(system).get("parts")

    def as_response(self, turn: list[Json]) -> Json:
        blocks = blocks_of(turn[0].get("parts"))
        return {"candidates": [{"content": {"parts": blocks}, "finishReason": "STOP"}]}

    def ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        parts = blocks_of(turn[0].get("parts"))
        called = [as_dict(part["functionCall"]) for part in parts if "functionCall" in part]
        return [as_text(one.get("id")) for one in called]

    def result(self, block: Json, calls: StoredCalls) -> ToolMessage | None:
        if "functionResponse" not in block:
            return None
        told = as_dict(block["functionResponse"])
        response = as_dict(told.get("response"))
        inside = self._result(response, blocks_of(told.get("parts")))
        id, name = as_text(told.get("id")), as_text(told.get("name"))
        return calls.result(inside, id, name=name, failed=response.keys() == {"error"})

    def _result(self, response: Json, media: list[Json]) -> Content:
        value: object = response
        if len(response) == 1 and response.keys() <= {"output", "error"}:
            [value] = response.values()
        said: Block = Text(value) if isinstance(value, str) else data_block(value)
        return content_of([said, *self.blocks(media)])

    def block(self, block: Json) -> Block:
        data, file = as_dict(block.get("inlineData")), as_dict(block.get("fileData"))
        if isinstance(block.get("text"), str):
            return Text(as_text(block["text"]))
        if data:
            return base64_block(data.get("data"), data.get("mimeType"))
        if file:
            media_type = as_text(file.get("mimeType")) or "application/octet-stream"
            return media_block(b"", media_type, as_text(file.get("fileUri")))
        return unknown_block(WIRE, block)


decode_messages = StoredContents().decode_messages
