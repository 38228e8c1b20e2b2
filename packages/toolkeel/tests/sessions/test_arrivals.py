"""Runs of one session are written in the order in which they were asked for."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import run as run_async
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.sessions.session import Session
from toolkeel.sessions.session_lock import Arrivals
from toolkeel.testing.scripted import Scripted, call

PROMPTS = [f"p{n}" for n in range(8)]


@pytest.fixture
def uneven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first who look a session up be the last who find it."""
    found, turns = Session._find_or_make, iter(range(8, 0, -1))

    def slowly(self: Session) -> Any:
        time.sleep(next(turns, 0) / 100)
        return found(self)

    monkeypatch.setattr(Session, "_find_or_make", slowly)


def prompts(session: Session) -> list[str]:
    return [m.text for m in session.messages if m.text.startswith("p")]


@pytest.mark.usefixtures("uneven")
@pytest.mark.parametrize("where", ["memory", "file", "one object each"])
def test_runs_that_are_gathered_are_written_in_the_order_asked(tmp_path: Path, where: str) -> None:
    sessions = Sessions(":memory:" if where == "memory" else tmp_path / "s.db")
    agent = Agent(Scripted(["ok"] * 8))
    same = sessions["ada"]

    async def main() -> None:
        each = (sessions["ada"] if where == "one object each" else same for _ in PROMPTS)
        runs = (agent.run(prompt, session=one) for prompt, one in zip(PROMPTS, each, strict=True))
        await asyncio.gather(*runs)

    run_async(main)
    assert prompts(same) == PROMPTS


@pytest.mark.usefixtures("uneven")
def test_started_and_streamed_runs_and_failing_ones_keep_their_place(tmp_path: Path) -> None:
    session = Sessions(tmp_path / "s.db")["ada"]
    lines: list[Any] = ["ok", ConnectionError("lost"), "ok", "ok"]
    agent = Agent(Scripted(lines))

    async def main() -> None:
        runs = [agent.start(f"p{n}", session=session) for n in range(4)]
        await asyncio.gather(*runs, return_exceptions=True)

    run_async(main)
    assert prompts(session) == ["p0", "p1", "p2", "p3"]


@pytest.mark.usefixtures("uneven")
def test_a_run_that_is_cancelled_while_it_waits_holds_up_nobody(tmp_path: Path) -> None:
    session = Sessions(tmp_path / "s.db")["ada"]

    async def main() -> None:
        goes_on, entered = asyncio.Event(), asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            entered.set()
            await goes_on.wait()
            return "waited"

        agent = Agent(Scripted([call("wait"), "ok", "ok", "ok"]), [wait])
        runs = [agent.start(f"p{n}", session=session) for n in range(4)]
        await asyncio.sleep(0)
        assert runs[1]._task is not None
        runs[1]._task.cancel()
        await entered.wait()
        goes_on.set()
        await asyncio.gather(*runs, return_exceptions=True)

    run_async(main)
    assert prompts(session) == ["p0", "p2", "p3"]


def test_a_run_has_its_place_from_its_start_and_a_stream_from_its_first_read() -> None:
    session = Sessions(":memory:")["ada"]
    agent = Agent(Scripted(["ok"] * 6))

    async def main() -> None:
        unread = agent.stream("p3", session=session)
        first = agent.start("p0", session=session)
        never = agent.start("p9", session=session)
        assert never._task is not None
        never._task.cancel()  # before it began
        streamed = agent.stream("p1", session=session)
        reading = asyncio.ensure_future(anext(aiter(streamed)))
        await asyncio.gather(first, reading, agent.run("p2", session=session))
        await streamed
        await unread

    run_async(main)
    assert prompts(session) == ["p0", "p1", "p2", "p3"]


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(5)), st.sets(st.integers(0, 4)))
def test_whoever_leaves_in_whatever_order_the_order_of_arrival_holds(
    order: list[int], cancelled: set[int]
) -> None:
    async def main() -> None:
        arrivals = Arrivals()
        known = [arrivals.arrive("s") for _ in range(5)]
        passed: list[int] = []

        async def go(number: int, ready: asyncio.Event) -> None:
            try:
                await ready.wait()
                await known[number].wait()
                passed.append(number)
            finally:
                known[number].leave()

        ready = [asyncio.Event() for _ in known]
        tasks = [asyncio.create_task(go(n, ready[n])) for n in range(5)]
        await asyncio.sleep(0)
        for number in order:
            if number in cancelled:
                tasks[number].cancel()
            else:
                ready[number].set()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert passed == [n for n in range(5) if n not in cancelled]
        assert all(each.queued.done() for each in known)
        assert arrivals._last == {}

    run_async(main)


def test_a_place_that_was_taken_in_a_closed_loop_holds_up_nobody() -> None:
    arrivals = Arrivals()

    async def arrive() -> Any:
        return arrivals.arrive("s")

    loop = asyncio.new_event_loop()
    never = loop.run_until_complete(arrive())
    loop.close()
    assert not never.queued.done()
    run_async(arrivals.arrive("s").wait)


def test_behind_a_closed_loop_the_run_before_it_is_waited_for() -> None:
    arrivals, loop, order = Arrivals(), asyncio.new_event_loop(), list[str]()

    async def arrive() -> Any:
        return arrivals.arrive("s")

    async def main() -> None:
        first = arrivals.arrive("s")
        await asyncio.to_thread(lambda: loop.run_until_complete(arrive()))
        last = asyncio.create_task(arrivals.arrive("s").wait())
        last.add_done_callback(lambda _: order.append("last"))
        await asyncio.sleep(0)
        loop.close()  # while the last one waits
        await asyncio.sleep(0.05)
        order.append("first")
        first.leave()
        await last

    run_async(main)
    assert order == ["first", "last"]


def test_threads_take_places_of_their_own() -> None:
    arrivals = Arrivals()
    places: list[Any] = []
    threads = [
        threading.Thread(target=lambda: places.append(arrivals.arrive("s"))) for _ in range(20)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({id(each.queued) for each in places}) == 20
