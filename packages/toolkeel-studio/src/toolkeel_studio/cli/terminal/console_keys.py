"""Keys of a console of Windows, which has no file to wait on: it is looked at again and again."""

from __future__ import annotations

import importlib
import subprocess
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Protocol, cast

from toolkeel_studio.cli.terminal.keyboard import SETTLE, TOGETHER, Keyboard, Withdrawn

_LOOK = 0.02
"""Seconds between two polls."""
_CTRL_C = "\x03"


class Console(Protocol):
    """The functions of `msvcrt` about the console."""

    def kbhit(self) -> bool:
        """Return True if a key waits to be read."""
        ...

    def getwch(self) -> str:
        """Read one UTF-16 unit of what was typed, without echo."""
        ...

    def putwch(self, letter: str, /) -> None:
        """Write one character."""


class ConsoleKeyboard(Keyboard):
    """The console's input during a question."""

    def __init__(self, until: float | None = None) -> None:
        super().__init__(until)
        self._console = cast("Console", importlib.import_module("msvcrt"))
        self._withdrawn = threading.Event()

    @contextmanager
    def open(self) -> Iterator[Keyboard]:
        """Read keys for the length of a block. The console's mode never changes."""
        yield self

    def withdraw(self) -> None:
        """Make the waiting reader raise `Withdrawn`; from any thread."""
        self._withdrawn.set()

    def forget(self) -> None:
        """Throw away what was typed before now."""
        sleep(SETTLE)
        while self._console.kbhit():
            self._read()

    def _typed_together(self) -> str:
        units = self._next()
        waited = 0.0
        while waited < TOGETHER:
            if self._console.kbhit():
                units, waited = units + self._read(), 0.0
            else:
                sleep(_LOOK)
                waited += _LOOK
        return _text(units)

    def line(self) -> str:
        """Read one line. Backspace takes the last character back.

        Raises:
            TimeoutError, Withdrawn: as for `key`.
        """
        typed = ""
        while (unit := self._next()) not in ("\r", "\n"):
            if unit in ("\x00", "\xe0") and self._console.kbhit():
                self._read()  # the code of an arrow or function key
            elif unit == "\b":
                self._write("\b \b" * bool(typed))
                typed = _text(typed)[:-1]
            elif unit >= " ":
                self._write(unit)
                typed += unit
        self._write("\r\n")
        return _text(typed).strip()

    def _next(self) -> str:
        """Wait for one unit."""
        while not self._console.kbhit():
            self._wait(_LOOK)
        return self._read()

    def _read(self) -> str:
        unit = self._console.getwch()
        if unit == _CTRL_C:  # read as a key, it is no signal
            interrupt_main()
            raise Withdrawn
        return unit

    def _write(self, text: str) -> None:
        for letter in text:
            self._console.putwch(letter)

    def _wait(self, seconds: float) -> None:
        left = self._seconds_left()
        if self._withdrawn.wait(seconds if left is None else min(seconds, left)):
            raise Withdrawn
        if left == 0:
            raise TimeoutError

    def _start_editor(self, editor: str, path: Path, screen: int) -> subprocess.Popen[bytes]:
        # Windows splits a command itself; backslashes in it are no escapes.
        return subprocess.Popen(f'{editor} "{path}"', stdout=screen, stderr=screen)


def _text(units: str) -> str:
    """Join the halves of characters that UTF-16 splits."""
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
