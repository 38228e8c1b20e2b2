"""The journal of one session: entries in, and durable when a commit returns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from time import time
from typing import TypeAlias

from toolkeel._common.cancel import get_logger
from toolkeel._records.entries import Checkpoint, Entry, ModelReplied, PersonSaid, RunEnded, Steered
from toolkeel._records.entries_json import dump_entry, load_entry
from toolkeel._records.record import NOTHING, record
from toolkeel.messages import UserMessage
from toolkeel.sessions.checkpoint import WINDOW_KINDS, restore_state, window_start
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.session_lock import LiveSessions, WriterLocks
from toolkeel.sessions.stores.store import Batch, Post, Row, SessionInfo, SessionStore

EXCERPT_LENGTH = 80
"""Characters of what was said that a list of sessions shows."""


@record
class StoredEntry:
    """An entry with its number and the time it was written, in seconds since the epoch."""

    seq: int
    at: float
    entry: Entry


EntryWatcher: TypeAlias = Callable[[Sequence[StoredEntry]], None]
"""Called with entries that this process wrote, once they are durable, from the thread that writes."""


class Storage:
    """A store, with the locks and live sessions that this process has in it.

    Args:
        store: The store.

    Attributes:
        locks: Locks that give each session one writer.
        live: Watchers and active runs of its sessions in this process.
    """

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.locks = WriterLocks(store)
        self.live: LiveSessions[StoredEntry] = LiveSessions()


class SessionJournal:
    """The journal of one session, for its one writer.

    Args:
        store: The store of the session.
        info: The session; None if it does not exist yet, see `commit_new`.
        fold: The state computed from its entries; updated with each new one.
        live: Watchers of the session, called with entries that are durable.

    Attributes:
        state: That state.
    """

    def __init__(
        self,
        store: SessionStore,
        info: SessionInfo | None,
        fold: JournalState,
        live: LiveSessions[StoredEntry] | None = None,
    ) -> None:
        self.state = fold
        self._store = store
        self._info = info
        self._head, self._turns, self._first = (
            (0, 0, "") if info is None else (info.head, info.turns, info.first)
        )
        self._rows: list[Row] = []
        self._live = live or LiveSessions()
        self._watched: list[StoredEntry] = []
        self._large: dict[str, bytes] = {}
        self._taken: list[int] = []
        self._claimed: set[int] = set()
        self._facts: dict[str, object] = {"turns": self._turns}
        self._last: Future[None] | None = None
        self._broken: BaseException | None = None
        self._closed = False
        self._lock = threading.Lock()

    def append(self, entry: Entry, more: Mapping[str, object] = NOTHING) -> None:
        """Add an entry; callable from any thread. Do nothing once closed. See `Journal.append`.

        Args:
            entry: The entry.
            more: Keys of its JSON that this version does not know.

        Raises:
            SetupError: the arguments of a call cannot be represented in JSON.
        """
        entry = self.state.without_known_definitions(entry)
        text, large = self._store.artifacts.dump_entry({**more, **dump_entry(entry)})
        with self._lock:
            self._append(entry, text, large)

    def extend(self, make: Callable[[JournalState], Iterable[Entry]]) -> None:
        """Add the entries that a function returns for the state; see `Sessions.append`."""
        for entry in make(self.state):
            self.append(entry)

    def _append(self, entry: Entry, text: str, large: dict[str, bytes]) -> None:
        """Apply an entry to the state and queue it to be written; do nothing if the journal is closed."""
        if self._closed:  # a body that nobody waits for any more
            return
        self._head += 1
        self.state.apply(self._head, entry)
        now = time()
        self._rows.append((self._head, now, entry.kind, text))
        if self._info is not None and self._live.is_watched(self._info.id):
            self._watched.append(StoredEntry(self._head, now, entry))
        self._large.update(large)
        self._note(entry)

    @property
    def store(self) -> SessionStore:
        """The store that it writes to."""
        return self._store

    def load_info(self) -> SessionInfo:
        """Read the facts about its session as they are in the store now."""
        return self._store.get(self._info_now.id)

    def belongs_to(self, store: SessionStore, id: int) -> bool:
        """Return True if this is the journal of the session with this id in a store."""
        return self._store is store and self._info is not None and self._info.id == id

    @property
    def session_key(self) -> str:
        """A text that identifies the session in this process; empty before the first commit."""
        return "" if self._info is None else f"{id(self._store)}-{self._info.id}"

    def is_claimed(self, post: Post) -> bool:
        """Return True if `take_post` or `drop_post` had this post, committed or not."""
        with self._lock:
            return post.id in self._claimed

    def take_post(self, post: Post, entry: Entry) -> None:
        """Append an entry for a post and remove the post, in one transaction.

        Nothing happens if the post is claimed: a read of the inbox that overtakes a slow commit returns it
        again.
        """
        text, large = self._store.artifacts.dump_entry(dump_entry(entry))
        with self._lock:
            if self._claim(post):
                self._append(entry, text, large)

    def drop_post(self, post: Post) -> None:
        """Remove a post in the transaction of the next entries, without an entry for it."""
        with self._lock:
            self._claim(post)

    def _claim(self, post: Post) -> bool:
        """Mark a post as consumed by this journal. Return False if it is already, or the journal is closed."""
        if self._closed or post.id in self._claimed:
            return False
        self._claimed.add(post.id)
        self._taken.append(post.id)
        return True

    def _note(self, entry: Entry) -> None:
        """Update the facts that a list of sessions shows: number of turns, excerpts, last end and checkpoint."""
        facts = self._facts
        message = entry.message if isinstance(entry, PersonSaid | Steered) else None
        if isinstance(message, UserMessage) and message.origin == "person":
            self._turns += 1
            self._first = self._first or make_excerpt(message.text)
            facts |= {"turns": self._turns, "first": self._first, "ended": ""}
        elif isinstance(entry, ModelReplied) and entry.message.text:
            facts["last"] = make_excerpt(entry.message.text)
        elif isinstance(entry, RunEnded) and entry.run == self.state.last_run.run:
            facts["ended"] = entry.reason
        elif isinstance(entry, Checkpoint):
            facts["checkpoint"] = self._head

    async def commit(self) -> None:
        """Wait until every appended entry is durable; raise SessionError if one cannot be written."""
        if (written := self._write()) is not None:
            # Whoever is cancelled meanwhile leaves the write alone: it must not be half done.
            await asyncio.shield(asyncio.wrap_future(written))

    def commit_now(self) -> None:
        """Block until every appended entry is durable; raise SessionError if one cannot be written."""
        if (written := self._write()) is not None:
            written.result()

    def commit_new(self, scope: str, name: str) -> SessionInfo:
        """Create the session with all appended entries, in one transaction.

        Raises:
            SessionError: a session of this name exists.
        """
        with self._lock:
            batch = self._batch()
        self._info = self._store.create(scope, name, time(), batch)
        return self._info

    def flush(self) -> None:
        """Start to write the appended entries; raise SessionError if an earlier write failed."""
        self._write()

    def close(self) -> Future[None] | None:
        """Accept no more entries. Return the last write to wait for, or None if nothing is left to write.

        Raises SessionError if an earlier write failed.
        """
        with self._lock:
            self._closed = True
        return self._write()

    @property
    def head(self) -> int:
        """Number of the last entry when the session was opened; 0 if it was new."""
        return 0 if self._info is None else self._info.head

    @property
    def has_grown(self) -> bool:
        """True if entries were appended since the session was opened."""
        return self._head > self.head

    def read_entry(self, seq: int) -> Entry:
        """Return an entry that is in the database; raise SessionError if it is missing or damaged."""
        return _read_entry(self._store, self._info_now, seq)

    def _write(self) -> Future[None] | None:
        """Start to write the appended entries. Return the last write, or None if there was none.

        Raises:
            SessionError: an earlier write failed.
        """
        if self._broken is not None:
            raise SessionError(f"a write of the session failed, so it ends here: {self._broken}")
        with self._lock:
            if not (self._rows or self._taken):
                return self._last
            batch = self._batch()
            self._rows, self._large, self._taken, self._facts = [], {}, [], {}
            watched, self._watched = self._watched, []
            self._last = self._store.append(self._info_now.id, batch)
        self._last.add_done_callback(self._note_failure)
        if watched:  # before whoever waits for the write: they find that watchers know of it
            tell = partial(self._live.notify, self._info_now.id, watched)
            self._last.add_done_callback(tell)
        return self._last

    def _batch(self) -> Batch:
        """Return the entries, facts and consumed posts that are not written yet."""
        usage = self.state.usage
        spent = {"tokens": usage.total_tokens, "requests": usage.requests}
        facts = {**self._facts, **spent, "head": self._head, "updated": time()}
        after = self._head - len(self._rows)
        return Batch(self._rows, facts, after, self._taken, self._large)

    @property
    def _info_now(self) -> SessionInfo:
        """The facts of the session, which exists."""
        assert self._info is not None
        return self._info

    def _note_failure(self, write: Future[None]) -> None:
        """Store the first error of a write, for the next write to raise."""
        self._broken = self._broken or write.exception()


def make_excerpt(text: str) -> str:
    """Return the beginning of a text as one line, of at most `EXCERPT_LENGTH` characters."""
    known = (
        text[: 2 * EXCERPT_LENGTH].encode("utf-8", "replace").decode()
    )  # half a surrogate pair is no text
    line = " ".join(known.replace("\0", " ").split())
    return line if len(line) <= EXCERPT_LENGTH else line[: EXCERPT_LENGTH - 1] + "…"


def read_entries(
    store: SessionStore,
    info: SessionInfo,
    after: int,
    upto: int,
    kind: str = "",
    holding: str = "",
) -> Iterator[StoredEntry]:
    """Yield entries of a session in order, a page per read so that no read takes long.

    Args:
        store: Store of the session.
        info: The session.
        after: Number of the entry before the first one.
        upto: Number of the last one.
        kind: Kind of the entries; all if empty.
        holding: Text of JSON that they have as they are stored.

    Raises:
        SessionError: an entry is damaged.
    """
    for seq, at, _, text in read_rows(store, info, after, upto, kind):
        if holding in text:
            yield StoredEntry(seq, at, _load(store, info, seq, text))


def _load(store: SessionStore, info: SessionInfo, seq: int, text: str) -> Entry:
    """Parse an entry's text, or raise SessionError if it is damaged."""
    try:
        return load_entry(store.artifacts.load_entry(text))
    except ValueError as error:
        raise SessionError(f"entry {seq} of {info.name!r} is damaged: {error}") from None


