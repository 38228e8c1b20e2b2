"""Notifications to clients: sessions of revisions up to 2025-11-25, subscription streams since.

Since 2026-07-28 there are no sessions. A client opens a stream (``subscriptions/listen``), and each
request states the log level it wants.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from toolkeel.call.conversation_labels import ConversationLabels
from toolkeel.context import RunContext
from toolkeel.mcp.server.calling import LEVELS
from toolkeel.mcp.server.multi_round_calls import Request, client_id, is_modern

if TYPE_CHECKING:
    from mcp.server.connection import Connection

MAX_SUBSCRIPTIONS = 1000
"""Maximum of resource URIs that a session or a stream may subscribe to."""
NOTIFY_SECONDS = 0.2
"""Seconds `Sessions.notify` waits for sessions that do not read."""

log = logging.getLogger("toolkeel")


class NotifyingServer(Server[Any]):
    """The SDK's server, which always declares that lists may change."""

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        """Return the SDK's capabilities, with all list changes declared."""
        return super().get_capabilities(NotificationOptions(True, True, True), *args, **kwargs)


@dataclass
class _Session:
    """An open session: its client, log level and subscriptions."""

    client: str
    level: types.LoggingLevel | None = None
    subscribed: set[str] = field(default_factory=set)


class Sessions:
    """Open sessions and streams of one server. Each is dropped with its connection."""

    def __init__(self) -> None:
        self._open: WeakKeyDictionary[Connection, _Session] = WeakKeyDictionary()
        self._streams: dict[str, tuple[InMemorySubscriptionBus, ListenHandler]] = {}
        """Streams by client: the limit of one client does not affect another."""
        self._listening: Counter[str] = Counter()
        """Open streams of each client."""
        self._labels = ConversationLabels()
        self._pending: dict[Connection, dict[ServerEvent, None]] = {}
        self._senders: dict[Connection, asyncio.Task[None]] = {}

    async def handle_initialized(self, request: Request, _: types.NotificationParams) -> None:
        """Handle ``notifications/initialized``: register the session."""
        self._session_of(request)

    async def set_level(
        self, request: Request, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Handle ``logging/setLevel``: store the level of the session."""
        self._session_of(request).level = params.level
        return types.EmptyResult()

    async def subscribe(
        self, request: Request, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle ``resources/subscribe``: add the URI to the session's; raise as `limit_subscriptions`."""
        uris = self._session_of(request).subscribed
        limit_subscriptions({*uris, params.uri})
        uris.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(
        self, request: Request, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle ``resources/unsubscribe``: remove the URI from the session's."""
        self._session_of(request).subscribed.discard(params.uri)
        return types.EmptyResult()

    async def listen(
        self, request: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Handle ``subscriptions/listen``: stream changes until the client leaves. Creates the client's bus.

        Raises:
            MCPError: too many resources.
        """
        limit_subscriptions(params.notifications.resource_subscriptions or ())
        client = client_id(request)
        if client not in self._streams:
            bus = InMemorySubscriptionBus()
            self._streams[client] = bus, ListenHandler(bus)
        self._listening[client] += 1
        try:
            return await self._streams[client][1](request, params)
        finally:
            self._listening[client] -= 1

    def close(self) -> None:
        """End all streams; clients reconnect, possibly to another process."""
        for _, streams in self._streams.values():
            streams.close()

    def open_counts(self) -> Mapping[str, int]:
        """Return the number of open sessions and streams of each client, by its token's name."""
        return self._listening + Counter(each.client for each in self._open.values())

    def subscribed_uris(self) -> set[str]:
        """Return the resource URIs that open sessions subscribe to."""
        return set().union(*(each.subscribed for each in self._open.values()))

    def share_labels(self, request: Request, run: RunContext[Any]) -> None:
        """Let the run of a call share the labels of its client.

        Without sessions that is the client of a token, or the one client of a connection that is not
        HTTP; what others read counts for nobody.
        """
        if not is_modern(request):
            self._labels.join(run, _connection(request))
        elif (name := client_id(request)) or request.request is None:
            self._labels.join(run, f"client {name}")

    def log_level(self, request: Request) -> str:
        """Return the lowest log level a session wants; ``debug`` if it set none."""
        known = self._open.get(_connection(request))
        return (known and known.level) or "debug"

    def lowest_log_level(self) -> types.LoggingLevel | None:
        """Return the lowest log level that any session has set, or None if none has."""
        levels = {each.level for each in self._open.values()}
        return next((level for level in LEVELS if level in levels), None)

    async def notify(self, event: ServerEvent, client: str | None = None) -> None:
        """Send an event to every session and stream it concerns, without waiting for slow readers.

        Args:
            event: The change.
            client: The client it concerns; None for all.
        """
        for name, (bus, _) in list(self._streams.items()):
            if client in (None, name):
                await bus.publish(event)
        for connection, each in list(self._open.items()):
            heeds = not isinstance(event, ResourceUpdated) or event.uri in each.subscribed
            if heeds and client in (None, each.client):
                self._pending.setdefault(connection, {})[event] = None
        fresh = {
            one: asyncio.create_task(self._send_pending(one))
            for one in self._pending.keys() - self._senders.keys()
        }
        self._senders |= fresh
        if fresh:
            await asyncio.wait(fresh.values(), timeout=NOTIFY_SECONDS)

    async def _send_pending(self, connection: Connection) -> None:
        """Send a session its pending events, several changes of one thing once; stop if that fails."""
        untold = self._pending[connection]
        try:
            while untold:
                event = next(iter(untold))
                del untold[event]
                await _send_event(connection, event)
        except Exception as error:  # it goes down
            log.debug("a session could not be notified of a change: %r", error)
        finally:
            del self._pending[connection], self._senders[connection]

    def _session_of(self, request: Request) -> _Session:
        """Return the session of a request; create and store it if it is new."""
        return self._open.setdefault(_connection(request), _Session(client_id(request)))


def limit_subscriptions(uris: Collection[str]) -> None:
    """Raise if a client subscribes to more URIs than `MAX_SUBSCRIPTIONS`.

    Raises:
        MCPError: There are more than `MAX_SUBSCRIPTIONS`.
    """
    if len(uris) > MAX_SUBSCRIPTIONS:
        raise MCPError(
            types.INVALID_PARAMS, f"at most {MAX_SUBSCRIPTIONS} resources can be watched at once"
        )


def _connection(request: Request) -> Connection:
    """Return the connection of a request.

    The SDK has no public access to it; see ``packages/toolkeel/tests/mcp/test_private_apis.py``.
    """
    return request.session._connection  # pyright: ignore[reportPrivateUsage]


async def _send_event(connection: Connection, event: ServerEvent) -> None:
    """Send one event to a session."""
    match event:
        case ToolsListChanged():
            await connection.send_tool_list_changed()
        case PromptsListChanged():
            await connection.send_prompt_list_changed()
        case ResourcesListChanged():
            await connection.send_resource_list_changed()
        case ResourceUpdated(uri):
            await connection.send_resource_updated(uri)
