"""Reads Anthropic's answers, whole and streamed, as deltas.

A stream is a message taken apart: its blocks come one after another, each with its start, its
pieces and its end, and what stands beside them comes first and last. A whole message is fed block
by block through the same door.

What a program does not know (blocks of the server's own tools, citations, redacted thinking) is
kept in the reply's ``provider_options["anthropic"]``: ``content`` says where each stood (``part_order.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolkeel.messages import FinishReason, Usage
from toolkeel.model_interface import CallDelta, Delta
from toolkeel.providers.anthropic.profile import PAUSE, REASONS, WIRE, usage_of
from toolkeel.providers.wire.decoder import Block, BlockDecoder
from toolkeel.providers.wire.part_order import Kind
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_key,
    as_list,
    as_text,
    by_word,
    dumps,
    parsed_input,
    response_of,
)
from toolkeel.providers.wire.server_errors import incomplete_response, sent_error
from toolkeel.providers.wire.tools import WireTools

_TELLING = ("stop_sequence", "stop_details")


class MessageBlock(Block):
    """A content block whose pieces are still coming."""

    __slots__ = ()

    @property
    def type(self) -> object:
        return self.wire.get("type")

    @property
    def part(self) -> Kind | None:
        """What it is in a layout; None if there is nothing in it."""
        if self.type == "text":
            told = "".join(self.pieces)
            return None if not told else "other" if self.wire.get("citations") else "text"
        if self.type == "thinking":
            return "reasoning" if self.wire.get("signature") or "".join(self.pieces) else None
        return "call" if self.type == "tool_use" else "other"

    def back(self) -> Json:
        """The block as it goes back."""
        text = "".join(self.pieces)
        match self.type:
            case "text":
                cited = self.wire.get("citations")
                return {"type": "text", "text": text, **({"citations": cited} if cited else {})}
            case "thinking":
                return {**self.wire, "thinking": text}
            case _ if text:
                return {**self.wire, "input": parsed_input(text)}
        return self.wire


def grow(wire: Json, delta: Json) -> None:
    """Add a piece of a kind nobody knows to its block: text to text, list to list."""
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
    """Events in, deltas out, nothing else: feed it from any client, sync or async.

    Args:
        tools: The tools as they were sent; then calls carry their own names again.

    >>> decoder = StreamDecoder()
    >>> decoder.feed(
    ...     {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    ... )
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no message_stop: it was cut off
    []
    """

    target = WIRE
    reasons = REASONS
    usage_of = staticmethod(usage_of)
    call_keys = frozenset({"type", "id", "name", "input"})
    index = "index"

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._ended = False
        self._container = ""
        self._spent = Usage()

    def unfinished(self) -> list[Json]:
        """The reply so far, if the model only pauses: sent back, it goes on."""
        if not self._ended or self._reason != PAUSE:
            return []
        blocks = [block.back() for block in self._blocks if block.part]
        return [{"role": "assistant", "content": blocks}]

    def done(self) -> None:
        """The mark of the end that other servers of this wire send in place of ``message_stop``."""
        self._ended = self._ended or bool(self._reason)

    def take(self, data: Json) -> list[Delta]:
        """The deltas in one event.

        Pings, unknown events, and those an SDK's helpers add hold nothing. After a pause the next
        message goes on with the same reply.
        """
        kind = as_text(data.get("type")) or ("message" if "content" in data else "")
        handler = _HANDLERS.get(kind)
        return handler(self, data) if handler is not None else []

    def ended(self) -> bool:
        """Whether the message is over."""
        return self._ended

    def spent(self) -> Usage:
        """What the message cost, and those before it that paused."""
        return self._spent + super().spent()

    def why(self) -> FinishReason:
        """Why the message ended; one that came without a reason simply did."""
        return super().why() if self._reason else "tool_calls" if self._calls else "stop"

    def read_response(self, reply: object) -> list[Delta]:
        """The deltas of a whole message.

        Raises:
            ModelError: if it is an error, or nothing that could be an answer.
        """
        data = response_of(WIRE, reply)
        deltas = self.take(data)
        if "content" not in data:
            raise incomplete_response("content", data)
        return deltas

    def _message(self, message: Json) -> list[Delta]:
        """A whole message; with ``stop_reason: null`` it is a snapshot of one still coming."""
        deltas = self._start({"message": {**message, "content": []}})
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for index, block in enumerate(as_list(blocks)):
            deltas += self._open({"index": index, "content_block": block})
            deltas += self._close(self._by_index[index])
        self._end_delta({"delta": message, "usage": message.get("usage")})
        self._ended = bool(self._reason) or "stop_reason" not in message
        return deltas

    def extra(self) -> Mapping[str, object]:
        """The blocks' order, the container, and a reason that says more than ours."""
        if self._container:
            self._told["container"] = self._container
        if self._reason == PAUSE or self._reason not in {"", *REASONS}:
            self._told["stop_reason"] = self._reason
        return super().extra()

    # — events —

    def _start(self, data: Json) -> list[Delta]:
        message = as_dict(data.get("message"))
        self._spent += usage_of(self._usage) if self._ended else Usage()
        self._usage = {}
        self._by_index.clear()
        self._ended, self._reason = False, ""
        self._model = as_text(message.get("model")) or self._model
        self._note(message)
        deltas: list[Delta] = []
        for index, block in enumerate(as_list(message.get("content"))):
            deltas += self._open({"index": index, "content_block": block})
        return deltas

    def _open(self, data: Json) -> list[Delta]:
        wire = dict(as_dict(data.get("content_block")))
        block = self._add(self._place(data), MessageBlock(wire))
        match wire.get("type"):
            case "text":
                return self._say(as_text(wire.get("text")), block.pieces)
            case "thinking":
                thought = self._think(as_text(wire.get("thinking")), block.pieces)
                return thought + self._sign(block, wire.get("signature"))
            case "tool_use":
                return self._begin_call(block, wire.get("id"))
        return []

    def _piece(self, data: Json) -> list[Delta]:
        delta = as_dict(data.get("delta"))
        block = self._by_index.get(as_key(data.get("index")))
        deltas: list[Delta] = []
        if block is None:  # its start never came
            started = {"text_delta": "text", "thinking_delta": "thinking"}
            kind = started.get(as_text(delta.get("type")))
            if kind is None:
                return []
            deltas += self._open({"index": data.get("index"), "content_block": {"type": kind}})
            block = self._by_index[self._place(data)]
        match delta.get("type"):
            case "text_delta":
                return deltas + self._say(as_text(delta.get("text")), block.pieces)
            case "thinking_delta":
                return deltas + self._think(as_text(delta.get("thinking")), block.pieces)
            case "signature_delta":
                return deltas + self._sign(block, delta.get("signature"))
            case "input_json_delta":
                return self._argue(block, as_text(delta.get("partial_json")))
            case "citations_delta":
                cited = as_list(block.wire.get("citations"))
                block.wire["citations"] = [*cited, delta.get("citation")]
            case _:
                grow(block.wire, delta)
        return deltas

    def _end_delta(self, data: Json) -> list[Delta]:
        delta = as_dict(data.get("delta"))
        self._reason = as_text(delta.get("stop_reason")) or self._reason
        for key in _TELLING:
            if delta.get(key) is not None:
                self._told[key] = delta[key]
        self._note(delta)
        self._note(data)
        return []

    def _end(self, data: Json) -> list[Delta]:
        self._ended = True
        return []

    def _fail(self, data: Json) -> list[Delta]:
        raise sent_error(data)

    def _note(self, holder: Json) -> None:
        """Take usage, which is cumulative and may be null in parts, and the container."""
        for key, value in as_dict(holder.get("usage")).items():
            if value is not None:
                self._usage[key] = value
        self._container = as_text(as_dict(holder.get("container")).get("id")) or self._container

    # — blocks —

    def _whole_call(self, block: Block, text: str) -> CallDelta:
        """A call said at once; that of a tool of Anthropic's own with its input as it goes back."""
        if block.name not in self._tools.natives:
            return super()._whole_call(block, text)
        given = parsed_input(text)
        member = as_text(block.wire.get("name"))
        kept = {key: block.wire[key] for key in block.wire.keys() - self.call_keys}
        arguments = dumps(self._tools.translated(block.name, given, member))
        extra = {WIRE: {**kept, "name": member, "input": given}}
        return CallDelta(block.number, arguments=arguments, provider_options=extra)


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = by_word(
    {
        StreamDecoder._message: "message",
        StreamDecoder._start: "message_start",
        StreamDecoder._open: "content_block_start",
        StreamDecoder._piece: "content_block_delta",
        StreamDecoder._end_block: "content_block_stop",
        StreamDecoder._end_delta: "message_delta",
        StreamDecoder._end: "message_stop",
        StreamDecoder._fail: "error",
    }
)
