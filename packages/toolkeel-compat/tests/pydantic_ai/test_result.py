"""Results have the output, the messages and the usage."""

from __future__ import annotations

import asyncio

import pytest

from toolkeel.model_interface import CallDelta, Finish, TextDelta
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import Agent, ModelRetry, UsageLimitExceeded, UsageLimits


def test_a_transcript_is_the_history_of_the_next_run() -> None:
    model = Scripted(["one", "two"])
    agent = Agent(model)
    first = agent.run_sync("hi")
    second = agent.run_sync("and?", message_history=first.all_messages())
    assert [one.text for one in model.requests[1].messages] == ["hi", "one", "and?"]
    assert [one.parts[0].content for one in second.new_messages()] == ["and?", "two"]
    assert second.usage.requests == second.usage().requests == 1


def test_a_limit_ends_the_run_as_an_exception() -> None:
    agent = Agent(Scripted([call("look", {}), "done"]))
    agent.tool_plain(lambda: "x", name="look")
    with pytest.raises(UsageLimitExceeded):
        agent.run_sync("go", usage_limits=UsageLimits(request_limit=1))


def test_a_text_is_streamed_whole_or_in_pieces() -> None:
    async def read(delta: bool) -> list[str]:
        async with Agent("test").run_stream("go") as result:
            texts = [text async for text in result.stream_text(delta=delta)]
            assert result.is_complete and result.usage.requests == 1
            assert await result.get_output() == "success (no tool calls)"
            return texts

    assert "".join(asyncio.run(read(True))) == "success (no tool calls)"
    assert asyncio.run(read(False))[-1] == "success (no tool calls)"


def test_an_output_of_a_type_is_streamed_at_last_whole() -> None:
    async def read() -> list[object]:
        agent = Agent(Scripted([call("final_result", {"response": [1, 2]})]), output_type=list[int])
        async with agent.run_stream("go") as result:
            return [one async for one in result.stream_output()]

    assert asyncio.run(read())[-1] == [1, 2]


def test_a_text_beside_calls_is_the_output_of_a_streamed_run() -> None:
    called: list[str] = []
    deltas = [TextDelta("Let me look."), CallDelta(0, "c", "look", "{}"), Finish("tool_calls")]

    async def read() -> tuple[list[str], str, list[str], int]:
        agent = Agent(Scripted([deltas, "more"]))
        agent.tool_plain(lambda: called.append("look") or "seen", name="look")
        async with agent.run_stream("go") as result:
            texts = [text async for text in result.stream_text()]
            output = await result.get_output()
            said = [one.parts[0].content for one in result.all_messages()]
            return texts, output, said, result.usage.requests

    texts, output, said, requests = asyncio.run(read())
    assert texts[-1] == output == "Let me look." and called == ["look"]
    assert said == ["go", "Let me look.", "seen"] and requests == 1


def test_a_rejected_text_beside_calls_is_answered_anew() -> None:
    deltas = [TextDelta("Let me look."), CallDelta(0, "c", "look", "{}"), Finish("tool_calls")]
    agent = Agent(Scripted([deltas, "It is seen."]))
    agent.tool_plain(lambda: "seen", name="look")

    @agent.output_validator
    def check(text: str) -> str:
        if "look" in text:
            raise ModelRetry("say what you saw")
        return text

    async def read() -> tuple[str, str]:
        async with agent.run_stream("go") as result:
            return await result.get_output(), agent.model.requests[1].messages[-1].text

    output, told = asyncio.run(read())
    assert output == "It is seen." and "say what you saw" in told
