"""Decodes stored conversations of Anthropic's wire into messages."""

from __future__ import annotations

from dataclasses import replace

from toolkeel.content import Block, File, Image, Text
from toolkeel.messages import ToolMessage
from toolkeel.providers.anthropic.profile import WIRE
from toolkeel.providers.anthropic.stream import StreamDecoder
from toolkeel.providers.wire.media import base64_block, unknown_block
from toolkeel.providers.wire.plain_json import Json, as_dict, as_text
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredTurns, blocks_of
from toolkeel.providers.wire.tools import WireTools


class StoredMessages(StoredTurns):
    """Stored conversations of this wire.

    >>> [message] = decode_messages([{"role": "user", "content": "几点?"}])
    >>> message
    UserMessage(content='几点?', origin='person', metadata={})
    """

    decoder = StreamDecoder

    def as_response(self, turn: list[Json]) -> Json:
        """Return the assistant message of a turn as a complete answer that ended normally."""
        blocks = blocks_of(turn[0].get("content"))
        return {"type": "message", "stop_reason": "end_turn", "content": blocks}

    def call_ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        """Return the ids of the ``tool_use`` blocks in a reply, in order."""
        blocks = blocks_of(turn[0].get("content"))
        return [as_text(one.get("id")) for one in blocks if one.get("type") == "tool_use"]

    def decode_result(self, block: Json, calls: StoredCalls) -> ToolMessage | None:
        """Decode a ``tool_result`` block, marking its call as answered.

        Return None for any other block.
        """
        if block.get("type") != "tool_result":
            return None
        id, failed = as_text(block.get("tool_use_id")), block.get("is_error") is True
        return calls.make_result(self.decode_content(block.get("content")), id, failed=failed)

    def decode_block(self, block: Json) -> Block:
        """Convert a block to content, without its cache mark.

        Wrap one of an unknown kind unchanged.
        """
        block = {key: one for key, one in block.items() if key != "cache_control"}
        source = as_dict(block.get("source"))
        url, kind = as_text(source.get("url")), source.get("type")
        match block.get("type"), kind:
            case "text", _:
                return Text(as_text(block.get("text")))
            case "image", "base64":
                return base64_block(source.get("data"), source.get("media_type"))
            case "image", "url":
                return Image(url=url)
            case "document", ("base64" | "text" | "url"):
                return _decode_document(block, source)
            case "document", "content" if all(
                one.get("type") == "text" for one in blocks_of(source.get("content"))
            ):
                return _decode_document(block, source)
        return unknown_block(WIRE, block)


def _decode_document(block: Json, source: Json) -> Block:
    """Decode a document as a `File`.

    Fields of this wire only, such as citations, go to its ``extra``.
    """
    name = as_text(block.get("title")) or "file"
    rest = {key: one for key, one in block.items() if key not in _DOCUMENT_KEYS}
    extra = {WIRE: rest} if rest else {}
    match source.get("type"):
        case "text":
            data = as_text(source.get("data")).encode(errors="replace")
            return File(data, name, "text/plain", extra=extra or {WIRE: {}})
        case "content":  # its parts go back on this wire; other wires get their text
            parts = blocks_of(source.get("content"))
            data = "\n".join(as_text(one.get("text")) for one in parts).encode(errors="replace")
            return File(data, name, "text/plain", extra={WIRE: {**rest, "source": source}})
        case "url":
            return File(b"", name, "application/pdf", as_text(source.get("url")), extra)
    made = base64_block(source.get("data"), source.get("media_type"), name)
    return replace(made, extra=extra) if isinstance(made, File) and extra else made


_DOCUMENT_KEYS = frozenset({"type", "source", "title"})


decode_messages = StoredMessages().decode_messages
