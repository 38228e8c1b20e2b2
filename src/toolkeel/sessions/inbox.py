"""What others say to a session: messages, decisions and cancels, from any process.

They cannot write the journal, which has one writer. They leave a row; the writer makes an entry of it
and removes the row in one transaction, so each is taken once, in order, whoever dies meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from time import time
from typing import Any, Final, Literal

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
LOOK: Final = 0.25
"""Seconds between two looks into the inbox while a run goes on."""


def leave(database: Database, session: int, who: str, kind: Kind, body: dict[str, Any]) -> int:
    """Leave something for a session; it is kept when this returns.

    Raises:
        SessionError: the session is gone.
    """
    said = who, kind, json_text(body)
    return database.write_now(
        lambda connection: sql_queries.post(connection, session, time(), said)
    )


def posted(database: Database, session: int) -> list[Post]:
    """What was left and not taken yet."""
    return database.read(lambda connection: sql_queries.posts(connection, session))


def take_all(journal: SessionJournal, run: str, posts: list[Post]) -> Iterator[str]:
    """Make entries of what was left; the reasons of those that ask to stop."""
    for post in posts:
        try:
            body = json.loads(post.body)
            if post.kind == "cancel":
                yield str(body.get("reason", ""))
                journal.drop(post)
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
