"""Snapshots of files the model has read: what must be read, or read again, before it is changed.

A change while a command of the model ran is expected: the command's result names the files, and they
may be edited at once.
"""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

from toolkeel.errors import ToolError
from toolkeel_workspace.files.atomic_replace import CHANGED_MESSAGE
from toolkeel_workspace.files.line_window import escape_name
from toolkeel_workspace.files.open_beneath import Root

MAX_FILE_BYTES = 16 << 20
"""Largest file that is edited or written, in bytes."""


class _Snapshot(NamedTuple):
    digest: str
    stamp: tuple[int, int, int]


class FileSnapshots:
    """The state of a root's files when its tools last read or wrote them.

    Args:
        root: The folder.
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self._snapshots: dict[str, _Snapshot] = {}

    def read_unchanged(self, name: str) -> tuple[bytes | None, os.stat_result | None]:
        """Return a file's content and state; None for both if it is missing, unreadable or too large.

        Raises:
            ToolError: it has changed since the last snapshot.
        """
        try:
            data, was = self._read_file(name)
        except ToolError:
            return None, None
        known = self._snapshots.get(name)
        if len(data) > MAX_FILE_BYTES:
            return None, None
        if known is not None and known.digest != _hash_data(data):
            raise ToolError(CHANGED_MESSAGE.format(name))
        return data, was

    def is_known(self, name: str) -> bool:
        """Return True if a file was read or written before."""
        return name in self._snapshots

    def require_read(self, name: str) -> None:
        """Raise unless a file, which exists, was read or written before.

        Raises:
            ToolError: it must be read first.
        """
        if not self.is_known(name):
            raise ToolError(
                f"'{escape_name(name)}' exists and has not been read, so it was not changed. Read it first."
            )

    def snapshot(self, name: str) -> _Snapshot:
        """Return a snapshot of a file, to record once its content has been shown."""
        data, was = self._read_file(name)
        return _Snapshot(_hash_data(data), _make_stamp(was))

    def record_write(self, name: str, data: bytes) -> None:
        """Record that a file was written with this content."""
        self.record(name, _Snapshot(_hash_data(data), self._read_stamp(name) or (0, 0, 0)))

    def record(self, name: str, state: _Snapshot) -> None:
        """Record a file's snapshot as shown to the model."""
        self._snapshots[name] = state

    def list_unchanged(self) -> list[str]:
        """List the files that are as in their snapshots."""
        return [
            name for name, state in self._snapshots.items() if self._read_stamp(name) == state.stamp
        ]

    def update_changed(self, names: list[str]) -> list[str]:
        """Update the snapshots of changed files among these. Return their names."""
        changed = []
        for name in names:
            stamp = self._read_stamp(name)
            if stamp == self._snapshots[name].stamp:
                continue
            changed.append(name)
            if stamp is None:
                del self._snapshots[name]
            else:
                self._snapshots[name] = self.snapshot(name)
        return changed

    def _read_file(self, name: str) -> tuple[bytes, os.stat_result]:
        with os.fdopen(self._root.open_file(name), "rb") as file:
            return file.read(MAX_FILE_BYTES + 1), os.fstat(file.fileno())

    def _read_stamp(self, name: str) -> tuple[int, int, int] | None:
        try:
            with os.fdopen(self._root.open_file(name), "rb") as file:
                return _make_stamp(os.fstat(file.fileno()))
        except ToolError:
            return None


def _make_stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_ctime_ns


def _hash_data(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
