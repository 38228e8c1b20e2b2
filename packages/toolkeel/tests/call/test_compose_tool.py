"""Registering a tool: what stands around its body, composed once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel import Prepared, Proceed, RunContext, SetupError, ToolCall, ToolContext, Toolset, tool
from toolkeel.call.steps.rules import Rules


class Noting:
    """A step that notes that it was passed."""

    def __init__(self, name: str, seen: list[str], **more: object) -> None:
        self.name, self.seen = name, seen
        self.__dict__.update(more)

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        self.seen.append(self.name)
        return await proceed(prepared)


@tool
def look(where: str = "here") -> str:
    """Look."""
    return where


def test_a_step_that_stands_at_no_place_there_is_is_refused_by_name() -> None:
    with pytest.raises(SetupError, match="nowhere"):
        Toolset([look], steps=[Noting("a", [], place="nowhere")])


def test_steps_run_from_the_outside_in_and_those_with_a_place_after_the_others() -> None:
    seen: list[str] = []
    steps = [Noting("limit", seen, place="limit"), Noting("outer", seen), Noting("inner", seen)]
    Toolset([look], steps=steps).run_sync([ToolCall("1", "look", "{}")])
    assert seen == ["outer", "inner", "limit"]


def test_a_set_used_within_a_run_stands_under_the_steps_and_rules_of_that_run() -> None:
    """But not twice, and not under what a call keeps to itself."""
    seen: list[str] = []
    shared = Noting("shared", seen)
    outer = Toolset(
        [look],
        steps=[shared, Noting("own", seen, inside=False), Noting("cache", seen, place="cache")],
        rules=Rules(deny=["look(where=there)"]),
    )
    run: RunContext[None] = RunContext()
    run.scope.toolset = outer
    inner = Toolset([look], steps=[shared])
    calls = [ToolCall("1", "look", "{}"), ToolCall("2", "look", '{"where": "there"}')]
    first, second = inner.run_sync(calls, run)
    assert (first.kind, second.kind) == (None, "denied")
    assert seen == ["shared", "shared"]
    assert inner.within(outer) is inner.within(outer) and outer.within(outer) is outer
    denied = asyncio.run(_invoke({"where": "there"}, run))
    assert "not allowed here" in denied


async def _invoke(arguments: dict[str, str], run: RunContext[None]) -> str:
    try:
        return str(await look.ainvoke(arguments, run))
    except Exception as error:
        return str(error)
