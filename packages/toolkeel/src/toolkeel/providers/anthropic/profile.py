"""Constants and options of Anthropic's Messages wire: stop reasons, usage, profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolkeel._records.record import record
from toolkeel.messages import FinishReason, Usage
from toolkeel.providers.wire.plain_json import Json, as_count, as_dict, invert
from toolkeel.providers.wire.reasoning_ownership import ModelProfile

WIRE: Final = "anthropic"
PAUSE = "pause_turn"
UNSIGNED = "unsigned_thinking"
"""Key in a reply's options: the server does not sign thinking, so it accepts it without a signature."""

REASONS: Mapping[str, FinishReason] = invert(
    {
        "stop": f"end_turn stop_sequence {PAUSE} stop",
        "tool_calls": "tool_use tool_calls function_call",
        "length": "max_tokens model_context_window_exceeded length",
        "filtered": "content_filter",
        "refusal": "refusal",
        "error": "sensitive",
    }
)
"""Every stop reason of this wire, and those of Chat Completions, which proxies pass on; any other is an error, none at all a cut-off reply."""


@record
class AnthropicProfile(ModelProfile):
    """What a model behind this wire and its server accept.

    Args:
        prompt_cache: True to mark what the next request repeats for the cache: the system prompt,
            the last tool and the last block before the reply.
        unsigned_thinking: True if the server accepts thinking without a signature. Anthropic's does
            not; some that imitate it never sign, which a complete reply of theirs shows too.
        keep_container: True to name the last code execution container in the next question too.
        betas_in_header: True to send beta features in a header, as the API requires; else under
            ``betas``, as its SDK takes them.
    """

    prompt_cache: bool = False
    unsigned_thinking: bool = False
    keep_container: bool = False
    betas_in_header: bool = False


def parse_usage(usage: Json) -> Usage:
    """Convert one request's usage. The wire counts cached tokens beside ``input_tokens``; we count all."""
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
