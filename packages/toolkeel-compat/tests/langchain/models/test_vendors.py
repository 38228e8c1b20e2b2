"""The classes of partner packages make chat models of their vendor."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.errors import SetupError
from toolkeel_compat.langchain import ChatAnthropic, ChatOpenAI, create_agent, init_chat_model


def test_options_have_the_names_of_the_package() -> None:
    made = ChatOpenAI(model_name="gpt-5", openai_api_key="x", max_completion_tokens=7, stop=None)
    assert made.model.name == "gpt-5" and made.settings.max_tokens == 7
    thinking = {"type": "enabled", "budget_tokens": 5000}
    other = ChatAnthropic(model="claude-sonnet-5", anthropic_api_key="x", thinking=thinking)
    assert other.settings.extra_body == {"thinking": thinking}
    assert ChatOpenAI(model="gpt-5", api_key="x", streaming=True, temperature=0).settings


def test_an_option_that_would_be_lost_is_refused() -> None:
    with pytest.raises(SetupError, match="no option logit_bias"):
        ChatOpenAI(model="gpt-5", api_key="x", logit_bias={})
    with pytest.raises(SetupError, match="reasoning_effort='low'"):
        ChatOpenAI(model="gpt-5", api_key="x", reasoning={"effort": "low"})
    with pytest.raises(TypeError, match=r"ChatOpenAI\(model="):
        ChatOpenAI(temperature=0)


@pytest.mark.parametrize(
    ("name", "known"), [("gpt-5", "gpt-5"), ("claude-sonnet-5", "claude-sonnet-5")]
)
def test_an_agent_takes_names_as_langchain_writes_them(
    name: str, known: str, monkeypatch: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert create_agent(name).agent.model.name == known
    assert init_chat_model("openai:gpt-5").model.name == "gpt-5"
