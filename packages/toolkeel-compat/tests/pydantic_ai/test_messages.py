"""Messages have parts, and a history of them is the core's transcript again."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolkeel.errors import SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import (
    Agent,
    FunctionModel,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelRetry,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from toolkeel_compat.pydantic_ai.messages import to_core_messages, to_model_messages

_TEXTS = st.text(max_size=5)
_REPLIES = st.builds(
    AssistantMessage,
    _TEXTS,
    st.lists(st.builds(ToolCall, _TEXTS, _TEXTS, st.just('{"a":1}')), max_size=2).map(tuple),
    reasoning=st.lists(st.builds(Reasoning, _TEXTS, _TEXTS), max_size=1).map(tuple),
    provider_options=st.just({"kept": 1}),
)
_SENT = st.builds(UserMessage, _TEXTS) | st.builds(ToolMessage, _TEXTS, _TEXTS, _TEXTS)


def clerk(*lines: Any) -> Agent:
    agent = Agent(Scripted([*lines]))

    @agent.tool_plain
    def count(item: str) -> int:
        """Count."""
        return len(item)

    return agent


@given(st.lists(_REPLIES | _SENT, max_size=6))
def test_messages_come_back_as_they_were(messages: list[Message]) -> None:
    assert to_core_messages(to_model_messages(messages, {})) == messages


def test_a_run_has_a_request_and_a_response_for_each_turn() -> None:
    result = clerk([call("count", {"item": "tea"})], "three").run_sync("How much?")
    asked, called, counted, said = result.all_messages()
    assert asked == ModelRequest([UserPromptPart("How much?")])
    assert called.tool_calls[0].args_as_dict() == {"item": "tea"}
    [part] = counted.parts
    assert (part.tool_name, part.content, part.outcome) == ("count", 3, "success")
    assert said.text == "three" and type(said).__name__ == "ModelResponse"


def test_a_history_goes_through_json_and_a_changed_part_is_sent() -> None:
    first = clerk([call("count", {"item": "tea"})], "three").run_sync("How much?")
    history: Any = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    assert history == first.all_messages()
    history[0].parts[0].content = "How much tea?"
    again = clerk("four")
    result = again.run_sync("And now?", message_history=history)
    sent = [one.text for one in again.model.requests[0].messages]
    assert sent == ["How much tea?", "", "3", "three", "And now?"]
    assert result.all_messages()[2].parts[0].content == 3


def test_messages_of_a_program_are_a_history() -> None:
    agent = clerk("yes")
    told = ModelResponse([ToolCallPart("count", {"item": "x"}, "c1"), TextPart("Let me see.")])
    counted = ModelRequest([ToolReturnPart("count", 1, "c1")])
    agent.run_sync("So?", message_history=[ModelRequest.user_text_prompt("hi"), told, counted])
    _, reply, result, _ = agent.model.requests[0].messages
    assert (reply.text, reply.tool_calls[0].id, result.tool_call_id) == ("Let me see.", "c1", "c1")
    with pytest.raises(SetupError, match="all_messages"):
        agent.run_sync("So?", message_history=[{"role": "user"}])


class Tea(BaseModel):
    name: str


def test_a_value_that_a_tool_returned_is_sent_from_a_copied_history_as_it_was() -> None:
    agent = clerk(call("buy", {}), "bought", "again")
    agent.tool_plain(lambda: Tea(name="绿茶"), name="buy")
    history = agent.run_sync("Buy.").all_messages()
    copied = [dataclasses.replace(one, parts=[*one.parts]) for one in history]
    agent.run_sync("And?", message_history=copied)
    first, second = (agent.model.requests[place].messages[2] for place in (1, 2))
    assert first.text == second.text == '{"name":"绿茶"}'


def test_a_call_id_that_a_model_uses_again_has_a_result_of_its_own_in_each_turn() -> None:
    read: list[Any] = []

    def answer(messages: list[Any], info: Any) -> ModelResponse:
        read.append([one.parts[0].content for one in messages[2::2]])
        if len(read) > 3:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart("count", {"number": len(read)}, "c1")])

    agent = Agent(FunctionModel(answer), retries=2)

    @agent.tool_plain
    def count(number: int) -> int:
        """Count."""
        if number == 2:
            raise ModelRetry("not two")
        return number

    agent.run_sync("go")
    assert read[1:] == [[1], ["1", "not two"], ["1", "not two", 3]]
