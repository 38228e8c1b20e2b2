"""How the servers that speak Chat Completions differ, as one table row each."""

from __future__ import annotations

from typing import Literal

from toolwright.record import record


@record
class ChatProfile:
    """What a server takes where not all take the same.

    Args:
        max_tokens_key: The body's key for the longest reply.
        strict: Whether a tool may say ``strict``.
        parallel: Whether ``parallel_tool_calls`` may be said.
        media: Whether user messages may hold pictures, sounds and files.
        result_name: Whether a result must name its tool.
        short_ids: Whether call ids must be nine letters and digits (Mistral).
        stream_usage: Whether ``stream_options`` may ask for the usage of a stream.
        reasoning: Whether reasoning goes back with the calls it led to: ``kept`` if it came
            from this model, ``always`` even if empty, ``never``.
        tools_with_calls: Whether ``tools`` must be there, though empty, once there were calls.
    """

    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    strict: bool = True
    parallel: bool = True
    media: bool = True
    result_name: bool = False
    short_ids: bool = False
    stream_usage: bool = True
    reasoning: Literal["kept", "always", "never"] = "kept"
    tools_with_calls: bool = False


OPENAI = ChatProfile(max_tokens_key="max_completion_tokens")
"""OpenAI's own service, and Azure's."""

COMPATIBLE = ChatProfile()
"""A server of which nothing else is known."""
