"""Output while a prompt is open: complete lines above it, unfinished lines directly over it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TextIO

from toolkeel_studio.cli.terminal.markdown import Markdown
from toolkeel_studio.cli.terminal.streams import StreamProxy


class OutputAbovePrompt:
    """Streams of a terminal that print above a prompt, as long as one is open."""

    def __init__(self) -> None:
        self._streams: list[_Stream] = []
        self._lines: list[tuple[TextIO, str]] = []
        self._wake: Callable[[], object] | None = None
        self._lock = threading.RLock()

    def stream(self, stream: TextIO, blocks: Markdown | None = None) -> StreamProxy:
        """Return a stream that writes above the prompt.

        Args:
            stream: The terminal's stream.
            blocks: Formats what is written, block by block.
        """
        made = _Stream(stream, self, blocks)
        self._streams.append(made)
        return made

    @property
    def unprinted(self) -> str:
        """What is not printed yet: the lines of unfinished blocks, and what has no end of a line."""
        with self._lock:
            return "".join(stream.unfinished for stream in self._streams)

    def write(self, stream: _Stream, text: str) -> None:
        """Print it now, or hand it to the prompt."""
        with self._lock:
            if self._wake is None:
                stream.stream.write(text)
                return
            lines, end, stream.unprinted = (stream.unprinted + text).rpartition("\n")
            if end and (shown := stream.format(lines.split("\n"))):
                self._lines.append((stream.stream, shown))
            self._wake()

    def end_blocks(self) -> None:
        """Print the blocks that are unfinished: the reply has ended."""
        with self._lock:
            for each in self._streams:
                if each.blocks is not None and (shown := each.blocks.end()):
                    self._lines.append((each.stream, shown))
            if self._wake is not None:
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
                self._lines.append((each.stream, each.end()))
            self.print_lines()


class _Stream(StreamProxy):
    def __init__(self, stream: TextIO, above: OutputAbovePrompt, blocks: Markdown | None) -> None:
        super().__init__(stream)
        self.unprinted, self.blocks = "", blocks
        self._above = above

    @property
    def unfinished(self) -> str:
        """What is not printed yet."""
        return (self.blocks.unfinished if self.blocks else "") + self.unprinted

    def format(self, lines: list[str]) -> str:
        """Return what to print once these lines are complete."""
        if self.blocks is not None:
            return "".join(map(self.blocks.add, lines))
        return "".join(f"{line}\n" for line in lines)

    def end(self) -> str:
        """Return the rest of what was written; its last line stays open if it was."""
        rest, self.unprinted = self.unprinted, ""
        if self.blocks is None:
            return rest
        shown = (self.blocks.add(rest) if rest else "") + self.blocks.end()
        return shown.removesuffix("\n") if rest else shown

    def write(self, text: str, /) -> int:
        """Print it, above the prompt."""
        self._above.write(self, text)
        return len(text)

    def flush(self) -> None:
        """Flush like the stream."""
        self.stream.flush()
