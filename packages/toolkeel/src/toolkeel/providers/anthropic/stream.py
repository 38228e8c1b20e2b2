"""Decodes Anthropic's answers, complete and streamed, into deltas.

A stream is a message in parts: its blocks arrive one after another, each with a start, pieces and an
end; fields of the message come first and last. A complete message goes block by block through the
same functions.

Data that programs do not read (blocks of the server's own tools, citations, redacted thinking) is
kept in the reply's ``provider_options["anthropic"]``, with its position in ``content`` (`wire.part_order`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolkeel.messages import FinishReason, Usage
from toolkeel.model_interface import CallDelta, Delta
from toolkeel.providers.anthropic.profile import PAUSE, REASONS, UNSIGNED, WIRE, parse_usage
from toolkeel.providers.wire.decoder import Block, BlockDecoder
from toolkeel.providers.wire.part_order import Kind
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_piece,
    as_dict,
    as_key,
    as_list,
    as_parts,
    as_text,
    dumps,
    invert,
    parse_object,
    parse_response,
)
from toolkeel.providers.wire.server_errors import (
    has_failed_status,
    incomplete_response,
    known_word,
    reported_error,
)
from toolkeel.providers.wire.tools import WireTools

_STOP_DETAILS = ("stop_sequence", "stop_details")


class MessageBlock(Block):
    """A content block that is still arriving."""

    __slots__ = ()

    @property
    def type(self) -> object:
        """The ``type`` of the block on the wire."""
        return self.wire.get("type")

    @property
    def layout_kind(self) -> Kind | None:
        """The block's kind in a layout; None if it is empty."""
        if self.type == "text":
            joined = "".join(self.pieces)
            return None if not joined else "other" if self.wire.get("citations") else "text"
        if self.type == "thinking":
            return "reasoning" if self.wire.get("signature") or "".join(self.pieces) else None
        return "call" if self.type == "tool_use" else "other"

    def to_wire(self) -> Json:
        """Return the block in the form that is sent back."""
        text = "".join(self.pieces)
        match self.type:
            case "text":
                cited = self.wire.get("citations")
                return {"type": "text", "text": text, **({"citations": cited} if cited else {})}
            case "thinking":
                return {**self.wire, "thinking": text}
            case _ if text:
                return {**self.wire, "input": parse_object(text)}
        return self.wire


def merge_delta(wire: Json, delta: Json) -> None:
    """Merge a delta of an unknown kind into its block: append text to text, list to list, replace others."""
    for key, value in delta.items():
        before = wire.get(key)
        if key == "type":
            continue
        if isinstance(before, str) and isinstance(value, str):
            wire[key] = before + value
        elif isinstance(before, list) and isinstance(value, list):
            wire[key] = [*before, *value]
        elif value is not None:
            wire[key] = value


