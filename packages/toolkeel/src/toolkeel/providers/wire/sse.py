"""Server-sent events, parsed as the bytes arrive.

The format is the HTML standard's "event stream interpretation". The model wires use only ``data``,
so event names, ids and retry times are dropped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncGenerator, AsyncIterable

from toolkeel.errors import ModelError, ModelUnavailable

MAX_EVENT = 64 * 1024 * 1024
"""Most bytes of one event, or of a body that is one."""
MAX_REPLY = 2 * MAX_EVENT
"""Most bytes of a body with several events."""
_LINE = re.compile(r"\r\n|\n|\r")
_BOM = "\ufeff"
_SINGLE = (b"{", b"[", b"<")
"""First bytes of a body that is one event."""
_EXCERPT = 500
_BLANK = "\ufeff \t\r\n".encode()


class SSEParser:
    r"""Parser of server-sent events that takes bytes in any pieces.

    A character or a line break that is cut between pieces is joined again. Data after the last blank
    line waits for its own; `close` marks the end.

    >>> parser = SSEParser()
    >>> parser.feed(b'data: {"a"')
    []
    >>> parser.feed(b': 1}\r\n\r\n: a comment\ndata: [DONE]\n\n')
    ['{"a": 1}', '[DONE]']
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line: list[str] = []
        self._data: list[str] = []
        self._pending_bytes = 0
        self._skip_newline = False
        self._start = True

    def feed(self, piece: bytes) -> list[str]:
        """Return the data of every event that `piece` completes, in order; store the rest.

        Raises:
            ModelError: an event has more than `MAX_EVENT` bytes.
        """
        events = self._read_lines(self._decoder.decode(piece))
        waits = not events and (self._data or self._line)
        self._pending_bytes = len(piece) + (self._pending_bytes if waits else 0)
        _check_size(self._pending_bytes)
        return events

    def close(self) -> list[str]:
        """Return the data of a last event without its blank line.

        An event whose last line was cut is dropped: it is incomplete.
        """
        if self._line or self._decoder.getstate()[0]:
            return []
        return self._read_lines("\n")

    def _read_lines(self, text: str) -> list[str]:
        """Split new text into lines, join one cut earlier, and return the data of complete events."""
        if text and self._start:
            text, self._start = text.removeprefix(_BOM), False
        if self._skip_newline and text:
            text, self._skip_newline = text.removeprefix("\n"), False
        if text.endswith("\r"):  # its "\n" may be the next piece's first byte
            self._skip_newline = True
        *lines, rest = _LINE.split(text)
        if lines and self._line:  # it began in an earlier piece
            lines[0] = "".join([*self._line, lines[0]])
            self._line.clear()
        if rest:
            self._line.append(rest)
        return self._complete_events(lines)

    def _complete_events(self, lines: list[str]) -> list[str]:
        """Return the data of events that these lines complete; store that of an incomplete one."""
        events: list[str] = []
        for line in lines:
            if line:
                field, _, value = line.partition(":")
                if field == "data":
                    self._data += (value.removeprefix(" "),)
                elif field.strip(' {"') == "error":  # llama.cpp's field, or a proxy's bare JSON
                    self._data += (value if field == "error" else line,)
            elif self._data:
                events += ("\n".join(self._data),)
                self._data = []
        return events


def _check_size(size: int) -> None:
    """Raise `ModelError` if an event is larger than `MAX_EVENT` bytes."""
    if size > MAX_EVENT:
        raise ModelError(f"the server sent an event of more than {MAX_EVENT:,} bytes")


async def decode_events(pieces: AsyncIterable[bytes]) -> AsyncGenerator[list[str]]:
    """Yield the data of the events in a body, as each piece completes them.

    A body that is JSON, or a page, is one event: some servers do not stream although they are asked to,
    and not all of them report it in the content type. No line of an event starts so.

    Raises:
        ModelError: an event has more than `MAX_EVENT` bytes, or the body more than `MAX_REPLY`.
        ModelUnavailable: the body has text, but no event.
    """
    parser = SSEParser()
    start, size, has_events = b"", 0, False
    is_single: bool | None = None
    async for piece in pieces:
        size += len(piece)
        if size > MAX_REPLY:
            raise ModelError(f"the server sent a reply of more than {MAX_REPLY:,} bytes")
        if is_single is None:
            start += piece
            body = start.lstrip(_BLANK)
            if not body:
                continue
            is_single, piece = body[:1] in _SINGLE, start
        elif is_single:
            start += piece
            _check_size(len(start))
        if not is_single and (events := parser.feed(piece)):
            has_events = True
            yield events
    body = start.lstrip(_BLANK)
    last = [body.decode("utf-8", "replace")] if is_single else parser.close()
    if body and not (last or has_events):
        words = body[:_EXCERPT].decode("utf-8", "replace")
        raise ModelUnavailable(f"the server sent no event: {words}")
    yield last
