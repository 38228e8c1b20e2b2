"""A model for tests under the SDK's names."""

from __future__ import annotations

import asyncio

import pytest

from toolkeel_compat.openai_agents import (
    Agent,
    Runner,
    ScriptedModel,
    assistant_message,
    function_call,
    function_tool,
)


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_it_gives_its_steps_and_says_how_it_was_asked() -> None:
    call = function_call("add", {"a": 2, "b": 3}, call_id="c1")
    model = ScriptedModel([[call], [assistant_message("five")]])
    result = Runner.run_sync(Agent(name="a", tools=[add], model=model), "2 and 3?")
    assert result.final_output == "five" and model.remaining_steps == 0
    assert model.last_call is not None and model.last_call.input[-1]["output"] == "5"
    assert [len(asked.input) for asked in model.calls] == [1, 3]


def test_it_streams_and_raises_and_takes_steps_later() -> None:
    model = ScriptedModel()
    model.enqueue([assistant_message("hi")])
    model.extend([RuntimeError("broken")])
    agent = Agent(name="a", model=model)

    async def main() -> str:
        streamed = Runner.run_streamed(agent, "go")
        async for _ in streamed.stream_events():
            pass
        return str(streamed.final_output)

    assert asyncio.run(main()) == "hi"
    with pytest.raises(RuntimeError, match="broken"):
        Runner.run_sync(agent, "go")
    with pytest.raises(Exception, match="once more than it has steps"):
        Runner.run_sync(agent, "go")
