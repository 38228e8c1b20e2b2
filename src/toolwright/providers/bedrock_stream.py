"""Converse answers, whole and streamed, as deltas.

A stream is made of events with one key each, as boto3 gives them; the last word is
``messageStop``, and what was spent comes after it. Text has no start event. What a program does
not know (the server's own tools, citations, redacted reasoning) is kept in the reply's
``extra["bedrock"]``: ``content`` says where each stood (``layout.py``), with bytes as base64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from toolwright.errors import ModelError, model_error
from toolwright.messages import FinishReason, Usage
from toolwright.model import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolwright.providers.bedrock_block import Block, joined
from toolwright.providers.layout import Kind, layout_of
from toolwright.providers.wire import (
    Json,
    TextPieces,
    as_count,
    as_dict,
    as_key,
    as_list,
    as_text,
    clean_text,
    extra_under,
    input_text,
    plain,
)
from toolwright.providers.wiretools import WireTools

WIRE = "bedrock"

REASONS: Mapping[str, FinishReason] = MappingProxyType(
    {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "guardrail_intervened": "refusal",
        "content_filtered": "refusal",
        "malformed_model_output": "error",
        "malformed_tool_use": "error",
    }
)
"""Every stop reason of this wire; any other is an error, none at all a cut-off reply."""

STATUS: Mapping[str, int] = MappingProxyType(
    {
        "validationException": 400,
        "modelStreamErrorException": 424,
        "throttlingException": 429,
        "internalServerException": 500,
        "serviceUnavailableException": 503,
    }
)
"""The HTTP status of an error that is sent inside a stream."""

_CALL_KEYS = frozenset({"toolUseId", "name", "input", "type"})


class StreamDecoder:
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

    __slots__ = (
        "_blocks",
        "_by_index",
        "_calls",
        "_model",
        "_reason",
        "_text",
        "_thought",
        "_told",
        "_tools",
        "_usage",
    )

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        self._tools = tools or WireTools()
        self._model = model
        self._blocks: list[Block] = []
        self._by_index: dict[object, Block] = {}
        self._calls = 0
        self._text = TextPieces()
        self._thought = TextPieces()
        self._reason = ""
        self._told: Json = {}
        self._usage: Json = {}

    def feed(self, event: object) -> list[Delta]:
        """The deltas in one event.

        Args:
            event: A dict with the event under its name, or its JSON text. Unknown events hold
                nothing.

        Raises:
            ModelError: if the event is an error, or no JSON.
        """
        deltas: list[Delta] = []
        for name, body in as_dict(plain(event)).items():
            if name in STATUS:
                raise_error(name, as_dict(body))
            handler = _HANDLERS.get(name)
            if handler is not None:
                deltas += handler(self, as_dict(body))
        return deltas

    def finish(self) -> list[Delta]:
        """What is left at the end. There is no `Finish` in it if the message did not end."""
        deltas: list[Delta] = []
        for block in self._blocks:
            deltas += self._close(block)
        if self._reason:
            usage = usage_of(self._usage)
            deltas.append(Finish(self._finish_reason(), usage, self._model, self._extra()))
        return deltas

    def whole(self, answer: Json) -> list[Delta]:
        """The deltas of a whole answer, or of its message alone.

        Raises:
            ModelError: if it is neither.
        """
        if "output" not in answer and "content" not in answer:
            said = answer.get("message") or answer.get("Message") or str(answer)[:80]
            raise ModelError(f"the server's answer is none: {said!r}")
        message = as_dict(as_dict(answer.get("output")).get("message")) or answer
        deltas: list[Delta] = []
        for index, wire in enumerate(as_list(message.get("content"))):
            for key, body in as_dict(wire).items():
                deltas += self._block(index, key, body)
        self._stop({"stopReason": answer.get("stopReason") or "end_turn", **answer})
        self._metadata(answer)
        return deltas

    def _finish_reason(self) -> FinishReason:
        reason = REASONS.get(self._reason, "error")
        return "tool_calls" if reason == "stop" and self._calls else reason

    def _extra(self) -> Mapping[str, object]:
        extra: Json = dict(self._told)
        layout = layout_of([(one.kind, one.back()) for one in self._blocks if not one.empty])
        if layout:
            extra["content"] = layout
        if REASONS.get(self._reason, "error") in ("refusal", "error"):
            extra["stopReason"] = self._reason
        return extra_under(WIRE, extra)

    # — events —

    def _start(self, data: Json) -> list[Delta]:
        start = as_dict(data.get("start"))
        for key, body in start.items():
            return self._open(as_key(data.get("contentBlockIndex")), key, dict(as_dict(body)))
        return []

    def _piece(self, data: Json) -> list[Delta]:
        deltas: list[Delta] = []
        for key, piece in as_dict(data.get("delta")).items():
            deltas += self._grow(as_key(data.get("contentBlockIndex")), key, piece)
        return deltas

    def _end(self, data: Json) -> list[Delta]:
        block = self._by_index.get(as_key(data.get("contentBlockIndex")))
        return self._close(block) if block is not None else []

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
        block = self._add(index, Block("call" if ours else "other", key, body))
        if not ours:
            return []
        block.number = self._calls
        self._calls += 1
        block.name = self._tools.own(as_text(body.get("name")))
        kept = {key: body[key] for key in body.keys() - _CALL_KEYS if body[key] is not None}
        extra = extra_under(WIRE, kept)
        return [CallDelta(block.number, as_text(body.get("toolUseId")), block.name, "", extra)]

    def _grow(self, index: object, key: str, piece: object) -> list[Delta]:
        match key:
            case "text":
                return self._say(self._at(index, "text", "text"), as_text(piece))
            case "reasoningContent":
                return self._think(self._at(index, "reasoning", key), as_dict(piece))
            case "citation":
                block = self._at(index, "text", "text")
                block.kind, block.key = "other", "citationsContent"
                block.body["citations"] = [*as_list(block.body.get("citations")), piece]
            case "toolUse":
                return self._argue(index, as_text(as_dict(piece).get("input")))
            case _:
                self._keep(index, key, piece)
        return []

    def _at(self, index: object, kind: Kind, key: str) -> Block:
        """The block at `index`, which may begin without a start event."""
        return self._by_index.get(index) or self._add(index, Block(kind, key, {}))

    def _add(self, index: object, block: Block) -> Block:
        self._blocks.append(block)
        self._by_index[index] = block
        return block

    def _say(self, block: Block, text: str) -> list[Delta]:
        said = self._text.feed(text)
        block.pieces.append(said)
        return [TextDelta(said)] if said else []

    def _think(self, block: Block, piece: Json) -> list[Delta]:
        redacted = piece.get("redactedContent")
        signature = clean_text(as_text(piece.get("signature")))
        thought = self._thought.feed(as_text(piece.get("text")))
        block.pieces.append(thought)
        deltas: list[Delta] = [ReasoningDelta(thought)] if thought else []
        if signature:
            block.body["signature"] = signature
            deltas.append(ReasoningDelta("", signature))
        if redacted:
            block.kind = "other"
            block.body["redactedContent"] = joined(block.body.get("redactedContent"), redacted)
        return deltas

    def _argue(self, index: object, piece: str) -> list[Delta]:
        block = self._by_index.get(index)
        if block is None:
            return []
        text = block.arguments.feed(piece)
        block.pieces.append(text)
        if block.kind != "call" or not text or block.name in self._tools.keys:
            return []
        return [CallDelta(block.number, arguments=text)]

    def _keep(self, index: object, key: str, piece: object) -> None:
        """Take a piece of what the server's own tools said, or of anything nobody knows."""
        block = self._at(index, "other", key)
        if isinstance(piece, list):
            block.body["content"] = [*as_list(block.body.get("content")), *piece]
        else:
            block.body |= as_dict(piece)

    def _close(self, block: Block) -> list[Delta]:
        """End a block; a call's arguments are said now if they have not been yet."""
        if not block.open or block.kind != "call":
            return []
        block.open = False
        text = "".join(block.pieces)
        if not text.strip():
            text = input_text(block.body.get("input"))
        elif block.name not in self._tools.keys:
            return []
        return [CallDelta(block.number, arguments=self._tools.inward(block.name, text))]


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = MappingProxyType(
    {
        "contentBlockStart": StreamDecoder._start,
        "contentBlockDelta": StreamDecoder._piece,
        "contentBlockStop": StreamDecoder._end,
        "messageStop": StreamDecoder._stop,
        "metadata": StreamDecoder._metadata,
    }
)


def raise_error(name: str, body: Json) -> None:
    """Raise an error that was sent inside a stream.

    Raises:
        ModelError: with the server's own words, and the status that its name stands for.
    """
    status = as_count(body.get("originalStatusCode")) or STATUS.get(name)
    said = as_text(body.get("originalMessage")) or as_text(body.get("message")) or name
    raise model_error(said, status=status)


def usage_of(usage: Json) -> Usage:
    """One request's tokens. The wire counts cached ones beside ``inputTokens``; we count all."""
    read = as_count(usage.get("cacheReadInputTokens"))
    written = as_count(usage.get("cacheWriteInputTokens"))
    tokens = as_count(usage.get("inputTokens")) + read + written
    return Usage(1, tokens, as_count(usage.get("outputTokens")), read)
