"""Decodes Converse answers, complete and streamed, into deltas.

A stream has events with one key each, as boto3 returns them or as the wire has them, with bytes as
base64; the last event is ``messageStop``, and the usage comes after it. Text has no start event.
Data that programs do not read (the server's own tools, citations, redacted reasoning) is kept in the
reply's ``provider_options["bedrock"]``, with its position in ``content`` (`wire.part_order`) and bytes as base64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolkeel.messages import FinishReason
from toolkeel.model_interface import Delta
from toolkeel.providers.bedrock.profile import (
    REASONS,
    WIRE,
    append_bytes,
    is_only_masked,
    pack_bytes,
    parse_usage,
)
from toolkeel.providers.wire.decoder import Block, BlockDecoder
from toolkeel.providers.wire.part_order import Kind
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_piece,
    as_dict,
    as_list,
    as_parts,
    as_text,
    invert,
    parse_object,
    parse_response,
)
from toolkeel.providers.wire.server_errors import incomplete_response, known_word, reported_error


class ConverseBlock(Block):
    """A content block that is still arriving.

    Args:
        kind: Its kind in a layout.
        key: Its key on the wire.
        wire: The value under that key so far.
    """

    __slots__ = ("key", "kind")

    def __init__(self, kind: Kind, key: str, wire: Json) -> None:
        super().__init__(wire)
        self.kind: Kind = kind
        self.key = key

    @property
    def layout_kind(self) -> Kind | None:
        """The block's kind in a layout; None if it is empty."""
        empty = self.kind in ("text", "reasoning") and not (any(self.pieces) or self.wire)
        return None if empty else self.kind

    def to_wire(self) -> Json:
        """Return the block in the form that is sent back, with bytes as text."""
        text = "".join(self.pieces)
        match self.key:
            case "text":
                return {"text": text}
            case "citationsContent":
                cited: Json = {"content": [{"text": text}]} if text else {}  # Nova cites without
                return {self.key: {**cited, **self.wire}}
            case "toolUse":
                input = parse_object(text) if text else self.wire.get("input") or {}
                return {self.key: {**self.wire, "input": input}}
        return {self.key: pack_bytes(self.wire, raw=True)}


