"""Metrics of a server's calls and requests in Prometheus' text format."""

from __future__ import annotations

import os
from typing import Final

from toolkeel._common.prometheus_text import Family, Metrics

TOOLS_VARIABLE: Final = "TOOLKEEL_TOOL_METRICS"
"""Environment variable; if it is set, durations are counted by tool, too."""
_CALLS: Final = Family("toolkeel_calls_total", "counter", "Finished calls, by outcome.")
_SECONDS: Final = Family("toolkeel_call_seconds", "histogram", "Durations of calls.")
_BY_TOOL: Final = Family("toolkeel_tool_seconds", "histogram", "Durations of calls, by tool.")
_REJECTED: Final = Family(
    "toolkeel_rejected_requests_total", "counter", "Requests answered by an HTTP error, by status."
)
_IN_FLIGHT: Final = Family("toolkeel_requests_in_flight", "gauge", "Requests being answered.")


class CallMetrics:
    """Counts and durations of finished calls, of this process and those that share its address.

    Attributes:
        by_tool: True to count durations by tool, too, which shows the names of tools.

    >>> metrics = CallMetrics()
    >>> metrics.record("success", 0.2)
    >>> metrics.record("timeout", 70)
    >>> [line for line in metrics.render().splitlines() if "calls_total{" in line]
    ['toolkeel_calls_total{outcome="success"} 1', 'toolkeel_calls_total{outcome="timeout"} 1']
    """

    def __init__(self) -> None:
        self.by_tool = bool(os.environ.get(TOOLS_VARIABLE))
        self._metrics = Metrics((_CALLS, _SECONDS, _BY_TOOL, _REJECTED, _IN_FLIGHT))
        self._metrics.add_histogram(_SECONDS.name)
        self.in_flight = 0

    @property
    def in_flight(self) -> int:
        """Number of requests being answered."""
        return self._in_flight

    @in_flight.setter
    def in_flight(self, number: int) -> None:
        """Set the number and its gauge."""
        self._in_flight = number
        self._metrics.set(_IN_FLIGHT.name, number)

    def record(self, outcome: str, seconds: float, tool: str = "") -> None:
        """Count a finished call.

        Args:
            outcome: ``success``, or the kind of its failure.
            seconds: Its duration.
            tool: Name of its tool.
        """
        self._metrics.add(_CALLS.name, outcome=outcome)
        self._metrics.observe(_SECONDS.name, seconds)
        if self.by_tool and tool:
            self._metrics.observe(_BY_TOOL.name, seconds, tool=tool)

    def record_rejection(self, status: int) -> None:
        """Count a request that is answered by an HTTP error."""
        self._metrics.add(_REJECTED.name, status=str(status))

    def render(self) -> str:
        """Return all metrics in Prometheus' text format."""
        return self._metrics.render()
