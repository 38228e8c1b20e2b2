"""Stopping bodies that wait, telling our cancellations from others', and leaving none behind."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import run, until
from toolkeel.call.body import detached_tasks, task_cancels
from toolkeel.call.body.coroutine_deadline import run_coroutine
from toolkeel.call.body.task_cancels import GRACE_ONLY
from toolkeel.context import CancelToken, RunContext, ToolContext
from toolkeel.errors import Cancelled, TimedOut, ToolError
from toolkeel.messages import ToolCall

Body = Callable[[], Awaitable[object]]
SOON = 0.02


def timers() -> int:
    """How many deadlines the running loop still watches."""
    scheduled: Any = asyncio.get_running_loop()
    return sum(not h.cancelled() and h._args == ("timeout",) for h in scheduled._scheduled)


@pytest.fixture(autouse=True)
def short_grace() -> Iterator[None]:
    """Bodies that resist get less time here than in earnest."""
    usual, task_cancels.GRACE = task_cancels.GRACE, 0.05
    yield
    task_cancels.GRACE = usual


def context(token: CancelToken | None = None) -> ToolContext[Any]:
    made: ToolContext[Any] = ToolContext(ToolCall("c1", "work"), "work", RunContext(cancel=token))
    made.body_state = "runs"
    return made


async def drive(body: Body, timeout: float | None = None, token: CancelToken | None = None) -> Any:
    """Run a body as `invoke` does."""

    async def wrapped() -> object:
        return await body()

    return await run_coroutine(wrapped(), context(token), timeout)


async def outcome(awaitable: Awaitable[object]) -> object:
    """What comes out, value or exception; and the task must be as if nobody had cancelled it."""
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    try:
        value = await awaitable
    except BaseException as error:
        value = error
    assert task.cancelling() == before
    await asyncio.sleep(0)  # a cancellation that was left over would arrive here
    return value


def later(seconds: float, action: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(seconds, action)


async def resist(seconds: float, until_now: list[str] | None = None) -> str:
    """Work on whatever happens."""
    end = asyncio.get_running_loop().time() + seconds
    while (left := end - asyncio.get_running_loop().time()) > 0:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(left)
    if until_now is not None:
        until_now.append("finished")
    return "resisted"


# — ordinary ends —


def test_a_body_that_never_waits_returns_its_value_and_is_not_watched() -> None:
    async def body() -> str:
        return "value"

    token = CancelToken()
    assert run(lambda: drive(body, 1, token)) == "value"
    assert not token._callbacks


def test_a_body_that_waits_returns_its_value_and_is_watched_no_longer() -> None:
    async def body() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        return "value"

    async def main() -> tuple[object, int]:
        value = await drive(body, 1, token)
        return value, timers()

    token = CancelToken()
    assert run(main) == ("value", 0)
    assert not token._callbacks


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    "error",
    [ValueError("x"), TimeoutError(), ToolError("mine"), KeyboardInterrupt(), SystemExit(2)],
)
def test_what_a_body_raises_comes_out_as_it_is(error: BaseException, waits: bool) -> None:
    async def body() -> None:
        if waits:
            await asyncio.sleep(0)
        raise error

    async def main() -> object:
        return await outcome(drive(body, 1))

    assert run(main) is error


def test_a_body_sees_how_much_time_it_has_left() -> None:
    seen: list[float | None] = []
    its_context = context()

    async def body() -> None:
        await asyncio.sleep(0)
        seen.append(its_context.time_left)

    async def main() -> None:
        await run_coroutine(body(), its_context, 5)

    run(main)
    assert seen[0] is not None and 4 < seen[0] <= 5


# — deadline —


async def _sleep() -> str:
    await asyncio.sleep(5)
    return "too late"


async def _event() -> str:
    await asyncio.Event().wait()
    return "never"


async def _task() -> str:
    return await asyncio.create_task(_sleep())


async def _gather() -> tuple[str, str]:
    return await asyncio.gather(_sleep(), _sleep())


async def _to_thread() -> object:
    return await asyncio.to_thread(threading.Event().wait, 0.2)


async def _group() -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(_sleep())
        group.create_task(_sleep())
    return "never"


async def _longer_timeout() -> str:
    async with asyncio.timeout(5):
        return await _sleep()


async def _wait_for() -> str:
    return await asyncio.wait_for(_sleep(), 5)


async def _shield() -> str:
    return await asyncio.shield(asyncio.sleep(0.2, "shielded"))


async def _spin() -> str:
    for _ in itertools.count():
        await asyncio.sleep(0)
    return "never"


WAYS_TO_WAIT = [_sleep, _event, _task, _gather, _to_thread, _group, _longer_timeout, _wait_for]
WAYS_TO_WAIT += [_shield, _spin]


@pytest.mark.parametrize("body", WAYS_TO_WAIT)
@pytest.mark.parametrize("why", ["deadline", "token", "both"])
def test_a_body_is_stopped_whatever_it_waits_for(body: Body, why: str) -> None:
    token = CancelToken()

    async def main() -> object:
        if why != "deadline":
            later(SOON, token.cancel)
        return await outcome(drive(body, None if why == "token" else SOON, token))

    error = run(main)
    assert isinstance(error, TimedOut if why == "deadline" else (Cancelled, TimedOut))
    assert error.details == {"may_still_be_running": False}
    assert "'work'" in error.text and "was stopped" in error.text


def test_the_text_of_a_missed_deadline_says_how_long_it_was() -> None:
    error = run(lambda: outcome(drive(_sleep, 0.025)))
    assert isinstance(error, TimedOut) and "within 0.025 seconds" in error.text


def test_a_cancel_before_the_first_wait_stops_the_body_at_that_wait() -> None:
    token = CancelToken()

    async def body() -> str:
        token.cancel("enough")
        return await _sleep()

    error = run(lambda: outcome(drive(body, 5, token)))
    assert isinstance(error, Cancelled) and "enough" in error.text


def test_a_body_that_waits_for_nothing_but_ends_on_time_is_never_struck() -> None:
    async def body() -> str:
        await asyncio.sleep(SOON)
        return "just in time"

    async def main() -> list[object]:
        return [await outcome(drive(body, 1)) for _ in range(60)]  # the first are over time by then

    assert run(main) == ["just in time"] * 60


def test_each_of_many_deadlines_is_kept() -> None:
    async def main() -> list[object]:
        async def one(number: int) -> object:
            return await outcome(drive(_sleep, 0.01 + number % 7 * 0.01))

        return await asyncio.gather(*(asyncio.create_task(one(n)) for n in range(300)))

    done = run(main)
    assert all(isinstance(error, TimedOut) for error in done)


# — cleaning up —


def test_a_body_may_clean_up_while_it_is_being_stopped() -> None:
    seen: list[str] = []

    async def body() -> None:
        try:
            await _sleep()
        finally:
            await asyncio.sleep(0.001)
            seen.append("cleaned up")

    error = run(lambda: outcome(drive(body, SOON)))
    assert isinstance(error, TimedOut)
    assert seen == ["cleaned up"]


def test_words_of_the_author_after_a_strike_are_kept() -> None:
    async def body() -> None:
        try:
            await _sleep()
        except asyncio.CancelledError:
            raise ToolError("three of five were done") from None

    error = run(lambda: outcome(drive(body, SOON)))
    assert isinstance(error, ToolError) and error.text == "three of five were done"


def test_any_other_exception_after_a_strike_is_the_strikes_doing() -> None:
    async def body() -> None:
        try:
            await _sleep()
        except asyncio.CancelledError:
            raise ConnectionError("the server hung up") from None

    error = run(lambda: outcome(drive(body, SOON)))
    assert isinstance(error, TimedOut)
    assert isinstance(error.__cause__, ConnectionError)


def test_an_exception_caught_while_cleaning_up_does_not_shorten_the_grace() -> None:
    seen: list[str] = []

    async def body() -> None:
        try:
            await _sleep()
        finally:
            broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            later(0.001, lambda: broken.set_exception(ConnectionError()))
            try:
                await broken
            except ConnectionError:
                await asyncio.sleep(0.001)
                seen.append("cleaned up")

    error = run(lambda: outcome(drive(body, SOON)))
    assert isinstance(error, TimedOut)
    assert seen == ["cleaned up"] and error.details == {"may_still_be_running": False}


# — bodies that resist —


@pytest.mark.parametrize("why", ["deadline", "token"])
def test_a_body_that_resists_is_left_behind_after_its_time_of_grace(why: str) -> None:
    token, seen = CancelToken(), list[str]()

    async def main() -> object:
        if why == "token":
            later(SOON, token.cancel)
        error = await outcome(
            drive(lambda: resist(1.5, seen), 0.02 if why != "token" else 9, token)
        )
        assert seen == []
        await until(lambda: seen)
        await until(lambda: not detached_tasks._detached)
        return error

    error = run(main)
    assert isinstance(error, TimedOut if why == "deadline" else Cancelled)
    assert error.details == {"may_still_be_running": True}
    assert "may still be running" in error.text


@pytest.mark.parametrize("gathered", [False, True])
def test_a_task_that_resists_cannot_hold_the_body_that_waits_for_it(gathered: bool) -> None:
    """Cancelling the body cancels what it waits for; if that goes on, so would the wait."""
    seen: list[str] = []

    async def body() -> object:
        inner = asyncio.create_task(resist(1.5, seen))
        return await (asyncio.gather(inner) if gathered else inner)

    async def main() -> object:
        error = await outcome(drive(body, SOON))
        assert seen == []
        await until(lambda: seen)
        return error

    error = run(main)
    assert isinstance(error, TimedOut)
    assert error.details == {"may_still_be_running": True}


def test_a_task_that_cleans_up_in_time_is_waited_for() -> None:
    async def inner() -> None:
        try:
            await _sleep()
        finally:
            await asyncio.sleep(0.001)
            seen.append("inner")

    async def body() -> None:
        try:
            await asyncio.create_task(inner())
        finally:
            seen.append("body")

    seen: list[str] = []
    error = run(lambda: outcome(drive(body, SOON)))
    assert seen == ["inner", "body"]
    assert isinstance(error, TimedOut) and error.details == {"may_still_be_running": False}


def test_the_value_and_the_exception_of_a_task_reach_the_body_that_waits_for_it() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("inner")

    async def body() -> tuple[object, ...]:
        one = await asyncio.create_task(asyncio.sleep(0, "one"))
        two = await asyncio.gather(asyncio.sleep(0, "two"), fail(), return_exceptions=True)
        cancelled = asyncio.create_task(asyncio.sleep(5))
        later(0.001, cancelled.cancel)
        try:
            await cancelled
        except asyncio.CancelledError:
            return (one, *two, "cancelled")
        raise AssertionError

    one, two, error, word = run(lambda: drive(body, 5))
    assert (one, two, word) == ("one", "two", "cancelled")
    assert isinstance(error, ValueError)


def test_what_a_body_left_behind_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        await resist(1.5)
        raise ValueError("after all")

    async def main() -> None:
        await outcome(drive(body, SOON))
        await until(lambda: not detached_tasks._detached)

    with caplog.at_level(logging.WARNING, "toolkeel"):
        run(main)
    assert "a body failed after its call had ended" in caplog.text and "after all" in caplog.text


def test_a_loop_that_ends_does_not_wait_for_a_body_that_never_stops() -> None:
    closed: list[str] = []

    async def body() -> None:
        try:
            await resist(60)
        finally:
            closed.append("closed")

    begun = time.monotonic()
    assert isinstance(run(lambda: outcome(drive(body, SOON))), TimedOut)
    assert time.monotonic() - begun < 20
    assert closed == ["closed"]


def test_a_call_inside_a_body_left_behind_never_cancels_the_task_it_came_from() -> None:
    """The inner deadline passes when the inner body has long moved to another task."""

    async def inner() -> object:
        return await run_coroutine(resist(0.5), context(), 0.2)

    async def main() -> object:
        first = await outcome(drive(inner, SOON))
        assert isinstance(first, TimedOut)
        await asyncio.sleep(0.4)  # the inner deadline, which must not arrive here
        return "undisturbed"

    assert run(main) == "undisturbed"


# — cancellation from outside —


@pytest.mark.parametrize("body", WAYS_TO_WAIT)
def test_a_cancellation_from_outside_propagates_and_is_counted_once(body: Body) -> None:
    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        later(SOON, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await drive(body, 5)
        assert task.uncancel() == 0

    run(main)


def test_a_timeout_around_the_call_is_a_timeout_of_the_caller() -> None:
    async def main() -> None:
        async with asyncio.timeout(SOON):
            await drive(_sleep, 5)

    with pytest.raises(TimeoutError):
        run(main)


@pytest.mark.parametrize("how", ["returns", "raises", "raises ToolError"])
def test_a_body_cannot_swallow_a_cancellation_from_outside(how: str) -> None:
    async def body() -> str:
        try:
            await _sleep()
        except asyncio.CancelledError:
            if how == "raises":
                raise ValueError from None
            if how == "raises ToolError":
                raise ToolError("no") from None
        return "swallowed"

    async def main() -> str:
        try:
            async with asyncio.timeout(SOON):
                await drive(body, 5)
        except TimeoutError:
            return "timed out"
        return "went on"

    assert run(main) == "timed out"


@given(
    st.lists(st.sampled_from(["deadline", "token", "outside", "inside"]), max_size=6, unique=True)
)
@settings(max_examples=40)
def test_of_several_reasons_in_one_tick_the_one_from_outside_wins(reasons: list[str]) -> None:
    token = CancelToken()

    async def body() -> object:
        async with asyncio.timeout(SOON if "inside" in reasons else 99):
            return await asyncio.sleep(99 if reasons else SOON, "value")

    async def main() -> object:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        due = loop.time() + SOON
        if "token" in reasons:
            loop.call_at(due, token.cancel)
        if "outside" in reasons:
            loop.call_at(due, task.cancel)
        # Due a little before the others, and long enough that all are due in the next tick.
        loop.call_at(due - SOON / 10, _block, SOON * 5)
        try:
            result: object = await drive(body, SOON if "deadline" in reasons else None, token)
        except BaseException as error:
            result = error
        assert task.cancelling() == ("outside" in reasons)
        task.uncancel()
        return result

    result = run(main)
    if "outside" in reasons:
        assert isinstance(result, asyncio.CancelledError)
    elif {"deadline", "token"} & set(reasons):
        assert isinstance(result, TimedOut | Cancelled)
    elif "inside" in reasons:
        assert isinstance(result, TimeoutError) and not isinstance(result, TimedOut)
    else:
        assert result == "value"


def _block(seconds: float) -> None:
    """Hold the loop, so that all timers of the time are due in the next tick."""
    threading.Event().wait(seconds)


def test_a_cancellation_that_says_give_up_leaves_a_body_that_resists_behind() -> None:
    seen: list[str] = []

    async def main() -> None:
        task = asyncio.create_task(drive(lambda: resist(1.5, seen), 9))
        await asyncio.sleep(SOON)
        task.cancel(GRACE_ONLY)
        await asyncio.wait([task])
        assert task.cancelled()
        assert seen == []
        await until(lambda: not detached_tasks._detached)

    run(main)


def test_a_body_may_take_long_over_a_timeout_of_its_own() -> None:
    """From the outside that looks like a cancellation; the time of grace is not for it."""

    async def body() -> str:
        try:
            async with asyncio.timeout(0.01):
                try:
                    await _sleep()
                finally:
                    await asyncio.sleep(0.15)
        except TimeoutError:
            await asyncio.sleep(0.01)
            return "handled"
        return "never"

    assert run(lambda: outcome(drive(body, 5))) == "handled"


# — bodies that cancel —


def test_a_body_that_raises_the_cancellation_itself_is_told_so() -> None:
    async def body() -> None:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    error = run(lambda: outcome(drive(body)))
    assert isinstance(error, Cancelled) and "cancelled itself" in error.text


@pytest.mark.parametrize("waits_before", [0, 1, 3])
def test_a_body_that_cancels_the_task_it_runs_in_cancels_its_caller(waits_before: int) -> None:
    """A signal handler may do that at any moment: to swallow it would be to swallow Ctrl-C."""

    async def body() -> None:
        for _ in range(waits_before):
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(asyncio.CancelledError):
            await drive(body)
        assert task.uncancel() == 0

    run(main)


def test_a_body_that_waits_for_a_cancelled_task_is_told_so() -> None:
    async def body() -> None:
        inner = asyncio.create_task(_sleep())
        later(0.001, inner.cancel)
        await inner

    error = run(lambda: outcome(drive(body)))
    assert isinstance(error, Cancelled) and "cancelled itself" in error.text


@pytest.mark.parametrize("caught", [False, True])
@pytest.mark.parametrize("where", ["in the block", "at its end"])
def test_a_task_group_that_fails_inside_leaves_nothing_in_the_task(
    where: str, caught: bool
) -> None:
    """Before Python 3.13 a group that fails at its end leaves a cancellation in the count."""

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("inner")

    async def body() -> str:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                group.create_task(_sleep())
                if where == "in the block":
                    await _sleep()
        except* ValueError:
            if not caught:
                raise
        await asyncio.sleep(0)
        return "handled"

    for _ in range(3):
        result = run(lambda: outcome(drive(body, 5)))
        assert result == "handled" if caught else isinstance(result, ExceptionGroup)


def test_a_cancellation_from_outside_is_not_lost_in_a_task_group_that_fails() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("inner")

    async def body() -> str:
        with suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
        await _sleep()
        return "never"

    async def main() -> str:
        try:
            async with asyncio.timeout(SOON):
                await drive(body, 5)
        except TimeoutError:
            return "timed out"
        return "went on"

    assert run(main) == "timed out"


# — after the end —


def test_a_cancel_that_comes_as_the_body_ends_disturbs_nobody() -> None:
    """The strike is on its way through the loop when the body has just ended."""
    token = CancelToken()

    async def body() -> str:
        await asyncio.sleep(0)
        token.cancel()
        return "value"

    async def main() -> object:
        value = await outcome(drive(body, 5, token))
        await asyncio.sleep(0.01)
        return value

    assert run(main) == "value"


def test_a_coroutine_that_is_closed_while_it_waits_closes_its_body() -> None:
    seen: list[str] = []

    async def body() -> None:
        try:
            await _event()
        finally:
            seen.append("closed")

    async def main() -> None:
        coroutine = drive(body, 5)
        coroutine.send(None)
        coroutine.close()
        assert not timers()

    run(main)
    gc.collect()
    assert seen == ["closed"]


def test_a_loop_that_closed_is_not_disturbed_by_a_late_cancel() -> None:
    token = CancelToken()

    async def main() -> None:
        task = asyncio.create_task(drive(_event, None, token))
        await asyncio.sleep(0)
        task.cancel()

    run(main)
    token.cancel()


def test_a_body_that_raises_cancelled_error_at_once_has_cancelled_itself() -> None:
    async def body() -> None:
        raise asyncio.CancelledError

    async def drive() -> None:
        context = ToolContext(ToolCall("1", "body"), "body", RunContext())
        with pytest.raises(Cancelled, match="cancelled itself"):
            await run_coroutine(body(), context, 1.0)

    run(drive)


# — off the clock —


@pytest.mark.parametrize("first", [True, False])
def test_time_off_the_clock_does_not_count_and_the_rest_still_does(first: bool) -> None:
    running = context()

    async def body(work: float) -> str:
        if not first:
            await asyncio.sleep(0)
        with running.pause_deadline(), running.pause_deadline():
            await asyncio.sleep(0.4)
        await asyncio.sleep(work)
        return "done"

    async def main() -> None:
        assert await run_coroutine(body(0.01), running, 0.2) == "done"
        with pytest.raises(TimedOut):
            await run_coroutine(body(30), running, 0.2)
        assert not timers()

    run(main)
