"""Sessions of the revisions up to 2025-11-25: what each has asked to be told.

Since 2026-07-28 there are none: a client listens (``subscriptions/listen``), and each request says
what it wants to be told.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Collection
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from toolkeel.mcp.server.asking import LEVELS
from toolkeel.mcp.server.multi_round_calls import Request

if TYPE_CHECKING:
    from mcp.server.connection import Connection

WATCHED = 1000
"""Addresses that a session, or a stream of changes, may watch."""
PATIENCE = 0.2
"""Seconds for which who tells of a change waits for sessions that do not read."""

log = logging.getLogger("toolkeel")


class Sessions:
    """The open sessions of one server; each is forgotten with its connection."""

    def __init__(self) -> None:
        self._levels: weakref.WeakKeyDictionary[Connection, types.LoggingLevel] = (
            weakref.WeakKeyDictionary()
        )
        self._watched: weakref.WeakKeyDictionary[Connection, set[str]] = weakref.WeakKeyDictionary()
        self._untold: dict[Connection, dict[ServerEvent, None]] = {}
        self._telling: dict[Connection, asyncio.Task[None]] = {}

    async def begin(self, request: Request, _: types.NotificationParams) -> None:
        """Handle ``notifications/initialized``."""
        self._uris(request)

    async def set_level(
        self, request: Request, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Handle ``logging/setLevel``."""
        self._levels[_connection(request)] = params.level
        return types.EmptyResult()

    async def watch(
        self, request: Request, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle ``resources/subscribe``."""
        uris = self._uris(request)
        check_watched({*uris, params.uri})
        uris.add(params.uri)
        return types.EmptyResult()

    async def unwatch(
        self, request: Request, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle ``resources/unsubscribe``."""
        self._uris(request).discard(params.uri)
        return types.EmptyResult()

    def watched(self) -> set[str]:
        """What open sessions watch."""
        return set().union(*self._watched.values())

    def level(self, request: Request) -> str:
        """From which level on a session wants log messages."""
        return self._levels.get(_connection(request), "debug")

    def lowest(self) -> types.LoggingLevel | None:
        """From which level on some session wants log messages; None: none has said."""
        return min(self._levels.values(), key=LEVELS.index, default=None)

    async def tell(self, event: ServerEvent) -> None:
        """Send an event to every session that it concerns; one that does not read holds up no other."""
        for connection, uris in list(self._watched.items()):
            if not isinstance(event, ResourceUpdated) or event.uri in uris:
                self._untold.setdefault(connection, {})[event] = None
        fresh = {
            one: asyncio.create_task(self._tell(one))
            for one in self._untold.keys() - self._telling.keys()
        }
        self._telling |= fresh
        if fresh:
            await asyncio.wait(fresh.values(), timeout=PATIENCE)

    async def _tell(self, connection: Connection) -> None:
        """Tell a session what it has not been told yet: of several changes of one thing once."""
        untold = self._untold[connection]
        try:
            while untold:
                event = next(iter(untold))
                del untold[event]
                await _send(connection, event)
        except Exception as error:  # it goes down
            log.debug("a session could not be told of a change: %r", error)
        finally:
            del self._untold[connection], self._telling[connection]

    def _uris(self, request: Request) -> set[str]:
        return self._watched.setdefault(_connection(request), set())


def check_watched(uris: Collection[str]) -> None:
    """See that no client fills the memory with addresses.

    Raises:
        MCPError: they are too many.
    """
    if len(uris) > WATCHED:
        raise MCPError(types.INVALID_PARAMS, f"at most {WATCHED} resources can be watched at once")


def _connection(request: Request) -> Connection:
    """The connection a request came by, which the SDK keeps to itself."""
    return request.session._connection  # pyright: ignore[reportPrivateUsage]


async def _send(connection: Connection, event: ServerEvent) -> None:
    match event:
        case ToolsListChanged():
            await connection.send_tool_list_changed()
        case PromptsListChanged():
            await connection.send_prompt_list_changed()
        case ResourcesListChanged():
            await connection.send_resource_list_changed()
        case ResourceUpdated(uri):
            await connection.send_resource_updated(uri)
