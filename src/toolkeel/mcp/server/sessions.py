"""Who is told what: sessions of the revisions up to 2025-11-25, and streams of changes since.

Since 2026-07-28 there are no sessions: a client listens (``subscriptions/listen``), and each request
says what it wants to be told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from toolkeel.mcp.server.asking import LEVELS
from toolkeel.mcp.server.multi_round_calls import Request, client_of

if TYPE_CHECKING:
    from mcp.server.connection import Connection

WATCHED = 1000
"""Addresses that a session, or a stream of changes, may watch."""
PATIENCE = 0.2
"""Seconds for which who tells of a change waits for sessions that do not read."""

log = logging.getLogger("toolkeel")


@dataclass
class _Session:
    client: str
    level: types.LoggingLevel | None = None
    watched: set[str] = field(default_factory=set)


class Sessions:
    """The open sessions and streams of one server; each is forgotten with its connection."""

    def __init__(self) -> None:
        self._open: WeakKeyDictionary[Connection, _Session] = WeakKeyDictionary()
        self._streams: dict[str, tuple[InMemorySubscriptionBus, ListenHandler]] = {}
        """Of each client; what one of them has too many of is no other's."""
        self._untold: dict[Connection, dict[ServerEvent, None]] = {}
        self._telling: dict[Connection, asyncio.Task[None]] = {}

    async def begin(self, request: Request, _: types.NotificationParams) -> None:
        """Handle ``notifications/initialized``."""
        self._session_of(request)

    async def set_level(
        self, request: Request, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Handle ``logging/setLevel``."""
        self._session_of(request).level = params.level
        return types.EmptyResult()

    async def watch(
        self, request: Request, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle ``resources/subscribe``."""
        uris = self._session_of(request).watched
        check_watched({*uris, params.uri})
        uris.add(params.uri)
        return types.EmptyResult()

    async def unwatch(
        self, request: Request, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle ``resources/unsubscribe``."""
        self._session_of(request).watched.discard(params.uri)
        return types.EmptyResult()

    async def listen(
        self, request: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Handle ``subscriptions/listen``."""
        check_watched(params.notifications.resource_subscriptions or ())
        client = client_of(request)
        if client not in self._streams:
            bus = InMemorySubscriptionBus()
            self._streams[client] = bus, ListenHandler(bus)
        return await self._streams[client][1](request, params)

    def close(self) -> None:
        """End what clients listen to; they listen again, elsewhere if need be."""
        for _, streams in self._streams.values():
            streams.close()

    def watched(self) -> set[str]:
        """What open sessions watch."""
        return set().union(*(each.watched for each in self._open.values()))

    def level(self, request: Request) -> str:
        """From which level on a session wants log messages."""
        known = self._open.get(_connection(request))
        return (known and known.level) or "debug"

    def lowest(self) -> types.LoggingLevel | None:
        """From which level on some session wants log messages; None: none has said."""
        said = {each.level for each in self._open.values()}
        return next((level for level in LEVELS if level in said), None)

    async def tell(self, event: ServerEvent, client: str | None = None) -> None:
        """Send an event to all that it concerns; whoever does not read holds up no other.

        Args:
            event: What has changed.
            client: Whose sessions and streams it concerns; None: everybody's.
        """
        for name, (bus, _) in list(self._streams.items()):
            if client in (None, name):
                await bus.publish(event)
        for connection, each in list(self._open.items()):
            heeds = not isinstance(event, ResourceUpdated) or event.uri in each.watched
            if heeds and client in (None, each.client):
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

    def _session_of(self, request: Request) -> _Session:
        return self._open.setdefault(_connection(request), _Session(client_of(request)))


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
