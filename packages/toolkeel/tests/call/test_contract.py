"""The contract of a call (docs: what holds whatever happens), invariant by invariant.

Real tools, threads and loops; each test says which invariant it is about.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import gc
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.contract import check_events, check_results, progress_of
from tests.waiting import run, until_sync
from toolkeel import (
    CallError,
    Injected,
    Prepared,
    Proceed,
    RunContext,
    SetupError,
    ToolCall,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel.call.body import task_cancels
from toolkeel.call.body.thread_pool import shared_pool
from toolkeel.context import CancelToken
from toolkeel.errors import DefinitionError, DuplicateToolError, InjectionError
from toolkeel.events import Event, ToolFinished

RAN: list[str] = []
"""Which bodies have run; emptied before each test."""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Nothing has run yet, and bodies that resist get little time."""
    RAN.clear()
    usual, task_cancels.GRACE = task_cancels.GRACE, 0.05
    yield
    task_cancels.GRACE = usual
    until_sync(lambda: not shared_pool().leaked)


# — tools that go every way —


@tool
async def fine(n: int = 0) -> str:
    """Go well."""
    RAN.append("fine")
    return f"ok {n}"


@tool
def fine_sync(n: int = 0) -> str:
    """Go well in a thread."""
    RAN.append("fine_sync")
    return f"ok {n}"


@tool(inline=True)
def fine_inline(n: int = 0) -> str:
    """Go well on the loop."""
    return f"ok {n}"


@tool(sequential=True)
async def alone(n: int = 0) -> str:
    """Go well, with nobody beside it."""
    await asyncio.sleep(0)
    return f"ok {n}"


@tool
async def slow(n: int = 0) -> str:
    """Take a moment."""
    await asyncio.sleep(0.003)
    return f"ok {n}"


@tool
async def pieces(n: int = 2) -> Any:
    """Yield."""
    for number in range(n):
        yield str(number)
        await asyncio.sleep(0)


@tool
def pieces_sync(n: int = 2) -> Any:
    """Yield in a thread."""
    yield from map(str, range(n))


@tool
async def crashes(n: int = 0) -> str:
    """Raise."""
    raise RuntimeError("internal: /etc/secret")


@tool
def crashes_sync(n: int = 0) -> str:
    """Raise in a thread."""
    raise KeyError("internal: /etc/secret")


@tool
async def says_no(n: int = 0) -> str:
    """Raise the author's words."""
    raise ToolError("the author's words")


@tool(timeout=0.02)
async def hangs(n: int = 0) -> str:
    """Never end."""
    await asyncio.Event().wait()
    return "never"


@tool(timeout=0.02)
def hangs_sync(n: int = 0) -> str:
    """Outlive the deadline in a thread."""
    time.sleep(0.1)
    return "late"


@tool(timeout=0.02)
async def hangs_yielding(n: int = 0) -> Any:
    """Yield, and never end."""
    yield "one"
    await asyncio.Event().wait()


@tool(timeout=0.02)
def hangs_yielding_sync(n: int = 0) -> Any:
    """Yield in a thread, for too long."""
    yield "one"
    time.sleep(0.1)


@tool(timeout=0.02, inline=True)
def gives_a_hanging_coroutine(n: int = 0) -> Any:
    """Give something to wait for that never ends."""
    return asyncio.Event().wait()


@tool(timeout=0.02)
async def resists(n: int = 0) -> str:
    """Go on after it was told to stop."""
    end = time.monotonic() + 0.15
    while time.monotonic() < end:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01)
    return "late"


@tool
async def raises_cancelled(n: int = 0) -> str:
    """Raise what only a cancelled task should."""
    raise asyncio.CancelledError


@tool
def raises_cancelled_sync(n: int = 0) -> str:
    """The same in a thread."""
    raise asyncio.CancelledError


@tool(inline=True)
def raises_cancelled_inline(n: int = 0) -> str:
    """The same on the loop."""
    raise asyncio.CancelledError


@tool
async def no_json(n: int = 0) -> Any:
    """Return what has no JSON form."""
    return object()


@tool(returns="content_and_artifact")
async def no_pair(n: int = 0) -> Any:
    """Promise a pair and return none."""
    return "alone"


@tool(enabled=False)
async def disabled(n: int = 0) -> str:
    """Not be there."""
    return "never"


@tool
async def times_out_by_itself(n: int = 0) -> str:
    """Let a timeout of its own pass."""
    async with asyncio.timeout(0.001):
        await asyncio.sleep(1)
    return "never"


class Inner(BaseModel):
    """Something a body validates."""

    x: int


@tool
async def validates_inside(n: int = 0) -> str:
    """Fail a validation of its own."""
    Inner.model_validate({"x": "no"})
    return "never"


@tool
async def grouped(n: int = 0) -> str:
    """Raise from a task group."""
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(1))
        group.create_task(_fail())
    return "never"


