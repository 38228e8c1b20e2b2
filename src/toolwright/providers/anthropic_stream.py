"""Anthropic's answers, whole and streamed, as deltas.

A stream is a message taken apart: its blocks come one after another, each with its start, its
pieces and its end, and what stands beside them comes first and last. A whole message is fed block
by block through the same door.

What a program does not know (blocks of the server's own tools, citations, redacted thinking) is
kept in the reply's ``extra["anthropic"]``: ``content`` says where each stood (``layout.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from toolwright.errors import model_error
from toolwright.messages import FinishReason, Usage
from toolwright.model import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolwright.providers.anthropic_block import Block, grow, usage_of
from toolwright.providers.layout import layout_of
from toolwright.providers.wire import (
    Json,
    TextPieces,
    as_dict,
    as_key,
    as_list,
    as_text,
    clean_text,
    dumps,
    extra_under,
    input_text,
    parsed_input,
    plain,
)
from toolwright.providers.wiretools import WireTools

WIRE = "anthropic"
PAUSE = "pause_turn"

REASONS: Mapping[str, FinishReason] = MappingProxyType(
    {
        "end_turn": "stop",
        "stop_sequence": "stop",
        PAUSE: "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refusal",
        "sensitive": "error",
    }
)
"""Every stop reason of this wire; any other is an error, none at all a cut-off reply."""

STATUS: Mapping[str, int] = MappingProxyType(
    {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
)
"""The HTTP status of an error that is sent inside a stream: there it has only its type."""

_TELLING = ("stop_sequence", "stop_details")
_CALL_KEYS = frozenset({"type", "id", "name", "input"})


class StreamDecoder:
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

    __slots__ = (
        "_blocks",
        "_by_index",
        "_calls",
        "_container",
        "_ended",
        "_model",
        "_reason",
        "_spent",
        "_text",
        "_thought",
        "_told",
        "_tools",
        "_usage",
    )

    def __init__(self, tools: WireTools | None = None) -> None:
        self._tools = tools or WireTools()
        self._blocks: list[Block] = []
        self._by_index: dict[object, Block] = {}
        self._calls = 0
        self._text = TextPieces()
        self._thought = TextPieces()
        self._reason = ""
        self._ended = False
        self._model = ""
        self._container = ""
        self._told: Json = {}
        self._usage: Json = {}
        self._spent = Usage()

    @property
    def paused(self) -> bool:
        """Whether the model only pauses: send `content` back for it to go on."""
        return self._ended and self._reason == PAUSE

    def content(self) -> list[Json]:
        """The blocks so far, to send back."""
        return [block.back() for block in self._blocks if block.kind]

    def feed(self, event: object) -> list[Delta]:
        """The deltas in one event.

        Args:
            event: A dict, its JSON text, or an SDK's event. Pings, unknown events, and those an
                SDK's helpers add hold nothing; a whole message is one event. After a pause the
                next message goes on with the same reply.

        Raises:
            ModelError: if the event is an error, or no JSON.
        """
        if isinstance(event, str | bytes) and event.strip() in ("", "[DONE]", b"", b"[DONE]"):
            return []
        data = as_dict(plain(event))
        kind = as_text(data.get("type")) or ("message" if "content" in data else "")
        handler = _HANDLERS.get(kind)
        return handler(self, data) if handler is not None else []

    def finish(self) -> list[Delta]:
        """What is left at the end. There is no `Finish` in it if the message did not end."""
        deltas: list[Delta] = []
        for block in self._blocks:
            deltas += self._close(block)
        if self._ended:
            usage = self._spent + usage_of(self._usage)
            deltas.append(Finish(self._finish_reason(), usage, self._model, self._extra()))
        return deltas

    def whole(self, message: Json) -> list[Delta]:
        """The deltas of a whole message, as `feed` takes it.

        One that says ``stop_reason: null`` is a snapshot of a message that is still coming.
        """
        deltas = self._start({"message": {**message, "content": []}})
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for index, block in enumerate(as_list(blocks)):
            deltas += self._open({"index": index, "content_block": block})
            deltas += self._close(self._by_index[index])
        self._end_delta({"delta": message, "usage": message.get("usage")})
        self._ended = bool(self._reason) or "stop_reason" not in message
        return deltas

    def _finish_reason(self) -> FinishReason:
        reason = REASONS.get(self._reason, "error") if self._reason else "stop"
        return "tool_calls" if reason == "stop" and self._calls else reason

    def _extra(self) -> Mapping[str, object]:
        extra: Json = dict(self._told)
        layout = layout_of([(kind, block.back()) for block in self._blocks if (kind := block.kind)])
        if layout:
            extra["content"] = layout
        if self._container:
            extra["container"] = self._container
        if self._reason == PAUSE or self._reason not in {"", *REASONS}:
            extra["stop_reason"] = self._reason
        return extra_under(WIRE, extra)

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
        block = Block(dict(as_dict(data.get("content_block"))), self._calls)
        self._blocks.append(block)
        self._by_index[as_key(data.get("index"))] = block
        wire = block.wire
        match wire.get("type"):
            case "text":
                return self._say(block, as_text(wire.get("text")))
            case "thinking":
                thought = self._think(block, as_text(wire.get("thinking")))
                return thought + self._sign(block, as_text(wire.get("signature")))
            case "tool_use":
                self._calls += 1
                block.name = self._tools.own(as_text(wire.get("name")))
                kept = {key: wire[key] for key in wire.keys() - _CALL_KEYS if wire[key] is not None}
                if block.name in self._tools.natives:
                    kept["name"] = as_text(wire.get("name"))
                extra = extra_under(WIRE, kept)
                return [CallDelta(block.number, as_text(wire.get("id")), block.name, "", extra)]
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
            block = self._by_index[as_key(data.get("index"))]
        match delta.get("type"):
            case "text_delta":
                return deltas + self._say(block, as_text(delta.get("text")))
            case "thinking_delta":
                return deltas + self._think(block, as_text(delta.get("thinking")))
            case "signature_delta":
                return deltas + self._sign(block, as_text(delta.get("signature")))
            case "input_json_delta":
                return self._argue(block, as_text(delta.get("partial_json")))
            case "citations_delta":
                cited = as_list(block.wire.get("citations"))
                block.wire["citations"] = [*cited, delta.get("citation")]
            case _:
                grow(block.wire, delta)
        return deltas

    def _stop(self, data: Json) -> list[Delta]:
        block = self._by_index.get(as_key(data.get("index")))
        return self._close(block) if block is not None else []

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
        error = as_dict(data.get("error"))
        kind = as_text(error.get("type"))
        message = as_text(error.get("message")) or kind or "the server sent an error"
        raise model_error(message, status=STATUS.get(kind))

    def _note(self, holder: Json) -> None:
        """Take usage, which is cumulative and may be null in parts, and the container."""
        for key, value in as_dict(holder.get("usage")).items():
            if value is not None:
                self._usage[key] = value
        self._container = as_text(as_dict(holder.get("container")).get("id")) or self._container

    # — blocks —

    def _say(self, block: Block, text: str) -> list[Delta]:
        said = self._text.feed(text)
        block.pieces.append(said)
        return [TextDelta(said)] if said else []

    def _think(self, block: Block, text: str) -> list[Delta]:
        thought = self._thought.feed(text)
        block.pieces.append(thought)
        return [ReasoningDelta(thought)] if thought else []

    def _sign(self, block: Block, signature: str) -> list[Delta]:
        signature = clean_text(signature)
        if not signature:
            return []
        block.wire["signature"] = signature
        return [ReasoningDelta("", signature)]

    def _argue(self, block: Block, piece: str) -> list[Delta]:
        text = block.arguments.feed(piece)
        block.pieces.append(text)
        if block.type != "tool_use" or not text or self._is_rewritten(block.name):
            return []
        return [CallDelta(block.number, arguments=text)]

    def _close(self, block: Block) -> list[Delta]:
        """End a block; a call's arguments are said now if they have not been yet."""
        if not block.open or block.type != "tool_use":
            return []
        block.open = False
        text = "".join(block.pieces)
        if not text.strip():
            text = input_text(block.wire.get("input"))
        elif not self._is_rewritten(block.name):
            return []
        if block.name in self._tools.natives:
            return [self._native(block, text)]
        return [CallDelta(block.number, arguments=self._tools.inward(block.name, text))]

    def _is_rewritten(self, name: str) -> bool:
        """Whether a call's arguments are others here than on the wire: then it is said whole."""
        return name in self._tools.keys or name in self._tools.natives

    def _native(self, block: Block, text: str) -> CallDelta:
        """A call of a tool that is Anthropic's own, with its input as it goes back."""
        given = parsed_input(text)
        member = as_text(block.wire.get("name"))
        kept = {key: block.wire[key] for key in block.wire.keys() - _CALL_KEYS}
        arguments = dumps(self._tools.translated(block.name, given, member))
        extra = {WIRE: {**kept, "name": member, "input": given}}
        return CallDelta(block.number, arguments=arguments, extra=extra)


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = MappingProxyType(
    {
        "message": StreamDecoder.whole,
        "message_start": StreamDecoder._start,
        "content_block_start": StreamDecoder._open,
        "content_block_delta": StreamDecoder._piece,
        "content_block_stop": StreamDecoder._stop,
        "message_delta": StreamDecoder._end_delta,
        "message_stop": StreamDecoder._end,
        "error": StreamDecoder._fail,
    }
)
