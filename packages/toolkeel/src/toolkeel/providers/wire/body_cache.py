"""Requests that cost what the last turn added, not what the whole transcript holds.

A transcript only grows between the requests of a run, so what a wire makes of it is kept and
grows with it: a turn encodes its own messages. A transcript is recognised by its messages, one by
one; one that continues nothing known starts anew.
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
from toolkeel.providers.wire.reasoning_ownership import Asked
from toolkeel.providers.wire.request import Encoder, PreparedRequest

MAX_TRANSCRIPTS = 16
MAX_BYTES = 64 * 1024 * 1024
"""How many transcripts are remembered, and how many bytes of them, beside the latest."""

P = TypeVar("P", bound=Asked)


@record
class Media:
    """What becomes of pictures, sounds and files in requests.

    Args:
        shown: Whether the model takes any; else it is told of them.
        limit: Most bytes of them in a request, as base64; the oldest are told instead. None: any.
    """

    shown: bool = True
    limit: int | None = MEDIA_LIMIT

    def fit(self, messages: Sequence[Message]) -> Sequence[Message]:
        """A transcript with room for more media."""
        if self.limit is None or not self.shown:
            return messages
        return within_limit(messages, self.limit * 3 // 4)


class Transcript:
    """What a wire makes of a transcript, message by message.

    Args:
        encoder: The wire's; it has seen nothing so far.
        key: What else it depends on, such as the tools' names.

    Attributes:
        over: The messages that never change any more, as JSON.
    """

    def __init__(self, encoder: Encoder[Any], key: object) -> None:
        self.key = key
        self.messages: list[Message] = []
        self.begin(encoder)

    def begin(self, encoder: Encoder[Any]) -> None:
        """Forget what the wire made of the messages."""
        self.encoder = encoder
        self.over = bytearray()
        self.media = 0

    def add(self, message: Message, *, shown: bool) -> None:
        """Encode the next message, with its media or without."""
        self.media += media_size(message)
        append_json(self.over, self.encoder.add(message if shown else without_media(message)))

    def is_begun_by(self, messages: Sequence[Message], key: object) -> bool:
        """Whether `messages` are these and perhaps more."""
        known = self.messages
        if not known or len(known) > len(messages) or known[-1] is not messages[len(known) - 1]:
            return False
        try:  # lists ask for identity first, ten times as fast as `all` and `map` do
            return self.key == key and known == list(messages[: len(known)])
        except Exception:  # another transcript, with artifacts that cannot be compared
            return False


class Transcripts:
    """The transcripts of one model's requests; not safe to use from several threads at once."""

    def __init__(self, media: Media | None = None) -> None:
        self._media = media or Media()
        self._known: list[Transcript] = []

    def __len__(self) -> int:
        return len(self._known)

    def of(
        self, messages: Sequence[Message], key: object, new: Callable[[], Encoder[Any]]
    ) -> Transcript:
        """What the wire makes of `messages`.

        Args:
            messages: The transcript so far.
            key: What else it depends on, such as the tools' names.
            new: Makes an encoder.
        """
        known = self._find(messages, key, new)
        for message in messages[len(known.messages) :]:
            known.add(message, shown=self._media.shown)
            known.messages.append(message)
        limit = self._media.limit
        full = self._media.shown and limit is not None and known.media > limit
        if full:
            self._renew(known, self._media.fit(messages), new)
            known.media = min(known.media, limit or 0)  # or each turn would do it again
        if known.encoder.late:  # rare: everything is put in order, and grows on from there
            self._renew(known, repair(self._media.fit(messages) if full else messages), new)
        return known

    def _renew(
        self, known: Transcript, messages: Sequence[Message], new: Callable[[], Encoder[Any]]
    ) -> None:
        known.begin(new())
        for message in messages:
            known.add(message, shown=self._media.shown)

    def _find(
        self, messages: Sequence[Message], key: object, new: Callable[[], Encoder[Any]]
    ) -> Transcript:
        """The transcript that `messages` continue, or a new one; the latest stands last."""
        for known in reversed(self._known):
            if known.is_begun_by(messages, key):
                self._known.remove(known)
                break
        else:
            known = Transcript(new(), key)
        while self._known and self._is_full():
            del self._known[0]
        self._known.append(known)
        return known

    def _is_full(self) -> bool:
        if len(self._known) >= MAX_TRANSCRIPTS:
            return True
        return sum(len(known.over) for known in self._known) > MAX_BYTES


class BodyCache(Generic[P]):
    """Bodies of one model's requests, as JSON, each out of the last; safe to use from several threads.

    Each transcript is a buffer of JSON bytes; a request takes one copy of it for the HTTP client.

    Args:
        encoder: The wire's.
        profile: What the model and its server take.
        media: What becomes of pictures, sounds and files.
    """

    def __init__(self, encoder: type[Encoder[P]], profile: P, media: Media | None = None) -> None:
        self._encoder = encoder
        self._profile = profile
        self._lock = Lock()
        self._transcripts = Transcripts(media)
        self._asked: tuple[Sequence[ToolDefinition], Settings] | None = None
        """Tools and settings of which `_prepared` and `_fixed` are made, again only when they change."""
        self._prepared: PreparedRequest
        self._fixed = b""

    def prepared(self, request: ModelRequest) -> PreparedRequest:
        """What depends on the request's tools and settings alone."""
        with self._lock:
            return self._prepare(request)

    def _prepare(self, request: ModelRequest) -> PreparedRequest:
        tools, settings = self._asked or ((), None)
        same = tools is request.tools or (
            len(tools) == len(request.tools) and all(map(is_, tools, request.tools))
        )
        if not same or (settings is not request.settings and settings != request.settings):
            self._prepared = self._encoder.prepare(request, self._profile)
            self._fixed = dumps(self._prepared.fixed)[1:-1].encode()
            self._asked = tuple(request.tools), request.settings
        return self._prepared

    def body(self, request: ModelRequest, more: Sequence[Json] = ()) -> bytes:
        """The JSON of the request's body, as the wire's ``encode`` would give it.

        Args:
            request: Messages, tools and settings.
            more: Messages behind those of the transcript, as the wire has them.
        """
        with self._lock:
            prepared = self._prepare(request)
            tools = prepared.tools
            known = self._transcripts.of(
                request.messages,
                (tools.names, tools.keys),
                lambda: self._encoder(tools, self._profile),
            )
            end = bytearray()
            append_json(end, [*known.encoder.end(), *more])
            head = known.encoder.head(prepared)
            keys = dumps(head)[1:-1].encode() if head else b""
            rest = b",".join(filter(None, (b"]", keys, self._fixed)))
            comma = b"," if known.over and end else b""
            start = b'{"%s":[' % self._encoder.key.encode()
            return b"".join((start, known.over, comma, end, rest, b"}"))


def append_json(buffer: bytearray, wires: Sequence[Json]) -> None:
    """Write `wires` behind the items of a JSON list of which `buffer` is the inside."""
    for wire in wires:
        if buffer:
            buffer += b","
        buffer += dumps(wire).encode()
