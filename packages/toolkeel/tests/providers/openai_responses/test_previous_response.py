"""A request that continues a stored response sends what the server does not have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers.tools import TOOLS
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import openai_responses
from toolkeel.providers.openai_responses.encode import ResponsesEncoder
from toolkeel.providers.wire.body_cache import BodyCache
from toolkeel.providers.wire.reasoning_ownership import ModelProfile


def stored_reply(
    id: str, *output: dict[str, Any], store: bool | None = True, is_streamed: bool = False
) -> AssistantMessage:
    response: dict[str, Any] = {"id": id, "object": "response", "model": "gpt-5", "output": output}
    response |= {"status": "completed"} | ({} if store is None else {"store": store})
    if is_streamed:
        last = {"type": "response.completed", "response": response}
        return assemble(openai_responses.decode_stream(json.loads(json.dumps([last]))))
    return openai_responses.decode({**response, "output": [*output]})


def call(id: str, kind: str = "function_call") -> dict[str, Any]:
    key = "input" if kind == "custom_tool_call" else "arguments"
    return {"type": kind, "id": f"fc_{id}", "call_id": id, "name": "add", key: "{}"}


def input_of(messages: list[Message], **options: object) -> Any:
    request = ModelRequest(messages, tuple(TOOLS), Settings(extra_body=options))
    body = openai_responses.encode(request, "gpt-5")
    cache = BodyCache(ResponsesEncoder, ModelProfile("gpt-5"))
    assert json.loads(cache.encode(request)) == body
    return body["input"]


TURN: list[Message] = [
    UserMessage("go"),
    stored_reply("resp_1", call("c1"), call("c2", "custom_tool_call")),
    ToolMessage("3", "c1"),
    ToolMessage("4", "c2"),
]


def test_only_what_follows_the_response_is_sent() -> None:
    outputs = [
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "4"},
    ]
    assert input_of(TURN, previous_response_id="resp_1") == outputs
    next_turn = [*TURN, stored_reply("resp_2", call("c3")), ToolMessage("5", "c3")]
    assert input_of(next_turn, previous_response_id="resp_1")[:2] == outputs
    [last] = input_of(next_turn, previous_response_id="resp_2")
    assert (last["call_id"], last["output"]) == ("c3", "5")


def test_a_call_that_was_not_answered_is_answered_with_a_placeholder() -> None:
    first, second = input_of(TURN[:3], previous_response_id="resp_1")
    assert (first["output"], second["type"]) == ("3", "custom_tool_call_output")


def test_after_a_response_that_is_not_in_the_transcript_everything_is_sent() -> None:
    assert input_of(TURN, previous_response_id="resp_0") == input_of(TURN)
    assert input_of([UserMessage("and now?")], previous_response_id="resp_0") == [
        {"role": "user", "content": "and now?"}
    ]


def test_results_of_calls_that_only_the_server_has_are_sent() -> None:
    messages: list[Message] = [ToolMessage("3", "c1"), UserMessage("and now?")]
    result, prompt = input_of(messages, previous_response_id="resp_0")
    assert result == {"type": "function_call_output", "call_id": "c1", "output": "3"}
    assert prompt == {"role": "user", "content": "and now?"}
    assert input_of(messages) == [prompt]  # without a server's call, it would be refused


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_server_that_does_not_say_if_it_stores_is_taken_at_its_id(is_streamed: bool) -> None:
    reply = stored_reply("r", call("c1"), store=None, is_streamed=is_streamed)
    messages: list[Message] = [UserMessage("go"), reply, ToolMessage("3", "c1")]
    [output] = input_of(messages, previous_response_id="r")
    assert (output["call_id"], output["output"]) == ("c1", "3")


def test_a_response_that_was_not_stored_cannot_be_continued_from() -> None:
    messages: list[Message] = [UserMessage("go"), stored_reply("r", call("c1"), store=False)]
    assert input_of(messages, previous_response_id="r") == input_of(messages)


def test_a_conversation_at_the_server_beside_a_transcript_is_refused() -> None:
    assert input_of([UserMessage("go")], conversation="conv_1") == input_of([UserMessage("go")])
    with pytest.raises(SetupError, match="previous_response_id"):
        input_of(TURN, conversation="conv_1")
