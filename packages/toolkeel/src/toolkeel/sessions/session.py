"""A session: a conversation that lasts, run after run, over one journal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from time import time

from toolkeel._common.checked_arguments import checked
from toolkeel._records.entries import Decided
from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.typed_values import load_state as load_values
from toolkeel.agent.history import HistoryPolicy, ShortenedTranscript
from toolkeel.agent.session_interface import Place, SessionStart
from toolkeel.content import Content
from toolkeel.context import RunContext
from toolkeel.messages import Message, Usage
from toolkeel.sessions.decisions import (
    find_decision,
    pending_tickets,
    post_decision,
    read_decisions,
    read_inbox,
)
from toolkeel.sessions.errors import SessionBusy, SessionError
from toolkeel.sessions.export import SearchMatch, search_entries
from toolkeel.sessions.inbox import (
    InboxMessage,
    add_post,
    apply_cancels,
    message_body,
    parse_messages,
    post_cancel,
    post_message_once,
    take_inbox,
    watch_inbox,
)
from toolkeel.sessions.journal import (
    EntryWatcher,
    SessionJournal,
    Storage,
    StoredEntry,
    load_state,
    open_journal,
    read_entries,
)
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.run_from_journal import (
    OnMessage,
    RunOptions,
    begin_run,
    end_run,
    refuse_enclosing,
    shorten_view,
)
from toolkeel.sessions.session_lock import Arrival, record_writer, user_name
from toolkeel.sessions.stores.store import Batch, SessionInfo, Writer


class Session:
    """A conversation that lasts. Give it to an agent: ``agent.run("hello", session=session)``.

    Args:
        storage: The store; if it fails or has a damaged entry of the session, methods raise `SessionError`.
        name: Its name, within its scope.
        scope: Owner of the name, such as a user's id: names are unique within a scope.
        wait: True if a run waits while another one is active; False to raise `SessionBusy`.
        history: The policy that shortens long transcripts; see `Agent`.
        on_message: See `Sessions.open`.

    Attributes:
        on_message: What a new message does while a call waits for a person.
        resumes_only: True if a run without a prompt only continues an unfinished run or answers
            messages of the inbox. False if it also continues after a canceled run.
    """

    def __init__(
        self,
        storage: Storage,
        name: str,
        scope: str = "",
        *,
        wait: bool = True,
        history: HistoryPolicy | None = None,
        on_message: OnMessage = "queue",
    ) -> None:
        self.name = name
        self.scope = scope
        self._storage = storage
        self.resumes_only = False
        self._wait, self._history = wait, history
        self.on_message: OnMessage = on_message
        self._recorded_pid = 0

    def __repr__(self) -> str:
        return f"Session({self.name!r}, scope={self.scope!r})"

    @property
    def info(self) -> SessionInfo:
        """Facts about the session, as lists of sessions show them.

        Raises:
            SessionError: the session has no entries yet, or was deleted.
        """
        if (found := self._find_info()) is None:
            raise SessionError(f"there is no session {self.name!r}")
        return found

    @property
    def exists(self) -> bool:
        """True if the session has been written to."""
        return self._find_info() is not None

    def _find_info(self) -> SessionInfo | None:
        """Return the session's record in the store, or None before its first write."""
        return self._storage.store.find(self.scope, self.name)

    def _find_or_make(self) -> SessionInfo:
        """Return the session's record, created if there is none; raise SessionError if the store fails."""
        if (found := self._find_info()) is not None:
            return found
        try:
            return self._storage.store.create(self.scope, self.name, time(), Batch())
        except SessionError:
            if (found := self._find_info()) is None:  # else another process was first
                raise
            return found

    @checked
    def entries(self, after: int = 0, upto: int | None = None, kind: str = "") -> list[StoredEntry]:
        """Return its entries after number `after`, up to `upto` and of one kind if set; raise `SessionError` if it does not exist."""
        info = self.info
        last = info.head if upto is None else min(upto, info.head)
        return list(read_entries(self._storage.store, info, after, last, kind))

    @checked
    def search(self, text: str) -> list[SearchMatch]:
        """Return the messages that contain every word of a text, in any letter case, in order.

        Messages of people, models and tools and the arguments of calls are searched, also those that
        requests omit. Damaged entries are skipped; a session without entries has no messages.

        Raises:
            SessionError: the text has no words.
        """
        if not (words := text.casefold().split()):
            raise SessionError("search(...): give a word to search for")
        info = self._find_info()
        return list(search_entries(self._storage, info, words)) if info else []

    @checked
    def activity(self, parts: int) -> list[tuple[int, int, int]]:
        """Count its entries over time, without reading them, or raise `SessionError` if it does not exist.

        Args:
            parts: Number of equal parts of its time span.

        Returns:
            For each part with entries: its index, the number of entries, and the number of the last.
        """
        info = self.info
        times = self._storage.store.read_times(info.id, info.head)
        begin = min((at for _, at in times), default=0.0)
        width = (max((at for _, at in times), default=0.0) - begin) / parts or 1.0
        found: dict[int, tuple[int, int]] = {}
        for seq, at in times:
            part = min(int((at - begin) / width), parts - 1)
            found[part] = found.get(part, (0, 0))[0] + 1, seq
        return [(part, *found[part]) for part in sorted(found)]

    def load_state(self) -> JournalState:
        """Load its state from the last checkpoint, or an empty one if nothing was written yet."""
        info = self._find_info()
        return load_state(self._storage.store, info) if info else JournalState()

    @property
    def messages(self) -> list[Message]:
        """The complete transcript, including messages that requests omit."""
        fold = JournalState()
        for each in self.entries() if self.exists else ():
            if each.entry.kind not in ("compacted", "handed_over"):
                fold.apply(each.seq, each.entry)
        return fold.view.messages

    @property
    def state(self) -> dict[str, object]:
        """The values that its tools wrote."""
        return load_values(self.load_state().state)

    @property
    def usage(self) -> Usage:
        """The usage of all its runs."""
        return self.load_state().usage

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """Tickets that wait for a person: calls to approve, and calls that may have happened."""
        return pending_tickets(self.load_state())

    @property
    def unread(self) -> tuple[tuple[str, str], ...]:
        """Messages in its inbox that no run has taken: sender and text."""
        return tuple((each.who, each.message.text) for each in self.inbox)

    @property
    def inbox(self) -> tuple[InboxMessage, ...]:
        """The messages in its inbox that no run has taken. Raises `ValueError` if one is damaged."""
        info = self._find_info()
        return parse_messages(self._storage.store.read_posts(info.id)) if info else ()

    @property
    def decisions(self) -> dict[str, Decided]:
        """The first decision on each call that has not run yet, by ticket id."""
        return read_decisions(self._storage.store, info)[0] if (info := self._find_info()) else {}

    @property
    def writer(self) -> Writer | None:
        """The process that writes to the session now, or None; requests to cancel that wait are applied then."""
        if (info := self._find_info()) is None:
            return None
        if self._storage.locks.try_acquire(info.id):
            self._storage.locks.release(info.id)
            apply_cancels(self._storage, info.id)
            return None
        return self._storage.store.get_writer(info.id)

    @checked
    def say(self, content: Content, who: str = "", *, id: str = "", after: int = -1) -> bool:
        """Post a message; callable from any process. Create the session if it does not exist.

        It joins the active run before the run's next request, or else the next run.

        Args:
            content: Text, or texts and pictures.
            who: Who sends it; the name of the process's user by default.
            id: Id of the message, chosen by its sender. Of several messages with one id, also from
                several processes at once, only the first is posted.
            after: Number of an entry; of messages after it only the first is posted. Ignored with an `id`.

        Returns:
            True if it was posted.
        """
        info, who = self._find_or_make(), who or user_name()
        if id:
            return post_message_once(self._storage, info, content, (who, 0), id)
        read = None if after < 0 else (after, 0)
        return add_post(self._storage.store, info.id, (who, "message", message_body(content)), read)

    def deliver(self) -> bool:
        """Let this process's active run take the inbox now; call it in the run's thread. Return False without a run."""
        info = self._find_info()
        take = self._storage.live.inboxes.get(info.id) if info else None
        if take is not None:
            take()
        return take is not None

    def watch(self, watcher: EntryWatcher) -> Callable[[], None]:
        """Call a function with entries that this process writes, once they are durable.

        It is called in the writing thread. Creates the session if needed. Returns a function that removes it.
        """
        return self._storage.live.watch(self._find_or_make().id, watcher)

    def say_once(self, text: str, who: str, after: int = 0) -> bool:
        """Post a message unless `who` has posted one since the entry `after`.

        Returns:
            True if it was posted. Of several processes that call this at once, one posts.
        """
        return post_message_once(self._storage, self._find_or_make(), text, (who, after))

    @checked
    def decide(self, decision: Decision, who: str = "") -> Decided | None:
        """Decide a ticket. The session's next run acts on it. The first decision counts.

        Returns:
            The earlier decision, also if its call has run; None if this one counts.

        Raises:
            DecisionRefused: no call here waits for this decision, what waits has changed since it was
                shown or has expired, or its call does not permit the verdict. Nothing was written.
            SessionError: there is no such session.
        """
        return post_decision(self._storage.store, self.info, decision, who or user_name())

    @checked
    def cancel(self, reason: str = "", who: str = "") -> None:
        """Cancel the last run, also a waiting one, or else the calls that still wait, which are denied.

        An active run of any process stops within a quarter of a second. Any other has ended when this
        returns, and decisions on its calls have no effect.
        """
        self._cancel(reason, who, "")

    def cancel_message(self, sender: str, reason: str = "") -> None:
        """Withdraw the message of `sender`, or cancel the unfinished run that it has joined."""
        self._cancel(reason, "", sender)

    def find_decision(self, ticket: str) -> Decided | None:
        """Return the decision that counts for a ticket's id, also if its call has run; None for none."""
        info, store = self._find_info(), self._storage.store
        return find_decision(store, info, ticket) if info else None

    def _cancel(self, reason: str, who: str, sender: str) -> None:
        """Post a cancel request, and apply it if no process writes to the session; do nothing if the session does not exist."""
        if (info := self._find_info()) is not None:
            post_cancel(self._storage.store, info.id, who or user_name(), reason, sender)
            apply_cancels(self._storage, info.id)

    # — what the model is shown —

    @checked
    async def compact(self, history: HistoryPolicy) -> bool:
        """Apply a history policy now. Return True if later requests are shorter.

        Args:
            history: Such as `KeepTurns`, `KeepTokens` or `Summarize`.

        Raises:
            SessionError: its last run has not ended, or another one is active.
        """
        if not self._storage.locks.try_acquire((info := self.info).id):
            raise SessionBusy(f"a run of the session {self.name!r} goes on")
        try:
            fold = self.load_state()
            if not fold.is_at_rest:
                raise SessionError(f"the last run of the session {self.name!r} has not ended")
            journal = SessionJournal(self._storage.store, self.info, fold, self._storage.live)
            shortened = await shorten_view(journal, fold.last_run.run, history)
            await end_run(journal)
        finally:
            self._storage.locks.release(info.id)
            apply_cancels(self._storage, info.id)
        return shortened

    # — for an agent —

    def take_place(self) -> Arrival:
        """Take the next place in the order of its runs here, or raise `SessionError` if Python is ending."""
        return self._storage.locks.arrivals.arrive((self.scope, self.name))

    @asynccontextmanager
    async def open_run(
        self,
        run: RunContext,
        said: Sequence[Message],
        decisions: Sequence[Decision],
        place: Place | None = None,
    ) -> AsyncIterator[SessionStart]:
        """Lock the session, and yield the start of the run that it continues or begins. See `Conversation.open_run`."""
        with place or self.take_place() as arrival:
            info = await asyncio.to_thread(self._find_or_make)
            refuse_enclosing(run, self._storage.store, info)
            await arrival.wait()
            await self._acquire(info, arrival)
        since = time()
        try:
            info = await asyncio.to_thread(lambda: self.info)
            journal = await asyncio.to_thread(open_journal, self._storage, info)
            self._record_writer(info.id)
            late, posts = await asyncio.to_thread(read_inbox, self._storage.store, info, decisions)
            options = RunOptions(self.name, self.resumes_only, self.on_message, since)
            going = await begin_run(journal, run, (said, late, posts), options)
            whole = ShortenedTranscript(lambda: journal.state.cuts, lambda: self.messages)
            going = replace(going, history=self._history, full_transcript=whole)
            taker = journal, self._storage.store, info.id, run
            watching = asyncio.create_task(watch_inbox(*taker))
            self._storage.live.inboxes[info.id] = partial(take_inbox, *taker)
            try:
                yield going
            finally:
                del self._storage.live.inboxes[info.id]
                watching.cancel()
                with suppress(asyncio.CancelledError, SessionError):
                    await watching
                await end_run(journal)
        finally:
            self._storage.locks.release(info.id)
            with suppress(SessionError):  # it is away, or closed: whoever has it next does this
                await asyncio.to_thread(apply_cancels, self._storage, info.id)

    async def _acquire(self, info: SessionInfo, arrival: Place) -> None:
        """Wait for the session's lock, or raise `SessionBusy` if `wait` is False."""
        if self._wait:
            await self._storage.locks.acquire(info.id, arrival)
        elif not self._storage.locks.try_acquire(info.id):
            held = await asyncio.to_thread(self._storage.store.get_writer, info.id)
            told = f"process {held.pid} ({held.program}) of {held.user}" if held else "somebody"
            raise SessionBusy(f"{told} writes to the session {self.name!r}; wait, or say() it")

    def _record_writer(self, id: int) -> None:
        """Record this process as the writer, once. The lock shows if it still writes."""
        if self._recorded_pid != os.getpid():
            self._recorded_pid = os.getpid()
            record_writer(self._storage.store, id)
