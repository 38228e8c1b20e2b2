"""A file of sessions: list, open, fork, export and import, delete."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import time
from typing import Annotated, Final
from weakref import WeakValueDictionary

from toolkeel._common.checked_arguments import at_least, checked
from toolkeel._common.data_folder import sessions_file
from toolkeel._records.entries import Checkpoint, Entry, Forked, ModelAsked, RunBegan
from toolkeel._records.entries_json import dump_entry
from toolkeel._records.messages_json import json_text
from toolkeel.agent.history import HistoryPolicy
from toolkeel.sessions.errors import SessionBusy, SessionError
from toolkeel.sessions.export import SearchMatch, export_lines, import_lines
from toolkeel.sessions.inbox import apply_cancels
from toolkeel.sessions.journal import SessionJournal, Storage, apply_entries, read_rows
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.run_from_journal import OnMessage, end_of_turn
from toolkeel.sessions.session import Session
from toolkeel.sessions.stores.postgres import open_store
from toolkeel.sessions.stores.sqlite import MEMORY, checked_path
from toolkeel.sessions.stores.store import Batch, SessionInfo, SessionStore

MAIN = "main"
"""The session that is meant by a path alone."""


class _NoScope(str):
    """The empty scope, where a caller has named none."""

    __slots__ = ()


NO_SCOPE: Final = _NoScope()
_OTHER_SCOPES = (
    "{} holds {} sessions in {} other scopes: list(scope=...) lists those of one, "
    "list(scope=None) all"
)
MAX_NAME_LENGTH = 200
"""Characters of a name."""


@checked
class Sessions:
    """The sessions of one store: a file, a database, or a store of your own.

    Args:
        path: The file; by default one in the user's data folder. ``:memory:`` for none,
            ``postgresql://...`` for a database of PostgreSQL, or a `SessionStore`. Other addresses raise `SessionError`.
        history: The policy that shortens long transcripts, such as `KeepTurns`.

    >>> sessions = Sessions(":memory:")
    >>> sessions["ada"]
    Session('ada', scope='')
    >>> sessions.list()
    ()
    """

    def __init__(
        self,
        path: str | Path | SessionStore | None = None,
        *,
        history: HistoryPolicy | None = None,
    ) -> None:
        self._history = history
        self._has_warned = False
        if isinstance(path, SessionStore):
            self.path, store = path.display_name, path
        else:
            self.path = str(sessions_file()) if path is None else checked_path(path)
            store = open_store(self.path)
        self._storage = _storage_of(store)
        if path is not store and self.path != MEMORY:
            _lasting.add(self._storage)  # whoever opens the path again finds its watchers

    @property
    def display_name(self) -> str:
        """The path of the file, or host and name of the database without user and password."""
        return self._storage.store.display_name

    def __getitem__(self, name: str) -> Session:
        """Return the session of a name, or raise as `open`. The first write creates it."""
        return self.open(name)

    @checked
    def open(
        self,
        name: str,
        scope: str = "",
        *,
        wait: bool = True,
        history: HistoryPolicy | None = None,
        on_message: OnMessage = "queue",
    ) -> Session:
        """Return the session of a name within a scope.

        Args:
            name: Its name, within its scope.
            scope: Owner of the name, such as a user's id.
            wait: False to raise `SessionBusy` while another run is active, instead of waiting.
            history: History policy; that of the `Sessions` by default.
            on_message: What a new message does while a call waits for a person: ``queue`` keeps it
                until the call is decided; ``answer`` lets the model answer it, with a placeholder for
                the result, which follows when the call is decided; ``cancel`` cancels what waits.

        Raises:
            SessionError: The name is empty, too long or not printable.
        """
        if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise SessionError(
                f"{name[:40]!r} cannot name a session: give 1 to {MAX_NAME_LENGTH} letters"
            )
        return Session(
            self._storage,
            name,
            scope,
            wait=wait,
            history=history or self._history,
            on_message=on_message,
        )

    def list(self, scope: str | None = NO_SCOPE) -> tuple[SessionInfo, ...]:
        """Return information on the sessions of a scope, the latest first; of all scopes for None.

        If no scope is passed and others have sessions, a `UserWarning` says so, once per object.
        """
        wanted = "" if scope is NO_SCOPE else scope
        store = self._storage.store
        found = store.list_sessions(wanted)
        if scope is NO_SCOPE and not self._has_warned:
            sessions, scopes = store.count_other_sessions("")
            if sessions:
                self._has_warned = True
                text = _OTHER_SCOPES.format(store.display_name, sessions, scopes)
                warnings.warn(text, UserWarning, stacklevel=2)
        return tuple(found)

    @checked
    def search(
        self,
        text: str,
        scope: str | None = "",
        *,
        limit: Annotated[int, at_least(1, "a number from 1")] = 100,
    ) -> tuple[SearchMatch, ...]:
        """Return the messages that contain every word of a text, in any letter case.

        It reads the journals, the last written session first, until `limit` is reached; see
        `Session.search`.

        Args:
            text: The words.
            scope: Scope of the sessions; None for all.
            limit: Maximum number of messages.

        Raises:
            SessionError: the text has no words.
        """
        found: list[SearchMatch] = []
        for info in self.list(scope):
            found += self.open(info.name, info.scope).search(text)
            if len(found) >= limit:
                break
        return tuple(found[:limit])

    def fork(
        self,
        name: str,
        to: str,
        *,
        turn: int | None = None,
        before: int | None = None,
        scope: str = "",
    ) -> Session:
        """Create a session that starts as a copy of another one up to a turn.

        Effects of its calls are not undone. Calls that wait in the other session wait in the new one,
        too, under tickets of their own.

        Args:
            name: The other session.
            to: Name of the new one.
            turn: Number of its turns to copy; all by default.
            before: Copy up to this request instead: the number of a `ModelAsked` entry of the session's
                own run. A run without a prompt asks the model again there; calls do not run again.
            scope: Scope of both.

        Raises:
            SessionError: there is no such session, turn or request, the new name is taken, or a run is
                active or was killed in the last turn.
        """
        if before is not None:
            return self._forked_before(self.open(name, scope), to, before)
        return self._forked(self.open(name, scope), to, turn, edited=False)

    def _forked(self, source: Session, to: str, turn: int | None, *, edited: bool) -> Session:
        """Fork a session after a turn (None: all) into a new one; raise SessionError if that turn has not ended."""
        name, info = source.name, source.info
        seq = info.head if turn is None else end_of_turn(source.entries(), name, turn, edited)
        target = self.open(to, source.scope)
        known = ((each.seq, each.entry) for each in source.entries(0, seq))
        fold = source.load_state() if seq == info.head else apply_entries(JournalState(), known)
        if not fold.is_at_rest or fold.deferred:
            if not fold.is_at_rest and fold.reason != "waiting":
                raise SessionError(
                    f"the last turn of {name!r} has not ended; fork from one before it"
                )
            last = Forked(name, seq, edited)
            lines = export_lines(self._storage, replace(info, head=seq))
            import_lines(self._storage, (source.scope, to), lines, last)
            return target
        if turn is not None:  # what a list of sessions tells of it
            first, ended = (info.first, info.ended) if turn > edited else ("", "")
            info = replace(info, turns=turn - edited, first=first, last="", ended=ended)
        self._copy(info, target, seq, edited=edited)
        return target

    def _copy(self, parent: SessionInfo, target: Session, seq: int, *, edited: bool) -> None:
        """Create a session as a copy of another up to entry `seq`.

        Its first own entry names the origin, and records if the request after it was `edited`.
        """
        store, now, entry = self._storage.store, time(), Forked(parent.name, seq, edited)
        point = parent.checkpoint
        if point > seq:
            earlier = read_rows(store, parent, 0, seq, Checkpoint.kind)
            point = max((row[0] for row in earlier), default=0)
        facts = {name: getattr(parent, name) for name in ("turns", "first", "last", "ended")}
        row = (seq + 1, now, entry.kind, json_text(dump_entry(entry)))
        batch = Batch([row], {**facts, "head": seq + 1, "checkpoint": point}, seq)
        store.create(target.scope, target.name, now, batch, parent)

    def _forked_before(self, source: Session, to: str, seq: int) -> Session:
        """Fork a session before one of its requests, or raise SessionError if entry `seq` is none."""
        found = source.entries(seq - 1, seq) if 0 < seq <= source.info.head else []
        nested = {
            each.entry.run
            for each in source.entries(0, seq)
            if isinstance(each.entry, RunBegan) and each.entry.parent
        }
        asked = found[0].entry if found else None
        if not isinstance(asked, ModelAsked) or asked.run in nested:
            raise SessionError(f"{source.name!r} has no request with the number {seq}")
        target, info = self.open(to, source.scope), replace(source.info, last="", ended="")
        self._copy(info, target, seq - 1, edited=False)
        return target

    def edit(self, name: str, turn: int, to: str, *, scope: str = "") -> Session:
        """Fork a session before a turn, to replace that turn's prompt.

        Args:
            name: The session.
            turn: The turn, from 1.
            to: Name of the new session.
            scope: Scope of both.

        Raises:
            SessionError: `turn` is below 1, the session lacks it, or the new name is in use.
        """
        if turn < 1:
            raise SessionError("turns are counted from 1")
        return self._forked(self.open(name, scope), to, turn, edited=True)

    @checked
    def append(
        self, name: str, make: Callable[[JournalState], Iterable[Entry]], *, scope: str = ""
    ) -> None:
        """Write entries to a session outside of its runs, in one transaction. Create it if needed.

        Args:
            name: The session.
            make: Returns the entries for the session's state; nothing is written if it raises.
            scope: Its scope.

        Raises:
            SessionBusy: a run of the session is active. SessionError: it cannot be written.
        """
        session, storage = self.open(name, scope), self._storage
        if not session.exists:
            journal = SessionJournal(storage.store, None, JournalState())
            journal.extend(make)
            journal.commit_new(scope, name)
            return
        info = session.info
        if not storage.locks.try_acquire(info.id):
            raise SessionBusy(f"a run of the session {name!r} goes on")
        try:
            fold = session.load_state()
            journal = SessionJournal(storage.store, session.info, fold, storage.live)
            journal.extend(make)
            journal.commit_now()
        finally:
            storage.locks.release(info.id)
            apply_cancels(storage, info.id)

    @checked
    def export(self, name: str, scope: str = "") -> Iterator[str]:
        """Yield a session as lines of JSON: a header, then one entry per line, also of messages in its inbox.

        Raises:
            SessionError: there is no such session.
        """
        return export_lines(self._storage, self.open(name, scope).info, has_inbox=True)

    @checked
    def import_(self, lines: Iterable[str], name: str, scope: str = "") -> Session:
        """Create a session from the lines that `export` returned; nothing runs.

        A truncated file is imported up to the cut.

        Args:
            lines: The lines, with or without their line ends.
            name: Name of the new session.
            scope: Its scope.

        Raises:
            SessionError: the lines hold no session, or the name is taken.
        """
        made = self.open(name, scope)
        import_lines(self._storage, (scope, name), lines)
        return made

    @checked
    def delete(self, name: str, scope: str = "") -> None:
        """Delete a session. It is gone from the disk when this returns, and cannot be restored.

        Raises:
            SessionError: there is no such session, a run of it is active, or another process keeps
                reading the file.
        """
        session = self.open(name, scope)
        info = session.info
        if not self._storage.locks.try_acquire(info.id):
            raise SessionError(f"a run of {name!r} goes on; cancel it first")
        try:
            self._storage.store.delete(info.id)
        finally:
            self._storage.locks.release(info.id)

    @checked
    def prune(
        self, older_than: float, *, scope: str | None = "", waiting: bool = False, dry: bool = True
    ) -> tuple[SessionInfo, ...]:
        """Return sessions not written for some days; unless `dry`, delete them but active ones. Raise as `delete`.

        Args:
            older_than: Number of days.
            scope: Scope of the sessions; None for all.
            waiting: True to also delete sessions in which calls wait for a person, or messages for a run.
            dry: True to delete nothing and only return the sessions, active ones included.
        """
        before = time() - older_than * 86400
        found = []
        for info in self.list(scope):
            session = self.open(info.name, info.scope)
            if info.updated >= before or (not waiting and (session.pending or session.inbox)):
                continue
            if dry or session.writer is None:
                found.append(info)
        for info in () if dry else found:
            self.delete(info.name, info.scope)
        return tuple(found)

    def close(self) -> None:
        """Close the store, for all of this process. The last process that closes a file compacts it."""
        self._storage.store.close()


_storages: WeakValueDictionary[int, Storage] = WeakValueDictionary()
_lasting: set[Storage] = set()
_lock = Lock()


def _storage_of(store: SessionStore) -> Storage:
    """Return this process's one storage of a store, since its locks belong to the process."""
    with _lock:
        found = _storages.get(id(store))  # it holds the store, whose id is not used again meanwhile
        if found is None:
            found = _storages[id(store)] = Storage(store)
        return found


@checked
def session(name: str | Path) -> Session:
    """Return the session of a name in the user's data folder, or the one of the file at a path.

    >>> session(":memory:")
    Session('main', scope='')
    """
    if isinstance(name, Path) or name == MEMORY:
        return Sessions(name)[MAIN]
    return Sessions()[name]
