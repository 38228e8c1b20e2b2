"""Steering: a line that is typed while a run works is said to it, before its next request.

What is no message to it (a command, or a line for a run that has ended) is kept for the prompt.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from toolkeel.agent.run import Run

if TYPE_CHECKING or sys.platform != "win32":  # there, nobody is asked on the terminal
    import termios


class Steering:
    """What is typed at the terminal, which gives whole lines, while runs work.

    Args:
        keep: Told each line, the moment it is typed.

    Attributes:
        left: Lines that reached no run, in order.
    """

    def __init__(self, keep: Callable[[str], object]) -> None:
        self._keep = keep
        self.left: deque[str] = deque()
        self._fd = -1
        self._run: Run[Any] | None = None

    @contextmanager
    def of(self, run: Run[Any]) -> Iterator[None]:
        """Say to a run what is typed, in its event loop."""
        self._run, self._fd = run, sys.stdin.fileno()
        before = termios.tcgetattr(self._fd)
        mode = [*before[:3], before[3] | termios.NOFLSH, *before[4:]]
        termios.tcsetattr(self._fd, termios.TCSANOW, mode)  # Ctrl+C leaves the line that is begun
        self._read(True)
        try:
            yield
        finally:
            self._read(False)
            self._run = None
            with suppress(termios.error):  # the terminal has gone
                termios.tcsetattr(self._fd, termios.TCSANOW, before)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the keys to a question."""
        self._read(False)
        try:
            yield
        finally:
            self._read(self._run is not None)

    def _read(self, wanted: bool) -> None:
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_reader(self._fd, self._take)
        else:
            loop.remove_reader(self._fd)

    def _take(self) -> None:
        try:
            typed = os.read(self._fd, 65536)
        except OSError:
            typed = b""
        if not typed:  # the terminal has gone, or Ctrl+D: the prompt will see which
            self._read(False)
        for line in typed.decode("utf-8", "replace").splitlines():
            text = line.strip()
            said = text[:1] != "/" and self._run is not None and (not text or self._run.say(text))
            if not said:
                self.left.append(text)
            if text:
                self._keep(text)
