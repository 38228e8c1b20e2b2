"""What a peer sends, before the SDK sees it: bounded, and nothing in it can hold a call for ever.

A message that is too large or is none at all is dropped. If it was the answer to a request, that
request is told so at once instead of waiting for its deadline.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from time import monotonic

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse

from toolkeel.mcp.client.mend_responses import LOST, transport_error
from toolkeel.mcp.messages import read_server_message, split_messages, unreadable_reason

MAX_FRAME_BYTES = 32 * 1024 * 1024
"""Most bytes of one message: a few large pictures."""
MESSAGES_PER_SECOND = 1000.0
"""Notifications and requests of a server in a second, beyond which they are dropped."""
MAX_BURST = 3000.0
"""How many may come at once."""

_EDGE = 4096
_ID = re.compile(rb'"id"\s*:\s*(?:(\d{1,18})|"([^"\\]{1,200})")')
_RESPONSE = re.compile(rb'"(?:result|error)"\s*:')

log = logging.getLogger("toolkeel.mcp")


class FrameReader:
    """Parser of a server's output: lines in, JSON-RPC messages out.

    Args:
        name: Name of the server, for the log.
        limit: Most bytes of one line.
        take: Called with each line first; returns True if it handled the line.
    """

    def __init__(
        self,
        name: str,
        limit: int = MAX_FRAME_BYTES,
        take: Callable[[bytes], bool] = lambda _: False,
    ) -> None:
        self._name = name
        self._handle = take
        self._limit, self._edge = limit, min(_EDGE, limit)
        self._buffer = bytearray()
        self._searched = 0
        self._head: bytes | None = None  # of a line too long, whose rest is dropped
        self._noise = 0
        self._parts: list[bytes] = []  # of a message that stands over several lines
        self._joined_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[SessionMessage]:
        """Yield the messages that `chunk` completes, and buffer the rest.

        Of a line above the size limit, only the beginning and the end are buffered.
        """
        self._buffer += chunk
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            is_whole = self._head is None and end <= self._limit
            for each in split_messages(line) if is_whole else [line]:
                if (message := self._message(each)) is not None:
                    yield message
        if len(self._buffer) > self._limit:
            self._head = self._head or bytes(self._buffer[: self._edge])
            del self._buffer[: -self._edge]
        self._searched = len(self._buffer)

    def _message(self, line: bytes) -> SessionMessage | None:
        """Return a line's message, or an error response if it is unreadable, which is logged.

        None if it is blank, handled elsewhere, or part of a message in several lines, which is buffered.
        """
        if self._head is not None or len(line) > self._limit:
            head, self._head = self._head or line[: self._edge], None
            why = f"it is larger than {self._limit // (1024 * 1024)} MB"
            return self._report_unreadable(head, line[-self._edge :], why)
        if not line.strip() or self._handle(line):
            return None
        try:
            return SessionMessage(read_server_message(line))
        except ValueError as error:
            if (joined := self._join_lines(line)) is not None:
                return self._message(joined) if joined else None
            why = f"it is no message of the protocol: {unreadable_reason(error)}"
            return self._report_unreadable(line[: self._edge], line[-self._edge :], why)

    def _join_lines(self, line: bytes) -> bytes | None:
        """Return the message that this line completes.

        Empty if it continues (the line is buffered), None if it is no part of one, or the message is too
        long. A message in several lines begins and ends with a bracket alone at the left.
        """
        begins = line[:1] == b"{" and line.rstrip()[-1:] in (b"{", b"[", b",")
        if not self._parts and not begins:
            return None
        self._parts.append(line)
        self._joined_bytes += len(line)
        if line[:1] != b"}" and self._joined_bytes <= self._limit:
            return b""
        joined = b" ".join(self._parts) if self._joined_bytes <= self._limit else None
        self._parts, self._joined_bytes = [], 0
        return joined

    def _report_unreadable(self, head: bytes, tail: bytes, why: str) -> SessionMessage | None:
        """Count an unreadable line, log the first; return an error response to the request it may answer, or None."""
        self._noise += 1
        if self._noise == 1:
            log.warning("%s sent what cannot be read (%s): %.200r", self._name, why, head[:200])
        text = head + tail
        is_request = b'"method"' in text and not _RESPONSE.search(text)
        if b'"jsonrpc"' not in text or is_request:
            return None
        found = _ID.search(head) or next(iter(list(_ID.finditer(tail))[-1:]), None)
        if found is None:
            return None
        id = int(found[1]) if found[1] else found[2].decode("utf-8", "replace")
        error = transport_error(LOST, f"the answer cannot be read: {why}")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=error))


class RateLimiter:
    """Limiter of incoming messages that are no responses.

    Args:
        name: Name of the server, for the log.
        rate: Messages per second.
        burst: Messages that may come at once after a pause.
    """

    def __init__(
        self, name: str, rate: float = MESSAGES_PER_SECOND, burst: float = MAX_BURST
    ) -> None:
        self._name = name
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = monotonic()
        self.dropped = 0

    def allows(self, item: SessionMessage | Exception) -> bool:
        """Return True for a response, or if the rate has room; else count a dropped message, and log the first."""
        if isinstance(item, SessionMessage) and isinstance(
            item.message, JSONRPCResponse | JSONRPCError
        ):
            return True
        return self.take_one()

    def take_one(self) -> bool:
        """Consume one unit of the rate.

        Return True if the message may pass; else count it as dropped, the first with a log.
        """
        now = monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return True
        self.dropped += 1
        if self.dropped == 1:
            log.warning("%s floods: messages it was not asked for are dropped", self._name)
        return False
