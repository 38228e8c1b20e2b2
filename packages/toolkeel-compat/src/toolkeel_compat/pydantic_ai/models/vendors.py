"""Models of a vendor and where they are, under the names of Pydantic AI: `OpenAIChatModel`, `OpenAIProvider`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model
from toolkeel.providers.model_by_name import connect

SETTINGS_KEY: Final = "pydantic_ai_settings"
"""Attribute of a model: the settings that it was created with."""


@record
class Provider:
    """Where a vendor's models are.

    Args:
        vendor: The vendor, by the core's name.
        options: Options of its models, such as ``base_url``, ``api_key`` and ``client``.
    """

    vendor: str
    options: Mapping[str, Any]


def _make_provider(vendor: str, **renamed: str) -> Callable[..., Provider]:
    """Return the function for a vendor's provider.

    Args:
        vendor: The vendor.
        renamed: The core's option by an option of Pydantic AI that has another name; empty if it is
            refused.
    """
    known = {"api_key": "api_key", "base_url": "base_url", **renamed}

    def create(*place: Any, **options: Any) -> Provider:
        if len(place) > 2:
            raise TypeError(
                f"{create.__name__} takes base_url and api_key by position; name {place[2]!r:.60}"
            )
        given = {**dict(zip(("base_url", "api_key"), place, strict=False)), **options}
        made: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known and name != "http_client":
                raise TypeError(
                    f"{create.__name__} has no option {name!r}; it has {', '.join(known)}"
                )
            if value is None:
                continue
            if not known.get(name):
                raise SetupError(f"{create.__name__}({name}=...): {_CLIENT}")
            made[known[name]] = value
        return Provider(vendor, made)

    return create


_CLIENT: Final = (
    "give the vendor's own client where there is an option for it, such as "
    "openai_client=AsyncOpenAI(http_client=...), or base_url= and api_key="
)
_SDK: Mapping[str, str] = {"openai_client": "client"}
OpenAIProvider = _make_provider("openai", **_SDK)
AnthropicProvider = _make_provider("anthropic", anthropic_client="client")
CerebrasProvider = _make_provider("cerebras", **_SDK)
DeepSeekProvider = _make_provider("deepseek", **_SDK)
FireworksProvider = _make_provider("fireworks", **_SDK)
GoogleProvider = _make_provider("google", client="client")
GroqProvider = _make_provider("groq", groq_client="")
LiteLLMProvider = _make_provider("litellm", api_base="base_url", **_SDK)
MistralProvider = _make_provider("mistral", mistral_client="")
MoonshotAIProvider = _make_provider("moonshot", **_SDK)
OllamaProvider = _make_provider("ollama", **_SDK)
OpenRouterProvider = _make_provider("openrouter", **_SDK)
TogetherProvider = _make_provider("together", **_SDK)
VLLMProvider = _make_provider("vllm", **_SDK)


def AzureProvider(*, openai_client: Any = None, **options: Any) -> Provider:  # noqa: N802
    """Return where Azure's OpenAI models are.

    Args:
        openai_client: An `openai.AsyncAzureOpenAI`.
        options: Those of `openai.AsyncAzureOpenAI`: ``azure_endpoint``, ``api_version``, ``api_key``.
    """
    if openai_client is None:
        openai_client = import_module("openai").AsyncAzureOpenAI(**options)
    return Provider("openai", {"client": openai_client})


_BY_NAME: Mapping[str, str] = {
    "openai-chat": "openai",
    "google-gla": "google",
    "google-vertex": "google",
    "moonshotai": "moonshot",
}
"""The core's vendor by a provider's name in Pydantic AI, if it differs."""


def _make_class(vendor: str) -> Callable[..., Model]:
    """Return the function for a vendor's class of models.

    Args:
        vendor: The vendor; ``openai`` takes the provider of any other, which has the same API.
    """
    own = vendor.partition("-")[0]

    def create(
        model_name: str,
        *,
        provider: str | Provider = vendor,
        profile: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Model:
        if profile is not None:
            raise SetupError(
                f"{create.__name__}(profile=...): leave it out: what servers accept is known by vendor"
            )
        if isinstance(provider, str):
            provider = Provider(_BY_NAME.get(provider, provider), {})
        elif not isinstance(provider, Provider):
            raise SetupError(
                f"{create.__name__}(provider={provider!r:.60}): write OpenAIProvider(...)"
            )
        if vendor != "openai" and provider.vendor not in (own, vendor):
            raise SetupError(
                f"{create.__name__}(provider=...): it is one of {provider.vendor!r}, whose key and address "
                f"are not for {own!r}"
            )
        place = vendor if provider.vendor == own else provider.vendor
        made = connect_model(f"{place}:{model_name}", provider.options)
        vars(made).update({"model_name": model_name, SETTINGS_KEY: dict(settings or {})})
        return made

    return create


def is_sdk_model(model: object, name: str = "wire.sdk_model.SdkModel") -> bool:
    """Return True for an instance of one of the core's classes of models.

    Args:
        model: Any object.
        name: Module and class within `toolkeel.providers`. A module that nobody has imported has no
            instances, so that this imports no vendor's SDK.
    """
    module, _, cls = name.rpartition(".")
    known = getattr(sys.modules.get(f"toolkeel.providers.{module}"), cls, None)
    return known is not None and isinstance(model, known)


def connect_model(name: str, options: Mapping[str, Any]) -> Model:
    """Return the core's model of a name, which answers `NativeOutput` in the vendor's form.

    Args:
        name: ``vendor:model``.
        options: Options of the model.
    """
    is_openai = name.partition(":")[0] in ("openai", "openai-responses")
    return connect(name, **({"native_output": True} if is_openai else {}), **options)


OpenAIChatModel = _make_class("openai")
OpenAIModel = OpenAIChatModel
OpenAIResponsesModel = _make_class("openai-responses")
AnthropicModel = _make_class("anthropic")
GoogleModel = _make_class("google")
GroqModel = _make_class("groq")
MistralModel = _make_class("mistral")
OllamaModel = _make_class("ollama")
OpenRouterModel = _make_class("openrouter")
CerebrasModel = _make_class("cerebras")

__all__ = [
    "AnthropicModel",
    "AnthropicProvider",
    "AzureProvider",
    "CerebrasModel",
    "CerebrasProvider",
    "DeepSeekProvider",
    "FireworksProvider",
    "GoogleModel",
    "GoogleProvider",
    "GroqModel",
    "GroqProvider",
    "LiteLLMProvider",
    "MistralModel",
    "MistralProvider",
    "MoonshotAIProvider",
    "OllamaModel",
    "OllamaProvider",
    "OpenAIChatModel",
    "OpenAIModel",
    "OpenAIProvider",
    "OpenAIResponsesModel",
    "OpenRouterModel",
    "OpenRouterProvider",
    "TogetherProvider",
    "VLLMProvider",
]
for _name in __all__:
    if not globals()[_name].__doc__:
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name
        globals()[_name].__doc__ = (
            f"Return {'a model' if _name.endswith('Model') else 'where models are'}; see `connect` of "
            "toolkeel.models."
        )
