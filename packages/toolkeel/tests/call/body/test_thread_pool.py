"""The thread pool: it grows when it must, shrinks when it may, and loses neither work nor wakes."""

from __future__ import annotations

import asyncio
import contextvars
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forking import fork
from tests.waiting import run, until, until_sync
from toolkeel.call.body.thread_pool import ThreadPool, shared_pool
from toolkeel.errors import Cancelled, LimitReached

name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")


def _one_more(pool: ThreadPool) -> Callable[[], Coroutine[object, object, object]]:
    async def main() -> object:
        return await pool.submit(int).future

    return main


def threads_of(pool: ThreadPool) -> int:
    """Threads that take this pool's jobs and exist."""
    return sum(
        1
        for thread in threading.enumerate()
        if getattr(getattr(thread, "_target", None), "__self__", None) is pool
    )


def test_a_body_runs_beside_the_loop_and_its_value_comes_back() -> None:
    async def main() -> tuple[object, int]:
        job = ThreadPool(2).submit(lambda: threading.get_ident())
        return await job.future, threading.get_ident()

    inside, here = run(main)
    assert inside != here


@pytest.mark.parametrize("error", [ValueError("猫"), KeyboardInterrupt(), SystemExit(3)])
def test_what_a_body_raises_comes_back_as_it_is(error: BaseException) -> None:
    def body() -> None:
        raise error

    async def main() -> BaseException:
        try:
            await ThreadPool(1).submit(body).future
        except BaseException as raised:
            return raised
        raise AssertionError

    assert run(main) is error


def test_a_stop_iteration_which_no_future_can_carry_comes_back_wrapped() -> None:
    def body() -> None:
        raise StopIteration("done")

    async def main() -> None:
        await ThreadPool(1).submit(body).future

    with pytest.raises(RuntimeError, match="StopIteration") as raised:
        run(main)
    assert isinstance(raised.value.__cause__, StopIteration)


def test_each_body_sees_a_copy_of_the_context_variables_of_its_caller() -> None:
    def body() -> str:
        seen = name.get()
        name.set("the body")
        return seen

    async def main() -> tuple[object, object, str]:
        pool = ThreadPool(1)
        name.set("first")
        one = await pool.submit(body).future
        name.set("second")
        two = await pool.submit(body).future
        return one, two, name.get()

    assert run(main) == ("first", "second", "second")


@given(st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=30)
def test_as_many_bodies_run_at_once_as_there_is_room_for(size: int, count: int) -> None:
    """Bodies that wait for each other end only if they all really run at once."""
    together = min(size, count)

    async def main() -> int:
        pool = ThreadPool(size, idle=0.05)
        barrier = threading.Barrier(together, timeout=5)
        jobs = [pool.submit(barrier.wait) for _ in range(together)]
        await asyncio.gather(*(job.future for job in jobs))
        return threads_of(pool)

    assert run(main) <= size


def test_no_more_bodies_run_at_once_than_there_is_room_for() -> None:
    running, most, lock = [0], [0], threading.Lock()

    def body() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.002)
        with lock:
            running[0] -= 1

    async def main() -> None:
        pool = ThreadPool(5)
        await asyncio.gather(*(pool.submit(body).future for _ in range(100)))

    run(main)
    assert most[0] == 5


def test_one_thread_serves_one_body_after_another() -> None:
    async def main() -> set[object]:
        pool = ThreadPool(64)
        seen = set()
        for _ in range(50):
            seen.add(await pool.submit(threading.get_ident).future)
            await asyncio.sleep(0.001)  # the thread has answered; let it come back
        return seen

    assert len(run(main)) <= 3


@pytest.mark.parametrize("size", [1, 3, 64])
def test_ten_thousand_bodies_all_come_back_and_none_is_mixed_up(size: int) -> None:
    def body(number: int) -> Callable[[], int]:
        return lambda: number

    async def main() -> list[object]:
        pool = ThreadPool(size)
        results: list[object] = []
        for start in range(0, 10_000, 500):
            jobs = [pool.submit(body(number)) for number in range(start, start + 500)]
            results += await asyncio.gather(*(job.future for job in jobs))
        return results

    assert run(main, 60) == list(range(10_000))


