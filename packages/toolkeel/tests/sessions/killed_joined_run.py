"""A run whose tool's body runs an agent, that kills itself at a step of either; see `killed_run`."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.sessions.killed_run import serve
from toolkeel import Agent, Effects, ToolContext, tool
from toolkeel.approvals import Decision, Ticket
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call

MOST = 9
"""Requests that the outer run may send."""


def run(folder: Path, when: str, kind: str, prompt: str) -> str:
    """Run an agent within a body, and die at one place; or go on, with no prompt."""

    def die(now: str) -> None:
        if now == when:
            os.kill(os.getpid(), signal.SIGKILL)

    def note(what: str) -> None:
        with open(folder / "log", "a", encoding="utf-8") as lines:
            lines.write(f"{what}\n")

    @tool(effects=Effects(idempotent=False))
    async def pay() -> str:
        """Pay."""
        die("before")
        note("paid")
        die("inside")
        return "paid 5"

    class Model(Scripted):
        def __init__(self, name: str, called: str) -> None:
            super().__init__([])
            self.who, self.called = name, called

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
            place = f"{self.who} {len(request.messages)}"
            note(f"asks {place}")
            die(place)
            self._lines = iter([call(self.called) if len(request.messages) < 2 else "done"])
            async for delta in super().stream(request):
                yield delta

    clerk = Agent(Model("clerk", "pay"), [pay], name="clerk")

    @tool(effects=Effects(idempotent=kind == "safe"))
    async def refund(context: ToolContext[Any]) -> str:
        """Refund."""
        result = await clerk.run("pay")
        die("after")
        return result.output

    def approver(ticket: Ticket) -> Decision:
        note(f"person {ticket.tool}")
        happened = "paid\n" in (folder / "log").read_text("utf-8")
        return ticket.deny("it did") if happened else ticket.approve()

    desk = Agent(Model("desk", "refund"), [refund], name="desk")
    session = Sessions(folder / "talk.db")["ada"]
    limits = RunLimits(requests=MOST)
    result = desk.run_sync(prompt or None, session=session, approver=approver, limits=limits)
    return f"{result.reason} {result.usage.requests}"


if __name__ == "__main__":
    serve(lambda words: run(Path(words[0]), *words[1:]))
