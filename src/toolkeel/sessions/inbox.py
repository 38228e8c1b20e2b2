"""What others say to a session: messages, decisions and cancels, from any process.

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
import sqlite3
from collections.abc import Iterator
from functools import partial
from time import time
from typing import Any, Final, Literal, TypeAlias

from toolkeel._records.entries import Decided, Queued
from toolkeel._records.messages_json import dump_message, json_text, load_message
from toolkeel._records.tickets import Decision
from toolkeel.context import RunContext
from toolkeel.messages import UserMessage
from toolkeel.sessions import sql_queries
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.journal import SessionJournal
from toolkeel.sessions.sql_queries import Post
from toolkeel.sessions.sqlite import Database

Kind = Literal["message", "decision", "cancel"]
Fields: TypeAlias = tuple[str, Kind, dict[str, Any]]
"""A post as it is left: who, of which kind, and the body."""
_ENTRY_OF: Final[dict[Kind, str]] = {"message": Queued.kind, "decision": Decided.kind}
LOOK: Final = 0.25
"""Seconds between two looks into the inbox while a run goes on."""


def leave(database: Database, session: int, who: str, kind: Kind, body: dict[str, Any]) -> None:
    """Leave a post for a session; it is durable when this returns.

    Raises:
        SessionError: the session is deleted.
    """
    fields = who, kind, json_text(body)
    do = partial(sql_queries.post, id=session, at=time(), fields=fields)
    database.write_now(do, separate=True)


def leave_if_unchanged(
    database: Database,
    session: int,
    fields: Fields,
    read: tuple[int, int],
) -> bool:
    """Leave a post unless the session has others of its kind that the caller has not read.

    Args:
        database: Where the session is.
        session: Its number.
        fields: Who, of which kind, and the body.
        read: The last entry and the last post that the caller has read.

    Returns:
        Whether it was left; if not, read again.

    Raises:
        SessionError: the session is deleted.
    """
    who, kind, body = fields
    text, kinds = json_text(body), (_ENTRY_OF[kind], kind)

    def post(connection: sqlite3.Connection) -> bool:
        sql_queries.lock_session(connection, session)
        if sql_queries.has_changed(connection, session, read, kinds):
            return False
        sql_queries.post(connection, session, time(), (who, kind, text))
        return True

    return database.write_now(post, separate=True)


def posted(database: Database, session: int) -> list[Post]:
    """What was left and not taken yet."""
    return database.read(lambda connection: sql_queries.posts(connection, session))


def take_all(journal: SessionJournal, run: str, posts: list[Post]) -> Iterator[str]:
    """Make entries of what was left; the reasons of those that ask to stop."""
    for post in posts:
        if journal.is_claimed(post):
            continue
        try:
            body = json.loads(post.body)
            if post.kind == "cancel":
                journal.drop(post)
                yield str(body.get("reason", ""))
            elif post.kind == "decision":
                decision = Decision.from_dict(body["decision"])
                journal.take(post, Decided(run, decision, post.who))
            else:
                message = load_message(body["message"])
                journal.take(post, Queued(run, f"{post.id}", message, post.who))
        except (ValueError, KeyError, TypeError) as error:
            raise SessionError(f"the inbox holds what nobody can read: {error}") from None


def say(text: str) -> dict[str, Any]:
    """A message as it is left."""
    return {"message": dump_message(UserMessage(text))}


async def watch(journal: SessionJournal, database: Database, session: int, run: RunContext) -> None:
    """While a run goes on: what is said joins it before its next request; a cancel stops it."""
    look = partial(posted, database, session)
    while True:
        await asyncio.sleep(LOOK)
        posts = [post for post in await asyncio.to_thread(look) if post.kind != "decision"]
        if not posts:
            continue
        for reason in take_all(journal, run.id, posts):
            run.cancel.cancel(reason or "somebody asked to stop")
        deliver(journal, run)
        await journal.commit()


def deliver(journal: SessionJournal, run: RunContext) -> None:
    """Hand what is queued to the run, which takes it into its transcript before its next request."""
    if run.recorder is None:
        return
    for queued in journal.fold.queued.values():
        if run.recorder.queue(queued):
            (
                run.loop_state.follow_ups if queued.when == "follow_up" else run.loop_state.inbox
            ).append(queued.message)
