"""A step has a deadline for the time that it takes itself, not for what it waits for inside `proceed`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from toolkeel import Agent, RunState, tool
from toolkeel.call.steps.retry import Retry
from toolkeel.messages import ToolMessage, UserMessage
from toolkeel.testing.scripted import Scripted, call

SHORT = 0.05
PAID: list[int] = []


async def never() -> None:
    await asyncio.Event().wait()


async def resist() -> None:
    """Ignore two cancellations: at the deadline, and when it is left behind."""
    for _ in range(2):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3)


async def resist_in_a_task() -> None:
    await asyncio.ensure_future(resist())


def result_of(steps: list[Any], tool_steps: Any = (), **options: Any) -> ToolMessage:
    @tool(steps=tool_steps)
    async def pay() -> str:
        """Pay."""
        PAID.append(1)
        await asyncio.sleep(0)
        return "paid"

    PAID.clear()
    options = {"callback_timeout": SHORT, **options}
    agent = Agent(Scripted([call("pay"), "end"]), [pay], steps=steps, **options)
    result = agent.run_sync("go")
    assert result.output == "end"
    return next(m for m in result.messages if isinstance(m, ToolMessage))


@pytest.mark.parametrize("wait", [never, resist, resist_in_a_task])
@pytest.mark.parametrize("place", ["agent", "tool", "limit", "guard"])
def test_a_step_that_takes_too_long_fails_its_call(place: str, wait: Any) -> None:
    async def slow(prepared: Any, context: Any, proceed: Any) -> object:
        await wait()
        return await proceed(prepared)

    if place == "limit":
        slow.place = "limit"  # type: ignore[attr-defined]
    if place == "guard":
        slow.guards_arguments = True  # type: ignore[attr-defined]
    if wait is not never and place != "agent":
        wait = never  # one place with each way to resist
    result = result_of([slow], []) if place == "agent" else result_of([], [slow])
    assert result.kind == "timeout" and PAID == []
    assert "the step 'slow' around it did not return within 0.05 seconds" in result.text
    assert "not started" in result.text


def test_a_step_that_was_stopped_cannot_proceed_any_more() -> None:
    async def stubborn(prepared: Any, context: Any, proceed: Any) -> object:
        with suppress(asyncio.CancelledError):
            await never()
        return await proceed(prepared)

    result = result_of([stubborn])
    assert result.kind == "timeout" and "not started" in result.text and PAID == []


def test_a_step_that_takes_too_long_after_the_body_says_that_its_work_was_done() -> None:
    async def slow(prepared: Any, context: Any, proceed: Any) -> object:
        value = await proceed(prepared)
        await never()
        return value

    result = result_of([slow])
    assert result.kind == "timeout" and "Its work was done by then" in result.text


def test_time_inside_proceed_and_waits_for_a_person_do_not_count() -> None:
    async def step(prepared: Any, context: Any, proceed: Any) -> object:
        with context.pause_deadline():
            await asyncio.sleep(2 * SHORT)
        await asyncio.sleep(0)
        return await proceed(prepared)

    async def within(prepared: Any, context: Any, proceed: Any) -> object:
        await asyncio.sleep(2 * SHORT)
        return await proceed(prepared)

    within.step_timeout = None  # type: ignore[attr-defined]
    assert result_of([step], [within, Retry()]).text == "paid"


def test_a_step_may_have_a_deadline_of_its_own() -> None:
    async def slow(prepared: Any, context: Any, proceed: Any) -> object:
        await never()

    slow.step_timeout = SHORT  # type: ignore[attr-defined]
    assert result_of([slow], callback_timeout=60).kind == "timeout"


@pytest.mark.parametrize("wait", [never, resist])
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_model_step_that_takes_too_long_fails_its_run_which_can_be_resumed(
    where: str, wait: Any
) -> None:
    async def slow(request: Any, run: Any, proceed: Any) -> Any:
        reply = None if where == "before" else await proceed(request)
        await wait()
        return reply

    agent = Agent(Scripted(["no"]), model_steps=[slow], callback_timeout=SHORT)
    run = agent.stream("hello")
    with pytest.raises(TimeoutError, match="the model step 'slow' did not return"):
        list(run)
    assert run.reason == "failed"
    model = Scripted(["yes"])
    result = Agent(model).run_sync(RunState.from_json(run.state.to_json()))
    assert result.output == "yes"
    assert [m.text for m in model.requests[0].messages if isinstance(m, UserMessage)] == ["hello"]


def test_a_cancelled_run_ends_as_cancelled_while_a_step_waits() -> None:
    async def main() -> None:
        waits = asyncio.Event()

        async def slow(prepared: Any, context: Any, proceed: Any) -> object:
            waits.set()
            await never()

        @tool
        def pay() -> str:
            """Pay."""
            return "paid"

        agent = Agent(Scripted([call("pay"), "end"]), [pay], steps=[slow])
        run = asyncio.ensure_future(agent.run("go"))
        await waits.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
