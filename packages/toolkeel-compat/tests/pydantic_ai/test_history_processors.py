"""Functions that change the history before each request."""

from __future__ import annotations

import dataclasses
from typing import Any

from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import Agent, ModelRequest, ProcessHistory, RunContext


def make_agent(*processors: Any) -> tuple[Agent, Scripted]:
    model = Scripted([call("look"), "done", "again"])
    agent = Agent(
        model, instructions="Brief.", capabilities=[ProcessHistory(one) for one in processors]
    )
    agent.tool_plain(lambda: "seen", name="look", description="Look.")
    return agent, model


def roles(request: Any) -> list[str]:
    return [type(one).__name__.removesuffix("Message").lower() for one in request.messages]


def test_what_it_returns_is_sent_and_stays() -> None:
    agent, model = make_agent(lambda messages: messages[-2:])
    first = agent.run_sync("one")
    assert roles(model.requests[1]) == ["system", "assistant", "tool"]
    assert [one.kind for one in first.all_messages()] == ["response", "request", "response"]
    second = agent.run_sync("two", message_history=first.all_messages())
    assert roles(model.requests[2]) == ["system", "assistant", "user"]
    assert [one.kind for one in second.new_messages()] == ["request", "response"]


def test_it_may_take_the_context_and_several_follow_each_other() -> None:
    seen: list[Any] = []

    async def note(ctx: RunContext[int], messages: list[Any]) -> list[Any]:
        seen.append((ctx.deps, len(messages)))
        return messages

    agent, model = make_agent(note, lambda messages: messages[-1:])
    agent.run_sync("one", deps=7)
    assert seen == [(7, 1), (7, 3)]
    assert roles(model.requests[1]) == ["system"]  # a result without its call is not sent


def test_earlier_versions_name_it_as_an_option() -> None:
    model = Scripted(["a"])
    agent = Agent(
        model, history_processors=[lambda ms: [ModelRequest.user_text_prompt("new"), *ms]]
    )
    result = agent.run_sync("old")
    assert [one.text for one in model.requests[0].messages] == ["new", "old"]
    assert len(result.new_messages()) == 2


def test_copies_of_messages_are_new_ones_too() -> None:
    agent, _ = make_agent(lambda messages: [dataclasses.replace(one) for one in messages])
    first = agent.run_sync("one")
    assert len(first.new_messages()) == 4
    second = agent.run_sync("two", message_history=first.all_messages())
    assert [one.kind for one in second.new_messages()] == ["request", "response"]
