"""A tool sees its run."""

from __future__ import annotations

from typing import Any

from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import Agent, RunContext


def test_a_tool_sees_its_run_and_its_call() -> None:
    seen: list[Any] = []
    agent = Agent(Scripted([call("look", {}, "c1"), "done"]), deps_type=int, name="clerk")

    @agent.tool
    def look(ctx: RunContext[int]) -> str:
        """Look."""
        seen.append((ctx.deps, ctx.tool_name, ctx.tool_call_id, ctx.prompt, ctx.usage.requests))
        return f"{len(ctx.messages)} {ctx.agent.name} {ctx.tool_call_approved} {ctx.model.name}"

    agent.run_sync("go", deps=3)
    assert seen == [(3, "look", "c1", "go", 1)]


def test_a_context_without_an_annotation_is_found_by_its_place() -> None:
    agent = Agent(Scripted([call("look", {"word": "tea"}), "done"]))

    @agent.tool
    def look(ctx, word: str) -> str:  # type: ignore[no-untyped-def]
        """Look."""
        return f"{word} for {ctx.deps}"

    result = agent.run_sync("go", deps="Ada")
    assert result.all_messages()[-2].parts[0].content == "tea for Ada"
