"""Ask a server the questions through another library's client, and print the calls it read.

    python -m benchmarks.local_models.peers langchain|agents URL MODEL < questions.json

One request a question, at temperature 0; the answer is a list of lists of ``[name, arguments]``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.local_models.tools import TOOLS

Calls = list[tuple[str, str]]


def ask_langchain(url: str, model: str) -> Callable[[str], Calls]:
    """Return how LangChain's client of OpenAI's interface asks one question."""
    from langchain_openai import ChatOpenAI

    bound = ChatOpenAI(
        base_url=url, api_key="none", model=model, temperature=0, max_tokens=200
    ).bind_tools(TOOLS)

    def ask(question: str) -> Calls:
        reply = bound.invoke(question)
        invalid = [(call["name"] or "", call["args"] or "") for call in reply.invalid_tool_calls]
        return [(call["name"], json.dumps(call["args"])) for call in reply.tool_calls] + invalid

    return ask


def ask_agents(url: str, model: str) -> Callable[[str], Calls]:
    """Return how the Agents SDK's runner asks one question."""
    from agents import (
        Agent,
        ModelSettings,
        OpenAIChatCompletionsModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from agents.exceptions import AgentsException
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    agent = Agent(
        "assistant",
        tools=[function_tool(each) for each in TOOLS],
        model_settings=ModelSettings(temperature=0, max_tokens=200),
        tool_use_behavior="stop_on_first_tool",
    )

    async def run(question: str) -> Iterable[Any]:
        client = AsyncOpenAI(base_url=url, api_key="none")
        agent.model = OpenAIChatCompletionsModel(model, client)
        try:
            return (await Runner.run(agent, question, max_turns=1)).new_items
        except AgentsException as error:
            return error.run_data.new_items if error.run_data else ()

    def ask(question: str) -> Calls:
        items = asyncio.run(run(question))
        return [
            (item.raw_item.name, item.raw_item.arguments)
            for item in items
            if item.type == "tool_call_item"
        ]

    return ask


def main() -> None:
    """Read questions, and print their calls."""
    peer, url, model = sys.argv[1:]
    ask = {"langchain": ask_langchain, "agents": ask_agents}[peer](url, model)
    questions = json.load(sys.stdin)
    found = []
    for number, question in enumerate(questions, 1):
        found.append(ask(question))
        print(peer, number, found[-1], file=sys.stderr, flush=True)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