def read_rows(
    store: SessionStore, info: SessionInfo, after: int, upto: int, kind: str = ""
) -> Iterator[Row]:
    """Yield the entries as stored, not parsed, so that a damaged one does not hide the others."""
    while after < upto and (rows := store.read(info.id, after, upto, kind)):
        yield from rows
        after = rows[-1][0]


def _read_entry(store: SessionStore, info: SessionInfo, seq: int) -> Entry:
    """Read one entry by its number, or raise SessionError if it is missing."""
    for each in read_entries(store, info, seq - 1, seq):
        return each.entry
    raise SessionError(f"entry {seq} of {info.name!r} is gone")


def apply_entries(fold: JournalState, entries: Iterable[tuple[int, Entry]]) -> JournalState:
    """Apply entries to a state and return it.

    Raises:
        SessionError: the entries are inconsistent.
    """
    try:
        for seq, entry in entries:
            fold.apply(seq, entry)
    except (ValueError, TypeError, LookupError) as error:
        raise SessionError(f"the entries do not belong together: {error}") from None
    return fold


def load_state(store: SessionStore, info: SessionInfo) -> JournalState:
    """Load the state of a session, from its last checkpoint and the messages the model is shown.

    If the checkpoint is damaged, a warning is logged and the state computed from all other entries.

    Raises:
        SessionError: the session cannot be read.
    """

    def read(after: int, upto: int, kinds: Container[str] = ()) -> Iterator[tuple[int, Entry]]:
        """Yield the entries in (`after`, `upto`] of these kinds, each with its number.

        Without kinds, yields all but checkpoints.
        """
        for seq, _, kind, text in read_rows(store, info, after, upto):
            if kind in kinds if kinds else kind != Checkpoint.kind:
                yield seq, _load(store, info, seq, text)

    fold, at = JournalState(), info.checkpoint
    try:
        kept = _read_entry(store, info, at) if at else None
        if isinstance(kept, Checkpoint):
            first = window_start(kept)
            fold = restore_state(kept, read(first - 1, at - 1, WINDOW_KINDS) if first else ())
    except (ValueError, SessionError) as error:
        get_logger().warning("the checkpoint of %r is not used: %s", info.name, error)
        fold, at = JournalState(), 0
    return apply_entries(fold, read(at, info.head))


def open_journal(storage: Storage, info: SessionInfo) -> SessionJournal:
    """Load the state of a session, and return a journal that continues it; nothing is written.

    The caller holds the session's lock (`Storage.locks`) until it has closed the journal.

    Raises:
        SessionError: the session cannot be read.
    """
    fold = load_state(storage.store, info)
    return SessionJournal(storage.store, info, fold, storage.live)