async def _fail() -> None:
    await asyncio.sleep(0)
    raise ValueError("one of the group")


class Unspeakable(Exception):
    """An error whose own text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@tool
async def unspeakable(n: int = 0) -> str:
    """Raise an error that has no text."""
    raise Unspeakable


OUTCOMES: dict[str, str | None] = {
    "fine": None,
    "fine_sync": None,
    "fine_inline": None,
    "alone": None,
    "slow": None,
    "pieces": None,
    "pieces_sync": None,
    "crashes": "crashed",
    "crashes_sync": "crashed",
    "says_no": "tool_error",
    "hangs": "timeout",
    "hangs_sync": "timeout",
    "hangs_yielding": "timeout",
    "hangs_yielding_sync": "timeout",
    "gives_a_hanging_coroutine": "timeout",
    "resists": "timeout",
    "raises_cancelled": "cancelled",
    "raises_cancelled_sync": "cancelled",
    "raises_cancelled_inline": "cancelled",
    "no_json": "invalid_output",
    "no_pair": "invalid_output",
    "disabled": "disabled",
    "times_out_by_itself": "crashed",
    "validates_inside": "crashed",
    "grouped": "crashed",
    "unspeakable": "crashed",
    "nobody": "unknown_tool",
}
"""Kind of result by tool, each called with good arguments."""

HERE = dict(globals())
TOOLS = Toolset([HERE[name] for name in OUTCOMES if name != "nobody"])

BAD_ARGUMENTS: dict[str, str] = {
    "{": "malformed_arguments",
    "[1]": "malformed_arguments",
    '"text"': "malformed_arguments",
    "1": "malformed_arguments",
    "nonsense": "malformed_arguments",
    '{"n": NaN}': "malformed_arguments",
    '{"n": 1, "n": 2}': "malformed_arguments",
    '{"n": 1} {"n": 2}': "malformed_arguments",
    '{"n": "\\ud800"}': "malformed_arguments",
    '{"n": ' + "[" * 200 + "]" * 200 + "}": "malformed_arguments",
    '{"n": "many"}': "invalid_arguments",
    '{"n": true}': "invalid_arguments",
    '{"n": null, "m": 1}': "invalid_arguments",
    '{"n": 1.5}': "invalid_arguments",
    '{"m": 1}': "invalid_arguments",
}
"""Kind of result by argument text, whatever the tool."""


def played(calls: list[ToolCall], tools: Toolset = TOOLS) -> tuple[list[ToolMessage], list[Event]]:
    """Run calls; their results and the run's events."""
    events: list[Event] = []
    results = run(lambda: tools.run(calls, RunContext(listeners=(events.append,))))
    return results, events


# — invariant 1 —


@pytest.mark.parametrize(("name", "kind"), OUTCOMES.items())
@pytest.mark.parametrize("beside", [0, 1, 3])
def test_each_call_has_one_result_of_the_right_kind_alone_and_among_others(
    name: str, kind: str | None, beside: int
) -> None:
    """Invariants 1 and 7; the kinds of failure. A failing call never takes its siblings along."""
    calls = [ToolCall("it", name, "{}")]
    calls += [ToolCall(f"other{n}", "fine", json.dumps({"n": n})) for n in range(beside)]
    results, events = played(calls)
    check_results(calls, results)
    check_events(events, calls)
    assert results[0].kind == kind
    assert [r.content for r in results[1:]] == [f"ok {n}" for n in range(beside)]
    for event in events:
        if isinstance(event, ToolFinished):
            assert event.message in results, "the event tells what the result says"


@pytest.mark.parametrize("ids", [["", ""], ["a", "a", "a"], ["", "a", "", "a"]])
def test_empty_and_repeated_ids_are_answered_call_by_call(ids: list[str]) -> None:
    """Invariant 1."""
    calls = [ToolCall(id, "slow" if n % 2 else "fine", {"n": n}) for n, id in enumerate(ids)]
    results, events = played(calls)
    check_results(calls, results)
    check_events(events, calls)
    assert [r.content for r in results] == [f"ok {n}" for n in range(len(ids))]


def test_no_calls_give_no_results_and_no_events() -> None:
    """Invariant 1, for n = 0."""
    assert played([]) == ([], [])


