"""Stdin, stdout and stderr of the process when one of them is closed, full, or has no reader.

A failed write to stdout raises `OutputLost` once and is reported by the exit code; a failed write to stderr
is dropped. From then on the file descriptor is the null device, so that no later write fails: not that of
a run that is still recording what it did, and not the flush at the end of the interpreter.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from toolkeel_studio.cli.exit_codes import FAILED, UNREAD

if TYPE_CHECKING:
    from typing_extensions import Buffer

_STDIN, _STDOUT, _STDERR = 0, 1, 2
NO_READER = "stdout has no reader any more"
_lost: list[OutputLost] = []
"""Why stdout was lost, at most one."""


class OutputLost(OSError):
    """Stdout cannot be written. It has no `errno`, so that no library handles it as a broken pipe.

    Args:
        error: The error of the write.
    """

    def __init__(self, error: OSError) -> None:
        self.is_unread = isinstance(error, ConnectionError)
        reason = error.strerror or type(error).__name__
        super().__init__(NO_READER if self.is_unread else f"stdout cannot be written: {reason}")


class _OutputFile(io.FileIO):
    """A file descriptor that becomes the null device when a write fails."""

    def write(self, data: Buffer, /) -> int:
        """Write it.

        Raises:
            OutputLost: if this is stdout; not again after that.
        """
        try:
            return super().write(data)
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            if self.fileno() != _STDOUT:
                return memoryview(data).nbytes
            _lost.append(OutputLost(error))
            raise _lost[0] from None


def open_standard_streams() -> None:
    """Open those that are closed, and replace `sys.stdout` and `sys.stderr` by streams that may fail."""
    for number, mode in ((_STDIN, os.O_RDONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:  # else the next opened file would get its number, and what is printed
            os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stdin is None:
        sys.stdin = open(_STDIN, closefd=False)  # noqa: SIM115  # for the process
    if sys.stdout is None or (sys.stdout is sys.__stdout__ and not _is_console(sys.stdout)):
        sys.stdout = _reopened(sys.stdout, _STDOUT)
    if sys.stderr is None or (sys.stderr is sys.__stderr__ and not _is_console(sys.stderr)):
        sys.stderr = _reopened(sys.stderr, _STDERR)


def _is_console(stream: TextIO | None) -> bool:
    """Return True for a console of Windows, which is not written through its file descriptor."""
    return os.name == "nt" and stream is not None and stream.isatty()


def _reopened(stream: TextIO | None, number: int) -> TextIO:
    file = io.BufferedWriter(_OutputFile(number, "w", closefd=False))
    if stream is None:
        return io.TextIOWrapper(file, "utf-8", line_buffering=True)
    stream.flush()
    is_direct = bool(getattr(stream, "write_through", False))
    lines = is_direct or stream.line_buffering
    return io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=bool(lines))


def flush_output() -> OutputLost | None:
    """Write what stdout still holds. Return why stdout was lost, if it was."""
    try:
        sys.stdout.flush()
    except OutputLost as error:
        return error
    return _lost[0] if _lost else None


def output_exit_code(code: int | str | None, lost: OutputLost) -> int | str:
    """Return the exit code of a command whose output was lost: its own, unless that means success.

    >>> output_exit_code(0, OutputLost(BrokenPipeError())), output_exit_code(75, OutputLost(OSError()))
    (141, 75)
    """
    return code or (UNREAD if lost.is_unread else FAILED)
