"""Relays changes of servers to the clients, at a bounded rate."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)

from toolkeel.errors import SetupError
from toolkeel.mcp.client.mend_responses import Unreachable
from toolkeel.mcp.client.resource_subscriptions import Listener, ResourceSubscriptions
from toolkeel.mcp.server.sessions import MAX_SUBSCRIPTIONS, limit_subscriptions
from toolkeel_studio.gateway.routes import RoutingTable

MIN_REFRESH_SECONDS = 0.05
"""Seconds within which several notes of one change come together."""
MAX_REFRESH_SECONDS = 5.0
"""Seconds between two reads of lists that servers report as changed again and again."""
MAX_WATCHED = 10 * MAX_SUBSCRIPTIONS
"""Addresses that all clients together may watch at the servers."""


class ListNotifier:
    """Notifies clients of changed lists, each only of a list that changed for it.

    Args:
        now: What a list is that an event tells of: a client's, or everybody's.
        tell: Tells that client, or everybody.
    """

    def __init__(
        self,
        now: Callable[[ServerEvent, str | None], Mapping[str, Any]],
        tell: Callable[[ServerEvent, str | None], Awaitable[None]],
    ) -> None:
        self._current = now
        self._notify = tell
        self._known: dict[tuple[ServerEvent, str | None], Mapping[str, Any]] = {}

    def read_list(self, event: ServerEvent, client: str | None = None) -> Mapping[str, Any]:
        """Return a current list, and track it for its client."""
        now = self._current(event, client)
        self._known.setdefault((event, client), now)  # another of its sessions was shown that one
        return now

    def track_all(self, client: str) -> None:
        """Track all lists for a client."""
        self.read_list(ToolsListChanged(), client)
        self.read_list(PromptsListChanged())
        self.read_list(ResourcesListChanged())

    async def notify_changes(self, only: str | None = None) -> None:
        """Notify clients whose lists have changed; or one client only."""
        for (event, client), before in list(self._known.items()):
            if only in (None, client) and (now := self._current(event, client)) != before:
                self._known[event, client] = now
                await self._notify(event, client)


class ChangeRelay:
    """Changes at the servers of one gateway.

    Args:
        renew: Asks a server for its lists again, and tells the clients.
        tell: Tells the clients that a resource has changed.
        spawn: Has work done beside what is answered.
        watched: The addresses that open sessions watch.
    """

    def __init__(
        self,
        renew: Callable[[Any], Awaitable[None]],
        tell: Callable[[str], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        watched: Callable[[], set[str]],
    ) -> None:
        self._refresh = renew
        self._notify = tell
        self._spawn = spawn
        self._stale: set[object] = set()
        self._refreshing: dict[object, asyncio.Task[None]] = {}
        self._session_uris = watched
        self._request_uris: Counter[str] = Counter()
        self._watched: dict[str, tuple[ResourceSubscriptions, str, Listener]] = {}
        self._pending_updates: dict[str, int] = {}

    def invalidate_lists(self, server: object) -> None:
        """Schedule a refresh of a server whose lists may have changed. No server waits for another."""
        self._stale.add(server)
        if server not in self._refreshing:
            self._refreshing[server] = self._spawn(self._refresh_until_current(server))

    async def _refresh_until_current(self, server: object) -> None:
        """Refresh until nothing changes, with growing pauses."""
        pause = MIN_REFRESH_SECONDS
        try:
            while server in self._stale:
                await asyncio.sleep(pause)
                self._stale.discard(server)
                await self._refresh(server)
                pause = min(2 * pause, MAX_REFRESH_SECONDS)
        finally:
            self._stale.discard(server)
            del self._refreshing[server]

    @asynccontextmanager
    async def watch_during(
        self, table: RoutingTable, params: Mapping[str, Any]
    ) -> AsyncIterator[None]:
        """Subscribe at the servers to what a client subscribes to, while its request is open.

        A stream of changes is answered as long as it is open; what a session has asked for counts
        as long as the session does. Then the servers are told too.

        Args:
            table: Whose resources there are.
            params: Of the client's request, as they came.

        Raises:
            MCPError: they are too many, or one is nobody's.
        """
        uris = _requested_uris(params)
        limit_subscriptions(uris)
        self._request_uris.update(uris)
        try:
            for uri in uris - self._watched.keys():
                await self._watch(table, uri)
            yield
        finally:
            self._request_uris.subtract(uris)
            self._spawn(self.unwatch_unused())

    async def _watch(self, table: RoutingTable, uri: str) -> None:
        if len(self._watched) >= MAX_WATCHED:
            await self.unwatch_unused()  # sessions end without a word
        if len(self._watched) >= MAX_WATCHED:
            raise MCPError(types.INTERNAL_ERROR, "too many resources are watched here")
        route = table.resource(uri)  # an unknown address is not stored
        watches, tell = route.server.link.watches, partial(self._on_updated, uri)
        self._watched[uri] = watches, route.name, tell
        with suppress(MCPError, Unreachable, SetupError):
            await watches.add([route.name], tell)

    async def unwatch_unused(self) -> None:
        """Unsubscribe from resources that no client subscribes to."""
        self._request_uris = +self._request_uris
        idle = self._watched.keys() - self._request_uris.keys() - self._session_uris()
        # All are taken out before the first server is notified: others watch and forget meanwhile.
        for watches, name, tell in [self._watched.pop(uri) for uri in idle]:
            with suppress(MCPError, Unreachable, SetupError):
                await watches.remove([name], tell)

    def _on_updated(self, uri: str, _: str) -> None:
        self._pending_updates[uri] = self._pending_updates.get(uri, 0) + 1
        if self._pending_updates[uri] == 1:
            self._spawn(self._notify_update(uri))

    async def _notify_update(self, uri: str) -> None:
        """Notify of an update, and once more if others arrived meanwhile."""
        sent = 0
        try:
            while sent != (now := self._pending_updates[uri]):
                await self._notify(uri)
                sent = now
        finally:
            del self._pending_updates[uri]


def _requested_uris(params: Mapping[str, Any]) -> set[str]:
    """Return the URIs in a subscription request, or an empty set if it is malformed."""
    wanted = params.get("notifications", params)
    if not isinstance(wanted, Mapping):
        return set()
    listed = wanted.get("resourceSubscriptions", [wanted.get("uri")])
    return {uri for uri in listed if isinstance(uri, str)} if isinstance(listed, list) else set()
