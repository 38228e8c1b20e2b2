"""Request bodies that cost the last turn's messages, not the complete transcript.

A transcript only grows between the requests of a run. So its encoded form is a buffer that grows
with it: each turn encodes its own messages only. A transcript is recognized by comparing its messages
one by one; a transcript that continues no known one is encoded from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from threading import Lock
from typing import Any, Generic, TypeVar

from toolkeel._records.record import record
from toolkeel.agent.transcript import repair
from toolkeel.agent.transcript_media import MEDIA_LIMIT, media_size, within_limit, without_media
from toolkeel.messages import Message
from toolkeel.model_interface import ModelRequest, Settings, ToolDefinition
from toolkeel.providers.wire.plain_json import Json, dumps
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.request import Encoder, PreparedRequest

MAX_TRANSCRIPTS = 16
MAX_BYTES = 64 * 1024 * 1024
"""How many transcripts are remembered, and how many bytes of them, beside the latest."""

P = TypeVar("P", bound=ModelProfile)


@record
class MediaPolicy:
    """Rules for pictures, sounds and files in requests.

    Args:
        enabled: True if the model accepts media; else a note replaces each one.
        limit: Most bytes of media in a request, as base64; notes replace the oldest. None: any.
    """

    enabled: bool = True
    limit: int | None = MEDIA_LIMIT

    def trim(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the transcript, with notes for the oldest media if they exceed three quarters of the limit.

        Unchanged if media are not sent or have no limit.
        """
        if self.limit is None or not self.enabled:
            return messages
        return within_limit(messages, self.limit * 3 // 4)


class EncodedTranscript:
    """The encoded form of one transcript.

    Args:
        encoder: A new encoder of the wire.
        key: Everything else the encoding depends on, such as the tools' names.

    Attributes:
        messages: The transcript's messages that were encoded.
        buffer: JSON of the wire messages that never change any more.
        media_bytes: Size of the media in it.
    """

    def __init__(self, encoder: Encoder[Any], key: object) -> None:
        self.key = key
        self.messages: list[Message] = []
        self.reset(encoder)

    def reset(self, encoder: Encoder[Any]) -> None:
        """Empty the buffer and start with a new encoder; `messages` stays as it is."""
        self.encoder = encoder
        self.buffer = bytearray()
        self.media_bytes = 0

    def add(self, message: Message, *, with_media: bool) -> None:
        """Encode a message into the buffer, with its media or with notes in their place; not into `messages`."""
        self.media_bytes += media_size(message)
        append_json(
            self.buffer, self.encoder.add(message if with_media else without_media(message))
        )

    def is_continued_by(self, messages: Sequence[Message], key: object) -> bool:
        """Return True if `messages` begins with those encoded here, at least one, under the same key."""
        known = self.messages
        if not known or len(known) > len(messages) or known[-1] is not messages[len(known) - 1]:
            return False
        try:  # lists ask for identity first, ten times as fast as `all` and `map` do
            return self.key == key and known == list(messages[: len(known)])
        except Exception:  # another transcript, with artifacts that cannot be compared
            return False


class EncodedTranscripts:
    """The encoded transcripts of one model; not thread-safe."""

    def __init__(self, media: MediaPolicy | None = None) -> None:
        self._media = media or MediaPolicy()
        self._known: list[EncodedTranscript] = []

    def __len__(self) -> int:
        return len(self._known)

    def advance(
        self, messages: Sequence[Message], key: object, new: Callable[[], Encoder[Any]]
    ) -> EncodedTranscript:
        """Encode the new messages of a transcript and return its encoded form.

        All are encoded anew if their media exceed the limit, or if a result came late.

        Args:
            messages: The transcript so far.
            key: Everything else the encoding depends on, such as the tools' names.
            new: Makes an encoder.
        """
        known = self._find(messages, key, new)
        for message in messages[len(known.messages) :]:
            known.add(message, with_media=self._media.enabled)
            known.messages.append(message)
        limit = self._media.limit
        full = self._media.enabled and limit is not None and known.media_bytes > limit
        if full:
            self._encode_again(known, self._media.trim(messages), new)
            known.media_bytes = min(known.media_bytes, limit or 0)  # or each turn would do it again
        if known.encoder.needs_repair:  # rare: everything is put in order, and grows on from there
            self._encode_again(known, repair(self._media.trim(messages) if full else messages), new)
        return known

    def _encode_again(
        self, known: EncodedTranscript, messages: Sequence[Message], new: Callable[[], Encoder[Any]]
    ) -> None:
        """Replace the encoded form of `known` by all messages, encoded anew."""
        known.reset(new())
        for message in messages:
            known.add(message, with_media=self._media.enabled)

    def _find(
        self, messages: Sequence[Message], key: object, new: Callable[[], Encoder[Any]]
    ) -> EncodedTranscript:
        """Return the encoded transcript that `messages` continues, or add a new one.

        It becomes the most recent; the oldest are removed if there are too many.
        """
        for known in reversed(self._known):
            if known.is_continued_by(messages, key):
                self._known.remove(known)
                break
        else:
            known = EncodedTranscript(new(), key)
        while self._known and self._is_full():
            del self._known[0]
        self._known.append(known)
        return known

    def _is_full(self) -> bool:
        """Return True if `MAX_TRANSCRIPTS`, or more than `MAX_BYTES`, are cached."""
        if len(self._known) >= MAX_TRANSCRIPTS:
            return True
        return sum(len(known.buffer) for known in self._known) > MAX_BYTES


class BodyCache(Generic[P]):
    """Encodes the bodies of one model's requests, each from the last one; thread-safe.

    Each transcript is a buffer of JSON bytes; each request copies it once for the HTTP client.

    Args:
        encoder: The wire's encoder class.
        profile: What the model and its server accept.
        media: Rules for pictures, sounds and files.
    """

    def __init__(
        self, encoder: type[Encoder[P]], profile: P, media: MediaPolicy | None = None
    ) -> None:
        self._encoder = encoder
        self._profile = profile
        self._lock = Lock()
        self._transcripts = EncodedTranscripts(media)
        self._prepared_for: tuple[Sequence[ToolDefinition], Settings] | None = None
        """Tools and settings of which `_prepared` and `_fixed` are made, again only when they change."""
        self._prepared: PreparedRequest
        self._static_json = b""

    def prepare(self, request: ModelRequest) -> PreparedRequest:
        """Return the part of a request that depends on its tools and settings alone.

        If they are new, it is made, stored, and may raise: see `Encoder.prepare`.
        """
        with self._lock:
            return self._prepare(request)

    def _prepare(self, request: ModelRequest) -> PreparedRequest:
        """Prepare tools and settings, and store that; return the last preparation if both are the same."""
        tools, settings = self._prepared_for or ((), None)
        same = tools is request.tools or (
            len(tools) == len(request.tools) and all(map(is_, tools, request.tools))
        )
        if not same or (settings is not request.settings and settings != request.settings):
            self._prepared = self._encoder.prepare(request, self._profile)
            self._static_json = dumps(self._prepared.static_keys)[1:-1].encode()
            self._prepared_for = tuple(request.tools), request.settings
        return self._prepared

    def encode(self, request: ModelRequest, more: Sequence[Json] = ()) -> bytes:
        """Encode the body of a request as JSON; keep the transcript's part for the next; raise as `prepare`.

        Args:
            request: Messages, tools and settings.
            more: Wire messages to append after the transcript.
        """
        with self._lock:
            prepared = self._prepare(request)
            tools = prepared.tools
            known = self._transcripts.advance(
                self._encoder.select_messages(request),
                (tools.names, tools.keys),
                lambda: self._encoder(tools, self._profile),
            )
            end = bytearray()
            append_json(end, [*known.encoder.encode_end(), *more])
            head = known.encoder.encode_head(prepared)
            keys = dumps(head)[1:-1].encode() if head else b""
            rest = b",".join(filter(None, (b"]", keys, self._static_json)))
            comma = b"," if known.buffer and end else b""
            start = b'{"%s":[' % self._encoder.key.encode()
            return b"".join((start, known.buffer, comma, end, rest, b"}"))


def append_json(buffer: bytearray, wires: Sequence[Json]) -> None:
    """Append `wires` to `buffer`, which holds the items of a JSON list without its brackets."""
    for wire in wires:
        if buffer:
            buffer += b","
        buffer += dumps(wire).encode()
