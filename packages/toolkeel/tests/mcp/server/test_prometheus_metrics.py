"""What calls came to, as a scraper reads it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.prometheus_text import BUCKETS
from toolkeel.mcp.server.prometheus_metrics import CallMetrics

LINE = re.compile(r'^(# TYPE \w+ \w+|# HELP \w+ [A-Z].*\.|\w+(\{\w+="[^"\n]+"\})? [\d.]+)$')


@given(st.lists(st.tuples(st.sampled_from(["success", "timeout"]), st.floats(0, 100))))
def test_each_call_is_counted_once_in_all_that_is_told(calls: list[tuple[str, float]]) -> None:
    figures = CallMetrics()
    for outcome, seconds in calls:
        figures.record(outcome, seconds)
    lines = figures.render().splitlines()
    assert all(LINE.match(line) for line in lines)
    told = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    for outcome in {outcome for outcome, _ in calls}:
        count = sum(each == outcome for each, _ in calls)
        assert told[f'toolkeel_calls_total{{outcome="{outcome}"}}'] == str(count)
    for bound in BUCKETS:
        within = sum(seconds <= bound for _, seconds in calls)
        assert told[f'toolkeel_call_seconds_bucket{{le="{bound}"}}'] == str(within)
    assert told['toolkeel_call_seconds_bucket{le="+Inf"}'] == str(len(calls))
    assert told["toolkeel_call_seconds_count"] == str(len(calls))
