"""Names of OpenTelemetry's GenAI semantic conventions, as of 2 October 2026.

The conventions have no release, and the constants of the Python packages are older, so this is the only
place with the names. Source: open-telemetry/semantic-conventions-genai, main of that day. What has no name
there has our own prefix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

SCHEMA = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"

OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT = "gen_ai.agent.name"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
ERROR = "error.type"
PROVIDER = "gen_ai.provider.name"
SYSTEM = "gen_ai.system"
"""The older name of the provider, by which Logfire prices a request."""
COSTS = ("operation.cost", "gen_ai.usage.cost")
"""What a request cost, in US dollars, as Logfire and Langfuse read it."""
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
TOKEN_TYPE = "gen_ai.token.type"

USAGE: Mapping[str, str] = MappingProxyType(
    {
        "input_tokens": "gen_ai.usage.input_tokens",
        "output_tokens": "gen_ai.usage.output_tokens",
        "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
        "cache_write_tokens": "gen_ai.usage.cache_write.input_tokens",
        "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    }
)
"""Fields of `Usage` and their names. Input tokens include those of the cache, here as there."""

INSTRUCTIONS = "gen_ai.system_instructions"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"

RUN = "toolkeel.run.id"
REASON = "toolkeel.run.end_reason"
KIND = "toolkeel.call.kind"
LEFT_OUT = "toolkeel.request.messages_left_out"
RETRIES = "toolkeel.request.retries"
TOTALS = "toolkeel.run.usage."
"""A run's totals: under ``gen_ai.usage`` on the agent's span they would be counted twice."""

_SECONDS = tuple(0.01 * 2**n for n in range(14))
_AGENT_SECONDS = tuple(0.1 * 2**n for n in range(13))
_TOKENS = tuple(4**n for n in range(14))
_COUNTS = tuple(2**n for n in range(8))

HISTOGRAMS: Mapping[str, tuple[str, str, Sequence[float]]] = MappingProxyType(
    {
        "gen_ai.client.operation.duration": ("s", "Duration of a request to a model", _SECONDS),
        "gen_ai.client.operation.time_to_first_chunk": (
            "s",
            "Time from a request to the first piece of its reply",
            _SECONDS,
        ),
        "gen_ai.client.token.usage": ("{token}", "Tokens of a request and its reply", _TOKENS),
        "gen_ai.execute_tool.duration": ("s", "Duration of a tool call", _SECONDS),
        "gen_ai.invoke_agent.duration": ("s", "Duration of a run", _AGENT_SECONDS),
        "gen_ai.invoke_agent.inference_calls": ("{call}", "Requests of a run", _COUNTS),
        "gen_ai.invoke_agent.tool_calls": ("{call}", "Tool calls of a run", _COUNTS),
    }
)
"""Name of each histogram: its unit, what it is, and its buckets."""
