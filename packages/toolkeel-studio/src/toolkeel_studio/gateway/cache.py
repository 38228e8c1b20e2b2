"""Cache of results of read-only tools, where the policy enables it.

A result belongs to the exact call, and to the one client where what it reads is private or the
server knows its clients apart. A call of the same server that may write makes all of it stale.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any

from toolkeel.errors import SetupError
from toolkeel_studio.gateway.ledger import SharedStore

MAX_ENTRIES = 1000
"""Maximum number of cached results; the least recently used are removed first."""
MAX_RESULT_CHARACTERS = 1_000_000
"""Characters of a result beyond which it is not cached."""
MAX_TOTAL_CHARACTERS = 64_000_000
"""Characters of all of them: clients choose what is asked, and so how many there are."""
_RESULTS, _WRITTEN = ("toolkeel", "gateway", "results"), ("toolkeel", "gateway", "written")
_UNKNOWN = -1
_NOTHING = (0.0, _UNKNOWN, "")
_TRACES = ("traceparent", "tracestate", "baggage")

log = logging.getLogger("toolkeel.mcp")


class ResultCache:
    """Cached results as JSON: in this process, or in a store that gateways share.

    Each is kept with the state its server was in when it was asked for, and good for no other.

    Args:
        shared: The store; None: in this process alone.
    """

    def __init__(self, shared: SharedStore | None = None) -> None:
        self._shared = shared
        self._results: OrderedDict[tuple[str, str], tuple[float, int, str]] = OrderedDict()
        self._versions: dict[str, int] = {}
        self._uninvalidated: set[str] = set()

    async def get(self, server: str, key: str) -> dict[str, Any] | None:
        """Return the cached result of a call, or None."""
        state = await self.server_version(server)
        if self._shared is not None:
            item = await _try_store(self._shared.get, _RESULTS, _store_key(server, key))
            expires, then, text = (inf, *item.value["kept"]) if item else _NOTHING
        else:
            expires, then, text = self._results.get((server, key), _NOTHING)
        if then != state or then == _UNKNOWN or time.monotonic() >= expires:
            self._results.pop((server, key), None)
            return None
        if self._shared is None:
            self._results.move_to_end((server, key))
        found: dict[str, Any] = json.loads(text)
        return found

    async def server_version(self, server: str) -> int:
        """Return a number that changes when something may have been written at the server."""
        if self._shared is None:
            return self._versions.get(server, 0)
        if server in self._uninvalidated:
            await self.invalidate(server)
        is_current = server not in self._uninvalidated
        item = is_current and await _try_store(self._shared.get, _WRITTEN, _store_key(server))
        return 0 if item is None else int(item.value["times"]) if item else _UNKNOWN

    async def put(
        self, server: str, key: str, result: Mapping[str, Any], seconds: float, state: int
    ) -> None:
        """Cache a successful result.

        Args:
            server: Whose it is.
            key: Of the call; see `key_of`.
            result: As it came.
            seconds: How long it is good for.
            state: The server's before the call.
        """
        if result.get("isError") or "requestState" in result or "inputRequests" in result:
            return
        text = json.dumps(result, ensure_ascii=False)
        if len(text) > MAX_RESULT_CHARACTERS:
            return
        if self._shared is not None:
            keep = partial(self._shared.change, seconds=seconds)
            await _try_store(
                keep, _RESULTS, _store_key(server, key), lambda _: {"kept": [state, text]}
            )
            return
        self._results[server, key] = time.monotonic() + seconds, state, text
        while len(self._results) > MAX_ENTRIES or self._size() > MAX_TOTAL_CHARACTERS:
            self._results.popitem(last=False)

    def _size(self) -> int:
        return sum(len(text) for *_, text in self._results.values())

    async def invalidate(self, server: str) -> None:
        """Invalidate the results of a server after a possible write."""
        if self._shared is not None:
            self._uninvalidated.add(server)  # until the store knows, nothing that it keeps is good
            if (
                await _try_store(self._shared.change, _WRITTEN, _store_key(server), _increment)
                is None
            ):
                self._uninvalidated.discard(server)
            return
        self._versions[server] = self._versions.get(server, 0) + 1
        for key in [key for key in self._results if key[0] == server]:
            del self._results[key]


async def _try_store(do: Callable[..., Any], *words: Any, **more: Any) -> Any:
    """Call the store. Return False if it is unavailable, since a cache must not fail a call."""
    try:
        return await asyncio.to_thread(do, *words, **more)
    except SetupError as error:
        log.warning("results are not kept now: %s", error)
        return False


def _increment(known: dict[str, Any]) -> dict[str, Any]:
    return {"times": known.get("times", 0) + 1}


def _store_key(*words: str) -> str:
    """Return a key for the store that clients cannot forge."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def cache_key(whose: str, digest: str, params: Mapping[str, Any]) -> str:
    """Return the key of a call: its client, the tool's definition, and its parameters.

    >>> a = cache_key("", "d", {"name": "x", "arguments": {"a": 1, "b": 2}})
    >>> a == cache_key("", "d", {"arguments": {"b": 2, "a": 1}, "name": "x", "_meta": {}})
    True
    """
    meta = {key: value for key, value in (params.get("_meta") or {}).items() if key not in _TRACES}
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return json.dumps([whose, digest, meta, rest], sort_keys=True, ensure_ascii=False)
