"""What servers of this wire call things, in our words."""

from __future__ import annotations

import pytest

from toolkeel.messages import Usage
from toolkeel.providers.openai_chat.profile import REASONS, parse_usage


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens_details": {"cached_tokens": 7}},
        {"prompt_cache_hit_tokens": 7},
        {"cached_tokens": 7},
    ],
)
def test_cached_tokens_are_counted_under_every_name_that_servers_have(usage: dict) -> None:
    told = parse_usage({"prompt_tokens": 10, "completion_tokens": 3, **usage})
    assert told == Usage(1, 10, 3, 7)


def test_what_is_no_count_counts_as_nothing() -> None:
    assert parse_usage({"prompt_tokens": "many", "completion_tokens": -1}) == Usage(1)


def test_every_reason_of_the_table_is_one_of_ours() -> None:
    assert set(REASONS.values()) == {"stop", "tool_calls", "length", "refusal", "filtered"}
