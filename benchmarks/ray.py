"""What a call on a Ray cluster costs beside a bare task of Ray's, as ratios of medians.

::

    python -m benchmarks.ray            # a head of its own, ended with it: a minute
    python -m benchmarks.ray --calls 10000

Each round runs the bare tasks, then ours, so that both meet the same machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import secrets
import statistics
import time
from collections.abc import Callable

# Ray reads it once, when it is imported: the head asks for this token, and ours is sent.
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))

from tests.executors import executor_tools as tools
from tests.ray.head import CPUS, started
from toolkeel import ToolCall, Toolset


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with started() as address:
        rows = measured(address, options.calls, options.rounds)
    bare = rows["bare tasks"]
    print(f"{options.calls} calls at once, {CPUS} processors, {options.rounds} rounds\n")
    print(f"{'':24}{'seconds':>10}{'ms a call':>12}{'of bare':>10}")
    for name, seconds in rows.items():
        each = seconds / options.calls * 1000
        print(f"{name:24}{seconds:10.2f}{each:12.2f}{seconds / bare:10.2f}")


def measured(address: str, calls: int, rounds: int) -> dict[str, float]:
    """Median seconds of each way to run so many calls at once."""
    from toolkeel_studio.ray import Ray  # reads the token's variables when it is imported

    ways = {
        "ours": all_of(Toolset([on(Ray(address))]), calls),
        "ours, queue_timeout=": all_of(Toolset([on(Ray(address, queue_timeout=600))]), calls),
    }
    ways["ours"](100)  # connects, and starts workers
    import ray

    bare = ray.remote(max_retries=0)(lambda order: order["n"])

    def tasks(number: int = calls) -> None:
        found = ray.get([bare.remote({"n": n}) for n in range(number)])
        assert found == list(range(number))

    ways = {"bare tasks": tasks, **ways}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way(100)
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            way(calls)
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(each) for name, each in seconds.items()}


def on(executor: object) -> object:
    """The tool, on an executor."""
    return dataclasses.replace(tools.number, executor=executor, timeout=600)  # type: ignore[arg-type]


def all_of(toolset: Toolset, calls: int) -> Callable[[int], None]:
    """Runs so many calls at once, and looks at what they gave."""

    def run(number: int = calls) -> None:
        given = toolset.run_sync([ToolCall(str(n), "number", {"n": n}) for n in range(number)])
        assert [message.text for message in given] == [str(n) for n in range(number)]

    return run


if __name__ == "__main__":
    main()
