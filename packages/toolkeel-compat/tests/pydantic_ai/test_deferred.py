"""Calls that wait are decided by their ids."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel._records.tickets import Ticket
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDenied,
)


def clerk() -> Agent:
    calls = [call("pay", {"amount": 1}, "p1"), call("send", {"to": "Ada"}, "s1")]
    agent = Agent(Scripted([calls, "done"]), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @agent.tool
    def send(ctx: RunContext[None], to: str) -> str:
        """Send."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"reason": "outside"})
        return f"sent to {to}"

    return agent


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (True, "paid 1"),
        (ToolApproved(override_args={"amount": 2}), "paid 2"),
        (ToolDenied("too much"), "too much"),
        (False, "The tool call was denied."),
    ],
)
def test_a_run_goes_on_with_decisions(decision: Any, text: str) -> None:
    agent = clerk()
    result = agent.run_sync("go")
    assert [(one.tool_name, one.args) for one in result.output.approvals] == [
        ("send", {"to": "Ada"}),  # what a tool asked for while it ran comes first, as there
        ("pay", {"amount": 1}),
    ]
    assert result.output.metadata == {"s1": {"reason": "outside"}}
    assert result.output.approvals[0].args_as_dict() == {"to": "Ada"}
    decided = DeferredToolResults(approvals={"p1": decision, "s1": True})
    done = agent.run_sync(message_history=result.all_messages(), deferred_tool_results=decided)
    assert done.output == "done"
    results = done.all_messages()[2].parts
    assert [one.content.split("\n")[0] for one in results] == [text, "sent to Ada"]


def test_a_decision_for_no_call_or_of_no_kind_is_refused() -> None:
    agent = clerk()
    history = agent.run_sync("go").all_messages()
    for decided, text in (
        (DeferredToolResults(approvals={"x": True}), "no call 'x' waits"),
        (DeferredToolResults(approvals={"p1": "yes"}), "no decision"),
    ):
        with pytest.raises(SetupError, match=text):
            agent.run_sync(message_history=history, deferred_tool_results=decided)
    with pytest.raises(SetupError, match="all_messages"):
        agent.run_sync(message_history=[*history], deferred_tool_results=DeferredToolResults())


def test_calls_of_one_id_in_several_runs_are_told_apart() -> None:
    tickets = [
        Ticket(id, call_id, "pay", {"to": id}, "d" * 64, 0.0)
        for id, call_id in (("t1", "c1"), ("t2", "c1"), ("t3", "c2"))
    ]
    asked = DeferredToolRequests.from_tickets(tickets).approvals
    assert [(one.tool_call_id, one.args["to"]) for one in asked] == [
        ("t1", "t1"),
        ("t2", "t2"),
        ("c2", "t3"),
    ]
    [decision] = DeferredToolResults(approvals={"t1": True}).to_core(tickets)
    assert (decision.ticket, decision.verdict) == ("t1", "approve")
    with pytest.raises(SetupError, match="no call 'c1' waits"):
        DeferredToolResults(approvals={"c1": True}).to_core(tickets)
