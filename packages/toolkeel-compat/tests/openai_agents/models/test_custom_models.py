"""Models of a program's own are asked as the SDK asks them, whole or streamed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from toolkeel.errors import ModelError
from toolkeel_compat.openai_agents import (
    Agent,
    Model,
    ModelResponse,
    ModelSettings,
    ModelTracing,
    Runner,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
    Usage,
    function_tool,
    handoff,
)


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "content": [part]}


CALL = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":2,"b":3}'}


class Own(Model):
    def __init__(self, *replies: list[dict[str, Any]]) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Any, ...]] = []

    async def get_response(self, *asked: Any, **more: Any) -> ModelResponse:
        self.asked.append((*asked, more))
        return ModelResponse(self.replies.pop(0), Usage(1, 7, 3, 10))

    async def stream_response(self, *asked: Any, **more: Any) -> Any:
        response = await self.get_response(*asked, **more)
        for item in response.output:
            for part in item.get("content", ()):
                yield SimpleNamespace(type="response.output_text.delta", delta=part["text"])
        yield SimpleNamespace(type="response.completed", response=response)


def test_it_is_given_what_the_sdk_gives_and_its_calls_are_run() -> None:
    model, other = Own([CALL], [said("five")]), Agent(name="other")
    settings = ModelSettings(temperature=0.5, top_p=0.9, extra_args={"seed": 1})
    agent = Agent(
        name="a", instructions="Be kind.", tools=[add], model=model, model_settings=settings,
        handoffs=[handoff(other)], output_type=None,
    )  # fmt: skip
    result = Runner.run_sync(agent, "2 and 3?")
    assert result.final_output == "five" and agent.model is model
    assert result.context_wrapper.usage.input_tokens == 14
    told, items, asked, tools, schema, handoffs, tracing, more = model.asked[0]
    assert (told, items) == ("Be kind.", [{"role": "user", "content": "2 and 3?"}])
    assert (asked.temperature, asked.top_p, asked.extra_args) == (0.5, 0.9, {"seed": 1})
    assert (tools, schema, tracing) == ([add], None, ModelTracing.DISABLED)
    assert [one.agent_name for one in handoffs] == ["other"]
    assert set(more.values()) == {None}
    assert [item["type"] for item in model.asked[1][1] if "type" in item] == [
        "function_call", "function_call_output",
    ]  # fmt: skip


def test_a_streamed_run_asks_it_to_stream() -> None:
    async def main() -> list[str]:
        result = Runner.run_streamed(Agent(name="a", model=Own([said("hello")])), "hi")
        seen = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event"
            and event.data.type == "response.output_text.delta"
        ]
        assert result.final_output == "hello"
        return seen

    assert asyncio.run(main()) == ["hello"]


def test_a_stream_that_ends_early_is_an_error_of_the_model() -> None:
    class Broken(Own):
        async def stream_response(self, *asked: Any, **more: Any) -> Any:
            yield SimpleNamespace(type="response.created")

    async def main() -> None:
        async for _ in Runner.run_streamed(Agent(name="a", model=Broken()), "hi").stream_events():
            pass

    with pytest.raises(ModelError, match="Broken ended its stream"):
        asyncio.run(main())


def test_output_that_is_no_reply_is_an_error_of_the_model() -> None:
    odd = {"type": "function_call_output", "call_id": "c", "output": "x"}
    with pytest.raises(ModelError, match="one reply"):
        Runner.run_sync(Agent(name="a", model=Own([odd])), "hi")


def test_it_calls_tools_that_have_items_of_their_own() -> None:
    def ran(request: Any) -> ShellResult:
        assert request.data.action.commands == ["ls"]
        return ShellResult(output=[ShellCommandOutput(stdout="a.txt")])

    asked = {"type": "shell_call", "id": "s1", "call_id": "c1", "action": {"commands": ["ls"]}}
    for streamed in (False, True):
        model = Own([asked], [said("done")])
        agent = Agent("a", tools=[ShellTool(executor=ran)], model=model)
        result = run(agent, streamed)
        kinds = ["tool_call_item", "tool_call_output_item", "message_output_item"]
        assert [item.type for item in result.new_items] == kinds
    with pytest.raises(ModelError, match=r"no tool of the agent takes: \['shell_call'\]"):
        run(Agent("a", model=Own([asked])), False)


def run(agent: Agent[Any], streamed: bool) -> Any:
    async def main() -> Any:
        if not streamed:
            return await Runner.run(agent, "go")
        result = Runner.run_streamed(agent, "go")
        async for _ in result.stream_events():
            pass
        return result

    return asyncio.run(main())


def test_its_items_go_back_as_it_gave_them() -> None:
    mine = {**said("hello"), "id": "mine", "status": "completed"}
    result = run(Agent("a", model=Own([mine])), False)
    assert result.to_input_list()[-1] == mine
    printed = str(result).splitlines()
    assert printed[1:4] == [
        '- Last agent: Agent(name="a", ...)',
        "- Final output (str):",
        "    hello",
    ]


def test_of_several_messages_the_last_is_the_answer() -> None:
    first = {**said("thinking"), "id": "m1"}
    result = run(Agent("a", model=Own([first, {**said("four"), "id": "m2"}])), False)
    assert result.final_output == "four" and len(result.new_items) == 2
