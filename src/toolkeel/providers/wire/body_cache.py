"""Requests that cost what the last turn added, not what the whole transcript holds.

A transcript only grows between the requests of a run, so what a wire makes of it is kept and
grows with it: a turn encodes its own messages. A transcript is recognised by its messages, one by
one; one that continues nothing known starts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from threading import Lock
from typing import Generic, Protocol, TypeVar

from toolkeel._records.record import record
from toolkeel.agent.transcript import repair
from toolkeel.agent.transcript_media import MEDIA_LIMIT, media_size, within_limit, without_media
from toolkeel.messages import Message
from toolkeel.model import ModelRequest, Settings, ToolDefinition
from toolkeel.providers.wire.plain_json import Json, dumps
from toolkeel.providers.wire.request import Encoder, Encoding, Prepared

MAX_TRANSCRIPTS = 16
MAX_BYTES = 64 * 1024 * 1024
"""How many transcripts are remembered, and how many bytes of them, beside the latest."""

T = TypeVar("T")
P = TypeVar("P")


class Grown(Protocol):
    """What a wire makes of a transcript, message by message."""

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        ...

    @property
    def late(self) -> bool:
        """Whether a result stood elsewhere than behind its call, so that it was left out."""
        ...

    def add(self, message: Message) -> None:
        """Take the next message."""
        ...


G = TypeVar("G", bound=Grown)


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


class _Known(Generic[G]):
    def __init__(self, grown: G, key: object) -> None:
        self.grown = grown
        self.key = key
        self.messages: list[Message] = []
        self.media = 0

    def is_begun_by(self, messages: Sequence[Message], key: object) -> bool:
        """Whether `messages` are these and perhaps more."""
        known = self.messages
        if not known or len(known) > len(messages) or known[-1] is not messages[len(known) - 1]:
            return False
        try:  # lists ask for identity first, ten times as fast as `all` and `map` do
            return self.key == key and known == list(messages[: len(known)])
        except Exception:  # another transcript, with artifacts that cannot be compared
            return False


class Transcripts(Generic[G]):
    """The transcripts of one model's requests; not safe to use from several threads at once."""

    def __init__(self, media: Media | None = None) -> None:
        self._media = media or Media()
        self._known: list[_Known[G]] = []

    def __len__(self) -> int:
        return len(self._known)

    def of(self, messages: Sequence[Message], key: object, new: Callable[[], G]) -> G:
        """What the wire makes of `messages`.

        Args:
            messages: The transcript so far.
            key: What else it depends on, such as the tools' names.
            new: Makes an empty one.
        """
        known = self._find(messages, key, new)
        for message in messages[len(known.messages) :]:
            self._add(known, message)
            known.messages.append(message)
        limit = self._media.limit
        full = self._media.shown and limit is not None and known.media > limit
        if full:
            self._renew(known, self._media.fit(messages), new)
            known.media = min(known.media, limit or 0)  # or each turn would do it again
        if known.grown.late:  # rare: everything is put in order, and grows on from there
            self._renew(known, repair(self._media.fit(messages) if full else messages), new)
        return known.grown

    def _add(self, known: _Known[G], message: Message) -> None:
        known.media += media_size(message)
        known.grown.add(message if self._media.shown else without_media(message))

    def _renew(self, known: _Known[G], messages: Sequence[Message], new: Callable[[], G]) -> None:
        known.grown, known.media = new(), 0
        for message in messages:
            self._add(known, message)

    def _find(self, messages: Sequence[Message], key: object, new: Callable[[], G]) -> _Known[G]:
        """The transcript that `messages` continue, or a new one; the latest stands last."""
        for known in reversed(self._known):
            if known.is_begun_by(messages, key):
                self._known.remove(known)
                break
        else:
            known = _Known(new(), key)
        while self._known and self._is_full():
            del self._known[0]
        self._known.append(known)
        return known

    def _is_full(self) -> bool:
        if len(self._known) >= MAX_TRANSCRIPTS:
            return True
        return sum(known.grown.size for known in self._known) > MAX_BYTES


class Constant(Generic[T]):
    """What depends on a request's tools and settings alone, made again only when they change.

    Args:
        make: Makes it.
    """

    def __init__(self, make: Callable[[ModelRequest], T]) -> None:
        self._make = make
        self._tools: tuple[ToolDefinition, ...] = ()
        self._settings: Settings | None = None
        self._value: T

    def of(self, request: ModelRequest) -> T:
        """The value for `request`."""
        tools = request.tools
        same = len(tools) == len(self._tools) and all(map(is_, tools, self._tools))
        if not same or request.settings != self._settings:
            self._value = self._make(request)
            self._tools, self._settings = tuple(tools), request.settings
        return self._value


class _Json:
    """The messages of one run so far, as JSON."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.over = bytearray()

    @property
    def late(self) -> bool:
        return self.encoder.late

    @property
    def size(self) -> int:
        return len(self.over)

    def add(self, message: Message) -> None:
        """Encode the next message."""
        append_json(self.over, self.encoder.add(message))


class BodyCache(Generic[P]):
    """Bodies of one model's requests, as JSON, each out of the last; safe to use from several threads.

    Each transcript is a buffer of JSON bytes; a request takes one copy of it for the HTTP client.

    Args:
        encoding: The wire's.
        profile: What the model and its server take.
        media: What becomes of pictures, sounds and files.
    """

    def __init__(self, encoding: Encoding[P], profile: P, media: Media | None = None) -> None:
        self._encoding = encoding
        self._profile = profile
        self._lock = Lock()
        self._transcripts: Transcripts[_Json] = Transcripts(media)
        self._prepared = Constant(lambda request: encoding.prepare(request, profile))
        self._fixed: tuple[Prepared | None, bytes] = (None, b"")

    def prepared(self, request: ModelRequest) -> Prepared:
        """What depends on the request's tools and settings alone."""
        with self._lock:
            return self._prepared.of(request)

    def body(self, request: ModelRequest, more: Sequence[Json] = ()) -> bytes:
        """The JSON of the request's body, as the wire's ``encode`` would give it.

        Args:
            request: Messages, tools and settings.
            more: Messages behind those of the transcript, as the wire has them.
        """
        with self._lock:
            prepared = self._prepared.of(request)
            tools = prepared.tools
            grown = self._transcripts.of(
                request.messages,
                (tools.names, tools.keys),
                lambda: _Json(self._encoding.encoder(tools, self._profile)),
            )
            if self._fixed[0] is not prepared:
                self._fixed = (prepared, dumps(prepared.fixed)[1:-1].encode())
            end = bytearray()
            append_json(end, [*grown.encoder.end(), *more])
            head = grown.encoder.head(prepared)
            keys = dumps(head)[1:-1].encode() if head else b""
            rest = b",".join(filter(None, (b"]", keys, self._fixed[1])))
            comma = b"," if grown.over and end else b""
            start = b'{"%s":[' % self._encoding.key.encode()
            return b"".join((start, grown.over, comma, end, rest, b"}"))


def append_json(buffer: bytearray, wires: Sequence[Json]) -> None:
    """Write `wires` behind the items of a JSON list of which `buffer` is the inside."""
    for wire in wires:
        if buffer:
            buffer += b","
        buffer += dumps(wire).encode()
