"""Responses bodies that grow with their transcript (see ``growing.py``)."""

from __future__ import annotations

from threading import Lock

from toolwright.messages import Message
from toolwright.model import ModelRequest
from toolwright.providers.growing import Constant, Media, Transcripts, append_json
from toolwright.providers.responses_encode import ResponsesEncoder, encode_options
from toolwright.providers.wire import dumps
from toolwright.providers.wiretools import WireTools, wire_tools
from toolwright.record import record


@record
class Prepared:
    """What depends on a request's tools and settings alone.

    Args:
        tools: The tools on the wire.
        options: The JSON of the body's other keys, without the first brace.
    """

    tools: WireTools
    options: bytes


class _Items:
    """The input items of one run so far, as JSON."""

    __slots__ = ("_encoder", "_json")

    def __init__(self, tools: WireTools, model: str) -> None:
        self._json = bytearray()
        self._encoder = ResponsesEncoder(tools, model)

    @property
    def size(self) -> int:
        return len(self._json)

    @property
    def late(self) -> bool:
        return self._encoder.late

    def add(self, message: Message) -> None:
        """Encode the next message."""
        append_json(self._json, self._encoder.add(message))

    def body(self, options: bytes) -> bytes:
        """The whole body; `options` is the JSON of its other keys, without the first brace."""
        tail = bytearray()
        append_json(tail, self._encoder.tail())
        comma = b"," if self._json and tail else b""
        return b"".join((b'{"input":[', self._json, comma, tail, b"],", options))


class BodyCache:
    """Bodies of one model's requests; safe to use from several threads.

    Args:
        model: The model's name on the server.
        stream: Whether answers shall be streamed.
        media: What becomes of pictures, sounds and files.
        hosting: Whether the server has tools of its own.
    """

    __slots__ = ("_hosting", "_lock", "_model", "_prepared", "_stream", "_transcripts")

    def __init__(
        self, model: str, stream: bool, media: Media | None = None, hosting: bool = True
    ) -> None:
        self._hosting = hosting
        self._model = model
        self._stream = stream
        self._lock = Lock()
        self._transcripts: Transcripts[_Items] = Transcripts(media)
        self._prepared = Constant(self._prepare)

    def tools(self, request: ModelRequest) -> WireTools:
        """The request's tools on the wire."""
        with self._lock:
            return self._prepared.of(request).tools

    def body(self, request: ModelRequest) -> bytes:
        """The JSON of the request's body, as `openai_responses.encode` would give it."""
        with self._lock:
            prepared = self._prepared.of(request)
            tools = prepared.tools
            items = self._transcripts.of(
                request.messages, (tools.names, tools.keys), lambda: _Items(tools, self._model)
            )
            return items.body(prepared.options)

    def _prepare(self, request: ModelRequest) -> Prepared:
        strict = request.settings.strict
        tools = wire_tools(request.tools, "openai-responses", strict, hosting=self._hosting)
        keys = encode_options(request.settings, tools, self._model, self._stream)
        return Prepared(tools, dumps(keys)[1:].encode())
