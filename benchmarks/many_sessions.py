"""Many sessions on one PostgreSQL, from several processes: ``python -m benchmarks.many_sessions [SESSIONS]``.

Starts a server of its own (Debian's package), with ``fsync`` on. Each process runs its share of the
sessions, 20 at a time: a prompt, a call that writes the state, an answer, and the same once more
later. At the end every session is looked at: nothing of another one may be in it. The second part
puts the same runs into a queue, for as many workers.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

from tests.sessions.postgres_server import serving
from toolkeel import Agent, ToolContext, tool
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.durable import Durable

PROCESSES = 4
AT_ONCE = 20
TURNS = 2


def resident() -> float:
    """Megabytes of memory this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@tool
def mark(who: str, context: ToolContext[None]) -> str:
    """Mark."""
    return context.update("marks", lambda marks: [*marks, who], [])[-1]


class Marks(Scripted):
    """Marks the session by the name it was told last."""

    async def stream(self, request):  # type: ignore[no-untyped-def]
        texts = [message.text for message in request.messages]
        said = next(text for text in reversed(texts) if text.startswith("who is "))
        name = said.removeprefix("who is ")
        self._lines = iter([f"I am {name}" if texts[-1] == name else call("mark", {"who": name})])
        async for delta in super().stream(request):
            yield delta


marking = Agent(Marks([]), [mark], name="marking")


async def share(sessions: Sessions, names: list[str]) -> None:
    """Run one process's sessions, and print what it took."""
    room, took, held = asyncio.Semaphore(AT_ONCE), list[float](), list[float]()

    async def one(name: str) -> None:
        async with room:
            begun = perf_counter()
            await marking.run(f"who is {name}", session=sessions[name])
            took.append(perf_counter() - begun)
            if len(took) % (len(names) // 5) == 0:
                held.append(resident())

    for _ in range(TURNS):
        await asyncio.gather(*map(one, names))
    took.sort()
    print(median(took) * 1000, took[int(len(took) * 0.95)] * 1000, *(round(m) for m in held))


def check(address: str, names: list[str]) -> int:
    """How many sessions hold anything of another one, or not all of their own."""
    sessions = Sessions(address)
    wrong = 0
    for name in names:
        fold = sessions[name].load_state()
        texts = {m.text for m in fold.view.messages} - {"", name}
        wrong += fold.state["marks"] != [name] * TURNS
        wrong += texts != {f"who is {name}", f"I am {name}"}
    sessions.close()
    return wrong


def by_processes(address: str, count: int) -> None:
    """Sessions run by processes that share nothing but the database."""
    names = [f"{p}-{n}" for p in range(PROCESSES) for n in range(count // PROCESSES)]
    begun = perf_counter()
    words = [sys.executable, "-m", "benchmarks.many_sessions"]
    started = [
        subprocess.Popen(
            [*words, "share", address, str(p), str(count)], stdout=subprocess.PIPE, text=True
        )
        for p in range(PROCESSES)
    ]
    said = [process.communicate()[0].split() for process in started]
    seconds = perf_counter() - begun
    print(f"{count} sessions, {TURNS} runs each, {PROCESSES} processes: {seconds:.1f} s,")
    print(f"  {count * TURNS / seconds:.0f} runs a second; {check(address, names)} crossed")
    for line in said:
        print(f"  a run {float(line[0]):.0f} ms (p95 {float(line[1]):.0f}); MB held: {line[2:]}")


def by_workers(address: str, count: int) -> None:
    """The same as durable runs, by as many workers."""
    durable = Durable(marking, Sessions(address), max_concurrency=AT_ONCE)
    names = [f"d-{n}" for n in range(count)]
    begun = perf_counter()
    for turn in range(TURNS):
        for name in names:
            durable.start(f"who is {name}", session=name, id=f"{name}-{turn}")
    queued = perf_counter() - begun
    words = [sys.executable, "-m", "benchmarks.many_sessions", "work", address]
    workers = [
        subprocess.Popen([*words, f"w{p}"], stdout=subprocess.PIPE, text=True)
        for p in range(PROCESSES)
    ]
    held = [process.communicate()[0].split() for process in workers]
    seconds = perf_counter() - begun - queued
    print(f"{count * TURNS} durable runs: queued in {queued:.1f} s, run in {seconds:.1f} s,")
    print(f"  {count * TURNS / seconds:.0f} runs a second; {check(address, names)} crossed")
    print(f"  MB held at the first and last second: {held}")
    durable.close()


def work(address: str, id: str) -> None:
    """Be a worker until nothing is left."""
    durable = Durable(marking, Sessions(address), max_concurrency=AT_ONCE)
    stop, held = threading.Event(), list[float]()

    def watch() -> None:
        sleep(3)
        while durable._queue.client.list_workflows(status=["ENQUEUED", "PENDING"], limit=1):
            held.append(resident())
            sleep(1)
        stop.set()

    threading.Thread(target=watch, daemon=True).start()
    durable.work(id, stop=stop)
    print(*(round(m) for m in held[:1] + held[-1:]))


def main(words: list[str]) -> None:
    """Do what the words say; without any, all of it."""
    if words[:1] == ["share"]:
        part, count = int(words[2]), int(words[3])
        names = [f"{part}-{n}" for n in range(count // PROCESSES)]
        asyncio.run(share(Sessions(words[1]), names))
    elif words[:1] == ["work"]:
        work(words[1], words[2])
    else:
        count = int(words[0]) if words else 1000
        with serving("on") as server:
            by_processes(server.new_database(), count)
            by_workers(server.new_database(), count)


if __name__ == "__main__":
    main(sys.argv[1:])
