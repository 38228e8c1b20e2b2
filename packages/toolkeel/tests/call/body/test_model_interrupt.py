"""Interrupting what a run waits for, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from toolkeel.call.body.model_interrupt import Interrupt
from toolkeel.context import RunContext


def test_a_cancel_interrupts_only_while_armed_and_is_taken_back() -> None:
    async def main() -> tuple[bool, int]:
        run: RunContext[None] = RunContext()
        interrupt = Interrupt(run)
        interrupt.arm()
        asyncio.get_running_loop().call_soon(run.cancel.cancel)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(60)
        ours = interrupt.is_own()
        interrupt.close()
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return ours, task.cancelling()

    assert asyncio.run(main()) == (True, 0)


def test_a_cancellation_from_outside_is_not_taken_for_the_runs() -> None:
    async def main() -> bool:
        interrupt = Interrupt(RunContext())
        interrupt.arm()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            task.uncancel()
            return interrupt.is_own()
        finally:
            interrupt.close()
        raise AssertionError

    assert asyncio.run(main()) is False
