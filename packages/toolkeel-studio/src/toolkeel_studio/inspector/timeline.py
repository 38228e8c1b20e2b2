"""The waterfall of a run: a row for each request and each call, with its waiting and running time.

The axis omits long idle periods, such as the time a call waited for a person; otherwise one lunch break
would compress everything else.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import time

from toolkeel.observe.wording import visible_line
from toolkeel_studio.inspector.session_view import CallItem, ReplyItem, Story

IDLE = 0.05
"""Gaps longer than this share of the busy time are cut."""
CUT = 0.02
"""Width of a cut gap as a share of the busy time."""


@dataclass
class Segment:
    """A part of a row: its kind (``waits``, ``runs`` or ``asks``), start and end in epoch seconds."""

    what: str
    start: float
    end: float


@dataclass
class Row:
    """The row of one request or call.

    Args:
        name: Name of the model or the tool.
        kind: ``model`` or ``call``.
        status: Status of the call.
        depth: Nesting level of its run.
        segments: Segments in order.
        bars: Kind, left and width of each drawn segment, in percent.
    """

    name: str
    kind: str
    status: str
    depth: int
    segments: list[Segment]
    bars: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def start(self) -> float:
        """Start in seconds since the epoch."""
        return self.segments[0].start

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.segments[-1].end - self.start


@dataclass
class Timeline:
    """Rows of requests and calls on one time axis.

    Args:
        rows: Rows in request order.
        start: Start of the first row, in seconds since the epoch.
        seconds: Duration from the first start to the last end.
        gaps: Position of each cut in percent, and the omitted seconds.
        lanes: Maximum number of parallel calls.
    """

    rows: list[Row]
    start: float
    seconds: float
    gaps: list[tuple[float, float]]
    lanes: int


def build_timeline(story: Story, now: float | None = None) -> Timeline:
    """Build the waterfall of a story.

    Args:
        story: The story.
        now: Current time in epoch seconds, the end of unfinished rows.
    """
    rows = list(_rows(story, time() if now is None else now, 0))
    if not rows:
        return Timeline([], 0.0, 0.0, [], 0)
    start = min(row.start for row in rows)
    end = max(row.segments[-1].end for row in rows)
    busy = _busy(s for row in rows for s in row.segments if s.what != "waits")
    place, gaps = _axis(busy, start, end)
    for row in rows:
        for s in row.segments:
            left = place(s.start)
            row.bars.append((s.what, left, place(s.end) - left))
    cut = [(place(at), seconds) for at, seconds in gaps]
    return Timeline(rows, start, end - start, cut, _lanes(rows))


def _rows(story: Story, now: float, depth: int) -> Iterator[Row]:
    ends = sorted(item.at for item in story.items if item.at is not None)
    for item in (item for item in story.items if isinstance(item, ReplyItem)):
        if item.asked is not None:
            at = bisect_left(ends, item.asked)  # without a reply it ended with its run
            end = ends[at] if at < len(ends) else item.asked if story.reason else now
            yield _model_row(item, Segment("asks", item.asked, item.at or end), depth)
        for called in item.calls:
            segments = list(_segments(called, now))
            yield Row(visible_line(called.call.name), "call", called.status, depth, segments)
            if called.inside is not None:
                yield from _rows(called.inside, now, depth + 1)


def _model_row(item: ReplyItem, asks: Segment, depth: int) -> Row:
    status = "runs" if item.at is None and not item.failures else "done"
    return Row(visible_line(item.model) or "model", "model", status, depth, [asks])


def _segments(called: CallItem, now: float) -> Iterator[Segment]:
    if called.waited is not None:
        decided = called.verdict.at if called.verdict is not None else called.ended or now
        yield Segment("waits", called.waited, max(decided, called.waited))
    if called.began is not None:  # the journal learns of its end later, with its siblings
        took = called.result.duration if called.result is not None else now - called.began
        yield Segment("runs", called.began, called.began + max(took, 0.0))
    elif called.waited is None:
        yield Segment("runs", called.asked, called.ended or called.asked)


def _busy(segments: Iterable[Segment]) -> list[tuple[float, float]]:
    """Merge the periods in which anything was active."""
    found: list[tuple[float, float]] = []
    for start, end in sorted((s.start, s.end) for s in segments):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _axis(
    busy: list[tuple[float, float]], start: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, float]]]:
    """Map times to positions of 0 to 100 on the axis; also return the cuts as position and seconds."""
    work = sum(b - a for a, b in busy) or 1e-6
    times, places = [start], [0.0]  # where the pieces of the axis begin and end, and are drawn
    gaps: list[tuple[float, float]] = []
    at = start
    for a, b in [*busy, (end, end)]:
        if a > at:
            gap = a - at
            if gap > IDLE * work:
                gaps.append(((at + a) / 2, gap))
                gap = CUT * work
            times.append(a)
            places.append(places[-1] + gap)
        if b > max(a, at):
            times.append(b)
            places.append(places[-1] + b - max(a, at))
        at = max(at, b)

    def place(moment: float) -> float:
        n = bisect_right(times, moment)
        if n in (0, len(times)):
            return 100 * places[-1] / (places[-1] or 1.0) if n else 0.0
        since, until = times[n - 1 : n + 1]
        part = (moment - since) / (until - since) * (places[n] - places[n - 1])
        return (places[n - 1] + part) / places[-1] * 100

    return place, gaps


def _lanes(rows: list[Row]) -> int:
    """Return the maximum number of calls that ran at once."""
    edges = sorted(
        edge
        for row in rows
        if row.kind == "call"
        for s in row.segments
        if s.what == "runs" and s.end > s.start
        for edge in ((s.start, 1), (s.end, -1))
    )
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most
