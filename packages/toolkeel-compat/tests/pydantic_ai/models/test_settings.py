"""Settings of requests: the core's, keys of the body, or refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel import RunContext as CoreRun
from toolkeel import SetupError, tool
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.testing import Scripted
from toolkeel_compat.pydantic_ai import (
    Agent,
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIProvider,
)
from toolkeel_compat.pydantic_ai.models.settings import enforce_fitting, to_settings


def test_settings_of_the_run_come_before_those_of_the_agent() -> None:
    model = Scripted(["a"])
    agent = Agent(model, model_settings={"temperature": 0.5, "max_tokens": 9})
    agent.run_sync("go", model_settings={"temperature": 0.1, "seed": 3})
    [request] = model.requests
    assert (request.settings.temperature, request.settings.max_tokens) == (0.1, 9)
    assert (request.settings.seed, request.settings.extra_body) == (3, {})


def test_settings_of_a_vendor_are_keys_of_the_body() -> None:
    given = OpenAIChatModelSettings(
        openai_user="ada", openai_reasoning_effort="low", extra_body={"a": 1}, logit_bias={"7": 1}
    )
    made = to_settings(
        {**given, "anthropic_thinking": {"type": "enabled"}, "anthropic_cache": True}
    )
    thinking = {"type": "enabled"}
    body = {"a": 1, "user": "ada", "logit_bias": {"7": 1}, "thinking": thinking}
    assert (made.extra_body, made.reasoning_effort) == (body, "low")
    assert to_settings({"thinking": True}).reasoning_effort == "medium"
    assert to_settings({"tool_choice": "required"}).tool_choice == "required"


@pytest.mark.parametrize(
    "setting",
    [{"extra_headers": {"x": "y"}}, {"google_thinking_config": {}}, {"tool_choice": ["look"]}],
)
def test_a_setting_without_a_counterpart_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=f"'{next(iter(setting))}' has no counterpart"):
        to_settings(setting)


def test_settings_of_another_vendor_are_left_out() -> None:
    asked = {"openai_user": "ada", "anthropic_metadata": {"user_id": "ada"}}
    chat = OpenAIChatModel("x", provider=OpenAIProvider(api_key="k"))
    assert to_settings(asked, chat).extra_body == {"user": "ada"}


def test_an_effort_that_is_none_is_refused() -> None:
    with pytest.raises(SetupError, match="thinking="):
        to_settings({"thinking": ["high"]})


def test_openai_enforces_the_schemas_that_fit_unless_the_tool_says_otherwise() -> None:
    """An optional parameter does not fit; other vendors are asked for nothing."""

    @tool
    def whole(a: int) -> int:
        """Whole."""
        return a

    @tool
    def part(a: int = 1) -> int:
        """Part."""
        return a

    @tool(provider_options={"strict": False})
    def loose(a: int) -> int:
        """Loose."""
        return a

    sent: list[ModelRequest] = []

    async def proceed(request: ModelRequest) -> AssistantMessage:
        sent.append(request)
        return AssistantMessage("")

    openai = OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none"))
    for model in (openai, Scripted([])):
        request = ModelRequest([], [whole, part, loose], model=model)
        asyncio.run(enforce_fitting(request, CoreRun(), proceed))
    strict = [[one.provider_options.get("strict") for one in it.tools] for it in sent]
    assert strict == [[True, None, False], [None, None, False]]
