"""Bare names are OpenAI's, and nobody needs a key before a model is asked."""

from __future__ import annotations

import asyncio

import openai
import pytest

from toolkeel import SetupError
from toolkeel.model_interface import ModelRequest, OutputFormat
from toolkeel.testing.scripted import Scripted
from toolkeel_compat.openai_agents.models.named import (
    DEFAULT_MODEL,
    LazyModel,
    LitellmModel,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    _Defaults,
    get_default_model,
    get_default_settings,
    resolve_model,
    set_default_openai_api,
    set_default_openai_client,
    set_default_openai_key,
)


@pytest.fixture(autouse=True)
def as_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in ("api", "client", "key"):
        monkeypatch.setattr(_Defaults, name, getattr(_Defaults, name))


def kind(model: object) -> str:
    assert isinstance(model, LazyModel)
    return type(model._model()).__name__


def test_a_bare_name_is_asked_over_responses_or_as_the_program_says() -> None:
    set_default_openai_key("sk-x")
    assert kind(resolve_model("gpt-9")) == "OpenAIResponses"
    set_default_openai_api("chat_completions")
    assert kind(resolve_model("openai/gpt-9")) == "OpenAIChat"
    assert resolve_model("openai/gpt-9").name == "gpt-9"
    with pytest.raises(SetupError, match="chat_completions, responses"):
        set_default_openai_api("soap")  # type: ignore[arg-type]


def test_without_a_name_it_is_the_sdks_default_or_the_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert resolve_model(None).name == get_default_model() == DEFAULT_MODEL
    monkeypatch.setenv("OPENAI_DEFAULT_MODEL", "GPT-Other")
    assert resolve_model(None).name == "gpt-other"


def test_names_of_the_core_and_models_stay_what_they_are() -> None:
    model = Scripted(["x"])
    assert resolve_model(model) is model
    assert resolve_model("offline").name == "offline"


@pytest.mark.parametrize("name", ["litellm/anthropic/claude", "any-llm/mistral/x"])
def test_a_gateway_of_the_sdk_is_refused_with_what_to_write(name: str) -> None:
    with pytest.raises(SetupError, match="write 'vendor:"):
        resolve_model(name)


def test_a_key_is_missed_only_when_the_model_is_asked() -> None:
    model = resolve_model("gpt-9")
    assert isinstance(model, LazyModel)
    assert not model.supports_format(OutputFormat("x", {"type": "object"}), tools=False)

    async def ask() -> None:
        async for _ in model.stream(ModelRequest([])):
            pass

    with pytest.raises(SetupError, match="OPENAI_API_KEY"):
        asyncio.run(ask())


def test_a_client_of_ones_own_is_asked() -> None:
    client = openai.AsyncOpenAI(api_key="sk-own", base_url="http://127.0.0.1:9/v1")
    assert kind(OpenAIChatCompletionsModel("m", client)) == "OpenAIChat"
    assert kind(OpenAIResponsesModel(model="m", openai_client=client)) == "OpenAIResponses"
    set_default_openai_client(client)
    assert kind(resolve_model("gpt-9")) == "OpenAIResponses"


def test_a_gateways_name_is_asked_at_the_vendor_itself() -> None:
    model = LitellmModel("openai/gpt-5", base_url="http://127.0.0.1:9/v1", api_key="k")
    assert (model.name, model.hosts) == ("openai:gpt-5", "")


def test_default_settings_are_those_of_a_name_and_none_of_a_model_itself() -> None:
    given = OpenAIChatCompletionsModel("gpt-5", openai_client=object())
    for model, verbosity in [(None, "low"), ("gpt-5", "low"), ("gpt-4.1", None), (given, None)]:
        assert get_default_settings(model).verbosity == verbosity
