"""What a run's filter makes of each request."""

from __future__ import annotations

from typing import Any

from toolkeel.compat.openai_agents import (
    Agent,
    CallModelData,
    ModelInputData,
    RunConfig,
    Runner,
    function_tool,
)
from toolkeel.testing import Scripted, call


def test_a_request_holds_what_the_filter_leaves_and_the_transcript_all() -> None:
    @function_tool
    def look() -> str:
        """Look."""
        return "seen"

    seen: list[CallModelData[str]] = []

    async def last_two(data: CallModelData[str]) -> ModelInputData:
        seen.append(data)
        return ModelInputData(data.model_data.input[-2:], f"for {data.context}")

    model = Scripted([call("look"), "done"])
    agent = Agent("A", "Be kind.", [look], model)
    given: list[Any] = [{"role": "user", "content": str(n)} for n in range(4)]
    config = RunConfig(call_model_input_filter=last_two)
    result = Runner.run_sync(agent, given, context="Ada", run_config=config)
    told = [[message.text for message in request.messages] for request in model.requests]
    assert told == [["for Ada", "2", "3"], ["for Ada", "", "seen"]]
    assert seen[0].model_data.instructions == "Be kind." and seen[0].agent is agent
    assert len(result.to_input_list()) == 7
