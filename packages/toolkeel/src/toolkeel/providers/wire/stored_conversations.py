"""Stored conversations of every wire as messages: the base of the wires' `decode_messages`.

The wire's own decoder reads a reply, so that signed reasoning, hosted items and the order of parts
stay with it and are sent back over the same wire unchanged; other wires get what they can express.
Data in a person's block that only one wire knows is kept in the block's ``extra``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from toolkeel.content import Block, Content
from toolkeel.errors import ModelError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Status,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.media import to_content
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, invert, plain
from toolkeel.providers.wire.reasoning_ownership import ASKED
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools


class StoredCalls:
    """Matches the results of a stored conversation to its calls."""

    def __init__(self) -> None:
        self._open: list[tuple[ToolCall, str]] = []
        self._names: dict[str, str] = {}

    def add(self, reply: AssistantMessage, ids: Iterable[str] = ()) -> None:
        """Replace the open calls by those of a reply; `ids` are their wire ids, if they differ."""
        stored_messages = [*ids]
        self._open = [
            (call, stored_messages[index] if index < len(stored_messages) else call.id)
            for index, call in enumerate(reply.tool_calls)
        ]
        self._names |= {call.id: call.name for call in reply.tool_calls}

    def make_result(
        self, content: Content, id: str, *, name: str = "", failed: bool = False
    ) -> ToolMessage:
        """Build the result of the first open call with this id and name, and close it; if none fits, of the bare id.

        Args:
            content: Content of the result.
            id: Wire id of the call; empty if it has none.
            name: Name of the tool, if the wire has it.
            failed: True if the tool failed.
        """
        status: Status = "error" if failed else "success"
        named = name in {call.name for call, wire_id in self._open if wire_id == id or not id}
        for index, (call, wire_id) in enumerate(self._open):
            is_named = name == call.name or not (name and (named or not id))
            if is_named and (wire_id == id or not id):
                del self._open[index]
                return ToolMessage(content, call.id, call.name, status)
        return ToolMessage(content, id, name or self._names.get(id, ""), status)


class StoredConversation:
    """Reads stored conversations of a wire.

    Attributes:
        decoder: Decodes a reply.
        key: Key of a request that holds the messages.
        content_key: Key of a message that holds its content.
        assistant_role: Role of the model on the wire.
    """

    decoder: ClassVar[type[Decoder]]
    key: ClassVar[str] = "messages"
    content_key: ClassVar[str] = "content"
    assistant_role: ClassVar[str] = "assistant"

    def decode_messages(self, body: object, *, tools: Tools = (), model: str = "") -> list[Message]:
        """Decode a stored conversation of this wire into messages, to continue over any wire.

        Args:
            body: A request's body, or its messages alone, with or without an SDK's objects in it; or
                their JSON text. Bytes as bytes, or as base64 text.
            tools: The tools as they were sent; calls get the tools' own names back, and calls of the
                server's own tools become calls of the tools that represent them.
            model: The model that answered, if the body does not name it: signed reasoning is sent back
                to that one alone. Unknown: to any model on this wire.

        Raises:
            ModelError: if it is not a conversation, or one of another wire.
        """
        wire = self.decoder.target
        request = self._read_request(body)
        named = model or as_text(request.get("model")) or as_text(request.get("modelId"))
        messages: list[Message] = [
            SystemMessage(text) for text in texts_of(self.instructions(request)) if text
        ]
        made, calls = wire_tools(tools, wire), StoredCalls()
        for turn in self.group_replies(map(as_dict, as_list(request[self.key])), made):
            first = turn[0]
            if self.is_reply(first):
                decoded = self.decoder.decode(self.as_response(turn), tools=made)
                reply = mark_origin(decoded, wire, named)
                calls.add(reply, self.call_ids(turn, made))
                messages.append(reply)
            elif first.get("role") in ("system", "developer"):
                messages.append(SystemMessage("\n".join(texts_of(first.get(self.content_key)))))
            else:
                messages += self.decode_input(first, calls)
        return messages

    def _read_request(self, body: object) -> Json:
        """Return a stored request, or messages alone, as a request with a list of dicts.

        Raises:
            ModelError: if it is not a conversation, or one that another wire's module reads.
        """
        wire, key = self.decoder.target, self.key
        try:
            stored = _normalize_deeply(self.normalize(body), self.normalize)
        except (ModelError, RecursionError) as error:
            raise ModelError(f"{wire}: a stored conversation is JSON, and not that deep") from error
        request = stored if isinstance(stored, dict) else {key: stored}
        stored_messages = request.get(key)
        if isinstance(stored_messages, str):
            stored_messages = [{"role": "user", self.content_key: stored_messages}]
        if not isinstance(stored_messages, list):
            other = next((name for name in _READERS if name in request), "")
            hint = f"; {_READERS[other]} reads {other!r}" if other and other != key else ""
            raise ModelError(f"{wire}: a stored conversation has {key!r}, a list of messages{hint}")
        reader = wire.replace("-", "_")
        for index, item in enumerate(stored_messages):
            if not isinstance(item, dict) or not item:
                raise ModelError(f"{wire}: {key}[{index}] is no message: {item!r:.80}")
            owner = _find_reader(as_dict(item)) if key in _READERS else ""
            if owner not in ("", reader):
                read = f"toolkeel.providers.{owner}, not by {reader}"
                raise ModelError(f"{wire}: {key}[{index}] is read by {read}")
        return {**request, key: stored_messages}

    normalize = staticmethod(plain)
    """Convert an SDK's object or JSON text to plain data with the wire's names."""

    def instructions(self, request: Json) -> object:
        """Return the instructions in a request."""
        return request.get("system")

    def group_replies(self, wires: Iterable[Json], tools: WireTools) -> Iterator[list[Json]]:
        """Yield the wire messages in groups: those of one reply together, every other one alone."""
        return ([wire] for wire in wires)

    def is_reply(self, wire: Json) -> bool:
        """Return True if the model wrote a message."""
        return wire.get("role") == self.assistant_role

    def call_ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        """Return the wire ids of the calls in a reply where the decoder changes them; else empty."""
        return []

    def decode_content(self, content: object) -> Content:
        """Decode content: text, or blocks."""
        return (
            content
            if isinstance(content, str)
            else to_content(self.decode_blocks(blocks_of(content)))
        )

    def decode_blocks(self, blocks: list[Json]) -> Iterator[Block]:
        """Yield the content blocks of wire content."""
        return map(self.decode_block, blocks)

    # — defined by each wire —

    def as_response(self, turn: list[Json]) -> Json:
        """Return a reply as a complete answer for the wire's decoder."""
        raise NotImplementedError

    def decode_input(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        """Yield the messages of a wire message that is neither a reply nor instructions."""
        raise NotImplementedError

    def decode_block(self, block: Json) -> Block:
        """Decode one of the wire's content blocks."""
        raise NotImplementedError


class StoredTurns(StoredConversation):
    """Stored conversations whose roles alternate, with results among the user's blocks."""

    def decode_input(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        """Yield the results in a user message, then the rest of it."""
        rest: list[Json] = []
        for block in blocks_of(wire.get(self.content_key)):
            if (result := self.decode_result(block, calls)) is not None:
                yield result
            else:
                rest.append(block)
        if decoded := [*self.decode_blocks(rest)]:
            yield UserMessage(to_content(decoded))

    def decode_result(self, block: Json, calls: StoredCalls) -> ToolMessage | None:
        """Decode a block that is a result; None for any other block."""
        raise NotImplementedError


def blocks_of(content: object) -> list[Json]:
    """Return content as a list of blocks; a text is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [as_dict(block) for block in as_list(content)]


def mark_origin(reply: AssistantMessage, wire: str, model: str) -> AssistantMessage:
    """Return a reply with its wire and model noted in it, so that its signatures are sent to no other.

    Args:
        reply: As the wire's decoder returns it.
        wire: Name of the wire.
        model: Name of the model, if it is known.
    """
    name = model or reply.model
    thoughts = tuple(replace(one, model=one.model or name) for one in reply.reasoning)
    note = {ASKED: {"wire": wire, "model": name, "endpoint": ""}}
    options = {**reply.provider_options, **note}
    return replace(reply, model=name, reasoning=thoughts, provider_options=options)


_READERS: Mapping[str, str] = {
    "contents": "toolkeel.providers.gemini",
    "input": "toolkeel.providers.openai_responses",
    "messages": "toolkeel.providers.openai_chat, .anthropic or .bedrock",
}
_BLOCKS: Mapping[str, str] = invert(
    {"anthropic": "tool_use tool_result", "openai_responses": "input_text output_text input_image"}
)
"""Modules that read blocks of these types."""


def _find_reader(item: Json) -> str:
    """Return the only module that reads a message, by the place of its calls, results or blocks.

    Empty if several can.
    """
    if "parts" in item:
        return "gemini"
    if item.get("tool_calls") or item.get("role") in ("tool", "function"):
        return "openai_chat"
    if "role" not in item and "type" in item:
        return "openai_responses"
    for block in map(as_dict, as_list(item.get("content"))):
        owner = _BLOCKS.get(as_text(block.get("type")), "")
        if owner or (block and "type" not in block):
            return owner or "bedrock"
    return ""


def _normalize_deeply(value: object, form: Callable[[object], object]) -> object:
    """Return a value with SDK objects replaced by plain data, at any depth."""
    if isinstance(value, dict):
        return {key: _normalize_deeply(one, form) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize_deeply(one, form) for one in value]
    return form(value) if callable(getattr(value, "model_dump", None)) else value


def texts_of(value: object) -> list[str]:
    """Return the texts of instructions, which are a text or a list of text blocks."""
    if isinstance(value, str):
        return [value]
    return [as_text(as_dict(one).get("text")) for one in as_list(value)]
