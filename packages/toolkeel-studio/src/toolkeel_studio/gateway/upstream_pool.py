"""The servers of a gateway: listed at the start, waited for with measure, tried again when they fail.

A list for a client does not wait for a server that is much slower than those that have answered: it
has what is there, and the rest is announced (``list_changed``). Nothing here waits for all servers.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from time import monotonic
from typing import Any

from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.server.sessions import Sessions
from toolkeel_studio.gateway.public_names import SEPARATOR, server_prefix
from toolkeel_studio.gateway.upstream import Upstream

LIST_SECONDS = 20.0
"""Most seconds a list waits for servers that have not answered yet, while none has."""
CONNECT_LIST_SECONDS = 5.0
"""Most seconds a client that connects waits for them: its host gives up soon after."""
EXTRA_SECONDS = 3.0
"""Seconds a server may take longer than twice the time of the slowest that has answered."""
RETRY_SECONDS = 5.0
"""Seconds until a server that cannot be used is tried again; doubled each time."""
MAX_RETRY_SECONDS = 300.0
STARTED_BY = "TOOLKEEL_GATEWAY"
"""Variable in the environment of servers: the gateways that started them, outermost first."""

log = logging.getLogger("toolkeel.mcp")


class UpstreamPool(dict[str, Upstream]):
    """The servers of a gateway, by name.

    Args:
        configs: Where they are.
        changed: Called with a server whose lists may have changed.
        sessions: The gateway's, which know the wanted log levels.
        spawn: Starts background work that ends with the gateway.

    Raises:
        SetupError: the gateway was started by one with the same servers.
    """

    def __init__(
        self,
        configs: Iterable[ServerConfig],
        changed: Callable[[Upstream], object],
        sessions: Sessions,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._changed, self._sessions, self._spawn = changed, sessions, spawn
        configs = list(configs)
        chain = gateway_chain(configs)
        super().__init__({each.name: self._make(each, chain) for each in configs})

    def _make(self, config: ServerConfig, chain: str) -> Upstream:
        prefix = server_prefix(config.name)
        if prefix != config.name:
            log.warning(
                "the name of the server %r is too long or holds %r: its tools are called %s%s...",
                config.name, SEPARATOR, prefix, SEPARATOR,
            )  # fmt: skip
        server: Upstream
        server = Upstream(
            config, lambda: self._changed(server), self._sessions, {STARTED_BY: chain}
        )
        return server

    def replace(self, configs: Mapping[str, ServerConfig]) -> tuple[list[Upstream], list[Upstream]]:
        """Replace the servers. Return the new ones, and the removed ones, which are still open.

        Raises:
            SetupError: as the class; then nothing is changed.
        """
        chain, old = gateway_chain(configs.values()), dict(self)
        made = {
            name: old[name]
            if name in old and old[name].config == config
            else self._make(config, chain)
            for name, config in configs.items()
        }
        self.clear()
        self.update(made)
        new = [each for name, each in made.items() if old.get(name) is not each]
        return new, [each for name, each in old.items() if made.get(name) is not each]

    def retry_later(self, server: Upstream) -> None:
        """Try a server that cannot be used again after a while."""
        self._spawn(self._retry(server))

    async def _retry(self, server: Upstream) -> None:
        failures = server.failures
        delay = min(RETRY_SECONDS * 2 ** min(failures - 1, 10), MAX_RETRY_SECONDS)
        await asyncio.sleep(delay)
        if self.get(server.name) is server and server.failures == failures:
            self._changed(server)

    async def wait_listed(self, limit: float) -> None:
        """Wait until every server was listed, or those that were not are much slower.

        Args:
            limit: Most seconds to wait.
        """
        deadline = monotonic() + limit
        while waiting := [each for each in self.values() if not each.listed.is_set()]:
            await _wait_any(waiting, min(deadline, self._patience_ends(waiting)) - monotonic())
            if min(deadline, self._patience_ends(waiting)) <= monotonic():
                return

    async def wait_for_tool(self, name: str) -> None:
        """Wait for the server that a tool's public name belongs to, if it has not been listed."""
        for server in list(self.values()):
            if name.startswith(server_prefix(server.name) + SEPARATOR) or len(self) == 1:
                await _wait_any([server], LIST_SECONDS)

    def _patience_ends(self, waiting: Iterable[Upstream]) -> float:
        """Return the time, on the monotonic clock, at which waiting servers count as slow."""
        took = [each.listed_seconds for each in self.values() if each.is_ready]
        seconds = EXTRA_SECONDS + 2 * max(took) if took else LIST_SECONDS
        return max(each.made_at for each in waiting) + seconds


async def _wait_any(servers: Iterable[Upstream], seconds: float) -> None:
    """Wait until one of some servers was listed."""
    tasks = [asyncio.ensure_future(each.listed.wait()) for each in servers]
    try:
        await asyncio.wait(tasks, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def gateway_chain(configs: Iterable[ServerConfig]) -> str:
    """Return the value of `STARTED_BY` for the servers of a gateway.

    Raises:
        SetupError: a gateway with the same servers is in the chain that started this process: one of
            them is the gateway itself, which would start itself endlessly.
    """
    servers = sorted((each.name, each.identity) for each in configs)
    own = hashlib.sha256(json.dumps(servers).encode()).hexdigest()[:16]
    chain = [key for key in os.environ.get(STARTED_BY, "").split(":") if key]
    if servers and own in chain:
        raise SetupError(
            "this gateway was started by a gateway with the same servers, so one of its servers is the "
            "gateway itself: it would start itself endlessly; remove that entry from the file"
        )
    return ":".join([*chain, own])
