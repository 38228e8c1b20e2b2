"""Messages bodies that grow with their transcript (see ``growing.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from toolwright.messages import Message
from toolwright.model import ModelRequest
from toolwright.providers.anthropic_encode import (
    AnthropicBlocks,
    AnthropicOptions,
    encode_options,
    end_of,
    head_of,
    past_tools,
)
from toolwright.providers.growing import Constant, Media, Transcripts, append_json
from toolwright.providers.turns import TurnEncoder
from toolwright.providers.wire import Json, as_list, dumps
from toolwright.providers.wiretools import WireTools, wire_tools
from toolwright.record import record


@record
class Prepared:
    """What depends on a request's tools and settings alone.

    Args:
        tools: The tools on the wire.
        options: The JSON of the body's other keys, without the first brace.
        has_tools: Whether they say ``tools``.
        betas: Which features in test to ask for, for the header ``anthropic-beta``.
    """

    tools: WireTools
    options: bytes
    has_tools: bool
    betas: tuple[str, ...]


class _Messages:
    """The messages of one run so far, as JSON."""

    __slots__ = ("_blocks", "_cache", "_encoder", "_json", "_tools")

    def __init__(self, tools: WireTools, options: AnthropicOptions) -> None:
        self._tools = tools
        self._cache = options.prompt_cache
        self._json = bytearray()
        self._blocks = AnthropicBlocks(tools, options)
        self._encoder = TurnEncoder(self._blocks)

    @property
    def size(self) -> int:
        return len(self._json)

    @property
    def late(self) -> bool:
        return self._encoder.late

    def add(self, message: Message) -> None:
        """Encode the next message."""
        append_json(self._json, self._encoder.add(message))

    def body(self, prepared: Prepared, more: Sequence[Json]) -> bytes:
        """The whole body, with `more` messages at the end."""
        end = bytearray()
        append_json(end, [*end_of(self._encoder, self._cache), *more])
        comma = b"," if self._json and end else b""
        head = head_of(self._encoder, self._blocks.container, self._cache)
        if not prepared.has_tools:
            head |= past_tools(self._encoder.called, self._tools)
        keys = dumps(head)[1:-1].encode() + b"," if head else b""
        parts = (b'{"messages":[', self._json, comma, end, b"],", keys, prepared.options)
        return b"".join(parts)


class BodyCache:
    """Bodies of one model's requests; safe to use from several threads.

    Args:
        options: How to encode.
        media: What becomes of pictures, sounds and files.
    """

    __slots__ = ("_lock", "_options", "_prepared", "_transcripts")

    def __init__(self, options: AnthropicOptions, media: Media | None = None) -> None:
        self._options = options
        self._lock = Lock()
        self._transcripts: Transcripts[_Messages] = Transcripts(media)
        self._prepared = Constant(self._prepare)

    def prepared(self, request: ModelRequest) -> Prepared:
        """What depends on the request's tools and settings alone."""
        with self._lock:
            return self._prepared.of(request)

    def body(self, request: ModelRequest, more: Sequence[Json] = ()) -> bytes:
        """The JSON of the request's body, as `anthropic.encode` would give it.

        Args:
            request: Messages, tools and settings.
            more: Messages behind those of the transcript, as the wire has them.
        """
        with self._lock:
            prepared = self._prepared.of(request)
            tools = prepared.tools
            messages = self._transcripts.of(
                request.messages, (tools.names, tools.keys), lambda: _Messages(tools, self._options)
            )
            return messages.body(prepared, more)

    def _prepare(self, request: ModelRequest) -> Prepared:
        settings = request.settings
        extra = dict(settings.extra)
        tools = wire_tools(
            request.tools, "anthropic", settings.strict, hosting=self._options.hosting
        )
        asked = map(str, as_list(extra.pop("betas", None)))
        betas = tuple(dict.fromkeys([*asked, *tools.betas]))
        keys = encode_options(replace(settings, extra=extra), tools, self._options)
        return Prepared(tools, dumps(keys)[1:].encode(), "tools" in keys, betas)
