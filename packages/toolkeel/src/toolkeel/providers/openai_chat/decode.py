"""Decodes stored conversations of Chat Completions into messages."""

from __future__ import annotations

from collections.abc import Iterator

from toolkeel.content import Audio, Block, Image, Text
from toolkeel.messages import Message, UserMessage
from toolkeel.providers.openai_chat.stream import StreamDecoder
from toolkeel.providers.wire.media import file_block, inline, unknown_block
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, decode_base64
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredConversation
from toolkeel.providers.wire.tools import WireTools


class StoredReplyDecoder(StreamDecoder):
    """Decodes stored replies, where even a repeated call may have a result of its own."""

    joins_repeated_calls = False


class StoredChat(StoredConversation):
    """Stored conversations of this wire.

    >>> [message] = decode_messages([{"role": "user", "content": "几点?"}])
    >>> message
    UserMessage(content='几点?', origin='person', metadata={})
    """

    decoder = StoredReplyDecoder

    def as_response(self, turn: list[Json]) -> Json:
        """Return the assistant message of a turn as a choice that ended normally."""
        return {"message": turn[0], "finish_reason": "stop"}

    def call_ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        """Return the ids of the calls in a reply, in order."""
        return [as_text(as_dict(one).get("id")) for one in as_list(turn[0].get("tool_calls"))]

    def decode_input(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        """Yield a result, marking its call as answered, or a user message."""
        content = self.decode_content(wire.get("content"))
        if wire.get("role") in ("tool", "function"):
            id, name = as_text(wire.get("tool_call_id")), as_text(wire.get("name"))
            yield calls.make_result(content, id, name=name)
        else:
            yield UserMessage(content)

    def decode_block(self, block: Json) -> Block:
        """Convert a part to content; wrap one of an unknown kind unchanged."""
        match block.get("type"):
            case "text":
                return Text(as_text(block.get("text")))
            case "image_url":
                image = block.get("image_url")
                url = image if isinstance(image, str) else as_text(as_dict(image).get("url"))
                return inline(Image(url=url))
            case "input_audio":
                sound = as_dict(block.get("input_audio"))
                form = (
                    "mpeg"
                    if sound.get("format") == "mp3"
                    else as_text(sound.get("format")) or "wav"
                )
                return Audio(decode_base64(as_text(sound.get("data"))), f"audio/{form}")
            case "file" if as_dict(block.get("file")).get("file_data"):
                file = as_dict(block["file"])
                return file_block(as_text(file.get("file_data")), file.get("filename"))
            case "document_url":  # Mistral's
                place = block.get("document_url")
                url = place if isinstance(place, str) else as_text(as_dict(place).get("url"))
                return file_block(url, block.get("document_name"))
        return unknown_block(self.decoder.target, block)


decode_messages = StoredChat().decode_messages
