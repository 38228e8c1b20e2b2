"""The page of stats: how tools and models did, over all sessions or those of some days."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from toolkeel.observe.event_entries import read_event_file
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.inspector.daily_stats import DailyStats, charts_of
from toolkeel_studio.inspector.site import show_page

RANGES = (7, 30, 90)
"""Numbers of days that are one click away."""


class StatsPages:
    """Handlers of the page of stats.

    Args:
        sessions: The store of all sessions.
        events: Files of `JsonLines`; the query ``source=events`` shows their stats instead.
    """

    def __init__(self, sessions: Sessions, events: Sequence[Path] = ()) -> None:
        self._sessions = sessions
        self._events = events
        self._counting = asyncio.Lock()
        self._counts = DailyStats()
        self._counted: dict[tuple[int, float], int] = {}
        """Last counted entry, by session id and creation time."""

    async def show(self, request: Request) -> Response:
        """Show the stats of the days that the query names, first and last included."""
        first, last = (_day(request.query_params, name) for name in ("from", "to"))
        wrong = [
            request.query_params[name]
            for name, day in (("from", first), ("to", last))
            if request.query_params.get(name) and day is None
        ]
        of_events = bool(self._events) and request.query_params.get("source") == "events"
        problem = ""
        if of_events:
            counts, problem = await asyncio.to_thread(self._count_events, first, last)
        elif first or last:
            counts = await asyncio.to_thread(self._count_between, first, last)
        else:
            async with self._counting:
                counts = await asyncio.to_thread(self._count)
        periods = counts.periods()
        today = datetime.now().astimezone().date()
        variables: dict[str, Any] = {
            "stats": counts.stats,
            "costs": counts.costs,
            "periods": periods,
            "charts": list(charts_of(periods)),
            "first": first,
            "last": last,
            "wrong": wrong,
            "events": self._events,
            "of_events": of_events,
            "problem": problem,
            "ranges": [(days, today - timedelta(days=days - 1)) for days in RANGES],
        }
        return await show_page("stats.html", request, **variables)

    def _count(self) -> DailyStats:
        """Return stats over all sessions; read only new entries."""
        found = self._sessions.list(scope="")
        if self._counted.keys() - {
            (info.id, info.created) for info in found
        }:  # deleted sessions, with their calls
            self._counted, self._counts = {}, DailyStats()
        for info in found:
            known = info.id, info.created
            after = self._counted.setdefault(known, info.base)
            for each in self._sessions[info.name].entries(after):
                self._counts.add(each.at, each.entry)
                self._counted[known] = each.seq
        return self._counts

    def _count_between(self, first: date | None, last: date | None) -> DailyStats:
        """Return stats of some days; None is no bound."""
        start, end = _times(first, last)
        counts = DailyStats()
        for info in self._sessions.list(scope=""):
            if info.updated < start or info.created >= end:
                continue
            for each in self._sessions[info.name].entries(info.base):
                if start <= each.at < end:
                    counts.add(each.at, each.entry)
        return counts

    def _count_events(self, first: date | None, last: date | None) -> tuple[DailyStats, str]:
        """Return stats of some days of the files of events, and what cannot be read."""
        start, end = _times(first, last)
        counts, problems = DailyStats(), list[str]()
        for path in self._events:
            try:
                for at, entry in read_event_file(path):
                    if start <= at < end:
                        counts.add(at, entry)
            except OSError as error:
                problems.append(f"{path} cannot be read: {error.strerror}")
            except ValueError as error:
                problems.append(str(error))
        return counts, "; ".join(problems)


def _times(first: date | None, last: date | None) -> tuple[float, float]:
    """Return the beginning of the first day and the end of the last; None is no bound."""
    start = _midnight(first) if first else float("-inf")
    return start, _midnight(last + timedelta(days=1)) if last and last < date.max else float("inf")


def _day(query: Mapping[str, str], name: str) -> date | None:
    """Return the day that a field of the query names, or None."""
    try:
        return date.fromisoformat(query.get(name, ""))
    except ValueError:
        return None


def _midnight(day: date) -> float:
    """Return the beginning of a day on this machine, in seconds since the epoch."""
    return datetime.combine(day, time.min).timestamp()
