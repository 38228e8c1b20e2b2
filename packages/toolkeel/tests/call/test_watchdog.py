"""What blocks an event loop is found, named with its line, and holds up as little as can be.

What blocks here waits for what the watchdog says: nothing depends on how long that takes.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel import Agent, RunContext, ToolCall, ToolContext, Toolset, tool
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.watchdog import _PACKAGE, WATCHDOG, blocking_frame, frames_of
from toolkeel.runs import Handoff
from toolkeel.steps import Allow, input_guard
from toolkeel.testing.scripted import Scripted, call

LONG = 60.0


class Told(logging.Handler):
    """What the watchdog says, for whoever waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.count = "", 0
        self.heard = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "blocked the event loop" in record.getMessage():
            self.text, self.count = record.getMessage(), self.count + 1
            self.heard.set()


@pytest.fixture
def told() -> Iterator[Told]:
    handler, log = Told(), logging.getLogger("toolkeel")
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


def run(tools: Toolset, name: str, arguments: str = "") -> Any:
    [result] = asyncio.run(tools.run([ToolCall("1", name, arguments)]))
    return result


def made(told: Told, how: str) -> tuple[Any, int]:
    """A tool that blocks its loop in some way until that was told; and the line where it does."""

    async def at_once() -> str:
        """Block."""
        told.heard.wait(LONG)
        return "done"

    async def later() -> str:
        """Block."""
        await asyncio.sleep(0)
        told.heard.wait(LONG)
        return "done"

    async def items() -> Any:
        """Block."""
        yield "done"
        told.heard.wait(LONG)

    def inline() -> str:
        """Block."""
        told.heard.wait(LONG)
        return "done"

    bodies = {"at once": at_once, "later": later, "items": items, "inline": inline}
    body = bodies[how]
    lines = [line for *_, line in body.__code__.co_lines() if line]
    return tool("work", inline=how == "inline", timeout=None)(body), max(lines)


def blocking_line(function: Any) -> int:
    """Where it waits until something was told."""
    lines = inspect.getsource(function).splitlines()
    [at] = [number for number, line in enumerate(lines) if "told.heard.wait" in line]
    return int(function.__code__.co_firstlineno) + at


@pytest.mark.parametrize("how", ["at once", "later", "items", "inline"])
def test_a_tool_that_blocks_is_named_with_its_line_once(told: Told, how: str) -> None:
    item, last = made(told, how)
    assert run(Toolset([item]), "work").content == "done"
    assert told.count == 1 and f"({item.function.__name__}) has blocked" in told.text
    place = told.text.partition(f"{__file__}:")[2]
    assert last - 1 <= int(place.partition(" ")[0]) <= last


LIBRARY = "def call(function): return function()\nasync def await_(function): return function()"


@pytest.mark.parametrize(("name", "blames"), [("call", "program"), ("await_", None)])
def test_who_calls_a_sync_function_of_the_library_is_named_and_who_awaits_one_is_not(
    name: str, blames: str | None
) -> None:
    place: dict[str, Any] = {}
    exec(compile(LIBRARY, f"{_PACKAGE}made_up.py", "exec"), place)
    found: list[Any] = []
    ready: Future[None] = Future()
    ready.set_result(None)

    def look(_: object) -> None:
        found.append(blocking_frame(frames_of(threading.get_ident())[1:]))  # without its own

    async def program() -> None:
        waits = place[name](
            partial(ready.add_done_callback, look)
        )  # it waits in the standard library
        if inspect.isawaitable(waits):
            await waits

    asyncio.run(program())
    [frame] = found
    assert (frame and frame.f_code.co_name) == blames


@pytest.mark.parametrize("enabled", [True, lambda context: True])
def test_a_step_that_blocks_is_found_where_it_stands(told: Told, enabled: Any) -> None:
    async def step(prepared: Any, context: Any, proceed: Any) -> object:
        told.heard.wait(LONG)
        return await proceed(prepared)

    async def work() -> str:
        """Work."""
        return "done"

    item = tool(work, enabled=enabled)
    for tools in (
        Toolset([item], steps=[step]),
        Toolset([tool(work, enabled=enabled, steps=[step])]),
    ):
        told.heard.clear()
        assert run(tools, "work").content == "done"
        assert f"{__file__}:{blocking_line(step)} (step) has blocked" in told.text


