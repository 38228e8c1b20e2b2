"""Runs that end in every way there is, at any moment: transcript, events and what goes on after.

Invariants 7, 8, 10 and 12 of the contract of a call, for whole runs.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract import check_events, check_run, check_transcript
from tests.waiting import run, until, until_sync
from toolkeel import (
    Agent,
    AssistantMessage,
    RunContext,
    ToolCall,
    ToolContext,
    ToolError,
    Toolset,
    tool,
)
from toolkeel.agent.result import RunResult
from toolkeel.agent.run import Run
from toolkeel.call.body import task_cancels
from toolkeel.call.body.thread_pool import shared_pool
from toolkeel.context import CancelToken
from toolkeel.errors import ModelError
from toolkeel.events import Event, RunFinished, ToolFinished, ToolStarted
from toolkeel.messages import Message, SystemMessage, ToolMessage, UserMessage
from toolkeel.model_interface import CallDelta, Delta, Finish, ModelRequest, TextDelta
from toolkeel.testing import Scripted, call


@pytest.fixture(autouse=True)
def short_grace() -> Iterator[None]:
    """Bodies that resist get little time."""
    usual, task_cancels.GRACE = task_cancels.GRACE, 0.05
    yield
    task_cancels.GRACE = usual
    until_sync(lambda: not shared_pool().leaked)


@tool
async def quick(n: int = 0) -> str:
    """Answer at once."""
    return f"ok {n}"


@tool
async def slow(n: int = 0) -> str:
    """Take a moment."""
    await asyncio.sleep(0.004)
    return f"ok {n}"


@tool
def threaded(n: int = 0) -> str:
    """Take a moment in a thread."""
    time.sleep(0.003)
    return f"ok {n}"


@tool(timeout=0.02)
async def resists(n: int = 0) -> str:
    """Go on after it was told to stop."""
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01)
    return "late"


@tool
async def crashes(n: int = 0) -> str:
    """Crash."""
    raise RuntimeError("internal")


@tool
async def refuses(n: int = 0) -> str:
    """Refuse."""
    raise ToolError("no")


@tool(ends_run=True)
async def answers(n: int = 0) -> str:
    """Answer the person."""
    return f"the answer is {n}"


TOOLS = [quick, slow, threaded, resists, crashes, refuses, answers]
NAMES = [*(each.name for each in TOOLS), "nobody"]

Line = str | Exception | Sequence[ToolCall]


class Played:
    """A model that streams its lines in pieces, with pauses between them.

    Args:
        lines: A text, an error, or calls; one line a turn. After the last it says "done".
        pause: Seconds between pieces.
        resists: Whether it goes on a little after it was cancelled.
    """

    name = "played"

    def __init__(self, lines: Sequence[Line], pause: float = 0.0, resists: bool = False) -> None:
        self.lines = list(lines)
        self.pause = pause
        self.resists = resists
        self.open = 0
        self.asked: list[list[Message]] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        self.asked.append(list(request.messages))
        self.open += 1
        try:
            line = self.lines.pop(0) if self.lines else "done"
            for delta in _pieces(line):
                await asyncio.sleep(self.pause)
                if isinstance(delta, Exception):
                    raise delta
                yield delta
        except asyncio.CancelledError:
            if self.resists:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.01)
            raise
        finally:
            self.open -= 1


def _pieces(line: Line) -> Iterator[Delta | Exception]:
    if isinstance(line, str):
        yield from (TextDelta(letter) for letter in line)
        yield Finish("stop")
    elif isinstance(line, Exception):
        yield TextDelta("I was about")
        yield line
    else:
        for index, call in enumerate(line):
            text = str(call.arguments)
            yield CallDelta(index, call.id, call.name)
            yield CallDelta(index, arguments=text[:4])
            yield CallDelta(index, arguments=text[4:])
        yield Finish("tool_calls")


ids = st.sampled_from(["", "a", "a", "b"]) | st.uuids().map(str)
arguments = st.sampled_from(["{}", '{"n": 1}', '{"n": 2}', '{"n": "x"}', '{"n": 1', ""])
calls = st.lists(
    st.builds(ToolCall, ids, st.sampled_from(NAMES), arguments), min_size=1, max_size=6
)
lines = st.lists(calls | calls | st.just("text") | st.just(ModelError("the server is gone")),
                 max_size=4)  # fmt: skip
moments = st.floats(0, 0.04)


def all_calls(messages: Sequence[Message]) -> list[ToolCall]:
    return [c for m in messages if isinstance(m, AssistantMessage) for c in m.tool_calls]


def check(messages: Sequence[Message], events: Sequence[Event]) -> None:
    """All that must hold after any end."""
    check_transcript(messages)
    check_events(events, all_calls(messages))
    check_run(events)
    told = {id(e.message): e for e in events if isinstance(e, ToolFinished)}
    for message in messages:
        if isinstance(message, ToolMessage):
            assert id(message) in told, "a result that no event told"


async def _awaited(run: Run) -> RunResult:
    return await run


def check_it_goes_on(messages: Sequence[Message]) -> None:
    """The transcript can be taken up again, by another run, whatever happened to the first."""
    again = Agent(Played(["all well"]), TOOLS).run_sync([*messages, UserMessage("and?")])
    assert again.output == "all well"
    check_transcript(again.messages)


@given(lines, moments, st.sampled_from(["token", "token in a thread", "outside", "nothing"]),
       st.booleans())  # fmt: skip
@settings(max_examples=80)
def test_a_run_stopped_at_any_moment_leaves_a_valid_transcript_and_whole_events(
    script: list[Line], moment: float, way: str, resisting: bool
) -> None:
    runs: list[Run] = []
    events: list[Event] = []
    token = CancelToken()
    model = Played(script, pause=0.001, resists=resisting)

    async def main() -> str:
        agent = Agent(model, TOOLS, instructions="Be brief.", max_turns=5)
        runs.append(agent.start("go", cancel=token, listeners=[events.append]))
        task = asyncio.ensure_future(_awaited(runs[0]))
        if way == "outside":
            asyncio.get_running_loop().call_later(moment, task.cancel)
        elif way == "token":
            asyncio.get_running_loop().call_later(moment, token.cancel)
        elif way == "token in a thread":
            threading.Timer(moment, token.cancel).start()
        try:
            return (await task).reason
        except asyncio.CancelledError:
            return "raised"
        except ModelError:
            return "model error"
        finally:
            assert model.open == 0, "the model's stream is still open"

    reason = run(main)
    messages = runs[0].messages
    if not events:  # cancelled before the run began
        assert way == "outside"
        return
    check(messages, events)
    end = events[-1]
    assert isinstance(end, RunFinished)
    assert end.reason == {"raised": "cancelled", "model error": "failed"}.get(reason, reason)
    if way == "nothing":
        assert reason in ("answered", "returned", "limit", "model error")
    check_it_goes_on(messages)


@given(
    lines, st.integers(0, 40), st.booleans(), st.sampled_from(["aclose", "with", "drop", "cancel"])
)
@settings(max_examples=80)
def test_a_stream_left_at_any_event_leaves_nothing_running_and_a_valid_transcript(
    script: list[Line], count: int, resisting: bool, way: str
) -> None:
    events: list[Event] = []
    model = Played(script, resists=resisting)
    runs: list[Run] = []

    async def read(events_of: Any) -> None:
        seen = 0
        async for _ in events_of:
            seen += 1
            if seen > count:
                if way != "cancel":
                    break
                task = asyncio.current_task()
                assert task is not None
                task.cancel()

    async def use(stream: Any) -> None:
        if way == "with":
            async with stream:
                await read(stream)
        elif way == "drop":
            async with aclosing(stream.__aiter__()) as iterator:
                await read(iterator)
        else:
            await read(stream)

    async def main() -> None:
        agent = Agent(model, TOOLS, max_turns=5)
        stream = agent.stream("go", listeners=[events.append])
        runs.append(stream)
        before = asyncio.all_tasks()
        with suppress(ModelError, asyncio.CancelledError):
            await asyncio.create_task(use(stream))
        await stream.aclose()
        # A body left behind may go on, and an abandoned generator is closed in the next tick.
        await until(
            lambda: not [t for t in asyncio.all_tasks() - before if "_go_on" not in repr(t)]
        )
        assert model.open == 0

    run(main)
    check(runs[0].messages, events)
    check_it_goes_on(runs[0].messages)


@given(lines)
@settings(max_examples=40)
def test_reading_a_stream_to_its_end_is_the_same_as_running(script: list[Line]) -> None:
    def outline(messages: Sequence[Message]) -> list[object]:
        # what a result says of a body that resists depends on how busy the machine is
        kinds = [getattr(message, "kind", None) for message in messages]
        return [
            (type(m).__name__, kind == "timeout" or m.content, kind, len(all_calls([m])))
            for m, kind in zip(messages, kinds, strict=True)
        ]

    async def main() -> None:
        heard: list[Event] = []
        read: list[Event] = []
        keep = read.append
        one = Agent(Played(script), TOOLS, max_turns=4).start("go")
        errors: list[str] = []
        try:
            await one
        except ModelError as error:
            errors.append(str(error))
        stream = Agent(Played(script), TOOLS, max_turns=4).stream("go", listeners=[heard.append])
        try:
            async for event in stream:
                keep(event)
            assert stream.result.messages == stream.messages
        except ModelError as error:
            errors.append(str(error))
        assert len(errors) != 1
        assert len(set(errors)) <= 1
        assert read == heard
        assert outline(one.messages) == outline(stream.messages)

    run(main)


def test_what_the_model_sees_only_ever_grows() -> None:
    model = Played([[ToolCall("1", "quick", "{}")], [ToolCall("2", "slow", "{}")]])
    Agent(model, TOOLS, instructions="Be brief.").run_sync("go")
    for before, after in zip(model.asked, model.asked[1:], strict=False):
        assert after[: len(before)] == before
    assert [type(m) for m in model.asked[0]] == [SystemMessage, UserMessage]


@pytest.mark.parametrize("beside", [0, 2])
def test_an_interrupt_in_a_tool_ends_the_run_with_every_call_answered(beside: int) -> None:
    @tool
    async def ends() -> None:
        """End it all."""
        await asyncio.sleep(0.001)
        raise KeyboardInterrupt

    events: list[Event] = []
    turn = [ToolCall("0", "ends", "{}"), *(ToolCall(f"s{n}", "slow", "{}") for n in range(beside))]
    agent = Agent(Played([turn]), [ends, slow])
    with pytest.raises(KeyboardInterrupt) as raised:
        agent.run_sync("go", listeners=[events.append])
    messages = raised.value.run.messages  # type: ignore[attr-defined]
    check(messages, events)
    assert isinstance(events[-1], RunFinished)
    check_it_goes_on(messages)


def test_a_tool_that_exits_the_program_is_a_failed_call_that_its_author_sees() -> None:
    @tool
    def ends() -> None:
        """End it all."""
        sys.exit("no such city")

    result = Agent(Scripted([call("ends"), "sorry"]), [ends]).run_sync("go")
    [failure] = result.errors
    assert (result.output, failure.exception) == ("sorry", "SystemExit")
    assert "no such city" in failure.error and failure.file.endswith("test_contract.py")


def test_a_tool_that_runs_an_agent_of_its_own_keeps_both_runs_whole() -> None:
    inner_events: list[Event] = []

    @tool
    async def delegate(question: str) -> str:
        """Ask another agent."""
        inner = Agent(Played([[ToolCall("1", "slow", "{}")]]), TOOLS)
        return (await inner.run(question, listeners=[inner_events.append])).output

    @tool
    def delegate_sync(question: str) -> str:
        """Ask another agent from a thread."""
        inner = Agent(Played([[ToolCall("1", "threaded", "{}")]]), TOOLS)
        return inner.run_sync(question, listeners=[inner_events.append]).output

    outer_events: list[Event] = []
    turn = [ToolCall("1", "delegate", '{"question": "a"}')]
    turn += [ToolCall("2", "delegate_sync", '{"question": "b"}')]
    agent = Agent(Played([turn]), [delegate, delegate_sync])
    result = agent.run_sync("go", listeners=[outer_events.append])
    assert [m.text for m in result.messages if isinstance(m, ToolMessage)] == ["done", "done"]
    check(result.messages, outer_events)
    assert len({event.run_id for event in inner_events}) == 2


def test_cancelling_a_run_reaches_through_an_agent_inside_a_tool() -> None:
    inside: list[Run] = []

    @tool
    async def delegate(context: ToolContext[Any]) -> str:
        """Ask another agent under the same token."""
        inner = Agent(Played(["x" * 1000], pause=0.01), TOOLS)
        inside.append(inner.stream("go", cancel=context.cancel))
        return (await inside[0].run()).reason

    async def main() -> Any:
        token = CancelToken()
        asyncio.get_running_loop().call_later(0.03, token.cancel, "enough")
        agent = Agent(Played([[ToolCall("1", "delegate", "{}")]]), [delegate])
        return await agent.run("go", cancel=token)

    result = run(main)
    assert result.reason == "cancelled"
    check_transcript(result.messages)
    check_transcript(inside[0].messages)


def test_many_runs_at_once_do_not_mix() -> None:
    async def one(number: int) -> str:
        turn = [ToolCall(f"c{k}", "slow", f'{{"n": {number * 100 + k}}}') for k in range(5)]
        result = await Agent(Played([turn, turn]), TOOLS).run("go")
        check_transcript(result.messages)
        return " ".join(m.text for m in result.messages if isinstance(m, ToolMessage))

    async def main() -> list[str]:
        return await asyncio.gather(*(one(n) for n in range(20)))

    assert run(main) == [
        " ".join(f"ok {n * 100 + k}" for _ in range(2) for k in range(5)) for n in range(20)
    ]


def test_a_stream_that_nobody_reads_on_is_stopped_when_it_is_collected() -> None:
    model = Played([[ToolCall("1", "slow", "{}")]], pause=0.001)

    async def main() -> None:
        async for event in Agent(model, TOOLS).stream("go"):
            if isinstance(event, ToolStarted):
                break
        await until(lambda: model.open == 0 and len(asyncio.all_tasks()) == 1)

    run(main)


def test_a_run_given_to_a_toolset_and_to_an_agent_shares_its_failures_and_usage() -> None:
    shared: RunContext[Any] = RunContext()
    bad = ToolCall("1", "refuses", "{}")
    tools = Toolset(TOOLS)
    assert [tools.run_sync([bad], shared)[0].kind for _ in range(4)] == [
        "tool_error",
        "tool_error",
        "tool_error",
        "limit_reached",
    ]