def test_results_stand_in_the_order_of_the_calls_and_events_in_that_of_the_ends() -> None:
    """Invariant 1, and results at once."""

    @tool
    async def wait(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return str(seconds)

    calls = [ToolCall(str(s), "wait", {"seconds": s}) for s in (0.03, 0.02, 0.01)]
    results, events = played(calls, Toolset([wait]))
    assert [r.content for r in results] == ["0.03", "0.02", "0.01"]
    ends = [e.message.content for e in events if isinstance(e, ToolFinished)]
    assert ends == ["0.01", "0.02", "0.03"]


# — invariant 2 —


@pytest.mark.parametrize(("text", "kind"), BAD_ARGUMENTS.items())
@pytest.mark.parametrize("name", ["fine", "fine_sync"])
def test_a_body_never_runs_on_arguments_that_are_not_valid(text: str, kind: str, name: str) -> None:
    """Invariant 2: malformed text never becomes an empty object."""
    [result], events = played([ToolCall("1", name, text)])
    assert result.kind == kind
    assert RAN == []
    check_events(events, [e.call for e in events if e.type == "tool_started"])  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["", "  ", "\n", "null", " null ", "{}"])
def test_no_text_blank_text_and_null_mean_no_arguments(text: str) -> None:
    """Invariant 2."""
    [result], _ = played([ToolCall("1", "fine", text)])
    assert result.content == "ok 0"


@pytest.mark.parametrize("arguments", [None, [1], 7, {1: 2}, {"n": object()}, {"n": {1, 2}}])
def test_whatever_a_wire_puts_in_the_place_of_arguments_is_answered(arguments: Any) -> None:
    """Invariants 1 and 2."""
    calls = [ToolCall("1", "fine", arguments), ToolCall("2", "fine", {"n": 2})]
    for _ in range(5):  # the repeat detector, too, must take them
        results, events = played(calls)
        check_results(calls, results)
        check_events(events, calls)
    assert results[0].kind in (None, "malformed_arguments", "invalid_arguments")
    assert (results[0].kind is None) == (arguments is None)


