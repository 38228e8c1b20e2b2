"""Output while a prompt is open: complete lines above it, unfinished lines directly over it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TextIO

from toolkeel_studio.cli.terminal.streams import StreamProxy


class OutputAbovePrompt:
    """Streams of a terminal that print above a prompt, as long as one is open."""

    def __init__(self) -> None:
        self._streams: list[_Stream] = []
        self._lines: list[tuple[TextIO, str]] = []
        self._wake: Callable[[], object] | None = None
        self._lock = threading.RLock()

    def stream(self, stream: TextIO, style: Callable[[str], str] = str) -> StreamProxy:
        """Return a stream that writes above the prompt.

        Args:
            stream: The terminal's stream.
            style: Applied to each complete line.
        """
        made = _Stream(stream, self, style)
        self._streams.append(made)
        return made

    @property
    def begun(self) -> str:
        """What has no end of a line yet."""
        return "".join(stream.begun for stream in self._streams)

    def write(self, stream: _Stream, text: str) -> None:
        """Print it now, or hand it to the prompt."""
        with self._lock:
            if self._wake is None:
                stream.stream.write(text)
                return
            lines, end, stream.begun = (stream.begun + text).rpartition("\n")
            if end:
                shown = "\n".join(map(stream.style, lines.split("\n")))
                self._lines.append((stream.stream, shown + end))
            self._wake()

    def opened(self, wake: Callable[[], object]) -> None:
        """Redirect output above an open prompt; `wake` is called when there is something to print."""
        with self._lock:
            self._wake = wake

    def has_lines(self) -> bool:
        """Return True if lines wait for the prompt to make room."""
        return bool(self._lines)

    def print_lines(self) -> None:
        """Print the lines that wait."""
        with self._lock:
            lines, self._lines = self._lines, []
            for stream, text in lines:
                stream.write(text)
                stream.flush()

    def closed(self) -> None:
        """Print everything collected, and print directly from now on."""
        with self._lock:
            self._wake = None
            for each in self._streams:
                self._lines.append((each.stream, each.style(each.begun)))
                each.begun = ""
            self.print_lines()


class _Stream(StreamProxy):
    def __init__(
        self, stream: TextIO, above: OutputAbovePrompt, style: Callable[[str], str]
    ) -> None:
        super().__init__(stream)
        self.begun, self.style = "", style
        self._above = above

    def write(self, text: str, /) -> int:
        """Print it, above the prompt."""
        self._above.write(self, text)
        return len(text)

    def flush(self) -> None:
        """Flush like the stream."""
        self.stream.flush()
