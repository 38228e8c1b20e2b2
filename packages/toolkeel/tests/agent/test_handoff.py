"""Handoffs: another agent goes on with the same run, and what held for it holds on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.agent.valid import problems
from toolkeel import Agent, Rules, RunState, SetupError, ToolContext, ToolError, Toolset, tool
from toolkeel.agent.handoff import (
    Handoff,
    HandoffHistory,
    find_agent,
    find_pending_handoff,
    flatten_history,
    remove_tool_calls,
)
from toolkeel.errors import DuplicateToolError, ModelError
from toolkeel.events import Event, HandedOver
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import Settings
from toolkeel.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call

TO_BILLING = call("transfer_to_billing", {})


@tool
def refund(order: str, context: ToolContext) -> str:
    """Refund an order."""
    return str(context.update("refunded", lambda old: [*old, order], []))


def billing(*script: Any, **more: Any) -> Agent:
    return Agent(Scripted(list(script)), [refund], name="billing", instructions="You bill.", **more)


def triage(*script: Any, to: Any, **more: Any) -> Agent:
    return Agent(
        Scripted(list(script)), name="triage", instructions="You sort.", handoffs=[to], **more
    )


def test_agents_of_one_name_are_refused_since_a_saved_run_could_not_tell_them() -> None:
    for to in ([Agent(Scripted([]))], [billing(), billing()]):
        with pytest.raises(SetupError, match=r"two agents .* are called .*give each a name"):
            Agent(Scripted([]), handoffs=to)
    desk = billing()
    assert Agent(Scripted([]), name="a", handoffs=[Handoff(desk, "one"), Handoff(desk, "two")])


def test_a_call_that_an_agents_settings_force_is_made_by_that_agent() -> None:
    must = Settings(tool_choice="required")
    asks = call("refund", {"order": "7"})
    desk = billing(ModelError("down"), asks, "Done.", settings=must)
    first = triage(TO_BILLING, to=desk, settings=must)
    with pytest.raises(ModelError) as stopped:
        first.run_sync("Refund 7.")
    saved = RunState.from_json(stopped.value.run.state.to_json())  # type: ignore[attr-defined]
    assert first.run_sync(saved).output == "Done."
    asked = [*first.model.requests, *desk.model.requests]  # type: ignore[attr-defined]
    choices = [request.settings.tool_choice for request in asked]
    assert choices == ["required", "required", "required", None]


def test_another_agent_goes_on_with_its_own_instructions_model_and_tools() -> None:
    desk = billing(call("refund", {"order": "7"}), "Refunded.")
    heard: list[Event] = []
    result = triage(TO_BILLING, to=desk).run_sync("Refund 7.", listeners=[heard.append])
    assert result.output == "Refunded." and result.agent is desk
    assert problems(result.messages) == []
    assert result.state.values == {"refunded": ["7"]}
    first = desk.model.requests[0]  # type: ignore[attr-defined]
    assert [m.text for m in first.messages][:2] == ["You bill.", "Refund 7."]
    assert [item.name for item in first.tools] == ["refund"]
    [moved] = [event for event in heard if isinstance(event, HandedOver)]
    assert (moved.previous_agent, moved.agent) == ("triage", "billing")
    assert {event.run_id for event in heard} == {result.run_id}


def test_what_is_called_before_a_handoff_runs_first_and_a_second_handoff_is_not_done() -> None:
    ran: list[str] = []

    @tool
    async def look() -> str:
        """Look."""
        ran.append("look")
        return "looked"

    desk, other = billing("Done."), Agent(Scripted([]), name="other")
    calls = AssistantMessage(
        "",
        (
            ToolCall("1", "look", "{}"),
            ToolCall("2", "transfer_to_billing", "{}"),
            ToolCall("3", "transfer_to_other", "{}"),
        ),
        "tool_calls",
    )
    first = Agent(
        Scripted([calls]),
        [look],
        name="triage",
        handoffs=[Handoff(desk, on_handoff=lambda run, given: ran.append("handed")), other],
    )
    result = first.run_sync("go")
    assert ran == ["look", "handed"] and result.output == "Done."
    refused = next(m for m in result.messages if isinstance(m, ToolMessage) and m.failed)
    assert refused.name == "transfer_to_other"
    assert refused.text.endswith("handed over already in this turn; this was not done.")


def test_a_handoff_says_something_along_and_a_tool_error_keeps_the_run() -> None:
    class Why(BaseModel):
        reason: str

    seen: list[Any] = []

    async def note(run: Any, given: dict[str, Any]) -> None:
        seen.append(given)
        if given["reason"] == "bored":
            raise ToolError("That is no reason.")

    handoff = Handoff(
        billing("Done."), "escalate", "When it is about money.", input_type=Why, on_handoff=note
    )
    result = triage(
        call("escalate", {"reason": "bored"}), call("escalate", {"reason": "money"}), to=handoff
    ).run_sync("go")
    assert seen == [{"reason": "bored"}, {"reason": "money"}]
    assert [m.text for m in result.messages if isinstance(m, ToolMessage)] == [
        "That is no reason.",
        "Handed over to the agent 'billing'.",
    ]


def test_rules_and_steps_of_the_first_agent_hold_for_the_next() -> None:
    names: list[str] = []

    async def watched(prepared: Any, context: Any, proceed: Any) -> Any:
        names.append(prepared.tool.name)
        return await proceed(prepared)

    desk = billing(call("refund", {"order": "7"}), "No.")
    first = triage(TO_BILLING, to=desk, rules=Rules(deny=["refund"]), steps=[watched])
    result = first.run_sync("go")
    [refused] = [m for m in result.messages if isinstance(m, ToolMessage) and m.name == "refund"]
    assert refused.kind == "denied" and names == ["transfer_to_billing", "refund"]


def test_rules_refuse_a_handoff_and_a_person_may_be_asked_about_one() -> None:
    refused = triage(TO_BILLING, "Then not.", to=billing(), rules=Rules(deny=["transfer_*"]))
    assert refused.run_sync("go").output == "Then not."
    desk = billing("Done.")
    asked = triage(TO_BILLING, to=Handoff(desk, approval=True))
    waiting = asked.run_sync("go")
    assert waiting.reason == "waiting" and waiting.pending[0].tool == "transfer_to_billing"
    state = RunState.from_json(waiting.state.to_json())
    done = asked.run_sync(state, decisions=[state.pending[0].approve()])
    assert done.output == "Done." and done.agent is desk


def test_agents_that_hand_over_for_ever_end_at_the_first_ones_limit() -> None:
    first: Agent = Agent(
        Scripted([call("transfer_to_b", {})] * 9), name="a", handoffs=lambda: [second], max_turns=6
    )
    second: Agent = Agent(Scripted([call("transfer_to_a", {})] * 9), name="b", handoffs=[first])
    result = first.run_sync("go")
    assert (result.reason, result.limit) == ("limit", "turns: 6 of 6")
    few = first.run_sync("go", limits=RunLimits(requests=3))
    assert few.limit == "requests: 3 of 3"


def test_a_filter_says_what_is_seen_and_the_transcript_stays_whole() -> None:
    seen: list[HandoffHistory] = []

    def last_only(history: HandoffHistory) -> list[Any]:
        seen.append(history)
        return [UserMessage("only this")]

    desk = billing(call("refund", {"order": "7"}), "Done.")
    result = triage(TO_BILLING, to=Handoff(desk, input_filter=last_only)).run_sync("secret")
    requests = desk.model.requests  # type: ignore[attr-defined]
    assert [m.text for m in requests[0].messages] == ["You bill.", "only this"]
    assert [m.text for m in requests[1].messages][1:] == ["only this", "", "['7']"]
    assert result.messages[0].text == "secret" and problems(result.messages) == []
    assert seen[0].initial_count == 1 and len(seen[0].messages) == 3


def test_a_filtered_run_goes_on_in_another_process_with_the_same_view() -> None:
    def filtered(*script: Any) -> Agent:
        desk = Agent(
            Scripted(list(script)), [tool(approval=True)(pay)], name="billing", instructions="B."
        )
        return triage(TO_BILLING, to=Handoff(desk, input_filter=remove_tool_calls))

    def pay() -> str:
        """Pay."""
        return "paid"

    waiting = filtered(call("pay", {})).run_sync("pay!")
    assert waiting.state.agent == "billing" and waiting.state.previous_agents == ("triage",)
    state = RunState.from_json(waiting.state.to_json(b"k"), b"k")
    again = filtered("Done.")
    done = again.run_sync(state, decisions=[state.pending[0].approve()])
    assert done.output == "Done."
    [request] = done.agent.model.requests  # type: ignore[attr-defined]
    assert [m.text for m in request.messages] == ["B.", "pay!", "", "paid"]
    with pytest.raises(SetupError, match="handed over to 'billing'"):
        Agent(Scripted([]), name="triage").run_sync(state)


def test_a_filter_that_gives_no_messages_is_the_programs_mistake() -> None:
    for given in ([], ["text"], None):
        desk = Handoff(billing(), input_filter=lambda h, given=given: given)  # type: ignore[misc]
        with pytest.raises(SetupError, match="input_filter"):
            triage(TO_BILLING, to=desk).run_sync("go")


def test_the_ready_filters_leave_out_calls_or_tell_them_as_text() -> None:
    made: list[Any] = [
        UserMessage("hi"),
        AssistantMessage("", (ToolCall("1", "f", "{}"),)),
        ToolMessage("x", "1", "f"),
    ]
    history = HandoffHistory(tuple(made), 1, None, None)  # type: ignore[arg-type]
    assert remove_tool_calls(history) == [UserMessage("hi")]
    told, said = flatten_history(history)
    assert "[called f with {}]" in told.text and "Result of f: x" in told.text
    assert said.text == "hi"


def test_code_and_bare_toolsets_cannot_hand_a_run_over() -> None:
    handoff = Handoff(billing())
    [result] = Toolset([handoff.tool]).run_sync([ToolCall("1", "transfer_to_billing", "{}")])
    assert result.failed and "Only the model" in result.text and "nothing was done" in result.text


def test_a_session_stays_with_the_agent_that_took_over_unless_it_says_otherwise(
    tmp_path: Path,
) -> None:
    with_sessions = Sessions(tmp_path / "s.db")
    desk = billing("Hello from billing.", "Billing again.")
    first = triage(TO_BILLING, to=desk)
    first.run_sync("hi", session=with_sessions["ada"])
    assert first.run_sync("more", session=with_sessions["ada"]).output == "Billing again."
    assert desk.model.requests[1].messages[0].text == "You bill."  # type: ignore[attr-defined]
    back = triage(TO_BILLING, "Triage again.", to=Handoff(billing("Hello."), sticky=False))
    back.run_sync("hi", session=with_sessions["bob"])
    assert back.run_sync("more", session=with_sessions["bob"]).output == "Triage again."
    with_sessions.close()


def test_a_session_that_waits_after_a_handoff_goes_on_with_that_agent(tmp_path: Path) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    def agents(*script: Any) -> Agent:
        desk = Agent(Scripted(list(script)), [pay], name="billing", instructions="B.")
        return triage(TO_BILLING, to=Handoff(desk, input_filter=flatten_history))

    sessions = Sessions(tmp_path / "s.db")
    agents(call("pay", {})).run_sync("pay!", session=sessions["ada"])
    [ticket] = sessions["ada"].pending
    done = agents("Done.").run_sync(None, session=sessions["ada"], decisions=[ticket.approve()])
    assert done.output == "Done."
    [request] = done.agent.model.requests  # type: ignore[attr-defined]
    assert request.messages[0].text == "B."
    assert [m.text for m in request.messages][2:] == ["pay!", "", "paid"]
    assert sessions["ada"].messages[0].text == "pay!" and len(sessions["ada"].messages) == 6
    sessions.close()


def test_an_agent_called_as_a_tool_may_hand_its_run_over() -> None:
    inner = triage(TO_BILLING, to=billing("Inner answer."))
    boss = Agent(Scripted([call("triage", {"input": "x"}), "ok"]), [inner.as_tool()])
    result = boss.run_sync("go")
    assert result.messages[2].text == "Inner answer." and result.output == "ok"


def test_a_model_asked_for_the_whole_run_answers_for_every_agent() -> None:
    model = Scripted([TO_BILLING, "One model for all."])
    desk = billing()
    assert triage(to=desk).run_sync("go", model=model).output == "One model for all."
    with desk.override(model=Scripted(["Overridden."])):
        assert triage(TO_BILLING, to=desk).run_sync("go").output == "Overridden."


def test_the_answer_is_of_the_type_of_the_agent_that_gives_it_or_as_the_caller_asked() -> None:
    answer = call("final_result", {"result": 5})
    counter = Agent(Scripted([answer]), name="billing", output_type=int)
    assert triage(TO_BILLING, to=counter).run_sync("go").output == 5  # type: ignore[comparison-overlap]
    asked = triage(TO_BILLING, to=billing(answer)).run_sync("go", output_type=int)
    assert asked.output == 5


def test_tools_that_are_searched_for_do_not_hide_handoffs() -> None:
    model = Scripted(["done"])
    Agent(model, [refund], name="t", search_tools=True, handoffs=[billing()]).run_sync("go")
    assert [item.name for item in model.requests[0].tools] == [
        "search_tools",
        "transfer_to_billing",
    ]


def test_what_is_no_handoff_and_a_name_twice_are_refused() -> None:
    with pytest.raises(SetupError, match="no handoff"):
        Agent(Scripted([]), handoffs=["billing"])  # type: ignore[list-item]
    desk = billing()
    with pytest.raises(DuplicateToolError):
        Agent(Scripted([]), handoffs=[desk, desk])


def test_an_agent_is_found_over_others_and_a_handoff_by_its_result() -> None:
    desk = billing()
    middle = triage(to=desk)
    first = Agent(Scripted([]), name="first", handoffs=[middle])
    found = find_agent(first, "billing")
    assert found is not None and found[0] is desk and found[1] is middle.handoffs[0]
    assert find_agent(first, "nobody") is None
    handoffs = {"transfer_to_billing": middle.handoffs[0]}
    done = ToolMessage(middle.handoffs[0].result_text, "1", "transfer_to_billing")
    then = UserMessage("x")
    assert find_pending_handoff([done], handoffs, "") is middle.handoffs[0]
    assert find_pending_handoff([done, then], handoffs, "") is None
    assert find_pending_handoff([done, then], handoffs, "triage") is middle.handoffs[0]
    assert find_pending_handoff([done], handoffs, "billing") is None
    once = {"transfer_to_billing": Handoff(desk, sticky=False)}
    assert find_pending_handoff([done], once, "triage") is once["transfer_to_billing"]
    assert find_pending_handoff([done, then], once, "triage") is None
