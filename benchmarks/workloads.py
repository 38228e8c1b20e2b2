"""What is measured, W1 to W10. Each takes a peer and gives numbers by name; all but W7 are seconds."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks import work
from benchmarks.clock import once, seconds
from benchmarks.peer import Missing, Peer

Numbers = dict[str, float]


async def w1(peer: Peer) -> Numbers:
    """Import what a tool is defined with, in a fresh interpreter whose bytecode is at hand."""
    code = f"import time; t = time.process_time(); {peer.line}; print(time.process_time() - t)"
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    spent = []
    for _ in range(4):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=settings,
        )
        spent.append(float(done.stdout.split()[-1]))
    return {"import": min(spent[1:])}


async def w2(peer: Peer) -> Numbers:
    """Define tools of six parameters, and make their schemas the first time."""
    functions = [work.another_ship(i) for i in range(210)]
    warm = [peer.define(function) for function in functions[:10]]
    _schemas(peer, warm)
    begun = perf_counter()
    tools = [peer.define(function) for function in functions[10:]]
    _schemas(peer, tools)
    return {"define": (perf_counter() - begun) / 200}


def _schemas(peer: Peer, tools: list[Any]) -> Any:
    try:
        return peer.schemas(tools)
    except Missing:
        return None


async def w3(peer: Peer) -> Numbers:
    """Give the schemas of 100 tools again, as every request does."""
    tools = [peer.define(work.another_ship(i)) for i in range(100)]
    assert len(peer.schemas(tools)) == 100

    async def again() -> None:
        peer.schemas(tools)

    return {"schemas": await seconds(again)}


CALLS = {
    "call": (work.rate, work.RATE, "Lyon"),
    "sync call": (work.rate_sync, work.RATE, "Lyon"),
    "nested call": (work.ship, work.SHIP, "Lyon"),
    "invalid call": (work.rate, work.WRONG, ""),
}


async def w4(peer: Peer) -> Numbers:
    """Answer one call, from JSON text to message."""
    numbers = {}
    for name, (function, arguments, wanted) in CALLS.items():
        call = work.Call("call_1", function.__name__, arguments)
        await peer.open([function])
        text = peer.text(await peer.one(call))
        assert (wanted in text) if wanted else (text.strip('"') != "Lyon"), text
        numbers[name] = await seconds(lambda call=call: peer.one(call))
    return numbers


async def w5(peer: Peer) -> Numbers:
    """Answer many calls of one turn that wait ten milliseconds each."""
    numbers = {}
    for function in (work.wait, work.wait_sync):
        await peer.open([function])
        for size in (1, 10, 100, 1000):
            calls = work.turn(function.__name__, size)
            assert len(await peer.many(calls)) == size
            kind = "waiting" if function is work.wait else "blocking"
            numbers[f"{size} {kind}"] = await once(lambda calls=calls: peer.many(calls))
    return numbers


TURNS = (10, 50, 200, 500)


async def w6(peer: Peer) -> Numbers:
    """Run the peer's agent for so many turns; what one turn costs at the end of each run."""
    numbers = {}
    await peer.loop(work.count, 3, lambda: None)
    for turns in TURNS:
        at: list[float] = []
        gc.collect()
        begun = perf_counter()
        await peer.loop(work.count, turns, lambda at=at: at.append(perf_counter()))
        assert len(at) == turns + 1
        steps = [b - a for a, b in itertools.pairwise(at)]
        numbers[f"turn {turns}"] = median(steps[-max(3, turns // 10) :])
        if perf_counter() - begun > 20:
            break
    return numbers


async def w7(peer: Peer) -> Numbers:
    """Bytes kept by a call and its result, and by a tool with its schema."""
    return {
        "bytes of a call and its result": _kept(peer.history, 2000),
        "bytes of a tool": _kept(lambda size: _tools(peer, size), 200),
    }


def _tools(peer: Peer, size: int) -> Any:
    tools = [peer.define(work.another_ship(i)) for i in range(size)]
    return tools, _schemas(peer, tools)


def _kept(make: Callable[[int], Any], size: int) -> float:
    make(5)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = make(size)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del made
    return (after - before) / size


async def w10(peer: Peer) -> Numbers:
    """Call a tool of the peer's server through the protocol's own client, in memory and over pipes."""
    if type(peer).serve is Peer.serve:
        raise Missing
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    numbers = {}
    with suppress(Missing):
        async with Client(peer.server(work.rate)) as client:
            numbers["in memory"] = await _round_trip(client)
    command = ["-W", "ignore", "-m", "benchmarks.serve", type(peer).__module__]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        numbers["over stdio"] = await _round_trip(client)
        numbers["64 in flight, each"] = await _in_flight(client, 64, 640)
    return numbers


async def _round_trip(client: Any) -> float:
    async def call() -> None:
        result = await client.call_tool("rate", {"city": "Lyon", "days": 3})
        assert result.content[0].text == "Lyon"

    return await seconds(call)


async def _in_flight(client: Any, width: int, size: int) -> float:
    async def worker(left: Iterator[int]) -> None:
        for _ in left:
            await client.call_tool("rate", {"city": "Lyon", "days": 3})

    async def all_of_them() -> None:
        left = iter(range(size))
        await asyncio.gather(*[worker(left) for _ in range(width)])

    return await once(all_of_them) / size


WORKLOADS: dict[str, Callable[[Peer], Awaitable[Numbers]]] = {
    "W1": w1, "W2": w2, "W3": w3, "W4": w4, "W5": w5, "W6": w6, "W7": w7,
    "W10": w10,
}  # fmt: skip
