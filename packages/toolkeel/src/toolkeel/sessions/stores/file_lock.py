"""One writer per session on one machine: a lock of the kernel.

The lock is a range of one byte in a file beside the database, at the session's number. The kernel
frees it when its process dies, however it dies; no heartbeat is needed, and a process that stands
still keeps it. Such locks belong to the process, and closing the file anywhere in it would drop them
all: so there is one descriptor for each file, for ever.
"""

from __future__ import annotations

import os
import sys
import threading

from toolkeel.errors import SetupError

if sys.platform != "win32":
    import fcntl

    def _try_lock(descriptor: int, place: int) -> bool:
        """Lock the byte at `place` of an open file. Return False if another process has it."""
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(descriptor: int, place: int) -> None:
        """Unlock the byte at `place` of an open file."""
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)

else:  # pragma: no cover
    import msvcrt

    def _try_lock(descriptor: int, place: int) -> bool:
        """Lock the byte at `place` of an open file. Return False if another process has it."""
        os.lseek(descriptor, place, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int, place: int) -> None:
        """Unlock the byte at `place` of an open file."""
        os.lseek(descriptor, place, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


class FileLock:
    """The lock file of one file of sessions.

    Args:
        path: Its path; None if no other process can see the sessions.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._lock = threading.Lock()

    def try_lock(self, session: int) -> bool:
        """Lock a session for this process. Return False if another process has it.

        Opens the lock file at the first call. A store without a file has no locks: returns True.

        Raises:
            SetupError: the lock file cannot be opened.
        """
        if self._path is None:
            return True
        with self._lock:
            if self._descriptor is None:
                try:
                    flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
                    self._descriptor = os.open(self._path, flags, 0o600)
                except OSError as error:
                    raise SetupError(f"{self._path} cannot be opened: {error}") from None
            return _try_lock(self._descriptor, session)

    def unlock(self, session: int) -> None:
        """Release a session that `try_lock` has locked."""
        if self._descriptor is not None:
            _unlock(self._descriptor, session)