class StreamDecoder(BlockDecoder[ConverseBlock]):
    """Turns events of an answer into deltas; works with any client, sync or async.

    Args:
        tools: The tools as they were sent; calls get the tools' own names back.
        model: The requested model: the wire does not report which one answers.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}})
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no messageStop: it was cut off
    []
    """

    target = WIRE
    finish_reasons = REASONS
    parse_usage = staticmethod(parse_usage)
    reports_model = False
    call_keys = frozenset({"toolUseId", "name", "input", "type"})
    index_key = "contentBlockIndex"

    def handle_event(self, data: Json) -> list[Delta]:
        """Return the deltas of one event: a dict with the event under its name.

        Raises:
            ModelError: the event reports an exception of the service.
        """
        deltas: list[Delta] = []
        for name, body in data.items():
            if name.endswith("Exception"):
                raise reported_error(as_dict(body), name)
            handler = _HANDLERS.get(name)
            if handler is not None:
                deltas += handler(self, as_dict(body))
        return deltas

    def read_response(self, reply: object) -> list[Delta]:
        """Decode a complete answer, or its message alone, into deltas.

        Raises:
            ModelError: if it is neither.
        """
        answer = parse_response(WIRE, reply)
        if "output" not in answer and "content" not in answer:
            raise incomplete_response("output", answer)
        message = as_dict(as_dict(answer.get("output")).get("message")) or answer
        deltas: list[Delta] = []
        for index, wire in enumerate(as_parts(message.get("content"))):
            for key, body in wire.items():
                deltas += self._read_block(index, key, body)
        self._end_message({"stopReason": answer.get("stopReason") or "end_turn", **answer})
        self._read_metadata(answer)
        return deltas

    def finish_reason(self) -> FinishReason:
        """Return why the answer ended.

        A guardrail that only masked words ended nothing: "tool_calls" or "stop". Else as the base class.
        """
        if self._reason == "guardrail_intervened" and is_only_masked(self._extra.get("trace")):
            return "tool_calls" if self._call_count else "stop"
        return super().finish_reason()

    def provider_options(self) -> Mapping[str, object]:
        """Return the blocks' order, and a stop reason more precise than ours."""
        if REASONS.get(self._reason, "error") in ("filtered", "error"):
            self._extra["stopReason"] = self._reason
        return super().provider_options()

    # — events —

    def _start_block(self, data: Json) -> list[Delta]:
        """Register a block that starts; return the first delta of a call."""
        start = as_dict(data.get("start"))
        for key, body in start.items():
            return self._open_block(self._block_key(data), key, dict(as_dict(body)))
        return []

    def _extend_blocks(self, data: Json) -> list[Delta]:
        """Add each piece of an event to its block and return the deltas."""
        deltas: list[Delta] = []
        for key, piece in as_dict(data.get("delta")).items():
            deltas += self._extend_block(self._block_key(data), key, piece)
        return deltas

    def _end_message(self, data: Json) -> list[Delta]:
        """Record why the message ended, and the model's extra fields. Return no deltas."""
        self._reason = known_word(data.get("stopReason"), REASONS)
        self._keep_extra(data, "additionalModelResponseFields")
        return []

    def _read_metadata(self, data: Json) -> list[Delta]:
        """Record the usage and a guardrail's trace; return no deltas."""
        self._usage = as_dict(data.get("usage")) or self._usage
        self._keep_extra(data, "trace")
        return []

    def _keep_extra(self, data: Json, key: str) -> None:
        """Copy a field of an event to the reply's provider options, unless it is empty."""
        if data.get(key):
            self._extra[key] = data[key]

    # — blocks —

    def _read_block(self, index: int, key: str, body: object) -> list[Delta]:
        """Return the deltas of a complete block.

        Args:
            index: Its index in the answer.
            key: Its kind, such as ``text`` or ``toolUse``.
            body: Its content.
        """
        fields = as_dict(body)
        if key == "text":
            return self._extend_block(index, key, body)
        if key == "reasoningContent":
            thought = as_dict(fields.get("reasoningText")) or fields
            deltas: list[Delta] = []
            for part in ("text", "signature", "redactedContent"):
                if thought.get(part):
                    deltas += self._extend_block(index, key, {part: thought[part]})
            return deltas
        if key == "citationsContent":
            cited_text = "".join(
                as_text(as_dict(part).get("text")) for part in as_list(fields.get("content"))
            )
            deltas = self._extend_block(index, "text", cited_text)
            for citation in as_list(fields.get("citations")):
                self._extend_block(index, "citation", citation)
            return deltas
        deltas = self._open_block(index, key, dict(fields))
        return deltas + self._close_block(self._by_index[index])

    def _open_block(self, index: object, key: str, body: Json) -> list[Delta]:
        """Register a block at `index`; return the first delta of a call of the program's tools."""
        ours = key == "toolUse" and body.get("type") != "server_tool_use"
        block = self._add_block(index, ConverseBlock("call" if ours else "other", key, body))
        return self._start_call(block, body.get("toolUseId")) if ours else []

    def _extend_block(self, index: object, key: str, piece: object) -> list[Delta]:
        """Add one piece to its block; return deltas for text, reasoning and arguments."""
        match key:
            case "text":
                return self._text_delta(
                    as_text(piece), self._block_at(index, "text", "text").pieces
                )
            case "reasoningContent":
                return self._reasoning_delta(
                    self._block_at(index, "reasoning", key), as_dict(piece)
                )
            case "citation":
                block = self._block_at(index, "text", "text")
                block.kind, block.key = "other", "citationsContent"
                block.wire["citations"] = [*as_list(block.wire.get("citations")), piece]
            case "toolUse" if index in self._by_index:
                return self._arguments_delta(
                    self._by_index[index], arguments_piece(as_dict(piece).get("input"))
                )
            case "toolUse":
                return []
            case _:
                self._keep_unknown(index, key, piece)
        return []

    def _block_at(self, index: object, kind: Kind, key: str) -> ConverseBlock:
        """Return the block at `index`; if there is none, register one: text and reasoning have no start event."""
        return self._by_index.get(index) or self._add_block(index, ConverseBlock(kind, key, {}))

    def _reasoning_delta(self, block: ConverseBlock, piece: Json) -> list[Delta]:
        """Return deltas for a piece of reasoning and its signature.

        Redacted bytes are stored in the block, which becomes one of another kind.
        """
        deltas = self._thinking_delta(as_text(piece.get("text")), block.pieces)
        deltas += self._signature_delta(block, piece.get("signature"))
        if redacted := piece.get("redactedContent"):
            block.kind = "other"
            block.wire["redactedContent"] = append_bytes(
                block.wire.get("redactedContent"), redacted
            )
        return deltas

    def _keep_unknown(self, index: object, key: str, piece: object) -> None:
        """Keep a piece of a server tool's output, or of an unknown block."""
        block = self._block_at(index, "other", key)
        if isinstance(piece, list):
            block.wire["content"] = [*as_list(block.wire.get("content")), *piece]
        else:
            block.wire |= as_dict(piece)


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = invert(
    {
        StreamDecoder._start_block: "contentBlockStart",
        StreamDecoder._extend_blocks: "contentBlockDelta",
        StreamDecoder._end_block: "contentBlockStop",
        StreamDecoder._end_message: "messageStop",
        StreamDecoder._read_metadata: "metadata",
    }
)
