"""A thousand runs at once, with faults everywhere: ``python -m benchmarks.load``.

Models fail, hang and stop in mid-reply; tools raise, hang, block their thread, die with their
process, and write to a full disk; runs are cancelled, left and listened to slowly; some are
sessions, whose disk is full for two seconds of every twenty. What is told: whether each call of a
model has exactly one result, in order and its own; how each run ended; and what is left of tasks,
threads, processes, open files and memory once all have.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import os
import random
import resource
import signal
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkeel import Agent, tool
from toolkeel.agent.bind_tools import Binds
from toolkeel.errors import ModelUnavailable, ToolError, ToolkeelError
from toolkeel.executors import Process
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolkeel.model_interface import Delta, Finish, ModelRequest, TextDelta
from toolkeel.sessions import Sessions

FULL_EVERY, FULL_FOR = 20.0, 2.0
"""Seconds from one full disk to the next, and how long it stays full."""
ENDS = ("whole",) * 9 + ("slow listener",) * 4 + ("cancel",) * 3 + ("leave",) * 2 + ("session",) * 2
PATIENCE = 40.0


@tool
async def plain(mark: str) -> str:
    """Say it again."""
    return mark


@tool
async def slow(mark: str) -> str:
    """Say it again, later."""
    await asyncio.sleep(random.uniform(0.5, 6))
    return mark


@tool
def in_a_thread(mark: str) -> str:
    """Say it again, from a thread."""
    time.sleep(0.05)
    return mark


@tool
async def raises(mark: str) -> str:
    """Fail."""
    raise random.choice([ValueError, ToolError, RuntimeError])(f"it failed: {mark}")


@tool(timeout=1)
async def hangs(mark: str) -> str:
    """Never end."""
    await asyncio.sleep(3600)
    return mark


@tool(timeout=0.5)
def blocks(mark: str) -> str:
    """Hold a thread for longer than its deadline."""
    time.sleep(2)
    return mark


@tool
def full(mark: str) -> str:
    """Write to a full disk."""
    with open("/dev/full", "w") as file:
        file.write(mark)
    return mark


@tool
async def large(mark: str) -> str:
    """Give much."""
    return mark + "x" * 300_000


@tool(executor=Process(max_concurrency=2, queue_timeout=20))
def dies(mark: str) -> str:
    """End the process it runs in, every other time."""
    if random.random() < 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return mark


TOOLS = (plain, slow, in_a_thread, raises, hangs, blocks, full, large, dies)
WEIGHTS = (120, 60, 20, 20, 10, 1, 10, 4, 1)


@dataclass
class Seen:
    """What happened.

    Attributes:
        ends: How runs ended, and how many calls had results.
        wrong: Calls without a result, with several, or with another's; ends that nobody knows.
        memory: Resident bytes, by seconds since the beginning.
        left: What was there before the first run and is there after the last.
    """

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    left: dict[str, tuple[int, int]] = field(default_factory=dict)


class Faulty(Binds):
    """A model that calls a few tools a few times, and fails in several ways.

    Args:
        chance: What it chooses by.
        run: Of which run the calls are.
    """

    name = "faulty"

    def __init__(self, chance: random.Random, run: str) -> None:
        self._chance = chance
        self._run = run
        self._numbers = itertools.count()
        self._turns = chance.randint(0, 3)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        await asyncio.sleep(self._chance.uniform(0, 3))
        fault = self._chance.random()
        if fault < 0.02:
            raise ModelUnavailable("no answer")
        if fault < 0.03:
            raise RuntimeError("a fault of the model's own")
        yield TextDelta("I look. ")
        if fault < 0.04:
            raise ModelUnavailable("the reply broke off")
        if fault < 0.045:
            await asyncio.sleep(3600)
        self._turns -= 1
        if self._turns < 0:
            yield Finish("stop")
            return
        names = self._chance.choices(
            [each.name for each in TOOLS], WEIGHTS, k=self._chance.randint(1, 6)
        )
        yield AssistantMessage(
            "I look. ", tuple(map(self._call, names)), finish_reason="tool_calls"
        )

    def _call(self, name: str) -> ToolCall:
        mark = f"{self._run}.{next(self._numbers)}"
        return ToolCall(mark, name, {"mark": mark})


class One:
    """One who runs an agent again and again until it is time.

    Args:
        number: Which one.
        sessions: Where some of the runs are kept.
        seen: Where it tells.
    """

    def __init__(self, number: int, sessions: Sessions, seen: Seen) -> None:
        self._chance = random.Random(number)
        self._number = number
        self._sessions = sessions
        self._seen = seen

    async def run(self, until: float) -> None:
        """Run until then."""
        await asyncio.sleep(self._chance.uniform(0, 5))
        for turn in itertools.count():
            if time.monotonic() > until:
                return
            await self._once(f"{self._number}-{turn}")

    async def _once(self, name: str) -> None:
        how = self._chance.choice(ENDS)
        agent = Agent(Faulty(self._chance, name), TOOLS)
        options: dict[str, Any] = {"session": self._sessions[name]} if how == "session" else {}
        run = agent.stream("go", **options)
        allowed = self._chance.uniform(0, 8) if how == "cancel" else PATIENCE
        try:
            async with asyncio.timeout(allowed), run:
                await self._listen(run, how)
            end = "left" if how == "leave" else "ended"
        except (ToolkeelError, TimeoutError) as error:
            end = type(error).__name__
        except RuntimeError as error:
            end = "the model's fault" if "model's own" in str(error) else f"wrong: {error!r}"
        if end.startswith("wrong"):
            self._seen.wrong.append(f"{name} {how}: {end}")
        self._seen.ends[f"{how}: {end}"] += 1
        self._judge(f"{name} {how}, {end}", run.messages)

    async def _listen(self, run: Any, how: str) -> None:
        leaves = self._chance.randint(1, 30)
        async for _ in run:
            if how == "slow listener":
                await asyncio.sleep(0.1)
            leaves -= 1
            if how == "leave" and leaves <= 0:
                return

    def _judge(self, name: str, messages: Sequence[Message]) -> None:
        """Each call has one result, right behind it and in order, and it is its own."""
        waiting: list[ToolCall] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                asked = waiting.pop(0) if waiting else None
                if asked is None or asked.id != message.tool_call_id:
                    self._seen.wrong.append(
                        f"{name}: a result of {message.tool_call_id}, not {asked}"
                    )
                elif message.status == "success" and not message.text.startswith(asked.id):
                    self._seen.wrong.append(f"{name}: {asked.id} has {message.text[:60]!r}")
                self._seen.ends[f"call {message.name}: {message.kind or 'success'}"] += 1
                continue
            self._seen.wrong += [f"{name}: no result of {each.id}" for each in waiting]
            waiting = list(message.tool_calls) if isinstance(message, AssistantMessage) else []
        self._seen.wrong += [f"{name}: no result of {each.id}" for each in waiting]


async def load(folder: Path, runs: int, seconds: float) -> Seen:
    """Put the load on this process, and say what happened.

    Args:
        folder: Where the sessions are kept.
        runs: How many at once.
        seconds: How long new ones begin.
    """
    seen = Seen()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    await asyncio.gather(*(_warm(str(n)) for n in range(50)))
    before = _there()
    sessions = Sessions(folder / "load.db")
    began = time.monotonic()
    watch = asyncio.ensure_future(_watch(seen, began, folder / "load.db"))
    work = [One(number, sessions, seen).run(began + seconds) for number in range(runs)]
    for ended in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(ended, BaseException):
            seen.wrong.append(f"one who runs ended: {ended!r}")
    watch.cancel()
    sessions.close()
    await asyncio.gather(watch, return_exceptions=True)
    await asyncio.sleep(3)  # for threads that were left behind
    gc.collect()
    after = _there()
    seen.left = {what: (before[what], after[what]) for what in before}
    return seen


async def _warm(name: str) -> None:
    """Have made what is made once, before anything is counted."""
    with suppress(ToolkeelError, RuntimeError, TimeoutError):
        async with asyncio.timeout(15):
            await Agent(Faulty(random.Random(name), name), TOOLS).run("go")


async def _watch(seen: Seen, began: float, database: Path) -> None:
    """Note the memory, and fill the disk from time to time: no file may grow then."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        while True:
            now = time.monotonic() - began
            seen.memory.append((now, _memory()))
            is_full = now % FULL_EVERY > FULL_EVERY - FULL_FOR
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (_size(database) if is_full else most[0], most[1])
            )
            await asyncio.sleep(0.5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)