def test_bodies_that_need_each_other_never_starve_after_any_idle_time() -> None:
    """A thread that is counted as free but is not would leave the second body waiting."""
    chance = random.Random(7)

    async def main() -> None:
        pool = ThreadPool(3, idle=0.002)
        for _ in range(400):
            barrier = threading.Barrier(3, timeout=5)
            jobs = [pool.submit(barrier.wait) for _ in range(3)]
            await asyncio.gather(*(job.future for job in jobs))
            await asyncio.sleep(chance.random() * 0.004)

    run(main, 60)


def test_idle_threads_leave_and_new_work_brings_new_ones() -> None:
    pool = ThreadPool(8, idle=0.05)

    async def main() -> None:
        barrier = threading.Barrier(8, timeout=5)
        await asyncio.gather(*(pool.submit(barrier.wait).future for _ in range(8)))

    run(main)
    assert threads_of(pool) == 8
    until_sync(lambda: threads_of(pool) == 0)
    run(main)


def test_several_loops_in_several_threads_share_one_pool() -> None:
    pool = ThreadPool(4)
    sums: list[int] = []

    async def main(base: int) -> None:
        values = await asyncio.gather(*(pool.submit(lambda n=n: n).future for n in range(200)))
        sums.append(base + sum(values))  # type: ignore[arg-type]

    callers = [threading.Thread(target=lambda b=b: asyncio.run(main(b))) for b in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(20)
    assert sorted(sums) == [19900 + base for base in range(6)]


def test_one_thread_may_use_the_pool_from_one_loop_after_another() -> None:
    pool = ThreadPool(2)

    async def main() -> object:
        return await pool.submit(lambda: "猫").future

    assert [asyncio.run(main()) for _ in range(5)] == ["猫"] * 5


# — giving up —


class Gate:
    """A body that waits until it may go, and tells that it has begun."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.ended = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.go.wait(20)
        self.ended.set()
        return "late"

    async def begins(self) -> None:
        await until(self.begun.is_set)


def test_a_thread_given_up_is_counted_until_its_body_ends_and_its_value_is_dropped() -> None:
    pool, gate = ThreadPool(1), Gate()

    async def main() -> tuple[bool, object]:
        job = pool.submit(gate)
        await gate.begins()
        pool.abandon(job)
        pool.abandon(job)
        assert pool.leaked == 1
        other = await pool.submit(lambda: "on time").future
        gate.go.set()
        await until(lambda: not pool.leaked)
        return job.future.done(), other

    assert run(main) == (False, "on time")


@pytest.mark.parametrize(
    ("raised", "told"), [(Cancelled("as asked"), False), (OSError("no"), True)]
)
def test_a_body_given_up_that_fails_is_told_and_one_that_stops_as_asked_is_not(
    raised: Exception, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pool, gate = ThreadPool(1), Gate()

    def body() -> None:
        gate()
        raise raised

    async def main() -> None:
        job = pool.submit(body)
        await gate.begins()
        pool.abandon(job)
        gate.go.set()
        await until(lambda: not pool.leaked)

    run(main)
    assert ("failed after its call had ended" in caplog.text) is told


def test_giving_up_a_thread_makes_room_for_the_body_that_waits_behind_it() -> None:
    async def main() -> object:
        pool, gate = ThreadPool(1), Gate()
        stuck, waiting = pool.submit(gate), pool.submit(lambda: "mine at last")
        await gate.begins()
        pool.abandon(stuck)
        try:
            return await asyncio.wait_for(waiting.future, 5)
        finally:
            gate.go.set()

    assert run(main) == "mine at last"


def test_a_body_given_up_before_its_turn_never_runs() -> None:
    ran: list[int] = []

    async def main() -> None:
        pool, gate = ThreadPool(1), Gate()
        first = pool.submit(gate)
        await gate.begins()
        second = pool.submit(lambda: ran.append(2))
        third = pool.submit(lambda: ran.append(3))
        pool.abandon(second)
        assert pool.leaked == 0
        gate.go.set()
        await asyncio.gather(first.future, third.future)

    run(main)
    assert ran == [3]


def test_a_body_whose_future_was_cancelled_can_still_be_given_up() -> None:
    """Cancelling the task that waits cancels the future first."""
    ran: list[int] = []

    async def main() -> None:
        pool, gate = ThreadPool(1), Gate()
        first = pool.submit(gate)
        await gate.begins()
        second = pool.submit(lambda: ran.append(2))
        for job in (first, second):
            job.future.cancel()
        for job in (first, second):
            pool.abandon(job)
        assert pool.leaked == 1
        gate.go.set()
        assert await pool.submit(lambda: "next").future == "next"

    run(main)
    assert ran == []


def test_giving_up_a_body_that_has_ended_changes_nothing() -> None:
    async def main() -> int:
        pool = ThreadPool(1)
        job = pool.submit(lambda: 1)
        await job.future
        await until(lambda: job.finished)
        pool.abandon(job)
        return pool.leaked

    assert run(main) == 0


def test_the_body_after_the_last_allowed_leak_is_refused_until_one_of_them_ends() -> None:
    pool, gates = ThreadPool(64, max_abandoned=32), [Gate() for _ in range(32)]

    async def main() -> object:
        jobs = [pool.submit(gate) for gate in gates]
        for job, gate in zip(jobs, gates, strict=True):
            await gate.begins()
            pool.abandon(job)
        with pytest.raises(LimitReached, match="32 earlier calls"):
            pool.submit(lambda: None)
        gates[0].go.set()
        await until(lambda: pool.leaked < 32)
        return await pool.submit(lambda: "again").future

    try:
        assert run(main) == "again"
    finally:
        for gate in gates:
            gate.go.set()
    until_sync(lambda: pool.leaked == 0)


@given(
    st.integers(1, 4), st.lists(st.sampled_from(["run", "fail", "give up", "wait"]), max_size=40)
)
@settings(max_examples=60)
def test_whatever_is_given_up_the_rest_is_done_and_the_count_returns_to_nothing(
    size: int, plan: list[str]
) -> None:
    pool = ThreadPool(size, max_abandoned=100, idle=0.02)
    gates: list[Gate] = []

    def fail() -> None:
        raise ValueError

    async def main() -> None:
        kept = []
        for word in plan:
            if word == "run":
                kept.append(pool.submit(lambda: 1))
            elif word == "fail":
                kept.append(pool.submit(fail))
            elif word == "wait":
                await asyncio.sleep(0.001)
            else:
                gates.append(Gate())
                pool.abandon(pool.submit(gates[-1]))
        done = await asyncio.wait_for(
            asyncio.gather(*(job.future for job in kept), return_exceptions=True), 10
        )
        assert [type(value) for value in done] == [
            ValueError if word == "fail" else int for word in plan if word in ("run", "fail")
        ]

    try:
        run(main)
    finally:
        for gate in gates:
            gate.go.set()
    until_sync(
        lambda: pool.leaked == 0 and pool._count == pool._spare,
        state=lambda: (pool.leaked, pool._count, pool._spare, threads_of(pool)),
    )
    for _ in range(100):
        with suppress(AssertionError):
            until_sync(lambda: threads_of(pool) == 0, 1)
            break
        # CPython's `SimpleQueue.get` waits for ever when another thread takes its item just as its
        # time runs out: such a thread is free, counted as free, and leaves after its next job.
        run(_one_more(pool))
    assert (pool._count, pool._spare) == (0, 0)


def test_a_loop_that_closed_does_not_disturb_a_body_that_outlives_it() -> None:
    pool, gate = ThreadPool(1), Gate()

    async def main() -> None:
        job = pool.submit(gate)
        await gate.begins()
        job.future.cancel()  # nobody gives it up

    run(main)
    gate.go.set()
    assert gate.ended.wait(20)

    async def again() -> object:
        return await pool.submit(lambda: "well").future

    assert run(again) == "well"


# — fork —


def _in_child(body: Callable[[], bool]) -> int:
    """Run `body` in a forked child; 0 if it says True within ten seconds."""
    child = fork()
    if child == 0:
        signal.alarm(10)
        try:
            os._exit(0 if body() else 1)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_process_gets_threads_of_its_own() -> None:
    assert sys.platform != "win32"
    own = ThreadPool(1)

    async def ask(pool: ThreadPool) -> object:
        return await pool.submit(lambda: "hello").future

    def both() -> bool:
        return all(asyncio.run(ask(pool)) == "hello" for pool in (own, shared_pool()))

    assert both()
    assert _in_child(both) == 0
    assert both()


def test_a_child_process_is_not_charged_for_the_leaks_of_its_parent() -> None:
    pool, gate = ThreadPool(1, max_abandoned=1), Gate()

    async def leak() -> None:
        job = pool.submit(gate)
        await gate.begins()
        pool.abandon(job)

    async def ask() -> object:
        return await pool.submit(lambda: "hello").future

    asyncio.run(leak())
    try:
        assert _in_child(lambda: asyncio.run(ask()) == "hello") == 0
    finally:
        gate.go.set()
