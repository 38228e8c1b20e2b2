"""How agents run: loops, limits, approvals, sessions, streams, other agents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolkeel import Agent, Rules, RunState, SetupError, ToolContext, tool
from toolkeel.errors import ModelError
from toolkeel.events import Emitted, Event, Progress, ToolFinished, ToolStarted, event_dict
from toolkeel.models import CallDelta, Finish, TextDelta
from toolkeel.runs import GuardrailTripped, Handoff, RunLimits
from toolkeel.sessions import KeepTokens, Sessions
from toolkeel.steps import Fallback, Reject
from toolkeel.streaming import PartialArguments
from toolkeel.testing import Cassette, Scripted, TapedModel, call


@tool(description="Add.")
def add(a: int, b: int) -> int:
    return a + b


@tool(description="Pay.", approval=True)
def pay(amount: int) -> str:
    return f"paid {amount} €"


def the_offline_model_calls_tools() -> None:
    assert "42" in Agent("offline", tools=[add]).run_sync("add 20 and 22").output


def a_scripted_model_plays_its_replies() -> None:
    model = Scripted([[call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4})], "3 and 7"])
    result = Agent(model, tools=[add]).run_sync("add them")
    assert [message.text for message in result.messages[2:]] == ["3", "7", "3 and 7"]
    assert result.usage.requests == len(model.requests) == 2


def a_run_is_awaited_and_run_within_a_loop() -> None:
    async def main() -> tuple[str, str]:
        agent = Agent(Scripted(["one", "two"]))
        return (await agent.run("hi")).output, agent.run_sync("hi").output

    assert asyncio.run(main()) == ("one", "two")


@dataclass
class City:
    name: str
    people: int


def an_answer_has_its_type() -> None:
    model = Scripted([call("final_result", {"name": "Oslo", "people": 709_000})])
    assert Agent(model, output_type=City).run_sync("Oslo?").output == City("Oslo", 709_000)


def a_wrong_answer_is_corrected() -> None:
    wrong, right = ({"name": "Oslo", "people": many} for many in ("many", 7))
    model = Scripted([call("final_result", wrong), call("final_result", right)])
    result = Agent(model, output_type=City).run_sync("Oslo?")
    assert result.output.people == 7 and "people" in result.messages[2].text


def lists_unions_and_literals_are_answers() -> None:
    for kind, given in (
        (list[City], [{"name": "a", "people": 1}]),
        (int | None, 3),
        (Literal["yes"], "yes"),
    ):
        result = Agent(Scripted([call("final_result", {"result": given})])).run_sync(
            "?", output_type=kind
        )
        assert result.output == ([City("a", 1)] if isinstance(given, list) else given)


def a_limit_ends_a_run_that_then_goes_on() -> None:
    agent = Agent(Scripted([*[call("add", {"a": 1, "b": n}) for n in range(3)], "done"]), [add])
    result = agent.run_sync("go", limits=RunLimits(requests=2))
    assert (result.reason, result.limit) == ("limit", "requests: 2 of 2")
    assert agent.run_sync(result.state, limits=RunLimits(requests=9)).output == "done"


def an_approver_decides_while_the_run_waits() -> None:
    agent = Agent(Scripted([call("pay", {"amount": 5}), "no"]), [pay])
    result = agent.run_sync("pay", approver=lambda ticket: ticket.deny("closed"))
    assert result.messages[2].kind == "denied" and "closed" in result.messages[2].text


def a_run_waits_as_json_and_resumes() -> None:
    agent = Agent(Scripted([call("pay", {"amount": 5}), "done"]), [pay])
    text = agent.run_sync("pay").state.to_json()
    state = RunState.from_json(text)
    result = agent.run_sync(state, decisions=[state.pending[0].approve()])
    assert (result.output, result.messages[2].text) == ("done", "paid 5 €")


def an_approval_serves_once() -> None:
    agent = Agent(Scripted([call("pay", {"amount": 5}), "done", "again"]), [pay])
    state = agent.run_sync("pay").state
    decisions = [state.pending[0].approve()]
    agent.run_sync(state, decisions=decisions)
    try:
        agent.run_sync(state, decisions=decisions)
    except SetupError as error:
        assert "used already" in str(error)
    else:
        raise AssertionError("an approval served twice")


def a_signed_state_that_was_changed_is_refused() -> None:
    key = bytes(range(32))
    text = Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync("pay").state.to_json(key)
    assert RunState.from_json(text, key).pending[0].tool == "pay"
    try:
        RunState.from_json(text.replace("pay", "bay"), key)
    except SetupError as error:
        assert "changed" in str(error)
    else:
        raise AssertionError("a forged state was read")


def edited_arguments_are_what_runs() -> None:
    agent = Agent(Scripted([call("pay", {"amount": 5}), "done"]), [pay])
    result = agent.run_sync("pay", approver=lambda ticket: ticket.edit({"amount": 6}))
    assert result.messages[2].text.startswith("paid 6 €")


def a_session_in_a_file_continues_by_name() -> None:
    first, second = Sessions("talk.db"), Sessions(Path("talk.db"))
    Agent(Scripted(["one"])).run_sync("hi", session=first["会话"])
    Agent(Scripted(["two"])).run_sync("again", session=second["会话"])
    assert [message.text for message in first["会话"].messages] == ["hi", "one", "again", "two"]
    assert [each.name for each in first.list()] == ["会话"]


def a_session_keeps_what_waits() -> None:
    sessions = Sessions("waits.db")
    Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync("pay", session=sessions["bob"])
    [ticket] = sessions["bob"].pending
    agent = Agent(Scripted(["done"]), [pay])
    result = agent.run_sync(None, session=sessions["bob"], decisions=[ticket.approve()])
    assert result.output == "done"


def a_session_in_memory_needs_no_file() -> None:
    session = Sessions(":memory:")["ada"]
    Agent(Scripted(["one"])).run_sync("hi", session=session)
    assert len(session.messages) == 2 and len(list(session.entries())) > 2


def a_stream_is_read_without_a_loop() -> None:
    stream = Agent(Scripted(["Hello, 世界."])).stream("Hi")
    assert "".join(stream.stream_text()) == "Hello, 世界." and stream.result.reason == "answered"


def a_stream_brings_events_in_order() -> None:
    pieces = [
        CallDelta(0, "c1", "add", '{"a": 1,'),
        CallDelta(0, arguments='"b": 2}'),
        Finish("tool_calls"),
    ]

    async def main() -> list[Event]:
        async with Agent(Scripted([pieces, [TextDelta("3"), Finish("stop")]]), [add]).stream(
            "go"
        ) as stream:
            return [event async for event in stream]

    events = asyncio.run(main())
    assert [event.seq for event in events] == sorted(event.seq for event in events)
    assert events[-1].type == "run_finished"
    assert {ToolStarted, ToolFinished} <= {type(event) for event in events}
    assert all(event_dict(event)["type"] == event.type for event in events)


def a_stream_that_is_left_stops_its_run() -> None:
    async def main() -> str | None:
        async with Agent(Scripted([call("add", {"a": 1, "b": 1}), "2"]), [add]).stream(
            "go"
        ) as stream:
            async for _ in stream:
                break
        return stream.reason

    assert asyncio.run(main()) == "cancelled"


def previews_of_an_answer_grow() -> None:
    arguments = PartialArguments()
    arguments.feed('{"rows": [{"name": "Tea"}, {"name": "Coff')
    assert arguments.value()["rows"][1].get("name") == "Coff" and not arguments.complete
    arguments.feed('ee"}]}')
    assert arguments.complete


def listeners_get_progress_and_values() -> None:
    @tool
    def work(context: ToolContext) -> str:
        """Work."""
        context.progress("half", done=1, total=2)
        context.emit({"n": 1})
        return "done"

    events: list[Event] = []
    Agent(Scripted([call("work", {}), "ok"]), [work]).run_sync("go", listeners=[events.append])
    assert any(isinstance(event, Progress) and event.message == "half" for event in events)
    assert [event.value for event in events if isinstance(event, Emitted)] == [{"n": 1}]


def another_model_answers_for_one_that_is_down() -> None:
    down = Scripted([ModelError("down", retryable=True)] * 9)
    agent = Agent(down, model_steps=[Fallback(Scripted(["I am here."]))])
    assert agent.run_sync("hi").output == "I am here."


def an_error_of_a_model_has_the_run() -> None:
    agent = Agent(Scripted([call("add", {"a": 1, "b": 2}), ModelError("broken"), "done"]), [add])
    try:
        agent.run_sync("go")
    except ModelError as error:
        state = RunState.from_json(error.run.state.to_json())  # type: ignore[attr-defined]
        assert agent.run_sync(state).output == "done"
    else:
        raise AssertionError("no error")


def an_agent_is_a_tool_of_another() -> None:
    clerk = Agent(Scripted([call("add", {"a": 1, "b": 2}), "three"]), [add], name="Clerk")
    boss = Agent(Scripted([call("clerk", {"input": "1 + 2"}), "It is three."]), [clerk.as_tool()])
    result = boss.run_sync("1 + 2?")
    assert result.messages[2].text == "three" and result.usage.requests == 4


def a_call_within_an_agent_waits_for_a_person() -> None:
    clerk = Agent(Scripted([call("pay", {"amount": 5}), "It is paid."]), [pay], name="clerk")
    boss = Agent(Scripted([call("clerk", {"input": "pay"}), "Done."]), [clerk.as_tool()])
    waits = boss.run_sync("pay")
    assert waits.pending[0].tool == "pay"
    assert boss.run_sync(waits.state, decisions=[waits.pending[0].approve()]).output == "Done."


def a_run_is_handed_over() -> None:
    billing = Agent(Scripted(["Refunded."]), name="billing")
    triage = Agent(Scripted([call("transfer_to_billing", {})]), handoffs=[Handoff(billing)])
    result = triage.run_sync("My money!")
    assert result.output == "Refunded." and result.agent is billing


def a_guardrail_refuses_a_prompt() -> None:
    async def polite(run: object, messages: object) -> Reject:
        return Reject("Be polite.")

    try:
        Agent(Scripted(["hi"]), input_guardrails=[polite]).run_sync("You!")
    except GuardrailTripped as error:
        assert "Be polite." in str(error)
    else:
        raise AssertionError("it was not refused")


def rules_of_an_agent_hold_inside() -> None:
    agent = Agent(Scripted([call("add", {"a": 1, "b": 2}), "no"]), [add], rules=Rules(deny=["add"]))
    assert agent.run_sync("go").messages[2].kind == "denied"


def deps_and_state_reach_tools() -> None:
    @tool
    def note(text: str, context: ToolContext[str]) -> str:
        """Note."""
        return f"{context.deps} {context.update('notes', lambda notes: [*notes, text], [])}"

    agent = Agent(Scripted([call("note", {"text": "a"}), "ok"]), [note])
    result = agent.run_sync("go", deps="ada")
    assert result.messages[2].text == "ada ['a']" and result.state.values == {"notes": ["a"]}


def words_said_to_a_run_reach_the_model() -> None:
    async def main() -> list[str]:
        run = Agent(Scripted([call("add", {"a": 1, "b": 2}), "done"]), [add]).start("go")
        run.say("Hurry.")
        return [message.text for message in (await run).messages]

    assert asyncio.run(main()) == ["go", "Hurry.", "", "3", "done"]


def a_history_policy_keeps_the_transcript() -> None:
    agent = Agent(Scripted(["short"]), history=KeepTokens(2_000, 1_000))
    assert len(agent.run_sync("words " * 5_000).messages) == 2


def a_recorded_run_is_played_again() -> None:
    real = Scripted([call("add", {"a": 1, "b": 2}), "It is 3."])
    for mode in ("once", "none"):
        agent = Agent(TapedModel(Cassette("sum.json", mode), real), tools=[add])
        assert agent.run_sync("1 + 2?").output == "It is 3."
