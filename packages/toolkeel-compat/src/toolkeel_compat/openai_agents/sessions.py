"""Sessions under the names of the OpenAI Agents SDK: earlier messages join the next run.

A `SQLiteSession` uses the same tables as the SDK's own, so existing conversations continue. For a
session that survives a crash in the middle of a run, use a core `Session`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from toolkeel._records.messages_json import json_text
from toolkeel.define.output_type import OUTPUT_TOOL
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, ToolMessage, unanswered
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import TResponseInputItem
from toolkeel_compat.openai_agents.items import DECIDED, ItemHelpers, to_input_list
from toolkeel_compat.openai_agents.models.named import get_default_client
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
    """A store for the items of a conversation."""

    session_id: str
    session_settings: SessionSettings | None = None

    @abstractmethod
    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest items, all by default, oldest first."""

    @abstractmethod
    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store more items."""

    @abstractmethod
    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the latest item, or None."""

    @abstractmethod
    async def clear_session(self) -> None:
        """Delete all items."""


_METHODS = ("get_items", "add_items", "pop_item", "clear_session")


def is_session(value: Any) -> bool:
    """Return True if an object has the four methods of a `Session`.

    Raises:
        SetupError: It has some of them.
    """
    missing = [name for name in _METHODS if not callable(getattr(value, name, None))]
    if 0 < len(missing) < len(_METHODS):
        raise SetupError(f"the session {type(value).__name__} has no method {missing[0]!r}")
    return not missing


class SessionABC(Session, ABC):
    """`Session` as a base class."""


