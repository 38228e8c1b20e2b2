"""One SQLite file in one process: a thread that writes for all, and readers that never wait for it.

Whatever is written goes through one thread, which puts all that waits into one transaction (group
commit): with a thousand sessions in a file, a sync serves many of them. The write-ahead log and
``synchronous = FULL`` make what was committed survive a power cut. Only this thread checkpoints
(SQLite before 3.51.3 may lose frames when two connections of a process do). A connection never
crosses a fork: a child opens the file anew.
"""

from __future__ import annotations

import atexit
import os
import queue
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, TypeVar

from toolkeel._common.data_folder import absolute_path, explain_data_folder, register_state
from toolkeel._records.record import record
from toolkeel.call.body.start_thread import start_thread
from toolkeel.errors import SetupError
from toolkeel.sessions.errors import SessionError, SessionUnavailable
from toolkeel.sessions.stores.private_files import make_private_file
from toolkeel.sessions.stores.sql_tables import ensure

T = TypeVar("T")
MEMORY: Final = ":memory:"
BUSY_SECONDS: Final = 10.0
"""Seconds to wait for writers of other processes."""
_BATCH: Final = 1000


@record
class _Work:
    """A scheduled write.

    Args:
        do: Function that writes, within a transaction.
        done: Resolved with its value once that is durable.
        erases: True if its deleted data must also be removed from the log.
        separate: True for a transaction of its own on a server.
    """

    do: Callable[[sqlite3.Connection], Any]
    done: Future[Any]
    erases: bool
    separate: bool = False


class Unreachable(sqlite3.OperationalError):
    """Raised if a database server cannot be reached now."""


