"""What a run and its session have spent according to a journal: usage, cost, calls, failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from toolkeel._records import entries
from toolkeel.messages import ToolMessage, Usage

NO_FAILURE = ("limit_reached", "cancelled", "skipped")
"""Ends of calls that are no failure of the tool."""
NEVER_STARTED = (
    *("unknown_tool", "malformed_arguments", "truncated_call", "invalid_arguments", "disabled"),
    *("limit_reached", "skipped"),
)
"""Ends of calls that limits do not count."""


class RunCounts:
    """The counted part of the state of a session or a nested run.

    Attributes:
        usage: Usage of all runs, nested ones included.
        run_usage: Usage of the last run and those nested in it; counts every request that was sent.
        cost: Cost of the same in US dollars, where prices were needed.
        run_calls: Calls of the same, by key: the tool's name.
        run_failures: Number of failed calls of the same, by tool.
        open_calls: Calls with an intent and no outcome, by key.
    """

    open_calls: dict[str, entries.CallIntended]

    def __init__(self) -> None:
        self.usage = self.run_usage = Usage()
        self.cost = 0.0
        self.run_calls: dict[str, str] = {}
        self.run_failures: Counter[str] = Counter()

    def waiting_keys(self, entry: entries.Waits) -> list[str]:
        """Return the keys of the calls that a ticket is for."""
        raise NotImplementedError

    def spend(self, entry: entries.Entry) -> None:
        """Add what an entry cost to the counts. The start of an outermost run resets the run's counts."""
        used = _usage(entry)
        self.usage = self.usage + used
        if isinstance(entry, entries.RunBegan) and not entry.parent:
            self.run_usage, self.cost = Usage(), 0.0
            self.run_calls, self.run_failures = {}, Counter()
        elif isinstance(entry, entries.Spent):
            self.cost += entry.cost
        elif isinstance(entry, entries.ModelAsked):
            self.run_usage = self.run_usage + Usage(1)
        elif isinstance(entry, entries.CallIntended):
            self.run_calls[entries.call_key_of(entry)] = entry.tool
        elif isinstance(entry, entries.CallEnded):
            self._count(entries.call_key_of(entry), entry.message)
        elif isinstance(entry, entries.Waits) and not entry.outcome:
            for key in self.waiting_keys(entry):
                self.run_calls.pop(key, None)
        elif used is not _NONE:
            self.run_usage = self.run_usage + replace(used, requests=0)

    def _count(self, key: str, result: ToolMessage) -> None:
        """Count a result: a failure by its tool, and no call if the body never started."""
        if result.kind in NEVER_STARTED:
            self.run_calls.pop(key, None)
        if result.failed and result.kind not in NO_FAILURE:
            self.run_failures[result.name] += 1

    @property
    def counts(self) -> dict[str, int]:
        """Counts of the last run's limits, by name. Unfinished calls count when they run again."""
        spent = {"requests": self.run_usage.requests, "tokens": self.run_usage.total_tokens}
        called = [tool for key, tool in self.run_calls.items() if key not in self.open_calls]
        made = {f"calls {tool}": count for tool, count in Counter(called).items()}
        return (
            spent | made | {f"failures {tool}": count for tool, count in self.run_failures.items()}
        )


def _usage(entry: entries.Entry) -> Usage:
    """Return the usage that an entry reports, or an empty one."""
    if isinstance(entry, entries.ModelReplied):
        return entry.message.usage.with_request()
    return entry.usage if isinstance(entry, entries.ModelFailed | entries.Compacted) else _NONE


_NONE = Usage()
