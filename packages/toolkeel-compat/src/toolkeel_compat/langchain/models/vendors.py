"""The classes of partner packages, such as `ChatOpenAI`: functions that create a chat model of a vendor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolkeel.errors import SetupError
from toolkeel_compat.langchain.models.chat_models import ChatModel, init_chat_model

_OPTION_ALIASES = {
    "model_name": "model",
    "model_id": "model",
    "max_completion_tokens": "max_tokens",
    "max_tokens_to_sample": "max_tokens",
    "request_timeout": "timeout",
    "default_request_timeout": "timeout",
}
_IGNORED = ("streaming", "verbose")
"""Options that make no difference: replies always stream, and runs have listeners."""


def _make_class(vendor: str, *prefixes: str) -> Callable[..., ChatModel]:
    """Return the function for a vendor's class.

    Args:
        vendor: The vendor.
        prefixes: Prefixes of its options, such as ``openai_`` in ``openai_api_key``.
    """

    def create(model: str = "", /, **options: Any) -> ChatModel:
        known = {"model": model} if model else {}
        for name, value in options.items():
            for prefix in prefixes:
                name = name.removeprefix(prefix)
            if name == "reasoning" and isinstance(value, Mapping):
                effort = value.get("effort", "medium")
                raise SetupError(
                    f"{create.__name__}(reasoning=...): write reasoning_effort={effort!r}"
                )
            name = _OPTION_ALIASES.get(name, name)
            if value is not None and name not in _IGNORED:
                known["base_url" if name == "api_base" else name] = value
        if "model" not in known:
            raise TypeError(f"name the model: {create.__name__}(model=...)")
        return init_chat_model(known.pop("model"), model_provider=vendor, **known)

    return create


ChatOpenAI = _make_class("openai", "openai_")
ChatAnthropic = _make_class("anthropic", "anthropic_")
ChatGoogleGenerativeAI = _make_class("google", "google_")
ChatBedrockConverse = _make_class("bedrock")
ChatDeepSeek = _make_class("deepseek")
ChatFireworks = _make_class("fireworks", "fireworks_")
ChatGroq = _make_class("groq", "groq_")
ChatMistralAI = _make_class("mistral", "mistral_")
ChatOllama = _make_class("ollama")
ChatXAI = _make_class("xai", "xai_")

__all__ = [
    "ChatAnthropic",
    "ChatBedrockConverse",
    "ChatDeepSeek",
    "ChatFireworks",
    "ChatGoogleGenerativeAI",
    "ChatGroq",
    "ChatMistralAI",
    "ChatOllama",
    "ChatOpenAI",
    "ChatXAI",
]
for _name in __all__:
    globals()[_name].__name__ = globals()[_name].__qualname__ = _name
    globals()[_name].__doc__ = "Create a chat model; see `init_chat_model`."
