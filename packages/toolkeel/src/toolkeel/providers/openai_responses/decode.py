"""Decodes stored conversations of the Responses wire into messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkeel.content import Block, Content, Image, Text
from toolkeel.messages import Message, UserMessage
from toolkeel.providers.openai_responses.native_calls import NATIVE_CALLS, to_function_call
from toolkeel.providers.openai_responses.profile import CALLS, WIRE
from toolkeel.providers.openai_responses.stream import StreamDecoder
from toolkeel.providers.wire.media import data_block, file_block, inline, unknown_block
from toolkeel.providers.wire.plain_json import Json, as_dict, as_text
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredConversation
from toolkeel.providers.wire.tools import WireTools

_OUTPUT_ITEMS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        *(native.output_item for native in NATIVE_CALLS.values()),
    }
)


class StoredItems(StoredConversation):
    """Stored conversations of this wire.

    >>> [message] = decode_messages([{"role": "user", "content": "几点?"}])
    >>> message
    UserMessage(content='几点?', origin='person', metadata={})
    """

    decoder = StreamDecoder
    key = "input"

    def instructions(self, request: Json) -> object:
        """Return the ``instructions`` of a request."""
        return request.get("instructions")

    def group_replies(self, wires: Iterable[Json], tools: WireTools) -> Iterator[list[Json]]:
        """Yield groups: the items of one reply together, every other item alone.

        An output that answers no call belongs to the reply before it, if there is one.
        """
        reply: list[Json] = []
        called: set[object] = set()
        for item in wires:
            kind = as_text(item.get("type"))
            called |= _call_ids(item, kind, tools)
            answered = item.get("call_id") or item.get("approval_request_id")
            # An answer to nothing belongs to the reply before it, if there is one.
            alone = (
                answered in called or not reply
                if kind in _OUTPUT_ITEMS
                else _is_input_message(item)
            )
            if not alone:
                reply.append(item)
                continue
            if reply:
                yield reply
                reply = []
            yield [item]
        if reply:
            yield reply

    def is_reply(self, wire: Json) -> bool:
        """Return True if the model wrote an item: neither an input message nor an output of a call."""
        return not (_is_input_message(wire) or wire.get("type") in _OUTPUT_ITEMS)

    def call_ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        """Return the ids of the calls in a reply, in order."""
        called = (to_function_call(item, tools, is_complete=False) for item in turn)
        return [as_text(one.get("call_id")) for one in called if one.get("type") in CALLS]

    def as_response(self, turn: list[Json]) -> Json:
        """Return the items of a reply as a completed response."""
        output = [_to_output_item(item) for item in turn]
        return {"object": "response", "status": "completed", "output": output}

    def decode_input(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        """Yield a result, marking its call as answered, or a user message."""
        if wire.get("type") in _OUTPUT_ITEMS:
            id = as_text(wire.get("call_id")) or as_text(wire.get("approval_request_id"))
            yield calls.make_result(self._decode_output(wire), id)
        else:
            yield UserMessage(self.decode_content(wire.get("content")))

    def _decode_output(self, item: Json) -> Content:
        """Return the content of an item that answers a call: a screenshot, data or blocks."""
        output = item.get("output")
        match item.get("type"):
            case "computer_call_output":
                return (inline(Image(url=as_text(as_dict(output).get("image_url")))),)
            case "shell_call_output":
                return (data_block(output),)
            case "mcp_approval_response":
                answer = {key: item[key] for key in ("approve", "reason") if key in item}
                return (data_block(answer),)
        return self.decode_content(output)

    def decode_block(self, block: Json) -> Block:
        """Convert a part to content; wrap one of an unknown kind unchanged."""
        match block.get("type"):
            case "input_text" | "output_text" | "text":
                return Text(as_text(block.get("text")))
            case "input_image" if block.get("image_url"):
                return inline(Image(url=as_text(block["image_url"])))
            case "input_file" if block.get("file_data") or block.get("file_url"):
                url = as_text(block.get("file_data")) or as_text(block.get("file_url"))
                return file_block(url, block.get("filename"))
        return unknown_block(WIRE, block)


def _call_ids(item: Json, kind: str, tools: WireTools) -> set[object]:
    """Return the ids of a call; none for other items, or for a native call that no tool takes."""
    native = kind in NATIVE_CALLS and tools.native(NATIVE_CALLS[kind].tools)
    return {item.get("call_id"), item.get("id")} - {None} if native or kind in CALLS else set()


def _is_input_message(item: Json) -> bool:
    """Return True if an item is a message of the user, the system or the developer."""
    return item.get("role") in ("user", "system", "developer") and (
        item.get("type") in (None, "message")
    )


def _to_output_item(item: Json) -> Json:
    """Return an output item; a plain assistant message becomes one."""
    content = item.get("content")
    if item.get("role") != "assistant":
        return item
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content, "annotations": []}]
    return {**item, "type": "message", "content": content}


decode_messages = StoredItems().decode_messages
