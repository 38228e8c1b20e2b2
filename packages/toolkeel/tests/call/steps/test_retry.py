"""Only what may be repeated is tried again, and only what may go better."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.waiting import run, until
from toolkeel import (
    Effects,
    RunContext,
    SetupError,
    ToolCall,
    ToolError,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel.call.steps.retry import Retry

SAFE = Effects(idempotent=True)
FAST = {"wait": 0.001, "max_wait": 0.002}


class Flaky:
    """A tool that fails so often before it works."""

    def __init__(self, failures: int, how: Callable[[], Any]) -> None:
        self.failures = failures
        self.how = how
        self.tries = 0

    def tools(self, effects: Effects = SAFE, steps: Any = None, **options: Any) -> Toolset:
        @tool(effects=effects, steps=steps or [Retry(3, **FAST)], **options)
        async def send(parts: list[int]) -> str:
            """Send parts."""
            self.tries += 1
            parts.append(0)
            if self.tries <= self.failures:
                await self.how()
            return f"sent {len(parts)}"

        return Toolset([send])


def send(tools: Toolset, state: RunContext[Any] | None = None) -> ToolMessage:
    [message] = run(lambda: tools.run([ToolCall("1", "send", {"parts": [1]})], state))
    return message


async def crash() -> None:
    raise ConnectionError("reset")


async def hang() -> None:
    await asyncio.sleep(10)


async def say_no() -> None:
    raise ToolError("there is no such thing")


def test_a_body_that_crashes_is_tried_again_until_it_works() -> None:
    flaky = Flaky(2, crash)
    assert send(flaky.tools()).kind is None
    assert flaky.tries == 3


def test_each_try_has_the_arguments_as_the_model_sent_them() -> None:
    assert send(Flaky(2, crash).tools()).content == "sent 2"


def test_the_last_failure_is_the_result_when_no_try_works() -> None:
    flaky = Flaky(9, crash)
    message = send(flaky.tools())
    assert (message.kind, message.details["exception"]) == ("crashed", "ConnectionError")
    assert flaky.tries == 3


def test_a_timeout_is_tried_again_with_a_deadline_of_its_own() -> None:
    flaky = Flaky(2, hang)
    assert send(flaky.tools(timeout=0.02)).kind is None
    assert flaky.tries == 3


@pytest.mark.parametrize("effects", [Effects(), Effects(destructive=False)])
def test_what_is_not_declared_safe_runs_once(effects: Effects) -> None:
    flaky = Flaky(2, crash)
    assert send(flaky.tools(effects)).kind == "crashed"
    assert flaky.tries == 1


@pytest.mark.parametrize("effects", [Effects(read_only=True), Effects(idempotent=True)])
def test_what_only_reads_or_may_be_repeated_is_tried_again(effects: Effects) -> None:
    flaky = Flaky(1, crash)
    assert send(flaky.tools(effects)).kind is None


def test_what_the_author_says_to_the_model_is_no_reason_to_try_again() -> None:
    flaky = Flaky(2, say_no)
    assert send(flaky.tools()).kind == "tool_error"
    assert flaky.tries == 1


def test_invalid_results_and_arguments_are_no_reason_either() -> None:
    tries = []

    @tool(effects=SAFE, steps=[Retry(3, **FAST)])
    def strange(n: int) -> object:
        """Return something strange."""
        tries.append(n)
        return object()

    calls = [ToolCall("1", "strange", {"n": 1}), ToolCall("2", "strange", {"n": "x"})]
    results = run(lambda: Toolset([strange]).run(calls))
    assert [r.kind for r in results] == ["invalid_output", "invalid_arguments"]
    assert tries == [1]


def test_a_cancel_ends_the_tries_at_once() -> None:
    flaky = Flaky(99, crash)

    async def main() -> ToolMessage:
        state = RunContext()
        tools = flaky.tools(steps=[Retry(50, wait=60, max_wait=60)])
        task = asyncio.create_task(tools.run([ToolCall("1", "send", {"parts": []})], state))
        await until(lambda: flaky.tries == 1)
        state.cancel.cancel("enough")
        return (await task)[0]

    start = time.perf_counter()
    assert run(main).kind == "cancelled"
    assert flaky.tries == 1
    assert time.perf_counter() - start < 20


def test_waits_grow_and_stay_below_the_longest() -> None:
    at: list[float] = []

    async def note() -> None:
        at.append(time.perf_counter())
        raise ConnectionError

    flaky = Flaky(99, note)
    send(flaky.tools(steps=[Retry(6, wait=0.01, max_wait=0.04)]))
    gaps = [after - before for before, after in itertools.pairwise(at)]
    assert len(gaps) == 5
    assert all(0.005 < gap < 0.2 for gap in gaps)


def test_no_attempt_at_all_is_refused() -> None:
    with pytest.raises(SetupError, match="no attempt"):
        Retry(0)
