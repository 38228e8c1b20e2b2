"""What Claude's generations take."""

from __future__ import annotations

import pytest

from toolkeel.providers.claude import (
    caches_on_bedrock,
    is_claude,
    longest_reply,
    takes_temperature,
)


@pytest.mark.parametrize(
    ("model", "streamed", "whole"),
    [
        ("claude-3-haiku-20240307", 4096, 4096),
        ("claude-3-5-sonnet-latest", 8192, 8192),
        ("claude-3-7-sonnet-20250219", 64_000, 16_384),
        ("claude-opus-4-20250514", 32_000, 8192),
        ("claude-opus-4-1", 32_000, 8192),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", 64_000, 16_384),
        ("claude-fable-5", 64_000, 16_384),
        ("MiniMax-M2", 16_384, 16_384),
    ],
)
def test_replies_may_be_as_long_as_the_generation_can_write(
    model: str, streamed: int, whole: int
) -> None:
    assert longest_reply(model, stream=True) == streamed
    assert longest_reply(model, stream=False) == whole


@pytest.mark.parametrize(
    "model",
    [
        "claude-3-5-haiku",
        "claude-opus-4",
        "claude-opus-4-6",
        "claude-haiku-4-5-20251001",
        "kimi-k2",
    ],
)
def test_older_models_take_a_temperature(model: str) -> None:
    assert takes_temperature(model)


@pytest.mark.parametrize(
    "model", ["claude-opus-4-7", "claude-opus-5", "claude-sonnet-5", "claude-mythos-preview"]
)
def test_newer_models_do_not(model: str) -> None:
    assert not takes_temperature(model)


def test_bedrock_caches_for_claude_and_nova() -> None:
    for model in ("us.anthropic.claude-3-5-haiku-20241022-v1:0", "amazon.nova-pro-v1:0"):
        assert caches_on_bedrock(model)
    for model in (
        "anthropic.claude-3-haiku-20240307-v1:0",
        "anthropic.claude-3-5-sonnet-20241022-v2:0",
        "mistral.mistral-large-2402-v1:0",
    ):
        assert not caches_on_bedrock(model)


def test_claude_is_known_wherever_it_runs() -> None:
    assert is_claude("eu.anthropic.claude-sonnet-4-6") and not is_claude("amazon.nova-lite-v1:0")