@pytest.mark.parametrize("kind", ["approval predicate", "enabled predicate"])
@pytest.mark.parametrize("later", [False, True])
def test_a_predicate_that_blocks_is_found_with_its_line(told: Told, kind: str, later: bool) -> None:
    wanted = kind == "enabled predicate"

    async def at_once(about: object) -> bool:  # a sync one runs in a thread and blocks nothing
        told.heard.wait(LONG)
        return wanted

    async def in_turn(about: object) -> bool:
        await asyncio.sleep(0)
        told.heard.wait(LONG)
        return wanted

    predicate = in_turn if later else at_once
    options: dict[str, Any] = {kind.split()[0]: predicate}

    @tool(**options)
    async def work() -> str:
        """Work."""
        return "done"

    assert run(Toolset([work]), "work").content == "done"
    assert told.count == 1
    assert f"{__file__}:{blocking_line(predicate)} ({predicate.__name__}) has blocked" in told.text


def test_an_async_approver_that_blocks_is_found_with_its_line(told: Told) -> None:
    async def approver(ticket: object) -> bool:
        await asyncio.sleep(0)
        told.heard.wait(LONG)
        return True

    @tool(approval=True)
    async def work() -> str:
        """Work."""
        return "done"

    run = RunContext[None](approver=approver)
    [result] = asyncio.run(Toolset([work]).run([ToolCall("1", "work")], run))
    assert result.content == "done"
    assert told.count == 1
    assert f"{__file__}:{blocking_line(approver)} ({approver.__name__}) has blocked" in told.text


PLACES = ("tool", "guard", "approval predicate", "enabled predicate", "approver", "listener")


@st.composite
def way(draw: Any) -> tuple[str, bool, int, bool, bool]:
    """Who blocks, whether later, how deep within what it calls, whether in another's call, and when."""
    kind = draw(st.sampled_from(PLACES))
    later = kind != "listener" and draw(st.booleans())
    return kind, later, draw(st.integers(0, 6)), draw(st.booleans()), draw(st.booleans())


@settings(max_examples=60, deadline=None)
@given(way())
def test_whatever_blocks_and_wherever_its_own_function_is_found(
    how: tuple[str, bool, int, bool, bool],
) -> None:
    """The frames of the loop are looked at while it blocks, from within: no clock has a part in it."""
    kind, later, depth, inner, guarded = how
    found: list[Any] = []

    def block(depth: int) -> bool:
        if depth:
            return block(depth - 1)
        found.append(blocking_frame(frames_of(threading.get_ident())[1:]))
        return True

    def begins(asked: str) -> Any:
        """What is called as a part of this kind: it blocks if that is the one that shall."""

        async def wait() -> Any:
            await asyncio.sleep(0)
            return answered(asked)

        return wait if later and asked == kind else lambda: answered(asked)

    def answered(asked: str) -> Any:
        if asked == kind and not found:
            block(depth)
        return {"guard": Allow(), "listener": None, "tool": "done"}.get(asked, True)

    parts = {each: begins(each) for each in PLACES}

    async def work() -> str:
        """Work."""
        done = parts["tool"]()
        return str(await done if inspect.isawaitable(done) else done)

    async def check(prepared: object, context: object) -> Any:
        verdict = parts["guard"]()
        return await verdict if inspect.isawaitable(verdict) else verdict

    made = tool(
        "work",
        steps=[input_guard(check)] if guarded or kind == "guard" else [],
        approval=lambda arguments: parts["approval predicate"](),
        enabled=lambda context: parts["enabled predicate"](),
    )(work)

    @tool
    async def outer(context: ToolContext[Any]) -> str:
        """Call another."""
        [message] = await Toolset([made]).run([ToolCall("2", "work")], context.run)
        return message.text

    run = RunContext[None](
        approver=lambda ticket: parts["approver"](),
        listeners=(lambda event: parts["listener"](),),
    )
    tools, name = (Toolset([outer]), "outer") if inner else (Toolset([made]), "work")
    [result] = asyncio.run(tools.run([ToolCall("1", name)], run))
    assert result.content == "done"
    [frame] = found
    assert frame is not None and frame.f_code.co_filename == __file__
    waits = {"guard": "check", "tool": "work"}.get(kind, "wait" if later else "<lambda>")
    assert frame.f_code.co_name == waits


