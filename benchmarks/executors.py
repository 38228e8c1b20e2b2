"""What a warm call costs where it runs, and that memory does not grow with calls.

::

    python -m benchmarks.executors                    # medians of calls, one after the other
    python -m benchmarks.executors --calls 100000     # and memory, after a tenth of them and after all
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.executors import executor_tools as tools
from toolkeel import ToolCall, Toolset
from toolkeel.executors import Executor, Futures, Inline, Process, Thread

TURN = 200
"""Calls of one turn: so many at once, and their messages are dropped with it."""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=0)
    options = parser.parse_args()
    executors: dict[str, Executor] = {
        "Inline()": Inline(),
        "Thread()": Thread(),
        "Futures(threads)": Futures(ThreadPoolExecutor(2)),
        "Process()": Process(max_concurrency=2),
    }
    print(f"{'':20}{'ms a call':>10}{'slowest of 100':>16}")
    for name, executor in executors.items():
        each = asyncio.run(one_by_one(on(executor)))
        print(f"{name:20}{each[0]:10.3f}{each[1]:16.3f}", flush=True)
    if options.calls:
        print(f"\n{'MB after calls':20}{options.calls // 10:>10,}{options.calls:>16,}")
        for name, executor in executors.items():
            early, late = asyncio.run(memory(on(executor), options.calls))
            print(f"{name:20}{early:10.1f}{late:16.1f}", flush=True)


def on(executor: Executor) -> Toolset:
    """The tool, on an executor."""
    tool: Any = dataclasses.replace(tools.number, executor=executor, timeout=600)
    return Toolset([tool])


async def one_by_one(toolset: Toolset, calls: int = 1000) -> tuple[float, float]:
    """Milliseconds of a warm call: the median, and what one of a hundred takes."""
    call = [ToolCall("c", "number", {"n": 3})]
    for _ in range(20):
        await toolset.run(call)
    found = []
    for _ in range(calls):
        begin = time.perf_counter()
        await toolset.run(call)
        found.append((time.perf_counter() - begin) * 1000)
    return statistics.median(found), statistics.quantiles(found, n=100)[-1]


async def memory(toolset: Toolset, calls: int) -> tuple[float, float]:
    """Megabytes of this process and its workers after a tenth of the calls, and after all."""
    early = 0.0
    for begin in range(0, calls, TURN):
        turn = [ToolCall(str(n), "number", {"n": n}) for n in range(begin, begin + TURN)]
        given = await toolset.run(turn)
        assert [message.text for message in given] == [call.id for call in turn]
        if not early and begin + TURN >= calls // 10:
            early = megabytes()
    return early, megabytes()


def megabytes() -> float:
    """Memory of this process and all below it."""
    parents = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                rest = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(place.name)] = (int(rest[1]), int(rest[21]))
    whole, page = 0, os.sysconf("SC_PAGE_SIZE")
    for process in parents:
        up = process
        while up in parents and up != os.getpid():
            up = parents[up][0]
        whole += parents[process][1] * page if up == os.getpid() else 0
    return whole / 1e6


if __name__ == "__main__":
    main()
