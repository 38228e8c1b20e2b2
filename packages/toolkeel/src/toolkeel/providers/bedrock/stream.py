"""Reads Converse answers, whole and streamed, as deltas.

A stream is made of events with one key each, as boto3 gives them or as the wire has them, where
bytes are base64; the last word is
``messageStop``, and what was spent comes after it. Text has no start event. What a program does
not know (the server's own tools, citations, redacted reasoning) is kept in the reply's
``provider_options["bedrock"]``: ``content`` says where each stood (``part_order.py``), with bytes as base64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolkeel.messages import FinishReason
from toolkeel.model_interface import Delta
from toolkeel.providers.bedrock.profile import (
    REASONS,
    WIRE,
    is_only_masked,
    joined,
    packed,
    usage_of,
)
from toolkeel.providers.wire.decoder import Block, BlockDecoder
from toolkeel.providers.wire.part_order import Kind
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    by_word,
    parsed_input,
    response_of,
)
from toolkeel.providers.wire.server_errors import incomplete_response, sent_error


class ConverseBlock(Block):
    """A content block whose pieces are still coming.

    Args:
        kind: What it is in a layout.
        key: Its key on the wire.
        wire: What stands under that key so far.
    """

    __slots__ = ("key", "kind")

    def __init__(self, kind: Kind, key: str, wire: Json) -> None:
        super().__init__(wire)
        self.kind: Kind = kind
        self.key = key

    @property
    def part(self) -> Kind | None:
        """What it is in a layout; None if there is nothing in it."""
        empty = self.kind in ("text", "reasoning") and not (any(self.pieces) or self.wire)
        return None if empty else self.kind

    def back(self) -> Json:
        """The block as it goes back, its bytes as text."""
        text = "".join(self.pieces)
        match self.key:
            case "text":
                return {"text": text}
            case "citationsContent":
                return {self.key: {"content": [{"text": text}], **self.wire}}
            case "toolUse":
                input = parsed_input(text) if text else self.wire.get("input") or {}
                return {self.key: {**self.wire, "input": input}}
        return {self.key: packed(self.wire, raw=True)}


class StreamDecoder(BlockDecoder[ConverseBlock]):
    """Events in, deltas out, nothing else: feed it from any client, sync or async.

    Args:
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model was asked: the wire does not say which one answers.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}})
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no messageStop: it was cut off
    []
    """

    target = WIRE
    reasons = REASONS
    usage_of = staticmethod(usage_of)
    says_model = False
    call_keys = frozenset({"toolUseId", "name", "input", "type"})
    index = "contentBlockIndex"

    def take(self, data: Json) -> list[Delta]:
        """The deltas in one event: a dict with the event under its name."""
        deltas: list[Delta] = []
        for name, body in data.items():
            if name.endswith("Exception"):
                raise sent_error(as_dict(body), name)
            handler = _HANDLERS.get(name)
            if handler is not None:
                deltas += handler(self, as_dict(body))
        return deltas

    def read_response(self, reply: object) -> list[Delta]:
        """The deltas of a whole answer, or of its message alone.

        Raises:
            ModelError: if it is neither.
        """
        answer = response_of(WIRE, reply)
        if "output" not in answer and "content" not in answer:
            raise incomplete_response("output", answer)
        message = as_dict(as_dict(answer.get("output")).get("message")) or answer
        deltas: list[Delta] = []
        for index, wire in enumerate(as_list(message.get("content"))):
            for key, body in as_dict(wire).items():
                deltas += self._block(index, key, body)
        self._stop({"stopReason": answer.get("stopReason") or "end_turn", **answer})
        self._metadata(answer)
        return deltas

    def why(self) -> FinishReason:
        """Why the answer ended; a guardrail that only masked words did not end it."""
        if self._reason == "guardrail_intervened" and is_only_masked(self._told.get("trace")):
            return "stop"
        return super().why()

    def extra(self) -> Mapping[str, object]:
        """The blocks' order, and a reason that says more than ours."""
        if REASONS.get(self._reason, "error") in ("filtered", "error"):
            self._told["stopReason"] = self._reason
        return super().extra()

    # — events —

    def _start(self, data: Json) -> list[Delta]:
        start = as_dict(data.get("start"))
        for key, body in start.items():
            return self._open(self._place(data), key, dict(as_dict(body)))
        return []

    def _piece(self, data: Json) -> list[Delta]:
        deltas: list[Delta] = []
        for key, piece in as_dict(data.get("delta")).items():
            deltas += self._grow(self._place(data), key, piece)
        return deltas

    def _stop(self, data: Json) -> list[Delta]:
        self._reason = as_text(data.get("stopReason"))
        self._tell(data, "additionalModelResponseFields")
        return []

    def _metadata(self, data: Json) -> list[Delta]:
        self._usage = as_dict(data.get("usage")) or self._usage
        self._tell(data, "trace")
        return []

    def _tell(self, data: Json, key: str) -> None:
        if data.get(key):
            self._told[key] = data[key]

    # — blocks —

    def _block(self, index: int, key: str, body: object) -> list[Delta]:
        """A whole block, taken apart."""
        told = as_dict(body)
        if key == "text":
            return self._grow(index, key, body)
        if key == "reasoningContent":
            thought = as_dict(told.get("reasoningText")) or told
            deltas: list[Delta] = []
            for part in ("text", "signature", "redactedContent"):
                if thought.get(part):
                    deltas += self._grow(index, key, {part: thought[part]})
            return deltas
        if key == "citationsContent":
            said = "".join(
                as_text(as_dict(part).get("text")) for part in as_list(told.get("content"))
            )
            deltas = self._grow(index, "text", said)
            for citation in as_list(told.get("citations")):
                self._grow(index, "citation", citation)
            return deltas
        deltas = self._open(index, key, dict(told))
        return deltas + self._close(self._by_index[index])

    def _open(self, index: object, key: str, body: Json) -> list[Delta]:
        ours = key == "toolUse" and body.get("type") != "server_tool_use"
        block = self._add(index, ConverseBlock("call" if ours else "other", key, body))
        return self._begin_call(block, body.get("toolUseId")) if ours else []

    def _grow(self, index: object, key: str, piece: object) -> list[Delta]:
        match key:
            case "text":
                return self._say(as_text(piece), self._at(index, "text", "text").pieces)
            case "reasoningContent":
                return self._reason_on(self._at(index, "reasoning", key), as_dict(piece))
            case "citation":
                block = self._at(index, "text", "text")
                block.kind, block.key = "other", "citationsContent"
                block.wire["citations"] = [*as_list(block.wire.get("citations")), piece]
            case "toolUse" if index in self._by_index:
                return self._argue(self._by_index[index], as_text(as_dict(piece).get("input")))
            case "toolUse":
                return []
            case _:
                self._keep(index, key, piece)
        return []

    def _at(self, index: object, kind: Kind, key: str) -> ConverseBlock:
        """The block at `index`, which may begin without a start event."""
        return self._by_index.get(index) or self._add(index, ConverseBlock(kind, key, {}))

    def _reason_on(self, block: ConverseBlock, piece: Json) -> list[Delta]:
        deltas = self._think(as_text(piece.get("text")), block.pieces)
        deltas += self._sign(block, piece.get("signature"))
        if redacted := piece.get("redactedContent"):
            block.kind = "other"
            block.wire["redactedContent"] = joined(block.wire.get("redactedContent"), redacted)
        return deltas

    def _keep(self, index: object, key: str, piece: object) -> None:
        """Take a piece of what the server's own tools said, or of anything nobody knows."""
        block = self._at(index, "other", key)
        if isinstance(piece, list):
            block.wire["content"] = [*as_list(block.wire.get("content")), *piece]
        else:
            block.wire |= as_dict(piece)


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = by_word(
    {
        StreamDecoder._start: "contentBlockStart",
        StreamDecoder._piece: "contentBlockDelta",
        StreamDecoder._end_block: "contentBlockStop",
        StreamDecoder._stop: "messageStop",
        StreamDecoder._metadata: "metadata",
    }
)
