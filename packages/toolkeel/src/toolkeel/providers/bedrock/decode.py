"""Decodes stored conversations of Bedrock's Converse wire into messages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolkeel.content import Block, File, Text
from toolkeel.messages import ToolMessage
from toolkeel.providers.bedrock.profile import WIRE, media_type_of, pack_bytes, unpack_bytes
from toolkeel.providers.bedrock.stream import StreamDecoder
from toolkeel.providers.wire.media import data_block, media_block, unknown_block
from toolkeel.providers.wire.plain_json import Json, as_dict, as_text, decode_base64
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredTurns, blocks_of
from toolkeel.providers.wire.tools import WireTools

_INTRO = re.compile(r"Document '(.*)' is the file '(.*)':", re.DOTALL)


class StoredConverse(StoredTurns):
    """Stored conversations of this wire.

    >>> [message] = decode_messages([{"role": "user", "content": [{"text": "几点?"}]}])
    >>> message
    UserMessage(content='几点?', origin='person', metadata={})
    """

    decoder = StreamDecoder

    def as_response(self, turn: list[Json]) -> Json:
        """Return the assistant message of a turn as a complete answer, without cache points."""
        blocks = [
            {key: block[key] for key in block if key != "type"}  # which texts of others have
            for block in blocks_of(turn[0].get("content"))
            if "cachePoint" not in block
        ]
        message = {"role": "assistant", "content": blocks}
        return {"output": {"message": message}, "stopReason": "end_turn"}

    def call_ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        """Return the ids of the ``toolUse`` blocks in a reply, in order."""
        called = [as_dict(one.get("toolUse")) for one in blocks_of(turn[0].get("content"))]
        return [as_text(one.get("toolUseId")) for one in called if one]

    def decode_result(self, block: Json, calls: StoredCalls) -> ToolMessage | None:
        """Decode a ``toolResult`` block, marking its call as answered.

        Return None for any other block.
        """
        if "toolResult" not in block:
            return None
        result = as_dict(block["toolResult"])
        id, failed = as_text(result.get("toolUseId")), result.get("status") == "error"
        return calls.make_result(self.decode_content(result.get("content")), id, failed=failed)

    def decode_blocks(self, blocks: list[Json]) -> Iterator[Block]:
        """Yield content for blocks, without cache points.

        The text that introduces a document is used as its name, not yielded.
        """
        blocks = [block for block in blocks if "cachePoint" not in block]
        intros = [_INTRO.fullmatch(as_text(block.get("text"))) for block in blocks]
        labels = [as_dict(block.get("document")).get("name") for block in blocks]
        for index, block in enumerate(blocks):
            intro, before = intros[index], intros[index - 1] if index else None
            if intro is not None and intro[1] in labels[index + 1 : index + 2]:
                continue
            yield _decode_block(block, before[2] if before and before[1] == labels[index] else "")


def _decode_block(block: Json, name: str) -> Block:
    """Convert a block to content.

    `name` is a document's own file name, if known. Wrap an unknown block.
    """
    if isinstance(block.get("text"), str):
        return Text(as_text(block["text"]))
    if "json" in block:
        return data_block(block["json"])
    for kind, fields in block.items():
        media = as_dict(fields)
        source = as_dict(unpack_bytes(media.get("source")))
        media_type = media_type_of(kind, as_text(media.get("format")))
        url = as_text(as_dict(source.get("s3Location")).get("uri"))
        raw = source.get("bytes")
        data = raw if isinstance(raw, bytes) else decode_base64(as_text(raw))
        if media_type and (data or url):
            label = as_text(media.get("name"))
            if kind == "document" and not name:
                rest = {key: one for key, one in media.items() if key not in _DOCUMENT_KEYS}
                return File(data, label, media_type, url, {WIRE: {**rest, "label": label}})
            return media_block(data, media_type, url, name or "file")
    return unknown_block(WIRE, as_dict(pack_bytes(block)))


_DOCUMENT_KEYS = frozenset({"format", "name", "source"})


decode_messages = StoredConverse().decode_messages
