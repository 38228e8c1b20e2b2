"""Ledger of clients between calls: call counts, and labels of what they have read.

In the memory of this process, or in a store that several gateways share.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from toolkeel.errors import SetupError
from toolkeel_studio.gateway.policy import Limit

Update: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any] | None]
LABEL_SECONDS = 3600.0
"""Seconds after which it is forgotten what a client has read, if it has read nothing more."""
_PLACE = ("toolkeel", "gateway")


class SharedStore(Protocol):
    """A store of several gateways, such as `toolkeel.sessions.KeyValueStore`."""

    def change(
        self, namespace: tuple[str, ...], key: str, make: Update, *, seconds: float | None = None
    ) -> None:
        """Store what a function makes of a value, atomically."""

    def get(self, namespace: tuple[str, ...], key: str) -> Any:
        """Return the stored item, as `toolkeel.sessions.Item`, or None."""


class ClientLedger:
    """Call counts and labels of clients.

    Args:
        shared: Where it is kept, results too; None: in this process alone.
    """

    def __init__(self, shared: SharedStore | None = None) -> None:
        self.shared = shared
        self._own: dict[tuple[str, str], Mapping[str, Any]] = {}

    async def _change(self, what: str, client: str, make: Update, seconds: float) -> None:
        if self.shared is not None:
            change, place = self.shared.change, (*_PLACE, what)
            await asyncio.to_thread(change, place, client, make, seconds=seconds)
        elif (made := make(dict(self._own.get((what, client), {})))) is not None:
            self._own[what, client] = made

    async def count_call(self, client: str, limits: Iterable[Limit]) -> str:
        """Count a call, and return why it exceeds a limit; empty if it does not.

        Args:
            client: Who calls.
            limits: Those the call falls under.

        Returns:
            Why it is one too many; empty if it is not.
        """
        known = {f"{limit.pattern} {limit.seconds:g}": limit for limit in limits}
        if not known:
            return ""
        messages: list[str] = []

        def count(calls: dict[str, Any]) -> Mapping[str, Any] | None:
            now = time.time()
            for key, limit in known.items():
                # Not what lies ahead: the clock may have been set back, by a year if need be.
                calls[key] = [at for at in calls.get(key, ()) if abs(now - at) < limit.seconds]
                if len(calls[key]) >= limit.calls:
                    messages.append(_limit_message(limit, calls[key][0] + limit.seconds - now))
                    return None
            return {**calls, **{key: [*calls[key], now] for key in known}}

        try:
            longest = max(each.seconds for each in known.values())
            await self._change("calls", client, count, longest)
        except SetupError as error:
            return f"Calls cannot be counted now, so this one was not sent ({error})."
        return messages[0] if messages else ""

    async def add_labels(self, client: str, labels: Iterable[str], tool: str) -> None:
        """Record that a client has read results with labels: ``private``, ``stranger``."""
        read = {label: {"tool": tool, "at": time.time()} for label in labels}
        if read:
            await self._change("read", client, lambda known: {**known, **read}, LABEL_SECONDS)

    async def labels(self, client: str) -> dict[str, str]:
        """Return a client's labels, and the tool that last left each."""
        found: dict[str, str] = {}

        def look(known: dict[str, Any]) -> None:
            since = time.time() - LABEL_SECONDS
            found.update({k: each["tool"] for k, each in known.items() if each["at"] > since})

        await self._change("read", client, look, LABEL_SECONDS)
        return found


def _limit_message(limit: Limit, wait: float) -> str:
    return (
        f"The limit of {limit.calls} calls of {limit.pattern} in {limit.seconds:g} seconds is "
        f"reached. The next is possible in {wait:.0f} seconds."
    )
