"""Messages between a process and its workers: JSON, each behind its length, over one socket."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Message: TypeAlias = dict[str, Any]
MOST: Final = 64 << 20
"""Bytes of one message."""
_HEAD = struct.Struct(">I")


class TooLarge(Exception):
    """A message is longer than `MOST`."""


def pack(message: Mapping[str, object]) -> bytes:
    """A message as bytes; what no UTF-8 can carry is escaped.

    Raises:
        TooLarge: nobody would take it.

    >>> list(Frames().feed(pack({"图": 1})))
    [{'图': 1}]
    """
    body = json.dumps(message).encode()
    if len(body) > MOST:
        raise TooLarge
    return _HEAD.pack(len(body)) + body


def is_outcome(message: Message) -> bool:
    """Whether a worker's message is what became of the body, and so the last of its order."""
    return "kind" in message or "value" in message or "message" in message


class Frames:
    """Cuts a stream of bytes into messages, as they are complete."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that end in these bytes.

        Raises:
            TooLarge: one is longer than any may be.
            ValueError: it is no JSON object.
        """
        self._held += data
        while len(self._held) >= _HEAD.size:
            [length] = _HEAD.unpack_from(self._held)
            if length > MOST:
                raise TooLarge
            if len(self._held) < (end := _HEAD.size + length):
                return
            message = json.loads(self._held[_HEAD.size : end])
            del self._held[:end]
            if not isinstance(message, dict):
                raise ValueError("a message is no JSON object")
            yield message


def receive(line: socket.socket) -> Message | None:
    """Wait for the next message; None when the other side has gone, or says nothing for long."""
    frames = Frames()
    try:
        while data := line.recv(1 << 16):
            for message in frames.feed(data):
                return message
    except (TimeoutError, ConnectionError):
        pass
    return None
