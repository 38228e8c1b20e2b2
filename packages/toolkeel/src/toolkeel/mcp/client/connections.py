"""The connections of one server: one for all, or one for each set of headers that runs bring.

A session belongs to whoever opened it, so runs with different headers never share one.
"""

from __future__ import annotations

import asyncio
import atexit
import dataclasses
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from toolkeel._common.loop_state import CALLBACK_TIMEOUT
from toolkeel.call.body.callback import run_callback
from toolkeel.call.body.sync_bridge import on_own_loop, run_sync
from toolkeel.call.enclosing_run import find_enclosing
from toolkeel.context import RunContext
from toolkeel.errors import SetupError, describe_error
from toolkeel.mcp.client.connection import Connection, ConnectionOptions
from toolkeel.mcp.config import with_overrides

RunHeaders: TypeAlias = Callable[
    [RunContext[Any] | None], "Mapping[str, str] | Awaitable[Mapping[str, str]]"
]
"""Returns the headers of a run's requests; it gets None outside of runs."""
MAX_CONNECTIONS = 32
"""Connections of one server that stay open; beyond that, those that are idle are closed."""


class Connections:
    """The connections of one server, closed at the program's end.

    Args:
        options: How the server is connected.
        headers: More headers, by run; None: all runs share one connection.

    Raises:
        SetupError: there are headers by run, and no address.
    """

    def __init__(self, options: ConnectionOptions, headers: RunHeaders | None) -> None:
        if headers is not None:
            with_overrides(options.config, {"x": ""}, None, None)  # refuses commands
        self._options = options
        self._headers = headers
        self._made: dict[tuple[tuple[str, str], ...], Connection] = {}
        self._closing: set[asyncio.Task[None]] = set()
        _all.add(self)

    async def find(self) -> Connection | None:
        """Return the connection of the current run, or None if there is none yet.

        Raises:
            SetupError: the function that gives the headers failed.
        """
        return self._made.get(await self._key())

    async def current(self) -> Connection:
        """Return the connection of the current run, made if there is none.

        If there are more than `MAX_CONNECTIONS` then, the idle ones used least recently are closed. For the
        library's own loop only.

        Raises:
            SetupError: the function that gives the headers failed.
        """
        key = await self._key()
        found = self._made.pop(key, None) or Connection(self._options_for(dict(key)))
        self._made[key] = found  # the one used last is the last
        if len(self._made) > MAX_CONNECTIONS:
            self._close_idle(key)
        return found

    async def _key(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of the current run, which identify its connection; () if all runs share one.

        Raises:
            SetupError: the function that gives the headers failed.
        """
        if (function := self._headers) is None:
            return ()
        enclosing = find_enclosing()
        run = enclosing[0] if enclosing else None
        limit = CALLBACK_TIMEOUT if run is None else run.scope.callback_timeout
        try:
            headers = await on_own_loop(  # an async one may use a client that belongs to a loop
                lambda: run_callback(function, run, seconds=limit, name="the function")
            )
            if any(not isinstance(value, str) for value in headers.values()):
                raise TypeError("values must be strings")
            return tuple(sorted(headers.items()))
        except Exception as error:
            raise SetupError(
                f"headers= of the MCP server {self._options.config.name!r} failed: "
                f"{describe_error(error)}; write a function of the run (None outside of runs) that "
                "returns a dict"
            ) from error

    def _options_for(self, headers: Mapping[str, str]) -> ConnectionOptions:
        """Return the options with a run's headers; its own authorization replaces the login. Raises as `with_overrides`."""
        if not headers:
            return self._options
        config = with_overrides(self._options.config, headers, None, None)
        own = any(name.lower() == "authorization" for name in headers)
        auth = None if own else self._options.auth
        return dataclasses.replace(self._options, config=config, auth=auth)

    def _close_idle(self, current: tuple[tuple[str, str], ...]) -> None:
        """Start to close idle connections, until at most `MAX_CONNECTIONS` are left.

        Never the current one, nor one by which a resource is watched.
        """
        for key, connection in list(self._made.items()):
            if len(self._made) <= MAX_CONNECTIONS:
                return
            is_needed = connection.sessions.is_busy or connection.watches.has_listeners
            if key != current and not is_needed:
                del self._made[key]
                task = asyncio.get_running_loop().create_task(connection.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all connections, from any loop. The next use opens them again."""
        for connection in list(self._made.values()):
            await on_own_loop(connection.close)

    @property
    def is_used(self) -> bool:
        """True if a connection was made for a run, even if it is not open now."""
        return bool(self._made)


_all: weakref.WeakSet[Connections] = weakref.WeakSet()


async def _close_all(connections: Sequence[Connections]) -> None:
    """Close the connections of several servers; ignore errors."""
    await asyncio.gather(*(each.close() for each in connections), return_exceptions=True)


def _at_exit() -> None:
    """Close all connections at the program's end, for ten seconds at most; ignore errors."""
    if used := [each for each in _all if each.is_used]:
        with suppress(Exception):
            run_sync(lambda: asyncio.wait_for(_close_all(used), 10))


atexit.register(_at_exit)
