"""Large numbers of everything: do time and memory grow as the work does, and no faster?"""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks import work
from benchmarks.clock import seconds
from benchmarks.peers.ours import PEER
from toolkeel import AssistantMessage, RunContext, ToolCall, ToolMessage, Toolset, tool
from toolkeel._records.messages_json import dump_message, load_message

Numbers = dict[str, float]
Work = Callable[[], Awaitable[object]]


async def scale() -> Numbers:
    """Ten times the work in each second row: seconds, and bytes at the worst moment."""
    numbers: Numbers = {}
    for size in (1000, 10_000):
        await _tools(numbers, size)
    small = Toolset([work.count, work.wait])
    for size in (1000, 10_000):
        calls = [ToolCall(str(i), "count", f'{{"i": {i}}}') for i in range(size)]
        await _both(numbers, f"{size:,} calls in a turn", functools.partial(small.run, calls))
    for size in (500, 5000):
        loop = functools.partial(PEER.loop, work.count, size, lambda: None)
        await _both(numbers, f"an agent's run of {size:,} turns", loop)
        await _both(numbers, f"{size:,} turns saved and loaded", functools.partial(_saved, size))
    for size in (10, 100):
        await _both(numbers, f"a result of {size} MB", functools.partial(_large, size))
    for size in (100, 1000):
        await _both(numbers, f"{size:,} runs at once", functools.partial(_runs, small, size))
    return numbers


async def _both(numbers: Numbers, name: str, large: Work) -> None:
    """Its time, and in another pass its memory: to count memory takes time."""
    await large()
    spent = []
    for _ in range(3):
        gc.collect()
        begun = time.perf_counter()
        await large()
        spent.append(time.perf_counter() - begun)
    gc.collect()
    tracemalloc.start()
    await large()
    numbers[name] = min(spent)
    numbers[f"bytes at most, {name}"] = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


async def _tools(numbers: Numbers, size: int) -> None:
    gc.collect()
    begun = time.perf_counter()
    tools = Toolset([tool(work.another_ship(i)) for i in range(size)])
    numbers[f"{size:,} tools defined"] = time.perf_counter() - begun
    call = [ToolCall("1", f"ship_{size - 1}", work.SHIP)]
    name = f"a call among {size:,} tools"
    numbers[name] = await seconds(functools.partial(tools.run, call, RunContext()))


async def _saved(turns: int) -> None:
    messages: list[Any] = []
    for i in range(turns):
        call = ToolCall(f"call_{i}", "count", f'{{"i": {i}}}')
        messages += [
            AssistantMessage("", (call,), "tool_calls"),
            ToolMessage(work.RESULT.format(i), call.id, "count"),
        ]
    text = json.dumps([dump_message(each) for each in messages], ensure_ascii=False)
    assert [load_message(each) for each in json.loads(text)] == messages


async def _large(megabytes: int) -> None:
    @tool(max_output=None)
    async def big() -> str:
        """Give much."""
        return "x" * (megabytes * 1_000_000)

    [message] = await Toolset([big]).run([ToolCall("1", "big")])
    assert len(message.text) == megabytes * 1_000_000


async def _runs(tools: Toolset, size: int) -> None:
    async def one(number: int) -> None:
        for _ in range(3):
            await tools.run([ToolCall("1", "wait", f'{{"i": {number}}}')], RunContext())

    await asyncio.gather(*map(one, range(size)))
