"""Server-sent events, taken apart as the bytes arrive.

The format is the HTML standard's "event stream interpretation". Only ``data`` matters to the
model wires, so event names, ids and retry times are dropped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncGenerator, AsyncIterable

from toolkeel.errors import ModelError

MAX_EVENT = 64 * 1024 * 1024
"""Most bytes of one event, or of a body that is one."""
_LINE = re.compile(r"\r\n|\n|\r")
_BOM = "\ufeff"
_BLANK = "\ufeff \t\r\n".encode()


class SSEParser:
    """Bytes in any pieces to the data of whole events.

    A character or a line break that is cut in two between pieces is put together again. What
    follows the last blank line waits for its own; `close` says that there is no more.

    >>> parser = SSEParser()
    >>> parser.feed(b'data: {"a"')
    []
    >>> parser.feed(b': 1}\\r\\n\\r\\n: a comment\\ndata: [DONE]\\n\\n')
    ['{"a": 1}', '[DONE]']
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line: list[str] = []
        self._data: list[str] = []
        self._held = 0
        self._skip_newline = False
        self._start = True

    def feed(self, piece: bytes) -> list[str]:
        """The data of every event that `piece` completes, in order.

        Raises:
            ModelError: an event has more than `MAX_EVENT` bytes.
        """
        events = self._take(self._decoder.decode(piece))
        waits = not events and (self._data or self._line)
        self._held = len(piece) + (self._held if waits else 0)
        _check(self._held)
        return events

    def close(self) -> list[str]:
        """The data of an event of which only the blank line is missing.

        An event whose last line was cut is dropped: it is not what the server meant to say.
        """
        if self._line or self._decoder.getstate()[0]:
            return []
        return self._take("\n")

    def _take(self, text: str) -> list[str]:
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
        return self._events(lines)

    def _events(self, lines: list[str]) -> list[str]:
        events: list[str] = []
        for line in lines:
            if line:
                field, _, value = line.partition(":")
                if field == "data":
                    self._data.append(value.removeprefix(" "))
            elif self._data:
                events.append("\n".join(self._data))
                self._data.clear()
        return events


def _check(size: int) -> None:
    if size > MAX_EVENT:
        raise ModelError(f"the server sent an event of more than {MAX_EVENT:,} bytes")


async def parsed(pieces: AsyncIterable[bytes]) -> AsyncGenerator[list[str]]:
    """The data of every event in a body that arrives in pieces, as each piece completes them.

    A body that is one JSON object is one event: some servers do not stream although they are
    asked to, and not all of them say so in the content type. No line of an event begins so.
    """
    parser = SSEParser()
    start = b""
    whole: bool | None = None
    async for piece in pieces:
        if whole is None:
            start += piece
            begun = start.lstrip(_BLANK)
            if not begun:
                continue
            whole, piece = begun.startswith(b"{"), start
        elif whole:
            start += piece
            _check(len(start))
        if not whole and (events := parser.feed(piece)):
            yield events
    yield [start.lstrip(_BLANK).decode("utf-8", "replace")] if whole else parser.close()
