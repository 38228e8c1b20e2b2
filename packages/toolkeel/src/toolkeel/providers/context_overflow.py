"""Requests that exceed a model's context: how servers say so, and the numbers they report.

Most servers have no code for it, so their sentence decides; only for a request that they refused
(400, 413, 422), so that no text makes another kind of error look like it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolkeel._records.record import record
from toolkeel.providers.wire.plain_json import Json, as_count, as_text

CODES = frozenset(
    {
        "exceed_context_size_error",  # llama.cpp
        "context_length_exceeded",  # OpenAI, Groq, Cerebras
        "model_max_prompt_tokens_exceeded",  # GitHub Copilot
        "context_window_exceeded",
    }
)
"""Codes and types of the error."""

_STATUSES = frozenset({None, 400, 413, 422})
_TOKENS = r"(?P<tokens>\d[\d,]*)"
_LIMIT = r"(?P<limit>\d[\d,]*)"
_SENTENCES = tuple(
    re.compile(one, re.IGNORECASE | re.DOTALL)
    for one in (
        # llama.cpp
        rf"request \({_TOKENS} tokens\) exceeds the available context size \({_LIMIT} tokens\)",
        r"the request exceeds the available context size",
        # OpenAI, DeepSeek, vLLM, OpenRouter: two sentences, several verbs
        rf"maximum context length (?:is|of) {_LIMIT} tokens.{{0,200}}?"
        rf"(?:requested|resulted in|contains|about|total of)(?: at least)? {_TOKENS}",
        rf"maximum context length (?:is|of) {_LIMIT}",
        # vLLM
        rf"prompt \(length {_TOKENS}\).{{0,60}}?(?:maximum model length|max_model_len)[^\d]{{0,9}}{_LIMIT}",
        # SGLang
        rf"input \({_TOKENS} tokens\) is longer than the model's context length \({_LIMIT} tokens\)",
        # Anthropic, and Claude on other wires
        rf"prompt is too long: {_TOKENS} tokens > {_LIMIT} maximum",
        rf"exceed context limit: {_TOKENS}.{{0,20}}? > {_LIMIT}",
        r"prompt is too long",
        # Gemini
        rf"input token count \({_TOKENS}\) exceeds the maximum number of tokens allowed \({_LIMIT}\)",
        # Bedrock
        r"input is too long for requested model",
        # Mistral
        rf"prompt contains {_TOKENS} tokens.{{0,60}}?too large for model with {_LIMIT} maximum context",
        # xAI
        rf"maximum prompt length is {_LIMIT} but the request contains {_TOKENS}",
        # Kimi, Cerebras, GitHub Copilot, Cohere
        rf"exceeded model token limit: {_LIMIT} \(requested: {_TOKENS}\)",
        rf"current length is {_TOKENS} while limit is {_LIMIT}",
        rf"prompt token count of {_TOKENS} exceeds the limit of {_LIMIT}",
        rf"number of tokens in the prompt cannot exceed {_LIMIT} - received {_TOKENS}",
        # LM Studio, Ollama, MiniMax
        r"greater than the context length",
        r"context the overflows|context overflow",
        r"exceeds? (?:the )?(?:available )?context (?:length|size|window)",
        r"context window exceeds limit",
    )
)


@record
class ContextOverflow:
    """A request that did not fit.

    Args:
        tokens: Tokens of the request, or None if unknown.
        limit: Tokens that fit, or None if unknown.
    """

    tokens: int | None = None
    limit: int | None = None


def find_overflow(error: Json, status: int | None, text: str) -> ContextOverflow | None:
    """Return the numbers of a request that exceeds the context, or None for any other error.

    Args:
        error: The server's error.
        status: Its HTTP status, or None if unknown.
        text: Its text.

    >>> find_overflow({}, 400, "prompt is too long: 210,000 tokens > 200000 maximum")
    ContextOverflow(tokens=210000, limit=200000)
    """
    if status not in _STATUSES:
        return None
    match = next((found for one in _SENTENCES if (found := one.search(text))), None)
    if match is None and not {as_text(error.get(key)) for key in ("code", "type")} & CODES:
        return None
    numbers = {} if match is None else match.groupdict()
    return ContextOverflow(
        as_count(error.get("n_prompt_tokens")) or _parse_number(numbers, "tokens"),
        as_count(error.get("n_ctx")) or _parse_number(numbers, "limit"),
    )


def _parse_number(numbers: Mapping[str, str | None], name: str) -> int | None:
    """Return a matched number as an int, without thousands separators; None if it did not match."""
    text = numbers.get(name)
    return int(text.replace(",", "")) if text else None
