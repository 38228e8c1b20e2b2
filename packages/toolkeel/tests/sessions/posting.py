"""Processes that do the same to the same sessions at the same time: ``python -m tests.sessions.posting``.

Each prints ``ready``, waits for a line, and prints what it was told, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from tests.shared import ROOT, optional
from toolkeel import Agent, tool
from toolkeel.messages import ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call


class Model(Scripted):
    """Pays what the prompt says, call by call in one turn, then answers."""

    async def stream(self, request: ModelRequest):  # type: ignore[no-untyped-def, override]
        """See `Scripted.stream`."""
        results = sum(isinstance(message, ToolMessage) for message in request.messages)
        calls = [call("pay", {"amount": n}) for n in range(int(request.messages[0].text))]
        self._lines = iter(["done" if results else calls])
        async for delta in super().stream(request):
            yield delta


def payer(log: Path, *, approval: bool = True) -> Agent:
    """An agent whose payments leave a line each in a file, and must not happen twice."""

    @tool(approval=approval)
    def pay(amount: int) -> str:
        """Pay."""
        with log.open("a") as lines:
            lines.write(f"{amount}\n")
        return f"paid {amount}"

    return Agent(Model([]), [pay], name="payer")


def paid(log: Path) -> list[str]:
    """The amounts that were paid, sorted."""
    return sorted(log.read_text().split()) if log.exists() else []


def decide_and_run(sessions: Sessions, folder: Path, names: list[str], who: str) -> list[object]:
    """Approve all that waits in each session and go on with it; for each whose decision counted."""
    found: list[object] = []
    for name in names:
        session = sessions[name]
        firsts = {t.id: session.decide(t.approve(), who) for t in session.pending}
        found.append({id: first.who if first else who for id, first in firsts.items()})
        payer(folder / name).run_sync(None, session=session)
    return found


def begin_orders(sessions: Sessions, folder: Path, names: list[str], who: str) -> list[object]:
    """Begin one order per session, as a worker does; how each ended."""
    durable = optional("toolkeel_studio.durable.journaled")

    async def work(name: str) -> object:
        order = durable.RunOrder(id=f"order {name}", session=name, scope="", prompt="2", since=0)
        return await durable.run_order(payer(folder / name, approval=False), sessions, order, {})

    async def work_all() -> list[object]:
        return list(await asyncio.gather(*map(work, names)))

    return asyncio.run(work_all())


def at_once(job: str, places: list[str], folder: Path, names: list[str]) -> list[list[object]]:
    """Do a job in one process for each place, all at once; what each was told."""
    words = [sys.executable, "-m", "tests.sessions.posting", job, str(folder), *names]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    made = [subprocess.Popen([*words[:4], place, str(n), *words[4:]], **pipes) for n, place in enumerate(places)]  # type: ignore[call-overload]  # fmt: skip
    for process in made:
        assert process.stdout.readline() == "ready\n"
    for process in made:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120)[0] for process in made]
    assert [process.returncode for process in made] == [0] * len(made)
    return [json.loads(text) for text in told]


def main(job: str, place: str, who: str, folder: str, *names: str) -> None:
    """Be such a process."""
    sessions = Sessions(place)
    doing = {"decide": decide_and_run, "begin": begin_orders}[job]
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(doing(sessions, Path(folder), list(names), who)))
    sessions.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
