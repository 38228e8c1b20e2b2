"""Guards asked one after the other do what the steps they are would do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import run as run_async
from toolkeel import RunContext, ToolCall, ToolError, Toolset, tool
from toolkeel.call import compose_tool
from toolkeel.call.body.coroutine_deadline import watched
from toolkeel.call.steps.call_limits import Budget
from toolkeel.call.steps.fast_guards import as_guards
from toolkeel.call.steps.guard import Allow, Reject, Stop, input_guard, output_guard


class Ended(Exception):
    """What a guard ends a run with."""


def input_answer(kind: str, prepared: Any) -> Any:
    match kind:
        case "allow":
            return Allow()
        case "lower":
            return Allow({**prepared.arguments, "n": min(prepared.arguments["n"], 3)})
        case "spoil":
            return Allow({"n": "many"})
        case "reject":
            return Reject("no")
        case "stop":
            return Stop(Ended("enough"))
        case "crash":
            raise RuntimeError("a guard broke")
        case "give up":
            raise asyncio.CancelledError
    return kind  # nothing clear


def output_answer(kind: str, outcome: Any) -> Any:
    if kind in ("lower", "spoil"):
        return Allow(f"<{outcome.text}>")
    return input_answer(kind, None)


KINDS = st.sampled_from(
    ["allow", "allow", "allow", "lower", "spoil", "reject", "stop", "crash", "give up", "?"]
)
GUARDS = st.lists(st.tuples(st.sampled_from(["in", "out"]), KINDS, st.booleans()), max_size=4)
BODIES = ("text", "number", "long", "refuses", "breaks", "waits", "waits and breaks")


async def body_of(kind: str, n: int) -> Any:
    if "waits" in kind:
        await asyncio.sleep(0)
    if kind == "refuses":
        raise ToolError("not today")
    if "breaks" in kind:
        raise ValueError("broken")
    return {"number": n, "long": "x" * 60_000}.get(kind, f"got {n}")


def happened(guards: list[tuple[str, str, bool]], kind: str) -> tuple[Any, ...]:
    """Everything one call does and tells."""
    asked: list[Any] = []

    def guard(number: int, side: str, answer: str, waits: bool) -> Any:
        def say(*about: Any) -> Any:
            seen = dict(about[0].arguments) if side == "in" else about[1].text[:50]
            asked.append((number, seen))
            if side == "in":
                return input_answer(answer, about[0])
            return output_answer(answer, about[1])

        async def say_later(*about: Any) -> Any:
            await asyncio.sleep(0)
            return say(*about)

        check: Callable[..., Any] = say_later if waits else say
        make: Any = input_guard if side == "in" else output_guard
        return make(check, f"guard {number}")

    @tool(steps=[guard(number, *each) for number, each in enumerate(guards)])
    async def work(n: int) -> Any:
        """Work."""
        asked.append(("body", n))
        return await body_of(kind, n)

    events: list[Any] = []

    async def main() -> Any:
        run = RunContext(listeners=(lambda event: events.append(event.type),))
        try:
            return await Toolset([work]).run([ToolCall("1", "work", '{"n": 7}')], run)
        except Ended as error:
            return [repr(error)]

    told = [
        (each.content, each.status, each.kind) if not isinstance(each, str) else each
        for each in run_async(main)
    ]
    return told, asked, events


@given(GUARDS, st.sampled_from(BODIES))
def test_a_row_of_guards_is_the_same_as_steps_within_each_other(
    guards: list[tuple[str, str, bool]], body: str
) -> None:
    with mock.patch.object(compose_tool, "as_guards", lambda steps: []):
        wanted = happened(guards, body)
    assert happened(guards, body) == wanted


def test_the_same_guard_may_stand_twice() -> None:
    asked: list[int] = []
    twice = input_guard(lambda p, c: asked.append(p.arguments["n"]) or Allow())  # type: ignore
    last = input_guard(lambda p, c: Reject("no") if len(asked) == 2 else Allow())

    @tool(steps=[twice, twice, last])
    def work(n: int) -> str:
        """Work."""
        return "done"

    [message] = Toolset([work]).run_sync([ToolCall("1", "work", {"n": 1})])
    assert (message.content, asked) == ("no", [1, 1])


def test_a_row_with_another_step_in_it_is_no_row_of_guards() -> None:
    guard = input_guard(lambda prepared, context: Allow())
    assert list(as_guards([guard, guard])) == [guard, guard]
    assert not as_guards([guard, Budget(1)])


def test_a_guard_that_waits_is_stopped_by_the_runs_cancel_token() -> None:
    begun = asyncio.Event

    async def main() -> Any:
        run, asking = RunContext[Any](), begun()

        async def check(prepared: Any, context: Any) -> Allow:
            asking.set()
            await asyncio.sleep(60)
            return Allow()

        @tool(steps=[input_guard(lambda p, c: Allow()), input_guard(check)])
        async def work() -> str:
            """Work."""
            return "done"

        async with asyncio.timeout(30):
            task = asyncio.create_task(Toolset([work]).run([ToolCall("1", "work")], run))
            await asking.wait()
            run.cancel.cancel("enough")
            return await task

    [message] = run_async(main)
    assert message.kind == "cancelled"


@pytest.mark.parametrize("side", [input_guard, output_guard])
def test_guards_that_allow_at_once_need_no_coroutine(side: Any) -> None:
    @tool(steps=[side(lambda *about: Allow())])
    async def work() -> str:
        """Work."""
        return "done"

    tools = Toolset([work])
    run_async(lambda: tools.run([ToolCall("1", "work")]))  # it has shown to be quick
    with mock.patch("toolkeel.call.steps.fast_guards.watched", wraps=watched) as slow:
        [message] = run_async(lambda: tools.run([ToolCall("1", "work")]))
    assert message.content == "done" and not slow.called
