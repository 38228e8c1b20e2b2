"""What type checkers say of an agent's `deps`: each line that is wrong says so.

``# expect:`` stands where both mypy and basedpyright must find a mistake, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_type

from toolkeel import Agent, RunContext, ToolContext, tool
from toolkeel.messages import Message
from toolkeel.steps import Allow, Reject


@dataclass
class Shop:
    name: str


@dataclass
class Other:
    count: int


@tool
def who(greeting: str, context: ToolContext[Shop]) -> str:
    """Say who."""
    assert_type(context.deps, Shop)
    context.deps.count  # expect: a shop has none
    return f"{greeting} {context.deps.name}"


def told(run: RunContext[Shop]) -> str:
    assert_type(run.deps, Shop)
    return f"You are {run.deps.name}."


async def told_later(run: RunContext[Shop]) -> str:
    return run.deps.nme  # expect: misspelt


def polite(said: Sequence[Message], run: RunContext[Shop]) -> Allow | Reject:
    return Allow() if run.deps.name else Reject("closed")


# — an agent knows them by its instructions, its guardrails, or because it is told —

by_type = Agent("offline", [who], deps_type=Shop)
by_instructions = Agent("offline", [who], instructions=told)
by_guardrail = Agent("offline", [who], input_guardrails=[polite])
counting = Agent("offline", output_type=int, instructions=told_later)
anything = Agent("offline", [who])
assert_type(by_type, Agent[Shop])
assert_type(by_instructions, Agent[Shop, str])
assert_type(by_guardrail, Agent[Shop])
assert_type(counting, Agent[Shop, int])
Agent[Other]("offline", instructions=told)  # expect: instructions for others
Agent[Other]("offline", input_guardrails=[polite])  # expect: a guardrail for others
Agent("offline", instructions=told, deps_type=Other)  # expect: two kinds of deps


# — and wants them —


async def main() -> None:
    assert_type((await by_type.run("Hi", deps=Shop("a"))).output, str)
    assert_type((await counting.run("Hi", deps=Shop("a"))).output, int)
    assert_type((await counting.run("Hi", deps=Shop("a"), output_type=bytes)).output, bytes)
    await by_type.run("Hi", deps=Other(1))  # expect: others
    await counting.start("Hi", deps=Other(1))  # expect: others
    by_instructions.stream("Hi", deps="shop")  # expect: a text
    by_guardrail.run_sync("Hi", deps=Other(1))  # expect: others
    by_type.run_sync("Hi", deps=Other(1), output_type=int)  # expect: others
    anything.run_sync("Hi", deps=Other(1))  # nobody has said what they are
    by_type.as_tool(deps=lambda outer: Other(1))  # expect: makes others
    by_type.as_tool(deps=lambda outer: Shop("inner"))


def who_knows(agent: Agent[Shop]) -> None:
    agent.run_sync("Hi", deps=Shop("a"))


who_knows(by_instructions)
who_knows(Agent("offline", deps_type=Other))  # expect: an agent for others
