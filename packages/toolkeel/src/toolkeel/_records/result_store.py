"""A store for results too long to show, which tools read by line and column under a name.

Whatever cuts a text saves the complete text here and shows its name: ``output:`` and random letters.
The tools ``read`` and ``grep`` open the name like a file. Results are files in a temporary folder
that is removed when the process ends; the oldest are evicted when there are too many.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PREFIX = "output:"
"""What the name of a kept result begins with."""
MAX_BYTES = 1 << 30
"""Bytes of results that are kept at once."""
_SPARE = "/dev/shm"  # where there may be room if the disk is full


class ResultStore:
    """Complete results, each in a temporary file.

    Args:
        max_bytes: Total size; above it the oldest results are evicted.

    Attributes:
        fallbacks: Functions that look up names missing here, such as those of results in a run's
            transcript. A result that one of them returns is saved.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.fallbacks: list[Callable[[str], bytes | None]] = []
        self._folders: dict[str, str] = {}
        self._files: OrderedDict[str, Path] = OrderedDict()
        self._lock = threading.Lock()

    def save(self, data: bytes) -> str:
        """Save a result to the temporary disk, or to memory if that is full. Return its name, or "".

        The oldest results are evicted if the store is too large.
        """
        for spare in (False, True):
            try:
                name, file = self.create(spare=spare)
            except OSError:
                continue
            try:
                with file:
                    file.write(data)
            except OSError:
                self.remove(name)
                continue
            self.evict_oldest()
            return name
        return ""

    def create(self, *, spare: bool = False) -> tuple[str, BinaryIO]:
        """Create an empty result, and return its name and a file to write it to.

        Args:
            spare: True to use memory (``/dev/shm``) because the temporary disk is full.

        Raises:
            OSError: there is no room.
        """
        name = PREFIX + secrets.token_hex(6)
        path = Path(self._folder(_SPARE if spare else ""), name.removeprefix(PREFIX))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with self._lock:
            self._files[name] = path
        return name, os.fdopen(descriptor, "w+b")

    def find(self, name: str) -> Path | None:
        """Return the path of a result, or None. A result that a fallback returns is saved first."""
        path = self._files.get(name)
        if path is not None and path.exists():
            return path
        for look in list(self.fallbacks):
            if (data := look(name)) is not None:
                made = self.save(data)
                with self._lock:
                    path = self._files.pop(made, None)
                    if path is not None:
                        self._files[name] = path
                return path
        return None

    def remove(self, name: str) -> None:
        """Remove a result and its file. Do nothing if there is none."""
        with self._lock:
            path = self._files.pop(name, None)
        if path is not None:
            with suppress(OSError):
                path.unlink()

    def evict_oldest(self) -> None:
        """Remove the oldest results until the rest fits, but never the latest."""
        sizes = {name: _size(path) for name, path in list(self._files.items())}
        total = sum(sizes.values())
        for name in list(sizes)[:-1]:
            if total <= self.max_bytes:
                break
            total -= sizes[name]
            self.remove(name)

    def _folder(self, parent: str) -> str:
        """Return the temporary folder below a parent, created at the first call, removed at the end."""
        with self._lock:
            if parent not in self._folders:
                folder = tempfile.mkdtemp(prefix="toolkeel-", dir=parent or None)
                weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
                self._folders[parent] = folder
            return self._folders[parent]


def _size(path: Path) -> int:
    """Return the size of a file, or 0 if it is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


RESULTS = ResultStore()
"""The results that this process keeps."""
