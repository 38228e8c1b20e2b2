"""Streamed runs: three kinds of events, and the whole result at the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openai.types.responses import ResponseTextDeltaEvent

from toolkeel.agent.run import Run
from toolkeel.model_interface import Finish, TextDelta
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    Runner,
    ScriptedModel,
    SQLiteSession,
    assistant_message,
    function_call,
    input_guardrail,
    tool,
)


@tool
def jokes() -> int:
    """How many jokes."""
    return 4


async def events_of(result: Any) -> list[Any]:
    return [event async for event in result.stream_events()]


def test_the_events_tell_who_runs_what_comes_and_what_is_whole() -> None:
    pieces = [TextDelta("He"), TextDelta("llo"), Finish("stop")]
    joker = Agent(name="Joker", tools=[jokes], model=Scripted([call("jokes", "{}", "c1"), pieces]))
    result = Runner.run_streamed(joker, input="Hi")
    assert not result.is_complete
    with pytest.raises(AttributeError, match="stream_events"):
        _ = result.interruptions
    events = asyncio.run(events_of(result))
    assert events[0].new_agent is joker
    whole = [e for e in events if e.type == "run_item_stream_event"]
    assert [e.name for e in whole] == ["tool_called", "tool_output", "message_output_created"]
    assert whole[0].item.raw_item.name == "jokes" and whole[1].item.output == 4
    raw = [e.data for e in events if e.type == "raw_response_event"]
    texts = [data for data in raw if isinstance(data, ResponseTextDeltaEvent)]
    assert "".join(data.delta for data in texts) == "Hello"
    assert [data.type for data in raw if data.type.endswith((".created", ".added", ".completed"))] == [
        "response.created", "response.completed",
        "response.created", "response.output_item.added", "response.content_part.added",
        "response.completed",
    ]  # fmt: skip
    called = [data for data in raw if data.type == "response.function_call_arguments.done"]
    assert [data.arguments for data in called] == ["{}"]
    assert (result.final_output, result.is_complete, result.current_turn) == ("Hello", True, 2)
    assert result.interruptions == []
    assert [i["type"] for i in result.to_input_list() if "type" in i][-1] in (
        "message", "function_call_output",
    )  # fmt: skip


def test_a_limit_ends_the_stream_as_it_ends_a_run() -> None:
    joker = Agent(tools=[jokes], model=Scripted([call("jokes", "{}", str(n)) for n in range(9)]))
    with pytest.raises(MaxTurnsExceeded):
        asyncio.run(events_of(Runner.run_streamed(joker, "Hi", max_turns=2)))


def test_a_run_that_is_cancelled_stops() -> None:
    async def main() -> int:
        result = Runner.run_streamed(
            Agent(tools=[jokes], model=Scripted([call("jokes", "{}", str(n)) for n in range(9)])),
            "Hi",
        )
        async for event in result.stream_events():
            if event.type == "run_item_stream_event":
                result.cancel()
        assert result.is_complete and result.final_output is None
        return len(result.new_items)

    assert asyncio.run(main()) == 1


def test_a_run_that_is_cancelled_after_its_turn_has_the_results_of_that_turn() -> None:
    @tool
    async def rest() -> str:
        """Rest."""
        await asyncio.sleep(0.05)
        return "rested"

    async def main() -> list[str]:
        steps = [[function_call("rest", {}, call_id="1")], [assistant_message("no")]]
        result = Runner.run_streamed(Agent(tools=[rest], model=ScriptedModel(steps)), "Hi")
        assert (result.input, result.max_turns) == ("Hi", 10)
        async for event in result.stream_events():
            if event.type == "run_item_stream_event":
                result.cancel(mode="after_turn")
        return [item.type for item in result.new_items]

    assert asyncio.run(main()) == ["tool_call_item", "tool_call_output_item"]


@pytest.mark.parametrize(("at", "items", "asked"), [(1, 2, 1), (2, 4, 2)])
def test_a_run_that_is_stopped_after_a_turn_asks_no_more(at: int, items: int, asked: int) -> None:
    steps = [[function_call("jokes", {}, call_id=f"c{n}")] for n in range(4)]
    model = ScriptedModel([*steps, [assistant_message("done")]])
    result = Runner.run_streamed(Agent("A", tools=[jokes], model=model), "go")

    async def read() -> None:
        seen = 0
        async for event in result.stream_events():
            if event.type == "run_item_stream_event" and event.name == "tool_output":
                seen += 1
                if seen == at:
                    result.cancel("after_turn")

    asyncio.run(read())
    assert (len(result.new_items), len(model.calls)) == (items, asked)
    assert result.is_complete and result.final_output is None


def test_a_scripted_model_tells_its_texts_and_calls_in_pieces() -> None:
    steps = [[function_call("jokes", {}, call_id="c1")], [assistant_message("done")]]
    result = Runner.run_streamed(Agent("A", tools=[jokes], model=ScriptedModel(steps)), "go")
    events = asyncio.run(events_of(result))
    raw = [e.data for e in events if e.type == "raw_response_event"]
    kinds = [data.type.removeprefix("response.") for data in raw]
    assert kinds == [
        "created", "in_progress", "output_item.added", "function_call_arguments.delta",
        "function_call_arguments.done", "output_item.done", "completed",
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    assert [data.text for data in raw if data.type == "response.output_text.done"] == ["done"]


def test_what_guardrails_said_is_there_when_one_has_ended_the_stream() -> None:
    @input_guardrail
    def no(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput("why", True)

    agent = Agent("A", model=Scripted(["never told"]), input_guardrails=[no])
    result = Runner.run_streamed(agent, "go")
    with pytest.raises(InputGuardrailTripwireTriggered):
        asyncio.run(events_of(result))
    [said] = result.input_guardrail_results
    assert (said.output.output_info, result.is_complete) == ("why", True)


class Unclosable(Run[Any]):
    """A run that has an exception when it is closed."""

    async def aclose(self) -> None:
        await super().aclose()
        raise OSError("closing")


def test_a_stream_that_cannot_be_closed_saves_what_the_run_has_done() -> None:
    memory = SQLiteSession("ada")
    steps = [[function_call("jokes", {}, call_id="c1")], [assistant_message("done")]]
    agent = Agent("A", tools=[jokes], model=ScriptedModel(steps))
    result = Runner.run_streamed(agent, "go", session=memory)

    async def read() -> list[Any]:
        events: Any = result.stream_events()
        async for event in events:
            if event.type == "run_item_stream_event" and event.name == "tool_output":
                break
        result._stream.__class__ = Unclosable
        with pytest.raises(OSError, match="closing"):
            await events.aclose()
        return await memory.get_items()

    assert [one.get("type") for one in asyncio.run(read())][-1] == "function_call_output"
