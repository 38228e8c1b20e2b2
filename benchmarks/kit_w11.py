"""toolkeel in the kit's W11, whole agents over HTTP: ``OURS=benchmarks/kit_w11.py:agent``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any


def agent(base: str, add: Callable[..., Awaitable[int]]) -> Callable[[bool], Awaitable[str]]:
    """What runs the kit's agent over Chat Completions, streamed or not.

    Args:
        base: Where the scripted server is.
        add: The tool.
    """
    from toolkeel import Agent, tool
    from toolkeel.models import OpenAIChat

    tools = [tool(add)]
    agents: dict[bool, Any] = {
        stream: Agent(
            OpenAIChat("m", base_url=base, api_key="k", max_retries=0, stream=stream),
            tools,
            max_turns=100_000,
        )
        for stream in (False, True)
    }

    async def run(stream: bool) -> str:
        if not stream:
            return str((await agents[False].run("go")).output)
        async with agents[True].stream("go") as events:
            async for _ in events:
                pass
            return str(events.result.output)

    return run
