"""Handoffs: the core's, with the SDK's words, filters, hooks and events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel

from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Reasoning, ToolCall, ToolMessage
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    AgentHooks,
    HandoffInputData,
    MessageOutputItem,
    RunConfig,
    RunHooks,
    Runner,
    ScriptedModel,
    SQLiteSession,
    assistant_message,
    default_handoff_history_mapper,
    function_call,
    function_tool,
    handoff,
    nest_handoff_history,
    remove_all_tools,
)
from toolkeel_compat.openai_agents.items import to_items


@function_tool
def look() -> str:
    """Look."""
    return "seen"


def pair(**options: Any) -> tuple[Agent[Any], Agent[Any]]:
    spanish = Agent(
        "Spanish Agent",
        "Solo español.",
        model=Scripted(["hola"]),
        handoff_description="Speaks Spanish.",
    )
    lines = [
        call("look", {}, "c1"),
        call("transfer_to_spanish_agent", options.pop("said", {}), "c2"),
    ]
    triage = Agent(
        "Triage", "Choose.", [look], Scripted(lines), handoffs=[handoff(spanish, **options)]
    )
    return triage, spanish


def test_another_agent_goes_on_and_the_items_tell_it() -> None:
    triage, spanish = pair()
    result = Runner.run_sync(triage, "hi")
    assert (result.final_output, result.last_agent) == ("hola", spanish)
    kinds = [item.type for item in result.new_items]
    assert kinds == [
        "tool_call_item", "tool_call_output_item", "handoff_call_item", "handoff_output_item",
        "message_output_item",
    ]  # fmt: skip
    moved = result.new_items[3]
    assert (moved.source_agent, moved.target_agent) == (triage, spanish)  # type: ignore[union-attr]
    assert result.new_items[4].agent is spanish
    asked = spanish.model.requests[0]
    assert asked.messages[0].text == "Solo español."
    assert asked.messages[-1].text == '{"assistant": "Spanish Agent"}'
    tool = triage.model.requests[0].tools[-1]
    assert "Speaks Spanish." in tool.description and tool.name == "transfer_to_spanish_agent"


@pytest.mark.parametrize("said", [{}, {"reason": "he asked"}])
def test_what_the_model_sends_to_a_handoff_without_input_is_ignored(said: dict[str, str]) -> None:
    result = Runner.run_sync(pair(said=said)[0], "hi")
    assert result.final_output == "hola"


def test_hooks_of_a_run_hear_of_each_call_once_also_after_a_handoff() -> None:
    heard: list[str] = []

    class Hear(RunHooks[Any]):
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            heard.append(f"{agent.name} starts {tool.name}")

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            heard.append(f"{agent.name} ends {tool.name}")

    triage, spanish = pair()
    spanish.tools, spanish.model = [look], Scripted([call("look", {}, "c3"), "hola"])
    Runner.run_sync(triage, "hi", hooks=Hear())
    assert heard == [
        f"{name} {what} look" for name in ("Triage", "Spanish Agent") for what in ("starts", "ends")
    ]


def test_a_list_of_handoffs_may_grow_and_agents_may_know_each_other() -> None:
    first = Agent("first", model=Scripted([call("transfer_to_second", {}, "c1"), "back"]))
    second = Agent(
        "second", model=Scripted([call("transfer_to_first", {}, "c2")]), handoffs=[first]
    )
    first.handoffs.append(second)
    result = Runner.run_sync(first, "go")
    assert (result.final_output, result.last_agent) == ("back", first)


def test_what_the_model_says_along_with_it_reaches_the_program() -> None:
    class Why(BaseModel):
        reason: str

    heard: list[Any] = []

    async def hear(context: Any, why: Why) -> None:
        heard.append((context.context, why.reason))

    triage, _ = pair(on_handoff=hear, input_type=Why, said={"reason": "Spanish"})
    assert Runner.run_sync(triage, "hi", context="Ada").final_output == "hola"
    assert heard == [("Ada", "Spanish")]


def test_a_filter_chooses_what_the_other_agent_sees() -> None:
    seen: list[HandoffInputData] = []

    def only_question(data: HandoffInputData) -> HandoffInputData:
        seen.append(data)
        return data.clone(pre_handoff_items=(), new_items=())

    triage, spanish = pair(input_filter=only_question)
    Runner.run_sync(triage, "hi")
    assert [message.text for message in spanish.model.requests[0].messages][1:] == ["hi"]
    [data] = seen
    assert [item.type for item in data.pre_handoff_items] == [
        "tool_call_item",
        "tool_call_output_item",
    ]
    assert [item.type for item in data.new_items] == ["handoff_call_item", "handoff_output_item"]
    assert data.input_history == "hi"


def test_a_filter_of_the_run_holds_for_handoffs_without_one() -> None:
    triage, spanish = pair()
    config = RunConfig(handoff_input_filter=lambda data: data.clone(input_history="only this"))
    Runner.run_sync(triage, "hi", run_config=config)
    assert spanish.model.requests[0].messages[1].text == "only this"
    triage, spanish = pair(input_filter=lambda data: data)
    Runner.run_sync(triage, "hi", run_config=config)
    assert spanish.model.requests[0].messages[1].text == "hi"


@pytest.mark.parametrize("whose", ["handoff", "run"])
def test_what_was_said_is_one_text_for_who_takes_the_run(whose: str) -> None:
    config = RunConfig(nest_handoff_history=whose == "run")
    triage, spanish = pair(nest_handoff_history=whose == "handoff")
    Runner.run_sync(triage, "hi", run_config=config)
    [told] = spanish.model.requests[0].messages[1:]
    lines = told.text.splitlines()
    assert lines[1:3] == ["<CONVERSATION HISTORY>", "1. user: hi"] and len(lines) == 8
    assert json.loads(lines[-2].removeprefix("5. "))["type"] == "function_call_output"


def test_a_history_may_be_told_by_a_function() -> None:
    data = HandoffInputData("hi", (), ())
    made = nest_handoff_history(data, history_mapper=lambda items: [*items, *items])
    assert made.input_history == ({"content": "hi", "role": "user"},) * 2
    said = MessageOutputItem(None, {"role": "assistant", "content": "a\nb"})
    [first, second] = nest_handoff_history(data.clone(new_items=(said,))).input_history
    assert "1. user: hi" in first["content"] and second["content"] == "a\nb"
    assert "\\n" in default_handoff_history_mapper([said.raw_item])[0]["content"]


def test_hooks_and_configuration_of_the_run_hold_for_whoever_has_it() -> None:
    told: list[str] = []

    class Mine(RunHooks):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            told.append(f"start {agent.name}")

        async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
            told.append(f"{from_agent.name} -> {to_agent.name}")

        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            told.append(f"end {agent.name}: {output}")

    class Its(AgentHooks):
        async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
            told.append(f"{agent.name} from {source.name}")

    triage, _ = pair()
    triage.hooks = Its()  # as there, who gives the run away is told
    model = Scripted([call("transfer_to_spanish_agent", {}, "c1"), "si"])
    Runner.run_sync(triage, "hi", hooks=Mine(), run_config=RunConfig(model=model))
    assert told == [
        "start Triage", "Triage -> Spanish Agent", "Spanish Agent from Triage",
        "start Spanish Agent", "end Spanish Agent: si",
    ]  # fmt: skip
    assert len(model.requests) == 2


def test_a_stream_tells_who_has_the_run() -> None:
    triage, spanish = pair()
    result = Runner.run_streamed(triage, "hi")

    async def read() -> list[Any]:
        return [event async for event in result.stream_events()]

    events = asyncio.run(read())
    agents = [event.new_agent for event in events if event.type == "agent_updated_stream_event"]
    assert agents == [triage, spanish] and result.last_agent is spanish
    names = [event.name for event in events if event.type == "run_item_stream_event"]
    assert names[2:4] == ["handoff_requested", "handoff_occured"]


def test_a_session_keeps_a_conversation_that_changed_hands() -> None:
    session = SQLiteSession("ada")
    triage, spanish = pair()
    Runner.run_sync(triage, "hi", session=session)
    assert len(asyncio.run(session.get_items())) == 6
    spanish.model = Scripted(["sí"])
    Runner.run_sync(spanish, "¿otra vez?", session=session)
    assert len(spanish.model.requests[0].messages) == 8


def test_what_would_not_be_honoured_is_refused() -> None:
    agent = Agent("a")
    with pytest.raises(TypeError, match="'filter'"):
        handoff(agent, filter=None)
    made = handoff(agent)
    assert (made.agent_name, made.tool_name) == ("a", "transfer_to_a")
    assert made.tool_description.startswith("Handoff to the a agent")
    assert made.input_json_schema["properties"] == {}


def test_a_filter_sees_what_the_input_told_and_hands_it_on() -> None:
    seen: list[HandoffInputData] = []

    def look(data: HandoffInputData) -> HandoffInputData:
        seen.append(data)
        return data.clone(new_items=())

    told = {"role": "system", "content": "Today is Monday."}
    asks = [function_call("look_up", {}, call_id="1")]
    asks += [function_call("transfer_to_two", {}, call_id="2")]
    two = ScriptedModel([[assistant_message("Monday.")]])

    @function_tool
    def look_up() -> str:
        """Look it up."""
        return "a day"

    one = Agent(
        "One",
        tools=[look_up],
        model=ScriptedModel([[each] for each in asks]),
        handoffs=[handoff(Agent("Two", model=two), input_filter=look)],
    )
    Runner.run_sync(one, [told, {"role": "user", "content": "Which day?"}])
    assert (len(seen[0].input_history), len(seen[0].pre_handoff_items)) == (2, 2)
    assert two.calls[0].input[0] == told


def test_what_a_filter_leaves_out_is_not_in_the_input_of_a_further_run() -> None:
    @function_tool
    def look_up() -> str:
        """Look up."""
        return "a day"

    one = Agent(
        "One",
        tools=[look_up],
        model=Scripted([call("look_up"), call("transfer_to_two")]),
        handoffs=[
            handoff(Agent("Two", model=Scripted(["Tuesday"])), input_filter=remove_all_tools)
        ],
    )
    result = Runner.run_sync(one, "Which day?")
    assert [item.get("type", item.get("role")) for item in result.to_input_list()] == [
        "user",
        "message",
    ]
    assert result.to_input_list()[0]["content"] == "Which day?"


def test_without_tools_what_was_said_is_left() -> None:
    call = ToolCall("c1", "look", "{}")
    reply = AssistantMessage("I look", (call,), reasoning=(Reasoning("hm"),))
    items = tuple(to_items(None, reply) + to_items(None, ToolMessage("seen", "c1", "look")))
    history = ({"role": "user", "content": "hi"}, {"type": "function_call", "call_id": "c0"})
    data = remove_all_tools(HandoffInputData(history, items, items))
    assert data.input_history == history[:1]
    assert [item.type for item in (*data.pre_handoff_items, *data.new_items)] == [
        "message_output_item", "message_output_item",
    ]  # fmt: skip
    assert remove_all_tools(HandoffInputData("hi", (), ())).input_history == "hi"


@pytest.mark.parametrize("given", [{"input_type": BaseModel}, {}])
def test_who_is_told_of_a_handoff_must_take_what_it_is_told(given: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match="on_handoff"):
        handoff(Agent(name="b"), on_handoff=lambda: None, **given)


def test_a_filter_sees_earlier_handoffs_as_what_they_were() -> None:
    seen: list[str] = []

    def look(data: HandoffInputData) -> HandoffInputData:
        seen.extend(type(item).__name__ for item in (*data.pre_handoff_items, *data.new_items))
        return data

    def going(name: str, *more: Any) -> Agent[Any]:
        steps = [[function_call(f"transfer_to_{one.agent.name}", {}, call_id=name)] for one in more]
        return Agent(name, model=ScriptedModel(steps), handoffs=list(more))

    last = Agent("last", model=ScriptedModel([[assistant_message("bye")]]))
    first = going("first", handoff(going("middle", handoff(last, input_filter=look))))
    assert Runner.run_sync(first, "go").final_output == "bye"
    assert seen == ["HandoffCallItem", "HandoffOutputItem"] * 2


def test_what_cannot_be_told_of_a_handoff_is_refused() -> None:
    with pytest.raises(SetupError, match="on_handoff"):
        handoff(Agent("clerk"), on_handoff="not a function")  # type: ignore[arg-type]


def test_a_handoff_says_what_its_call_gives() -> None:
    clerk = Agent("clerk")
    assert handoff(clerk).get_transfer_message(clerk) == '{"assistant": "clerk"}'
