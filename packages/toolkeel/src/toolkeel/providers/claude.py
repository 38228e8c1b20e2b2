"""Limits and abilities of Claude models by generation, on Anthropic's API and on Bedrock."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolkeel.model_interface import ReasoningEffort
from toolkeel.providers.wire.plain_json import Json
from toolkeel.providers.wire.reasoning_ownership import model_family

# The longest reply of each generation, streamed, and complete: clients and proxies wait ten
# minutes, which is not enough for more (anthropic's SDK refuses to request it).
_LONGEST = (
    (r"claude-(2|instant|3-(opus|sonnet|haiku))", 4096, 4096),
    (r"claude-3-5", 8192, 8192),
    (r"claude-(opus-4|4-opus)(-[01])?$", 32_000, 8192),
    (r".*claude", 64_000, 16_384),
    (r"", 16_384, 16_384),  # models of other makers that speak the same wire
)
_SAMPLED = re.compile(r"claude-(2|instant|3-|4-|(opus|sonnet|haiku)-4(-[0-6])?$)")
_UNCACHED = re.compile(r"claude-(2|instant|3-(opus|sonnet|haiku)$|3-5-sonnet)")


def longest_reply(model: str, *, stream: bool) -> int:
    """Return the default ``max_tokens``: a model's longest reply, shorter if not streamed; others' 16,384.

    Too few would cut calls off in the middle (provider quirk Q50).

    >>> longest_reply("claude-sonnet-4-5", stream=True), longest_reply("claude-3-haiku", stream=True)
    (64000, 4096)
    """
    family = model_family(model)
    streamed, unstreamed = next(most for name, *most in _LONGEST if re.match(name, family))
    return streamed if stream else unstreamed


def takes_temperature(model: str) -> bool:
    """Return True if a model accepts a temperature: all but Claude from Opus 4.7 on.

    >>> takes_temperature("claude-sonnet-4-5-20250929"), takes_temperature("claude-opus-5")
    (True, False)
    """
    family = model_family(model)
    return "claude" not in family or _SAMPLED.match(family) is not None


def claude_reasoning(model: str, effort: ReasoningEffort | None) -> Json:
    """Return the keys of a body that set a model's reasoning; empty without `effort`, or if it cannot reason.

    ``none`` disables it. Claude before 4.6 and other makers' models have a budget of tokens, later Claude an effort.

    >>> claude_reasoning("claude-sonnet-4-5", "low")
    {'thinking': {'type': 'enabled', 'budget_tokens': 2048}}
    >>> claude_reasoning("claude-opus-5", "low")
    {'thinking': {'type': 'adaptive'}, 'output_config': {'effort': 'low'}}
    """
    family = model_family(model)
    if effort is None or not can_reason(model):
        return {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if _BUDGETED.match(family):
        return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS[effort]}}
    level = {"minimal": "low", "xhigh": "max" if family.endswith("-4-6") else "xhigh"}
    return {
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": level.get(effort, effort)},
    }


def can_reason(model: str) -> bool:
    """Return True for Claude since 3.7, and for models of other makers on its wires.

    >>> can_reason("claude-3-5-sonnet-20241022"), can_reason("claude-3-7-sonnet-20250219")
    (False, True)
    """
    return not _UNREASONING.match(model_family(model))


_UNREASONING = re.compile(r"claude-(2|instant|3-(5-)?(opus|sonnet|haiku))")
_BUDGETED = re.compile(r"claude-(3-7|4-|(opus|sonnet|haiku)-4(-[0-5])?$)|(?!.*claude)")
_BUDGETS: Mapping[str, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 32_768,
}
"""Tokens for reasoning, for models that take a number; the least is Anthropic's own."""


def is_claude(model: str) -> bool:
    """Return True for a model of Anthropic's, on any cloud."""
    return "claude" in model_family(model)


def caches_on_bedrock(model: str) -> bool:
    """Return True if Bedrock accepts cache points for a model: Claude since 3.7, 3.5 Haiku, Nova.

    >>> caches_on_bedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    True
    >>> caches_on_bedrock("meta.llama3-1-70b-instruct-v1:0")
    False
    """
    family = model_family(model)
    return family.startswith("nova") or (is_claude(model) and not _UNCACHED.match(family))
