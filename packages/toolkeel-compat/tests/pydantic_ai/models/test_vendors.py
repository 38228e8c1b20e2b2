"""A vendor's models: which server is asked, with which key, and what is refused."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from toolkeel import SetupError
from toolkeel_compat.pydantic_ai import (
    Agent,
    AnthropicModel,
    AnthropicProvider,
    AzureProvider,
    GroqModel,
    OllamaModel,
    OllamaProvider,
    OpenAIChatModel,
    OpenAIProvider,
    OpenAIResponsesModel,
)
from toolkeel_compat.pydantic_ai.models.settings import to_settings
from toolkeel_compat.pydantic_ai.models.vendors import SETTINGS_KEY

HERE = OpenAIProvider(base_url="http://127.0.0.1:9/v1", api_key="k")


def place(model: Any) -> tuple[str, str, str]:
    """The class of a model, and the address and the key of its client."""
    sdk = model._clients.first.sdk
    return type(model).__name__, str(sdk.base_url), sdk.api_key


def test_a_model_is_where_its_provider_says() -> None:
    chat = OpenAIChatModel("gpt-5", provider=HERE, settings={"temperature": 0.1})
    assert place(chat) == ("OpenAIChat", "http://127.0.0.1:9/v1/", "k")
    assert (chat.name, getattr(chat, SETTINGS_KEY)) == ("gpt-5", {"temperature": 0.1})
    responses = OpenAIResponsesModel("gpt-5", provider=HERE)
    assert place(responses)[0] == "OpenAIResponses"
    own = openai.AsyncOpenAI(base_url="http://127.0.0.1:8/v1", api_key="o")
    assert place(OpenAIChatModel("x", provider=OpenAIProvider(openai_client=own)))[2] == "o"
    local = OpenAIChatModel("qwen3", provider=OllamaProvider("http://127.0.0.1:7/v1"))
    assert place(local)[1] == "http://127.0.0.1:7/v1/"
    azure = AzureProvider(azure_endpoint="http://127.0.0.1:6", api_version="1", api_key="a")
    assert "127.0.0.1:6" in place(OpenAIChatModel("gpt-5", provider=azure))[1]


def test_another_vendors_model_takes_its_own_provider() -> None:
    made = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(api_key="k"))
    assert place(made) == ("AnthropicMessages", "https://api.anthropic.com", "k")
    asked = {"openai_user": "ada", "anthropic_metadata": {"user_id": "ada"}}
    assert to_settings(asked, made).extra_body == {"metadata": {"user_id": "ada"}}


def test_what_is_no_place_is_refused() -> None:
    with pytest.raises(SetupError, match=r"profile=.*leave it out"):
        OpenAIChatModel("x", provider=HERE, profile=object())
    with pytest.raises(SetupError, match=r"write OpenAIProvider\("):
        OpenAIChatModel("x", provider=object())  # type: ignore[arg-type]
    with pytest.raises(SetupError, match=r"http_client=.*openai_client"):
        OpenAIProvider(http_client=object())
    with pytest.raises(TypeError, match="by position; name 'c'"):
        OpenAIProvider("a", "b", "c")
    for make in (AnthropicModel, GroqModel, OllamaModel):
        with pytest.raises(SetupError, match="one of 'openai', whose key"):
            make("x", provider=HERE)
    with pytest.raises(SetupError, match="one of 'ollama'"):
        OpenAIResponsesModel("x", provider=OllamaProvider())
    with pytest.raises(TypeError, match="no option 'key'"):
        OpenAIProvider(key="k")


def test_a_models_settings_come_before_nothing_but_those_of_agent_and_run() -> None:
    chat = OpenAIChatModel("gpt-5", provider=HERE, settings={"temperature": 0.1, "seed": 1})
    agent = Agent(chat, model_settings={"seed": 2})
    made = agent.build_for_client({"model_settings": {"top_p": 0.5}}, (), ())
    settings = made._plan.settings
    assert (settings.temperature, settings.seed, settings.top_p) == (0.1, 2, 0.5)
