"""Write what a release leaves behind: a session, a saved run and a cassette.

``python -m tests.releases.write 0.1.0`` makes the folder of a release once; later versions read it.
"""

from __future__ import annotations

import asyncio
import datetime
import sys
from decimal import Decimal
from pathlib import Path

from toolkeel import Agent, AssistantMessage, ToolCall, ToolContext, UserMessage, tool
from toolkeel.sessions import Sessions
from toolkeel.testing import Cassette, Scripted
from toolkeel.testing.taped import TapedModel

HERE = Path(__file__).parent


@tool
def note(text: str, context: ToolContext[None]) -> str:
    """Write a note."""
    context.state["when"] = datetime.date(2026, 11, 27)
    context.state["price"] = Decimal("12.50")
    return f"noted: {text}"


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def script() -> Scripted:
    """Make the model: a note, then a payment that waits."""
    return Scripted(
        [
            AssistantMessage("", (ToolCall("c1", "note", '{"text": "你好 🌍"}'),), "tool_calls"),
            "It is noted.",
            AssistantMessage("", (ToolCall("c2", "pay", '{"amount": 5}'),), "tool_calls"),
        ]
    )


async def write(folder: Path) -> None:
    """Write the files into a new folder."""
    model = TapedModel(Cassette(folder / "cassette.json", "once"), script())
    agent = Agent(model, [note, pay], instructions="Be brief.")
    sessions = Sessions(folder / "sessions.db")
    session = sessions.open("talk")
    await agent.run("note 你好", session=session)
    await agent.run("pay 5", session=session)
    sessions.close()
    alone = Agent(script(), [note, pay], instructions="Be brief.")
    first = await alone.run("note 你好")
    result = await alone.run([*first.messages, UserMessage("pay 5")], state=first.state.values)
    (folder / "run.json").write_text(result.state.to_json(), "utf-8")


if __name__ == "__main__":
    (HERE / sys.argv[1]).mkdir()
    asyncio.run(write(HERE / sys.argv[1]))
