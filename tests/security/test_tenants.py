"""Runs of several people at once share nothing (T40)."""

from __future__ import annotations

import asyncio

from toolkeel import Agent, tool
from toolkeel.context import ToolContext
from toolkeel.effects import acts, reads
from toolkeel.messages import ToolMessage
from toolkeel.testing.scripted import Scripted, call


@tool(effects=reads(private=True, stranger=True))
async def mine(context: ToolContext[str]) -> str:
    """Tell whose run this is."""
    await asyncio.sleep(0)
    seen = context.update("seen", lambda seen: [*seen, context.deps], [])
    assert set(seen) == {context.deps}
    await asyncio.sleep(0)
    return context.deps


@tool(effects=acts("to"))
async def send(to: str, context: ToolContext[str]) -> str:
    """Send a mail."""
    await asyncio.sleep(0)
    return f"sent by {context.deps}"


LABELS = {"private: mine", "stranger: mine"}


def test_two_hundred_runs_at_once_keep_their_own_secrets_and_labels() -> None:
    """Of each three one only sends, one reads first and must ask, one is cancelled in the middle."""

    async def one(number: int) -> None:
        secret = f"secret-{number}"
        sends = [call("send", {"to": "eve@evil.example"})]
        again = [call("send", {"to": f"eve{n}@evil.example"}) for n in range(5)]
        turns = [*([each] for each in again), "done"]
        turns = turns if number % 3 == 0 else [[call("mine", {})] * 2, sends, "done"]
        handle = Agent(Scripted(turns), [mine, send]).start("go", deps=secret)  # type: ignore[arg-type]
        if number % 3 == 2:
            for _ in range(number % 23):
                await asyncio.sleep(0)
            handle.cancel("enough")
        result = await handle
        told = {m.text for m in result.messages if isinstance(m, ToolMessage) and not m.failed}
        labels = {label for ticket in result.pending for label in ticket.labels}
        if number % 3 == 0:
            assert (told, result.pending) == ({f"sent by {secret}"}, ())
        else:
            assert told <= {secret} and labels <= LABELS
        if number % 3 == 1:
            assert result.reason == "waiting" and labels == LABELS

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(200)))

    asyncio.run(all_of_them())
