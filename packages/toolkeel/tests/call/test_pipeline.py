"""One call in, one message out, and the events of it in order."""

from __future__ import annotations

import asyncio
import functools
import json
import operator
import threading
from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator, create_model

from tests.waiting import run as run_async
from tests.waiting import until
from toolkeel import RunContext, Tool, ToolCall, ToolContext, ToolMessage, Toolset, tool
from toolkeel.call.pipeline import run_call
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.effects import Effects
from toolkeel.events import Event


@tool
def work(n: int, context: ToolContext[Any]) -> str:
    """Work."""
    context.progress("half", done=1, total=2)
    context.progress("nearly", done=1.9, total=2)
    return str(n)


def heard(call: ToolCall) -> tuple[Any, list[Any]]:
    events: list[Any] = []
    run = RunContext(listeners=(events.append,))
    message, fatal = run_async(lambda: run_call(call, Toolset([work]), run))
    assert fatal is None
    return message, events


def test_a_call_tells_its_start_what_was_mended_its_progress_and_its_end():
    message, events = heard(ToolCall("1", "work", '{"n": "5"}'))
    types = [event.type for event in events]
    assert types[:2] == ["tool_started", "coerced"] and types[-1] == "tool_finished"
    assert "progress" in types
    assert events[-1].message is message and message.content == "5"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert message.duration > 0


def test_the_latest_progress_is_told_before_the_end_and_none_after():
    _, events = heard(ToolCall("1", "work", {"n": 1}))
    assert [e.message for e in events if e.type == "progress"][-1] == "nearly"
    assert events[-1].type == "tool_finished"


def test_a_call_that_fails_before_its_body_has_the_same_two_events():
    for call in (ToolCall("1", "nobody"), ToolCall("1", "work", "{"), ToolCall("1", "work", "{}")):
        message, events = heard(call)
        assert message.failed and [e.type for e in events] == ["tool_started", "tool_finished"]


def test_without_listeners_no_event_is_made():
    run = RunContext()
    run_async(lambda: run_call(ToolCall("1", "work", {"n": 1}), Toolset([work]), run))
    assert run.loop_state.event_count == 0


# — large arguments —

LARGE_AND_WRONG = json.dumps({"numbers": ["1"] * 10_000})


class Looked:
    """Notes in which threads arguments were looked at; waits in all but its own if it is told to."""

    def __init__(self) -> None:
        self.own = threading.get_ident()
        self.threads: list[int] = []
        self.free = threading.Event()
        self.free.set()
        self.begun = threading.Event()

    def tool(self, item: object = int, **options: Any) -> Tool[..., Any]:
        def look(value: object) -> object:
            here = threading.get_ident()
            self.threads.append(here)
            if here != self.own:
                self.begun.set()
                self.free.wait()
            return value

        async def add(numbers: list[int], name: Annotated[str, BeforeValidator(look)] = "") -> str:
            """Add."""
            return f"{len(numbers)}{name}"

        add.__annotations__["numbers"] = list[item]  # type: ignore[valid-type]
        return tool(**options)(add)


def _with_name(text: str) -> str:
    return text.removesuffix("}") + ', "name": "x"}'


def test_large_arguments_are_validated_off_the_loop() -> None:
    events: list[Event] = []
    looked = Looked()
    run = RunContext[None](listeners=(events.append,))
    calls = [ToolCall("1", "add", _with_name(LARGE_AND_WRONG))]
    [message] = run_async(lambda: Toolset([looked.tool()]).run(calls, run))
    assert message.kind == "invalid_arguments" and "numbers[0]: expected" in message.text
    assert looked.own not in looked.threads
    assert [type(event).__name__ for event in events] == ["ToolStarted", "ToolFinished"]
    looked.threads.clear()
    mended = _with_name(
        json.dumps({"numbers": ["1"] * 900, "": 1}).replace(', "": 1', " " * 20_000)
    )
    calls = [ToolCall("1", "add", mended)]
    [message] = run_async(lambda: Toolset([looked.tool()]).run(calls))
    assert message.content == "900x" and len(message.details["coerced"]) == 900  # type: ignore[arg-type]
    assert looked.own not in looked.threads


@pytest.mark.parametrize("sent", [str, json.loads])
def test_the_size_of_arguments_decides_where_they_are_validated(sent: Any) -> None:
    looked = Looked()
    for length, on_loop in ((10, True), (10_000, False)):
        looked.threads.clear()
        arguments = sent(json.dumps({"numbers": [1] * length, "name": "x"}))
        calls = [ToolCall("1", "add", arguments)]
        run_async(functools.partial(Toolset([looked.tool()]).run, calls))
        assert (looked.own in looked.threads) == on_loop


@pytest.mark.parametrize(
    ("width", "length", "on_loop"), [(60, 6, True), (60, 60, False), (2, 60, True)]
)
def test_arguments_of_a_wide_union_are_sooner_validated_off_the_loop(
    width: int, length: int, on_loop: bool
) -> None:
    """Each of the items can be compared with each branch."""
    kinds = [create_model(f"M{n}", **{f"f{n}": (int, ...)}) for n in range(width)]  # type: ignore[call-overload]
    looked = Looked()
    sent = json.dumps({"numbers": [{"f1": "1"}] * length, "name": "x"})
    calls = [ToolCall("1", "add", sent)]
    [message] = run_async(
        lambda: Toolset([looked.tool(functools.reduce(operator.or_, kinds))]).run(calls)
    )
    assert message.content == f"{length}x"
    assert (looked.own in looked.threads) == on_loop


@pytest.mark.parametrize("beside", [0, 2])
def test_calls_with_resources_are_looked_at_off_the_loop_and_keep_their_order(beside: int) -> None:
    """Large and wrong, but mended: what stands before and after it in the turn does not overtake it."""
    looked, ran = Looked(), list[str]()

    async def keep(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        ran.append(prepared.call.id)
        return await proceed(prepared)

    ordered = looked.tool(effects=Effects(resources=("numbers",)), steps=[keep])
    wrong = json.dumps({"numbers": ["1"] * 900}).removesuffix("}")
    mended = _with_name(wrong + " " * 20_000 + "}")
    small = [ToolCall(f"{n}", "add", '{"numbers": [1]}') for n in range(beside)]
    calls = [*small[:1], ToolCall("large", "add", mended), *small[1:]]
    results = run_async(lambda: Toolset([ordered]).run(calls))
    assert [r.failed for r in results] == [False] * len(calls)
    assert ran == [call.id for call in calls]
    assert looked.own not in looked.threads


@pytest.mark.parametrize("end", ["deadline", "cancel"])
def test_looking_at_large_arguments_ends_at_the_deadline_and_nothing_has_started(end: str) -> None:
    looked = Looked()
    looked.free.clear()
    run = RunContext[None]()
    made = looked.tool(timeout=0.05 if end == "deadline" else 60)

    async def main() -> ToolMessage:
        calls = [ToolCall("1", "add", _with_name(LARGE_AND_WRONG))]
        task = asyncio.ensure_future(Toolset([made]).run(calls, run))
        await until(looked.begun.is_set)  # the loop goes on meanwhile
        if end == "cancel":
            run.cancel.cancel("enough")
        return (await task)[0]

    try:
        message = asyncio.run(main())
    finally:
        looked.free.set()
    assert message.kind == ("timeout" if end == "deadline" else "cancelled")
    assert message.details["may_still_be_running"] is False
    assert "started" in message.text and "take effect" not in message.text
