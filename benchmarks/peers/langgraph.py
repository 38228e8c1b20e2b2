"""langgraph: `ToolNode` as its graphs run it, and `create_agent` of langchain for the loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.runtime import Runtime

from benchmarks.peer import Peer
from benchmarks.work import RESULT, Call


def _asked(calls: Sequence[Call]) -> AIMessage:
    wanted = [
        {"id": c.id, "name": c.name, "args": json.loads(c.arguments), "type": "tool_call"}
        for c in calls
    ]
    return AIMessage(content="", tool_calls=wanted)


class LangGraph(Peer):
    packages = ("langgraph", "langchain-core")
    line = "from langgraph.prebuilt import ToolNode"

    def define(self, function: Callable[..., Any]) -> Any:
        [made] = ToolNode([function]).tools_by_name.values()
        return made

    def schemas(self, tools: list[Any]) -> Any:
        return [convert_to_openai_tool(tool) for tool in tools]

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.node = ToolNode(list(functions))
        self.config: Any = {"configurable": {"__pregel_runtime": Runtime()}}

    async def one(self, call: Call) -> Any:
        return (await self.many([call]))[0]

    async def many(self, calls: list[Call]) -> Any:
        return (await self.node.ainvoke({"messages": [_asked(calls)]}, self.config))["messages"]

    def text(self, message: Any) -> str:
        return str(message.content)

    async def loop(self, function: Callable[..., Any], turns: int, tick: Callable[[], None]) -> str:
        calls = [Call(f"call_{i}", function.__name__, f'{{"i": {i}}}') for i in range(turns)]
        replies = iter([*(_asked([call]) for call in calls), AIMessage(content="done")])

        class Script(BaseChatModel):
            @property
            def _llm_type(self) -> str:
                return "script"

            def bind_tools(self, tools: Any, **options: Any) -> Any:
                return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

            def _generate(self, *args: Any, **options: Any) -> ChatResult:
                tick()
                return ChatResult(generations=[ChatGeneration(message=next(replies))])

            async def _agenerate(self, *args: Any, **options: Any) -> ChatResult:
                return self._generate()

        agent: Any = create_react_agent(Script(), [function])
        end = await agent.ainvoke(
            {"messages": [("user", "go")]}, {"recursion_limit": 4 * turns + 20}
        )
        return str(end["messages"][-1].content)

    def history(self, size: int) -> Any:
        kept: list[Any] = []
        for i in range(size):
            kept.append(_asked([Call(f"call_{i}", "count", f'{{"i": {i}}}')]))
            kept.append(ToolMessage(RESULT.format(i), tool_call_id=f"call_{i}", name="count"))
        return kept


PEER = LangGraph()
