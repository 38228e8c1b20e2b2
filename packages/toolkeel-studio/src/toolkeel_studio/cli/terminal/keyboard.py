"""Answers to a question: single keys and lines, never typed ahead.

Keys arrive one at a time and without echo. Input of several characters at once (a paste, an arrow key, a
line typed ahead) is not a key. A terminal and a console of Windows each have their own way to read them.
"""

from __future__ import annotations

import subprocess
import tempfile
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from time import monotonic

SETTLE = 0.2
"""Seconds in which a key still belongs to what was on the screen before the question."""
TOGETHER = 0.03
"""Seconds within which characters have come as one piece: a person types slower."""


class Withdrawn(Exception):
    """The question was withdrawn, or the terminal was closed."""


class Keyboard(ABC):
    """A person's input during a question.

    Args:
        until: Deadline for the answer, on the monotonic clock; None for none.
    """

    def __init__(self, until: float | None = None) -> None:
        self._until = until

    @abstractmethod
    def open(self) -> AbstractContextManager[Keyboard]:
        """Read keys for the length of a block; then the terminal is as it was, whatever happens."""

    @abstractmethod
    def withdraw(self) -> None:
        """Make the waiting reader raise `Withdrawn`; from any thread."""

    @abstractmethod
    def forget(self) -> None:
        """Throw away what was typed before now."""

    def key(self) -> str:
        """Read one key. Return an empty string for input that is none.

        Raises:
            TimeoutError: no answer in time.
            Withdrawn: the question was withdrawn.
        """
        text = self._typed_together()
        return text if len(text) == 1 and text.isprintable() else ""

    @abstractmethod
    def line(self) -> str:
        """Read one line, edited as the terminal allows.

        Raises:
            TimeoutError, Withdrawn: as for `key`.
        """

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
            process = self._start_editor(editor, path, screen)
            try:
                while process.poll() is None:
                    self._wait(0.05)
            finally:
                if process.poll() is None:
                    process.terminate()
                process.wait()
            if process.returncode:
                raise ValueError(f"the editor ended with {process.returncode}")
            return path.read_text("utf-8")

    @abstractmethod
    def _typed_together(self) -> str:
        """Wait for input; return all that came as one piece."""

    @abstractmethod
    def _start_editor(self, editor: str, path: Path, screen: int) -> subprocess.Popen[bytes]:
        """Start an editor on the terminal."""

    @abstractmethod
    def _wait(self, seconds: float) -> None:
        """Wait, unless the question ends.

        Raises:
            TimeoutError, Withdrawn: as for `key`.
        """

    def _seconds_left(self) -> float | None:
        return None if self._until is None else max(self._until - monotonic(), 0)
