"""Reasoning goes back with its calls, to its own model, in the form in which it arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from toolkeel.messages import AssistantMessage, Message, Reasoning, ToolCall
from toolkeel.providers import openai_chat
from toolkeel.providers.chat_servers import COMPATIBLE, PRESETS, ChatProfile

Json = dict[str, Any]


def encode(
    messages: Sequence[Message], profile: ChatProfile = COMPATIBLE, model: str = "m"
) -> list[Json]:
    return openai_chat.encode_messages(messages, model=model, profile=profile)


def thinking(model: str, key: str = "reasoning_content") -> AssistantMessage:
    return AssistantMessage(
        tool_calls=(ToolCall("c", "f"),),
        reasoning=(Reasoning("hm", "", model),),
        model=model,
        provider_options={"reasoning_key": key, "reasoning_details": [{"type": "reasoning.text"}]},
    )


def test_reasoning_goes_back_to_its_own_model_by_the_name_it_came_by() -> None:
    for model in ("m", "m-2026", "vendor/M", ""):
        [wire, *_] = encode([thinking(model, "reasoning")])
        assert wire["reasoning"] == "hm"
        assert wire["reasoning_details"] == [{"type": "reasoning.text"}]
    [wire, *_] = encode([thinking("other")])
    assert wire.keys() == {"role", "content", "tool_calls"}
    [wire, *_] = encode([thinking("m")], ChatProfile(reasoning="never"))
    assert wire.keys() == {"role", "content", "tool_calls"}


def test_reasoning_that_arrived_between_tags_goes_back_between_tags() -> None:
    [wire, *_] = encode([thinking("m", "think")])
    assert wire["content"].startswith("<think>\nhm\n</think>\n\n")
    assert "think" not in wire
    for back in (
        encode([thinking("other", "think")]),
        encode([thinking("m", "think")], ChatProfile(reasoning="never")),
    ):
        assert "<think>" not in str(back)


def test_reasoning_behind_a_plain_answer_does_not_go_back() -> None:
    said = AssistantMessage(
        "42", reasoning=(Reasoning("hm"),), provider_options={"reasoning_key": "reasoning"}
    )
    assert encode([said]) == [{"role": "assistant", "content": "42"}]


LOCAL = PRESETS["llamacpp"].profile


def reply_with_text(model: str) -> AssistantMessage:
    return AssistantMessage(
        "I look.",
        tool_calls=(ToolCall("c", "f"),),
        reasoning=(Reasoning("hm", "", model),),
        model=model,
        provider_options={"reasoning_key": "reasoning_content"},
    )


@pytest.mark.parametrize("asked", ["gpt-oss-20b-mxfp4.gguf", "default"])
def test_a_local_gpt_oss_reads_the_text_beside_calls_as_reasoning(asked: str) -> None:
    reply = reply_with_text("gpt-oss-20b-mxfp4.gguf" if asked == "default" else asked)
    sent = openai_chat.encode_messages([reply], model="", profile=LOCAL)[0]
    assert (sent["reasoning_content"], sent["content"]) == ("hm\n\nI look.", "")


def test_other_models_and_servers_get_text_and_reasoning_apart() -> None:
    for profile, model in ((LOCAL, "qwen3"), (COMPATIBLE, "gpt-oss-20b")):
        [sent, *_] = encode([reply_with_text(model)], profile, model)
        assert (sent["reasoning_content"], sent["content"]) == ("hm", "I look.")


def test_a_gpt_oss_without_reasoning_keeps_its_text() -> None:
    reply = AssistantMessage("I look.", tool_calls=(ToolCall("c", "f"),), model="gpt-oss-20b")
    assert encode([reply], LOCAL, "gpt-oss-20b")[0]["content"] == "I look."


def test_what_a_call_carried_goes_to_its_own_model_only() -> None:
    options = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    call = ToolCall("c", "f", "{}", provider_options=options)
    reply = AssistantMessage(tool_calls=(call,), model="gemini-3-pro")
    [own, *_] = encode([reply], model="gemini-3-pro")
    assert own["tool_calls"][0]["extra_content"] == options["extra_content"]
    [other, *_] = encode([reply], model="gpt-5")
    assert "extra_content" not in other["tool_calls"][0]
