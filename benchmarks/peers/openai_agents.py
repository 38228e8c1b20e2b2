"""openai-agents: a tool's own call, without the runner's stages; `Runner` for the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agents import Agent, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from agents.items import ItemHelpers, ToolCallItem, ToolCallOutputItem
from agents.models.chatcmpl_converter import Converter
from agents.models.interface import Model
from agents.run_context import RunContextWrapper
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from benchmarks.peer import Peer
from benchmarks.work import RESULT, Call

set_tracing_disabled(True)


def _item(call: Call) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        call_id=call.id, name=call.name, arguments=call.arguments, type="function_call"
    )


def _said(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m", role="assistant", status="completed", type="message", content=[part]
    )


class OpenAIAgents(Peer):
    packages = ("openai-agents", "openai")
    line = "from agents import function_tool"

    def define(self, function: Callable[..., Any]) -> Any:
        return function_tool(function)

    def schemas(self, tools: list[Any]) -> Any:
        return [Converter.tool_to_openai(tool) for tool in tools]

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools = {tool.name: tool for tool in map(function_tool, functions)}
        self.wrapper: Any = RunContextWrapper(context=None)

    async def one(self, call: Call) -> Any:
        item = _item(call)
        tool = self.tools[call.name]
        context = ToolContext.from_agent_context(self.wrapper, call.id, tool_call=item)
        value = await tool.on_invoke_tool(context, call.arguments)
        return ItemHelpers.tool_call_output_item(item, value)

    def text(self, message: Any) -> str:
        return str(message["output"])

    async def loop(self, function: Callable[..., Any], turns: int, tick: Callable[[], None]) -> str:
        calls = [Call(f"call_{i}", function.__name__, f'{{"i": {i}}}') for i in range(turns)]
        replies = iter([*([_item(call)] for call in calls), [_said("done")]])

        class Script(Model):
            async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
                tick()
                output: Any = next(replies)
                return ModelResponse(output=output, usage=Usage(), response_id=None)

            def stream_response(self, *args: Any, **options: Any) -> Any:
                raise NotImplementedError

        agent = Agent(name="a", model=Script(), tools=[function_tool(function)])
        return str((await Runner.run(agent, "go", max_turns=turns + 5)).final_output)

    def history(self, size: int) -> Any:
        self.agent: Any = Agent(name="a")
        kept: list[Any] = []
        for i in range(size):
            item, text = _item(Call(f"call_{i}", "count", f'{{"i": {i}}}')), RESULT.format(i)
            raw: Any = ItemHelpers.tool_call_output_item(item, text)
            kept.append(ToolCallItem(agent=self.agent, raw_item=item))
            kept.append(ToolCallOutputItem(agent=self.agent, raw_item=raw, output=text))
        return kept


PEER = OpenAIAgents()
