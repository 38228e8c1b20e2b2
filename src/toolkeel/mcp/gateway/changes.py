"""What servers say has changed, told on to the clients: at a pace that no server sets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolkeel.errors import SetupError
from toolkeel.mcp.client.connection import Unreachable
from toolkeel.mcp.gateway.table import Table
from toolkeel.mcp.server.sessions import WATCHED, check_watched

SOON = 0.05
"""Seconds within which several notes of one change come together."""
SELDOM = 5.0
"""Seconds between two looks at lists that servers say again and again have changed."""
TOGETHER = 10 * WATCHED
"""Addresses that all clients together may watch at the servers."""

Work = Callable[[], Awaitable[None]]


class Changes:
    """What has changed at the servers of one gateway.

    Args:
        renew: Asks for all lists again, and tells the clients.
        tell: Tells the clients that a resource has changed.
        spawn: Has work done beside what is answered.
    """

    def __init__(
        self,
        renew: Work,
        tell: Callable[[str], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._renew = renew
        self._tell = tell
        self._spawn = spawn
        self._is_stale = False
        self._refreshing: asyncio.Task[None] | None = None
        self._watched: set[str] = set()
        self._news: dict[str, int] = {}

    def stale(self) -> None:
        """Some server's lists may have changed."""
        self._is_stale = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._spawn(self._keep_fresh())

    async def _keep_fresh(self) -> None:
        """Renew until nothing has changed meanwhile, the less often the longer that goes on."""
        pause = SOON
        while self._is_stale:
            await asyncio.sleep(pause)
            self._is_stale = False
            await self._renew()
            pause = min(2 * pause, SELDOM)

    async def watch(self, table: Table, params: Mapping[str, Any]) -> None:
        """Watch at the servers what a client watches here.

        Args:
            table: Whose resources there are.
            params: Of the client's request, as they came.

        Raises:
            MCPError: they are too many, or one is nobody's.
        """
        wanted = params.get("notifications", params)
        if not isinstance(wanted, Mapping):
            return  # who answers says so
        listed = wanted.get("resourceSubscriptions", [wanted.get("uri")])
        for uri in listed if isinstance(listed, list) else ():
            if not isinstance(uri, str) or uri in self._watched:
                continue
            check_watched(listed)
            if len(self._watched) >= TOGETHER:
                raise MCPError(types.INTERNAL_ERROR, "too many resources are watched here")
            route = table.resource(uri)  # an address that is nobody's is kept nowhere
            self._watched.add(uri)
            with suppress(MCPError, Unreachable, SetupError):
                await route.server.link.watches.add([route.name], partial(self._updated, uri))

    def _updated(self, uri: str, _: str) -> None:
        self._news[uri] = self._news.get(uri, 0) + 1
        if self._news[uri] == 1:
            self._spawn(self._tell_news(uri))

    async def _tell_news(self, uri: str) -> None:
        """Tell of a change, and once more of all that were meanwhile."""
        told = 0
        try:
            while told != (now := self._news[uri]):
                await self._tell(uri)
                told = now
        finally:
            del self._news[uri]
