"""A run of ten steps that kills itself, in children of one process: ``python -m tests.sessions.killed_run``.

Each line of its input is a job, a list of words; a fork does it, so that Python is started once. Each
line of its output is what became of one: the status of the child, and what it printed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from toolkeel import Agent, Effects, ToolContext, tool
from toolkeel.approvals import Decision, Ticket
from toolkeel.events import Event
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

STEPS = 10
ROOT = Path(__file__).resolve().parents[4]


def run(folder: Path, when: str, step: int, safe: bool, asks: str = "a person") -> str:
    """Do ten steps, and die at one; go on if there is something to go on with."""
    log = folder / "log"

    def die(now: str, n: int) -> None:
        if (now, n) == (when, step):
            os.kill(os.getpid(), signal.SIGKILL)

    @tool(effects=Effects(idempotent=safe))
    def work(n: int, context: ToolContext) -> str:
        """Do a step."""
        die("before", n)
        with open(log, "a") as lines:
            lines.write(f"{n} {context.idempotency_key}\n")
        die("inside", n)
        context.update("done", lambda done: [*done, n], [])
        return f"did {n}"

    class Model(Scripted):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
            done = sum("did " in message.text for message in request.messages)
            die("asked", done)
            self._lines = iter([call("work", {"n": done})] if done < STEPS else ["all done"])
            async for delta in super().stream(request):
                yield delta

    seen: Counter[str] = Counter()

    def hear(event: Event) -> None:
        die(event.type, seen[event.type])
        seen[event.type] += 1

    def approver(ticket: Ticket) -> Decision:
        happened = any(line.startswith(f"{ticket.arguments['n']} ") for line in done_in(folder))
        return ticket.deny(f"yes, did {ticket.arguments['n']}") if happened else ticket.approve()

    session = Sessions(folder / "talk.db")["ada"]
    prompt = None if session.exists else "go"
    given: dict[str, Any] = {"approver": approver} if asks == "a person" else {}
    result = Agent(Model([]), [work]).run_sync(prompt, session=session, listeners=[hear], **given)
    return str(result.reason)


def done_in(folder: Path) -> list[str]:
    """The steps that have happened, and the key of each."""
    path = folder / "log"
    return path.read_text().splitlines() if path.exists() else []


def work_through(
    jobs: Iterable[Sequence[Any]], module: str = "tests.sessions.killed_run"
) -> list[tuple[int, str]]:
    """What becomes of each job: its status, negative for a signal, and what it said."""
    text = "".join(json.dumps([str(word) for word in job]) + "\n" for job in jobs)
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=text, capture_output=True, text=True, timeout=280, cwd=ROOT, check=True,
    )  # fmt: skip
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def _forked(words: Sequence[str], play: Callable[[Sequence[str]], str]) -> tuple[int, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            said = play(words)
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def serve(play: Callable[[Sequence[str]], str]) -> None:
    """Do the jobs that come in, each in a child."""
    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line), play)), flush=True)


if __name__ == "__main__":
    serve(lambda w: run(Path(w[0]), w[1], int(w[2]), w[3] == "safe", *w[4:]))
