"""Resource subscriptions of a client, in both eras of the protocol.

Up to 2025-11-25 a client subscribes each address for its session. Since 2026-07-28 it listens to a
stream; there is one for each address, opened anew when it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import mcp_types as types
from mcp import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

Listener = Callable[[str], object]
RETRY_SECONDS = 1.0
"""Seconds before a stream of changes that has ended is asked for again."""


class ResourceSubscriptions:
    """Subscriptions to the resources of one server, and their listeners.

    Args:
        client: Gives a living connection.
        legacy: Whether that connection is of a revision with sessions.
    """

    def __init__(self, client: Callable[[], Awaitable[Client]], legacy: Callable[[], bool]) -> None:
        self._client = client
        self._legacy = legacy
        self._listening: dict[str, list[Listener]] = {}
        self._listeners: dict[str, asyncio.Task[None]] = {}

    async def add(self, uris: Iterable[str], tell: Listener) -> None:
        """Subscribe a listener to resources.

        Raises:
            MCPError: the server lets nobody watch.
        """
        client = await self._client()
        for uri in uris:
            if uri not in self._listening:
                await self._subscribe(client, uri)
            self._listening.setdefault(uri, []).append(tell)

    async def remove(self, uris: Iterable[str], tell: Listener) -> None:
        """Unsubscribe somebody."""
        for uri in uris:
            listeners = self._listening.get(uri, [])
            if tell in listeners:
                listeners.remove(tell)
            if not listeners and self._listening.pop(uri, None) is not None:
                await self._unsubscribe(uri)

    async def resubscribe(self, client: Client) -> None:
        """Subscribe again on a new connection, and notify all listeners of possibly missed changes."""
        for uri in list(self._listening):
            with suppress(MCPError):
                await self._subscribe(client, uri)
            self.notify(uri)

    def notify(self, uri: str) -> None:
        """Tell everybody who watches an address."""
        for tell in list(self._listening.get(uri, ())):
            tell(uri)

    def close(self) -> None:
        """Listen to nothing any more; who watches stays known."""
        for task in self._listeners.values():
            task.cancel()
        self._listeners.clear()

    async def _subscribe(self, client: Client, uri: str) -> None:
        if self._legacy():
            params = types.SubscribeRequestParams(uri=uri)
            request = types.SubscribeRequest(params=params)
            await client.session.send_request(request, types.EmptyResult)
            return
        heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._listen(client, uri, heard))
        self._listeners[uri] = task
        await asyncio.wait([task, heard], return_when=asyncio.FIRST_COMPLETED)
        if task.done() and (error := task.exception()) is not None:
            raise error

    async def _listen(self, client: Client, uri: str, heard: asyncio.Future[None]) -> None:
        while True:
            with suppress(SubscriptionLost):
                await self._receive_events(client, uri, heard)
            await asyncio.sleep(RETRY_SECONDS)

    async def _receive_events(self, client: Client, uri: str, heard: asyncio.Future[None]) -> None:
        async with client.listen(resource_subscriptions=(uri,)) as events:
            if not heard.done():
                heard.set_result(None)
            async for event in events:
                if isinstance(event, ResourceUpdated):
                    self.notify(event.uri)

    async def _unsubscribe(self, uri: str) -> None:
        if (task := self._listeners.pop(uri, None)) is not None:
            task.cancel()
            await asyncio.wait([task])
        elif self._legacy():
            client = await self._client()
            params = types.UnsubscribeRequestParams(uri=uri)
            with suppress(MCPError):
                request = types.UnsubscribeRequest(params=params)
                await client.session.send_request(request, types.EmptyResult)
