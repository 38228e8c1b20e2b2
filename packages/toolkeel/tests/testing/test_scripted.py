"""A scripted model says what its script says, and nothing else."""

from __future__ import annotations

import pytest

from toolkeel import Agent, ModelError, SetupError, ToolCall
from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel.model_interface import Finish, TextDelta
from toolkeel.testing.scripted import Scripted, call


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def test_each_request_gets_the_next_line_and_calls_get_ids_of_their_own() -> None:
    model = Scripted([[call("add", {"a": 1}), call("add", {"a": 2})], call("add"), "done"])
    result = Agent(model, [add]).run_sync("go")
    ids = [m.tool_call_id for m in result.messages if isinstance(m, ToolMessage)]
    assert ids == ["call_1", "call_2", "call_3"]
    assert len(model.requests) == 3


def test_a_line_may_be_a_function_of_the_request() -> None:
    def count(request: object) -> str:
        return f"{len(request.messages)} messages"  # type: ignore[attr-defined]

    assert Agent(Scripted([count])).run_sync("go").output == "1 messages"


def test_a_line_may_be_deltas_a_whole_message_or_an_exception() -> None:
    deltas = [TextDelta("hel"), TextDelta("lo"), Finish("stop")]
    assert Agent(Scripted([deltas])).run_sync("go").output == "hello"
    assert Agent(Scripted([AssistantMessage("whole")])).run_sync("go").output == "whole"
    with pytest.raises(ModelError, match="gone"):
        Agent(Scripted([ModelError("gone")])).run_sync("go")


def test_a_script_that_has_ended_says_so() -> None:
    with pytest.raises(ModelError, match="script of 'short' has ended"):
        Agent(Scripted([], name="short")).run_sync("go")


def test_what_no_model_can_say_is_refused() -> None:
    with pytest.raises(SetupError, match=r"Scripted\(lines=...\): expected a list of texts"):
        Scripted([42])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="cannot say"):
        Agent(Scripted(iter([42]))).run_sync("go")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="calls and deltas"):
        Agent(Scripted([[call("add"), TextDelta("adding")]])).run_sync("go")


def test_a_call_keeps_the_id_it_was_given() -> None:
    assert call("add", "{}", id="mine") == ToolCall("mine", "add", "{}")
    assert assemble([AssistantMessage("x")]).content == "x"
