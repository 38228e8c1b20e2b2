"""Hooks are awaited in the order of what they are told of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel.messages import SystemMessage, ToolMessage
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    AgentHooks,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    ModelSettings,
    OutputGuardrailTripwireTriggered,
    RunHooks,
    Runner,
    function_tool,
    input_guardrail,
    output_guardrail,
)


@function_tool
def look(word: str) -> str:
    """Look."""
    return f"found {word}"


def told(base: type[RunHooks], names: tuple[str, ...]) -> Any:
    seen: list[tuple[str, Any]] = []

    def make(name: str) -> Any:
        async def method(self: Any, context: Any, agent: Any, *more: Any) -> None:
            assert agent.name == "clerk" and context.context == "deps"
            seen.append((name, more))

        return method

    hooks = type("Hooks", (base,), {name: make(name) for name in names})()
    return hooks, seen


def test_hooks_of_a_run_are_told_of_each_part_in_order() -> None:
    names = (
        "on_agent_start", "on_agent_end", "on_llm_start", "on_llm_end", "on_tool_start",
        "on_tool_end",
    )  # fmt: skip
    hooks, seen = told(RunHooks, names)
    clerk = Agent(
        name="clerk", instructions="Be kind.", tools=[look],
        model=Scripted([call("look", {"word": "a"}), "done"]),
    )  # fmt: skip
    result = Runner.run_sync(clerk, "go", context="deps", hooks=hooks)
    assert result.final_output == "done"
    assert [name for name, _ in seen] == [
        "on_agent_start", "on_llm_start", "on_llm_end", "on_tool_start", "on_tool_end",
        "on_llm_start", "on_llm_end", "on_agent_end",
    ]  # fmt: skip
    assert seen[1][1][0] == "Be kind."
    assert (seen[3][1][0].name, seen[4][1][1]) == ("look", "found a")
    assert seen[-1][1] == ("done",)


def test_hooks_of_an_agent_have_their_own_names_for_its_begin_and_end() -> None:
    hooks, seen = told(AgentHooks, ("on_start", "on_end", "on_tool_start"))
    clerk = Agent(name="clerk", model=Scripted(["done"]), hooks=hooks)
    Runner.run_sync(clerk, "go", context="deps")
    assert [name for name, _ in seen] == ["on_start", "on_end"]


def test_a_hook_is_given_what_the_body_returned() -> None:
    ended: list[Any] = []

    class Mine(RunHooks):
        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            ended.append(result)

    @function_tool
    def row() -> dict[str, int]:
        """A row."""
        return {"a": 1}

    Runner.run_sync(Agent(tools=[row], model=Scripted([call("row"), "done"])), "go", hooks=Mine())
    assert ended == [{"a": 1}]


def test_a_call_that_waits_or_is_rejected_is_not_told_as_one_that_runs() -> None:
    noted: list[str] = []

    class Told(RunHooks):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            noted.append("agent")

        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            noted.append("start")

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            noted.append(result)

    @function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    calls = [call("pay", {"amount": 1}, "c1"), call("pay", {"amount": 2}, "c2")]
    agent = Agent("A", tools=[pay], model=Scripted([calls, "done"]))
    result = Runner.run_sync(agent, "go", hooks=Told())
    assert noted == ["agent"]
    state = result.to_state()
    state.approve(result.interruptions[0])
    state.reject(result.interruptions[1])
    Runner.run_sync(agent, state, hooks=Told())
    assert noted == ["agent", "start", "paid 1", "agent"]


def test_of_a_reply_the_agents_own_hooks_are_told_first() -> None:
    seen: list[str] = []

    class Mine(AgentHooks):
        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            seen.append("agent")

    class Runs(RunHooks):
        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            seen.append("run")

    clerk = Agent(name="clerk", model=Scripted(["done"]), hooks=Mine())
    Runner.run_sync(clerk, "go", hooks=Runs())
    assert seen == ["agent", "run"]


def test_of_a_handoff_the_hooks_of_who_gives_the_run_away_are_told() -> None:
    seen: list[tuple[str, str, str]] = []

    class Mine(AgentHooks):
        def __init__(self, whose: str) -> None:
            self.whose = whose

        async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
            seen.append((self.whose, agent.name, source.name))

    for hooks in (Mine("taker"), None):
        taker = Agent(name="taker", model=Scripted(["done"]), hooks=hooks)
        model = Scripted([call("transfer_to_taker")])
        giver = Agent(name="giver", model=model, handoffs=[taker], hooks=Mine("giver"))
        Runner.run_sync(giver, "go")
    assert seen == [("giver", "taker", "giver")] * 2


@pytest.mark.parametrize("where", ["on_tool_end", "on_llm_start", "on_llm_end"])
@pytest.mark.parametrize("way", ["run", "stream", "core session"])
def test_what_a_hook_changes_of_an_agent_takes_effect_at_the_next_turn(
    where: str, way: str
) -> None:
    @function_tool
    def grow(word: str) -> str:
        """Grow."""
        return f"grown {word}"

    class Changes(RunHooks):
        starts = 0

        async def on_agent_start(self, context: Any, agent: Any) -> None:
            self.starts += 1

        async def change(self, context: Any, agent: Any, *more: Any) -> None:
            if grow not in agent.tools:
                agent.tools.append(grow)
                agent.instructions = "Be brief."
                agent.model_settings.temperature = 0.5

    setattr(Changes, where, Changes.change)
    model = Scripted([call("look", {"word": "a"}), call("grow", {"word": "b"}), "done"])
    clerk = Agent(name="clerk", instructions="Be kind.", tools=[look], model=model)
    hooks, session = Changes(), Sessions(":memory:")["ada"]

    async def streamed() -> Any:
        result = Runner.run_streamed(clerk, "go", hooks=hooks)
        async for _ in result.stream_events():
            pass
        return result

    if way == "stream":
        result = asyncio.run(streamed())
    else:
        options: Any = {"session": session} if way == "core session" else {}
        result = Runner.run_sync(clerk, "go", hooks=hooks, **options)
    assert result.final_output == "done" and hooks.starts == 1
    first, *later = model.requests
    assert (first.messages[0].text, first.settings.temperature) == ("Be kind.", None)
    assert [tool.name for tool in first.tools] == ["look"]
    for request in later:
        assert (request.messages[0].text, request.settings.temperature) == ("Be brief.", 0.5)
        assert [tool.name for tool in request.tools] == ["look", "grow"]
        assert sum(isinstance(m, SystemMessage) for m in request.messages) == 1
    assert [m.text for m in later[-1].messages if isinstance(m, ToolMessage)] == [
        "found a",
        "grown b",
    ]
    if way == "core session":
        assert [m.text for m in session.messages] == ["go", "", "found a", "", "grown b", "done"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("where", ["on_agent_start", "on_handoff"])
def test_a_hook_before_an_agents_first_request_changes_that_request(
    where: str, streamed: bool
) -> None:
    @function_tool
    def grow(word: str) -> str:
        """Grow."""
        return f"grown {word}"

    def change(agent: Any) -> None:
        agent.tools = [look, grow]
        agent.instructions = f"{agent.name} is brief."
        agent.model_settings = ModelSettings(temperature=0.5)

    class Starts(RunHooks):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            change(agent)

    class HandsOver(RunHooks):
        async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
            change(to_agent)

    last = Scripted([call("grow", {"word": "b"}), "done"])
    taker = Agent(name="taker", instructions="Be kind.", tools=[look], model=last)
    first = Scripted([call("transfer_to_taker")])
    giver = Agent(name="giver", instructions="Be kind.", model=first, handoffs=[taker])

    async def run() -> Any:
        hooks = Starts() if where == "on_agent_start" else HandsOver()
        if not streamed:
            return await Runner.run(giver, "go", hooks=hooks)
        result = Runner.run_streamed(giver, "go", hooks=hooks)
        async for _ in result.stream_events():
            pass
        return result

    assert asyncio.run(run()).final_output == "done"
    changed = last.requests if where == "on_handoff" else [*first.requests, *last.requests]
    for request, name in zip(reversed(changed), ("taker", "taker", "giver"), strict=False):
        assert [m.text for m in request.messages if isinstance(m, SystemMessage)] == [
            f"{name} is brief."
        ]
        assert {"look", "grow"} <= {tool.name for tool in request.tools}
        assert request.settings.temperature == 0.5


def test_an_agent_that_a_blocking_guardrail_stops_does_not_begin() -> None:
    seen: list[str] = []

    class Starts(RunHooks):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            seen.append("started")

    @input_guardrail(run_in_parallel=False)
    def refuse(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered=True)

    clerk = Agent(name="clerk", model=Scripted(["done"]), input_guardrails=[refuse])
    with pytest.raises(InputGuardrailTripwireTriggered):
        Runner.run_sync(clerk, "go", hooks=Starts())
    assert seen == []


def test_an_agent_that_no_hook_changes_is_not_built_again() -> None:
    model = Scripted([call("look", {"word": "a"}), call("look", {"word": "b"}), "done"])
    clerk = Agent(name="clerk", instructions="Be kind.", tools=[look], model=model)
    Runner.run_sync(clerk, "go")
    assert model.requests[0].tools == model.requests[2].tools
    assert model.requests[0].settings is model.requests[2].settings


@output_guardrail
async def never(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)


def run_with_change(later: Any, **changes: Any) -> Any:
    """Run a call and a second reply of an agent that a hook changes between the two."""

    class Changing(AgentHooks):
        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            for name, value in changes.items():
                setattr(agent, name, value)

    model = Scripted([call("look", {"word": "x"}), later])
    return Runner.run_sync(Agent("clerk", tools=[look], model=model, hooks=Changing()), "go")


def test_what_a_hook_changes_of_an_agent_counts_from_its_next_turn() -> None:
    other = Agent("other", model=Scripted(["from other"]))
    handed = run_with_change(call("transfer_to_other"), handoffs=[other])
    assert (handed.final_output, handed.last_agent.name) == ("from other", "other")
    assert run_with_change("old", model=Scripted(["new"])).final_output == "new"
    stopped = run_with_change("not asked for", tool_use_behavior="stop_on_first_tool")
    assert stopped.final_output == "found x"
    typed = run_with_change(call("final_result", {"response": [1]}), output_type=list[int])
    assert typed.final_output == [1]
    with pytest.raises(OutputGuardrailTripwireTriggered):
        run_with_change("done", output_guardrails=[never])


def test_an_agent_with_handoffs_that_nobody_changes_is_set_up_once() -> None:
    model, other = Scripted([call("look", {"word": "x"}), "done"]), Agent("other")
    agent = Agent("clerk", "Be kind.", tools=[look], model=model, handoffs=[other])
    Runner.run_sync(agent, "go")
    first, second = (request.messages for request in model.requests)
    assert [type(one).__name__ for one in second].count("SystemMessage") == 1
    assert second[0] is first[0]
