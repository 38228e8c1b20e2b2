"""Counts of calls that models correct themselves."""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel._records.record import record
from toolkeel.messages import ToolMessage

CORRECTABLE = ("invalid_arguments", "malformed_arguments", "truncated_call")
ACCEPTED = (None, "tool_error", "crashed", "timeout", "invalid_output")
"""Kinds of result of a call whose body ran; None is success."""


@record
class Correction:
    """Failed and corrected calls of one tool.

    Args:
        failed: Number of calls whose arguments were rejected.
        corrected: Number of those that an accepted call of the tool followed, whatever its result.
    """

    failed: int = 0
    corrected: int = 0

    @property
    def rate(self) -> float:
        """The share of failed calls that were corrected, or 1 if none failed."""
        return self.corrected / self.failed if self.failed else 1.0


class Corrections:
    """Counts of corrected calls in a run, by tool. `any` is True once a call has failed."""

    def __init__(self) -> None:
        self.any = False
        self._counts: dict[str, list[int]] = {}  # failed, corrected, open

    def record(self, results: Iterable[ToolMessage]) -> None:
        """Count a turn's calls with rejected arguments as failed, in order of the results.

        Each later accepted call of the same tool counts one of them as corrected.
        """
        for result in results:
            if result.kind in CORRECTABLE:
                self.any = True
                counts = self._counts.setdefault(result.name, [0, 0, 0])
                counts[0] += 1
                counts[2] += 1
            elif self._counts and result.kind in ACCEPTED and result.name in self._counts:
                counts = self._counts[result.name]
                if counts[2]:
                    counts[1] += 1
                    counts[2] -= 1

    def by_tool(self) -> dict[str, Correction]:
        """Return the counts by tool name."""
        return {name: Correction(c[0], c[1]) for name, c in self._counts.items()}
