"""Request bodies that cost what the last turn added, not what the whole transcript holds.

A transcript only grows between the requests of a run, so each one has a buffer of JSON bytes
that grows with it: a turn encodes its own messages, and takes one copy for the HTTP client. A
request is recognised by its messages, object by object; one that continues nothing known starts
a buffer of its own. Options and tools are kept as bytes too while they stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from threading import Lock

from toolwright.messages import Message
from toolwright.model import ModelRequest, Settings, ToolDefinition
from toolwright.providers.chat_encode import ChatEncoder
from toolwright.providers.chat_profile import ChatProfile
from toolwright.providers.openai_chat import encode_options, tool_names
from toolwright.providers.wire import Json, dumps

MAX_TRANSCRIPTS = 16
MAX_BYTES = 64 * 1024 * 1024
"""How many transcripts are remembered, and how many bytes of them, beside the latest."""


class _Transcript:
    """The messages of one run so far, and their JSON."""

    __slots__ = ("_encoder", "json", "messages", "names")

    def __init__(self, names: dict[str, str], profile: ChatProfile, model: str) -> None:
        self.names = names
        self.messages: list[Message] = []
        self.json = bytearray()
        self._encoder = ChatEncoder(names, profile, model)

    def is_begun_by(self, messages: Sequence[Message], names: dict[str, str]) -> bool:
        """Whether `messages` are these and perhaps more."""
        known = self.messages
        if not known or len(known) > len(messages) or known[-1] is not messages[len(known) - 1]:
            return False
        return all(map(is_, known, messages)) and self.names == names

    def extend(self, messages: Sequence[Message]) -> None:
        """Encode those of `messages` that are new."""
        for message in messages[len(self.messages) :]:
            self._append(self.json, self._encoder.add(message))
            self.messages.append(message)

    def body(self, options: bytes) -> bytes:
        """The whole body; `options` is the JSON of its other keys, without the first brace."""
        tail = bytearray()
        self._append(tail, self._encoder.tail())
        comma = b"," if self.json and tail else b""
        return b"".join((b'{"messages":[', self.json, comma, tail, b"],", options))

    @staticmethod
    def _append(buffer: bytearray, wires: list[Json]) -> None:
        for wire in wires:
            if buffer:
                buffer += b","
            buffer += dumps(wire).encode()


class BodyCache:
    """Bodies of one model's requests; safe to use from several threads.

    Args:
        model: The model's name on the server.
        profile: What the server takes.
        stream: Whether answers shall be streamed.
    """

    __slots__ = (
        "_lock",
        "_model",
        "_names",
        "_options",
        "_profile",
        "_settings",
        "_stream",
        "_tools",
        "_transcripts",
    )

    def __init__(self, model: str, profile: ChatProfile, stream: bool) -> None:
        self._model = model
        self._profile = profile
        self._stream = stream
        self._lock = Lock()
        self._transcripts: list[_Transcript] = []
        self._tools: tuple[ToolDefinition, ...] = ()
        self._settings: Settings | None = None
        self._names: dict[str, str] = {}
        self._options = b""

    def body(self, request: ModelRequest) -> bytes:
        """The JSON of the request's body, as `openai_chat.encode` would give it."""
        with self._lock:
            options = self._options_of(request)
            transcript = self._transcript(request.messages)
            transcript.extend(request.messages)
            return transcript.body(options)

    def names(self, request: ModelRequest) -> dict[str, str]:
        """Alias on the wire by the name of each of the request's tools."""
        with self._lock:
            self._options_of(request)
            return self._names

    def _options_of(self, request: ModelRequest) -> bytes:
        tools = request.tools
        same = len(tools) == len(self._tools) and all(map(is_, tools, self._tools))
        if not same or request.settings != self._settings or self._profile.tools_with_calls:
            self._tools, self._settings = tuple(tools), request.settings
            self._names = tool_names(tools)
            options = encode_options(request, self._model, self._stream, self._profile)
            self._options = dumps(options)[1:].encode()
        return self._options

    def _transcript(self, messages: Sequence[Message]) -> _Transcript:
        """The transcript that `messages` continue, or a new one; the latest stands last."""
        for transcript in reversed(self._transcripts):
            if transcript.is_begun_by(messages, self._names):
                self._transcripts.remove(transcript)
                break
        else:
            transcript = _Transcript(self._names, self._profile, self._model)
        while self._transcripts and self._is_full():
            del self._transcripts[0]
        self._transcripts.append(transcript)
        return transcript

    def _is_full(self) -> bool:
        if len(self._transcripts) >= MAX_TRANSCRIPTS:
            return True
        return sum(len(one.json) for one in self._transcripts) > MAX_BYTES
