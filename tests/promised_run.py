"""A run by one of many routes, in steps: ``python -m tests.promised_run`` reads them, some for a process.

The model notes typed values and calls a tool with a step that hangs, then it calls `erase`, which a rule denies, and `pay`, which a person must
approve. `pay` succeeds, raises an error that quotes a secret, or kills its process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from tests.agent.valid import problems
from tests.sessions.killed_run import serve
from toolkeel import Agent, AssistantMessage, Effects, Injected, SetupError, ToolContext, tool
from toolkeel.approvals import Decision, Rules, Ticket
from toolkeel.events import Event
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.runs import RunLimits, RunState
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import DecisionRefused
from toolkeel.testing.scripted import Line, Scripted, call

ROUTES = (
    *("session", "saved state", "import", "fork", "inner run", "run in a body", "stream", "sync"),
    *("answer", "other process"),
)
"""Ways a run can take. With the last, each step is in a process of its own."""
TOKEN = "s3cr3t/токен+1"
BOUND = 9


@dataclass
class Note:
    """A value with a type of its own."""

    amount: Decimal
    tags: set[str]


NOTES: dict[str, object] = {
    "when": datetime(2026, 11, 27, 23, 59, tzinfo=UTC),
    "note": Note(Decimal("5.10"), {"a", "б"}),
    "raw": b"\x00\xff",
    "by number": {1: "a"},
}


class Model(Scripted):
    """A model whose replies depend on the transcript alone."""

    def __init__(self, log: Path, plan: list[Line]) -> None:
        super().__init__([])
        self._log, self._plan = log, plan

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        write(self._log, "asked")
        said = [each for each in request.messages if isinstance(each, AssistantMessage)]
        self._lines = iter([self._plan[min(len(said), 2)]])
        async for delta in super().stream(request):
            yield delta


def write(path: Path, line: str) -> None:
    """Add a line to a file, which survives a kill."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")


