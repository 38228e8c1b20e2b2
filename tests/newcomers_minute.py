"""A newcomer's first minute, which any environment must allow: calls, an approval, a session, a saved run."""

from __future__ import annotations

import asyncio
import os

from toolkeel import Agent, RunState, ToolCall, Toolset, tool
from toolkeel.sessions import Sessions


@tool(description="Add.")
def add(a: int, b: int) -> int:
    return a + b


@tool(description="Pay.", approval=True)
async def pay(amount: int) -> str:
    return f"paid {amount} €"


def minute() -> None:
    """Raise where something does not work."""
    tools = Toolset([add])
    right, wrong = tools.run_sync(
        [ToolCall("1", "add", '{"a": 1, "b": 2}'), ToolCall("2", "add", '{"a": "x"}')]
    )
    if (right.content, wrong.kind) != ("3", "invalid_arguments"):
        raise ValueError((right, wrong))
    [awaited] = asyncio.run(tools.run([ToolCall("1", "add", {"a": 1, "b": 2})]))
    agent = Agent("offline", tools=[add, pay])
    session = Sessions(os.environ.get("DB", ":memory:"))["ada"]
    [ticket] = agent.run_sync("pay amount=5", session=session).pending
    paid = agent.run_sync(None, session=session, decisions=[ticket.approve()]).output
    if awaited.content != "3" or "paid 5 €" not in paid:
        raise ValueError((awaited, paid))
    RunState.from_json(agent.run_sync("pay amount=5").state.to_json())


if __name__ == "__main__":
    minute()
    print("fine")
