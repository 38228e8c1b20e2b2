"""Chat Completions bodies that grow with their transcript (see ``growing.py``).

Each transcript is a buffer of JSON bytes; a request takes one copy of it for the HTTP client.
"""

from __future__ import annotations

from threading import Lock

from toolwright.messages import Message
from toolwright.model import ModelRequest
from toolwright.providers.chat_encode import ChatEncoder
from toolwright.providers.chat_profile import ChatProfile
from toolwright.providers.growing import Constant, Media, Transcripts, append_json
from toolwright.providers.openai_chat import encode_options, tool_names
from toolwright.providers.wire import dumps


class _Messages:
    """The messages of one run so far, as JSON."""

    __slots__ = ("_encoder", "_json")

    def __init__(self, names: dict[str, str], profile: ChatProfile, model: str) -> None:
        self._json = bytearray()
        self._encoder = ChatEncoder(names, profile, model)

    @property
    def late(self) -> bool:
        return self._encoder.late

    @property
    def size(self) -> int:
        return len(self._json)

    def add(self, message: Message) -> None:
        """Encode the next message."""
        append_json(self._json, self._encoder.add(message))

    def body(self, options: bytes) -> bytes:
        """The whole body; `options` is the JSON of its other keys, without the first brace."""
        tail = bytearray()
        append_json(tail, self._encoder.tail())
        comma = b"," if self._json and tail else b""
        return b"".join((b'{"messages":[', self._json, comma, tail, b"],", options))


class BodyCache:
    """Bodies of one model's requests; safe to use from several threads.

    Args:
        model: The model's name on the server.
        profile: What the server takes.
        stream: Whether answers shall be streamed.
        media: What becomes of pictures, sounds and files.
    """

    __slots__ = ("_lock", "_model", "_names", "_options", "_profile", "_stream", "_transcripts")

    def __init__(
        self, model: str, profile: ChatProfile, stream: bool, media: Media | None = None
    ) -> None:
        self._model = model
        self._profile = profile
        self._stream = stream
        self._lock = Lock()
        self._transcripts: Transcripts[_Messages] = Transcripts(media)
        self._names = Constant(lambda request: tool_names(request.tools))
        self._options = Constant(self._encode_options)

    def body(self, request: ModelRequest) -> bytes:
        """The JSON of the request's body, as `openai_chat.encode` would give it."""
        with self._lock:
            names = self._names.of(request)
            messages = self._transcripts.of(
                request.messages, names, lambda: _Messages(names, self._profile, self._model)
            )
            if self._profile.tools_with_calls:  # then they depend on the messages too
                return messages.body(self._encode_options(request))
            return messages.body(self._options.of(request))

    def names(self, request: ModelRequest) -> dict[str, str]:
        """Alias on the wire by the name of each of the request's tools."""
        with self._lock:
            return self._names.of(request)

    def _encode_options(self, request: ModelRequest) -> bytes:
        options = encode_options(request, self._model, self._stream, self._profile)
        return dumps(options)[1:].encode()
