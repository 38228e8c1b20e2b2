"""A run of a session that dies at a named place, in a fork, and another that goes on with it.

``python -m tests.testing.killed_anywhere FOLDER PLACE ...`` prints a JSON object by place: how the first
run ended, how the second did, what the bodies have done, and what a person was asked about outcomes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel

from toolkeel import Agent, Effects, Injected, tool
from toolkeel._records.messages_json import dump_message
from toolkeel.approvals import Decision, Ticket
from toolkeel.call.steps.cache import Cache
from toolkeel.call.steps.call_limits import CallLimit
from toolkeel.call.steps.guard import Allow, input_guard, output_guard
from toolkeel.call.steps.retry import Retry
from toolkeel.messages import ToolCall
from toolkeel.sessions import Sessions
from toolkeel.testing.faults import Fault, Faults
from toolkeel.testing.scripted import Scripted


class Report(BaseModel):
    text: str


GUARDS = (input_guard(lambda p, c: Allow()), output_guard(lambda p, o, c: Allow()))


def go(folder: Path, place: str) -> dict[str, object]:
    """Run, and die at a place; with none, begin or go on to the end."""
    asked: list[str] = []

    def done(text: str) -> str:
        with open(folder / "done", "a") as lines:
            lines.write(f"{text}\n")
        return f"did {text}"

    @tool(
        effects=Effects(read_only=True, resources=("report:{name}",)),
        steps=[*GUARDS, CallLimit(20), Cache(), Retry(2, wait=0.001)],
        enabled=lambda context: True,
    )
    async def report(name: str, user: Annotated[str, Injected]) -> Report:
        """Report."""
        return Report(text=done(f"report {name}"))

    @tool(approval=True, effects=Effects(resources=("report:{name}",)), steps=GUARDS)
    def change(name: str) -> str:
        """Change a report."""
        return done(f"change {name}")

    def approver(ticket: Ticket) -> Decision:
        if "did this happen?" in ticket.reason:
            asked.append(ticket.tool)
            return ticket.deny("leave it")
        return ticket.approve()

    with Faults(*[Fault(place, "kill")] if place else []):
        sessions = Sessions(folder / "talk.db")
        session = sessions["ada"]
        named = (
            ("change", '{"name": "a"}'),
            ("report", '```json\n{"name": "b"}\n```'),
            ("nobody", "{}"),
        )
        turns = [tuple(ToolCall(f"c{n}", *each) for n, each in enumerate(named))]
        left = [] if _answered(session) else turns
        model: Any = Scripted([*map(list, left), "done"])
        prompt = None if session.exists and session.messages else "go"
        result = Agent(model, [report, change]).run_sync(
            prompt,
            session=session,
            approver=approver,
            inject={"user": "ada"},
            listeners=[lambda event: None],
        )
        messages = [dump_message(message) for message in session.messages]
        sessions.close()
    return {"reason": result.reason, "asked": asked, "messages": messages}


def _answered(session: Any) -> bool:
    return session.exists and any(getattr(m, "tool_calls", ()) for m in session.messages)


def forked(folder: Path, place: str) -> tuple[int, str]:
    """What became of `go` in a process of its own: its status, and what it gave."""
    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:
        os.close(ours)
        with os.fdopen(theirs, "w") as out:
            json.dump(go(folder, place), out)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as told:
        text = told.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def main(folder: Path, places: list[str]) -> None:
    found = {}
    for place in places:
        own = folder / place.replace(" ", "_")
        own.mkdir()
        first, _ = forked(own, place)
        second, text = forked(own, "")
        lines = (own / "done").read_text().splitlines() if (own / "done").exists() else []
        found[place] = [first, second, lines, json.loads(text or "{}")]
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
