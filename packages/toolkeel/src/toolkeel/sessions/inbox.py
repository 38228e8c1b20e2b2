"""The inbox of a session: messages, decisions and cancels, posted by any process.

They cannot write the journal, which has one writer. They leave a row, a post; the writer makes an
entry of it and removes the row in one transaction, so each is consumed once, in order, whichever
process dies in between. Two things keep that true when a commit takes long. The journal claims a post
at once, so that a read of the inbox that overtakes the commit does not consume it again. And who
posts what must be there once, such as the first decision on a ticket, reads the session first and
then posts in a transaction that fails if another process has come first.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from functools import partial
from time import time
from typing import Any, Final, Literal, TypeAlias

from toolkeel._records.entries import Decided, Queued, RunEnded, Unqueued
from toolkeel._records.messages_json import dump_message, json_text, load_message
from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, new_id
from toolkeel.content import Content
from toolkeel.context import RunContext
from toolkeel.messages import Message, UserMessage, unanswered
from toolkeel.sessions.checkpoint import make_checkpoint
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.journal import (
    SessionJournal,
    Storage,
    open_journal,
    read_entries,
)
from toolkeel.sessions.stores.store import (
    NewPost,
    Post,
    SessionInfo,
    SessionStore,
    Unchanged,
)
from toolkeel.sessions.unknown_outcomes import end_call

Kind = Literal["message", "decision", "cancel"]
Fields: TypeAlias = tuple[str, Kind, dict[str, Any]]
"""A post as it is left: who, of which kind, and the body."""
_ENTRY_OF: Final[dict[Kind, str]] = {
    "message": Queued.kind,
    "decision": Decided.kind,
    "cancel": "",
}
"""Kind of the entry that a post becomes. A cancel names the last entry, of any kind."""
DEFAULT_REASON: Final = "somebody asked to stop"
SHORT: Final = 1000
"""Characters below which an id is always stored within its entry."""
MAX_ATTEMPTS: Final = 20
"""Attempts to post a cancel while nothing is written to the session."""
POLL_SECONDS: Final = 0.25
"""Seconds between two looks into the inbox while a run goes on."""


def add_post(
    store: SessionStore,
    session: int,
    fields: Fields,
    read: tuple[int, int] | None = None,
) -> bool:
    """Add a post to a session's inbox. It is durable when this returns.

    Args:
        store: The store of the session.
        session: Its number.
        fields: Sender, kind and body.
        read: Numbers of the last entry and the last post that the caller has read: the post is not
            added if the session has others of its kind. None adds it in any case.

    Returns:
        True if it was added; on False, read again.

    Raises:
        SessionError: the session is deleted.
    """
    who, kind, body = fields
    unchanged = None if read is None else Unchanged(*read, _ENTRY_OF[kind], kind)
    return store.post(session, NewPost(time(), who, kind, json_text(body)), unchanged)


@record
class InboxMessage:
    """A message that no run has taken: its id, when it was posted, by whom.

    Args:
        id: As its sender chose it; empty if it chose none.
        at: In seconds since the epoch.
        who: The sender.
        message: The message.
    """

    id: str
    at: float
    who: str
    message: Message


def parse_messages(posts: Iterable[Post]) -> tuple[InboxMessage, ...]:
    """Return the messages among the posts of an inbox, in order.

    Raises:
        ValueError, KeyError: a message is damaged.
    """
    bodies = [(post, json.loads(post.body)) for post in posts if post.kind == "message"]
    return tuple(
        InboxMessage(str(body.get("id", "")), post.at, post.who, load_message(body["message"]))
        for post, body in bodies
    )


@record
class CancelRequest:
    """A cancel that another process has posted.

    Args:
        reason: Why; may be empty.
        sender: Whose message is to be withdrawn, or the run that answers it canceled; empty for
            whatever run there is.
        head: The last entry of the session when it was posted.
        at: When it was posted, in seconds since the epoch.
        who: Who posted it.
    """

    reason: str
    sender: str
    head: int
    at: float
    who: str


def post_cancel(store: SessionStore, session: int, who: str, reason: str, sender: str) -> None:
    """Post a cancel. See `CancelRequest`.

    A run that writes during each of `MAX_ATTEMPTS` attempts is active: its cancel needs no last entry.

    Raises:
        SessionError: the session is deleted.
    """
    added, attempts = False, 0
    while not added:
        head = store.get(session).head
        posts = store.read_posts(session)
        body = {"reason": reason, "sender": sender, "head": head}
        read = head, posts[-1].id if posts else 0
        attempts += 1
        last = None if attempts > MAX_ATTEMPTS else read
        added = add_post(store, session, (who, "cancel", body), last)


def take_posts(journal: SessionJournal, run: str, posts: list[Post]) -> Iterator[CancelRequest]:
    """Move messages and decisions from posts into the journal; remove and yield cancel requests, in order.

    Raises:
        SessionError: a post cannot be read.
    """
    for post in posts:
        if journal.is_claimed(post):
            continue
        try:
            body = json.loads(post.body)
            if post.kind == "cancel":
                journal.drop_post(post)
                head = int(body.get("head", 0))
                reason, sender = str(body.get("reason", "")), str(body.get("sender", ""))
                yield CancelRequest(reason, sender, head, post.at, post.who)
            elif post.kind == "decision":
                decision = Decision.from_dict(body["decision"])
                journal.take_post(post, Decided(run, decision, post.who))
            else:
                message, id = load_message(body["message"]), str(body.get("id") or new_id())
                journal.take_post(post, Queued(run, id, message, post.who))
        except (ValueError, KeyError, TypeError) as error:
            raise SessionError(f"the inbox holds what nobody can read: {error}") from None


def message_body(content: Content, id: str = "") -> dict[str, Any]:
    """Return the body of a post that holds a message, with the id that its sender gave it."""
    return {"message": dump_message(UserMessage(content)), **({"id": id} if id else {})}


def take_inbox(journal: SessionJournal, store: SessionStore, session: int, run: RunContext) -> None:
    """Move the messages of the inbox, not other posts, into the journal, and queue them for the active run.

    Must be called in the run's thread.

    Raises:
        SessionError: a post cannot be read.
    """
    posts = [post for post in store.read_posts(session) if post.kind == "message"]
    for _ in take_posts(journal, run.id, posts):
        """No message is a cancel."""
    deliver(journal, run)
    journal.flush()


async def watch_inbox(
    journal: SessionJournal, store: SessionStore, session: int, run: RunContext
) -> None:
    """Poll the inbox until this is cancelled: queue messages for the run, apply cancels, and commit.

    Decisions stay in it. While the store cannot be read, it is polled again.

    Raises:
        SessionError: a post cannot be understood, or the journal cannot be written.
    """
    look = partial(store.read_posts, session)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        try:
            posts = [post for post in await asyncio.to_thread(look) if post.kind != "decision"]
        except SessionError:  # the store is away; the next commit of the run says so
            continue
        if not posts:
            continue
        for request in take_posts(journal, run.id, posts):
            deliver(journal, run)
            if not withdraw(journal, run, request.sender) and is_of_last_run(journal, request):
                run.cancel.cancel(request.reason or DEFAULT_REASON)
        deliver(journal, run)
        await journal.commit()


def is_of_last_run(journal: SessionJournal, request: CancelRequest) -> bool:
    """Return True if a cancel concerns the last run: it names no sender, or one whose message joined that run."""
    return not request.sender or request.sender in journal.state.senders


def withdraw(journal: SessionJournal, run: RunContext | None, sender: str) -> bool:
    """Remove a sender's undelivered messages, and record that. Return True if there were any.

    Args:
        journal: The session's journal; an entry is appended for each message.
        run: The active run, whose queues lose the messages; None if no run is active.
        sender: Whose messages; an empty name matches none.
    """
    withdrawn = False
    for queued in [each for each in journal.state.queued.values() if each.who == sender != ""]:
        if run is None or run.recorder is None:
            journal.append(Unqueued(queued.run, queued.id))
            withdrawn = True
            continue
        for waiting in (run.loop_state.inbox, run.loop_state.follow_ups):
            for place, message in enumerate(waiting):
                if message is queued.message:
                    del waiting[place]
                    run.recorder.unqueue_messages([message])
                    withdrawn = True
                    break
    return withdrawn


def cancel_last_run(journal: SessionJournal, reason: str) -> None:
    """End the unfinished last run, which no process is running, as cancelled, with results for its open calls."""
    fold, reason = journal.state, reason or DEFAULT_REASON
    for call in unanswered(fold.view.messages):
        end_call(journal, call, reason)
    journal.append(RunEnded(fold.last_run.run, "cancelled", reason))


def apply_cancel(journal: SessionJournal, request: CancelRequest) -> None:
    """Apply a cancel while no run is active: withdraw its message, end an unfinished run, or deny deferred calls.

    A request that was made for a run that has ended does nothing.
    """
    fold = journal.state
    if withdraw(journal, None, request.sender):
        return
    if fold.has_unfinished_run:
        if is_of_last_run(journal, request):
            cancel_last_run(journal, request.reason)
        return
    if request.sender or request.head < journal.head:  # it was meant for a run that has ended
        return
    for deferred in tuple(fold.deferred.values()):
        decision = deferred.ticket.deny(request.reason or DEFAULT_REASON)
        journal.append(Decided(fold.last_run.run, decision, request.who))


def apply_cancels(storage: Storage, id: int) -> None:
    """Apply the posted cancels of a session that no process writes to.

    Each process calls this after it releases the session, so that a cancel posted meanwhile does not
    wait for the next run. Do nothing if another process has locked the session.
    """
    store = storage.store
    while requests := [post for post in store.read_posts(id) if post.kind == "cancel"]:
        if not storage.locks.try_acquire(id):
            return  # that process does it
        try:
            journal = open_journal(storage, store.get(id))
            senders = {json.loads(post.body).get("sender") for post in requests} - {""}
            fold = journal.state
            posts = [p for p in store.read_posts(id) if p.kind == "cancel" or p.who in senders]
            for request in take_posts(journal, fold.last_run.run, posts):
                apply_cancel(journal, request)
            if fold.is_at_rest:
                journal.append(make_checkpoint(fold))
            if (closed := journal.close()) is not None:
                closed.result()
        finally:
            storage.locks.release(id)


# — what is there once —


def post_message_once(
    storage: Storage,
    info: SessionInfo,
    content: Content,
    sender: tuple[str, int],
    id: str = "",
) -> bool:
    """Post a message unless its sender has posted one, or one has its id. Return True if it was posted.

    Args:
        storage: Where the session is.
        info: The session.
        content: The message.
        sender: Name of the sender, and number of the entry after which earlier messages count.
        id: Id of the message; without one the sender's name decides.

    Raises:
        SessionError: an entry is damaged, or the session was deleted.
    """
    who, after = sender
    fields: Fields = who, "message", message_body(content, id)
    holding = json_text(id) if id and id.isascii() and len(id) < SHORT else ""
    while True:
        span = after, info.head, Queued.kind
        entries = read_entries(storage.store, info, *span, holding)
        queued = [each.entry for each in entries]
        posts = storage.store.read_posts(info.id)
        said = [post for post in posts if post.kind == "message"]
        known = [each.id if id else each.who for each in queued if isinstance(each, Queued)]
        known += [json.loads(post.body).get("id") if id else post.who for post in said]
        if (id or who) in known:
            return False
        read = info.head, posts[-1].id if posts else 0
        if add_post(storage.store, info.id, fields, read):
            return True
        info = storage.store.get(info.id)


# — messages for a run —


def take_early_messages(journal: SessionJournal, run: RunContext) -> tuple[Message, ...]:
    """Remove and return the messages sent to a run before it had a journal; follow-ups stay, and are written."""
    state, recorder = run.loop_state, run.recorder
    for message in state.follow_ups:
        queued = Queued(run.id, new_id(), message, "", "follow_up")
        journal.append(queued)
        if recorder is not None:
            recorder.track_queued(queued)
    early = tuple(state.inbox)
    state.inbox.clear()
    return early


def deliver(journal: SessionJournal, run: RunContext) -> None:
    """Queue the session's undelivered messages, once each, in a run's inbox or among its follow-ups.

    Do nothing without a recorder.
    """
    if run.recorder is None:
        return
    for queued in journal.state.queued.values():
        if run.recorder.track_queued(queued):
            (
                run.loop_state.follow_ups if queued.when == "follow_up" else run.loop_state.inbox
            ).append(queued.message)
