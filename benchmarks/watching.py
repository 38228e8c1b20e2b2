"""What watching costs: ``python -m benchmarks.watching``.

The same run, in turns, with nothing beside it and with its session's page open in Chromium, which
follows it live: once in a process of its own, once in the inspector's, where pages are made on the
loop of the run. Two ratios of medians are said: of the whole runs, and of all their turns, which the
machine's other work disturbs less. Then a session of 100,000 events is opened at its end and in its
middle.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, pairwise
from pathlib import Path

import httpx2
from playwright.sync_api import Page, sync_playwright

from toolkeel import Agent, tool
from toolkeel._records.entries import ModelReplied
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_workspace.computer.browser import PROGRAMS

AGENT = """
import asyncio, sys
from toolkeel import Agent, tool
from toolkeel._records.entries import ModelReplied
from toolkeel_studio.inspector.app import Inspector
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
sessions = Sessions(file)
"""
RUN = AGENT + "agent.run_sync('go', session=sessions.open(name))"
PAGE = (
    AGENT
    + """
page = Inspector(agent, sessions)
asyncio.run(page.serve(lambda: print(page.url, flush=True)))
"""
)


@contextmanager
def inspected(*words: str) -> Iterator[httpx2.Client]:
    """An inspector in a process of its own, and who is let in."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            base = url.partition("/login")[0]
            with httpx2.Client(timeout=60, headers={"Origin": base}) as client:
                client.base_url = httpx2.URL(base + client.get(url).headers["location"])
                yield client
        finally:
            process.terminate()


def of_file(file: Path) -> tuple[str, ...]:
    """The command of an inspector of a file of sessions."""
    return "-m", "toolkeel", "inspect", "calculator", "--file", str(file)


@contextmanager
def chromium(client: httpx2.Client) -> Iterator[Page]:
    """A page of Chromium that has been at the inspector before."""
    base = str(client.base_url).rstrip("/")
    cookies = [{"name": n, "value": v, "url": base} for n, v in client.cookies.items()]
    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context()
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(f"{base}/tools")
        yield page
        browser.close()


def follow(page: Page, client: httpx2.Client, name: str) -> None:
    """Open the session's page once there is one; its script follows the run from then on."""
    while page.goto(f"{client.base_url}sessions/{name}").status != 200:
        time.sleep(0.05)


def took(file: Path, name: str) -> list[float]:
    """Seconds of each turn of a session that has ended: from one reply to the next."""
    sessions = Sessions(file)
    while not (sessions[name].exists and sessions[name].info.ended):
        time.sleep(0.1)
    entries = list(sessions[name].entries())
    sessions.close()
    at = [each.at for each in entries if isinstance(each.entry, ModelReplied)]
    return [after - before for before, after in pairwise([entries[0].at, *at])]


def elsewhere(file: Path, turns: int, rounds: int) -> list[list[list[float]]]:
    """Seconds of a run in a process of its own: alone, and watched."""
    found: list[list[list[float]]] = [[], []]
    for n in range(rounds):
        for watched in (False, True):
            name = f"elsewhere-{n}-{watched}"
            words = [sys.executable, "-c", RUN, str(file), name, str(turns)]
            if not watched:
                subprocess.run(words, check=True)
            else:
                with (
                    inspected(*of_file(file)) as client,
                    chromium(client) as page,
                    subprocess.Popen(words),
                ):
                    follow(page, client, name)
            found[watched].append(took(file, name))
    return found


def inside(file: Path, turns: int, rounds: int) -> list[list[list[float]]]:
    """Seconds of a run that the inspector itself began: nobody looks, and watched."""
    found: list[list[list[float]]] = [[], []]
    for n in range(rounds):
        for watched in (False, True):
            name = f"inside-{n}-{watched}"
            with inspected("-c", PAGE, str(file), name, str(turns)) as client, ExitStack() as open_:
                page = open_.enter_context(chromium(client)) if watched else None
                client.post("/sessions", data={"text": "go", "name": name})
                if page is not None:
                    follow(page, client, name)
                found[watched].append(took(file, name))
    return found


def tell(what: str, alone: list[list[float]], watched: list[list[float]]) -> None:
    """The medians of runs, their ratio, that of their turns, and how far the rounds are apart."""
    runs = [[sum(each) for each in kind] for kind in (alone, watched)]
    pairs = sorted(with_it / without for without, with_it in zip(*runs, strict=True))
    without, with_it = map(statistics.median, runs)
    one, other = (statistics.median(chain(*kind)) for kind in (alone, watched))
    print(
        f"{what}: {without:.3f} s alone, {with_it:.3f} s watched, {with_it / without:.3f}", end=""
    )
    print(f" (rounds {pairs[0]:.3f} to {pairs[-1]:.3f}), turns {other / one:.3f}", flush=True)


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
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sessions.db")
        tell("a run elsewhere", *elsewhere(file, given.turns, given.rounds))
        tell("a run of the inspector's", *inside(file, given.turns, given.rounds))
        long_session(file, given.events)
        with inspected(*of_file(file)) as client:
            for path in ("/sessions/long", f"/sessions/long?before={given.events // 2}"):
                took = []
                for _ in range(9):
                    began = time.perf_counter()
                    assert client.get(path).status_code == 200
                    took.append(time.perf_counter() - began)
                print(f"{path}: {statistics.median(took) * 1000:.0f} ms, median of {len(took)}")


if __name__ == "__main__":
    main()
