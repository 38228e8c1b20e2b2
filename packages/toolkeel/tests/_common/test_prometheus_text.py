"""Metrics of several processes as one answer, in which no counter falls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.prometheus_text import BUCKETS, Family, Metrics

FAMILIES = (
    Family("calls_total", "counter", "Calls."),
    Family("seconds", "histogram", "Durations."),
    Family("open", "gauge", "Open ones."),
)
OTHER = """
import os, sys
from toolkeel._common.prometheus_text import Family, Metrics
made = Metrics((Family("calls_total", "counter", "Calls."), Family("open", "gauge", "Open ones.")), sys.argv[1])
made.add("calls_total", 5)
made.set("open", 7)
made.render()
os._exit(9)
"""


def samples(text: str) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_each_family_has_its_help_and_type_once_before_its_samples() -> None:
    made = Metrics(FAMILIES)
    made.add("calls_total", outcome="b")
    made.add("calls_total", outcome="a")
    made.observe("seconds", 0.2)
    lines = made.render().splitlines()
    assert lines[:4] == [
        "# HELP calls_total Calls.",
        "# TYPE calls_total counter",
        'calls_total{outcome="b"} 1',
        'calls_total{outcome="a"} 1',
    ]
    assert sum(line.startswith("# TYPE") for line in lines) == 6  # no gauge is set
    assert "process_start_time_seconds" in made.render()


def test_what_an_ended_process_counted_stays_and_what_it_had_open_goes(tmp_path: Path) -> None:
    made = Metrics(FAMILIES, str(tmp_path))
    made.add("calls_total", 2)
    made.set("open", 1)
    assert samples(made.render())["calls_total"] == 2
    ended = subprocess.run([sys.executable, "-c", OTHER, str(tmp_path)], timeout=60)
    assert ended.returncode == 9
    found = samples(made.render())
    assert (found["calls_total"], found["open"]) == (7, 1)
    assert f'process_open_fds{{pid="{os.getpid()}"}}' in found
    assert sum(name.startswith("process_open_fds") for name in found) == 1


def test_what_is_shown_to_anybody_is_in_the_folder_before(tmp_path: Path) -> None:
    made = Metrics(FAMILIES, str(tmp_path))
    for number in range(1, 50):
        made.add("calls_total")
        shown = samples(made.render())["calls_total"]
        [path] = tmp_path.glob("*.json")
        assert json.loads(path.read_text())["counters"]["calls_total"] == shown == number


@given(st.lists(st.floats(0, 100)), st.text())
def test_buckets_are_cumulative_and_any_label_stays_on_its_line(
    durations: list[float], tool: str
) -> None:
    made = Metrics(FAMILIES)
    for seconds in durations:
        made.observe("seconds", seconds, tool=tool)
    lines = [line for line in made.render().split("\n") if line.startswith("seconds_bucket")]
    counts = [int(line.rpartition(" ")[2]) for line in lines]
    if durations:
        assert counts == [sum(each <= bound for each in durations) for bound in (*BUCKETS, 1e9)]
