"""Length-prefixed JSON messages between a process and its workers, over one socket."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Message: TypeAlias = dict[str, Any]
MAX_MESSAGE_BYTES: Final = 64 << 20
"""Most bytes of one message."""
_HEAD = struct.Struct(">I")


class MessageTooLarge(Exception):
    """A message is longer than `MAX_MESSAGE_BYTES`."""


def pack_message(message: Mapping[str, object]) -> bytes:
    """Encode a message with its length; lone surrogates are escaped.

    Raises:
        MessageTooLarge: the receiver would refuse it.

    >>> list(FrameDecoder().feed(pack_message({"图": 1})))
    [{'图': 1}]
    """
    body = json.dumps(message).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise MessageTooLarge
    return _HEAD.pack(len(body)) + body


def is_outcome(message: Message) -> bool:
    """Return true if a worker's message is the body's outcome, the last of its request."""
    return "kind" in message or "value" in message or "message" in message


class FrameDecoder:
    """Decoder that splits a stream of bytes into messages; keeps an incomplete one."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Add bytes to the buffer, and yield each message that they complete, removing it.

        Raises:
            MessageTooLarge: a message is longer than allowed.
            ValueError: a message is not a JSON object.
        """
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            [length] = _HEAD.unpack_from(self._buffer)
            if length > MAX_MESSAGE_BYTES:
                raise MessageTooLarge
            if len(self._buffer) < (end := _HEAD.size + length):
                return
            message = json.loads(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            if not isinstance(message, dict):
                raise ValueError("a message is not a JSON object")
            yield message


def receive_message(line: socket.socket) -> Message | None:
    """Wait for the next message; None if the connection ended or the socket's timeout passed.

    Bytes behind it in the same read are dropped: a peer sends one message, then waits.

    Raises as `FrameDecoder.feed`.
    """
    frames = FrameDecoder()
    try:
        while data := line.recv(1 << 16):
            for message in frames.feed(data):
                return message
    except (TimeoutError, ConnectionError):
        pass
    return None
