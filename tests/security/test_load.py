"""A thousand runs at once with faults everywhere: each call has one result, and nothing is left over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.load import growth, load

MOST_GROWTH = 1.25


@pytest.mark.slow
def test_a_thousand_runs_at_once_have_each_result_once_and_leave_nothing_behind(
    tmp_path: Path,
) -> None:
    """A minute of what `python -m benchmarks.load` does for ten."""
    seen = asyncio.run(load(tmp_path, runs=1000, seconds=60))
    assert seen.wrong == []
    assert seen.ends["call plain: success"] > 1000, seen.ends
    assert seen.ends["call hangs: timeout"] > 50 and seen.ends["session: ended"] > 50, seen.ends
    assert growth(seen) < MOST_GROWTH, seen.memory
    before, after = seen.left["tasks"]
    assert after <= before
    for what, most in (("threads", 16), ("processes", 2), ("open files", 8)):
        before, after = seen.left[what]
        assert after <= before + most, (what, seen.left)
