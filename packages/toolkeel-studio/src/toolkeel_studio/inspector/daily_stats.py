"""Stats of tools and models, with their numbers by day and what the runs inside tools cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from toolkeel._records.entries import CallEnded, Entry, ModelReplied, RunBegan
from toolkeel.messages import ToolCall
from toolkeel.observe.stats import StatsReader, price_of_usage

BARS = 92
"""Maximum number of bars of a chart; longer times are divided into longer parts."""


@dataclass
class Period:
    """Numbers of some days.

    Args:
        start: The first day.
        calls: Number of completed calls.
        failed: Those that failed.
        tokens: Tokens of all replies.
        cost: Cost of the replies whose model has a known price, in US dollars.
    """

    start: date
    calls: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0

    def add(self, other: Period) -> None:
        """Add the numbers of other days."""
        self.calls += other.calls
        self.failed += other.failed
        self.tokens += other.tokens
        self.cost += other.cost


class DailyStats:
    """Stats that are updated entry by entry; entries of a session are added in order.

    Attributes:
        costs: Cost of the model requests inside calls of a tool (agents), in US dollars.
    """

    def __init__(self) -> None:
        self.costs: dict[str, float] = {}
        self._reader = StatsReader()
        self.stats = self._reader.stats
        self._days: dict[date, Period] = {}
        self._calls: dict[str, tuple[ToolCall, ...]] = {}  # of the last reply, by run
        self._inside: dict[str, frozenset[str]] = {}  # the tools that a run is inside of

    def add(self, at: float, entry: Entry) -> None:
        """Add one entry.

        Args:
            at: Time of the entry in seconds since the epoch.
            entry: The entry.
        """
        self._reader.add(at, entry)
        match entry:
            case RunBegan() if entry.parent:
                self._inside[entry.run] = self._tools_around(entry)
            case CallEnded():
                day = self._day(at)
                day.calls += 1
                day.failed += entry.message.failed
            case ModelReplied():
                self._replied(self._day(at), entry)
            case _:
                pass

    def _day(self, at: float) -> Period:
        day = datetime.fromtimestamp(at).astimezone().date()
        return self._days.setdefault(day, Period(day))

    def _tools_around(self, entry: RunBegan) -> frozenset[str]:
        calls, place = self._calls.get(entry.parent, ()), entry.call.rpartition("-")[2]
        at = int(place) if place.isdecimal() and len(place) < 9 else len(calls)
        outer = self._inside.get(entry.parent, frozenset())
        return outer | {calls[at].name} if at < len(calls) else outer

    def _replied(self, day: Period, entry: ModelReplied) -> None:
        message = entry.message
        self._calls[entry.run] = message.tool_calls
        cost = price_of_usage(message.model or "", message.usage)
        day.tokens += message.usage.total_tokens
        day.cost += cost or 0.0
        if cost is not None:
            for name in self._inside.get(entry.run, ()):
                self.costs[name] = self.costs.get(name, 0.0) + cost

    def periods(self) -> list[Period]:
        """Return the numbers from the first day to the last, days without any included.

        Each of them is a day long, or longer if there would be more than `BARS`.
        """
        if not self._days:
            return []
        first, last = min(self._days), max(self._days)
        length = -(-((last - first).days + 1) // BARS)
        starts = range(0, (last - first).days + 1, length)
        made = [Period(first + timedelta(days=after)) for after in starts]
        for day, numbers in self._days.items():
            made[(day - first).days // length].add(numbers)
        return made


@dataclass
class Chart:
    """A bar chart.

    Args:
        title: What is counted; translatable.
        bars: For each period: its start, its value, and the height of its bar and of the part of it that
            failed, of 100.
        total: Sum of the values.
    """

    title: str
    bars: Sequence[tuple[date, float, float, float]]
    total: float


def charts_of(periods: Sequence[Period]) -> Iterator[Chart]:
    """Yield a chart for each number that is not zero everywhere.

    >>> [chart.bars[1][1:] for chart in charts_of([Period(date.min, 4), Period(date.max, 2, 1)])]
    [(2, 50.0, 25.0)]
    """
    for title, name in (("Calls", "calls"), ("Tokens", "tokens"), ("Cost", "cost")):
        values = [getattr(each, name) for each in periods]
        if not (most := max(values, default=0)):
            continue
        bars = [
            (
                each.start,
                value,
                100.0 * value / most,
                100.0 * each.failed / most if name == "calls" else 0.0,
            )
            for each, value in zip(periods, values, strict=True)
        ]
        yield Chart(title, bars, sum(values))
