"""A listener that takes its time, beside runs that do not wait for it."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from toolkeel import ToolCall, ToolContext, Toolset, tool
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import Emitted, Event, Progress
from toolkeel.observe import SlowListener


@tool
async def tells(count: int, context: ToolContext[None]) -> str:
    """Tell much."""
    for number in range(count):
        context.emit(number)
        context.progress(str(number))
        if number % 100 == 0:
            await asyncio.sleep(0)
    return "told"


def run_with(listener: SlowListener, count: int) -> str:
    context: RunContext[None] = RunContext(listeners=(listener,))
    [message] = Toolset([tells]).run_sync([ToolCall("c", "tells", {"count": count})], context)
    return message.text


def test_a_run_ends_while_its_slow_listener_is_still_at_the_first_event() -> None:
    let, told = threading.Event(), list[Event]()

    def slow(event: Event) -> None:
        let.wait(60)
        told.append(event)

    listener = SlowListener(slow)
    assert run_with(listener, 500) == "told"
    assert told == []
    let.set()
    listener.close()
    assert [event.value for event in told if isinstance(event, Emitted)] == list(range(500))
    assert [event.seq for event in told] == sorted(event.seq for event in told)
    assert listener.dropped == 0


def test_what_waits_is_bounded_by_leaving_out_what_others_say_again() -> None:
    let, told = threading.Event(), list[Event]()

    def slow(event: Event) -> None:
        let.wait(60)
        told.append(event)

    listener = SlowListener(slow, most=10)
    for number in range(1000):
        listener(Progress(number, time.time(), "r", "c", "half", None, None))
    listener(Emitted(1000, time.time(), "r", "c", "kept"))
    assert 989 <= listener.dropped <= 990
    let.set()
    listener.close()
    assert isinstance(told[-1], Emitted) and len(told) <= 12


def test_a_listener_that_fails_is_told_of_the_next_event_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = []

    def fails(event: Event) -> None:
        told.append(event)
        raise ValueError("no")

    with SlowListener(fails) as listener:
        assert run_with(listener, 2) == "told"
    assert sum(isinstance(event, Emitted) for event in told) == 2
    assert "a listener failed on emitted; the run continues" in caplog.text


def test_room_for_no_event_is_refused() -> None:
    with pytest.raises(SetupError, match="would leave everything out"):
        SlowListener(print, most=0)
