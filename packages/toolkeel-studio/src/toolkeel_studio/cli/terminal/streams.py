"""The two streams of a command: answers on stdout, everything about them on stderr.

Output to a terminal is escaped, so that no tool and no model can move the cursor, set the title or fill
the clipboard. Output to a file or a pipe is unchanged.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import BinaryIO, TextIO

from toolkeel.observe.wording import escaped
from toolkeel_studio.cli.terminal.standard_streams import open_standard_streams

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"


def prepare_streams() -> None:
    """Let every text through: UTF-8 to files and pipes, what cannot be encoded made visible."""
    open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
            reconfigure(encoding="utf-8", errors="backslashreplace")
        else:
            reconfigure(errors="backslashreplace")


def is_interactive(stream: TextIO) -> bool:
    """Return True if written lines on `stream` may change: it is a terminal with a person."""
    quiet = any(os.environ.get(name) for name in ("NO_COLOR", "CI"))
    return stream.isatty() and not quiet and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int | None:
    """Return the cells of a line of `stream`, or None if it is no terminal."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def styled(text: str, style: str, stream: TextIO) -> str:
    """`text` in a colour or weight, if `stream` shows them."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


_real_stdout: list[TextIO] = []
"""The real stdout, while `stdout_kept_clean` has put stderr in its place."""


def _stdout() -> TextIO:
    return _real_stdout[-1] if _real_stdout else sys.stdout


def stdout_is_terminal() -> bool:
    """Return True if stdout is a terminal."""
    return _stdout().isatty()


def echo(text: str, end: str = "\n") -> None:
    """Write what was asked for to stdout."""
    out = _stdout()
    print(escaped(text) if out.isatty() else text, end=end, file=out, flush=True)


def layout(lines: Iterable[str]) -> None:
    """Write lines of our own to stdout, styled; what they quote is escaped already."""
    for line in lines:
        print(line, file=_stdout(), flush=True)


def note(text: str, style: str = "") -> None:
    """Write a remark to stderr as complete lines: threads may write at once."""
    shown = escaped(text) if sys.stderr.isatty() else text
    line = styled(shown, style, sys.stderr) if style else shown
    print(f"{line}\n", end="", file=sys.stderr, flush=True)


shown_calls: set[str] = set()
"""Ids of the calls whose outcome a view shows, so that its warning is not printed, too."""


class _Warnings(logging.Handler):
    """What the library warns of, as lines on stderr; a program that takes logs itself has them."""

    def emit(self, record: logging.LogRecord) -> None:
        is_shown = getattr(record, "call_id", None) in shown_calls
        if not logging.root.handlers and not is_shown:
            note(f"toolkeel: {record.getMessage()}", YELLOW)


def show_warnings() -> None:
    """Write the library's warnings to stderr, unless they are configured elsewhere."""
    log = logging.getLogger("toolkeel")
    if not any(isinstance(handler, _Warnings) for handler in log.handlers):
        log.addHandler(_Warnings(logging.WARNING))


@contextmanager
def stdout_kept_clean() -> Iterator[None]:
    """Send what tools print to stderr, so that stdout holds the answer alone."""
    _real_stdout.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _real_stdout.pop()


class StreamProxy(io.TextIOBase):
    """A stream that wraps another one; bytes and file descriptors are the inner stream's.

    Attributes:
        stream: The inner stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    @property
    def buffer(self) -> BinaryIO:
        """The inner stream's buffer."""
        return self.stream.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The inner stream's encoding."""
        return self.stream.encoding

    def fileno(self) -> int:
        """Return the inner stream's file descriptor."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Return True if the inner stream is a terminal."""
        return self.stream.isatty()


class _DelayedStream(StreamProxy):
    """A stream that collects what is printed, and writes it at the end.

    After that it writes at once, since others may still hold it. Output to its bytes or its file descriptor
    cannot be collected.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._texts: list[str] | None = []

    def write(self, text: str, /) -> int:
        """Keep it."""
        if self._texts is None:
            return self.stream.write(text)
        self._texts.append(text)
        return len(text)

    def release(self) -> None:
        """Write what was collected."""
        texts, self._texts = self._texts or [], None
        self.stream.write("".join(texts))
        self.stream.flush()


@contextmanager
def prints_delayed() -> Iterator[TextIO]:
    """Keep back what tools print until the end of the block, so that nothing mixes with a question.

    Yields:
        The stream that stderr was, which alone reaches the terminal.
    """
    out, err = sys.stdout, sys.stderr
    delayed_err = _DelayedStream(err)
    delayed_out = delayed_err if out is err else _DelayedStream(out)
    sys.stdout, sys.stderr = delayed_out, delayed_err
    try:
        yield err
    finally:
        sys.stdout, sys.stderr = out, err
        delayed_err.release()
        if delayed_out is not delayed_err:
            delayed_out.release()
