"""What is known of each server."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.providers.judge import check_body
from toolkeel import connect
from toolkeel.define.names import POLICIES
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings, SupportsStructuredOutput
from toolkeel.providers import openai_chat
from toolkeel.providers.chat_servers import PRESETS

TURN = [
    UserMessage("北京?"),
    AssistantMessage(tool_calls=(ToolCall("call_with_quite_a_long_id", "weather", '{"a": 1}'),)),
    ToolMessage("晴", "call_with_quite_a_long_id", "weather"),
]


def test_a_server_without_a_key_is_on_this_machine_and_any_other_is_encrypted() -> None:
    for name, preset in PRESETS.items():
        place = urlsplit(preset.base_url)
        if preset.keys:
            assert place.scheme == "https", name
        else:
            assert place.hostname == "127.0.0.1", name


@pytest.mark.parametrize("name", PRESETS)
def test_every_profile_builds_requests_that_the_sdks_types_allow(name: str) -> None:
    profile = PRESETS[name].profile
    assert profile.target in POLICIES
    settings = Settings(temperature=0.5, max_tokens=9)
    body = openai_chat.encode(ModelRequest(TURN, (), settings), "m", stream=True, profile=profile)
    if name == "litellm":
        assert body["tools"] == []
    check_body(body)


def test_mistral_gets_ids_of_nine_letters_and_results_with_names() -> None:
    profile = PRESETS["mistral"].profile
    _, assistant, result = openai_chat.encode_messages(TURN, profile=profile)
    [call] = assistant["tool_calls"]  # type: ignore[misc]
    assert call["id"] == result["tool_call_id"]
    assert len(call["id"]) == 9
    assert call["id"].isalnum()
    assert result["name"] == "weather"


@pytest.mark.parametrize("name", ["deepseek", "mimo", "moonshot", "kimi"])
def test_reasoners_get_reasoning_with_every_call_even_if_there_is_none(name: str) -> None:
    profile = PRESETS[name].profile
    assert openai_chat.encode_messages(TURN, profile=profile)[1]["reasoning_content"] == ""
    assert "reasoning_content" not in openai_chat.encode_messages(TURN)[1]


@pytest.mark.parametrize("name", ["ollama", "lmstudio", "llamacpp", "vllm", "sglang"])
def test_servers_with_grammars_hold_an_answer_beside_tools_too(name: str) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    form = OutputFormat("answer", schema)
    model = connect(f"{name}:qwen3")
    assert isinstance(model, SupportsStructuredOutput)
    assert model.supports_format(form, tools=False)
    assert model.supports_format(form, tools=True)  # by a grammar of "a call, or this answer"
    native = connect(f"{name}:qwen3", calls="native")
    assert isinstance(native, SupportsStructuredOutput)
    assert native.supports_format(form, tools=False)
    assert not native.supports_format(form, tools=True)
    cloud = connect(f"{name}:qwen3-coder:480b-cloud")
    assert isinstance(cloud, SupportsStructuredOutput) and not cloud.supports_format(
        form, tools=False
    )
    plain = connect("litellm:qwen3")
    assert isinstance(plain, SupportsStructuredOutput) and not plain.supports_format(
        form, tools=False
    )