class Step:
    """One step of a route: what starts, decides or continues a run, and what is read of it at the end.

    Args:
        folder: For logs and saved states.
        place: Of the sessions.
        route: One of `ROUTES`.
        end: How the body of `pay` ends: ``good``, ``failing`` or ``killed``.
    """

    def __init__(self, folder: Path, place: str, route: str, end: str) -> None:
        self.folder, self.route, self.end = folder, route, end
        self.log = folder / "log"
        self.sessions = Sessions(place)
        on_message: Any = "answer" if route == "answer" else "queue"
        name = {"import": "copy", "fork": "twig"}.get(route, "ada")
        exists = self.sessions[name].exists
        self.session = self.sessions.open(name if exists else "ada", on_message=on_message)
        self.agent = self._agent()

    def _agent(self) -> Agent[Any, str]:
        log, end = self.log, self.end

        @tool
        async def note(context: ToolContext[Any]) -> str:
            """Note."""
            for key, value in NOTES.items():
                context.state[key] = value
            return "noted"

        @tool
        async def erase() -> str:
            """Erase."""
            write(log, "erased")
            return "erased"

        @tool(approval=True, effects=Effects(idempotent=False))
        async def pay(amount: int, token: Annotated[str, Injected]) -> str:
            """Pay."""
            write(log, "paid")
            if end == "failing":
                raise ConnectionError(f"GET https://api/?key={token}")
            if end == "killed" and log.read_text("utf-8").count("paid\n") == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return f"paid {amount}"

        async def hang(prepared: Any, context: Any, proceed: Any) -> object:
            write(log, "hung")
            await asyncio.Event().wait()

        hang.step_timeout = 0.05  # type: ignore[attr-defined]

        @tool(steps=[hang])
        async def stall() -> str:
            """Stall."""
            write(log, "stalled")
            return "stalled"

        both = [call("erase"), call("pay", {"amount": 5})]
        plan: list[Line] = [[call("note"), call("stall")], both, "done"]
        options: Any = {"used_tickets": self.folder / "used"}
        clerk = Agent(
            Model(log, plan),
            [note, erase, pay, stall],
            name="clerk",
            **(options if self.is_outer else {}),
            rules=Rules(deny=["erase*"]) if self.is_outer else None,
        )
        if self.is_outer:
            return clerk

        @tool(name="clerk", effects=Effects(idempotent=True))
        async def ask() -> str:
            """Ask the clerk."""
            inject = {"token": TOKEN}
            return (await clerk.run("go", inject=inject)).output

        within = clerk.as_tool("clerk") if self.route == "inner run" else ask
        arguments = {"input": "go"} if self.route == "inner run" else {}
        return Agent(
            Model(log, [call("note"), call("clerk", arguments), "done"]),
            [note, within],
            name="desk",
            rules=Rules(deny=["erase*"]),
            **options,
        )

    @property
    def is_outer(self) -> bool:
        """True if the agent that pays is the one that is asked."""
        return self.route not in ("inner run", "run in a body")

    # — the steps —

    def run(self, prompt: Any, decisions: list[Decision]) -> Any:
        """Run the agent by the route's way of calling it."""

        def listen(event: Event) -> None:
            write(self.folder / "events", repr(event))

        options: dict[str, Any] = {
            "inject": {"token": TOKEN},
            "listeners": [listen],
            "limits": RunLimits(requests=BOUND),
        }
        if decisions:
            options["decisions"] = decisions
        if self.route != "saved state":
            options["session"] = self.session
        if self.route == "run in a body":
            options["approver"] = lambda ticket: self._approve(ticket)
        if self.route == "sync":
            return self.agent.run_sync(prompt, **options)

        async def main() -> Any:
            if self.route != "stream":
                return await self.agent.run(prompt, **options)
            run = self.agent.stream(prompt, **options)
            async for _ in run:
                pass
            return run.result

        return asyncio.run(main())

    def _approve(self, ticket: Ticket) -> bool:
        write(self.log, f"approver {ticket.tool}")
        return "did this happen" not in ticket.reason

    def start(self) -> str:
        """Run until the payment waits."""
        result = self.run("go", [])
        (self.folder / "first.json").write_text(result.state.to_json(), "utf-8")
        if self.route == "import":
            self.sessions.import_(list(self.sessions.export("ada")), "copy")
        if self.route == "fork":
            self.sessions.fork("ada", "twig")
        if self.route == "answer":
            self.run("hello", [])
        return str(result.reason)

    def decide(self) -> str:
        """Approve what waits, and continue."""
        saved = RunState.from_json((self.folder / "first.json").read_text("utf-8"))
        if self.route == "saved state":
            decisions = [each.approve() for each in saved.pending]
            return self._save(self.run(saved, decisions))
        if self.route in ("import", "fork"):  # a decision for the original is none for the copy
            for each in saved.pending:
                with suppress(DecisionRefused):
                    self.session.decide(each.approve())
            assert self.run(None, []).reason == "waiting"
        for each in self.session.pending:
            self.session.decide(each.approve())
        return self._save(self.run(None, []))

    def recover(self) -> str:
        """Continue after a kill: a person says that it happened."""
        if self.route == "saved state":
            saved = RunState.from_json((self.folder / "first.json").read_text("utf-8"))
            with suppress(SetupError):  # its decision is used up: nobody knows if it ran
                return self._save(self.run(saved, [each.approve() for each in saved.pending]))
            return "used up"
        result = self.run(None, [])
        answers = [each.deny("it did") for each in self.session.pending]
        return self._save(self.run(None, answers) if answers else result)

    def again(self) -> str:
        """Try each old decision twice more, by each route that it has. Return what is there, as JSON."""
        found, before = self._look(), self.log.read_text("utf-8")
        path = self.folder / "first.json"
        saved = RunState.from_json(path.read_text("utf-8")) if path.exists() else RunState(())
        decisions = [each.approve() for each in saved.pending]
        for _ in range(2):
            with suppress(SetupError):
                self.agent.run_sync(saved, decisions=decisions, inject={"token": TOKEN})
            if not self.session.exists:
                continue
            for each in decisions:
                with suppress(DecisionRefused):
                    self.session.decide(each)
            with suppress(SetupError):
                self.run(None, [])
        after = self.log.read_text("utf-8")
        found["paid again"] = after.count("paid\n") - before.count("paid\n")
        return json.dumps(found)

    def _save(self, result: Any) -> str:
        (self.folder / "last.json").write_text(result.state.to_json(), "utf-8")
        return str(result.reason)

    def _look(self) -> dict[str, Any]:
        """Return what is there at the end of the run."""
        log = self.log.read_text("utf-8").splitlines()
        last = RunState.from_json(
            (self.folder / ("last.json" if (self.folder / "last.json").exists() else "first.json"))
            .read_text("utf-8")
        )  # fmt: skip
        in_session = self.session.exists and self.route != "saved state"
        messages = self.session.messages if in_session else list(last.messages)
        values = self.session.state if in_session else dict(last.values)
        used = self.session.usage if in_session else last.usage
        texts = [path.read_bytes() for path in self.folder.rglob("*") if path.is_file()]
        exported = ("".join(self.sessions.export(each.name)) for each in self.sessions.list())
        texts += [text.encode() for text in exported]
        forms = [TOKEN.encode(), json.dumps(TOKEN)[1:-1].encode(), quote(TOKEN).encode()]
        return {
            "asked": log.count("asked"), "paid": log.count("paid"), "erased": log.count("erased"),
            "hung": log.count("hung"), "stalled": log.count("stalled"),
            "requests": used.requests,
            "typed": all(values.get(key) == value for key, value in NOTES.items()),
            "problems": [each for each in problems(messages) if not last.pending],
            "secret": any(form in text for text in texts for form in forms),
            "pending": len(self.session.pending) if in_session else 0,
        }  # fmt: skip


def play(words: list[str]) -> str:
    """Do some steps, one after the other. Return what the last tells."""
    folder, place, route, end, steps = words
    said = ""
    for step in steps.split("+"):
        made = Step(Path(folder), place, route, end)
        said = getattr(made, step)()
        made.sessions.close()
    return said


def plan_steps(route: str, end: str) -> list[str]:
    """Return what each process of a route does."""
    steps = ["start"] if route == "run in a body" else ["start", "decide"]
    later = [*(["recover"] if end == "killed" else []), "again"]
    if route == "other process":
        return [*steps, *later]
    return ["+".join(steps), "+".join(later)] if end == "killed" else ["+".join([*steps, *later])]


if __name__ == "__main__":
    serve(lambda words: play([*words]))