def test_an_enabled_predicate_that_blocks_before_any_call_is_named(told: Told) -> None:
    async def idle(context: object) -> bool:
        told.heard.wait(LONG)
        return False

    @tool(enabled=idle)
    async def work() -> str:
        """Work."""
        return "done"

    assert Agent(Scripted(["Hello."]), [work]).run_sync("Hi").output == "Hello."
    assert f"{__file__}:{blocking_line(idle)} (idle) has blocked" in told.text


OF_AN_AGENT = {
    "instructions": "instructions",
    "input_guardrails": "said",
    "output_guardrails": "answered",
    "history": "cuts",
    "model_steps": "step",
    "model": "stream",
    "tools": "get_tools",
    "handoffs": "seen",
}
"""By option of an agent: the function below that it is given."""


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*OF_AN_AGENT]), st.booleans(), st.integers(0, 4))
def test_what_a_program_gives_an_agent_is_found(option: str, later: bool, depth: int) -> None:
    found: list[Any] = []

    def block(depth: int) -> None:
        if depth:
            return block(depth - 1)
        found.append(blocking_frame(frames_of(threading.get_ident())[1:]))
        return None

    async def part(value: Any, asked: str) -> Any:
        if later:
            await asyncio.sleep(0)
        if asked == option and not found:
            block(depth)
        return value

    class Policy:
        async def cuts(self, view: Any) -> list[Any]:
            return await part([], "history")

    class Provider:
        async def get_tools(self) -> list[Any]:
            return await part([], "tools")

    class Answering(Scripted):
        async def stream(self, request: Any) -> Any:
            await part(None, "model")
            async for delta in super().stream(request):
                yield delta

    async def step(request: Any, run: Any, proceed: Any) -> Any:
        await part(None, "model_steps")
        return await proceed(request)

    async def said(about: Any, run: Any) -> Any:
        return await part(Allow(), "input_guardrails")

    async def answered(about: Any, run: Any) -> Any:
        return await part(Allow(), "output_guardrails")

    async def seen(history: Any) -> Any:
        return await part(history.messages, "handoffs")

    async def instructions(run: Any) -> str:
        return str(await part("Be brief.", "instructions"))

    handed = option == "handoffs"
    model = Answering([call("transfer_to_other")] if handed else ["ok"])
    other = Agent(Scripted(["ok"]), name="other")
    agent = Agent(
        model,
        [Provider()],
        instructions=instructions,
        input_guardrails=[said],
        output_guardrails=[answered],
        model_steps=[step],
        history=Policy(),
        handoffs=[Handoff(other, input_filter=seen)] if handed else [],
    )
    assert agent.run_sync("Hi").output == "ok"
    [frame] = found
    assert frame is not None and frame.f_code.co_filename == __file__
    assert frame.f_code.co_name == OF_AN_AGENT[option]


@pytest.mark.parametrize("within", ["run", "call", "body"])
def test_a_listener_that_blocks_is_found_wherever_it_is_told(told: Told, within: str) -> None:
    waits_for = {"run": "run_started", "call": "tool_started", "body": "emitted"}[within]

    class Screen:
        def show(self, event: Any) -> None:
            if event.type == waits_for:
                told.heard.wait(LONG)

    @tool
    async def work(context: ToolContext[Any]) -> str:
        """Work."""
        context.emit("something")
        return "done"

    listener = Screen().show
    if within == "run":
        Agent(Scripted(["Hello."])).run_sync("Hi", listeners=[listener])
    else:
        asyncio.run(Toolset([work]).run([ToolCall("1", "work")], RunContext(listeners=(listener,))))
    assert told.count == 1
    assert f"{__file__}:{blocking_line(listener)} (show) has blocked" in told.text


def test_a_loop_that_turns_is_never_reported(told: Told) -> None:
    """One body awaits for several looks of the watchdog."""

    async def waits() -> str:
        """Wait."""
        for _ in range(30):
            await asyncio.sleep(0.05)
        return "done"

    assert run(Toolset([tool(waits)]), "waits").content == "done"
    assert not told.count


def test_code_that_blocks_a_loop_without_the_library_is_not_found() -> None:
    found: list[Any] = []

    def look() -> None:
        found.append(blocking_frame(frames_of(threading.get_ident())[1:]))

    async def main() -> None:
        asyncio.get_running_loop().call_soon(look)
        await asyncio.sleep(0)

    run_sync(main)  # on a loop that the library has started
    asyncio.run(main())
    assert found == [None, None] and blocking_frame([]) is None
    assert blocking_frame(frames_of(threading.get_ident())[1:]) is None


