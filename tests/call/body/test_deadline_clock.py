"""One timer keeps every deadline of a loop."""

from __future__ import annotations

import asyncio
import threading

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import run, until
from toolkeel.call.body.deadline_clock import Deadlines, deadlines


class Bell:
    """Something under a deadline."""

    def __init__(self, others: list[Bell] | None = None) -> None:
        self.rung: list[float] = []
        self.others = others or []

    def strike(self, reason: str) -> None:
        assert reason == "timeout"
        loop = asyncio.get_running_loop()
        self.rung.append(loop.time())
        for other in self.others:
            deadlines(loop).entries.pop(other)


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=40))
@settings(max_examples=25)
def test_each_deadline_is_kept_once_and_in_time_unless_it_was_taken_back(
    plan: list[tuple[int, bool]],
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        kept = Deadlines()
        bells = [(Bell(), loop.time() + ticks / 1000, back) for ticks, back in plan]
        for (bell, _, _), (ticks, _) in zip(bells, plan, strict=True):
            kept.add(bell, ticks / 1000, loop)
        for bell, _, back in bells:
            if back:
                del kept.entries[bell]
        await until(lambda: all(bell.rung or back for bell, _, back in bells))
        await asyncio.sleep(0.002)
        for bell, due, back in bells:
            assert len(bell.rung) == (0 if back else 1)
            assert all(at >= due - 0.001 for at in bell.rung)

    run(main)


def test_one_that_is_struck_may_take_others_back() -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        second, third = Bell(), Bell()
        first = Bell([second])
        for bell in (first, second, third):
            deadlines(loop).add(bell, 0.001, loop)
        await until(lambda: third.rung)
        return [len(bell.rung) for bell in (first, second, third)]

    assert run(main) == [1, 0, 1]


def test_every_loop_of_a_thread_has_a_timer_of_its_own() -> None:
    async def timer() -> Deadlines:
        return deadlines(asyncio.get_running_loop())

    seen = [asyncio.run(timer()), asyncio.run(timer())]
    other = threading.Thread(target=lambda: seen.append(asyncio.run(timer())))
    other.start()
    other.join()
    assert len({id(each) for each in seen}) == 3


def test_a_loop_with_nothing_due_sleeps() -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        bell = Bell()
        deadlines(loop).add(bell, 0.001, loop)
        del deadlines(loop).entries[bell]
        await asyncio.sleep(0.01)
        return len([h for h in loop._scheduled if not h.cancelled()])  # type: ignore[attr-defined]

    assert run(main) <= 1  # the test's own time limit
