"""Metrics of a server's calls in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import Final

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds, between which calls are counted."""


class CallMetrics:
    """Counts and durations of finished calls.

    Attributes:
        in_flight: Number of requests being answered.

    >>> metrics = CallMetrics()
    >>> metrics.record("success", 0.2)
    >>> metrics.record("timeout", 70)
    >>> [line for line in metrics.render().splitlines() if "calls_total{" in line]
    ['toolkeel_calls_total{outcome="success"} 1', 'toolkeel_calls_total{outcome="timeout"} 1']
    """

    def __init__(self) -> None:
        self.in_flight = 0
        self._outcomes: Counter[str] = Counter()
        self._bucket_counts = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def record(self, outcome: str, seconds: float) -> None:
        """Count a finished call.

        Args:
            outcome: ``success``, or the kind of its failure.
            seconds: Its duration.
        """
        self._outcomes[outcome] += 1
        self._bucket_counts[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds

    def render(self) -> str:
        """Return all metrics in Prometheus' text format."""
        totals = list(accumulate(self._bucket_counts))
        lines = ["# TYPE toolkeel_calls_total counter"]
        lines += [
            f'toolkeel_calls_total{{outcome="{outcome}"}} {count}'
            for outcome, count in sorted(self._outcomes.items())
        ]
        lines.append("# TYPE toolkeel_call_seconds histogram")
        lines += [
            f'toolkeel_call_seconds_bucket{{le="{bound}"}} {count}'
            for bound, count in zip((*BUCKETS, "+Inf"), totals, strict=True)
        ]
        lines.append(f"toolkeel_call_seconds_sum {self._seconds:.6f}")
        lines.append(f"toolkeel_call_seconds_count {totals[-1]}")
        lines.append("# TYPE toolkeel_requests_in_flight gauge")
        lines.append(f"toolkeel_requests_in_flight {self.in_flight}")
        return "\n".join(lines) + "\n"
