"""Replies held to a schema: what each wire is told, which models can, and answers end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from tests.providers import judge, vendors
from tests.providers.gemini import test_public as test_gemini
from tests.providers.loopback import Json, answer, chunk, events, saying
from tests.providers.openai_responses import test_public as test_openai_responses
from toolkeel import Agent, tool
from toolkeel.define.dialect.definition import definition
from toolkeel.define.output_type import compile_output_form
from toolkeel.messages import UserMessage
from toolkeel.model_interface import (
    ModelRequest,
    OutputFormat,
    Settings,
    SupportsStructuredOutput,
)
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.anthropic.model import AnthropicMessages
from toolkeel.providers.bedrock.model import BedrockConverse
from toolkeel.providers.chat_servers import OPENAI
from toolkeel.providers.gemini.model import Gemini
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.providers.openai_responses.model import OpenAIResponses
from toolkeel.providers.wire.structured_output import (
    claude_has_structured_output,
    compile_format,
    gemini_has_structured_output,
    gpt_has_structured_output,
)


class Stay(BaseModel):
    """A stay in a hotel."""

    city: str
    nights: int = 1
    tags: list[str] | None = None


FORM = compile_output_form(Stay).format
REQUEST = ModelRequest([UserMessage("何泊?")], (), Settings(output=FORM))
CLOSED = {"additionalProperties": False, "type": "object"}


def test_chat_completions_is_told_by_response_format() -> None:
    body = openai_chat.encode(REQUEST, "gpt-5")
    judge.check_body(body)
    form: Any = body["response_format"]
    assert form["type"] == "json_schema" and form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"].items() >= CLOSED.items()
    assert form["json_schema"]["schema"]["required"] == ["city", "nights", "tags"]


def test_openai_enforces_a_schema_as_it_is_written_if_asked_to() -> None:
    """Elsewhere it is an enforced one like any other."""
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    form = OutputFormat("own", schema, strict="verbatim")
    request = ModelRequest([UserMessage("go")], (), Settings(output=form))
    sent: Any = openai_responses.encode(request, "gpt-5")["text"]
    assert sent["format"] == {
        "type": "json_schema", "name": "own", "schema": schema, "strict": True,
    }  # fmt: skip
    rewritten = compile_format(form, "anthropic-strict")
    assert rewritten.schema["additionalProperties"] is False
    tool_body = definition("f", "F.", schema, "openai-chat", strict="verbatim").body["function"]
    assert (tool_body["parameters"], tool_body["strict"]) == (schema, True)
    assert "strict" in definition("f", "F.", schema, "anthropic", strict="verbatim").body


def test_responses_is_told_by_the_format_of_text() -> None:
    settings = Settings(output=FORM, extra_body={"text": {"verbosity": "low"}})
    body = openai_responses.encode(ModelRequest(REQUEST.messages, (), settings), "gpt-5")
    test_openai_responses.check_body(body)
    text: Any = body["text"]
    assert text["verbosity"] == "low" and text["format"]["strict"] is True
    assert text["format"]["name"] == "final_result" and "hotel" in text["format"]["description"]


def test_anthropic_is_told_by_its_output_config() -> None:
    settings = Settings(output=FORM, extra_body={"output_config": {"effort": "low"}})
    body = anthropic.encode(ModelRequest(REQUEST.messages, (), settings), "claude-sonnet-4-5")
    vendors.check_anthropic(body)
    config: Any = body["output_config"]
    assert config["effort"] == "low" and config["format"]["type"] == "json_schema"
    assert config["format"]["schema"]["required"] == ["city"]


def test_gemini_is_told_by_its_generation_config() -> None:
    body = gemini.encode(REQUEST, "gemini-2.5-flash")
    test_gemini.check_body(body)
    config: Any = body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["properties"].keys() == {"city", "nights", "tags"}


def test_bedrock_is_told_by_its_text_format() -> None:
    body = bedrock.encode(REQUEST, "anthropic.claude-sonnet-4-5-20250929-v1:0")
    vendors.check_bedrock(body)
    form: Any = body["outputConfig"]
    schema = json.loads(form["textFormat"]["structure"]["jsonSchema"]["schema"])
    assert schema["required"] == ["city"]


def test_nothing_is_said_of_a_form_that_nobody_asked_for() -> None:
    plain = ModelRequest(REQUEST.messages)
    for body in (
        openai_chat.encode(plain, "m"),
        openai_responses.encode(plain, "m"),
        anthropic.encode(plain, "m"),
        gemini.encode(plain, "m"),
        bedrock.encode(plain, "m"),
    ):
        keys = {"response_format", "text", "output_config", "generationConfig", "outputConfig"}
        assert not keys & body.keys()


@pytest.mark.parametrize(
    ("holds", "yes", "no"),
    [
        (
            gpt_has_structured_output,
            "gpt-5 gpt-4o gpt-4.1-mini gpt-4.5-preview o3 o4-mini",
            "gpt-3.5-turbo gpt-4 gpt-4-turbo-2024-04-09 o1-mini chatgpt-4o-latest",
        ),
        (
            claude_has_structured_output,
            "claude-opus-4-5 claude-haiku-4-5-20251001 claude-opus-5 us.anthropic.claude-sonnet-4-6",
            "claude-opus-4-1 claude-3-7-sonnet-latest claude-sonnet-4-20250514 llama",
        ),
    ],
)
def test_models_that_hold_replies_are_known_by_their_names(
    holds: Callable[[str], bool], yes: str, no: str
) -> None:
    assert all(map(holds, yes.split())) and not any(map(holds, no.split()))


def test_gemini_holds_replies_beside_tools_since_its_third_generation() -> None:
    assert gemini_has_structured_output("gemini-3-pro", tools=True)
    assert gemini_has_structured_output("models/gemini-2.5-pro", tools=False)
    assert not gemini_has_structured_output("gemini-2.5-pro", tools=True)
    assert not gemini_has_structured_output("gemini-2.0-flash", tools=False)
    assert not gemini_has_structured_output("gemma-3", tools=False)


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


def test_a_form_that_a_strict_schema_cannot_say_goes_by_a_tool() -> None:
    open_map = compile_output_form(dict[str, int]).format
    claude = AnthropicMessages("claude-sonnet-4-5", api_key="x")
    gpt = OpenAIChat("gpt-5", api_key="x")
    assert isinstance(gpt, SupportsStructuredOutput) and gpt.supports_format(FORM, tools=True)
    assert claude.supports_format(FORM, tools=True) and not gpt.supports_format(
        open_map, tools=False
    )
    assert not claude.supports_format(compile_output_form(Tree).format, tools=False)
    assert gpt.supports_format(compile_output_form(Tree).format, tools=False)


def test_servers_that_only_imitate_are_given_a_tool_unless_they_are_known_to_hold() -> None:
    url = "http://127.0.0.1:9/v1"
    assert not OpenAIChat("m", base_url=url).supports_format(FORM, tools=False)
    assert not OpenAIResponses("gpt-5", base_url=url).supports_format(FORM, tools=False)
    assert not AnthropicMessages("claude-sonnet-4-5", base_url=url).supports_format(
        FORM, tools=False
    )
    assert OpenAIChat("m", base_url=url, profile=OPENAI).supports_format(FORM, tools=False)
    assert OpenAIResponses("m", base_url=url, native_output=True).supports_format(FORM, tools=False)
    assert AnthropicMessages("m", base_url=url, native_output=True).supports_format(
        FORM, tools=False
    )
    assert not Gemini("gemini-3-pro", api_key="x", native_output=False).supports_format(
        FORM, tools=False
    )
    claude = BedrockConverse("anthropic.claude-sonnet-4-5-20250929-v1:0", region="us-east-1")
    assert claude.supports_format(FORM, tools=True)


# — end to end, through the official clients —

BAD, GOOD = '{"city": "京都", "nights": "some"}', '{"city": "京都", "nights": 2, "tags": null}'


def chat(text: str) -> bytes:
    return events(chunk(role="assistant", content=text[:9]), chunk(content=text[9:]), chunk("stop"))


def responses(text: str) -> bytes:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "role": "assistant", "id": "msg_1", "content": [part]}
    return answer(
        json.dumps({"object": "response", "status": "completed", "model": "m", "output": [item]})
    )


def claude(text: str) -> bytes:
    reply = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    return answer(json.dumps({**reply, "content": [{"type": "text", "text": text}], "usage": {}}))


def google(text: str) -> bytes:
    content = {"role": "model", "parts": [{"text": text}]}
    return answer(json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}))


def at_chat(url: str) -> Any:
    return OpenAIChat("m", base_url=url, api_key="x", profile=OPENAI)


def at_responses(url: str) -> Any:
    return OpenAIResponses("m", base_url=url, api_key="x", stream=False, native_output=True)


def at_claude(url: str) -> Any:
    base = url.removesuffix("/v1")
    return AnthropicMessages("m", base_url=base, api_key="x", stream=False, native_output=True)


def at_google(url: str) -> Any:
    return Gemini("gemini-3-pro", base_url=url, api_key="x", stream=False)


@tool
def rooms(city: str) -> int:
    """Free rooms."""
    return 3


@pytest.mark.parametrize(
    ("say", "model_at"),
    [(chat, at_chat), (responses, at_responses), (claude, at_claude), (google, at_google)],
)
def test_a_held_answer_is_corrected_and_comes_back_as_its_type(
    say: Callable[[str], bytes], model_at: Callable[[str], Any]
) -> None:
    with saying(say(BAD), say(GOOD)) as server:
        agent = Agent(model_at(server.url), [rooms], output_type=Stay)
        result = agent.run_sync("何泊?")
    assert result.output == Stay(city="京都", nights=2)
    first, second = server.requests
    assert "json" in json.dumps({**first, "head": ""}) and first.get("tools")
    assert "nights: expected an integer" in json.dumps(second, ensure_ascii=False)


def test_without_a_wire_that_holds_it_the_tool_is_called_over_the_real_wire() -> None:
    called: Json = {"index": 0, "id": "c1", "type": "function"}
    called["function"] = {"name": "final_result", "arguments": GOOD}
    with saying(events(chunk(tool_calls=[called]), chunk("tool_calls"))) as server:
        model = OpenAIChat("m", base_url=server.url, api_key="x")
        result = Agent(model, output_type=Stay).run_sync("何泊?")
    assert result.output.nights == 2
    assert server.requests[0]["tool_choice"] == "required"
