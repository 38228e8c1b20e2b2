"""The page of stats: how tools and models did, over all sessions or those of some days."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.inspector.daily_stats import DailyStats, charts_of
from toolkeel_studio.inspector.site import render_page

RANGES = (7, 30, 90)
"""Numbers of days that are one click away."""


class StatsPages:
    """Handlers of the page of stats.

    Args:
        sessions: The store of all sessions.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
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
        if first or last:
            counts = await asyncio.to_thread(self._count_between, first, last)
        else:
            async with self._counting:
                counts = await asyncio.to_thread(self._count)
        periods = counts.periods()
        today = datetime.now().astimezone().date()
        variables = {
            "stats": counts.stats,
            "costs": counts.costs,
            "periods": periods,
            "charts": list(charts_of(periods)),
            "first": first,
            "last": last,
            "wrong": wrong,
            "ranges": [(days, today - timedelta(days=days - 1)) for days in RANGES],
        }
        return HTMLResponse(render_page("stats.html", request, **variables))

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
        start = _midnight(first) if first else float("-inf")
        end = _midnight(last + timedelta(days=1)) if last and last < date.max else float("inf")
        counts = DailyStats()
        for info in self._sessions.list(scope=""):
            if info.updated < start or info.created >= end:
                continue
            for each in self._sessions[info.name].entries(info.base):
                if start <= each.at < end:
                    counts.add(each.at, each.entry)
        return counts


def _day(query: Mapping[str, str], name: str) -> date | None:
    """Return the day that a field of the query names, or None."""
    try:
        return date.fromisoformat(query.get(name, ""))
    except ValueError:
        return None


def _midnight(day: date) -> float:
    """Return the beginning of a day on this machine, in seconds since the epoch."""
    return datetime.combine(day, time.min).timestamp()
