"""Decodes stored conversations of Gemini's wire into messages."""

from __future__ import annotations

from toolkeel.content import Block, Content, Text
from toolkeel.messages import ToolMessage
from toolkeel.providers.gemini.profile import WIRE, to_wire_names
from toolkeel.providers.gemini.stream import StreamDecoder
from toolkeel.providers.wire.media import (
    base64_block,
    data_block,
    media_block,
    to_content,
    unknown_block,
)
from toolkeel.providers.wire.plain_json import Json, as_dict, as_text
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredTurns, blocks_of
from toolkeel.providers.wire.tools import WireTools


class StoredContents(StoredTurns):
    """Stored conversations of this wire, which never name the model that answered.

    >>> [message] = decode_messages([{"role": "user", "parts": [{"text": "几点?"}]}])
    >>> message
    UserMessage(content='几点?', origin='person', metadata={})
    """

    decoder = StreamDecoder
    key = "contents"
    content_key = "parts"
    assistant_role = "model"

    normalize = staticmethod(to_wire_names)

    def instructions(self, request: Json) -> object:
        """Return the ``systemInstruction`` of a request: text, or a list of parts."""
        system = request.get("systemInstruction")
        system = system or as_dict(request.get("config")).get("systemInstruction")
        return system if isinstance(system, str) else as_dict(system).get("parts")

    def as_response(self, turn: list[Json]) -> Json:
        """Return the model's content of a turn as a complete answer that ended normally."""
        blocks = blocks_of(turn[0].get("parts"))
        return {"candidates": [{"content": {"parts": blocks}, "finishReason": "STOP"}]}

    def call_ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        """Return the ids of the ``functionCall`` parts, in order; empty for those without one."""
        parts = blocks_of(turn[0].get("parts"))
        called = [as_dict(part["functionCall"]) for part in parts if "functionCall" in part]
        return [as_text(one.get("id")) for one in called]

    def decode_result(self, block: Json, calls: StoredCalls) -> ToolMessage | None:
        """Decode a ``functionResponse`` part, marking its call as answered.

        Return None for any other part.
        """
        if "functionResponse" not in block:
            return None
        fields = as_dict(block["functionResponse"])
        response = as_dict(fields.get("response"))
        inside = self._decode_output(response, blocks_of(fields.get("parts")))
        id, name = as_text(fields.get("id")), as_text(fields.get("name"))
        return calls.make_result(inside, id, name=name, failed=response.keys() == {"error"})

    def _decode_output(self, response: Json, media: list[Json]) -> Content:
        """Return the content of a response (text or data) with the media sent in it."""
        value: object = response
        if len(response) == 1 and response.keys() <= {"output", "error"}:
            [value] = response.values()
        first: Block = Text(value) if isinstance(value, str) else data_block(value)
        return to_content([first, *self.decode_blocks(media)])

    def decode_block(self, block: Json) -> Block:
        """Convert a part to content; wrap one of an unknown kind unchanged."""
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
