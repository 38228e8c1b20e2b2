"""One call in, one message out, and the events of it in order."""

from __future__ import annotations

from typing import Any

from tests.waiting import run as run_async
from toolwright import Run, ToolCall, ToolContext, Toolset, tool
from toolwright.call.pipeline import run_call


@tool
def work(n: int, context: ToolContext[Any]) -> str:
    """Work."""
    context.progress("half", done=1, total=2)
    context.progress("nearly", done=1.9, total=2)
    return str(n)


def heard(call: ToolCall) -> tuple[Any, list[Any]]:
    events: list[Any] = []
    run = Run(listeners=(events.append,))
    message, fatal = run_async(lambda: run_call(call, Toolset([work]), run))
    assert fatal is None
    return message, events


def test_a_call_tells_its_start_what_was_mended_its_progress_and_its_end():
    message, events = heard(ToolCall("1", "work", '{"n": "5"}'))
    types = [event.type for event in events]
    assert types[:2] == ["tool_call", "coerced"] and types[-1] == "tool_result"
    assert "progress" in types
    assert events[-1].message is message and message.content == "5"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert message.duration > 0


def test_the_latest_progress_is_told_before_the_end_and_none_after():
    _, events = heard(ToolCall("1", "work", {"n": 1}))
    assert [e.message for e in events if e.type == "progress"][-1] == "nearly"
    assert events[-1].type == "tool_result"


def test_a_call_that_fails_before_its_body_has_the_same_two_events():
    for call in (ToolCall("1", "nobody"), ToolCall("1", "work", "{"), ToolCall("1", "work", "{}")):
        message, events = heard(call)
        assert message.failed and [e.type for e in events] == ["tool_call", "tool_result"]


def test_without_listeners_no_event_is_made():
    run = Run()
    run_async(lambda: run_call(ToolCall("1", "work", {"n": 1}), Toolset([work]), run))
    assert run.seq == 0
