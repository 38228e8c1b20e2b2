"""Prometheus' own parser reads our answers (nightly: `pip install prometheus_client`)."""

from __future__ import annotations

import pytest

from tests.shared import optional
from toolkeel.mcp.server.prometheus_metrics import TOOLS_VARIABLE, CallMetrics

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


def test_prometheus_reads_each_family_with_its_type_and_any_tool_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parse = optional("prometheus_client.parser").text_string_to_metric_families

    monkeypatch.setenv(TOOLS_VARIABLE, "1")
    metrics, tools = CallMetrics(), ['a"b\\c\nd', "客服", ""]
    for tool in tools:
        metrics.record("timeout", 0.2, tool)
    metrics.record_rejection(401)
    found = {each.name: each for each in parse(metrics.render())}
    types = {name: each.type for name, each in found.items() if name.startswith("toolkeel")}
    assert types == {
        "toolkeel_calls": "counter",
        "toolkeel_call_seconds": "histogram",
        "toolkeel_tool_seconds": "histogram",
        "toolkeel_rejected_requests": "counter",
        "toolkeel_requests_in_flight": "gauge",
    }
    assert all(each.documentation for each in found.values())
    named = {s.labels["tool"] for s in found["toolkeel_tool_seconds"].samples}
    assert named == set(tools) - {""}
    bounds = [s.labels.get("le") for s in found["toolkeel_call_seconds"].samples]
    assert bounds.index("+Inf") == 13  # in order, as the format wants it
