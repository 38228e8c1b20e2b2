"""Pydantic AI's own tools run here, and ours run there: against the installed package."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from tests.shared import peer
from toolkeel import (
    Agent,
    RunContext,
    SetupError,
    ToolCall,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
)
from toolkeel import tool as our_tool
from toolkeel.testing.scripted import Scripted, call

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ai() -> Any:
    return peer("pydantic_ai")


@pytest.fixture(scope="module")
def bridge(ai: Any) -> Any:
    return peer("toolkeel.compat.bridges.pydantic_ai")


def answer(tool: Any, arguments: Any, run: RunContext[Any] | None = None) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("c1", tool.name, arguments)], run)
    return message


class Row(BaseModel):
    """A row, whose model makes more of the words than its schema says."""

    day: datetime.date
    word: str

    @field_validator("word")
    @classmethod
    def lower(cls, value: str) -> str:
        if value == "forbidden":
            raise ValueError("not this word")
        return value.lower()


def test_their_tools_of_every_kind_run_here(ai: Any, bridge: Any) -> None:
    def plain(word: str, times: int = 1) -> str:
        """Say a word.

        Args:
            word: Which.
        """
        return word * times

    async def later(word: str, *rest: str, times: int = 1) -> str:
        await asyncio.sleep(0)
        return word * times + "".join(rest)

    def typed(row: Row) -> str:
        assert isinstance(row, Row)
        return f"{row.day.year} {row.word}"

    ours = bridge.from_pydantic_ai(ai.Tool(plain))
    assert (ours.name, ours.description) == ("plain", "Say a word.")
    assert ours.parameters["properties"]["word"]["description"] == "Which."
    assert answer(ours, {"word": "茶", "times": 2}).content == "茶茶"
    assert answer(ours, {"word": 7}).kind == "invalid_arguments"
    ours = bridge.from_pydantic_ai(ai.Tool(later))
    assert answer(ours, {"word": "a", "rest": ["b", "c"]}).content == "abc"
    ours = bridge.from_pydantic_ai(ai.Tool(typed))
    assert answer(ours, {"day": "2026-01-02", "word": "TEA"}).content == "2026 tea"
    refused = answer(ours, {"day": "2026-01-02", "word": "forbidden"})
    assert refused.status == "error"
    assert "word" in refused.text


def test_their_context_retries_and_returns_come_along(ai: Any, bridge: Any) -> None:
    def act(ctx: Any, how: str) -> Any:
        """Act."""
        if how == "retry":
            raise ai.ModelRetry("try another")
        if how == "crash":
            raise RuntimeError("secret")
        if how == "return":
            return ai.ToolReturn(return_value="shown", metadata={"kept": 1})
        return f"{ctx.deps} {ctx.tool_name} {ctx.tool_call_id}"

    act.__annotations__ = {"ctx": ai.RunContext[Any], "how": str}
    ours = bridge.from_pydantic_ai(ai.Tool(act))
    assert list(ours.parameters["properties"]) == ["how"]
    assert answer(ours, {"how": "well"}, RunContext("me")).content == "me act c1"
    retried = answer(ours, {"how": "retry"})
    assert (retried.content, retried.kind) == ("try another", "tool_error")
    shown = answer(ours, {"how": "return"})
    assert (shown.content, shown.artifact) == ("shown", {"kept": 1})
    crashed = answer(ours, {"how": "crash"})
    assert crashed.kind == "crashed"
    assert "secret" not in crashed.text


def test_their_options_come_along_or_are_refused(ai: Any, bridge: Any) -> None:
    def act() -> str:
        """Act."""
        return "acted"

    made = ai.Tool(act, requires_approval=True, sequential=True, timeout=3, metadata={"a": 1})
    ours = bridge.from_pydantic_ai(made)
    assert (ours.sequential, ours.timeout, ours.metadata) == (True, 3, {"a": 1})
    assert answer(ours, {}).kind == "denied"
    with pytest.raises(SetupError, match="prepare="):
        bridge.from_pydantic_ai(ai.Tool(act, prepare=lambda ctx, tool_def: tool_def))
    with pytest.raises(SetupError, match="not a builtin_function_or_method"):
        bridge.from_pydantic_ai(len)


def test_their_agent_drives_our_tools(ai: Any, bridge: Any) -> None:
    @our_tool(response_format="content_and_artifact")
    def note(word: str, context: ToolContext[Any], times: int = 1) -> tuple[str, dict[str, int]]:
        """Note a word."""
        if times < 1:
            raise ToolError("at least once")
        return f"{word * times} {context.deps} {context.tool_call_id}", {"times": times}

    messages, function = peer("pydantic_ai.messages"), peer("pydantic_ai.models.function")
    wishes = [{"word": "a", "times": 0}, {"word": 7}, {"word": "a", "times": 2}]

    def reply(history: Any, info: Any) -> Any:
        [offered] = info.function_tools
        assert offered.parameters_json_schema["required"] == ["word"]
        asked = sum(isinstance(m, messages.ModelResponse) for m in history)
        if asked < len(wishes):
            part = messages.ToolCallPart("note", wishes[asked], f"c{asked}")
            return messages.ModelResponse([part])
        return messages.ModelResponse([messages.TextPart("done")])

    theirs = bridge.to_pydantic_ai(note)
    agent = ai.Agent(function.FunctionModel(reply), deps_type=str, tools=[theirs], retries=5)
    result = asyncio.run(agent.run("go", deps="me"))
    assert result.output == "done"
    parts = [part for message in result.all_messages() for part in message.parts]
    first, second, last = (p for p in parts if isinstance(p, messages.ToolReturnPart))
    assert (first.content, first.outcome) == ("at least once", "retried")
    assert "word: expected a string" in second.content
    assert (last.content, last.metadata) == ("aa me c2", {"times": 2})


def test_a_failure_the_model_cannot_mend_is_final_there(ai: Any, bridge: Any) -> None:
    @our_tool
    def crash() -> str:
        raise RuntimeError("secret")

    theirs = bridge.to_pydantic_ai(crash)
    context = ai.RunContext(deps=None, model=None, usage=peer("pydantic_ai.usage").RunUsage())
    with pytest.raises(peer("pydantic_ai.exceptions").ToolFailed) as failed:
        asyncio.run(theirs.function_schema.call({}, context))
    assert "secret" not in str(failed.value)


def test_a_tool_comes_back_from_there_as_it_went(bridge: Any) -> None:
    @our_tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    back = bridge.from_pydantic_ai(bridge.to_pydantic_ai(add))
    assert (back.name, back.description, back.parameters) == (
        add.name,
        add.description,
        add.parameters,
    )
    result = Agent(Scripted([call("add", {"a": 41}), "done"]), [back]).run_sync("go")
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == ["42"]
