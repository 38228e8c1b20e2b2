"""Results that are kept for a while (cache): of tools that only read, where the file of rules says so.

A result belongs to the exact call, and to the one client where what it reads is private or the
server knows its clients apart. A call of the same server that may write makes all of it stale.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

ENTRIES = 1000
"""Results that are kept; those used longest ago go first."""
LARGEST = 1_000_000
"""Characters of a result beyond which it is not kept."""
TOGETHER = 64_000_000
"""Characters of all of them: clients choose what is asked, and so how many there are."""
_TRACES = ("traceparent", "tracestate", "baggage")


class Cache:
    """Results, as the JSON text they came as."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[float, str]] = OrderedDict()
        self._written: dict[str, int] = {}

    def get(self, server: str, key: str) -> dict[str, Any] | None:
        """The result of a call; None if none is kept."""
        expires, text = self._kept.get((server, key), (0.0, ""))
        if time.monotonic() >= expires:
            self._kept.pop((server, key), None)
            return None
        self._kept.move_to_end((server, key))
        found: dict[str, Any] = json.loads(text)
        return found

    def state(self, server: str) -> int:
        """Changes when something may have been written: a result of before is not kept then."""
        return self._written.get(server, 0)

    def put(self, server: str, key: str, result: Mapping[str, Any], seconds: float) -> None:
        """Keep a result, if it is a success.

        Args:
            server: Whose it is.
            key: Of the call; see `key_of`.
            result: As it came.
            seconds: How long it is good for.
        """
        if result.get("isError") or "requestState" in result or "inputRequests" in result:
            return
        text = json.dumps(result, ensure_ascii=False)
        if len(text) <= LARGEST:
            self._kept[server, key] = time.monotonic() + seconds, text
            while len(self._kept) > ENTRIES or self._size() > TOGETHER:
                self._kept.popitem(last=False)

    def _size(self) -> int:
        return sum(len(text) for _, text in self._kept.values())

    def forget(self, server: str) -> None:
        """Something was, or may have been, written there."""
        self._written[server] = self.state(server) + 1
        for key in [key for key in self._kept if key[0] == server]:
            del self._kept[key]


def key_of(whose: str, digest: str, params: Mapping[str, Any]) -> str:
    """What tells a call from others: whose it is, the tool's definition, what it is given.

    >>> a = key_of("", "d", {"name": "x", "arguments": {"a": 1, "b": 2}})
    >>> a == key_of("", "d", {"arguments": {"b": 2, "a": 1}, "name": "x", "_meta": {}})
    True
    """
    meta = {key: value for key, value in (params.get("_meta") or {}).items() if key not in _TRACES}
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return json.dumps([whose, digest, meta, rest], sort_keys=True, ensure_ascii=False)
