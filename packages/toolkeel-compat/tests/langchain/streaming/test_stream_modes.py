"""What `stream` yields of an event depends on the mode alone."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.errors import SetupError
from toolkeel.model_interface import Finish, ReasoningDelta, TextDelta
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import AgentState, after_agent, before_model, tool
from toolkeel_compat.langchain.agent import create_agent
from toolkeel_compat.langchain.streaming.stream_modes import MODES, sort_modes


class Seen(AgentState):
    seen: int


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def parts(mode: str) -> list[Any]:
    model = Scripted([call("add", {"a": 1, "b": 2}), "3"])
    return list(create_agent(model, [add]).stream({"messages": "1 + 2?"}, stream_mode=mode))


def test_modes_are_sorted_and_an_unknown_one_is_refused() -> None:
    assert sort_modes(["values", "messages"]) == ["messages", "values"]
    with pytest.raises(SetupError, match="'debug' is not here"):
        sort_modes(["values", "debug"])


def test_updates_are_named_after_the_node_that_made_them() -> None:
    assert [list(part) for part in parts("updates")] == [["model"], ["tools"], ["model"]]


def test_values_grow_by_one_message_a_step() -> None:
    assert [len(part["messages"]) for part in parts("values")] == [1, 2, 3, 4]


@pytest.mark.parametrize("mode", MODES)
def test_several_modes_give_pairs(mode: str) -> None:
    model = Scripted(["3"])
    pairs = create_agent(model, [add]).stream({"messages": "?"}, stream_mode=[mode])
    assert all(name == mode for name, _ in pairs)


def test_the_hooks_of_middleware_are_steps_of_their_own() -> None:
    @before_model
    def look(state: Any, runtime: Any) -> Any:
        return {"seen": len(state["messages"])}

    @after_agent
    def close(state: Any, runtime: Any) -> None:
        return None

    def stream(mode: str) -> list[Any]:
        made = create_agent(Scripted(["3"]), middleware=[look, close], state_schema=Seen)
        return list(made.stream({"messages": "?"}, stream_mode=mode))

    assert [list(part) for part in stream("updates")] == [
        ["look.before_model"],
        ["model"],
        ["close.after_agent"],
    ]
    assert [(len(part["messages"]), part.get("seen")) for part in stream("values")] == [
        (1, None),
        (1, 1),
        (2, 1),
    ]


def test_reasoning_is_streamed_among_the_messages() -> None:
    model = Scripted([[ReasoningDelta("hm"), TextDelta("3"), Finish("stop")]])
    tokens = [t for t, _ in create_agent(model).stream({"messages": "?"}, stream_mode="messages")]
    assert [token.content_blocks for token in tokens] == [
        [{"type": "reasoning", "reasoning": "hm"}],
        [{"type": "text", "text": "3"}],
        [],
    ]
    assert [token.chunk_position for token in tokens] == [None, None, "last"]
