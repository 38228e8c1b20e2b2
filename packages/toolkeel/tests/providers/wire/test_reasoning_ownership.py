"""One model under several names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.messages import AssistantMessage, Reasoning
from toolkeel.providers.anthropic.profile import AnthropicProfile
from toolkeel.providers.wire.reasoning_ownership import (
    ASKED,
    is_own,
    is_own_thought,
    is_same_model,
    model_family,
    requested_model_note,
)

SONNET = [
    "claude-sonnet-4-5",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-5-latest",
    "claude-sonnet-4-5@20250929",
    "anthropic/claude-sonnet-4-5",
    "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
]


@pytest.mark.parametrize("name", SONNET)
def test_a_model_is_the_same_wherever_it_runs(name: str) -> None:
    assert model_family(name) == "claude-sonnet-4-5"
    assert is_same_model(name, SONNET[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-6"),
        ("claude-opus-4", "claude-opus-4-1"),
        ("gpt-5", "gpt-5-mini"),
        ("qwen3:8b", "qwen3:32b"),
        ("claude-sonnet-4-5", "gpt-5"),
    ],
)
def test_models_that_begin_alike_are_different(one: str, other: str) -> None:
    assert not is_same_model(one, other)


def test_dated_names_are_of_one_model() -> None:
    assert is_same_model("gpt-4o", "gpt-4o-2024-08-06")
    assert is_same_model("gpt-4", "gpt-4-0613")
    assert is_same_model("llama3", "llama3:latest")


def test_a_model_that_is_not_named_may_be_any() -> None:
    assert is_same_model("", "gpt-5") and is_same_model("gpt-5", "")


def test_a_name_that_is_nothing_but_a_date_stays() -> None:
    assert model_family("-20250929") == "-20250929"


HERE = AnthropicProfile("fast", endpoint="a.example")


def answered(model: str, asked: AnthropicProfile = HERE) -> AssistantMessage:
    """A reply of a model that was asked as `asked`, and answered as `model`."""
    return AssistantMessage(
        "x", model=model, provider_options=requested_model_note("w", asked, model)
    )


def test_a_reply_is_own_by_the_name_that_was_asked_whatever_name_answers() -> None:
    reply = answered("claude-sonnet-4-5-20250929")
    assert reply.provider_options[ASKED] == {"wire": "w", "model": "fast", "endpoint": "a.example"}
    assert is_own(reply, "w", HERE)
    assert is_own(reply, "w", AnthropicProfile("claude-sonnet-4-5", endpoint="b.example"))
    assert not is_own(reply, "w", AnthropicProfile("slow", endpoint="a.example"))


def test_the_same_alias_at_another_server_is_another_model() -> None:
    reply = answered("claude-sonnet-4-5")
    assert not is_own(reply, "w", AnthropicProfile("fast", endpoint="b.example"))
    assert not is_own(reply, "v", HERE)


def test_nothing_is_noted_where_the_names_fit() -> None:
    asked = AnthropicProfile("claude-sonnet-4-5")
    assert not requested_model_note("w", asked, "claude-sonnet-4-5-20250929")
    assert requested_model_note("w", asked, "")


def test_a_transcript_from_elsewhere_goes_by_its_names() -> None:
    assert is_own(AssistantMessage("x", model="fast"), "w", HERE)
    assert is_own(AssistantMessage("x"), "w", HERE)
    assert not is_own(AssistantMessage("x", model="other"), "w", HERE)


def test_a_thought_is_of_the_model_of_its_reply_unless_it_says_another() -> None:
    reply = answered("claude-sonnet-4-5")
    for model, own in (("", True), ("claude-sonnet-4-5", True), ("gpt-5", False), ("fast", True)):
        assert is_own_thought(Reasoning("", "s", model), reply, True, HERE) is own
    assert not is_own_thought(Reasoning("", "s"), reply, False, HERE)


@given(
    st.sampled_from(["claude-sonnet-4", "claude-opus-4"]),
    st.sampled_from(["", "-0", "-20250514", "-latest", "@20250514", "-20250514-v1:0"]),
    st.sampled_from(["", "-0", "-20250514", "-latest", "@20250514", "-20250514-v1:0"]),
)
def test_an_alias_with_a_zero_is_the_model_without_it(name: str, one: str, other: str) -> None:
    assert is_same_model(name + one, name + other)
    assert not is_same_model(name + one, f"{name}-5{other}")
