"""A function answers for a `FunctionModel`."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from toolkeel.errors import SetupError
from toolkeel_compat.pydantic_ai import (
    Agent,
    AgentInfo,
    FunctionModel,
    ModelResponse,
    TextPart,
    ToolCallPart,
)


class Weather(BaseModel):
    city: str


def test_a_function_calls_tools_and_answers() -> None:
    def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
        assert info.instructions == "Be brief." and not info.allow_text_output
        [tool], [form] = info.function_tools, info.output_tools
        seen = any(part.part_kind == "tool-return" for one in messages for part in one.parts)
        return ModelResponse([ToolCallPart(form.name if seen else tool.name, {"city": "Oslo"})])

    agent = Agent(FunctionModel(answer), output_type=Weather, instructions="Be brief.")
    agent.tool_plain(lambda city: f"sunny in {city}", name="look")
    assert agent.run_sync("Weather?").output == Weather(city="Oslo")


def test_what_is_no_response_is_refused() -> None:
    plain = Agent(FunctionModel(lambda messages, info: ModelResponse([TextPart("hi")])))
    assert plain.run_sync("?").output == "hi"
    with pytest.raises(SetupError, match="no ModelResponse"):
        Agent(FunctionModel(lambda messages, info: "hi")).run_sync("?")
    with pytest.raises(SetupError, match=r"toolkeel\.Model"):
        FunctionModel(stream_function=print)
