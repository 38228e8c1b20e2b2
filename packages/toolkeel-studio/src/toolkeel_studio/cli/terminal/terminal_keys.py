"""Keys of a terminal of POSIX: without echo and line buffering during a question."""

from __future__ import annotations

import atexit
import os
import select
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from toolkeel_studio.cli.terminal.keyboard import SETTLE, TOGETHER, Keyboard, Withdrawn

if TYPE_CHECKING or sys.platform != "win32":
    import termios


class TerminalKeyboard(Keyboard):
    """The terminal's input during a question.

    Args:
        fd: File descriptor of the terminal.
        until: Deadline for the answer, on the monotonic clock; None for none.
    """

    def __init__(self, fd: int, until: float | None = None) -> None:
        super().__init__(until)
        self._fd = fd
        self._wake, self._waker = os.pipe()
        self._before: list[Any] = termios.tcgetattr(fd)

    @contextmanager
    def open(self) -> Iterator[TerminalKeyboard]:
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

    def _typed_together(self) -> str:
        self._unbuffered()  # again and again: the shell changes it when the job comes back
        typed = self._read()
        while self._ready(TOGETHER):
            typed += self._read()
        return typed.decode("utf-8", "replace")

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
        self._await_input([self._fd])
        try:
            typed = os.read(self._fd, 65536)
        except OSError:
            typed = b""
        if not typed:
            raise Withdrawn
        return typed

    def _wait(self, seconds: float) -> None:
        self._await_input([], seconds)

    def _await_input(self, files: Sequence[int], seconds: float | None = None) -> None:
        """Wait for input on `files`, for some seconds at most."""
        left = self._seconds_left()
        limit = left if seconds is None or (left is not None and left < seconds) else seconds
        ready = select.select([*files, self._wake], [], [], limit)[0]
        if self._wake in ready:
            raise Withdrawn
        if not ready and limit == left and left is not None:
            raise TimeoutError

    def _start_editor(self, editor: str, path: Path, screen: int) -> subprocess.Popen[bytes]:
        self._restore()
        command = [*shlex.split(editor), str(path)]
        return subprocess.Popen(command, stdin=self._fd, stdout=screen, stderr=screen)