def test_one_thread_watches_all_loops_and_ends_with_them() -> None:
    begun, over = threading.Barrier(4), threading.Event()

    @tool
    async def work() -> str:
        """Work."""
        begun.wait(LONG)
        await asyncio.to_thread(over.wait, LONG)
        return "done"

    threads = [threading.Thread(target=run, args=(Toolset([work]), "work")) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(LONG)
    watchers = [each for each in threading.enumerate() if each.name == "toolkeel-watchdog"]
    over.set()
    for thread in threads:
        thread.join(LONG)
    assert len(watchers) == 1
    end = time.monotonic() + LONG
    while any(loop.is_closed() for loop in [*WATCHDOG._loops]) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(loop.is_closed() for loop in [*WATCHDOG._loops])


@pytest.mark.parametrize("how", ["at once", "later", "inline"])
def test_a_deadline_that_passes_while_a_body_blocks_is_reported_as_passed(
    told: Told, how: str
) -> None:
    item, _ = made(told, how)
    # Shorter than the block of half a second, longer than a busy machine takes to begin it.
    result = run(Toolset([tool("work", inline=item.inline, timeout=0.2)(item.function)]), "work")
    assert result.kind == "timeout" and "has ended late" in result.content
    assert result.details["may_still_be_running"] is False


def test_the_deadline_of_a_body_that_blocks_before_it_waits_counts_from_its_beginning(
    told: Told,
) -> None:
    async def work() -> str:
        """Work."""
        told.heard.wait(LONG)
        await asyncio.sleep(0.3)
        return "done"

    result = run(Toolset([tool(timeout=0.25)(work)]), "work")
    assert result.kind == "timeout" and "was stopped" in result.content


def test_a_body_that_blocks_holds_up_nobody_elses_sync_call() -> None:
    begun, over = threading.Event(), threading.Event()

    @tool(timeout=None)
    async def blocks() -> str:
        """Block."""
        begun.set()
        over.wait(LONG)
        return "over"

    @tool
    async def quick() -> str:
        """Do little."""
        return "quick"

    tools = Toolset([blocks, quick])
    results: list[Any] = []
    thread = threading.Thread(
        target=lambda: results.extend(tools.run_sync([ToolCall("1", "blocks")]))
    )
    thread.start()
    assert begun.wait(LONG)
    assert [m.content for m in tools.run_sync([ToolCall("2", "quick")])] == ["quick"]
    assert not results and not over.is_set()
    over.set()
    thread.join(LONG)
    assert [m.content for m in results] == ["over"]


def test_no_garbage_is_collected_between_the_frames_of_a_thread() -> None:
    def wait(deep: int) -> None:
        if deep:
            wait(deep - 1)
        else:
            ready.set()
            over.wait(60)

    ready, over, begun = threading.Event(), threading.Event(), list[str]()
    thread = threading.Thread(target=wait, args=(300,))
    thread.start()
    ready.wait(60)
    often = gc.get_threshold()
    gc.callbacks.append(note := lambda phase, _: begun.append(phase))
    gc.set_threshold(1)
    try:
        found = frames_of(thread.ident or 0)
    finally:
        gc.set_threshold(*often)
        gc.callbacks.remove(note)
        over.set()
        thread.join()
    assert len(found) > 300 and len(begun) < 100, len(begun)
    assert gc.isenabled()


def test_the_frames_of_a_thread_are_read_while_it_runs_on() -> None:
    """Coroutines that end and wait all the time; once read one by one, the interpreter crashed."""
    begun, over = threading.Event(), threading.Event()

    async def deep(left: int) -> None:
        await (deep(left - 1) if left else asyncio.sleep(0))

    async def busy() -> None:
        begun.set()
        while not over.is_set():
            await asyncio.gather(*(deep(n) for n in range(20)))

    thread = threading.Thread(target=lambda: asyncio.run(busy()))
    thread.start()
    assert begun.wait(60)
    names = {frame.f_code.co_name for _ in range(5000) for frame in frames_of(thread.ident or 0)}
    over.set()
    thread.join()
    assert {"run_forever", "_bootstrap"} <= names
    assert frames_of(thread.ident or 0) == frames_of(-1) == []
