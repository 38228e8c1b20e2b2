"""Results too long to be shown, kept whole under a name that tools read by line and column.

Whatever cuts a text keeps the whole here and says its name, ``output:`` and letters nobody can
guess; the tools ``read`` and ``grep`` open it like a file. Kept results are files of a folder for
temporary files, gone with the process; the oldest go when there are too many.
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
MOST = 1 << 30
"""Bytes of results that are kept at once."""
_SPARE = "/dev/shm"  # where there may be room if the disk is full


class KeptResults:
    """Where results are kept whole.

    Args:
        most: Bytes that are kept at once; beyond them the oldest results go.

    Attributes:
        elsewhere: Look up names that are not kept here, such as those of results in a run's
            transcript: what each gives is kept from then on.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.elsewhere: list[Callable[[str], bytes | None]] = []
        self._folders: dict[str, str] = {}
        self._files: OrderedDict[str, Path] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, data: bytes) -> str:
        """Keep a result; its name, or nothing if there is no room for it anywhere."""
        for spare in (False, True):
            try:
                name, file = self.create(spare=spare)
            except OSError:
                continue
            try:
                with file:
                    file.write(data)
            except OSError:
                self.drop(name)
                continue
            self.shrink()
            return name
        return ""

    def create(self, *, spare: bool = False) -> tuple[str, BinaryIO]:
        """Begin a result that is still coming: its name, and the file to write it to.

        Args:
            spare: Not on the disk of temporary files, which is full.

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
        """The file that holds a result; None if none of this name is kept."""
        path = self._files.get(name)
        if path is not None and path.exists():
            return path
        for look in list(self.elsewhere):
            if (data := look(name)) is not None:
                made = self.keep(data)
                with self._lock:
                    path = self._files.pop(made, None)
                    if path is not None:
                        self._files[name] = path
                return path
        return None

    def drop(self, name: str) -> None:
        """Keep a result no longer."""
        with self._lock:
            path = self._files.pop(name, None)
        if path is not None:
            with suppress(OSError):
                path.unlink()

    def shrink(self) -> None:
        """Let the oldest results go until the rest fits, the latest apart."""
        sizes = {name: _size(path) for name, path in list(self._files.items())}
        total = sum(sizes.values())
        for name in list(sizes)[:-1]:
            if total <= self.most:
                break
            total -= sizes[name]
            self.drop(name)

    def _folder(self, parent: str) -> str:
        with self._lock:
            if parent not in self._folders:
                folder = tempfile.mkdtemp(prefix="toolkeel-", dir=parent or None)
                weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
                self._folders[parent] = folder
            return self._folders[parent]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


KEPT = KeptResults()
"""The results that this process keeps."""
