"""Cancel tokens, runs and contexts: what calls share, and what a running tool may see and say."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.context import PROGRESS_INTERVAL, CancelToken, Run, ToolContext
from toolwright.errors import Cancelled
from toolwright.events import Event, Progress, TurnStarted
from toolwright.messages import ToolCall


def _context(listener: list[Event]) -> ToolContext[None]:
    return ToolContext(ToolCall("c1", "add"), "add", Run(listeners=(listener.append,)))


def _messages(seen: list[Event]) -> list[str]:
    return [event.message for event in seen if isinstance(event, Progress)]


# — cancel —


def test_a_cancel_reaches_each_watcher_once_and_late_ones_at_once() -> None:
    token, seen = CancelToken(), []
    token.watch(lambda: seen.append("early"))
    token.cancel("first")
    token.cancel("second")
    token.watch(lambda: seen.append("late"))
    assert seen == ["early", "late"]
    assert (token.cancelled, token.reason) == (True, "first")


def test_a_callback_taken_back_is_not_called() -> None:
    token, seen = CancelToken(), []
    take_back = token.watch(lambda: seen.append(1))
    token.watch(lambda: seen.append(2))
    take_back()
    take_back()
    token.cancel()
    assert seen == [2]


def test_a_check_raises_with_the_reason_once_the_wish_was_given() -> None:
    token = CancelToken()
    token.check()
    token.cancel("the user left")
    with pytest.raises(Cancelled, match="the user left") as raised:
        token.check()
    assert raised.value.kind == "cancelled"


def test_of_many_threads_that_cancel_one_wins_and_each_watcher_hears_once() -> None:
    token, heard = CancelToken(), []
    for number in range(20):
        token.watch(lambda n=number: heard.append(n))
    ready = threading.Barrier(8)

    def cancel(number: int) -> None:
        ready.wait()
        token.cancel(str(number))

    threads = [threading.Thread(target=cancel, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(heard) == list(range(20))
    assert token.reason in {str(number) for number in range(8)}


# — a run —


@given(st.integers(1, 50))
def test_events_of_a_run_are_numbered_without_gaps(count: int) -> None:
    run = Run(None)
    numbers = [run.next() for _ in range(count)]
    assert [seq for seq, _, _ in numbers] == list(range(1, count + 1))
    assert {run_id for _, _, run_id in numbers} == {run.id}


def test_two_runs_never_share_their_state_or_their_id() -> None:
    one, other = Run(None), Run(None)
    one.state["x"] = 1
    assert other.state == {}
    assert one.id != other.id


def test_a_run_keeps_the_very_state_it_was_given_even_an_empty_one() -> None:
    state: dict[str, object] = {}
    assert Run(None, state=state).state is state


def test_a_listener_that_raises_is_logged_and_the_others_still_hear(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("listener")

    run = Run(None, listeners=(broken, seen.append))
    with caplog.at_level(logging.ERROR, "toolwright"):
        run.emit(TurnStarted(*run.next(), 1))
    assert len(seen) == 1
    assert "turn_started" in caplog.text


# — what a tool sees —


def test_a_tool_sees_its_call_and_what_the_run_shares() -> None:
    user, store, agent = object(), object(), object()
    run = Run(user, state={"n": 1}, store=store, agent=agent)
    context = ToolContext(ToolCall("c1", "raw_name"), "add", run)
    assert (context.tool_call_id, context.tool_name) == ("c1", "add")
    assert (context.context, context.store, context.agent) == (user, store, agent)
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
        context = ToolContext(ToolCall("c1", "add"), "add", Run(None, listeners=(listener,)))
        await asyncio.to_thread(context.progress, "from a thread")
        await asyncio.sleep(0)
        context.end()

    asyncio.run(body())
    assert _messages(seen) == ["from a thread"]
    assert threads == [threading.get_ident()]
