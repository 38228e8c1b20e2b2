"""What a model has seen of files: a file that was changed since is read again before it is replaced.

A change that came while a command of the model's ran is no surprise: the command's result names
the files, and they may be edited at once.
"""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

from toolkeel.errors import ToolError
from toolkeel_workspace.files.atomic_replace import CHANGED
from toolkeel_workspace.files.open_beneath import Root

MAX_FILE = 16 << 20
"""Largest file that is edited or written, in bytes."""


class _State(NamedTuple):
    digest: str
    stamp: tuple[int, int, int]


class Seen:
    """The files of a root that were read or written through its tools.

    Args:
        root: The folder.
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self._states: dict[str, _State] = {}

    def content(self, name: str) -> tuple[bytes | None, os.stat_result | None]:
        """A file's content and state; nothing if it is not there, cannot be opened or is too large.

        Raises:
            ToolError: it is not as it was seen last.
        """
        try:
            data, was = self._look(name)
        except ToolError:
            return None, None
        seen = self._states.get(name)
        if len(data) > MAX_FILE:
            return None, None
        if seen is not None and seen.digest != _digest(data):
            raise ToolError(CHANGED.format(name))
        return data, was

    def take(self, name: str) -> _State:
        """A file as it is now, to be noted once it has been shown."""
        data, was = self._look(name)
        return _State(_digest(data), _stamp(was))

    def wrote(self, name: str, data: bytes) -> None:
        """It was written with this content, whatever has become of it since."""
        self.note(name, _State(_digest(data), self._stamp(name) or (0, 0, 0)))

    def note(self, name: str, state: _State) -> None:
        """It has been shown, or written, in this state."""
        self._states[name] = state

    def unchanged(self) -> list[str]:
        """Files that are as they were seen last."""
        return [name for name, state in self._states.items() if self._stamp(name) == state.stamp]

    def catch_up(self, names: list[str]) -> list[str]:
        """Take the files among these that have changed as they are now; their names."""
        changed = []
        for name in names:
            stamp = self._stamp(name)
            if stamp == self._states[name].stamp:
                continue
            changed.append(name)
            if stamp is None:
                del self._states[name]
            else:
                self._states[name] = self.take(name)
        return changed

    def _look(self, name: str) -> tuple[bytes, os.stat_result]:
        with os.fdopen(self._root.open_file(name), "rb") as file:
            return file.read(MAX_FILE + 1), os.fstat(file.fileno())

    def _stamp(self, name: str) -> tuple[int, int, int] | None:
        try:
            with os.fdopen(self._root.open_file(name), "rb") as file:
                return _stamp(os.fstat(file.fileno()))
        except ToolError:
            return None


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_ctime_ns


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
