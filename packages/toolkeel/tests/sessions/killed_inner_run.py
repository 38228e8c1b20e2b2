"""A run whose call is an agent, that kills itself at a step of the inner one; see `killed_run`."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.sessions.killed_run import serve
from tests.shared import optional
from toolkeel import Agent, Effects, ToolContext, tool
from toolkeel.approvals import Decision, Ticket
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

STEPS = 3


def run(folder: Path, when: str, kind: str, depth: str) -> str:
    """Ask an agent that does three steps, `depth` agents deep, and die at one; or go on.

    At depth ``code`` one agent asks it by code.
    """

    def die(now: str) -> None:
        if now == when:
            os.kill(os.getpid(), signal.SIGKILL)

    def note(what: str) -> None:
        with open(folder / "log", "a", encoding="utf-8") as lines:
            lines.write(f"{what}\n")

    @tool(effects=Effects(idempotent=kind == "safe"))
    async def work(n: int, context: ToolContext[Any]) -> str:
        """Do a step."""
        die(f"before {n}")
        note(f"{n} {context.idempotency_key}")
        context.state[f"did {n}"] = True
        die(f"inside {n}")
        return f"did {n} of {sum(key.startswith('did') for key in context.state)}"

    class Model(Scripted):
        def __init__(self, level: int) -> None:
            super().__init__([])
            self.level = level

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
            done = sum(" of " in message.text for message in request.messages)
            asked = f"asks{self.level} {len(request.messages)}"
            note(asked)
            die(asked)
            if self.level:
                said: Any = asking if len(request.messages) < 2 else "over"
            else:
                said = call("work", {"n": done}) if done < STEPS else "all done"
            self._lines = iter([said])
            async for delta in super().stream(request):
                yield delta

    def approver(ticket: Ticket) -> Decision:
        note(f"person {ticket.tool}")
        n = ticket.arguments.get("n", "")
        happened = (folder / "log").read_text("utf-8").count(f"\n{n} ")
        return ticket.deny("it did") if happened else ticket.approve()

    agent, asking = Agent(Model(0), [work]), call("below", {"input": "三步"})
    if depth == "code":
        asking = call("code_interpreter", {"code": "print(below(input='三步'))"})
        CodeInterpreterTool = optional("toolkeel_workspace.code.interpreter").CodeInterpreterTool
        agent = Agent(Model(1), [CodeInterpreterTool(tools=[agent.as_tool("below")])])
    else:
        for level in range(1, int(depth) + 1):
            agent = Agent(Model(level), [agent.as_tool("below")])
    session = Sessions(folder / "talk.db")["ada"]
    prompt = None if session.exists else "go"
    result = agent.run_sync(prompt, session=session, approver=approver)
    return str(result.reason)


if __name__ == "__main__":
    serve(lambda words: run(Path(words[0]), *words[1:]))
