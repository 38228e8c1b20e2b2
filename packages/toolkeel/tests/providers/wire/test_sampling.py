"""One name for each setting on all wires; what a server does not take is left out, and said."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from tests.providers.judge import check_body
from tests.providers.vendors import check_anthropic
from toolkeel.errors import SetupError
from toolkeel.messages import UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.chat_servers import PRESETS

Json = dict[str, Any]
ALL = Settings(
    temperature=0.5,
    top_p=0.9,
    top_k=5,
    min_p=0.1,
    stop=("x", "停"),
    seed=3,
    frequency_penalty=0.1,
    presence_penalty=0.2,
)
STOP = ["x", "停"]


def body(wire: Any, model: str, settings: Settings = ALL, **more: Any) -> Json:
    made: Json = wire.encode(ModelRequest([UserMessage("go")], (), settings), model, **more)
    return made


def lost(caplog: pytest.LogCaptureFixture) -> set[str]:
    """Return the settings that were logged as not sent."""
    texts = [record.getMessage() for record in caplog.records]
    return {
        part.split("=")[0]
        for text in texts
        for part in text.split("(")[1].split(")")[0].split(", ")
    }


def test_each_wire_has_its_own_keys_for_the_settings() -> None:
    chat = body(openai_chat, "m", profile=PRESETS["vllm"].profile)
    assert {key: chat[key] for key in ("top_p", "top_k", "min_p", "stop", "seed")} == {
        "top_p": 0.9,
        "top_k": 5,
        "min_p": 0.1,
        "stop": STOP,
        "seed": 3,
    }
    check_body(chat)
    claude = body(anthropic, "claude-sonnet-4-5")
    assert (claude["top_p"], claude["top_k"], claude["stop_sequences"]) == (0.9, 5, STOP)
    check_anthropic(claude)
    nova = body(bedrock, "amazon.nova-pro-v1:0")
    assert nova["inferenceConfig"] == {"temperature": 0.5, "topP": 0.9, "stopSequences": STOP}
    assert nova["additionalModelRequestFields"] == {"inferenceConfig": {"topK": 5}}
    assert body(gemini, "gemini-3-pro")["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 5,
        "seed": 3,
        "frequencyPenalty": 0.1,
        "presencePenalty": 0.2,
        "stopSequences": STOP,
    }
    assert body(openai_responses, "gpt-4.1")["top_p"] == 0.9


@pytest.mark.parametrize(
    ("model", "effort", "names"),
    [
        ("o1", None, {"temperature", "top_p"}),
        ("o3-mini-2025-01-31", "low", {"temperature", "top_p"}),
        ("o4-mini", "high", {"temperature", "top_p", "stop"}),
        ("openai/gpt-5-nano", None, {"temperature", "top_p", "stop"}),
        ("gpt-5-codex", None, {"temperature", "top_p", "stop"}),
        ("gpt-5.2", "medium", {"temperature", "top_p", "stop"}),
        ("gpt-5.2", None, {"stop"}),  # it reasons only if a request says so
        ("gpt-5.5", "none", {"stop"}),
    ],
)
@pytest.mark.parametrize("wire", [openai_chat, openai_responses])
def test_a_reasoning_model_of_openai_gets_no_sampling(
    wire: Any, model: str, effort: Any, names: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "toolkeel")
    settings = replace(ALL, reasoning_effort=effort)
    model += "-2099-01-01"  # of which nothing was logged yet
    sent = body(wire, model, settings)
    refused = {*names, "frequency_penalty", "presence_penalty"}
    assert not refused & sent.keys()
    assert refused <= lost(caplog)
    assert {"temperature", "top_p"} - refused <= sent.keys()
    assert ("stop" in sent) == (wire is openai_chat and "stop" not in refused)
    body_without_them = body(wire, model, Settings(reasoning_effort=effort))
    assert body_without_them.keys() <= sent.keys()


@pytest.mark.parametrize(
    "model", ["gpt-4.1", "gpt-5-chat-latest", "gpt-oss-20b", "o1x", "marco-o1"]
)
@pytest.mark.parametrize("wire", [openai_chat, openai_responses])
def test_models_that_take_sampling_get_it(wire: Any, model: str) -> None:
    sent = body(wire, model)
    assert (sent["temperature"], sent["top_p"]) == (0.5, 0.9)
    if wire is openai_chat:
        assert (sent["stop"], sent["presence_penalty"]) == (STOP, 0.2)


def test_an_effort_in_the_body_itself_counts() -> None:
    efforts: list[tuple[Any, Json]] = [
        (openai_chat, {"reasoning_effort": "high"}),
        (openai_responses, {"reasoning": {"effort": "high"}}),
    ]
    for wire, extra in efforts:
        settings = Settings(temperature=0.5, extra_body=extra)
        assert "temperature" not in body(wire, "gpt-5.1", settings)
        assert body(wire, "gpt-5.1", Settings(temperature=0.5))["temperature"] == 0.5


def test_one_text_may_end_a_reply() -> None:
    assert body(openai_chat, "m", Settings(stop="###"))["stop"] == ["###"]


def test_mistral_has_another_name_for_the_seed() -> None:
    sent = body(openai_chat, "m", profile=PRESETS["mistral"].profile)
    assert (sent["random_seed"], "seed" in sent) == (3, False)


@pytest.mark.parametrize(
    ("wire", "model", "names"),
    [
        (openai_chat, "gpt-lost", {"top_k", "min_p"}),
        (
            openai_responses,
            "gpt-lost",
            {"top_k", "min_p", "stop", "seed", "frequency_penalty", "presence_penalty"},
        ),
        (
            anthropic,
            "claude-sonnet-4-5-20991231",
            {"min_p", "seed", "frequency_penalty", "presence_penalty"},
        ),
        (
            anthropic,
            "claude-opus-5-lost",
            {
                *("temperature", "top_p", "top_k", "min_p"),
                *("seed", "frequency_penalty", "presence_penalty"),
            },
        ),
        (
            bedrock,
            "meta.lost-v1:0",
            {"top_k", "min_p", "seed", "frequency_penalty", "presence_penalty"},
        ),
        (gemini, "gemini-3-lost", {"min_p"}),
    ],
)
def test_what_is_not_sent_is_logged_once(
    wire: Any, model: str, names: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "toolkeel")
    body(wire, model)
    assert lost(caplog) == names
    body(wire, model)
    assert len(caplog.records) == 1


def test_settings_that_are_not_given_are_neither_sent_nor_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for wire in (openai_chat, openai_responses, anthropic, gemini, bedrock):
        sent = body(wire, "claude-opus-5-plain", Settings())
        assert not sent.keys() & {"top_p", "stop", "seed", "thinking", "reasoning_effort"}
    assert not caplog.records


def effort(wire: Any, model: str, level: Any, **extra: Any) -> Json:
    return body(wire, model, Settings(reasoning_effort=level, extra_body=extra))


def test_reasoning_has_an_effort_or_a_budget() -> None:
    assert effort(openai_chat, "gpt-5", "xhigh")["reasoning_effort"] == "xhigh"
    assert effort(openai_responses, "gpt-5", "low")["reasoning"] == {"effort": "low"}
    old = effort(anthropic, "claude-sonnet-4-5", "medium")
    assert old["thinking"] == {"type": "enabled", "budget_tokens": 8192}
    assert old["max_tokens"] > 8192
    new = effort(anthropic, "claude-opus-5", "max")
    assert new["thinking"] == {"type": "adaptive"}
    assert new["output_config"] == {"effort": "max"}
    assert effort(anthropic, "claude-opus-4-6", "xhigh")["output_config"] == {"effort": "max"}
    off = effort(anthropic, "claude-opus-4-6", "none")
    assert (off["thinking"], "output_config" in off) == ({"type": "disabled"}, False)
    for model, key, value in (
        ("anthropic.claude-opus-5", "output_config", {"effort": "high"}),
        (
            "amazon.nova-2-lite-v1:0",
            "reasoningConfig",
            {"type": "enabled", "maxReasoningEffort": "high"},
        ),
        ("openai.gpt-oss-120b-1:0", "reasoning_effort", "high"),
    ):
        assert effort(bedrock, model, "high")["additionalModelRequestFields"][key] == value
    config = effort(gemini, "gemini-3-flash", "high")["generationConfig"]
    assert config == {"thinkingConfig": {"thinkingLevel": "high"}}


def test_keys_of_the_body_are_put_beside_what_the_effort_needs() -> None:
    sent = effort(openai_responses, "gpt-5", "low", reasoning={"summary": "auto"})
    assert sent["reasoning"] == {"effort": "low", "summary": "auto"}
    sent = effort(anthropic, "claude-opus-5", "low", thinking={"display": "summarized"})
    assert sent["thinking"] == {"type": "adaptive", "display": "summarized"}
    fields = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    sent = effort(
        bedrock, "anthropic.claude-sonnet-4-5", "low", additionalModelRequestFields=fields
    )
    assert sent["additionalModelRequestFields"] == fields


def test_a_model_that_does_not_reason_is_not_asked_to(caplog: pytest.LogCaptureFixture) -> None:
    for wire, model in (
        (anthropic, "claude-3-5-haiku-20241022"),
        (bedrock, "meta.plain-v1:0"),
        (gemini, "gemini-2.0-flash"),
    ):
        caplog.clear()
        sent = effort(wire, model, "high")
        assert "thinking" not in str(sent)
        assert lost(caplog) == {"reasoning_effort"}


def test_a_wrong_setting_is_refused_where_it_is_written() -> None:
    for wrong in ({"top_p": "much"}, {"top_k": 0}, {"reasoning_effort": "huge"}, {"seed": 1.5}):
        with pytest.raises(SetupError, match=next(iter(wrong))):
            Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="extra_body"):
        Settings(provider_options={})  # type: ignore[call-arg]
