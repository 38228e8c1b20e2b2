"""What watching costs: ``python -m benchmarks.watching``.

A run writes its session in a process of its own. Beside it, in turns, there is nothing, or an
inspector with the session's page open: it reads the stream of events and fetches the page anew at
each, as the script of the page does. What is said is the ratio of the medians. Then a session of
100,000 events is opened at its end and in its middle.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2

from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

RUN = """
import asyncio, sys, time
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

@tool
async def look(query: str) -> str:
    "Look something up."
    await asyncio.sleep(0.02)
    return query

class Slow(Scripted):
    async def stream(self, request):
        await asyncio.sleep(0.05)
        async for delta in super().stream(request):
            yield delta

file, name, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
script = [[call("look", {"query": str(n)}), call("look", {"query": "x"})] for n in range(turns)]
agent = Agent(Slow([*script, "done"]), [look], max_turns=turns + 2)
session = Sessions(file).open(name)
began = time.perf_counter()
agent.run_sync("go", session=session)
print(time.perf_counter() - began)
"""


@contextmanager
def inspected(file: Path) -> Iterator[httpx2.Client]:
    """An inspector of a file of sessions, in a process of its own, and who is let in."""
    words = [sys.executable, "-m", "toolkeel", "inspect", "calculator", "--file", str(file)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            with httpx2.Client(base_url=url.partition("/login")[0], timeout=60) as client:
                client.get(url)
                yield client
        finally:
            process.terminate()


def watch(client: httpx2.Client, name: str, over: threading.Event) -> None:
    """What an open page does."""
    with suppress(httpx2.HTTPError):  # the inspector has ended
        while not over.is_set():
            with client.stream("GET", f"/events/{name}") as stream:
                for line in stream.iter_lines():
                    if line.startswith("event: journal"):
                        client.get(f"/sessions/{name}")
            time.sleep(0.05)  # not begun yet


def ran(file: Path, name: str, turns: int) -> float:
    """Seconds a run takes in a process of its own."""
    words = [sys.executable, "-c", RUN, str(file), name, str(turns)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def beside(file: Path, turns: int, rounds: int) -> tuple[float, float]:
    """Medians of the same run alone and watched."""
    alone, watched = [], []
    for n in range(rounds):
        alone.append(ran(file, f"alone-{n}", turns))
        with inspected(file) as client:
            over = threading.Event()
            page = threading.Thread(target=watch, args=(client, f"watched-{n}", over))
            page.start()
            watched.append(ran(file, f"watched-{n}", turns))
            over.set()
        page.join()
    return statistics.median(alone), statistics.median(watched)


@tool
def look(query: str) -> str:
    """Look something up."""
    return query


def long_session(file: Path, events: int) -> None:
    """A session of so many events: one short run, again and again."""
    sessions = Sessions(file)
    script = [[call("look", {"query": str(n)}) for n in range(10)], "done"]
    Agent(Scripted(script), [look]).run_sync("hi", session=sessions.open("short"))
    head, *rows = sessions.export("short")
    run = rows[0].partition('"run": "')[2][:16]

    def lines() -> Iterator[str]:
        yield head
        for n in range(events // len(rows) + 1):
            for row in rows:
                yield row.replace(run, f"{n:016x}").replace('"call_', f'"c{n}_')

    sessions.import_(lines(), "long")
    sessions.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sessions.db")
        alone, watched = beside(file, given.turns, given.rounds)
        print(f"a run of {given.turns} turns: {alone:.2f} s alone, {watched:.2f} s watched")
        print(f"watched / alone: {watched / alone:.3f}")
        long_session(file, given.events)
        with inspected(file) as client:
            for path in ("/sessions/long", f"/sessions/long?before={given.events // 2}"):
                took = []
                for _ in range(9):
                    began = time.perf_counter()
                    assert client.get(path).status_code == 200
                    took.append(time.perf_counter() - began)
                print(f"{path}: {statistics.median(took) * 1000:.0f} ms, median of {len(took)}")


if __name__ == "__main__":
    main()
