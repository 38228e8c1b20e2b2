"""A local model's calls are held to a grammar where its template or its replies require it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from tests.providers.constrained.local_server import get_weather, local_server
from tests.providers.loopback import chunk, events, saying
from toolkeel import Agent, connect
from toolkeel.events import Event, Retrying
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel.model_interface import Settings

CALL = '{"name": "get_weather", "arguments": {"city": "北京"}}'
ANSWER = '{"name": "answer", "arguments": {"text": "晴 in \\"北京\\""}}'
OK = '{"name": "answer", "arguments": {"text": "ok"}}'


def call_modes(messages: Any) -> list[object]:
    return [
        one.provider_options.get("calls") for one in messages if isinstance(one, AssistantMessage)
    ]


def test_a_template_without_tools_gets_them_in_the_prompt() -> None:
    with local_server(CALL, ANSWER) as server:
        model = server.model()
        result = Agent(model, [get_weather]).run_sync("北京天气?")
    assert result.output == '晴 in "北京"'
    assert call_modes(result.messages) == ["grammar", "grammar"]
    assert model.context_length == 4096
    first, second = server.requests
    assert "tools" not in first
    assert first["response_format"]["json_schema"]["schema"]["anyOf"][0]["properties"]["name"]
    assert "- get_weather(city: string): Look up the weather." in first["messages"][0]["content"]
    assert first["max_tokens"] == 8192
    roles = [one["role"] for one in second["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert second["messages"][3]["content"].startswith("Result of get_weather:\n北京: sunny\n\n")


def test_a_template_with_tools_is_used_and_text_is_read_too() -> None:
    with local_server(f"```json\n{CALL}\n```", "Sunny.", tools=True) as server:
        result = Agent(server.model(), [get_weather]).run_sync("北京天气?")
    assert (result.output, call_modes(result.messages)) == ("Sunny.", ["text", "text"])
    assert server.requests[0]["tools"][0]["function"]["name"] == "get_weather"
    assert "response_format" not in server.requests[0]


def test_a_required_call_is_held_to_a_grammar_without_an_answer() -> None:
    with local_server(CALL, "Sunny.", tools=True) as server:
        settings = Settings(tool_choice="required")
        result = Agent(server.model(), [get_weather], settings=settings).run_sync("北京天气?")
    assert call_modes(result.messages) == ["grammar", "text"]
    schema = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert "anyOf" not in schema
    assert schema["properties"]["name"] == {"const": "get_weather"}
    assert result.output == "Sunny."


def test_an_answer_of_a_type_stands_beside_tools() -> None:
    class Report(BaseModel):
        city: str
        sunny: bool

    report = '{"name": "answer", "arguments": {"value": {"city": "北京", "sunny": true}}}'
    with local_server(CALL, report, tools=True) as server:
        agent = Agent(server.model(), [get_weather], output_type=Report)
        result = agent.run_sync("北京天气?")
    assert result.output == Report(city="北京", sunny=True)
    assert len(server.requests) == 2
    branches = server.requests[0]["response_format"]["json_schema"]["schema"]["anyOf"]
    answer = branches[-1]["properties"]["arguments"]["properties"]["value"]
    assert answer["required"] == ["city", "sunny"]


UNREAD = '{"name": "get_weather", "arguments": {"city": "北京"}'


@pytest.mark.parametrize("calls", ["auto", "text", "native"])
def test_a_call_that_nothing_read_is_requested_once_more(calls: str) -> None:
    told: list[Event] = []
    with local_server(UNREAD, CALL, OK, tools=True) as server:
        agent = Agent(server.model(calls=calls), [get_weather])
        result = agent.run_sync("北京天气?", listeners=[told.append])
    assert [one.content for one in result.messages if isinstance(one, ToolMessage)] == [
        "北京: sunny"
    ]
    assert ["tools" in body for body in server.requests] == [True, False, calls != "auto"]
    [retry] = [one for one in told if isinstance(one, Retrying)]
    assert "the reply is a call, but not in a form that can be read" in retry.error


def test_a_required_call_that_did_not_come_is_requested_once_more() -> None:
    with local_server("\n\n\n", "I would rather talk.", CALL, "Sunny.", tools=True) as server:
        settings = Settings(tool_choice="get_weather")
        model = server.model(calls="native")
        server.replies.pop(0)
        result = Agent(model, [get_weather], settings=settings).run_sync("北京天气?")
    assert result.output == "Sunny."
    assert [("tools" in body) for body in server.requests] == [True, False, True]


@pytest.mark.parametrize(
    "problem",
    [
        (500, {"error": {"code": 500, "message": "tools param requires --jinja flag"}}),
        (400, {"message": '"auto" tool choice requires --enable-auto-tool-choice and '
               "--tool-call-parser to be set", "type": "BadRequestError", "code": 400}),
        (400, {"error": {"message": "registry.ollama.ai/library/m does not support tools"}}),
    ],
)  # fmt: skip
def test_a_server_that_was_started_without_tools_is_asked_by_grammar(problem: Any) -> None:
    told: list[Event] = []
    with local_server(problem, CALL, OK, tools=True) as server:
        agent = Agent(server.model("vllm"), [get_weather])
        result = agent.run_sync("北京天气?", listeners=[told.append])
    assert result.output == "ok"
    assert len(server.requests) == 3
    [retry] = [one for one in told if isinstance(one, Retrying)]
    assert "calls are held to a grammar instead" in retry.error


def test_another_model_than_requested_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    reply = {
        "model": "/models/llama-3.gguf",
        "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    }
    with local_server(reply) as server:
        agent = Agent(connect("llamacpp:qwen3", base_url=server.url, stream=False))
        agent.run_sync("hi")
        agent.run_sync("hi")
    [record] = caplog.records
    assert "answers with another model: /models/llama-3.gguf" in record.getMessage()


@pytest.mark.parametrize("text", [CALL, "```json\n" + UNREAD, "Sure."])
def test_streams_are_read_and_checked_alike(text: str) -> None:
    first = events(*(chunk(content=letter) for letter in text), chunk("stop"))
    second = events(*(chunk(content=letter) for letter in ANSWER), chunk("stop"))
    with saying(first, second) as server:
        model = connect("vllm:m", base_url=server.url, max_retries=2)
        result = Agent(model, [get_weather]).run_sync("hi")
    expected = {"Sure.": "Sure.", CALL: ANSWER}.get(text, '晴 in "北京"')
    assert result.output == expected
