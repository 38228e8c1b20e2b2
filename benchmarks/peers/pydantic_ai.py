"""pydantic-ai: its tool manager, as its agent uses it, and `Agent` for the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.exceptions import ToolRetryError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage, UsageLimits

from benchmarks.peer import Peer
from benchmarks.work import RESULT, Call


def _part(call: Call) -> ToolCallPart:
    return ToolCallPart(call.name, call.arguments, call.id)


class PydanticAI(Peer):
    packages = ("pydantic-ai-slim", "pydantic")
    line = "from pydantic_ai import Tool"

    def define(self, function: Callable[..., Any]) -> Any:
        return Tool(function)

    def schemas(self, tools: list[Any]) -> Any:
        model: Any = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="none"))
        wanted = ModelRequestParameters(function_tools=[tool.tool_def for tool in tools])
        _, wanted = model.prepare_request(None, wanted)
        return [model._map_tool_definition(tool, {}) for tool in wanted.function_tools]

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage())
        tools: Any = FunctionToolset(list(functions), max_retries=100_000)
        self.manager: Any = await ToolManager(tools).for_run_step(context)

    async def one(self, call: Call) -> Any:
        try:
            value = await self.manager.handle_call(_part(call))
        except ToolRetryError as error:
            return error.tool_retry
        return ToolReturnPart(tool_name=call.name, content=value, tool_call_id=call.id)

    def text(self, message: Any) -> str:
        read = getattr(message, "model_response_str", None) or message.model_response
        return str(read())

    async def loop(self, function: Callable[..., Any], turns: int, tick: Callable[[], None]) -> str:
        calls = [Call(f"call_{i}", function.__name__, f'{{"i": {i}}}') for i in range(turns)]
        replies: Any = iter([*([_part(call)] for call in calls), [TextPart("done")]])

        def script(messages: Any, info: Any) -> ModelResponse:
            tick()
            return ModelResponse(parts=next(replies))

        agent = Agent(FunctionModel(script), tools=[function])
        return str((await agent.run("go", usage_limits=UsageLimits(request_limit=None))).output)

    def history(self, size: int) -> Any:
        kept: list[Any] = []
        for i in range(size):
            kept.append(ModelResponse(parts=[_part(Call(f"call_{i}", "count", f'{{"i": {i}}}'))]))
            result = ToolReturnPart("count", RESULT.format(i), f"call_{i}")
            kept.append(ModelRequest(parts=[result]))
        return kept


PEER = PydanticAI()