class SQLiteSession(SessionABC):
    """A conversation in an SQLite file.

    Args:
        session_id: Id of the conversation in the file.
        db_path: The file; in memory by default.
        sessions_table: Name of the table of sessions.
        messages_table: Name of the table of items.
        session_settings: Settings for reading it.
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
        rows = await self._execute((read, (self.session_id, -1 if limit is None else limit)))
        return [json.loads(row[0]) for row in reversed(rows)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        id = self.session_id
        rows = [(id, json_text(item)) for item in items]
        insert = 'INSERT INTO "{messages}" (session_id, message_data) VALUES (?, ?)'
        await self._execute(
            ('INSERT OR IGNORE INTO "{sessions}" (session_id) VALUES (?)', (id,)),
            *((insert, row) for row in rows),
            ('UPDATE "{sessions}" SET updated_at = CURRENT_TIMESTAMP WHERE session_id = ?', (id,)),
        )

    async def pop_item(self) -> TResponseInputItem | None:
        last = '(SELECT max(id) FROM "{messages}" WHERE session_id = ?)'
        take = f'DELETE FROM "{{messages}}" WHERE id = {last} RETURNING message_data'
        rows = await self._execute((take, (self.session_id,)))
        return json.loads(rows[0][0]) if rows else None

    async def clear_session(self) -> None:
        delete = 'DELETE FROM "{%s}" WHERE session_id = ?'
        await self._execute(
            *((delete % one, (self.session_id,)) for one in ("messages", "sessions"))
        )

    def close(self) -> None:
        """Close the file."""
        self._close()

    async def _execute(self, *steps: tuple[str, Sequence[object]]) -> list[tuple[Any, ...]]:
        """Run statements in one transaction, and return the rows of the last."""

        def run() -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = []
            with self._lock, self._db:
                for statement, values in steps:
                    rows = self._db.execute(statement.format(**self._names), values).fetchall()
            return rows

        return await asyncio.to_thread(run)


class OpenAIConversationsSession(SessionABC):
    """A conversation stored at OpenAI.

    Args:
        conversation_id: Its id; a new one is created when first needed.
        openai_client: An `openai.AsyncOpenAI`; by default that of `set_default_openai_client`.
        session_settings: Settings for reading it.
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
        return self._given or get_default_client()

    @property
    def _items(self) -> Any:
        return self._client.conversations.items

    async def _ensure_id(self) -> str:
        if not self.session_id:
            self.session_id = (await self._client.conversations.create(items=[])).id
        return self.session_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        found: list[TResponseInputItem] = []
        async for item in self._items.list(conversation_id=await self._ensure_id(), order="desc"):
            if limit is not None and len(found) >= limit:
                break
            found.append(item.model_dump(exclude_unset=True))
        return found[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        id = await self._ensure_id()
        for start in range(0, len(items), 20):  # as many as one request takes
            await self._items.create(conversation_id=id, items=items[start : start + 20])

    async def pop_item(self) -> TResponseInputItem | None:
        items = await self.get_items(1)
        if not items:
            return None
        id, last = await self._ensure_id(), str(items[0]["id"])
        await self._items.delete(conversation_id=id, item_id=last)
        return items[0]

    async def clear_session(self) -> None:
        if self.session_id:
            await self._client.conversations.delete(conversation_id=self.session_id)
        self.session_id = ""


class RunMemory:
    """A session as used by one run.

    Args:
        session: The session.
        config: Settings for reading it, and the callback that merges its items with the input.
    """

    def __init__(self, session: Session, config: RunConfig) -> None:
        self._session = session
        self._config = config
        self._said: list[TResponseInputItem] = []
        self._kept: list[Message] = []

    async def load_history(self, run_input: str | Sequence[Any]) -> list[TResponseInputItem]:
        """Return the session's items merged with the new input, and store the input."""
        self._said = ItemHelpers.input_to_new_input_list(run_input)
        own = getattr(self._session, "session_settings", None)
        settings = self._config.session_settings or own
        limit = settings.limit if settings is not None else None
        history = await self._session.get_items(*([] if limit is None else [limit]))
        join, new_items = self._config.session_input_callback, self._said
        joined = [*history, *new_items] if join is None else join(history, list(new_items))
        run_input = drop_open_calls(await maybe_await(joined, "the session_input_callback"))
        await self._session.add_items(new_items)  # kept whatever becomes of the run
        return run_input

    async def save(
        self,
        messages: Sequence[Message],
        asked: Sequence[Message],
        *,
        waiting: bool = False,
    ) -> None:
        """Store new messages; calls are stored together with their results, unless they wait for a person.

        Args:
            messages: The transcript.
            asked: The part of it that was the run's input.
            waiting: The open calls wait for a person, and are stored as they are.
        """
        if not self._kept:
            stored = self._said or await self._has_open_calls(asked)
            self._kept = list(asked if stored else before_open_calls(asked))
        known = {id(one) for one in self._kept}
        finished = messages if waiting else before_open_calls(messages)
        new = [one for one in finished if id(one) not in known]
        self._kept += new
        if items := to_input_list(new):
            await self._session.add_items(items)

    async def _has_open_calls(self, messages: Sequence[Message]) -> bool:
        """Return True if the session has the calls of a transcript that have no results."""
        items = await self._session.get_items()
        stored = {one.get("call_id") for one in items if isinstance(one, Mapping)}
        return all(call.id in stored for call in unanswered(messages))


def drop_open_calls(items: Iterable[Any]) -> list[Any]:
    """Return items without calls that have no output, and without the reasoning right before these."""
    kept: list[Any] = []
    items = list(items)
    done = {one["call_id"] for one in items if _type_of(one) == "function_call_output"}
    for one in reversed(items):
        is_dropped = _type_of(one) == "function_call" and one["call_id"] not in done
        if is_dropped or (_type_of(one) == "reasoning" and kept and kept[-1] is None):
            kept.append(None)
        else:
            kept.append(one)
    return _join_late_results([one for one in reversed(kept) if one is not None])


def _join_late_results(items: Iterable[Any]) -> list[Any]:
    """Return items with each output behind its call, though a person has spoken while the call waited."""
    made: list[Any] = []
    calls: dict[Any, int] = {}
    said = -1  # where a person spoke last
    for one in items:
        kind, at = _type_of(one), len(made)
        if kind == "function_call_output" and (place := calls.get(one["call_id"], said)) < said:
            at = place + 1
            while _type_of(made[at]) in ("function_call", "function_call_output", "reasoning"):
                at += 1
            calls = {id: n + (n >= at) for id, n in calls.items()}
            said += 1
        elif kind == "function_call":
            calls[one["call_id"]] = at
        elif isinstance(one, Mapping) and one.get("role") == "user":
            said = at
        made.insert(at, one)
    return made


def _type_of(item: Any) -> Any:
    return item.get("type") if isinstance(item, Mapping) else None


def before_open_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the transcript up to the reply whose calls have no results yet.

    >>> from toolkeel import AssistantMessage, ToolCall, UserMessage
    >>> len(before_open_calls([UserMessage("hi"), AssistantMessage("", (ToolCall("1", "add", "{}"),))]))
    1
    """
    if not unanswered(messages):
        return messages
    return messages[: max(n for n, one in enumerate(messages) if hasattr(one, "tool_calls"))]


WITHHELD = "Output withheld by an output guardrail."
"""The result, as models read it later, of a call whose result was the blocked output."""


def withhold_output(messages: Sequence[Message]) -> list[Message]:
    """Return a transcript without the output at its end, which an output guardrail has blocked.

    An output that is the result of calls is replaced by `WITHHELD`; the calls stay, except that of the
    tool by which a model returns an output.
    """
    kept = list(messages)
    last_message = kept[-1] if kept else None
    if isinstance(last_message, AssistantMessage):
        kept.pop()
        if last_message.model != DECIDED:
            return kept
    if isinstance(last_message, ToolMessage) and last_message.name == OUTPUT_TOOL:
        last = max(n for n, one in enumerate(kept) if isinstance(one, AssistantMessage))
        return kept[:last]
    for n in range(len(kept) - 1, -1, -1):
        message = kept[n]
        if not isinstance(message, ToolMessage):
            break
        kept[n] = dataclasses.replace(message, content=WITHHELD, artifact=None, details={})
    return kept
