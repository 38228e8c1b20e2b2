"""Cancel tokens, runs and contexts: what calls share, and what a running tool may see and say."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel._common.reporter import PROGRESS_INTERVAL
from toolkeel.context import RunContext, ToolContext
from toolkeel.events import Event, Progress, TurnStarted
from toolkeel.messages import ToolCall


def _context(listener: list[Event]) -> ToolContext[None]:
    return ToolContext(ToolCall("c1", "add"), "add", RunContext(listeners=(listener.append,)))


def _messages(seen: list[Event]) -> list[str]:
    return [event.message for event in seen if isinstance(event, Progress)]


# — cancel —


# — a run —


@given(st.integers(1, 50))
def test_events_of_a_run_are_numbered_without_gaps(count: int) -> None:
    run = RunContext(None)
    numbers = [run.next_event_fields() for _ in range(count)]
    assert [seq for seq, _, _ in numbers] == list(range(1, count + 1))
    assert {run_id for _, _, run_id in numbers} == {run.id}


def test_two_runs_never_share_their_state_or_their_id() -> None:
    one, other = RunContext(None), RunContext(None)
    one.state["x"] = 1
    assert other.state == {}
    assert one.id != other.id


def test_a_run_keeps_the_very_state_it_was_given_even_an_empty_one() -> None:
    state: dict[str, object] = {}
    assert RunContext(None, state=state).state is state


def test_a_listener_that_raises_is_logged_and_the_others_still_hear(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("listener")

    run = RunContext(None, listeners=(broken, seen.append))
    with caplog.at_level(logging.ERROR, "toolkeel"):
        run.emit(TurnStarted(*run.next_event_fields(), 1))
    assert len(seen) == 1
    assert "turn_started" in caplog.text


# — what a tool sees —


def test_a_tool_sees_its_call_and_what_the_run_shares() -> None:
    user, store, agent = object(), object(), object()
    run = RunContext(user, state={"n": 1}, store=store, agent=agent)
    context = ToolContext(ToolCall("c1", "raw_name"), "add", run)
    assert (context.tool_call_id, context.tool_name) == ("c1", "add")
    assert (context.deps, context.store, context.agent) == (user, store, agent)
    assert context.state is run.state
    assert context.cancel is run.cancel
    assert context.usage is run.usage


def test_the_time_left_counts_down_from_the_deadline() -> None:
    context = _context([])
    assert context.time_left is None
    context.set_deadline(10)
    assert context.time_left is not None
    assert 9 < context.time_left <= 10


def test_progress_snapshots_in_quick_succession_replace_each_other() -> None:
    seen: list[Event] = []
    context = _context(seen)
    for number in range(100):
        context.progress(str(number), done=number, total=100)
    context.end()
    assert _messages(seen) == ["0", "99"]


def test_progress_after_the_end_is_dropped() -> None:
    seen: list[Event] = []
    context = _context(seen)
    context.end()
    context.progress("too late")
    context.end()
    assert seen == []


def test_progress_of_a_patient_tool_is_all_shown() -> None:
    seen: list[Event] = []
    context = _context(seen)

    async def body() -> None:
        for number in range(3):
            context.progress(str(number))
            await asyncio.sleep(PROGRESS_INTERVAL * 1.2)

    asyncio.run(body())
    assert _messages(seen) == ["0", "1", "2"]


def test_progress_from_a_thread_is_emitted_in_the_loop_it_belongs_to() -> None:
    threads: list[int] = []
    seen: list[Event] = []

    def listener(event: Event) -> None:
        threads.append(threading.get_ident())
        seen.append(event)

    async def body() -> None:
        context = ToolContext(ToolCall("c1", "add"), "add", RunContext(None, listeners=(listener,)))
        await asyncio.to_thread(context.progress, "from a thread")
        await asyncio.sleep(0)
        context.end()

    asyncio.run(body())
    assert _messages(seen) == ["from a thread"]
    assert threads == [threading.get_ident()]


# — watchers and threads —


# — progress —


def test_a_snapshot_that_was_held_back_is_shown_when_its_time_comes() -> None:
    """Not only when the next one comes, or at the end."""
    seen: list[Event] = []

    async def body() -> list[str]:
        context = _context(seen)
        context.progress("first")
        context.progress("second")
        context.progress("third")
        assert _messages(seen) == ["first"]
        await asyncio.sleep(PROGRESS_INTERVAL * 3)
        shown = _messages(seen)
        context.end()
        await asyncio.sleep(PROGRESS_INTERVAL * 2)
        return shown

    assert asyncio.run(body()) == ["first", "third"]
    assert _messages(seen) == ["first", "third"]


def test_a_thread_of_an_async_body_tells_in_the_loop_too() -> None:
    threads: list[int] = []

    async def body() -> None:
        run = RunContext(None, listeners=(lambda event: threads.append(threading.get_ident()),))
        context = ToolContext(ToolCall("c1", "add"), "add", run)
        await asyncio.to_thread(context.progress, "from a thread")
        await asyncio.sleep(0)
        context.end()

    asyncio.run(body())
    assert threads == [threading.get_ident()]


def test_a_flood_of_progress_from_a_thread_does_not_flood_the_loop() -> None:
    seen: list[Event] = []
    callbacks = 0

    async def body() -> None:
        nonlocal callbacks
        loop = asyncio.get_running_loop()
        schedule = loop.call_soon_threadsafe

        def count(*args: Any, **kwargs: Any) -> Any:
            nonlocal callbacks
            callbacks += 1
            return schedule(*args, **kwargs)

        loop.call_soon_threadsafe = count  # type: ignore[method-assign]
        context = _context(seen)

        def flood() -> None:
            for number in range(100_000):
                context.progress(str(number))

        thread = threading.Thread(target=flood)
        thread.start()
        thread.join()  # the loop is held: nothing is taken from its queue meanwhile
        await asyncio.sleep(0)
        context.end()

    asyncio.run(body())
    assert callbacks == 1
    assert _messages(seen) == ["99999"]


def test_progress_to_a_loop_that_has_closed_is_dropped() -> None:
    seen: list[Event] = []

    async def body() -> ToolContext[None]:
        return _context(seen)

    asyncio.run(body()).progress("too late")
    assert seen == []


@given(st.lists(st.sampled_from(["say", "wait", "thread"]), max_size=30))
@settings(max_examples=20)
def test_progress_is_never_out_of_order_and_the_last_word_is_always_shown(plan: list[str]) -> None:
    seen: list[Event] = []

    async def body() -> int:
        context, said = _context(seen), 0
        for word in plan:
            if word == "wait":
                await asyncio.sleep(0.002)
                continue
            said += 1
            if word == "say":
                context.progress(str(said))
            else:
                await asyncio.to_thread(context.progress, str(said))
        context.end()
        return said

    said = asyncio.run(body())
    shown = [int(message) for message in _messages(seen)]
    assert shown == sorted(set(shown))
    assert (shown[-1] if shown else 0) == said
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))


# — state —


@given(st.integers(2, 6), st.integers(1, 60))
@settings(max_examples=15)
def test_threads_that_update_one_value_lose_none_of_each_others_changes(
    threads: int, times: int
) -> None:
    run = RunContext(None)

    def work() -> None:
        for _ in range(times):
            run.update("count", lambda old: old + 1, 0)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert run.state["count"] == threads * times


def test_an_update_may_make_another_one_and_gives_the_new_value() -> None:
    run = RunContext(None)

    def outer(old: int) -> int:
        return old + int(run.update("inner", lambda value: value + 1, 1))

    assert (run.update("outer", outer, 1), run.state) == (3, {"inner": 2, "outer": 3})
