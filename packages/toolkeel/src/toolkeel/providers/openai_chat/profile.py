"""Constants and options of the Chat Completions wire: finish reasons, reasoning keys, usage."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from toolkeel._records.record import record
from toolkeel.content import Audio, Image, data_url
from toolkeel.messages import AssistantMessage, FinishReason, SystemMessage, Usage, UserMessage
from toolkeel.providers.chat_servers import OPENAI, ChatProfile
from toolkeel.providers.wire.plain_json import Json, as_count, as_dict, invert
from toolkeel.providers.wire.reasoning_ownership import ModelProfile

REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Under which name servers send reasoning; one of them, or the same under several."""

REASONING_BLOCKS = ("reasoning_details", "thinking_blocks")
"""Under which name routers send blocks of reasoning with their signatures (OpenRouter, LiteLLM)."""
_SEALED_REASONING = re.compile(r"(?:reasoning|thinking|thought)_.+|extra_content")


def is_sealed_reasoning(key: str) -> bool:
    """Return True if a message's value under this key must return to its server unchanged.

    >>> is_sealed_reasoning("thinking_blocks"), is_sealed_reasoning("reasoning_opaque")
    (True, True)
    >>> is_sealed_reasoning("reasoning_content"), is_sealed_reasoning("citations")
    (False, False)
    """
    is_ours = key in (*REASONING_KEYS, "reasoning_key")
    return not is_ours and _SEALED_REASONING.fullmatch(key) is not None


REASONS: Mapping[str, FinishReason] = invert(
    {
        "stop": "stop end end_turn eos eos_token stop_sequence complete completed",
        "tool_calls": "tool_calls tool_call tool_use function_call",
        "length": "length max_tokens model_length model_context_window_exceeded",
        "filtered": "content_filter safety sensitive",
        "refusal": "refusal",
    }
)
"""Known finish reasons; any other is an error, none at all a cut-off reply."""


@record
class ChatTarget(ModelProfile):
    """A model behind a server of this wire.

    Args:
        server: What the server accepts.
    """

    server: ChatProfile = OPENAI


def parse_usage(usage: Json) -> Usage:
    """Convert one request's usage, under any of the servers' names."""
    details_in = as_dict(usage.get("prompt_tokens_details"))
    details_out = as_dict(usage.get("completion_tokens_details"))
    cached = (
        details_in.get("cached_tokens")
        or usage.get("prompt_cache_hit_tokens")
        or usage.get("cached_tokens")
    )
    return Usage(
        1,
        as_count(usage.get("prompt_tokens") or usage.get("input_tokens")),
        as_count(usage.get("completion_tokens") or usage.get("output_tokens")),
        as_count(cached),
        as_count(details_out.get("reasoning_tokens")),
        as_count(details_in.get("cache_write_tokens")),
    )


def media_to_send_back(message: AssistantMessage) -> Json:
    """Return the keys for pictures and audio of a reply that its own server accepts back."""
    if isinstance(message.content, str):
        return {}
    wire: Json = {}
    if message.provider_options.get("images") is True:
        urls = [data_url(one) for one in message.content if isinstance(one, Image)]
        wire["images"] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    sounds = [one.extra for one in message.content if isinstance(one, Audio)]
    if sounds and sounds[-1].get("id") and as_count(sounds[-1].get("expires_at")) > time.time():
        wire["audio"] = {"id": sounds[-1]["id"]}
    return wire


def speaker(message: AssistantMessage | SystemMessage | UserMessage) -> Json:
    """Return the key ``name`` if the program set the speaker's name, else an empty dict."""
    name = message.metadata.get("name")
    return {"name": name} if isinstance(name, str) and name else {}
