"""Tests of sync bodies in threads: side by side, given up at their deadline, ended by themselves."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest

from tests.call.body.running import result_of
from tests.waiting import run
from toolkeel import (
    CallError,
    Prepared,
    RunContext,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel.call.body.run_body import invoke
from toolkeel.call.body.thread_pool import ThreadPool

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def test_sync_bodies_of_one_turn_run_side_by_side() -> None:
    together = threading.Barrier(10, timeout=5)

    @tool
    def meet() -> None:
        """Meet the others."""
        together.wait()

    calls = [ToolCall(str(n), "meet") for n in range(10)]
    assert not any(r.failed for r in Toolset([meet]).run_sync(calls))


def test_context_variables_are_copied_into_every_body() -> None:
    @tool
    def ask() -> str:
        """Ask in a thread, and change what nobody else sees."""
        seen = user.get()
        user.set("the body")
        return seen

    async def main() -> tuple[str, str]:
        user.set("Ada")
        [result] = await Toolset([ask]).run([ToolCall("1", "ask")])
        return result.text, user.get()

    assert run(main) == ("Ada", "Ada")


def test_a_toolset_may_have_threads_of_its_own() -> None:
    @tool
    def name() -> str:
        """Sleep a little and name the thread."""
        time.sleep(0.002)
        return str(threading.get_ident())

    calls = [ToolCall(str(n), "name") for n in range(12)]
    assert len({r.text for r in Toolset([name], max_threads=2).run_sync(calls)}) <= 2


def test_too_many_threads_that_are_given_up_refuse_further_work() -> None:
    go = threading.Event()

    @tool(timeout=0.2)  # longer than a thread takes to begin on a busy machine
    def blocks() -> None:
        """Hold a thread."""
        go.wait(10)

    async def main() -> list[str | None]:
        pool = ThreadPool(8, max_abandoned=3)
        kinds: list[str | None] = []
        for n in range(5):
            call = ToolCall(str(n), "blocks")
            try:
                await invoke(
                    Prepared(call, blocks, {}), ToolContext(call, "blocks", RunContext()), pool
                )
            except CallError as error:
                kinds.append(error.kind)
        return kinds

    try:
        assert run(main) == ["timeout"] * 3 + ["limit_reached"] * 2
    finally:
        go.set()


@pytest.mark.parametrize(("seconds", "kind"), [(0.6, "timeout"), (0.01, None)])
def test_a_body_in_a_thread_has_its_deadline_also_while_the_loop_stands_still(
    seconds: float, kind: str | None
) -> None:
    """Nobody strikes meanwhile; when it ended decides, not when the loop saw that."""
    begun = threading.Event()

    @tool(timeout=0.3)
    def works() -> str:
        """Work."""
        begun.set()
        time.sleep(seconds)
        return "worked"

    def stand_still() -> None:
        time.sleep(1)

    async def main() -> ToolMessage:
        calls = asyncio.ensure_future(Toolset([works]).run([ToolCall("c1", "works", {})]))
        await asyncio.to_thread(begun.wait, 5)
        stand_still()
        return (await calls)[0]

    result = run(main)
    assert result.kind == kind
    assert "did not finish within 0.3 seconds. It has ended" in result.text or not kind


def test_a_body_in_a_thread_that_looks_at_the_token_ends_by_itself() -> None:
    shared: RunContext[Any] = RunContext()

    @tool
    def polite(context: ToolContext[Any]) -> None:
        """Look now and then."""
        shared.cancel.cancel("enough")
        for _ in range(1000):
            context.cancel.raise_if_cancelled()
            time.sleep(0.001)

    result = result_of(polite, "", shared)
    assert result.kind == "cancelled" and "enough" in result.text
