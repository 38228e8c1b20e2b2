"""One model under several names."""

from __future__ import annotations

import pytest

from toolwright.providers.ownership import model_family, same_model

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
    assert same_model(name, SONNET[0])


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
    assert not same_model(one, other)


def test_dated_names_are_of_one_model() -> None:
    assert same_model("gpt-4o", "gpt-4o-2024-08-06")
    assert same_model("gpt-4", "gpt-4-0613")
    assert same_model("llama3", "llama3:latest")


def test_a_model_that_is_not_named_may_be_any() -> None:
    assert same_model("", "gpt-5") and same_model("gpt-5", "")


def test_a_name_that_is_nothing_but_a_date_stays() -> None:
    assert model_family("-20250929") == "-20250929"
