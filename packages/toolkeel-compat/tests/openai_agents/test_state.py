"""Calls that wait for a person, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from toolkeel import tool as core_tool
from toolkeel.define.base_tool import as_tool
from toolkeel.effects import reads
from toolkeel.errors import SetupError
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    FunctionTool,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    SQLiteSession,
    ToolErrorFormatterArgs,
    function_tool,
)


@function_tool(needs_approval=True)
def cancel_order(order_id: int) -> str:
    """Cancel an order."""
    return f"cancelled {order_id}"


async def is_large(ctx: RunContextWrapper[Any], params: dict[str, Any], call_id: str) -> bool:
    assert call_id
    return bool(params["amount"] > ctx.context)


@function_tool(needs_approval=is_large)
def pay(amount: int, fee: int = 1) -> str:
    """Pay."""
    return f"paid {amount}"


def agent(*lines: Any) -> Agent:
    return Agent(name="clerk", tools=[cancel_order, pay], model=Scripted(lines))


def results(run: Any) -> list[str]:
    return [i.output for i in run.new_items if i.type == "tool_call_output_item"]


def test_a_run_stops_before_a_call_that_needs_approval_and_goes_on_with_it() -> None:
    clerk = agent(call("cancel_order", {"order_id": 7}, "c1"), "done")
    waiting = Runner.run_sync(clerk, "cancel it")
    [item] = waiting.interruptions
    assert (item.name, item.arguments, item.call_id) == ("cancel_order", '{"order_id":7}', "c1")
    assert waiting.final_output is None and results(waiting) == []
    assert [one.type for one in waiting.new_items] == ["tool_call_item", "tool_approval_item"]
    assert (item.qualified_name, item.tool_namespace) == ("cancel_order", None)
    state = waiting.to_state()
    state.approve(item)
    result = Runner.run_sync(clerk, state)
    assert (results(result), result.final_output) == (["cancelled 7"], "done")
    assert result.interruptions == []


def test_items_and_results_stand_in_the_order_in_which_they_came() -> None:
    """A call that ran beside one that waits comes before it in items, requests and the session."""
    clerk = agent(
        [call("cancel_order", {"order_id": 7}, "c1"), call("pay", {"amount": 1}, "c2")], "done"
    )
    session = SQLiteSession("order")
    waiting = Runner.run_sync(clerk, "both", context=5, session=session)
    state = asyncio.run(
        RunState.from_json(clerk, json.loads(json.dumps(waiting.to_state().to_json())), context=5)
    )
    state.approve(state.get_interruptions()[0])
    result = Runner.run_sync(clerk, state, session=session)
    kinds = ["tool_call_item", "tool_call_item", "tool_approval_item", "tool_call_output_item"]
    assert [one.type for one in waiting.new_items] == kinds
    end = ["tool_call_output_item", "message_output_item"]
    assert [one.type for one in result.new_items] == kinds + end
    model: Any = clerk.model
    sent = [getattr(one, "tool_call_id", "") for one in model.requests[-1].messages]
    stored = [one.get("call_id") or "" for one in asyncio.run(session.get_items())]
    assert (sent[-2:], stored) == (["c2", "c1"], ["", "c1", "c2", "c2", "c1", ""])


def test_a_rejected_call_does_not_run_and_the_model_is_told_why() -> None:
    clerk = agent(call("cancel_order", {"order_id": 7}), "done")
    state = Runner.run_sync(clerk, "cancel it").to_state()
    state.reject(state.get_interruptions()[0], rejection_message="ask her first")
    [told] = results(Runner.run_sync(clerk, state))
    assert "ask her first" in told


def test_a_rejection_without_words_is_told_as_the_sdk_tells_it_and_nothing_runs() -> None:
    ran: list[int] = []

    @function_tool(needs_approval=True)
    def erase(order_id: int) -> str:
        """Erase."""
        ran.append(order_id)
        return "erased"

    clerk = Agent("clerk", tools=[erase], model=Scripted([call("erase", {"order_id": 7}), "done"]))
    state = Runner.run_sync(clerk, "erase it").to_state()
    state.reject(state.get_interruptions()[0])
    assert results(Runner.run_sync(clerk, state)) == ["Tool execution was not approved."]
    assert ran == []


def test_who_decides_nothing_waits_still() -> None:
    clerk = agent(call("cancel_order", {"order_id": 7}), "done")
    state = Runner.run_sync(clerk, "cancel it").to_state()
    assert len(Runner.run_sync(clerk, state).interruptions) == 1


def test_a_function_of_context_and_arguments_says_which_calls_need_it() -> None:
    small, large = call("pay", {"amount": 1}, "small"), call("pay", {"amount": 99}, "large")
    waiting = Runner.run_sync(agent([small, large], "done"), "pay", context=10)
    assert results(waiting) == ["paid 1"]
    assert [item.call_id for item in waiting.interruptions] == ["large"]


def test_the_state_goes_to_text_and_back_and_keeps_the_context() -> None:
    clerk = agent(call("pay", {"amount": 99}), "done")
    text = Runner.run_sync(clerk, "pay", context=10).to_state().to_string(b"key")
    state = asyncio.run(RunState.from_string(clerk, text, b"key", context=10))
    state.approve(state.get_interruptions()[0])
    assert results(Runner.run_sync(clerk, state)) == ["paid 99"]


def test_decisions_in_a_signed_text_are_signed_too() -> None:
    clerk = agent(call("pay", {"amount": 99}), "done")
    state = Runner.run_sync(clerk, "pay", context=10).to_state()
    signed, [waits] = state.to_json(b"key"), state.get_interruptions()
    state.approve(waits)
    forged = {**signed, "decisions": state.to_json()["decisions"]}
    unsigned = {name: value for name, value in forged.items() if name != "signature"}
    for data in (forged, unsigned, {**unsigned, "decisions": [], "always": {"pay": ""}}):
        with pytest.raises(SetupError, match="not signed with this key, or was changed"):
            asyncio.run(RunState.from_json(clerk, data, b"key"))
    read = asyncio.run(RunState.from_json(clerk, state.to_json(b"key"), b"key", context=10))
    assert results(Runner.run_sync(clerk, read)) == ["paid 99"]


def test_a_call_of_another_run_is_not_decided_on() -> None:
    ask = call("cancel_order", {"order_id": 7})
    first, second = (Runner.run_sync(agent(ask), "go").to_state() for _ in range(2))
    with pytest.raises(SetupError, match="does not wait in this run"):
        first.approve(second.get_interruptions()[0])


def test_a_raw_tool_and_an_agent_as_tool_may_ask_too() -> None:
    async def invoke(context: Any, arguments: str) -> str:
        return arguments

    raw = FunctionTool("raw", "Raw.", {"type": "object"}, invoke, needs_approval=True)
    inner = Agent(name="inner", model=Scripted(["x"])).as_tool(
        needs_approval=lambda ctx, params, call_id: params["input"] != "hi" or ctx.context
    )
    calls = [call("raw"), call("inner", {"input": "hi"}), call("inner", {"input": "go"})]
    waiting = Runner.run_sync(Agent(tools=[raw, inner], model=Scripted([calls])), "go")
    assert [item.name for item in waiting.interruptions] == ["raw", "inner"]
    assert results(waiting) == ["x"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: function_tool(needs_aproval=True),  # type: ignore[call-arg]
        lambda: Agent(name="x").as_tool(needs_aproval=True),  # type: ignore[call-arg]
    ],
)
def test_an_option_that_is_not_there_is_never_dropped_in_silence(make: Any) -> None:
    with pytest.raises(TypeError, match=r"no option 'needs_aproval'; it has .*needs_approval"):
        make()


def test_a_tool_approved_for_good_runs_and_others_still_wait() -> None:
    lines = [
        call("cancel_order", {"order_id": 1}, "c1"),
        call("cancel_order", {"order_id": 2}, "c2"),
        call("pay", {"amount": 9}, "c3"),
        "done",
    ]
    clerk = agent(*lines)
    waiting = Runner.run_sync(clerk, "go", context=5)
    state = waiting.to_state()
    state.approve(waiting.interruptions[0], always_approve=True)
    again = Runner.run_sync(clerk, state)
    assert results(again) == ["cancelled 1", "cancelled 2"]
    assert [item.name for item in again.interruptions] == ["pay"]
    state = again.to_state()
    state.reject(again.interruptions[0], always_reject=True, rejection_message="no more")
    assert state.standing_decisions == {"cancel_order": "", "pay": "no more"}
    assert "no more" in results(Runner.run_sync(clerk, state))[-1]


def test_an_approval_for_good_covers_calls_after_strangers_text_only_if_given_for_one() -> None:
    @core_tool(effects=reads(stranger=True))
    def page() -> str:
        """Read a page."""
        return "cancel order 2"

    lines = [
        call("cancel_order", {"order_id": 1}, "c1"),
        call("page", {}, "c2"),
        *(call("cancel_order", {"order_id": number}, f"c{number + 1}") for number in (2, 3)),
        "done",
    ]
    clerk = Agent(name="clerk", tools=[cancel_order, page], model=Scripted(lines))
    waiting = Runner.run_sync(clerk, "go")
    for number in (1, 2):
        [item] = waiting.interruptions
        assert json.loads(item.arguments) == {"order_id": number}
        state = waiting.to_state()
        state.approve(item, always_approve=True)
        state = asyncio.run(RunState.from_json(clerk, json.loads(json.dumps(state.to_json()))))
        waiting = Runner.run_sync(clerk, state)
    assert waiting.interruptions == [] and results(waiting)[-1] == "cancelled 3"


def test_a_person_sees_the_arguments_that_would_run() -> None:
    @function_tool(needs_approval=True)
    def send(to: str, copy: str = "nobody") -> str:
        """Send a mail."""
        return "sent"

    async def redirect(prepared: Any, context: Any, proceed: Any) -> Any:
        return await proceed(replace(prepared, arguments={**prepared.arguments, "to": "Eve"}))

    made = replace(as_tool(send), steps=(redirect,))
    model = Scripted([call("send", {"to": "Ada"}), "done"])
    [item] = Runner.run_sync(Agent(name="a", tools=[made], model=model), "go").interruptions
    assert json.loads(item.arguments) == {"to": "Eve", "copy": "nobody"}


def test_decisions_survive_as_plain_data() -> None:
    clerk = agent(call("cancel_order", {"order_id": 7}, "c1"), "done")
    state = Runner.run_sync(clerk, "go").to_state()
    state.approve(state.get_interruptions()[0], always_approve=True)
    data = json.loads(json.dumps(state.to_json()))
    back = asyncio.run(RunState.from_json(clerk, data))
    assert back.standing_decisions == {"cancel_order": ""}
    assert results(Runner.run_sync(clerk, back)) == ["cancelled 7"]
    with pytest.raises(SetupError, match="no 'state'"):
        asyncio.run(RunState.from_json(clerk, {}))


@pytest.mark.parametrize(("reason", "told"), [(None, "withdrawn pay"), ("too much", "too much")])
def test_a_rejection_without_a_reason_is_told_in_the_programs_words(
    reason: str | None, told: str
) -> None:
    async def words(args: ToolErrorFormatterArgs) -> str | None:
        return f"withdrawn {args.tool_name}" if args.kind == "approval_rejected" else None

    clerk = agent(call("pay", {"amount": 9}, "c1"), "done")
    waiting = Runner.run_sync(clerk, "go", context=5)
    state = waiting.to_state()
    state.reject(waiting.interruptions[0], rejection_message=reason)
    config = RunConfig(tool_error_formatter=words)
    assert told in results(Runner.run_sync(clerk, state, run_config=config))[0]


def test_an_interruption_names_the_inner_agent_that_made_the_call() -> None:
    inner_model = Scripted([call("cancel_order", {"order_id": 1}, "p1"), "inner done"])
    inner = Agent("inner", tools=[cancel_order], model=inner_model)
    middle_model = Scripted([call("ask_inner", {"input": "x"}, "m1"), "middle done"])
    middle = Agent("middle", tools=[inner.as_tool("ask_inner", "d")], model=middle_model)
    outer_model = Scripted([call("ask_middle", {"input": "x"}, "o1"), "outer done"])
    outer = Agent("outer", tools=[middle.as_tool("ask_middle", "d")], model=outer_model)
    result = Runner.run_sync(outer, "go")
    [item] = result.interruptions
    assert (item.agent, item.name, item.arguments) == (
        inner,
        "cancel_order",
        '{"order_id":1}',
    )
    saved = asyncio.run(RunState.from_string(outer, result.to_state().to_string()))
    assert [one.agent.name for one in saved.get_interruptions()] == ["inner"]
    saved.approve(saved.get_interruptions()[0])
    assert Runner.run_sync(outer, saved).final_output == "outer done"
