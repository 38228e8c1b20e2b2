"""Audit log: which client called what, and the outcome, as lines of JSON.

The line before a call is on the disk before a call that may change something is sent. One sync
serves all lines that came meanwhile, and calls known to be read-only wait for none. Arguments stand
there by a keyed hash (HMAC): whoever reads the log cannot try which password gives it; who has the
key, a file beside it, can show that a call was or was not made.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

from toolkeel._records.messages_json import json_line
from toolkeel.errors import SetupError

_KEY_BYTES = 32


class AuditLog(Protocol):
    """A log of what clients do.

    Attributes:
        key: Of the hashes of arguments; nobody knows it who only reads the entries.
    """

    key: bytes

    def write(self, entry: Mapping[str, object]) -> None:
        """Write an entry; never waits."""

    async def sync(self) -> None:
        """Wait until all entries are durable."""

    def close(self) -> None:
        """Write the rest."""


class AuditFile:
    """An audit log in a file, its owner's alone.

    Args:
        path: Made if it is not there, appended to if it is; ``path.key`` beside it holds the key.

    Raises:
        SetupError: one of them cannot be written, the key is none, or others could write to the log
            or read the key.
    """

    def __init__(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise SetupError(f"the audit log {path} cannot be written: {error.strerror}") from None
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        try:
            _require_private(path, handle, 0o022)
            self.key = _load_key(path.with_name(path.name + ".key"))
        except SetupError:
            self._file.close()
            raise
        self._lock = threading.Condition()
        self._lines: list[bytes] = []
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="toolkeel audit", daemon=True)
        self._thread.start()

    def write(self, entry: Mapping[str, object]) -> None:
        """Write an entry; never waits."""
        line = json_line({"at": round(time.time(), 3), **entry})
        with self._lock:
            self._lines.append(line.encode())
            self._lock.notify()

    async def sync(self) -> None:
        """Wait until all entries are durable.

        Raises:
            OSError: it cannot be written, or was closed, and so the call shall not be made.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self._is_closed:
                raise OSError("the audit log is closed")
            self._waiting.append((loop, future))
            self._lock.notify()
        await future

    def close(self) -> None:
        """Write the rest."""
        with self._lock:
            self._is_closed = True
            self._lock.notify()
        self._thread.join(10)
        self._file.close()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._lines or self._waiting or self._is_closed)
                lines, self._lines = self._lines, []
                waiting, self._waiting = self._waiting, []
                ended = self._is_closed
            error = self._append(lines, bool(waiting))
            for loop, future in waiting:
                with contextlib.suppress(RuntimeError):  # its loop has ended; others still wait
                    loop.call_soon_threadsafe(_resolve, future, error)
            if ended:
                return

    def _append(self, lines: list[bytes], sync: bool) -> OSError | None:
        try:
            self._file.write(b"".join(lines))
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            return error
        return None


def _resolve(future: asyncio.Future[None], error: OSError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _load_key(path: Path) -> bytes:
    """Load the key of a file, or create it; of two creators the first wins."""
    try:
        if not path.exists():
            _make_key(path)
        with path.open(encoding="ascii") as file:
            _require_private(path, file.fileno(), 0o077)
            key = bytes.fromhex(file.read())
    except (OSError, ValueError) as error:
        raise SetupError(f"the audit log's key {path} cannot be used: {error}") from None
    if len(key) != _KEY_BYTES:
        raise SetupError(f"the audit log's key {path} has {len(key)} bytes, not {_KEY_BYTES}")
    return key


def _require_private(path: Path, handle: int, bits: int) -> None:
    """Raise if other users may access an open file in the ways of `bits`."""
    facts = os.fstat(handle)
    ours = os.name != "posix" or (facts.st_uid in (os.geteuid(), 0) and not facts.st_mode & bits)
    if stat.S_ISREG(facts.st_mode) and not ours:
        raise SetupError(
            f"others could change {path} or read it: chmod 600 {path}, or name another"
        )


def _make_key(path: Path) -> None:
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(_KEY_BYTES))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink()


def digest_arguments(arguments: Mapping[str, object], key: bytes) -> str:
    """Return the HMAC-SHA-256 of a call's arguments, independent of their order.

    >>> digest_arguments({"a": 1, "b": 2}, b"k") == digest_arguments({"b": 2, "a": 1}, b"k")
    True
    """
    ordered = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
    return hmac.new(key, ordered.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
