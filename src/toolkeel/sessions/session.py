"""A session: a conversation that lasts, run after run, over one journal."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from time import time

from toolkeel._common.checked_arguments import checked
from toolkeel._records.entries import Compacted, Decided, Queued, RunEnded
from toolkeel._records.messages_json import load_message
from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, Ticket, new_id
from toolkeel.agent.history import HistoryPolicy, ShortenedTranscript
from toolkeel.agent.session_interface import Going
from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage, Message, Usage, unanswered
from toolkeel.sessions import sql_queries
from toolkeel.sessions.artifacts import Artifacts
from toolkeel.sessions.errors import SessionBusy, SessionError
from toolkeel.sessions.inbox import (
    Fields,
    deliver,
    leave,
    leave_if_unchanged,
    posted,
    say,
    take_all,
    watch,
)
from toolkeel.sessions.journal import SessionJournal, Stored, load_fold, read_entries
from toolkeel.sessions.journal_state import Fold
from toolkeel.sessions.run_from_journal import (
    decisions_that_count,
    end_run,
    hand_over,
    last_goes_on,
    state_of,
)
from toolkeel.sessions.session_lock import Writer, WriterLocks, record_writer, user_name, writer_of
from toolkeel.sessions.sql_queries import SessionInfo
from toolkeel.sessions.sqlite import Database
from toolkeel.sessions.unknown_outcomes import recover


@record
class Storage:
    """Where sessions are kept: their rows, large values and locks."""

    database: Database
    artifacts: Artifacts
    locks: WriterLocks


class Session:
    """A conversation that lasts. Give it to an agent: ``agent.run("hello", session=session)``.

    Args:
        kept: Where it is kept; `Sessions` gives sessions of a file.
        name: Its name, within its scope.
        scope: Whose it is, such as a user's id: a name means nothing outside its scope.
        wait: Whether a run waits for its turn while another one goes on; else it is told who writes.
        history: Says what of a long transcript the model is still shown; see `Agent`.
    """

    def __init__(
        self,
        kept: Storage,
        name: str,
        scope: str = "",
        *,
        wait: bool = True,
        history: HistoryPolicy | None = None,
    ) -> None:
        self.name = name
        self.scope = scope
        self._storage = kept
        self._wait = wait
        self._history = history
        self._told = 0

    def __repr__(self) -> str:
        return f"Session({self.name!r}, scope={self.scope!r})"

    # — what it holds —

    @property
    def info(self) -> SessionInfo:
        """What is known of it without reading it.

        Raises:
            SessionError: nothing was ever said in it, or it was deleted.
        """
        found = self._find_info()
        if found is None:
            raise SessionError(f"there is no session {self.name!r}")
        return found

    @property
    def exists(self) -> bool:
        """Whether anything was ever said in it."""
        return self._find_info() is not None

    def _find_info(self) -> SessionInfo | None:
        return self._storage.database.read(
            partial(sql_queries.find, scope=self.scope, name=self.name)
        )

    def _find_or_make(self) -> SessionInfo:
        make = partial(sql_queries.make, scope=self.scope, name=self.name, now=time())
        return self._find_info() or self._storage.database.write_now(make)

    @checked
    def entries(self, after: int = 0, upto: int | None = None) -> list[Stored]:
        """Its journal behind entry `after`, in order; up to the entry `upto`, if it is given."""
        info = self.info
        last = info.head if upto is None else min(upto, info.head)
        return list(
            read_entries(self._storage.database, self._storage.artifacts, info, after, last)
        )

    @checked
    def activity(self, parts: int) -> list[tuple[int, int, int]]:
        """How much was written when, without reading what.

        Args:
            parts: Into how many equal parts its time is cut.

        Returns:
            For each part in which something was written: its place, how many entries, and the
            number of the last.
        """
        info = self.info
        look = partial(sql_queries.activity, id=info.id, upto=info.head, parts=parts)
        return self._storage.database.read(look)

    def fold(self) -> Fold:
        """Where it stands: read from its last checkpoint, not from its beginning."""
        return load_fold(self._storage.database, self._storage.artifacts, self.info)

    @property
    def messages(self) -> list[Message]:
        """The whole transcript, also what the model is no longer shown."""
        fold = Fold()
        for each in self.entries():
            if each.entry.kind not in ("compacted", "handed_over"):
                fold.see(each.seq, each.entry)
        return fold.view.messages

    @property
    def state(self) -> dict[str, object]:
        """What its tools wrote."""
        return self.fold().state

    @property
    def usage(self) -> Usage:
        """What all its runs spent."""
        return self.fold().usage

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """What waits for a person: calls, and questions whether a call has happened."""
        fold = self.fold()
        return (*fold.outcomes.values(), *fold.waiting.values())

    @property
    def unread(self) -> tuple[tuple[str, str], ...]:
        """What was said to it and no run has taken yet: who, and what."""
        posts = posted(self._storage.database, self.info.id)
        said = [(post.who, json.loads(post.body)) for post in posts if post.kind == "message"]
        return tuple((who, load_message(body["message"]).text) for who, body in said)

    @property
    def decisions(self) -> dict[str, Decided]:
        """What was decided about what waits and has not run yet, by the ticket's id.

        The first decision on a ticket counts: who comes second finds here what the first one said.
        """
        return self._decisions(self.info)[0]

    def _decisions(self, info: SessionInfo) -> tuple[dict[str, Decided], int]:
        """Return the decisions that are known at the head of `info`, and the last post that was read."""
        fold = load_fold(self._storage.database, self._storage.artifacts, info)
        found, last = dict(fold.decided), 0
        for post in posted(self._storage.database, info.id):
            last = post.id
            if post.kind == "decision":
                decision = Decision.from_dict(json.loads(post.body)["decision"])
                if fold.refuses(decision):
                    continue
                found.setdefault(decision.ticket, Decided(fold.began.run, decision, post.who))
        return found, last

    @property
    def writer(self) -> Writer | None:
        """Who writes to it now; None if nobody does."""
        info = self._find_info()
        if info is None or self._storage.locks.try_acquire(info.id):
            if info is not None:
                self._storage.locks.release(info.id)
            return None
        return writer_of(self._storage.database, info.id)

    # — what others say —

    @checked
    def say(self, text: str, who: str = "") -> None:
        """Say something to whoever runs it, from any process: it joins the run that goes on before
        its next request, else the next run.
        """
        id = self._find_or_make().id
        leave(self._storage.database, id, who or user_name(), "message", say(text))

    def _decided(self, decision: Decision, info: SessionInfo) -> Decided | None:
        """Return the entry that decided a ticket whose call has run since."""
        fold = load_fold(self._storage.database, self._storage.artifacts, info)
        if decision.ticket in (*fold.waiting, *fold.outcomes):
            return None
        entries = (each.entry for each in self.entries(0, info.head))
        decided = (each for each in entries if isinstance(each, Decided))
        return next((each for each in decided if each.decision.ticket == decision.ticket), None)

    def say_once(self, text: str, who: str, after: int = 0) -> bool:
        """Say something, unless `who` has said something since the entry `after`.

        Returns:
            Whether it was said now. Of several processes that do this at once, one says it.
        """
        info = self._find_or_make()
        while True:
            entries = (each.entry for each in self.entries(after, info.head))
            known = [each.who for each in entries if isinstance(each, Queued)]
            posts = posted(self._storage.database, info.id)
            known += [post.who for post in posts if post.kind == "message"]
            if who in known:
                return False
            read = info.head, posts[-1].id if posts else 0
            fields: Fields = who, "message", say(text)
            if leave_if_unchanged(self._storage.database, info.id, fields, read):
                return True
            info = self.info

    @checked
    def decide(self, decision: Decision, who: str = "") -> Decided | None:
        """Decide what waits; it counts when the session goes on, and the first decision counts.

        Returns:
            What somebody has decided before; None if this one counts.
        """
        fields: Fields = who or user_name(), "decision", {"decision": decision.to_dict()}
        info = self._find_or_make()
        while True:
            known, last = self._decisions(info)
            if (first := known.get(decision.ticket) or self._decided(decision, info)) is not None:
                leave(self._storage.database, info.id, *fields)  # the journal records it, too
                return first
            read = info.head, last
            if leave_if_unchanged(self._storage.database, info.id, fields, read):
                return None
            info = self.info

    @checked
    def cancel(self, reason: str = "", who: str = "") -> None:
        """Stop the run that goes on, in whatever process; nothing happens if none does."""
        if self.writer is not None:
            body = {"reason": reason}
            leave(
                self._storage.database, self._find_or_make().id, who or user_name(), "cancel", body
            )

    # — what the model is shown —

    @checked
    async def compact(self, history: HistoryPolicy) -> bool:
        """Have a policy look at it now; whether the model is shown less from here on.

        Args:
            history: Such as `KeepTurns`, `KeepTokens` or `Summarise`.

        Raises:
            SessionError: its last run has not ended, or another one goes on.
        """
        info = self.info
        if not self._storage.locks.try_acquire(info.id):
            raise SessionBusy(f"a run of the session {self.name!r} goes on")
        try:
            fold = self.fold()
            if not fold.rests:
                raise SessionError(f"the last run of the session {self.name!r} has not ended")
            journal = SessionJournal(
                self._storage.database, self._storage.artifacts, self.info, fold
            )
            shortened = await _shorten(journal, fold.began.run, history)
            await end_run(journal)
        finally:
            self._storage.locks.release(info.id)
        return shortened

    # — for an agent —

    @asynccontextmanager
    async def going(
        self, run: RunContext, said: Sequence[Message], decisions: Sequence[Decision]
    ) -> AsyncIterator[Going]:
        """See `Conversation.going`."""
        info = await asyncio.to_thread(self._find_or_make)
        await self._acquire(info)
        try:
            info = await asyncio.to_thread(lambda: self.info)
            fold = await asyncio.to_thread(
                load_fold, self._storage.database, self._storage.artifacts, info
            )
            journal = SessionJournal(self._storage.database, self._storage.artifacts, info, fold)
            self._record_writer(info.id)
            going = await self._begin(journal, info, run, (said, decisions))
            watching = asyncio.create_task(watch(journal, self._storage.database, info.id, run))
            try:
                yield going
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError, SessionError):
                    await watching
                await end_run(journal)
        finally:
            self._storage.locks.release(info.id)

    async def _acquire(self, info: SessionInfo) -> None:
        if self._wait:
            await self._storage.locks.acquire(info.id)
        elif not self._storage.locks.try_acquire(info.id):
            held = writer_of(self._storage.database, info.id)
            told = f"process {held.pid} ({held.program}) of {held.user}" if held else "somebody"
            raise SessionBusy(f"{told} writes to the session {self.name!r}; wait, or say() it")

    def _record_writer(self, id: int) -> None:
        """Say who writes: once in a process, since the lock says whether somebody does."""
        if self._told != os.getpid():
            self._told = os.getpid()
            record_writer(self._storage.database, id)

    async def _begin(
        self,
        journal: SessionJournal,
        info: SessionInfo,
        run: RunContext,
        given: tuple[Sequence[Message], Sequence[Decision]],
    ) -> Going:
        said, decisions = given
        fold = journal.fold
        goes_on = last_goes_on(journal, bool(said))
        run.id = fold.began.run if goes_on else run.id
        for _ in take_all(journal, run.id, posted(self._storage.database, info.id)):
            pass  # asks to stop a run that has stopped
        known = {each.ticket: each for each in reversed(decisions)}
        known |= {id: each.decision for id, each in fold.decided.items()}
        for decision in decisions:
            journal.append(Decided(run.id, decision))
        pending = await recover(journal, run, known)
        hand_over(journal, run, goes_on)
        counted, asks = decisions_that_count(fold, known)
        if not asks and run.approver is None:
            pending += fold.waiting.values()
        whole = ShortenedTranscript(lambda: fold.cuts, lambda: self.messages)
        going = Going(state_of(fold, goes_on), (), counted, tuple(pending), self._history, whole)
        if not (pending or unanswered(fold.view.messages)):
            return self._say_now(journal, run, going, said)
        for message in said:  # it comes after the results of what waits
            journal.append(Queued(run.id, new_id(), message))
        if not pending:
            deliver(journal, run)
        elif fold.reason != "waiting":
            journal.append(RunEnded(run.id, "waiting"))
        return going

    def _say_now(
        self, journal: SessionJournal, run: RunContext, going: Going, said: Sequence[Message]
    ) -> Going:
        """No call waits: what was said before this, and this, come next."""
        deliver(journal, run)
        now = (*run.loop_state.inbox, *said)
        run.loop_state.inbox.clear()
        messages = going.state.messages
        if not now and (not messages or isinstance(messages[-1], AssistantMessage)):
            raise SessionError(f"nothing waits in the session {self.name!r}: say something")
        return replace(going, said=now)


async def _shorten(journal: SessionJournal, run: str, history: HistoryPolicy) -> bool:
    """Have a policy look at what the model would be shown; whether it has cut something."""
    cuts = await history.cuts(journal.fold.view)
    for cut in cuts:
        entry = Compacted(run, cut.start, cut.stop, cut.messages, cut.policy, cut.usage)
        journal.append(entry)
    return bool(cuts)
