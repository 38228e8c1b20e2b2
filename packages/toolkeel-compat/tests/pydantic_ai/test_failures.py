"""What a model reads of its failed calls, beside the original's where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from pydantic import BaseModel

from tests.shared import peer
from toolkeel_compat.pydantic_ai import (
    Agent,
    FunctionModel,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturn,
)

OURS = {
    "pydantic_ai": "toolkeel_compat.pydantic_ai",
    "pydantic_ai.messages": "toolkeel_compat.pydantic_ai",
    "pydantic_ai.models.function": "toolkeel_compat.pydantic_ai",
}


class Box(BaseModel):
    width: int
    name: str


def reads(library: Any, replies: list[Any], output_type: Any = str) -> list[Any]:
    """What the model reads after each of its replies: a text, or the name and the arguments of a call."""
    ai, parts, models = map(library, OURS)
    seen, left = [], iter(replies)

    def answer(messages: list[Any], info: Any) -> Any:
        seen.append([one.content for one in messages[-1].parts])
        reply = next(left, None)
        if reply is None and info.output_tools:
            reply = "final_result", {"width": 1, "name": "b"}
        if reply is None or isinstance(reply, str):
            return parts.ModelResponse(parts=[parts.TextPart(reply or "done")])
        call = parts.ToolCallPart(*reply, tool_call_id="c")
        return parts.ModelResponse(parts=[call])

    agent: Any = ai.Agent(models.FunctionModel(answer), output_type=output_type, retries=3)

    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    def check(value: Any) -> Any:
        if value == "bad" or getattr(value, "width", 0) == 9:
            raise ai.ModelRetry("not so")
        return value

    agent.tool_plain(add)
    agent.output_validator(check)
    agent.run_sync("go")
    return seen[1:]


CASES: list[tuple[list[Any], Any]] = [
    ([("final_result", {"width": "x", "name": 3})], Box),
    ([("final_result", {"width": 2})], Box),
    ([("final_result", '{"width": ')], Box),
    ([("final_result", {"width": 9, "name": "b"})], Box),
    (["no call"], Box),
    ([("add", {"a": "x", "c": 3}), ("add", {}), ("add", {"a": 1})], str),
    ([("add", '{"a"')], str),
    ([("sub", {"a": 7})], str),
    (["bad"], str),
]


@pytest.mark.slow
@pytest.mark.parametrize(("replies", "output_type"), CASES, ids=repr)
def test_the_model_reads_what_it_reads_in_the_original(replies: Any, output_type: Any) -> None:
    peer("pydantic_ai")
    ours = reads(lambda name: importlib.import_module(OURS[name]), replies, output_type)
    assert ours == reads(importlib.import_module, replies, output_type)


def test_the_model_reads_pydantics_errors_and_an_unknown_name() -> None:
    replies = [("add", {"a": "x"}), ("sub", {}), ("add", {"a": 1})]
    problem, unknown, result = reads(lambda name: importlib.import_module(OURS[name]), replies)
    assert [(one["type"], one["loc"], one["input"]) for one in problem[0]] == [
        ("int_parsing", ["a"], "x")
    ]
    assert (unknown, result) == (["Unknown tool name: 'sub'. Available tools: 'add'"], [2])


def test_errors_are_pydantics_also_where_a_tool_beside_says_more() -> None:
    read: list[Any] = []

    def answer(messages: list[Any], info: Any) -> ModelResponse:
        read.append([one.content for one in messages[-1].parts])
        calls = [ToolCallPart("talk", {}), ToolCallPart("add", {"a": "x"})]
        return ModelResponse(calls if len(read) == 1 else [TextPart("done")])

    agent = Agent(FunctionModel(answer))
    agent.tool_plain(lambda: ToolReturn("said", content="more"), name="talk")

    @agent.tool_plain
    def add(a: int) -> int:
        """Add."""
        return a

    agent.run_sync("go")
    said, problems, more = read[1]
    assert (said, problems[0]["type"], more) == ("said", "int_parsing", "more")
