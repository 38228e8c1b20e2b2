"""toolkeel: `Toolset.run`, as a program with a client of its own uses it, and `Agent`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from benchmarks.peer import Peer
from benchmarks.work import RESULT, Call
from toolkeel import Agent, AssistantMessage, RunContext, ToolCall, ToolMessage, Toolset, tool
from toolkeel.providers import openai_chat


class Ours(Peer):
    packages = ("toolkeel", "pydantic", "pydantic_core")
    line = "from toolkeel import tool"
    _known: tuple[list[Any], Toolset] | None = None

    def define(self, function: Callable[..., Any]) -> Any:
        return tool(function)

    def schemas(self, tools: list[Any]) -> Any:
        if self._known is None or self._known[0] is not tools:
            self._known = (tools, Toolset(tools))
        return openai_chat.encode_tools(self._known[1])

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools = Toolset(functions, max_threads=1000)
        self.run: RunContext[Any] = RunContext()

    async def one(self, call: Call) -> ToolMessage:
        if (
            self.run.loop_state.failed_calls
        ):  # else the same wrong call would be refused the third time
            self.run.loop_state.failed_calls.clear()
        [message] = await self.tools.run([ToolCall(*call)], self.run)
        return message

    async def many(self, calls: list[Call]) -> list[ToolMessage]:
        return await self.tools.run([ToolCall(*call) for call in calls], self.run)

    def text(self, message: ToolMessage) -> str:
        return message.text

    async def loop(self, function: Callable[..., Any], turns: int, tick: Callable[[], None]) -> str:
        calls = (ToolCall(f"call_{i}", function.__name__, f'{{"i": {i}}}') for i in range(turns))
        script = [AssistantMessage("", (call,), "tool_calls") for call in calls]
        replies = iter([*script, AssistantMessage("done")])

        class Model:
            name = "script"

            async def stream(self, request: object) -> AsyncIterator[AssistantMessage]:
                tick()
                yield next(replies)

        result = await Agent(Model(), [tool(function)], max_turns=turns + 1).run("go")
        return result.output

    def server(self, function: Callable[..., Any]) -> Any:
        from toolkeel.mcp.server.tool_server import ToolServer

        return ToolServer([function], name="bench").sdk

    def serve(self, function: Callable[..., Any]) -> None:
        from toolkeel.mcp.server.stdio import serve_stdio
        from toolkeel.mcp.server.tool_server import ToolServer

        asyncio.run(serve_stdio(ToolServer([function], name="bench")))

    def history(self, size: int) -> list[object]:
        kept: list[object] = []
        for i in range(size):
            call = ToolCall(f"call_{i}", "count", f'{{"i": {i}}}')
            kept.append(AssistantMessage("", (call,), "tool_calls"))
            kept.append(ToolMessage(RESULT.format(i), call.id, "count"))
        return kept


PEER = Ours()
