"""Measure in one run, interleaved, and print medians and ratios to the practical limit."""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter

from benchmarks.limit import Limit
from toolwright import Agent, Run, ToolCall, ToolContext, Toolset, tool
from toolwright.agent.agent import RunResult
from toolwright.testing.scripted import Scripted, call

ROUNDS = 9
GOOD = '{"city": "Paris", "days": 3}'
BAD = '{"city": 5, "dais": 3}'

Measure = Callable[[], Awaitable[float]]


async def weather(city: str, days: int) -> str:
    """Look up the weather of a city.

    Args:
        city: Name of the city.
        days: Days ahead.
    """
    return city


async def wait(city: str, days: int) -> str:
    """Wait for 10 ms."""
    await asyncio.sleep(0.01)
    return city


@tool
async def full(city: str, days: int, context: ToolContext) -> str:
    """A tool with an injected context."""
    return city


def timed(body: Callable[[], Awaitable[object]], times: int) -> Measure:
    """Microseconds of one `body`, averaged over `times` in a row."""

    async def measure() -> float:
        gc.collect()
        started = perf_counter()
        for _ in range(times):
            await body()
        return (perf_counter() - started) / times * 1e6

    return measure


def imported(line: str) -> Measure:
    """Microseconds an import takes in a fresh interpreter, compiled code at hand."""
    code = f"import time; t = time.perf_counter(); {line}; print(time.perf_counter() - t)"
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    async def measure() -> float:
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=settings,
        )
        return float(done.stdout) * 1e6

    return measure


async def loop(turns: int) -> float:
    """Microseconds of one turn of the agent loop, one call a turn."""
    script = [call("weather", GOOD, id=f"call_{i}") for i in range(turns)]
    agent = Agent(Scripted([*script, "done"]), tools=[weather], max_turns=turns + 1)
    started = perf_counter()
    result: RunResult = await agent.run("go")
    assert len(result.messages) == 2 * turns + 2
    return (perf_counter() - started) / turns * 1e6


def workloads() -> dict[str, tuple[Measure, Measure]]:
    """Name to what is measured: ours, and what it is held against."""
    limit, tools = Limit(weather, wait), Toolset([weather, wait, full])
    run, heard = Run(), Run(listeners=(lambda event: None,))
    good, bad = ToolCall("1", "weather", GOOD), ToolCall("1", "weather", BAD)
    plain = timed(lambda: limit.call("1", "weather", GOOD), 3000)
    many = [ToolCall(str(i), "wait", GOOD) for i in range(1000)]
    raw = [(str(i), "wait", GOOD) for i in range(1000)]
    return {
        "import (against pydantic's TypeAdapter)": (
            imported("import toolwright"),
            imported("from pydantic import TypeAdapter"),
        ),
        "one call, from JSON text to message": (
            timed(lambda: tools.run([good], run), 3000),
            plain,
        ),
        "... with context and a listener": (
            timed(lambda: tools.run([ToolCall("1", "full", GOOD)], heard), 3000),
            plain,
        ),
        "invalid arguments, to an error with every field": (
            timed(lambda: tools.run([bad], Run()), 300),
            timed(lambda: limit.call("1", "weather", BAD), 300),
        ),
        "1000 calls of 10 ms in one turn": (
            timed(lambda: tools.run(many, run), 1),
            timed(lambda: limit.batch(raw), 1),
        ),
        "agent loop, a turn of 1000 (against one of 100)": (lambda: loop(1000), lambda: loop(100)),
    }


async def main() -> None:
    """Measure everything and print the table."""
    print(f"Python {platform.python_version()}, {platform.machine()}, medians of {ROUNDS} rounds\n")
    print("| workload | toolwright µs | limit µs | ratio |\n|---|---:|---:|---:|")
    for name, (ours, least) in workloads().items():
        pairs = [(await ours(), await least()) for _ in range(ROUNDS)]
        own = statistics.median(pair[0] for pair in pairs)
        base = statistics.median(pair[1] for pair in pairs)
        print(f"| {name} | {own:,.1f} | {base:,.1f} | {own / base:.2f} |", flush=True)


asyncio.run(main())