class StreamDecoder(BlockDecoder[MessageBlock]):
    """Turns events of an answer into deltas; works with any client, sync or async.

    Args:
        tools: The tools as they were sent; calls get the tools' own names back.

    >>> decoder = StreamDecoder()
    >>> decoder.feed(
    ...     {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    ... )
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was neither a stop_reason nor a message_stop: it was cut off
    []
    """

    target = WIRE
    finish_reasons = REASONS
    parse_usage = staticmethod(parse_usage)
    call_keys = frozenset({"type", "id", "name", "input"})
    index_key = "index"

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._ended = False
        self._container = ""
        self._usage_before_pauses = Usage()

    def continuation(self) -> list[Json]:
        """Return the reply so far if the model pauses: sent back, the model continues it."""
        if not self._ended or self._reason != PAUSE:
            return []
        blocks = [block.to_wire() for block in self._blocks if block.layout_kind]
        return [{"role": "assistant", "content": blocks}]

    def handle_event(self, data: Json) -> list[Delta]:
        """Return the deltas of one event.

        Pings, unknown events, and those that an SDK's helpers add give nothing. After a pause the next
        message continues the same reply.

        Raises:
            ModelError: the event reports an error.
        """
        kind = as_text(data.get("type")) or ("message" if "content" in data else "")
        handler = _HANDLERS.get(kind)
        if handler is None and has_failed_status(data):
            raise reported_error(as_dict(data["base_resp"]))
        return handler(self, data) if handler is not None else []

    def is_ended(self) -> bool:
        """Return True if the message is complete."""
        return self._ended

    def usage(self) -> Usage:
        """Return the usage of the message, and of those before it that paused."""
        return self._usage_before_pauses + super().usage()

    def finish_reason(self) -> FinishReason:
        """Return why the message ended. One without a reason ended with "tool_calls" or "stop"."""
        return (
            super().finish_reason()
            if self._reason
            else "tool_calls"
            if self._call_count
            else "stop"
        )

    def read_response(self, reply: object) -> list[Delta]:
        """Decode a complete message into deltas.

        Raises:
            ModelError: if it is an error, or cannot be an answer.
        """
        data = parse_response(WIRE, reply)
        deltas = self.handle_event(data)
        if "content" not in data:
            raise incomplete_response("content", data)
        return deltas

    def _read_message(self, message: Json) -> list[Delta]:
        """Decode a complete message; ``stop_reason: null`` marks a snapshot of one still arriving.

        Raises `ModelError` if it reports an error.
        """
        if has_failed_status(message):
            raise reported_error(as_dict(message["base_resp"]))
        deltas = self._start_message({"message": {**message, "content": []}})
        for index, block in enumerate(as_parts(message.get("content"))):
            deltas += self._start_block({"index": index, "content_block": block})
            deltas += self._close_block(self._by_index[index])
        self._update_message({"delta": message, "usage": message.get("usage")})
        self._ended = bool(self._reason) or "stop_reason" not in message
        return deltas

    def provider_options(self) -> Mapping[str, object]:
        """Return the blocks' order, the container, stop details beyond our reasons, and if thinking was unsigned."""
        if self._container:
            self._extra["container"] = self._container
        if self._reason == PAUSE or self._reason not in {"", *REASONS}:
            self._extra["stop_reason"] = self._reason
        is_whole = self._ended and REASONS.get(self._reason) in ("stop", "tool_calls")
        if is_whole and any(map(_is_unsigned_thinking, self._blocks)):
            self._extra[UNSIGNED] = True
        return super().provider_options()

    # — events —

    def _start_message(self, data: Json) -> list[Delta]:
        """Start a message: reset the state, add up a paused one's usage, read the first blocks.

        Raises `ModelError` if it reports an error.
        """
        message = as_dict(data.get("message"))
        if has_failed_status(data):
            raise reported_error(as_dict(data["base_resp"]))
        self._usage_before_pauses += parse_usage(self._usage) if self._ended else Usage()
        self._usage = {}
        self._by_index.clear()
        self._ended, self._reason = False, ""
        self._model = as_text(message.get("model")) or self._model
        self._update_usage(message)
        deltas: list[Delta] = []
        for index, block in enumerate(as_list(message.get("content"))):
            deltas += self._start_block({"index": index, "content_block": block})
        return deltas

    def _start_block(self, data: Json) -> list[Delta]:
        """Register a block that starts; return the deltas of the content it starts with."""
        wire = dict(as_dict(data.get("content_block")))
        if "text" in wire:
            wire.setdefault("type", "text")
        block = self._add_block(self._block_key(data), MessageBlock(wire))
        match wire.get("type"):
            case "text":
                return self._text_delta(as_text(wire.get("text")), block.pieces)
            case "thinking":
                thought = self._thinking_delta(as_text(wire.get("thinking")), block.pieces)
                return thought + self._signature_delta(block, wire.get("signature"))
            case "tool_use":
                return self._start_call(block, wire.get("id"))
        return []

    def _extend_block(self, data: Json) -> list[Delta]:
        """Add a piece to its block and return its deltas.

        Start a block whose start event never came.
        """
        delta = as_dict(data.get("delta"))
        block = self._by_index.get(as_key(data.get("index")))
        deltas: list[Delta] = []
        if block is None:  # its start never came
            started = {"text_delta": "text", "thinking_delta": "thinking"}
            kind = started.get(as_text(delta.get("type")))
            if kind is None:
                return []
            deltas += self._start_block(
                {"index": data.get("index"), "content_block": {"type": kind}}
            )
            block = self._by_index[self._block_key(data)]
        match delta.get("type"):
            case "text_delta":
                return deltas + self._text_delta(as_text(delta.get("text")), block.pieces)
            case "thinking_delta":
                return deltas + self._thinking_delta(as_text(delta.get("thinking")), block.pieces)
            case "signature_delta":
                return deltas + self._signature_delta(block, delta.get("signature"))
            case "input_json_delta":
                return self._arguments_delta(block, arguments_piece(delta.get("partial_json")))
            case "citations_delta":
                cited = as_list(block.wire.get("citations"))
                block.wire["citations"] = [*cited, delta.get("citation")]
            case _:
                merge_delta(block.wire, delta)
        return deltas

    def _update_message(self, data: Json) -> list[Delta]:
        """Record the stop reason and usage; return no deltas."""
        delta = as_dict(data.get("delta"))
        self._reason = known_word(delta.get("stop_reason"), REASONS) or self._reason
        self._ended = self._ended or bool(self._reason)  # some servers send no message_stop
        for key in _STOP_DETAILS:
            if delta.get(key) is not None:
                self._extra[key] = delta[key]
        self._update_usage(delta)
        self._update_usage(data)
        return []

    def _end_message(self, data: Json) -> list[Delta]:
        """Mark the message as complete; return no deltas."""
        self._ended = True
        return []

    def _raise_error(self, data: Json) -> list[Delta]:
        """Raise the `ModelError` that an error event reports."""
        raise reported_error(data)

    def _update_usage(self, holder: Json) -> None:
        """Merge cumulative usage, which may have nulls, and remember the code container."""
        for key, value in as_dict(holder.get("usage")).items():
            if value is not None:
                self._usage[key] = value
        self._container = as_text(as_dict(holder.get("container")).get("id")) or self._container

    # — blocks —

    def _complete_call(self, block: Block, text: str) -> CallDelta:
        """Return a delta with a complete call; for Anthropic's own tools, with its original input."""
        if block.name not in self._tools.natives:
            return super()._complete_call(block, text)
        input = parse_object(text)
        member = as_text(block.wire.get("name"))
        extra_keys = {key: block.wire[key] for key in block.wire.keys() - self.call_keys}
        arguments = dumps(self._tools.translate_native(block.name, input, member))
        extra = {WIRE: {**extra_keys, "name": member, "input": input}}
        return CallDelta(block.call_index, arguments=arguments, provider_options=extra)


def _is_unsigned_thinking(block: MessageBlock) -> bool:
    """Return True if a block is thinking with text but without a signature."""
    return (
        block.type == "thinking" and not block.wire.get("signature") and bool("".join(block.pieces))
    )


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = invert(
    {
        StreamDecoder._read_message: "message",
        StreamDecoder._start_message: "message_start",
        StreamDecoder._start_block: "content_block_start",
        StreamDecoder._extend_block: "content_block_delta",
        StreamDecoder._end_block: "content_block_stop",
        StreamDecoder._update_message: "message_delta",
        StreamDecoder._end_message: "message_stop",
        StreamDecoder._raise_error: "error",
    }
)
