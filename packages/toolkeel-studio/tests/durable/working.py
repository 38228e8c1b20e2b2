"""Workers of durable runs of ten steps that can be killed: ``python -m tests.durable.working``.

Each line of its input is a job; a fork does it, so that what workers import is imported once. Each
job is one worker: it runs what is in the queue until nothing is, or until it is killed. Each line of
its output is a pid that has begun, or how one has ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkeel import Agent, Effects, ToolContext, tool
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call
from toolkeel_studio.durable import Durable

STEPS = 10
ROOT = Path(__file__).resolve().parents[4]
ANY = {"PENDING", "ENQUEUED", "DELAYED"}


def die(folder: Path, plan: str, now: str) -> None:
    """Die here if this is what the plan says: once, or always until there is a cure."""
    if plan == f"always {now}" and not (folder / "cured").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    everywhere = plan == "everywhere" and now.startswith("before")
    marker = folder / f"died {plan} {now}"
    if (plan == now or everywhere) and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def agent_of(folder: Path, *, safe: bool = True, pause: float = 0) -> Agent:
    """An agent that does ten steps, or pays if it is asked to; what it is told says where it dies.

    Args:
        folder: Where its steps leave their traces.
        safe: Whether a step may be done twice.
        pause: Seconds that a step takes.
    """

    @tool(effects=Effects(idempotent=safe), timeout=None)
    def work(n: int, plan: str, context: ToolContext) -> str:
        """Do a step."""
        die(folder, plan, f"before {n}")
        with open(folder / "log", "a") as lines:
            lines.write(f"{plan}|{n}|{context.idempotency_key}\n")
        die(folder, plan, f"inside {n}")
        time.sleep(pause)
        return f"did {n}"

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        with open(folder / "log", "a") as lines:
            lines.write(f"paid {amount}\n")
        return f"paid {amount}"

    class Model(Scripted):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
            texts = [message.text for message in request.messages]
            plan, done = texts[0], sum(text.startswith(("did ", "paid ")) for text in texts)
            if plan.startswith("pay"):
                reply = "Paid." if done else call("pay", {"amount": 5})
            else:
                die(folder, plan, f"after {done - 1}")
                more = done < STEPS
                reply = call("work", {"n": done, "plan": plan}) if more else f"all of {plan}"
            self._lines = iter([reply])
            async for delta in super().stream(request):
                yield delta

    return Agent(Model([]), [work, pay], name="ten steps")


def durable_of(
    folder: Path,
    place: str,
    *,
    width: int = 1,
    safe: bool = True,
    pause: float = 0,
    denies: bool = False,
) -> Durable:
    """The runs of such an agent; a program may answer each question whether a step has happened."""
    agent = agent_of(folder, safe=safe, pause=pause)
    answers: dict[str, Any] = {"approver": lambda _: False} if denies else {}
    return Durable(agent, Sessions(place), max_concurrency=width, **answers)


@contextmanager
def working(
    durable: Durable, id: str = "one", drain: float = 10, **words: str
) -> Iterator[list[bool]]:
    """A worker in a thread of this process while the block runs, and whether all had ended."""
    stop, ended = threading.Event(), list[bool]()
    thread = threading.Thread(
        target=lambda: ended.append(durable.work(id, stop=stop, drain=drain, **words))
    )
    thread.start()
    try:
        yield ended
    finally:
        stop.set()
        thread.join(30)


def done_in(folder: Path) -> list[str]:
    """What was done, in order."""
    path = folder / "log"
    return path.read_text().splitlines() if path.exists() else []


def left_in(durable: Durable) -> int:
    """Runs that have not ended."""
    return len(durable._queue.client.list_workflows(status=sorted(ANY), load_input=False))


def _work(words: dict[str, object]) -> None:
    """Be a worker until nothing is left, or as long as one is wanted."""
    id, adopt, stays = str(words.pop("id")), words.pop("adopt", ()), words.pop("stays", False)
    folder, place = Path(str(words.pop("folder"))), str(words.pop("place"))
    durable = durable_of(folder, place, **words)  # type: ignore[arg-type]
    stop = threading.Event()

    def watch() -> None:
        while left_in(durable):
            time.sleep(0.1)
        stop.set()

    if not stays:
        threading.Thread(target=watch, daemon=True).start()
    durable.work(id, adopt=adopt, stop=stop, drain=5)  # type: ignore[arg-type]


def _fork(words: dict[str, object]) -> None:
    child = os.fork()
    if not child:
        try:
            _work(words)
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    print(child, flush=True)
    threading.Thread(target=_reap, args=(child,), daemon=True).start()


def _reap(child: int) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([child, code]), flush=True)


class Workers:
    """Workers, each a fork of one program.

    Args:
        process: The program.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._ended: dict[int, int] = {}
        self.living: set[int] = set()

    def begin(self, folder: Path, place: str, id: str, **words: object) -> int:
        """Begin a worker; its pid."""
        assert self._process.stdin is not None
        job = {"folder": str(folder), "place": place, "id": id, **words}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        while True:
            line = self._line()
            if isinstance(line, int):
                self.living.add(line)
                return line

    def end_of(self, pid: int) -> int:
        """How a worker ends: its status, negative for a signal."""
        while pid not in self._ended:
            self._line()
        return self._ended[pid]

    def kill(self, pid: int) -> None:
        """Kill a worker."""
        if pid in self.living:
            os.kill(pid, signal.SIGKILL)
        self.end_of(pid)

    def _line(self) -> object:
        assert self._process.stdout is not None
        text = self._process.stdout.readline()
        assert text, "the program of workers has ended"
        found = json.loads(text)
        if isinstance(found, list):
            self._ended[found[0]] = found[1]
            self.living.discard(found[0])
        return found


@contextmanager
def workers() -> Iterator[Workers]:
    """Workers while the block runs; none is left behind."""
    words = [sys.executable, "-m", "tests.durable.working"]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    made = Workers(process)
    try:
        yield made
    finally:
        for pid in list(made.living):
            made.kill(pid)
        process.communicate()


if __name__ == "__main__":
    import toolkeel_studio.durable.durable  # noqa: F401  (before the forks)

    for line in sys.stdin:
        _fork(json.loads(line))
