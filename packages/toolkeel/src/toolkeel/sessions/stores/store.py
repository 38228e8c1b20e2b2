"""The interface of stores for sessions.

A session is two lists and a head. The *journal* is a list of entries, numbered from 1, which one
writer appends to. The *inbox* is a list of posts, which any process may add; the writer removes a post in
the same transaction that appends its entry. The head is a `SessionInfo`. A store keeps these and
knows nothing of what entries and posts say: folds, checkpoints, policies and exports lie above it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.sessions.stores.artifacts import Artifacts

Row: TypeAlias = tuple[int, float, str, str]
"""An entry as it is stored: its number, when (seconds since the epoch), its kind, its JSON."""
DELETED = "the session is gone: it was deleted"


@record
class SessionInfo:
    """Facts about a session that are known without reading its journal.

    Args:
        id: Its number in this store.
        scope: Owner of its name; names are unique within a scope.
        name: Its name.
        created: Time of creation, in seconds since the epoch.
        updated: Time of the last write.
        head: Number of its last entry.
        checkpoint: Number of its last checkpoint; 0 if there is none.
        base: Number of the last entry that it shares with its parent.
        parent: Id of the session it was forked from.
        turns: Number of messages of people.
        first: Beginning of the first message.
        last: Beginning of the last answer.
        tokens: Number of tokens used so far.
        requests: Number of model requests so far.
        ended: Why its last run ended; empty while it is active, or if it was killed.
    """

    id: int
    scope: str
    name: str
    created: float
    updated: float
    head: int = 0
    checkpoint: int = 0
    base: int = 0
    parent: int | None = None
    turns: int = 0
    first: str = ""
    last: str = ""
    tokens: int = 0
    requests: int = 0
    ended: str = ""


@record
class Post:
    """A row of a session's inbox: a `NewPost` with its id, which is above those of earlier posts."""

    id: int
    at: float
    who: str
    kind: str
    body: str


@record
class NewPost:
    """A post to add to an inbox.

    Args:
        at: Time, in seconds since the epoch.
        who: The sender.
        kind: Its kind: ``message``, ``decision`` or ``cancel``.
        body: Its content, as JSON.
    """

    at: float
    who: str
    kind: str
    body: str


@record
class Unchanged:
    """The condition of a post: no entry or post of a kind was added since its sender read the session.

    Args:
        head: Number of the last entry that was read.
        last: Id of the last post that was read.
        entry: Kind of the entries that must not have been added; empty for any kind.
        post: Kind of the posts, likewise.
    """

    head: int
    last: int
    entry: str
    post: str


@record
class Writer:
    """Who writes to a session: the process, where it runs and since when (seconds since the epoch)."""

    pid: int
    host: str
    user: str
    program: str
    since: float


@record
class Batch:
    """The changes that one transaction writes to a session.

    Args:
        rows: New entries, numbered on from `after`.
        facts: New values of fields of the session's `SessionInfo`, by name.
        after: Number of the session's last entry before.
        taken: Ids of posts to remove.
        large: Large values (bytes) that the entries name, by digest; see `SessionStore.artifacts`.
    """

    rows: Sequence[Row] = ()
    facts: Mapping[str, Any] = NOTHING
    after: int = 0
    taken: Sequence[int] = ()
    large: Mapping[str, Any] = NOTHING


class SessionStore(ABC):
    """A store for sessions. Subclass it to store them elsewhere: ``Sessions(MyStore())``.

    Methods are called from any thread and may block. Each that writes is one transaction, durable when
    it returns, or when its future is done. All raise `SessionError` if they cannot do it; the message
    says why.

    Attributes:
        display_name: Name of the store in messages.
        artifacts: Store of large values; by default they remain in their entries.
        poll_seconds: Seconds between two attempts to lock a session that another process has.
    """

    display_name: str = "the store"
    artifacts: Artifacts = Artifacts(None, inline=True)
    poll_seconds: float = 0.1

    # — sessions —

    @abstractmethod
    def list_sessions(self, scope: str | None) -> list[SessionInfo]:
        """Return the sessions of a scope, or of all scopes for None, the last written first."""

    @abstractmethod
    def find(self, scope: str, name: str) -> SessionInfo | None:
        """Return the session of a name, or None."""

    @abstractmethod
    def get(self, id: int) -> SessionInfo:
        """Return the session of an id, or raise `SessionError` with `DELETED`."""

    @abstractmethod
    def create(
        self, scope: str, name: str, at: float, batch: Batch, parent: SessionInfo | None = None
    ) -> SessionInfo:
        """Create a session, and write a first batch to it.

        Args:
            scope: Its scope.
            name: Its name; an error if it is taken. `find` returns the session that has it then.
            at: When it is created, in seconds since the epoch.
            batch: Its first entries and facts; may be empty.
            parent: The session whose entries up to `batch.after` are its own, too; None: it begins
                empty. Copy them, or refer to them; they must outlive the deletion of the parent.
                Posts are not copied.
        """

    @abstractmethod
    def delete(self, id: int) -> None:
        """Delete a session with its entries and posts; nothing of it remains in the store."""

    def close(self) -> None:  # noqa: B027  # optional
        """Close the store. The default does nothing."""

    # — the journal and the inbox —

    @abstractmethod
    def append(self, id: int, batch: Batch) -> Future[None]:
        """Write a batch, after all earlier ones. The future is done when it is durable.

        It fails, and nothing is written, if the session's head is not `batch.after` or a post of
        `batch.taken` is not in its inbox: another process has written to the session.
        """

    @abstractmethod
    def read(self, id: int, after: int, upto: int, kind: str = "") -> Sequence[Row]:
        """Return the first entries numbered above `after` and up to `upto`, in order.

        Args:
            id: Number of the session.
            after: Number of the entry before the first one.
            upto: Number of the last one.
            kind: Kind of the entries; all if empty.

        Returns:
            As many as suit one read; empty only if there are no more.
        """

    @abstractmethod
    def post(self, id: int, post: NewPost, condition: Unchanged | None = None) -> bool:
        """Add a post with an id above all earlier ones of the session.

        Returns:
            False if the condition does not hold; then nothing is added. Checking it and adding the post
            are one step, between which no batch is written.
        """

    @abstractmethod
    def read_posts(self, id: int) -> list[Post]:
        """Return the posts of an inbox, in order."""

    # — one writer per session —

    def try_lock(self, id: int) -> bool:
        """Lock a session for this process. Return False if another process has it.

        A lock ends with its process. Tasks of this process never request the same session at once. The
        default returns True, for stores that only this process can see.
        """
        return True

    def unlock(self, id: int) -> None:  # noqa: B027
        """Release a session that `try_lock` has locked. The default does nothing."""

    def set_writer(self, id: int, writer: Writer) -> None:  # noqa: B027
        """Record the process that has locked a session, to be shown to others. The default does nothing.

        It need not be durable when this returns.
        """

    def get_writer(self, id: int) -> Writer | None:
        """Return the process that `set_writer` recorded last, or None. The default returns None."""
        return None

    # — what a store may do faster —

    def count_other_sessions(self, scope: str) -> tuple[int, int]:
        """Return the number of sessions in other scopes, and of these scopes."""
        others = [each.scope for each in self.list_sessions(None) if each.scope != scope]
        return len(others), len(set(others))

    def read_times(self, id: int, upto: int) -> list[tuple[int, float]]:
        """Return number and time of each entry up to a number, in order."""
        found: list[tuple[int, float]] = []
        while rows := self.read(id, found[-1][0] if found else 0, upto):
            found += [(seq, at) for seq, at, _, _ in rows]
        return found
