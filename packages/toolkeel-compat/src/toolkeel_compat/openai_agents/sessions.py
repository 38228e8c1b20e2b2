"""Sessions, under the names of the OpenAI Agents SDK: what was said before joins the next run.

A `SQLiteSession` reads and writes the tables that the SDK's own does, so conversations that exist
go on. For one that survives a crash in the middle of a run, give a core `Session` in its place.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from toolkeel._records.messages_json import json_text
from toolkeel.messages import Message, unanswered
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import TResponseInputItem
from toolkeel_compat.openai_agents.items import ItemHelpers, input_list
from toolkeel_compat.openai_agents.models.named import default_client
from toolkeel_compat.openai_agents.settings import RunConfig, SessionSettings

__all__ = ["OpenAIConversationsSession", "SQLiteSession", "Session", "SessionABC"]

_TABLES = """
CREATE TABLE IF NOT EXISTS "{sessions}" (
    session_id TEXT PRIMARY KEY,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS "{messages}" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES "{sessions}" (session_id) ON DELETE CASCADE,
    message_data TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX IF NOT EXISTS "idx_{messages}_session_id" ON "{messages}" (session_id, id);
"""


@runtime_checkable
class Session(Protocol):
    """What keeps the items of a conversation."""

    session_id: str
    session_settings: SessionSettings | None = None

    @abstractmethod
    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, all by default, the oldest first."""

    @abstractmethod
    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep more."""

    @abstractmethod
    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest away; None if there is none."""

    @abstractmethod
    async def clear_session(self) -> None:
        """Forget all."""


class SessionABC(Session, ABC):
    """The same as a class to inherit from."""


class SQLiteSession(SessionABC):
    """A conversation in an SQLite file.

    Args:
        session_id: Which one of the file.
        db_path: The file; by default one in memory.
        sessions_table: Name of the table of sessions.
        messages_table: Name of the table of items.
        session_settings: How it is read.
    """

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        sessions_table: str = "agent_sessions",
        messages_table: str = "agent_messages",
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings
        self.db_path = db_path
        names = {"sessions": sessions_table, "messages": messages_table}
        self._names = {key: name.replace('"', '""') for key, name in names.items()}
        self._lock = threading.Lock()
        self._db = sqlite3.connect(str(db_path), check_same_thread=False)
        # Most programs leave it to the garbage collector, which from 3.13 on warns if it is open.
        self._close = weakref.finalize(self, self._db.close)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(_TABLES.format(**self._names))

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        read = 'SELECT message_data FROM "{messages}" WHERE session_id = ? ORDER BY id DESC LIMIT ?'
        rows = await self._run((read, (self.session_id, -1 if limit is None else limit)))
        return [json.loads(row[0]) for row in reversed(rows)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        id = self.session_id
        rows = [(id, json_text(item)) for item in items]
        insert = 'INSERT INTO "{messages}" (session_id, message_data) VALUES (?, ?)'
        await self._run(
            ('INSERT OR IGNORE INTO "{sessions}" (session_id) VALUES (?)', (id,)),
            *((insert, row) for row in rows),
            ('UPDATE "{sessions}" SET updated_at = CURRENT_TIMESTAMP WHERE session_id = ?', (id,)),
        )

    async def pop_item(self) -> TResponseInputItem | None:
        last = '(SELECT max(id) FROM "{messages}" WHERE session_id = ?)'
        take = f'DELETE FROM "{{messages}}" WHERE id = {last} RETURNING message_data'
        rows = await self._run((take, (self.session_id,)))
        return json.loads(rows[0][0]) if rows else None

    async def clear_session(self) -> None:
        gone = 'DELETE FROM "{%s}" WHERE session_id = ?'
        await self._run(*((gone % one, (self.session_id,)) for one in ("messages", "sessions")))

    def close(self) -> None:
        """Close the file."""
        self._close()

    async def _run(self, *steps: tuple[str, Sequence[object]]) -> list[tuple[Any, ...]]:
        """The rows of the last of some statements, all done or none."""

        def run() -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = []
            with self._lock, self._db:
                for statement, values in steps:
                    rows = self._db.execute(statement.format(**self._names), values).fetchall()
            return rows

        return await asyncio.to_thread(run)


class OpenAIConversationsSession(SessionABC):
    """A conversation that OpenAI keeps.

    Args:
        conversation_id: Which one; a new one is made when it is first needed.
        openai_client: An `openai.AsyncOpenAI`; by default that of `set_default_openai_client`.
        session_settings: How it is read.
    """

    def __init__(
        self,
        *,
        conversation_id: str | None = None,
        openai_client: Any = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = conversation_id or ""
        self.session_settings: SessionSettings | None = session_settings
        self._given = openai_client

    @property
    def _client(self) -> Any:
        return self._given or default_client()

    @property
    def _items(self) -> Any:
        return self._client.conversations.items

    async def _id(self) -> str:
        if not self.session_id:
            self.session_id = (await self._client.conversations.create(items=[])).id
        return self.session_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        found: list[TResponseInputItem] = []
        async for item in self._items.list(conversation_id=await self._id(), order="desc"):
            if limit is not None and len(found) >= limit:
                break
            found.append(item.model_dump(exclude_unset=True))
        return found[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        id = await self._id()
        for start in range(0, len(items), 20):  # as many as one request takes
            await self._items.create(conversation_id=id, items=items[start : start + 20])

    async def pop_item(self) -> TResponseInputItem | None:
        items = await self.get_items(1)
        if not items:
            return None
        id, last = await self._id(), str(items[0]["id"])
        await self._items.delete(conversation_id=id, item_id=last)
        return items[0]

    async def clear_session(self) -> None:
        if self.session_id:
            await self._client.conversations.delete(conversation_id=self.session_id)
        self.session_id = ""


class Memory:
    """A session around one run.

    Args:
        session: Which one.
        config: How it is read, and what joins its items with what is said now.
    """

    def __init__(self, session: Session, config: RunConfig) -> None:
        self._session = session
        self._config = config
        self._said: list[TResponseInputItem] = []
        self._kept: list[Message] = []

    async def with_history(self, given: str | Sequence[Any]) -> list[TResponseInputItem]:
        """What was said before, and what is said now."""
        self._said = ItemHelpers.input_to_new_input_list(given)
        settings = self._config.session_settings
        limit = settings.limit if settings is not None else None
        history = await self._session.get_items(*([] if limit is None else [limit]))
        join, said = self._config.session_input_callback, self._said
        joined = [*history, *said] if join is None else join(history, list(said))
        given = list(await maybe_await(joined))
        await self._session.add_items(said)  # kept whatever becomes of the run
        return given

    async def keep(self, messages: Sequence[Message], asked: Sequence[Message]) -> None:
        """Keep what was said and done since; calls are kept with their results.

        Args:
            messages: The transcript.
            asked: What of it the run was given.
        """
        if not self._kept:
            self._kept = list(asked if self._said else before_open_calls(asked))
        known = {id(one) for one in self._kept}
        new = [one for one in before_open_calls(messages) if id(one) not in known]
        self._kept += new
        if items := input_list(new):
            await self._session.add_items(items)


def before_open_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """A transcript up to the reply whose calls have no results yet.

    >>> from toolkeel import AssistantMessage, ToolCall, UserMessage
    >>> len(before_open_calls([UserMessage("hi"), AssistantMessage("", (ToolCall("1", "add", "{}"),))]))
    1
    """
    if not unanswered(messages):
        return messages
    return messages[: max(n for n, one in enumerate(messages) if hasattr(one, "tool_calls"))]
