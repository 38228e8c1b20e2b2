"""Stored conversations of every wire as messages: what `decode_messages` of the wires shares.

A reply is read by the wire's own decoder, so that signed reasoning, hosted items and the order of
parts are kept with it, and go back over the same wire as they were; to other wires goes what they
can say. What only one wire knows of a block of the person's is kept in the block's ``extra``.
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
from toolkeel.providers.wire.media import content_of
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, by_word, plain
from toolkeel.providers.wire.reasoning_ownership import ASKED
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools


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

    def result(
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
        decoder: Reads a reply.
        key: Where the messages stand in a request.
        inside: Where a message has what it says.
        assistant: What the wire calls the model.
    """

    decoder: ClassVar[type[Decoder]]
    key: ClassVar[str] = "messages"
    inside: ClassVar[str] = "content"
    assistant: ClassVar[str] = "assistant"

    def decode_messages(self, body: object, *, tools: Tools = (), model: str = "") -> list[Message]:
        """A stored conversation of this wire as messages, to go on with over any.

        Args:
            body: A request's body, or its messages alone, with an SDK's objects in it or without;
                or their JSON text. Bytes as bytes, or as base64 text.
            tools: The tools as they were sent; then calls carry their own names again, and calls
                of the server's own tools are calls of those that stand for them.
            model: Which model answered, if the body does not say it: what is signed goes back to
                that one alone. Unknown, it goes back to any model on this wire.

        Raises:
            ModelError: if it is no conversation, or one of another wire.
        """
        wire = self.decoder.target
        request = self._request(body)
        named = model or as_text(request.get("model")) or as_text(request.get("modelId"))
        messages: list[Message] = [
            SystemMessage(text) for text in texts_of(self.system(request)) if text
        ]
        made, calls = wire_tools(tools, wire), StoredCalls()
        for turn in self.turns(map(as_dict, as_list(request[self.key])), made):
            first = turn[0]
            if self.is_reply(first):
                said = self.decoder.decode(self.as_response(turn), tools=made)
                reply = from_wire(said, wire, named)
                calls.add(reply, self.ids(turn, made))
                messages.append(reply)
            elif first.get("role") in ("system", "developer"):
                messages.append(SystemMessage("\n".join(texts_of(first.get(self.inside)))))
            else:
                messages += self.said(first, calls)
        return messages

    def _request(self, body: object) -> Json:
        """A stored request, or its messages alone, as a request whose messages are a list of dicts.

        Raises:
            ModelError: if it is no conversation, or one that another wire's module reads.
        """
        wire, key = self.decoder.target, self.key
        try:
            stored = _all_plain(self.form(body), self.form)
        except (ModelError, RecursionError) as error:
            raise ModelError(f"{wire}: a stored conversation is JSON, and not that deep") from error
        request = stored if isinstance(stored, dict) else {key: stored}
        given = request.get(key)
        if isinstance(given, str):
            given = [{"role": "user", self.inside: given}]
        if not isinstance(given, list):
            other = next((name for name in _READERS if name in request), "")
            hint = f"; {_READERS[other]} reads {other!r}" if other and other != key else ""
            raise ModelError(f"{wire}: a stored conversation has {key!r}, a list of messages{hint}")
        reader = wire.replace("-", "_")
        for index, item in enumerate(given):
            if not isinstance(item, dict) or not item:
                raise ModelError(f"{wire}: {key}[{index}] is no message: {item!r:.80}")
            owner = _owner(as_dict(item)) if key in _READERS else ""
            if owner not in ("", reader):
                read = f"toolkeel.providers.{owner}, not by {reader}"
                raise ModelError(f"{wire}: {key}[{index}] is read by {read}")
        return {**request, key: given}

    form = staticmethod(plain)
    """An SDK's object or JSON text as plain data, under the wire's names."""

    def system(self, request: Json) -> object:
        """The instructions."""
        return request.get("system")

    def turns(self, wires: Iterable[Json], tools: WireTools) -> Iterator[list[Json]]:
        """What is one reply together, all else alone."""
        return ([wire] for wire in wires)

    def is_reply(self, wire: Json) -> bool:
        """Whether the model said it."""
        return wire.get("role") == self.assistant

    def ids(self, turn: list[Json], tools: WireTools) -> list[str]:
        """The ids of the calls in a reply, where they are not the reply's."""
        return []

    def content(self, content: object) -> Content:
        """Content: text, or parts."""
        return content if isinstance(content, str) else content_of(self.blocks(blocks_of(content)))

    def blocks(self, blocks: list[Json]) -> Iterator[Block]:
        """Our blocks."""
        return map(self.block, blocks)

    # — what each wire says itself —

    def as_response(self, turn: list[Json]) -> Json:
        """A reply as a whole answer, as the wire's decoder takes it."""
        raise NotImplementedError

    def said(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        """What a message says that is neither a reply nor instructions."""
        raise NotImplementedError

    def block(self, block: Json) -> Block:
        """Ours for one of the wire's."""
        raise NotImplementedError


class StoredTurns(StoredConversation):
    """Those of a wire that has user and assistant by turns, and results among the person's blocks."""

    def said(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        """The results in a message of the person's, and what else it says."""
        rest: list[Json] = []
        for block in blocks_of(wire.get(self.inside)):
            if (result := self.result(block, calls)) is not None:
                yield result
            else:
                rest.append(block)
        if said := [*self.blocks(rest)]:
            yield UserMessage(content_of(said))

    def result(self, block: Json, calls: StoredCalls) -> ToolMessage | None:
        """The result that a block is, if it is one."""
        raise NotImplementedError


def blocks_of(content: object) -> list[Json]:
    """Content as blocks; a text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [as_dict(block) for block in as_list(content)]


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


_READERS: Mapping[str, str] = {
    "contents": "toolkeel.providers.gemini",
    "input": "toolkeel.providers.openai_responses",
    "messages": "toolkeel.providers.openai_chat, .anthropic or .bedrock",
}
_BLOCKS: Mapping[str, str] = by_word(
    {"anthropic": "tool_use tool_result", "openai_responses": "input_text output_text input_image"}
)
"""Whose blocks these are."""


def _owner(item: Json) -> str:
    """The one module that reads a message, by where it has its calls, results or blocks; empty if
    it may be read by several."""
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


def _all_plain(value: object, form: Callable[[object], object]) -> object:
    """`value` without an SDK's objects, however deep they stand."""
    if isinstance(value, dict):
        return {key: _all_plain(one, form) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_all_plain(one, form) for one in value]
    return form(value) if callable(getattr(value, "model_dump", None)) else value


def texts_of(value: object) -> list[str]:
    """The texts of instructions, which are a text or a list of blocks of text."""
    if isinstance(value, str):
        return [value]
    return [as_text(as_dict(one).get("text")) for one in as_list(value)]
