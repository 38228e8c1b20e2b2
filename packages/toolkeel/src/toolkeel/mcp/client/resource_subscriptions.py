"""Subscriptions of a client to resources and to lists, in both eras of the protocol.

Up to 2025-11-25 a client subscribes each address for its session. Since 2026-07-28 it listens to a
stream; there is one for each address, opened anew when it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial

import mcp_types as types
from mcp import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from toolkeel.errors import describe_error

log = logging.getLogger("toolkeel.mcp")
Listener = Callable[[str], object]
RETRY_SECONDS = 1.0
"""Seconds before a stream of changes that has ended is asked for again."""


class ResourceSubscriptions:
    """Subscriptions to the resources of one server, and their listeners.

    Args:
        run: Runs requests on a living connection.
        legacy: True if that connection is of a revision with sessions.
    """

    def __init__(
        self,
        run: Callable[[Callable[[Client], Awaitable[None]]], Awaitable[None]],
        legacy: Callable[[], bool],
    ) -> None:
        self._run = run
        self._legacy = legacy
        self._listening: dict[str, list[Listener]] = {}
        self._listeners: dict[str, asyncio.Task[None]] = {}

    @property
    def has_listeners(self) -> bool:
        """True if a resource has a listener, which needs a connection that stays open."""
        return bool(self._listening)

    async def add(self, uris: Iterable[str], tell: Listener) -> None:
        """Add a listener to resources; the first of a resource subscribes at the server.

        Raises:
            MCPError: the server offers no subscriptions, or refuses one. Resources before it have
                the listener.
            Unreachable, SetupError: there is no connection.
        """
        for uri in uris:
            if uri not in self._listening:
                await self._run(partial(self._subscribe, uri))
            self._listening.setdefault(uri, []).append(tell)

    async def remove(self, uris: Iterable[str], tell: Listener) -> None:
        """Remove a listener from resources; the last of a resource unsubscribes at the server, which may refuse.

        Raises:
            Unreachable, SetupError: there is no connection to unsubscribe on. Resources after it keep the
                listener.
        """
        for uri in uris:
            listeners = self._listening.get(uri, [])
            if tell in listeners:
                listeners.remove(tell)
            if not listeners and self._listening.pop(uri, None) is not None:
                await self._unsubscribe(uri)

    async def resubscribe(self, client: Client) -> None:
        """Subscribe again on a new connection, ignoring refusals; notify all listeners of possibly missed changes."""
        for uri in list(self._listening):
            with suppress(MCPError):
                await self._subscribe(uri, client)
            self.notify(uri)

    def notify(self, uri: str) -> None:
        """Call the listeners of a resource that has changed."""
        for tell in list(self._listening.get(uri, ())):
            tell(uri)

    def close(self) -> None:
        """Stop receiving events; the listeners stay registered for the next connection."""
        for task in self._listeners.values():
            task.cancel()
        self._listeners.clear()

    async def _subscribe(self, uri: str, client: Client) -> None:
        """Subscribe at the server, by a request or (since 2026-07-28) a stream, whose task is stored.

        Raises MCPError, or the error that ended the stream before the server confirmed.
        """
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
        """Receive events of a resource forever; open the stream anew when it ends."""
        while True:
            with suppress(SubscriptionLost):
                await self._receive_events(client, uri, heard)
            await asyncio.sleep(RETRY_SECONDS)

    async def _receive_events(self, client: Client, uri: str, heard: asyncio.Future[None]) -> None:
        """Notify listeners of events until the stream ends; `heard` is set once it is open."""
        async with client.listen(resource_subscriptions=(uri,)) as events:
            if not heard.done():
                heard.set_result(None)
            async for event in events:
                if isinstance(event, ResourceUpdated):
                    self.notify(event.uri)

    async def _unsubscribe(self, uri: str) -> None:
        """End the subscription of a resource at the server, ignoring a refusal."""
        if (task := self._listeners.pop(uri, None)) is not None:
            task.cancel()
            await asyncio.wait([task])
        elif self._legacy():
            with suppress(MCPError):
                await self._run(partial(_unsubscribe, uri))


async def _unsubscribe(uri: str, client: Client) -> None:
    """Request the end of a subscription."""
    request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


# — lists —


async def listen_for_changes(client: Client, changed: Callable[[], object], name: str) -> None:
    """Listen for list changes, on revisions that require it; listen again after a loss, and end if it is refused.

    Args:
        client: Client of the connection.
        changed: Called when lists may have changed.
        name: Name of the server, for the log.
    """
    has = client.server_capabilities
    kinds = {
        f"{kind}_list_changed": True
        for kind in ("tools", "prompts", "resources")
        if getattr(getattr(has, kind), "list_changed", None)
    }
    if client.session.initialize_result is not None or not kinds:
        return
    try:
        while True:
            with suppress(SubscriptionLost):
                await _receive_changes(client, kinds, changed)
            changed()  # what changed meanwhile was not heard
            await asyncio.sleep(RETRY_SECONDS)
    except (MCPError, TimeoutError) as error:
        log.debug("%s tells of no changes: %s", name, describe_error(error))


async def _receive_changes(
    client: Client, kinds: dict[str, bool], changed: Callable[[], object]
) -> None:
    """Call `changed` for each change of these kinds of lists, until the stream ends."""
    async with client.listen(**kinds) as events:  # type: ignore[arg-type]
        async for _ in events:
            changed()
