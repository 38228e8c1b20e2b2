"""Runs of several people at once share nothing (T40)."""

from __future__ import annotations

import asyncio

from toolkeel import Agent, tool
from toolkeel.context import ToolContext
from toolkeel.effects import reads
from toolkeel.messages import ToolMessage
from toolkeel.testing.scripted import Scripted, call


@tool(effects=reads(private=True))
async def mine(context: ToolContext[str]) -> str:
    """Tell whose run this is."""
    await asyncio.sleep(0)
    seen = context.update("seen", lambda seen: [*seen, context.deps], [])
    assert set(seen) == {context.deps}
    await asyncio.sleep(0)
    return context.deps


def test_two_hundred_runs_at_once_keep_their_own_secrets_and_labels() -> None:
    async def one(number: int) -> None:
        secret = f"secret-{number}"
        reader = number % 2
        turns = [[call("mine", {}), call("mine", {})], "done"] if reader else ["done"]
        agent = Agent(Scripted(turns), [mine])  # type: ignore[arg-type]
        result = await agent.run("go", deps=secret)
        told = {m.text for m in result.messages if isinstance(m, ToolMessage)}
        assert told == ({secret} if reader else set())

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(200)))

    asyncio.run(all_of_them())
