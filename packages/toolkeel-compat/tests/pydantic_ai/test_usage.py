"""Usage adds up, and limits become those of the core."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import Agent, TestModel, UsageLimitExceeded
from toolkeel_compat.pydantic_ai.usage import RunUsage, UsageLimits


def test_usages_of_several_runs_add_up() -> None:
    total = RunUsage(1, 2, 3, 4)
    total.incr(RunUsage(1, 1, 1, 1))
    assert total == RunUsage(2, 3, 4, 5) and total.total_tokens == 9 and total() is total


def test_successful_calls_count_and_that_of_the_output_does_not() -> None:
    results = [
        ToolMessage("a", "1", "f"),
        ToolMessage("b", "2", "f", "error"),
        ToolMessage("Final result processed.", "3", "final_result"),
    ]
    assert RunUsage.from_core(Usage(2, 10, 5), results) == RunUsage(2, 1, 10, 5)


def test_limits_leave_what_is_not_used_yet() -> None:
    limits = UsageLimits(request_limit=5, total_tokens_limit=100)
    bounds = limits.to_core(RunUsage(requests=2, input_tokens=60))
    assert (bounds.requests, bounds.tokens) == (3, 40)
    assert UsageLimits(request_limit=None).to_core(None).tokens is None


def test_a_limit_that_is_reached_is_named_as_there() -> None:
    agent: Any = Agent(Scripted([call("again")] * 9), tools=[again])
    with pytest.raises(UsageLimitExceeded, match="would exceed the request_limit of 2"):
        agent.run_sync("go", usage=RunUsage(requests=1), usage_limits=UsageLimits(request_limit=2))
    with pytest.raises(UsageLimitExceeded, match="Exceeded the total_tokens_limit of 1 "):
        Agent(TestModel(), tools=[again]).run_sync(
            "go", usage_limits=UsageLimits(total_tokens_limit=1)
        )


def again() -> int:
    """Again."""
    return 1


def test_a_limit_that_is_not_honored_is_refused() -> None:
    with pytest.raises(TypeError):
        UsageLimits(cost_limit=3)  # type: ignore[call-arg]
    with pytest.raises(SetupError, match="request_limit"):
        UsageLimits(request_limit="3")  # type: ignore[arg-type]


def test_a_usage_is_shown_without_what_is_zero() -> None:
    assert repr(RunUsage(1, 0, 59, 7)) == "RunUsage(input_tokens=59, output_tokens=7, requests=1)"


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"output_tokens_limit": 4}, "Exceeded the output_tokens_limit of 4 (output_tokens=5)"),
        ({"input_tokens_limit": 9}, "Exceeded the input_tokens_limit of 9 (input_tokens=10)"),
        (
            {"tool_calls_limit": 1},
            "The next tool call(s) would exceed the tool_calls_limit of 1 (tool_calls=2).",
        ),
    ],
)
def test_a_limit_that_only_this_library_has_ends_the_run(limit: Any, text: str) -> None:
    one = AssistantMessage("", (ToolCall("a", "again"),), usage=Usage(1, 10, 5))
    two = AssistantMessage("", (ToolCall("b", "again"),), usage=Usage(1))
    agent: Any = Agent(Scripted([one, two, "done"]), tools=[again])
    with pytest.raises(UsageLimitExceeded) as caught:
        agent.run_sync("go", usage_limits=UsageLimits(**limit))
    assert str(caught.value) == text
    agent = Agent(Scripted([one, two, "done"]), tools=[again])
    limits = UsageLimits(output_tokens_limit=5, input_tokens_limit=10, tool_calls_limit=2)
    first = agent.run_sync("go", usage_limits=limits)
    agent.model = Scripted(["again"])
    agent.run_sync("more", message_history=first.all_messages(), usage_limits=limits)
