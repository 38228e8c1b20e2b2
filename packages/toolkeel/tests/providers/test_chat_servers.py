"""What is known of each server."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest

from tests.providers.judge import check_body
from tests.providers.tools import TOOLS
from tests.shared import ROOT
from toolkeel import connect
from toolkeel.agent.reply_assembly import assemble
from toolkeel.define.names import POLICIES
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings, SupportsStructuredOutput
from toolkeel.providers import openai_chat
from toolkeel.providers.chat_servers import PRESETS
from toolkeel.providers.text_calls.think_tags import ThinkTags
from toolkeel.providers.wire.sampling import PENALTIES

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


def test_the_manual_lists_what_each_row_was_compared_with_and_when() -> None:
    rows: dict[str, list[str]] = {}
    for name, preset in PRESETS.items():
        assert re.fullmatch(r"\S.+, 202\d-\d\d-\d\d", preset.checked), name
        rows.setdefault(preset.checked, []).append(f"`{name}`")
    page = (ROOT / "docs/project/provider-quirks.md").read_text("utf-8")
    for checked, names in rows.items():
        document, _, day = checked.rpartition(", ")
        assert f"| {', '.join(names)} | {document} | {day} |\n" in page


ALL = Settings(
    temperature=0.5,
    top_p=0.9,
    top_k=5,
    min_p=0.1,
    stop="x",
    seed=3,
    frequency_penalty=0.1,
    presence_penalty=0.2,
    max_tokens=9,
    parallel_tool_calls=False,
)


@pytest.mark.parametrize(
    ("name", "unsent"),
    [
        ("ollama", {"top_k", "min_p", "parallel_tool_calls"}),
        ("lmstudio", {"min_p"}),
        ("vllm", set()),
        ("moonshot", {"top_k", "min_p", "seed"}),
        (
            "zai",
            {"top_k", "min_p", "seed", *PENALTIES, "parallel_tool_calls"},
        ),
        ("minimax", {"top_k", "min_p", *PENALTIES}),
        ("ark", {"top_k", "min_p"}),
        ("cerebras", {"top_k", "min_p", *PENALTIES, "parallel_tool_calls"}),
        ("xai", {"top_k", "min_p", *PENALTIES, "stop"}),
        ("together", set()),
    ],
)
def test_a_server_gets_the_settings_that_its_document_lists_and_no_others(
    name: str, unsent: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "toolkeel")
    request = ModelRequest(TURN, list(TOOLS), ALL)
    body = openai_chat.encode(request, f"{name}-m", profile=PRESETS[name].profile)
    names = {"temperature", "top_p", "parallel_tool_calls", "stop", "seed", *PENALTIES} | {
        "top_k",
        "min_p",
    }
    assert names - body.keys() == unsent
    for lost in unsent:
        assert f"{lost}=..." in caplog.text


@pytest.mark.parametrize("name", ["moonshot", "kimi", "mimo", "cerebras", "xai"])
def test_servers_that_count_reasoning_get_the_limit_for_all_that_is_written(name: str) -> None:
    profile = PRESETS[name].profile
    body = openai_chat.encode(ModelRequest(TURN, (), Settings(max_tokens=9)), "m", profile=profile)
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


def message_of_minimax(**more: object) -> Mapping[str, object]:
    """Return an answer of MiniMax with a call, as its document shows it."""
    function = {"name": "weather", "arguments": '{"city":"北京"}'}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    message = {"role": "assistant", "content": "好。", "tool_calls": calls, **more}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    return {"model": "MiniMax-M2", "choices": choices}


def test_thinking_of_minimax_goes_back_inside_the_content_as_it_came() -> None:
    profile = PRESETS["minimax"].profile
    said = "<think>\n先查。\n</think>\n\n好。"
    tags, deltas = ThinkTags(), openai_chat.decode_stream([message_of_minimax(content=said)])
    reply = assemble([*(each for delta in deltas for each in tags.feed(delta)), *tags.finish()])
    assert (reply.text, [one.text for one in reply.reasoning]) == ("好。", ["先查。"])
    [wire] = openai_chat.encode_messages([reply], model="MiniMax-M2", profile=profile)[:1]
    assert wire["content"] == said


def test_thinking_that_minimax_splits_off_goes_back_split_off() -> None:
    profile = PRESETS["minimax"].profile
    details = [{"type": "reasoning.text", "id": "r1", "text": "先查。"}]
    reply = openai_chat.decode(message_of_minimax(reasoning_details=details))
    [wire] = openai_chat.encode_messages([reply], model="MiniMax-M2", profile=profile)[:1]
    assert (wire["content"], wire["reasoning_details"]) == ("好。", details)