@pytest.mark.parametrize("text", ["{}", '{"n": 1', "", '{"n": 1}'])
def test_a_call_of_a_turn_that_was_cut_off_never_runs(text: str) -> None:
    """Invariant 2: even where its text happens to be whole."""
    [result], _ = played([ToolCall("1", "fine", text, complete=False)])
    assert result.kind == "truncated_call"
    assert "smaller" in result.text and "split" in result.text
    assert RAN == []


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["n", "m", "猫", ""]) | st.text(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(json_values | st.fixed_dictionaries({"n": json_values}), st.booleans())
@settings(max_examples=300)
def test_no_json_value_as_argument_text_crashes_or_runs_a_body_it_does_not_fit(
    value: object, ascii_only: bool
) -> None:
    """Invariant 2, for any JSON value."""
    RAN.clear()
    text = json.dumps(value, ensure_ascii=ascii_only)
    [result] = TOOLS.run_sync([ToolCall("1", "fine", text)])
    number = value.get("n", 0) if isinstance(value, dict) else value
    if result.failed:
        assert result.kind in ("malformed_arguments", "invalid_arguments")
        assert RAN == []
    else:
        assert value is None or (isinstance(value, dict) and set(value) <= {"n"})
        expected = 0 if number is None else number
        assert type(expected) is not bool
        assert float(result.text.removeprefix("ok ")) == float(expected)  # type: ignore[arg-type]
    check_results([ToolCall("1", "fine")], [result])


@given(st.text(max_size=40) | st.text(alphabet='{}[]":,n1 \\"\'-+.eE\ud800nultrfas', max_size=30))
@settings(max_examples=300)
def test_no_text_at_all_crashes_or_runs_a_body_it_does_not_fit(text: str) -> None:
    """Invariant 2, for what is no JSON."""
    RAN.clear()
    [result] = TOOLS.run_sync([ToolCall("1", "fine", text)])
    assert result.kind in (None, "malformed_arguments", "invalid_arguments")
    assert bool(RAN) == (not result.failed)


# — invariant 3 —


@tool
async def secretive(n: int, secret: Annotated[str, Injected], context: ToolContext[Any]) -> str:
    """Know a secret."""
    RAN.append(secret)
    return str(n)


@tool
async def greedy(n: int, secret: Annotated[str, Injected] = "default", **rest: Any) -> str:
    """Take every key and know a secret."""
    RAN.append(secret)
    return ",".join(sorted(rest))


def test_nothing_the_model_sends_can_fill_an_injected_parameter() -> None:
    """Invariant 3: an unknown key is refused, and with it the whole call."""
    tools = Toolset([secretive])
    forged = ToolCall("1", "secretive", {"n": 1, "secret": "forged"})
    [result] = tools.run_sync([forged], RunContext(inject={"secret": "s3cret"}))
    assert result.kind == "invalid_arguments" and RAN == []


@pytest.mark.parametrize(("inject", "kept"), [({}, "default"), ({"secret": "s3cret"}, "s3cret")])
def test_where_any_key_is_taken_a_forged_one_is_still_dropped(
    inject: dict[str, object], kept: str
) -> None:
    """Invariant 3, for a tool with ``**kwargs``, with and without a value to inject."""
    call = ToolCall("1", "greedy", {"n": 1, "secret": "forged", "other": 2})
    [result] = Toolset([greedy]).run_sync([call], RunContext(inject=inject))
    assert result.content == "other" and [kept] == RAN


def test_an_injected_value_appears_in_no_schema_event_result_or_error() -> None:
    """Invariant 3."""
    seen: list[Event] = []
    tools = Toolset([secretive])
    assert "secret" not in json.dumps(tools["secretive"].parameters)
    for arguments in ({"n": 1}, {"n": "x"}, {"n": 1, "context": 2}, {"n": 1, "secret": 2}):
        given = RunContext(inject={"secret": "s3cret"}, listeners=(seen.append,))
        tools.run_sync([ToolCall("1", "secretive", arguments)], given)
    assert RAN == ["s3cret"]
    assert "s3cret" not in repr(seen)


# — invariant 4 —


def test_what_is_advertised_is_callable_by_the_names_that_are_advertised() -> None:
    """Invariant 4, for every kind of parameter Python has."""

    @tool
    async def every(a: int, b: int = 2, /, c: int = 3, *args: int, d: int, **more: int) -> str:
        """Take everything."""
        return repr((a, b, c, args, d, more))

    tools = Toolset([every])
    properties = every.parameters["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["a", "b", "c", "args", "d"]
    calls = [
        ToolCall("1", "every", {"a": 1, "d": 4}),
        ToolCall("2", "every", {"a": 1, "args": [7, 8], "d": 4}),
        ToolCall("3", "every", {"a": 1, "b": 5, "c": 6, "args": [7], "d": 4, "more": 9, "e": 10}),
    ]
    assert [r.content for r in tools.run_sync(calls)] == [
        "(1, 2, 3, (), 4, {})",
        "(1, 2, 3, (7, 8), 4, {})",
        "(1, 5, 6, (7,), 4, {'more': 9, 'e': 10})",
    ]


# — invariant 5 —


def test_mistakes_of_the_developer_fail_when_tools_are_defined_or_registered() -> None:
    """Invariant 5."""
    with pytest.raises(DuplicateToolError, match="fine"):
        Toolset([fine, fine])
    with pytest.raises(DefinitionError, match="contains ' '"):
        tool("a b")(lambda x: x)
    with pytest.raises(DefinitionError, match="'x'"):

        @tool
        def unresolvable(x: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
            """Fail."""


# — invariant 6, as far as steps go —


def test_a_step_that_changes_arguments_has_them_validated_again() -> None:
    """Invariant 6."""

    async def spoil(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        return await proceed(dataclasses.replace(prepared, arguments={"n": "spoilt"}))

    [result], _ = played([ToolCall("1", "fine", {"n": 1})], TOOLS.with_steps(spoil))
    assert result.kind == "invalid_arguments" and RAN == []


def test_a_step_cannot_change_arguments_behind_the_validators_back() -> None:
    """Invariant 6: neither the first step nor the next."""

    async def spoil(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        prepared.arguments["n"] = "spoilt"  # type: ignore[index]
        return await proceed(prepared)

    async def change(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        return await proceed(dataclasses.replace(prepared, arguments={"n": 2}))

    for tools in (TOOLS.with_steps(spoil), TOOLS.with_steps(change, spoil)):
        [result], _ = played([ToolCall("1", "fine", {"n": 1})], tools)
        assert result.kind == "crashed" and RAN == []


# — invariant 7 —


def test_progress_stands_between_start_and_end_and_nothing_follows_the_end() -> None:
    """Invariant 7, with progress from the loop, from threads, and from bodies left behind."""

    @tool(timeout=0.03)
    def in_thread(context: ToolContext[Any]) -> str:
        """Tell from a thread, long after the end."""
        for number in range(30):
            context.progress(str(number))
            time.sleep(0.005)
        return "late"

    @tool
    async def on_loop(context: ToolContext[Any]) -> str:
        """Tell from the loop and from a thread of its own."""
        context.progress("first")
        await asyncio.to_thread(context.progress, "last")
        return "done"

    @tool(timeout=0.03)
    async def beyond(context: ToolContext[Any]) -> str:
        """Tell after it was left behind."""
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.005)
            context.progress("still here")
        return "late"

    events: list[Event] = []
    calls = [ToolCall(name, name, {}) for name in ("in_thread", "on_loop", "beyond")]

    async def main() -> list[ToolMessage]:
        tools = Toolset([in_thread, on_loop, beyond])
        results = await tools.run(calls, RunContext(listeners=(events.append,)))
        await asyncio.sleep(0.2)
        return results

    check_results(calls, run(main))
    check_events(events, calls)
    assert progress_of(events, "on_loop") == ["first", "last"]
    assert progress_of(events, "in_thread")  # which snapshot comes first depends on the machine


@pytest.mark.parametrize("names", [["fine"], ["fine", "crashes", "hangs", "fine_sync"]])
def test_a_listener_that_raises_breaks_nothing(names: list[str]) -> None:
    """Invariant 7: subscribers cannot break the run."""

    def broken(event: Event) -> None:
        raise RuntimeError("listener")

    events: list[Event] = []
    calls = [ToolCall(str(n), name, {}) for n, name in enumerate(names)]
    results = TOOLS.run_sync(calls, RunContext(listeners=(broken, events.append)))
    check_results(calls, results)
    check_events(events, calls)


# — invariant 8 —


def test_after_a_cancel_no_new_call_starts_and_every_call_has_its_result() -> None:
    """Invariant 8: not even one whose task exists already."""

    @tool
    async def stops_all(context: ToolContext[Any]) -> str:
        """Cancel the run at once."""
        context.cancel.cancel("that is enough")
        return "stopped"

    tools = TOOLS + [stops_all]
    calls = [ToolCall("0", "stops_all", {})]
    calls += [ToolCall(str(n), name, {}) for n, name in enumerate(["fine", "fine_sync"] * 40, 1)]
    events: list[Event] = []
    results = tools.run_sync(calls, RunContext(listeners=(events.append,)))
    check_results(calls, results)
    check_events(events, calls)
    assert results[0].content == "stopped"
    assert {r.kind for r in results[1:]} == {"cancelled"}
    assert all("that is enough" in r.text and "not started" in r.text for r in results[1:])
    assert RAN == []


def test_bodies_that_wait_for_a_thread_do_not_start_after_a_cancel() -> None:
    """Invariant 8: giving up threads makes room, but not for them."""
    begun, ran, hold = threading.Semaphore(0), [], threading.Event()

    @tool
    def waits(n: int) -> str:
        """Hold a thread."""
        ran.append(n)
        begun.release()
        hold.wait(10)
        return "late"

    token = CancelToken()
    tools = Toolset([waits], max_threads=4)
    calls = [ToolCall(str(n), "waits", {"n": n}) for n in range(40)]

    async def main() -> list[ToolMessage]:
        work = asyncio.create_task(tools.run(calls, RunContext(cancel=token)))
        for _ in range(4):
            await asyncio.to_thread(begun.acquire, timeout=5)
        token.cancel()
        return await work

    try:
        results = run(main)
        time.sleep(0.05)
    finally:
        hold.set()
    check_results(calls, results)
    assert len(ran) == 4
    running = [r.details["may_still_be_running"] for r in results]
    assert running.count(True) == 4


@pytest.mark.parametrize("count", [1, 3])
def test_a_run_that_is_cancelled_before_it_begins_runs_nothing(count: int) -> None:
    """Invariant 8."""
    token, events = CancelToken(), list[Event]()
    token.cancel("no")
    calls = [ToolCall(str(n), "fine", {}) for n in range(count)]
    results = TOOLS.run_sync(calls, RunContext(cancel=token, listeners=(events.append,)))
    check_results(calls, results)
    check_events(events, calls)
    assert RAN == [] and {r.kind for r in results} == {"cancelled"}


@pytest.mark.parametrize("name", ["hangs", "resists"])
def test_a_deadline_stops_the_work_or_the_result_says_that_it_may_go_on(name: str) -> None:
    """Invariant 8."""
    [result], _ = played([ToolCall("1", name, {})])
    assert result.kind == "timeout" and "0.02 seconds" in result.text
    goes_on = name != "hangs"
    assert result.details["may_still_be_running"] == goes_on
    assert ("may still be running" in result.text) == goes_on


def test_a_thread_may_still_be_running_after_its_deadline_if_it_began() -> None:
    """Invariant 8: a busy machine may not have begun the body, which then never begins."""
    began, release = threading.Event(), threading.Event()

    @tool(timeout=0.02)
    def blocks() -> str:
        """Block until it is released."""
        began.set()
        release.wait(20)
        return "late"

    try:
        [result], _ = played([ToolCall("1", "blocks", {})], Toolset([blocks]))
        goes_on = result.details["may_still_be_running"]
        assert result.kind == "timeout" and ("may still be running" in result.text) == goes_on
        assert began.wait(20 if goes_on else 0) == goes_on
    finally:
        release.set()


def test_a_sync_generator_that_was_given_up_ends_at_its_next_item() -> None:
    """Invariant 8: what can be stopped is."""
    ended = threading.Event()

    @tool(timeout=0.03)
    def endless() -> Any:
        """Yield for ever."""
        try:
            while True:
                time.sleep(0.005)
                yield "item"
        finally:
            ended.set()

    [result], _ = played([ToolCall("1", "endless", {})], Toolset([endless]))
    assert result.kind == "timeout"
    assert ended.wait(20)


@pytest.mark.parametrize("where", ["step", "enabled"])
def test_a_cancel_reaches_a_call_that_waits_before_its_body(where: str) -> None:
    """Invariant 8: a step may wait for a person, but not for ever."""

    async def ponder(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        await asyncio.sleep(10)
        return await proceed(prepared)

    async def decides(context: ToolContext[Any]) -> bool:
        await asyncio.sleep(10)
        return True

    made = dataclasses.replace(fine, enabled=decides) if where == "enabled" else fine
    tools = Toolset([made], steps=[ponder] if where == "step" else [])
    for count in (1, 2):
        token = CancelToken()
        calls = [ToolCall(str(n), "fine", {}) for n in range(count)]

        async def main(token: CancelToken = token, calls: Any = calls) -> list[ToolMessage]:
            asyncio.get_running_loop().call_later(0.01, token.cancel, "left")
            return await tools.run(calls, RunContext(cancel=token))

        results = run(main)
        check_results(calls, results)
        assert {r.kind for r in results} == {"cancelled"} and RAN == []


# — invariant 10 is proved with agents: packages/toolkeel/tests/agent —


# — invariant 12 —


@pytest.mark.parametrize("names", [["sleeper"], ["sleeper", "sleeper"], ["resister"] * 2])
def test_a_cancellation_from_outside_propagates_after_every_call_has_its_end(
    names: list[str],
) -> None:
    """Invariants 12, 1 and 7, alone and in a turn of several."""

    @tool
    async def sleeper() -> None:
        """Sleep."""
        await asyncio.sleep(10)

    @tool
    async def resister() -> None:
        """Sleep whatever happens."""
        await resists.function()

    tools = Toolset([sleeper, resister])
    events: list[Event] = []
    calls = [ToolCall(str(n), name, {}) for n, name in enumerate(names)]
    batch = tools.batch(calls, RunContext(listeners=(events.append,)))

    async def main() -> None:
        task = asyncio.create_task(batch.run())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task], timeout=2)
        assert task.cancelled()

    run(main)
    check_results(calls, batch.results)
    check_events(events, calls)
    assert {r.kind for r in batch.results} == {"cancelled"}


def test_calls_cancelled_before_their_first_step_have_their_events_too() -> None:
    """Invariants 12 and 7."""
    events: list[Event] = []
    calls = [ToolCall(str(n), "slow", {}) for n in range(3)]
    batch = TOOLS.batch(calls, RunContext(listeners=(events.append,)))

    async def main() -> None:
        task = asyncio.create_task(batch.run())
        await asyncio.sleep(0)  # the batch has made its tasks; none has run
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main)
    check_results(calls, batch.results)
    check_events(events, calls)


@pytest.mark.parametrize("times", [2, 5])
def test_cancelling_again_and_again_changes_nothing(times: int) -> None:
    """Invariants 12 and 7."""
    events: list[Event] = []
    calls = [ToolCall(str(n), name, {}) for n, name in enumerate(["resists", "slow", "hangs"] * 3)]
    batch = TOOLS.batch(calls, RunContext(listeners=(events.append,)))

    async def main() -> None:
        task = asyncio.create_task(batch.run())
        for _ in range(times):
            await asyncio.sleep(0.001)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main)
    check_results(calls, batch.results)
    check_events(events, calls)


@pytest.mark.parametrize("count", [1, 4])
def test_a_timeout_around_a_turn_is_the_callers(count: int) -> None:
    """Invariant 12: `asyncio.timeout` outside, whatever the bodies do inside."""
    calls = [ToolCall(str(n), name, {}) for n, name in enumerate(["resists", "hangs"] * count)]

    async def main() -> None:
        async with asyncio.timeout(0.005):
            await TOOLS.run(calls[:count])

    with pytest.raises(TimeoutError):
        run(main)


@pytest.mark.parametrize("body", ["async", "waiting", "thread", "inline"])
@pytest.mark.parametrize("beside", [0, 2])
@pytest.mark.parametrize("way", ["own loop", "bridge"])
def test_an_interrupt_in_a_body_propagates_after_every_call_has_its_result(
    body: str, beside: int, way: str
) -> None:
    """Invariant 12, alone and among siblings, which are not waited for to their end."""

    async def in_loop() -> None:
        if body == "waiting":
            await asyncio.sleep(0.001)
        raise KeyboardInterrupt("now")

    def in_thread() -> None:
        raise KeyboardInterrupt("now")

    function: Callable[..., Any] = in_loop if body in ("async", "waiting") else in_thread
    ends = tool("ends", inline=body == "inline", description="End it all.")(function)

    @tool
    async def long() -> None:
        """Go on for long."""
        await asyncio.sleep(20)

    events: list[Event] = []
    calls = [ToolCall("0", "ends", {})]
    calls += [ToolCall(str(n), "long", {}) for n in range(1, beside + 1)]
    tools = Toolset([ends, long])
    given = RunContext(listeners=(events.append,))
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt, match="now"):
        if way == "bridge":
            tools.run_sync(calls, given)
        else:
            run(lambda: tools.run(calls, given))
    assert time.monotonic() - begun < 15
    check_events(events, calls)
    assert TOOLS.run_sync([ToolCall("1", "fine", {})])[0].content == "ok 0"


@pytest.mark.parametrize("way", ["own loop", "bridge"])
@pytest.mark.parametrize("body", ["async", "waiting", "thread", "inline", "generator"])
def test_a_body_that_exits_the_program_is_a_crash_and_its_siblings_go_on(
    body: str, way: str
) -> None:
    async def in_loop() -> None:
        if body == "waiting":
            await asyncio.sleep(0.001)
        argparse.ArgumentParser(prog="mine").exit(3)

    def in_thread() -> None:
        sys.exit("now")

    def in_generator() -> Iterator[str]:
        yield "one"
        sys.exit(3)

    kinds: dict[str, Callable[..., Any]] = {"thread": in_thread, "inline": in_thread}
    function = {**kinds, "generator": in_generator}.get(body, in_loop)
    ends = tool("ends", inline=body == "inline", description="End it all.")(function)

    @tool
    async def short() -> str:
        """Go on."""
        await asyncio.sleep(0.01)
        return "done"

    tools, calls = Toolset([ends, short]), [ToolCall("0", "ends", {}), ToolCall("1", "short", {})]
    run = tools.run_sync if way == "bridge" else lambda turn: asyncio.run(tools.run(turn))
    ended, done = run(calls)
    assert (ended.kind, done.text) == ("crashed", "done")


def test_a_mistake_of_the_program_propagates_after_every_call_has_its_result() -> None:
    """Invariant 12: it is never turned into text for the model."""
    events: list[Event] = []
    calls = [ToolCall("1", "slow", {}), ToolCall("2", "secretive", {"n": 1})]
    batch = (TOOLS + [secretive]).batch(calls, RunContext(listeners=(events.append,)))
    with pytest.raises(InjectionError, match=r"secretive.*secret.*inject="):
        run(batch.run)
    check_results(calls, batch.results)
    check_events(events, calls)
    assert batch.results[0].content == "ok 0"


def test_a_setup_error_inside_a_body_propagates_too() -> None:
    """Invariant 12."""

    @tool
    async def broken() -> None:
        """Wire something wrongly."""
        raise SetupError("wired wrongly")

    for count in (1, 2):
        calls = [ToolCall(str(n), "broken", {}) for n in range(count)]
        with pytest.raises(SetupError, match="wired wrongly"):
            run(lambda calls=calls: Toolset([broken]).run(calls))


@pytest.mark.parametrize("waits", [False, True])
def test_a_body_that_cancels_its_own_task_takes_no_sibling_along(waits: bool) -> None:
    """Invariant 1: in a turn of several the task it runs in is its own."""

    @tool
    async def cancels_itself() -> str:
        """Cancel the task it runs in."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if waits:
            await asyncio.sleep(0)
        return "done"

    calls = [ToolCall("1", "cancels_itself", {}), ToolCall("2", "slow", {})]
    results, events = played(calls, Toolset([cancels_itself, slow]))
    check_results(calls, results)
    check_events(events, calls)
    assert [r.kind for r in results] == ["cancelled" if waits else None, None]


# — whose error it is —


def test_what_a_body_raises_is_never_blamed_on_the_model() -> None:
    """Failures: a ValidationError or TimeoutError in a body is the body's own."""
    calls = [ToolCall("1", "validates_inside", {}), ToolCall("2", "times_out_by_itself", {})]
    results, _ = played(calls)
    assert [r.kind for r in results] == ["crashed", "crashed"]
    assert [r.details["exception"] for r in results] == [ValidationError.__name__, "TimeoutError"]


@pytest.mark.parametrize("name", ["crashes", "crashes_sync"])
def test_a_crash_is_masked_for_the_model_and_told_in_full_to_people(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Failures: the text has neither stack traces nor secrets."""
    [result], _ = played([ToolCall("1", name, {})])
    assert "secret" not in result.text and name in result.text
    assert "/etc/secret" in str(result.details["traceback"])
    assert "/etc/secret" in caplog.text


# — any mix —

names = st.sampled_from(list(OUTCOMES))
texts = st.sampled_from([*["{}", "", '{"n": 1}'] * 10, *BAD_ARGUMENTS])  # most of them good
calls_of_all_kinds = st.builds(
    ToolCall,
    st.sampled_from(["", "a", "b"]) | st.uuids().map(str),
    names,
    texts,
    st.sampled_from([True, True, True, False]),
)
mixes = st.integers(0, 60).flatmap(
    lambda count: st.lists(calls_of_all_kinds, min_size=count, max_size=count)
)


def expected_kind(call: ToolCall) -> set[str | None]:
    """Kinds a call may end with when nothing disturbs its run."""
    if call.name == "nobody":
        return {"unknown_tool"}
    if not call.complete:
        return {"truncated_call"}
    bad = BAD_ARGUMENTS.get(str(call.arguments))
    return {bad or OUTCOMES[call.name]}


def came_late(result: ToolMessage) -> bool:
    """Whether a body ended before a starved loop could look at its deadline: a result is kept."""
    ends = {"hangs_sync": "late", "hangs_yielding_sync": "one", "resists": "late"}
    overdue = result.text == ends.get(result.name)
    return overdue and result.status == "success" and result.duration > 0.1


@given(mixes, st.sampled_from([None, 1, 3]), st.booleans())
@settings(max_examples=40)
def test_any_mix_of_calls_gives_as_many_results_in_order(
    calls: list[ToolCall], width: int | None, parallel: bool
) -> None:
    """Invariants 1, 2, 7 and 8 for up to 60 calls at once."""
    if not parallel or width == 1:
        calls = calls[:20]
    tools = Toolset(TOOLS, max_concurrency=width, parallel=parallel)
    results, events = played(calls, tools)
    check_results(calls, results)
    check_events(events, calls)
    for call, result in zip(calls, results, strict=True):
        assert result.kind in expected_kind(call) | {"limit_reached"} or came_late(result)


@given(mixes, st.floats(0, 0.03), st.sampled_from(["token", "token in a thread", "outside"]))
@settings(max_examples=60)
def test_any_mix_of_calls_cancelled_at_any_moment_gives_as_many_results_in_order(
    calls: list[ToolCall], moment: float, way: str
) -> None:
    """Invariants 1, 7, 8 and 12 for up to 60 calls at once."""
    token, events = CancelToken(), list[Event]()
    batch = TOOLS.batch(calls, RunContext(cancel=token, listeners=(events.append,)))

    async def main() -> None:
        task = asyncio.create_task(batch.run())
        loop = asyncio.get_running_loop()
        if way == "outside":
            loop.call_later(moment, task.cancel)
        elif way == "token":
            loop.call_later(moment, token.cancel)
        else:
            threading.Timer(moment, token.cancel).start()
        with suppress(asyncio.CancelledError):
            await task

    run(main)
    check_results(calls, batch.results)
    check_events(events, calls)
    for call, result in zip(calls, batch.results, strict=True):
        expected = expected_kind(call) | {"limit_reached", "cancelled"}
        assert result.kind in expected or came_late(result)


@pytest.mark.parametrize(
    "name", ["fine", "slow", "fine_sync", "fine_inline", "pieces", "crashes", "crashes_sync"]
)
@pytest.mark.parametrize("count", [1, 3])
def test_nothing_of_a_call_waits_for_the_garbage_collector(
    name: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Cycles would keep contexts, runs and results alive, and cost time in somebody else's code."""
    caplog.set_level(logging.CRITICAL, "toolkeel")  # records that are kept hide what is not
    calls = [ToolCall(str(n), name, "{}") for n in range(count)]

    async def main() -> int:
        await TOOLS.run(calls)
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                await TOOLS.run(calls, RunContext(listeners=(lambda event: None,)))
            await asyncio.sleep(0.005)
            return gc.collect()
        finally:
            gc.enable()

    # What threads of earlier tests leave behind comes once; what calls leave comes every time.
    assert min(run(main) for _ in range(3)) < 20


def test_a_call_error_of_a_step_is_the_result_of_its_call_alone() -> None:
    """A step may refuse; the kinds of failure."""

    async def refuse(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        if prepared.arguments.get("n") == 1:
            raise ToolError("not this one")
        if prepared.arguments.get("n") == 2:
            raise ValueError("a broken step")
        if prepared.arguments.get("n") == 3:
            raise asyncio.CancelledError
        return await proceed(prepared)

    for width in (None, 1):
        tools = Toolset([fine], steps=[refuse], max_concurrency=width)
        calls = [ToolCall(str(n), "fine", {"n": n}) for n in range(4)]
        results, events = played(calls, tools)
        check_results(calls, results)
        check_events(events, calls)
        assert [r.kind for r in results] == [None, "tool_error", "crashed", "cancelled"]
        [alone_], _ = played(calls[3:], tools)
        assert alone_.kind == "cancelled"


def test_a_failure_raised_by_a_direct_call_inside_a_body_is_the_bodys() -> None:
    """Failures: arguments a body makes up are not the model's."""

    @tool
    async def delegates() -> object:
        """Call another tool wrongly."""
        return await fine.ainvoke({"n": "wrong"})

    [result], _ = played([ToolCall("1", "delegates", {})], Toolset([delegates]))
    assert result.kind == "crashed"
    with pytest.raises(CallError):
        fine.invoke({"n": "wrong"})