def _size(path: Path) -> int:
    return path.stat().st_size


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _there() -> dict[str, int]:
    children = sum(
        len(path.read_text().split()) for path in Path("/proc/self/task").glob("*/children")
    )
    return {
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "processes": children,
        "open files": len(os.listdir("/proc/self/fd")),
    }


def growth(seen: Seen) -> float:
    """The mean memory of the last quarter of the time, by that of the second."""
    sizes = [size for _, size in seen.memory]
    quarter = max(1, len(sizes) // 4)
    return statistics.mean(sizes[-quarter:]) / statistics.mean(sizes[quarter : 2 * quarter])


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = asyncio.run(load(Path(folder), given.runs, given.seconds))
    for what, count in sorted(seen.ends.items()):
        print(f"{count:8,}  {what}")
    calls = sum(count for what, count in seen.ends.items() if what.startswith("call "))
    print(f"{sum(seen.ends.values()) - calls:8,}  runs\n{calls:8,}  calls")
    print(f"wrong: {len(seen.wrong)} {seen.wrong[:10]}")
    sizes = [f"{size >> 20}" for _, size in seen.memory[:: max(1, len(seen.memory) // 12)]]
    print(f"memory (MB): {' '.join(sizes)}; growth {growth(seen):.3f}")
    print(f"before and after: {seen.left}")


if __name__ == "__main__":
    main()
