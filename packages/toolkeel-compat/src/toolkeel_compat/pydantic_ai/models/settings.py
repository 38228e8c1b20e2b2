"""Settings of requests, under the names of Pydantic AI, as the core's."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

from toolkeel.agent.turn.steps import SendRequest
from toolkeel.context import RunContext as CoreRun
from toolkeel.define.dialect import compile_schema
from toolkeel.define.subschemas import all_subschemas
from toolkeel.define.tool import Tool
from toolkeel.errors import SetupError
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel_compat.pydantic_ai.models.vendors import is_sdk_model

ModelSettings = dict
"""Settings of requests are a dict: ``temperature``, ``max_tokens``, and keys of the request's body."""
OpenAIChatModelSettings = OpenAIModelSettings = OpenAIResponsesModelSettings = ModelSettings
AnthropicModelSettings = GoogleModelSettings = GroqModelSettings = MistralModelSettings = (
    ModelSettings
)

__all__ = [
    "AnthropicModelSettings",
    "GoogleModelSettings",
    "GroqModelSettings",
    "MistralModelSettings",
    "ModelSettings",
    "OpenAIChatModelSettings",
    "OpenAIModelSettings",
    "OpenAIResponsesModelSettings",
]
_SETTINGS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "temperature",
            "max_tokens",
            "parallel_tool_calls",
            "top_p",
            "top_k",
            "seed",
            "frequency_penalty",
            "presence_penalty",
            "timeout",
        )
    },
    "stop_sequences": "stop",
    "openai_reasoning_effort": "reasoning_effort",
}
"""The core's setting by the setting of Pydantic AI."""
_BODY: Final = re.compile(
    "(?:openai_)(user|logprobs|top_logprobs|store|service_tier|prediction|prompt_cache_key|"
    "prompt_cache_retention|truncation|background)|"
    "(?:anthropic_)(metadata|thinking|service_tier|container|context_management)"
)
"""Settings that are keys of the request's body, after the vendor."""
_CACHING: Final = re.compile("anthropic_cache.*|openai_cache_instructions|cache")
"""Settings that change nothing: what repeats is cached anyway."""
_VENDOR: Final = re.compile(
    "(openai|anthropic|google|groq|mistral|bedrock|openrouter|cohere|huggingface|xai|cerebras)_.*"
)
_REFUSED: Mapping[str, str] = {
    "extra_headers": "give them to the client: OpenAIProvider(openai_client=AsyncOpenAI(default_headers=...))",
    "max_retries": "openai_client=AsyncOpenAI(max_retries=...) of the provider",
    "request_timeout": "write timeout",
    "first_event_timeout": "write timeout",
}


def to_settings(given: Mapping[str, Any], model: object = None) -> Settings:
    """Convert a dict of settings to the core's; those of another vendor than the model's are left out.

    Raises:
        SetupError: A setting has no counterpart; the message says what to write.
    """
    known: dict[str, Any] = {}
    body: dict[str, Any] = dict(as_options(given.get("extra_body")))
    for name, value in given.items():
        key = _BODY.fullmatch(name)
        if name in _SETTINGS:
            known[_SETTINGS[name]] = value
        elif name == "thinking":
            known["reasoning_effort"] = _read_effort(value)
        elif name == "tool_choice" and (value is None or isinstance(value, str)):
            known["tool_choice"] = value
        elif key is not None:
            if _reads(model, name.partition("_")[0]):
                body[key[key.lastindex or 1]] = value
        elif name in _REFUSED or name == "tool_choice" or _is_strange(name):
            instead = _REFUSED.get(name, "a key of the request's body is extra_body={...}")
            raise SetupError(f"model_settings: {name!r} has no counterpart; {instead}")
        elif name != "extra_body" and not _CACHING.fullmatch(name):
            body[name] = value
    return Settings(extra_body=body, **known)


def _read_effort(value: object) -> str | None:
    """Return the core's effort of a ``thinking``."""
    if isinstance(value, bool):
        return "medium" if value else "none"
    if value is None or isinstance(value, str):
        return value
    raise SetupError(f"model_settings: thinking={value!r:.60}: write True, False or an effort")


_CLASSES: Mapping[str, str] = {
    "openai": "wire.openai_client.OpenAIModel",
    "anthropic": "anthropic.model.AnthropicMessages",
}
"""The class of the models that a vendor's settings are for."""


def _reads(model: object, vendor: str) -> bool:
    """Return False for a model of another vendor."""
    return not is_sdk_model(model) or is_sdk_model(model, _CLASSES[vendor])


def _is_strange(name: str) -> bool:
    return bool(_VENDOR.fullmatch(name)) and not _CACHING.fullmatch(name)


def as_options(value: object) -> Mapping[str, Any]:
    """Return ``extra_body`` as a mapping; nothing if there is none."""
    return value if isinstance(value, Mapping) else {}


_OPENAI: Final = ("openai_chat.model.OpenAIChat", "openai_responses.model.OpenAIResponses")


async def enforce_fitting(request: ModelRequest, run: CoreRun[Any], proceed: SendRequest) -> Any:
    """Have OpenAI enforce the schemas that are fit for it as they are, as a model step.

    A tool that says itself whether its schema is enforced stays as it is.
    """
    if any(is_sdk_model(request.model, name) for name in _OPENAI):
        request = dataclasses.replace(request, tools=[_enforce(one) for one in request.tools])
    return await proceed(request)


def _enforce(tool: Any) -> Any:
    """Return a tool whose schema is enforced if strict mode leaves it as it is."""
    if (
        not isinstance(tool, Tool)
        or "strict" in tool.provider_options
        or not _fits(tool.parameters)
    ):
        return tool
    return dataclasses.replace(tool, provider_options={**tool.provider_options, "strict": True})


def _fits(schema: Mapping[str, object]) -> bool:
    """Return True if strict mode can say a schema, and no object has optional or no properties."""
    objects: list[Any] = [one for one in all_subschemas(schema) if one.get("type") == "object"]
    if any({*one.get("properties", ())} - {*one.get("required", ())} for one in objects):
        return False
    if not all(one.get("required") for one in objects):
        return False
    compiled = compile_schema(schema, "openai-strict")
    return compiled.strict and not compiled.losses
