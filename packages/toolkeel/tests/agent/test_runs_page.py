"""Sentences of ``docs/runs.md`` and ``docs/limits.md`` that no other test holds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.waiting import run as run_async
from tests.waiting import until
from toolkeel import Agent, AssistantMessage, Settings, ToolContext, ToolMessage, tool
from toolkeel.hosted import Hosted, Native
from toolkeel.messages import Usage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.runs import Guardrail, GuardrailTripped, Handoff, Price, RunLimits
from toolkeel.sessions import Sessions
from toolkeel.steps import Allow, Reject
from toolkeel.testing.scripted import Scripted, call


@tool
def step(n: int = 0) -> str:
    """Do a step."""
    return f"did {n}"


class Stuck:
    """A model that never answers."""

    name = "stuck"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        await asyncio.Event().wait()
        yield AssistantMessage("never")


@pytest.mark.parametrize("how", ["gather", "task group"])
def test_what_others_raise_for_a_cancelled_run_has_no_run_and_the_handle_has(how: str) -> None:
    async def main() -> None:
        run = Agent(Stuck()).stream("go")

        async def together() -> None:
            if how == "gather":
                await asyncio.gather(run.run())
            else:
                async with asyncio.TaskGroup() as group:
                    group.create_task(run.run())

        task = asyncio.create_task(together())
        await until(lambda: bool(run.messages))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert not hasattr(raised.value, "run")
        assert [message.text for message in run.state.messages] == ["go"]

    run_async(main)


def test_what_a_program_injects_is_in_no_saved_run_and_no_journal() -> None:
    @tool
    def look(context: ToolContext[Any]) -> str:
        """Look."""
        assert context.deps == {"key": "s3cret-of-the-program"}
        return "looked"

    sessions = Sessions(":memory:")
    result = Agent(Scripted([call("look"), "done"]), [look]).run_sync(
        "go", deps={"key": "s3cret-of-the-program"}, session=sessions["ada"]
    )
    written = "".join(sessions.export("ada")) + result.state.to_json()
    assert "looked" in written
    assert "s3cret" not in written
    sessions.close()


def test_a_run_and_those_within_it_ask_models_ten_times_the_turns_if_nothing_is_said() -> None:
    clerk = Agent(Scripted([call("step"), "ok"] * 99), [step], name="clerk", max_turns=9)
    boss = Agent(
        Scripted([[call("clerk", {"input": "x"}) for _ in range(9)]] * 9),
        [clerk.as_tool()],
        max_turns=3,
    )
    result = boss.run_sync("go")
    assert (result.reason, result.limit) == ("limit", "requests: 30 of 30")


def _spent(*sizes: tuple[int, int]) -> Scripted:
    """A model that takes so many tokens for each request and reply, and calls a tool."""
    lines = [
        AssistantMessage("", (call("step", {}, f"c{n}"),), "tool_calls", Usage(1, read, written))
        for n, (read, written) in enumerate(sizes)
    ]
    return Scripted(lines)


def test_tokens_are_reserved_from_the_last_request_what_came_since_and_the_longest_reply() -> None:
    model = _spent((100, 10), (120, 40), (170, 10))
    result = Agent(model, [step]).run_sync("go", limits=RunLimits(tokens=460))
    # 110 and 160 are spent; 160, the result's few, and the longest reply's 40 would be 476
    assert result.limit.startswith("tokens: 270 of 460 spent, the next request needs ")
    needed = int(result.limit.split()[-1])
    assert 200 < needed < 210
    said = Agent(_spent((100, 10), (120, 40), (170, 10)), [step]).run_sync(
        "go", limits=RunLimits(tokens=460), settings=Settings(max_tokens=20)
    )
    assert said.usage.requests == 3


def test_without_a_longest_reply_a_single_longer_one_may_pass_the_bound() -> None:
    result = Agent(_spent((10, 5), (20, 900)), [step]).run_sync("go", limits=RunLimits(tokens=100))
    assert (result.usage.total_tokens, result.reason) == (935, "limit")


def test_the_first_request_is_estimated_from_its_text_and_tools_are_not_in_it() -> None:
    def wide(text: str) -> str:
        return text

    wide.__doc__ = "Be described at length. " + "x" * 90_000
    model = Scripted(["ok", "ok"])
    limits = RunLimits(tokens=1000)
    assert Agent(model, [tool(wide)]).run_sync("short", limits=limits).output == "ok"
    long = Agent(model, [step]).run_sync("y" * 9000, limits=limits)
    assert long.limit.startswith("tokens: 0 of 1000 spent, the next request needs 3")


def test_a_price_by_hand_counts_what_a_cache_gave_and_what_was_put_into_it() -> None:
    reply = AssistantMessage(
        "ok", usage=Usage(1, 3_000_000, 0, cached_tokens=1_000_000, cache_write_tokens=1_000_000)
    )
    price = Price(input=2.0, output=8.0, cached=0.5, written=3.0)
    limits = RunLimits(cost=100.0, prices={"scripted": price})
    result = Agent(Scripted([reply])).run_sync("go", limits=limits)
    assert result.state.cost == pytest.approx(2.0 + 0.5 + 3.0)


def test_any_thread_may_say_something_queue_it_and_take_it_back() -> None:
    heard: list[object] = []

    @tool
    def wait_for_others() -> str:
        """Let others say something."""
        [run] = runs
        for do in (
            lambda: run.say("lost"),
            run.retract,
            lambda: run.say("one"),
            lambda: run.queue("two"),
        ):
            thread = threading.Thread(target=lambda do=do: heard.append(do()))
            thread.start()
            thread.join()
        return "waited"

    async def main() -> list[str]:
        agent = Agent(Scripted([call("wait_for_others"), "first", "second"]), [wait_for_others])
        runs.append(agent.start("go"))
        return [message.text for message in (await runs[0]).messages]

    runs: list[Any] = []
    texts = run_async(main)
    assert texts == ["go", "", "waited", "one", "first", "two", "second"]
    assert [heard[0], heard[2], heard[3]] == [True, True, True]


def test_a_handoff_is_a_tool_that_may_be_switched_off() -> None:
    second = Agent(Scripted(["taken"]), name="second")
    first = Agent(
        Scripted([call("transfer_to_second"), "kept"]),
        name="first",
        handoffs=[Handoff(second, enabled=False)],
    )
    result = first.run_sync("go")
    assert result.output == "kept"
    [told] = [message for message in result.messages if isinstance(message, ToolMessage)]
    assert told.kind in ("disabled", "unknown_tool")


def test_guardrails_come_first_if_tools_run_at_the_provider() -> None:
    @tool(hosted=Hosted({"openai-responses": Native({"type": "web_search"})}))
    def web_search(query: str) -> str:
        """Search."""
        return query

    def no_bombs(said: Any, run: Any) -> Allow | Reject:
        return Reject("no") if "bomb" in said[-1].text else Allow()

    model = Scripted(["hello"])
    agent = Agent(model, [web_search], input_guardrails=[Guardrail(no_bombs)])
    with pytest.raises(GuardrailTripped):
        agent.run_sync("a bomb")
    assert model.requests == []
