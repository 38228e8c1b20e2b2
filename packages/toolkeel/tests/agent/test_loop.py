"""The loop: what it asks, what it runs, and why it ends; the transcript is valid after any end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.valid import problems
from tests.waiting import run as run_async
from toolkeel import Agent, RunContext, ToolCall, ToolContext, ToolError, tool
from toolkeel.agent.run import Run
from toolkeel.context import CancelToken
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, ToolMessage, Usage, UserMessage
from toolkeel.model_interface import CallDelta, Delta, Finish, ModelRequest, TextDelta
from toolkeel.testing.scripted import Scripted, call


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(ends_run=True)
def answer(text: str) -> str:
    """Answer the person."""
    if not text:
        raise ToolError("Say something.")
    return text


@tool
async def forever() -> str:
    """Never end."""
    await asyncio.Event().wait()
    return "unreachable"


@tool
def stop_all(context: ToolContext[Any]) -> str:
    """Cancel the run."""
    context.cancel.cancel("enough")
    return "stopping"


TOOLS = [add, answer, forever, stop_all]


def test_the_three_turns_question_call_answer() -> None:
    model = Scripted([call("add", {"a": 2}), "It is 3."])
    result = Agent(model, TOOLS, instructions="Be brief.").run_sync("2 + 1?")
    kinds = [type(message).__name__ for message in result.messages]
    assert kinds == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]
    assert (result.output, result.reason, result.messages[2].text) == ("It is 3.", "answered", "3")
    assert [len(request.messages) for request in model.requests] == [2, 4]


def test_calls_of_one_turn_run_together_and_their_results_keep_the_order() -> None:
    calls = [call("add", {"a": n}) for n in range(20)]
    result = Agent(Scripted([calls, "done"]), TOOLS).run_sync("go")
    assert [m.text for m in result.messages[2:22]] == [str(n + 1) for n in range(20)]
    assert problems(result.messages) == []


def test_a_return_direct_tool_ends_the_run_with_its_result() -> None:
    model = Scripted([call("answer", {"text": "你好"})])
    result = Agent(model, TOOLS).run_sync("hi")
    assert (result.output, result.reason, len(model.requests)) == ("你好", "returned", 1)


def test_a_return_direct_tool_that_failed_or_was_not_alone_does_not_end_it() -> None:
    failed = Agent(Scripted([call("answer", {"text": ""}), "sorry"]), TOOLS).run_sync("hi")
    mixed = Agent(
        Scripted([[call("answer", {"text": "x"}), call("add", {"a": 1})], "both"]), TOOLS
    ).run_sync("hi")
    assert (failed.output, mixed.output) == ("sorry", "both")


def test_the_run_ends_after_max_turns_with_every_call_answered() -> None:
    model = Scripted([call("add", {"a": n}) for n in range(10)])
    result = Agent(model, TOOLS, max_turns=3).run_sync("go on")
    assert (result.reason, len(model.requests), problems(result.messages)) == ("limit", 3, [])


def test_the_same_failure_three_times_is_not_tried_a_fourth_time() -> None:
    model = Scripted([call("add", {"a": "x"})] * 4 + ["I give up."])
    result = Agent(model, TOOLS).run_sync("go")
    kinds = [m.kind for m in result.messages if isinstance(m, ToolMessage)]
    assert kinds == ["invalid_arguments"] * 3 + ["limit_reached"]


def test_usage_is_summed_over_the_replies_and_seen_by_tools() -> None:
    seen: list[int] = []

    @tool
    def look(context: ToolContext[Any]) -> str:
        """Look at the usage."""
        seen.append(context.usage.total_tokens)
        return "seen"

    first = AssistantMessage(tool_calls=(ToolCall("1", "look"),), usage=Usage(1, 10, 5))
    last = AssistantMessage("done", usage=Usage(1, 20, 7))
    result = Agent(Scripted([first, last]), [look]).run_sync("go")
    assert (result.usage, seen) == (Usage(2, 30, 12), [15])


def test_calls_of_a_reply_that_was_cut_off_never_run_and_the_model_is_told() -> None:
    ran = []

    @tool
    def write(text: str) -> str:
        """Write."""
        ran.append(text)
        return "written"

    broken = [CallDelta(0, "1", "write", '{"text": "half')]
    long = [CallDelta(0, "2", "write", '{"text": "whole"}'), Finish("length")]
    result = Agent(Scripted([broken, long, "ok"]), [write]).run_sync("go")
    assert [m.kind for m in result.messages if isinstance(m, ToolMessage)] == ["truncated_call"] * 2
    assert ran == []


def test_a_reply_that_broke_off_before_anything_came_is_an_error() -> None:
    with pytest.raises(ModelError, match="broke off"):
        Agent(Scripted([[Finish("incomplete")]]), TOOLS).run_sync("go")


def test_a_cancelled_token_ends_the_run_while_the_model_thinks() -> None:
    class Slow:
        name = "slow"

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            yield TextDelta("hm")
            await asyncio.Event().wait()

    async def main() -> str:
        token = CancelToken()
        asyncio.get_running_loop().call_later(0.01, token.cancel, "enough")
        result = await Agent(Slow(), TOOLS).run("go", cancel=token)
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]
        return result.reason

    assert run_async(main) == "cancelled"


def test_a_tool_that_cancels_the_run_ends_it_with_every_call_answered() -> None:
    model = Scripted([[call("stop_all"), call("forever"), call("add", {"a": 1})]])
    result = Agent(model, TOOLS).run_sync("go")
    assert (result.reason, problems(result.messages)) == ("cancelled", [])


def test_a_cancellation_from_outside_propagates_and_leaves_a_valid_transcript() -> None:
    async def main() -> list[str]:
        model = Scripted([[call("forever"), call("forever")]])
        task = asyncio.create_task(Agent(model, TOOLS).run("go"))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        run: Run = raised.value.run  # type: ignore[attr-defined]
        return problems(run.messages)

    assert run_async(main) == []


def test_a_transcript_with_unanswered_calls_goes_on_by_running_them() -> None:
    calls = (ToolCall("1", "add", {"a": 1}), ToolCall("2", "add", {"a": 2}))
    done = ToolMessage("3", "2", "add")
    model = Scripted(["done"])
    given = [UserMessage("go"), AssistantMessage(tool_calls=calls), done]
    result = Agent(model, TOOLS).run_sync(given)
    assert [m.text for m in result.messages] == ["go", "", "2", "3", "done"]
    assert problems(result.messages) == []


SCRIPTS = st.lists(
    st.one_of(
        st.just("text"),
        st.just(ModelError("the server is gone")),
        st.lists(
            st.sampled_from(
                [
                    call("add", {"a": 1}),
                    call("add", {"a": "x"}),
                    call("add", '{"a"'),
                    call("nobody"),
                    call("answer", {"text": ""}),
                    call("stop_all"),
                    ToolCall("", "add", {"a": 1}),
                    ToolCall("same", "add", {"a": 1}),
                ]
            ),
            min_size=1,
            max_size=5,
        ),
    ),
    max_size=5,
)


@settings(max_examples=60)
@given(SCRIPTS, st.integers(1, 4))
def test_after_any_end_the_transcript_is_valid(script: list[Any], max_turns: int) -> None:
    """Invariant 10."""
    events: list[Any] = []
    agent = Agent(Scripted(script), TOOLS, max_turns=max_turns)
    run = agent.start("go", listeners=[events.append])
    with contextlib.suppress(ModelError):
        asyncio.run(run.run())
    assert problems(run.messages) == []
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[-1].type == "run_finished"


def test_a_turn_costs_as_many_calls_of_functions_late_in_a_run_as_early() -> None:
    """Nothing in the loop touches the whole history (counted, not timed)."""
    ticks: list[int] = []
    count = 0

    def profile(frame: Any, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    class Model:
        name = "counting"

        async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
            ticks.append(count)
            number = len(ticks)
            calls = (ToolCall(str(number), "add", '{"a": 1}'),) if number <= 400 else ()
            yield AssistantMessage("" if calls else "done", calls)

    @tool("add", inline=True)
    def inline(a: int) -> int:
        """Add one."""
        return a + 1

    async def main() -> None:
        sys.setprofile(profile)
        try:
            await Agent(Model(), [inline], max_turns=1000).run("go")
        finally:
            sys.setprofile(None)

    asyncio.run(main())
    costs = [later - earlier for earlier, later in itertools.pairwise(ticks)]
    # Now and then the event loop itself does something more: the usual turn is what counts.
    assert statistics.median(costs[-60:-1]) == statistics.median(costs[10:60])


def test_a_run_may_be_handed_the_state_its_tools_share() -> None:
    @tool
    def remember(context: ToolContext[Any]) -> str:
        """Remember."""
        context.state["seen"] = len(context.messages)
        return "ok"

    state: dict[str, object] = {"seen": 0}
    Agent(Scripted([call("remember"), "done"]), [remember]).run_sync("go", state=state)
    assert state["seen"] == 2
    assert isinstance(RunContext(state=state).state, dict)
