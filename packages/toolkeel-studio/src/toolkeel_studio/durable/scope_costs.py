"""What the runs of a scope have cost today, in all workers together, and what is left of its limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from toolkeel._records.entries import Entry, Queued, Spent
from toolkeel.sessions.tool_memory import KeyValueStore
from toolkeel.spending import RunLimits

_KEEP_SECONDS: Final = 2 * 86400.0


class ScopeCosts:
    """The costs of scopes by day (UTC), beside the sessions.

    Args:
        place: Of the sessions.
        limit: Most US dollars of a scope in a day.
    """

    def __init__(self, place: str, limit: float) -> None:
        self.limit = limit
        self._store = KeyValueStore(place)

    def left(self, scope: str) -> float:
        """Return how many dollars a scope may still spend today."""
        found = self._store.get(_today(), scope)
        return self.limit - (0.0 if found is None else float(found.value["dollars"]))

    def add(self, scope: str, dollars: float) -> None:
        """Count the cost of a run."""
        if dollars:
            self._store.change(
                _today(),
                scope,
                lambda value: {"dollars": value.get("dollars", 0.0) + dollars},
                seconds=_KEEP_SECONDS,
            )

    def close(self) -> None:
        """Close the store."""
        self._store.close()


def _today() -> tuple[str, ...]:
    return ("toolkeel costs", datetime.now(UTC).date().isoformat())


def with_cost_limit(options: dict[str, Any], dollars: float) -> dict[str, Any]:
    """Return options of a run that may cost so much, or less if they say so."""
    limits: RunLimits = options.get("limits") or RunLimits()
    most = dollars if limits.cost is None else min(dollars, limits.cost)
    return {**options, "limits": replace(limits, cost=most)}


def cost_of(entries: Iterable[Entry], id: str) -> float:
    """Return what was spent since the prompt of a run was taken, or since all entries began.

    Args:
        entries: Of the run's session.
        id: Of the run.
    """
    dollars = 0.0
    for entry in entries:
        match entry:
            case Queued(who=who):
                dollars = 0.0 if who == id else dollars
            case Spent(cost=cost):
                dollars += cost
            case _:
                pass
    return dollars
