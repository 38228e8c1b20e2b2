"""What Anthropic's Messages wire takes and says: options, stop reasons, statuses, usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolkeel._records.record import record
from toolkeel.messages import FinishReason, Usage
from toolkeel.providers.wire.plain_json import Json, as_count, as_dict, by_word
from toolkeel.providers.wire.reasoning_ownership import Asked

WIRE: Final = "anthropic"
PAUSE = "pause_turn"

REASONS: Mapping[str, FinishReason] = by_word(
    {
        "stop": f"end_turn stop_sequence {PAUSE}",
        "tool_calls": "tool_use",
        "length": "max_tokens model_context_window_exceeded",
        "refusal": "refusal",
        "error": "sensitive",
    }
)
"""Every stop reason of this wire; any other is an error, none at all a cut-off reply."""


@record
class AnthropicProfile(Asked):
    """What a model behind this wire and its server take.

    Args:
        prompt_cache: Whether to mark what the next request will repeat for the cache: the
            system prompt, the last tool and the last block of what was said to the model.
        unsigned_thinking: Whether the server takes thinking without a signature back as such.
            Anthropic's does not; some that imitate it never sign.
        betas_in_header: Whether features in test are asked for in a header, as the service wants
            it; else under ``betas``, as its SDK takes them.
    """

    prompt_cache: bool = False
    unsigned_thinking: bool = False
    betas_in_header: bool = False


def usage_of(usage: Json) -> Usage:
    """One request's tokens. The wire counts cached ones beside ``input_tokens``; we count all."""
    if not usage:
        return Usage(1)
    read = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    details = as_dict(usage.get("output_tokens_details"))
    return Usage(
        1,
        as_count(usage.get("input_tokens")) + read + written,
        as_count(usage.get("output_tokens")),
        read,
        as_count(details.get("thinking_tokens")),
        written,
    )
