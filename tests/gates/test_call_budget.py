"""How many of the library's functions stand between a model and a tool: counted, not timed.

Entered functions of files below `src/toolkeel` are counted with `sys.setprofile`; a coroutine that
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
from toolkeel import Agent, AssistantMessage, RunContext, ToolCall, ToolContext, Toolset, tool
from toolkeel.call.watchdog import WATCHED
from toolkeel.model_interface import ModelRequest

TO_THE_BODY = 20
TO_THE_NEXT_REQUEST = 15
PER_CALL = 12
"""Functions of the library that one call in a toolset enters, without a listener or a context."""

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


def _turns(waits: bool, turns: int = 6) -> list[tuple[Counter[str], Counter[str]]]:
    """For each turn: what lies between answer and body, and between body and next request."""
    count = Count()
    measured: list[tuple[Counter[str], Counter[str]]] = []
    before: list[Counter[str]] = []
    heard: list[str] = []
    WATCHED.begin()  # what is made once is made now

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


def test_few_functions_stand_between_the_models_answer_and_the_body() -> None:
    """An async tool with a context, and one listener, in an agent's run."""
    for waits in (False, True):
        for between, _ in _turns(waits):
            total = sum(between.values())
            assert total <= TO_THE_BODY, f"{total} ({TO_THE_BODY}): {between.most_common()}"


def test_few_functions_stand_between_the_body_and_the_next_request() -> None:
    for waits in (False, True):
        for _, after in _turns(waits):
            total = sum(after.values())
            assert total <= TO_THE_NEXT_REQUEST, (
                f"{total} ({TO_THE_NEXT_REQUEST}): {after.most_common()}"
            )


def test_one_call_in_a_toolset_enters_few_functions() -> None:
    @tool
    async def add(a: int) -> int:
        """Add one."""
        return a + 1

    @tool(inline=True)
    def add_inline(a: int) -> int:
        """Add one."""
        return a + 1

    tools = Toolset([add, add_inline])

    async def main(name: str) -> Counter[str]:
        count, run = Count(), RunContext()
        calls = [ToolCall("1", name, '{"a": 1}')]
        await tools.run(calls, run)
        work = tools.run(calls, run)
        count.during(lambda: _exhaust(work))
        return count.take()

    for name in ("add", "add_inline"):
        entered = asyncio.run(main(name))
        total = sum(entered.values())
        assert 5 < total <= PER_CALL, f"{total} ({PER_CALL}): {entered.most_common()}"


def _exhaust(work: Any) -> None:
    """Run a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


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
