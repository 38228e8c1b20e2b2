"""What a session costs, beside bare syncs of the same disk: ``python -m benchmarks.sessions [FOLDER]``.

Each round does one of everything, so that a slow moment of the disk hits all. Give a folder on the
disk that is meant: in memory a sync costs nothing, and the ratios say nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from toolkeel import Agent, tool
from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Entry,
    ModelReplied,
    PersonSaid,
    RunBegan,
    RunEnded,
    StateChanged,
)
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import KeepTurns, Sessions
from toolkeel.sessions import journal as journals
from toolkeel.sessions.journal import SessionJournal, load_state
from toolkeel.testing.scripted import Scripted, call

ROUNDS = 200
TURNS = 10
LONG = 1000
PAGES = bytes(2 * 4120)
"""About what a commit of two small entries adds to the log: two pages with their heads."""


@tool
def step(n: int) -> str:
    """Do a step."""
    return f"did {n}"


def opened(sessions: Sessions, name: str) -> SessionJournal:
    """The journal of a session, for its writer."""
    session = sessions[name]
    info, kept = session._find_or_make(), session._storage
    fold = load_state(kept.store, info)
    return SessionJournal(kept.store, info, fold)


def turn(run: str, n: int) -> list[Entry]:
    """A question, a call and an answer."""
    made = ToolCall(f"c{n}", "step", f'{{"n": {n}}}')
    return [
        RunBegan(run, "agent"),
        PersonSaid(run, UserMessage(f"question {n}")),
        ModelReplied(run, 1, AssistantMessage("", (made,))),
        CallIntended(run, 1, 0, made.id, "step"),
        CallEnded(run, 1, 0, ToolMessage(f"did {n}", made.id, "step")),
        ModelReplied(run, 2, AssistantMessage(f"answer {n}")),
        RunEnded(run, "answered"),
    ]


async def seconds(do: Callable[[], Awaitable[object]]) -> float:
    """How long it takes."""
    began = perf_counter()
    await do()
    return perf_counter() - began


class Timed(Scripted):
    """Notes when it is asked."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        self.asked = [*getattr(self, "asked", ()), perf_counter()]
        async for delta in super().stream(request):
            yield delta


async def turns(options: dict[str, Any]) -> list[float]:
    """From each request of a run to the next: a call between them."""
    model = Timed([*(call("step", {"n": n}) for n in range(TURNS)), "done"])
    await Agent(model, [step]).run("go", **options)
    return [late - early for early, late in pairwise(model.asked)]


async def commits(folder: Path) -> dict[str, float]:
    """A synced commit beside a bare sync, and a turn with and without a session; medians."""
    with closing(Sessions(folder / "talk.db")) as sessions:
        journal = opened(sessions, "commit")
        bare = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        numbers = iter(range(10**9))

        async def sync() -> None:
            os.write(bare, PAGES)
            os.fdatasync(bare)

        async def commit() -> None:
            journal.append(StateChanged("r", "n", next(numbers)))
            await journal.commit()

        found: dict[str, list[float]] = {}
        for number in range(ROUNDS):
            each = [("a bare sync", sync), ("a synced commit", commit)]
            for what, do in each if number % 2 else reversed(each):
                found.setdefault(what, []).append(await seconds(do))
            if number % 10 == 0:
                found.setdefault("a turn", []).extend(await turns({}))
                within = await turns({"session": sessions[f"s{number}"]})
                found.setdefault("a turn in a session", []).extend(within)
        os.close(bare)
    return {name: median(values) for name, values in found.items()}


def resumed(folder: Path) -> dict[str, int]:
    """Entries and characters that are read to go on, of how many there are."""
    with closing(Sessions(folder / "long.db", history=KeepTurns(20, at=40))) as sessions:
        journal = opened(sessions, "long")
        for n in range(LONG):
            for entry in turn(f"r{n}", n):
                journal.append(entry)
        journal.commit_now()
        for _ in range(2):  # the first cuts, and leaves a checkpoint
            Agent(Scripted(["yes"])).run_sync("still there?", session=sessions["long"])
        every = sessions["long"].info.head
        read, load = [0, 0], journals.load_entry

        def counted(value: dict[str, object]) -> Entry:
            read[0] += 1
            read[1] += len(str(value))
            return load(value)

        journals.load_entry = counted
        try:
            sessions["long"].load_state()
        finally:
            journals.load_entry = load
    return {"entries": every, "read": read[0], "characters": read[1]}


def main() -> None:
    """Measure, and print the rows of a table."""
    given = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=given) as name:
        found = asyncio.run(commits(Path(name)))
        long = resumed(Path(name))
    bare = found["a bare sync"]
    for what, took in found.items():
        print(f"| {what} | {took * 1e3:.2f} ms | {took / bare:.2f} |")
    two = (found["a turn in a session"] - found["a turn"]) / 2
    print(
        f"| what a session adds to a turn, for each of its two commits | {two * 1e3:.2f} ms | {two / bare:.2f} |"
    )
    print(
        f"of {long['entries']} entries {long['read']} are read to go on, {long['characters']} characters"
    )


if __name__ == "__main__":
    main()