class Database:
    """A file of sessions, or a place in memory, with the thread that writes to it.

    Args:
        path: Path of the file; it and its folder are created, readable by their owner only.
            ``:memory:`` for none.

    Raises:
        SessionError: the file is another program's, cannot be opened, or is on a disk where a
            write-ahead log does not work, such as a network folder.
    """

    begin = "BEGIN"
    """How a read begins, which sees one state of all tables."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.display_name: str = getattr(self, "display_name", path)
        self._pid = os.getpid()
        self._works: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        if path != MEMORY:
            register_state(path)
        try:
            self._connection = self._open()
        except (OSError, sqlite3.Error) as error:
            kind = SessionUnavailable if isinstance(error, Unreachable) else SessionError
            fix = explain_data_folder(path)
            raise kind(
                f"the sessions in {self.display_name} cannot be opened: {error}{fix}"
            ) from None
        try:
            self._thread = start_thread(self._run, "toolkeel-journal")
        except SetupError:
            self._connection.close()
            raise

    def _open(self) -> sqlite3.Connection:
        """Return a new connection to the file, created if missing; raise SessionError if no log works there."""
        if self.path != MEMORY:
            make_private_file(Path(self.path))
        return _connect(self.path)

    @property
    def writing(self) -> sqlite3.Connection:
        """The writing connection, for use inside `write` only."""
        return self._connection

    def _check_open(self) -> None:
        """Raise SessionError if the database is closed or belongs to the process before a fork."""
        if self._closed or self._pid != os.getpid():
            raise SessionError(f"{self.display_name} is closed, or was opened before a fork")

    def write(
        self,
        do: Callable[[sqlite3.Connection], T],
        *,
        erases: bool = False,
        separate: bool = False,
    ) -> Future[T]:
        """Schedule a write. The future is done when it is durable.

        Args:
            do: Called with the connection, within a transaction. If it raises, its changes are undone,
                and those of others in that transaction are not.
            erases: True to also clear the log, so that deleted data is gone from the disk.
            separate: True if it locks a row that another process may lock: on a server it then has a
                transaction of its own, which prevents deadlocks.

        Raises:
            SessionError: the file is closed, or was opened before a fork.
        """
        done: Future[T] = Future()
        with self._lock:
            self._check_open()
            self._works.put(_Work(do, done, erases, separate))
        return done

    def write_now(
        self,
        do: Callable[[sqlite3.Connection], T],
        *,
        erases: bool = False,
        separate: bool = False,
    ) -> T:
        """Schedule a write, wait until it is durable, and return its value. See `write`.

        Raises:
            SessionError: the write failed, or the database is closed.
        """
        return self.write(do, erases=erases, separate=separate).result()

    def lock_writes(self, connection: sqlite3.Connection) -> None:
        """Lock out other writers until the transaction ends: nothing to do, as SQLite's write transactions do."""

    def read(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """Read committed data, in one state of all tables, and return the value of `do`.

        Waits for no writer, except in memory, where the writing thread reads.

        Raises:
            SessionError: the file cannot be read.
        """
        if self.path == MEMORY:
            return self.write_now(do)
        try:
            with self._reader() as connection:
                connection.execute(self.begin)
                try:
                    return do(connection)
                finally:
                    connection.execute("ROLLBACK")  # one that stays open keeps the log growing
        except sqlite3.Error as error:
            raise SessionError(f"{self.display_name} cannot be read: {error}") from None

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """Yield an idle read-only connection, or a new one; raise SessionError if the database is closed."""
        self._check_open()
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            uri = f"{Path(self.path).absolute().as_uri()}?mode=ro"
            connection = sqlite3.connect(
                uri, timeout=BUSY_SECONDS, uri=True, isolation_level=None, check_same_thread=False
            )
        try:
            yield connection
        finally:
            self._idle.put(connection)

    def close(self) -> None:
        """Write pending entries, and close the file; do nothing if it is closed, or was opened before a fork."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                return
            self._closed = True
            self._works.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()
        self._connection.close()  # the last: it clears the log, which readers cannot

    # — the thread —

    def _run(self) -> None:
        """Commit queued works in batches of at most `_BATCH`, until `close` queues None; the thread's body."""
        while (work := self._works.get()) is not None:
            works = [work]
            last = False
            with suppress(queue.Empty):
                while len(works) < _BATCH and not last:
                    more = self._works.get_nowait()
                    last = more is None
                    works += [] if more is None else [more]
            self._commit(works)
            del work, works  # they hold the journals that wrote, until the next one writes
            if last:
                return

    def _commit(self, works: list[_Work]) -> None:
        """Write all in one transaction, and resolve their futures, with the error if it fails."""
        kept: list[tuple[_Work, Any]] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for work in works:
                self._run_work(work, kept)
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            problem = _problem(self.display_name, error)
            for work in works:
                if not work.done.done():
                    work.done.set_exception(problem)
            return
        left = self._clear_log() if any(work.erases for work, _ in kept) else None
        for work, value in kept:
            if work.erases and left is not None:
                work.done.set_exception(left)
            else:
                work.done.set_result(value)

    def _run_work(self, work: _Work, kept: list[tuple[_Work, Any]]) -> None:
        """Run one work in a savepoint, and append it with its value to `kept`, or store its error in its future.

        Raises the error if it ended the whole transaction.
        """
        self._connection.execute("SAVEPOINT work")
        try:
            value = work.do(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # a full disk, most often: all of the transaction is gone
            self._connection.execute("ROLLBACK TO work")
            work.done.set_exception(_problem(self.display_name, error))
        else:
            kept.append((work, value))
        self._connection.execute("RELEASE work")

    def _clear_log(self) -> SessionError | None:
        """Remove deleted data from the log, waiting up to `BUSY_SECONDS` for readers. Return an error if it fails, else None."""
        end = monotonic() + BUSY_SECONDS
        try:
            while self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if monotonic() > end:
                    return SessionError(
                        "it is deleted, but another process reads on, so its text is in the log "
                        "still; end that process and delete something again"
                    )
                sleep(0.01)
        except sqlite3.Error as error:  # a full disk, for one; who writes after this goes on
            return SessionError(f"it is deleted, but its text is in the log still: {error}")
        return None


def _problem(path: str, error: BaseException) -> BaseException:
    """Return the `SessionError` for a database error, or the error itself if it is none."""
    if isinstance(error, sqlite3.IntegrityError):
        return SessionError(f"{path}: somebody else has written to the session: {error}")
    if isinstance(error, sqlite3.Error):
        return SessionError(f"{path} cannot be written: {error}")
    return error


def checked_path(path: str | Path, argument: str = "Sessions(path=...)") -> str:
    """Return the path of a file, or the address of a PostgreSQL database, as text.

    Raises:
        SessionError: the address is another database's, or was passed as a `Path`.
    """
    text = str(path)
    is_address = isinstance(path, str) and re.match(r"postgres(ql)?://", text) is not None
    scheme = re.match(r"([A-Za-z][\w+.-]+):/|(postgres(?:ql)?)//", text)
    if scheme and not is_address:
        fix = "as text, not as a Path" if isinstance(path, Path) else "that begins postgresql://"
        name = scheme[1] or scheme[2]
        raise SessionError(f"{argument}: {name}: is no folder; give an address {fix}")
    return text


def _connect(path: str) -> sqlite3.Connection:
    """Open the file with a write-ahead log and its tables, or raise SessionError where a log cannot work."""
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        mode = _write_ahead(connection)
        if mode not in ("wal", "memory"):
            raise SessionError(
                f"{path} lies where a write-ahead log does not work (SQLite answers {mode!r}), such "
                "as a network folder; give a path on a disk of this machine"
            )
        for pragma in ("synchronous = FULL", "secure_delete = ON", "fullfsync = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
        ensure(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Switch to the write-ahead log, trying again while the file is locked; return SQLite's mode afterwards."""
    end = monotonic() + BUSY_SECONDS
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > end:
                raise
            sleep(0.01)


# — one for each file —

_open: dict[str, Database] = {}
_opening = threading.Lock()
_abandoned: list[Database] = []
"""Of the parent: to close them would drop its locks."""


def shared_database(path: str, make: type[Database] | None = None) -> Database:
    """Return this process's one open database of a file, opened if there is none. Each ``:memory:`` is separate.

    Args:
        path: Path of the file, or an address that `make` understands.
        make: Class of the database; SQLite by default.

    Raises:
        SetupError: the path is relative, and the working folder is gone.
        SessionError: the database cannot be opened.
    """
    if path == MEMORY:
        return Database(path)
    real = path if make else absolute_path(path)
    with _opening:
        found = _open.get(real)
        if found is None or found._closed:
            found = _open[real] = (make or Database)(real)
        return found


def _forget() -> None:
    """Drop the parent's connections in a forked process, without closing them."""
    global _opening
    _abandoned.extend(_open.values())
    _open.clear()
    _opening = threading.Lock()


def close_all() -> None:
    """Write all pending entries, and close all files."""
    with _opening:
        for each in _open.values():
            each.close()
        _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
atexit.register(close_all)
