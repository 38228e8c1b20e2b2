"""Every name of the package is there, and a missing one says what to write."""

from __future__ import annotations

import pytest

import toolkeel_compat.pydantic_ai as ours


def test_every_name_is_there() -> None:
    for name in ours.__all__:
        assert getattr(ours, name) is not None


@pytest.mark.parametrize(
    ("owner", "name", "text"),
    [
        (ours.Agent, "instrument_all", "OpenTelemetry"),
        (ours.Agent(ours.TestModel()), "run_stream_events", r"Agent\.stream"),
        (ours.RunContext, "run_step", "ToolContext"),
        (ours.RunUsage(), "cost", "your prices"),
        (ours.StreamedRunResult, "cancel", "run_stream"),
    ],
)
def test_a_missing_attribute_says_what_to_write(owner: object, name: str, text: str) -> None:
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=text):
        getattr(owner, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DeltaToolCall", "Scripted of toolkeel.testing"),
        ("CohereModel", "toolkeel.models.connect"),
        ("VercelAIUIAdapter", "AGUIAdapter.dispatch_request"),
        ("RetryPromptPart", "outcome 'retried'"),
        ("FunctionToolResultEvent", "Agent.stream"),
        ("format_as_xml", "json.dumps"),
        ("ALLOW_MODEL_REQUESTS", "TestModel"),
    ],
)
def test_a_missing_name_says_what_to_write(name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=text):
        getattr(ours, name)
