"""What a running call reports."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel import RunContext, ToolCall, ToolContext, Toolset, tool
from toolkeel.events import Emitted, Event, ToolFinished, event_dict


def _heard(body: Any, **options: Any) -> list[Event]:
    events: list[Event] = []
    run: RunContext[None] = RunContext(listeners=(events.append,))
    Toolset([tool(**options)(body)]).run_sync([ToolCall("1", body.__name__, "{}")], run)
    return events


@given(st.lists(st.integers()), st.booleans())
def test_every_value_a_body_emits_is_told_in_order_before_its_result(
    values: list[int], inline: bool
) -> None:
    def count(context: ToolContext[Any]) -> str:
        """Count."""
        for value in values:
            context.emit(value)
            context.progress("counting")
        return "done"

    events = _heard(count, inline=inline)
    assert [e.value for e in events if isinstance(e, Emitted)] == values
    assert isinstance(events[-1], ToolFinished)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_values_emitted_by_many_threads_of_one_call_all_arrive() -> None:
    def count(context: ToolContext[Any]) -> str:
        """Count."""
        work = [
            threading.Thread(target=lambda k=k: [context.emit((k, n)) for n in range(50)])
            for k in range(4)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        return "done"

    told = [e.value for e in _heard(count) if isinstance(e, Emitted)]
    assert sorted(told) == [(k, n) for k in range(4) for n in range(50)]
    assert [n for k, n in told if k == 2] == list(range(50))  # type: ignore[misc]


def test_a_value_emitted_after_the_calls_end_is_the_runs_and_no_longer_the_calls() -> None:
    kept: list[ToolContext[Any]] = []

    async def leave(context: ToolContext[Any]) -> str:
        """Leave."""
        kept.append(context)
        return "done"

    async def main() -> list[Event]:
        events: list[Event] = []
        run: RunContext[None] = RunContext(listeners=(events.append,))
        await Toolset([leave]).run([ToolCall("1", "leave", "{}")], run)
        kept[0].emit({"late": True})
        kept[0].progress("late")
        return events

    last = asyncio.run(main())[-1]
    assert isinstance(last, Emitted) and last.call_id == ""
    assert event_dict(last)["value"] == {"late": True}


def test_nothing_is_kept_of_values_that_nobody_listens_to() -> None:
    def count(context: ToolContext[Any]) -> str:
        """Count."""
        context.emit(1)
        return str(context._reporter)

    [message] = Toolset([count]).run_sync([ToolCall("1", "count", "{}")])
    assert message.text == "None"
