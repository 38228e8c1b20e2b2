"""Answers to a question: single keys and lines, never typed ahead.

Keys arrive one at a time and without echo. Input of several characters at once (a paste, an arrow key, a
line typed ahead) is not a key.
"""

from __future__ import annotations

import atexit
import os
import select
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.platform != "win32":  # there, nobody is asked on the terminal
    import termios

SETTLE = 0.2
"""Seconds in which a key still belongs to what was on the screen before the question."""
TOGETHER = 0.03
"""Seconds within which characters have come as one piece: nobody types that fast."""
POSSIBLE = sys.platform != "win32"
"""True if keys can be read."""


class Withdrawn(Exception):
    """The question was withdrawn, or the terminal was closed."""


class Keyboard:
    """The terminal's input during a question.

    Args:
        fd: File descriptor of the terminal.
        until: Deadline for the answer, on the monotonic clock; None for none.
    """

    def __init__(self, fd: int, until: float | None = None) -> None:
        self._fd = fd
        self._until = until
        self._wake, self._waker = os.pipe()
        self._before: list[Any] = termios.tcgetattr(fd)

    @contextmanager
    def open(self) -> Iterator[Keyboard]:
        """Read keys for the length of a block; then the terminal is as it was, whatever happens."""
        atexit.register(self._restore)  # the program may end while a thread waits for a key
        try:
            yield self
        finally:
            self._restore()
            atexit.unregister(self._restore)
            waker, self._waker = self._waker, -1
            os.close(waker)
            os.close(self._wake)

    def _restore(self) -> None:
        with suppress(termios.error, OSError):
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def _unbuffered(self) -> None:
        """Turn off echo and line buffering; Ctrl-C remains a signal."""
        mode = termios.tcgetattr(self._fd)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6] = list(mode[6])
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)

    def withdraw(self) -> None:
        """Make the waiting reader raise `Withdrawn`; from any thread."""
        if self._waker >= 0:
            with suppress(OSError):
                os.write(self._waker, b".")

    def forget(self) -> None:
        """Throw away what was typed before now."""
        self._unbuffered()
        sleep(SETTLE)
        termios.tcflush(self._fd, termios.TCIFLUSH)

    def key(self) -> str:
        """Read one key. Return an empty string for input that is none.

        Raises:
            TimeoutError: no answer in time.
            Withdrawn: the question was withdrawn.
        """
        self._unbuffered()  # again and again: the shell changes it when the job comes back
        typed = self._read()
        while self._ready(TOGETHER):
            typed += self._read()
        text = typed.decode("utf-8", "replace")
        return text if len(text) == 1 and text.isprintable() else ""

    def line(self) -> str:
        """Read one line, edited as the terminal allows.

        Raises:
            TimeoutError, Withdrawn: as for `key`.
        """
        self._restore()
        typed = self._read()
        return typed.decode("utf-8", "replace").strip()

    def _ready(self, seconds: float) -> bool:
        return self._fd in select.select([self._fd], [], [], seconds)[0]

    def _read(self) -> bytes:
        self._wait([self._fd])
        try:
            typed = os.read(self._fd, 65536)
        except OSError:
            typed = b""
        if not typed:
            raise Withdrawn
        return typed

    def _wait(self, others: Sequence[int], seconds: float | None = None) -> bool:
        """Wait for input; False after `seconds` without any."""
        left = None if self._until is None else max(self._until - monotonic(), 0)
        limit = left if seconds is None or (left is not None and left < seconds) else seconds
        ready = select.select([*others, self._wake], [], [], limit)[0]
        if self._wake in ready:
            raise Withdrawn
        if not ready and limit == left and left is not None:
            raise TimeoutError
        return bool(ready)

    def edit(self, text: str, editor: str, screen: int) -> str:
        """Let the person edit a text in their editor.

        Args:
            text: The text to edit.
            editor: The command, as in ``$EDITOR``.
            screen: File descriptor that the editor draws on.

        Raises:
            OSError: the editor could not be run.
            ValueError: it failed, or its command or file cannot be read.
            TimeoutError, Withdrawn: as for `key`; the editor has been ended.
        """
        with tempfile.TemporaryDirectory(prefix="toolkeel-") as folder:
            path = Path(folder) / "arguments.json"
            path.write_text(text + "\n", "utf-8")
            self._restore()
            command = [*shlex.split(editor), str(path)]
            process = subprocess.Popen(command, stdin=self._fd, stdout=screen, stderr=screen)
            try:
                self._until_ended(process.poll)
            finally:
                if process.poll() is None:
                    process.terminate()
                process.wait()
            if process.returncode:
                raise ValueError(f"the editor ended with {process.returncode}")
            return path.read_text("utf-8")

    def _until_ended(self, poll: Callable[[], int | None]) -> None:
        while poll() is None:
            self._wait([], 0.05)
