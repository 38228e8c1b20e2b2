"""The names hold against the newest official producer of the conventions."""

from __future__ import annotations

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.util.genai._instruments import _Instruments

from toolkeel.messages import Usage
from toolkeel.observe import attribute_names


def test_histograms_have_the_units_and_buckets_of_the_official_producer() -> None:
    reader = InMemoryMetricReader()
    official = _Instruments(MeterProvider([reader]).get_meter("x"))
    for instrument in vars(official).values():
        instrument.record(1)
    data = reader.get_metrics_data()
    assert data is not None
    found = {m.name: m for m in data.resource_metrics[0].scope_metrics[0].metrics}
    shared = set(found) & set(attribute_names.HISTOGRAMS)
    assert len(shared) >= 5
    for name in shared:
        unit, _, buckets = attribute_names.HISTOGRAMS[name]
        point = next(iter(found[name].data.data_points))
        assert found[name].unit == unit
        assert tuple(round(b, 6) for b in point.explicit_bounds) == tuple(
            round(b, 6) for b in buckets
        ), name


def test_every_field_of_usage_that_is_tokens_has_a_name() -> None:
    tokens = {name for name in Usage.__dataclass_fields__ if name.endswith("_tokens")}
    assert tokens <= set(attribute_names.USAGE)
