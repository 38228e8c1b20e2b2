"""Many clients at once, with faults on both sides: each call answered once, and nothing left over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.gateway_load import gateway, growth, load

MOST_GROWTH = 1.15


@pytest.mark.slow
def test_five_hundred_clients_get_each_answer_once_and_leave_nothing_behind(tmp_path: Path) -> None:
    """A minute of what `python -m benchmarks.gateway_load` does for ten."""
    with gateway(tmp_path) as (url, process):
        seen = asyncio.run(load(url, process.pid, clients=500, seconds=60))
        assert process.poll() is None
    assert seen.wrong == []
    assert seen.answers["steady plain: answered"] > 100, seen.answers
    assert growth(seen) < MOST_GROWTH, seen.memory
    before, after = seen.files
    assert after <= before + 4, "connections stay open"
