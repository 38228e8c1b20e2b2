"""What a call costs does not grow with its turn or its run: entered functions are counted, not timed.

Entered functions of files below `packages/toolkeel/src/toolkeel` are counted with `sys.setprofile`; a coroutine that
is resumed counts again, a comprehension does not. The model and the listener are the test's own.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import toolkeel
from toolkeel import Agent, AssistantMessage, ToolCall, ToolContext, Toolset, tool
from toolkeel.call.watchdog import WATCHDOG
from toolkeel.model_interface import ModelRequest

INLINE = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
SOURCE = str(Path(toolkeel.__file__).parent)


class Count:
    """Frames of the library entered since the last look."""

    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name not in INLINE:
            self.entered[f"{Path(code.co_filename).stem}:{code.co_qualname}"] += 1

    def take(self) -> Counter[str]:
        """What was entered, and begin anew."""
        taken, self.entered = self.entered, Counter()
        return taken

    def during(self, work: Callable[[], Any]) -> Any:
        """Count while `work` runs."""
        sys.setprofile(self)
        try:
            return work()
        finally:
            sys.setprofile(None)


async def _watch() -> None:
    WATCHDOG.watch()


def _turns(waits: bool, turns: int = 6) -> list[tuple[Counter[str], Counter[str]]]:
    """For each turn: what lies between answer and body, and between body and next request."""
    count = Count()
    measured: list[tuple[Counter[str], Counter[str]]] = []
    before: list[Counter[str]] = []
    heard: list[str] = []
    asyncio.run(_watch())  # what is made once is made now

    @tool
    async def add(a: int, context: ToolContext[Any]) -> int:
        """Add one."""
        before.append(count.take())
        if waits:
            await asyncio.sleep(0)
        count.take()
        return a + 1

    class Model:
        """Answers at once, whole."""

        name = "counting"

        async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
            if before:
                measured.append((before[-1], count.take()))
            number = len(measured)
            calls = (ToolCall(str(number), "add", '{"a": 1}'),) if number < turns else ()
            reply = AssistantMessage("" if calls else "done", calls, "tool_calls")
            count.take()
            yield reply

    agent = Agent(Model(), [add], max_turns=turns + 1)
    count.during(
        lambda: asyncio.run(agent.run("go", listeners=[lambda event: heard.append(event.type)]))
    )
    assert heard.count("tool_started") == heard.count("tool_finished") == turns
    return measured


def test_a_call_of_a_large_turn_costs_no_more_functions_than_one_of_a_small_turn() -> None:
    @tool
    async def add(a: int) -> int:
        """Add one."""
        return a + 1

    tools = Toolset([add])

    async def main(size: int) -> int:
        count = Count()
        calls = [ToolCall(str(n), "add", '{"a": 1}') for n in range(size)]
        sys.setprofile(count)
        try:
            await tools.run(calls)
        finally:
            sys.setprofile(None)
        return sum(count.take().values())

    small, large = asyncio.run(main(10)), asyncio.run(main(1000))
    assert large / 1000 <= small / 10


def test_a_turn_late_in_a_run_enters_as_many_functions_as_an_early_one() -> None:
    """What a turn costs does not grow with the history."""
    measured = [sum(a.values()) + sum(b.values()) for a, b in _turns(False, 500)]
    assert measured[10] == measured[499]
    assert set(measured[1:]) == {measured[10]}
