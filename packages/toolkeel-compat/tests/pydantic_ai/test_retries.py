"""How often the model may correct calls of a tool, under the names of Pydantic AI."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import Agent, ModelRetry, RunContext, UnexpectedModelBehavior


def make_agent(fails: int, replies: int, own: int | None, **options: Any) -> tuple[Any, list[int]]:
    """An agent whose tool fails some times, and the numbers that its calls found."""
    agent: Any = Agent(Scripted([*[call("roll")] * replies, "done"]), **options)
    found: list[int] = []

    @agent.tool(retries=own)
    def roll(ctx: RunContext[None]) -> str:
        """Roll."""
        found.append(ctx.retry)
        if len(found) <= fails:
            raise ModelRetry("again")
        return "six"

    return agent, found


@pytest.mark.parametrize(("flags", "read"), [(False, '{"error":"again"}'), (True, "again")])
def test_a_failure_is_marked_where_the_wire_has_no_flag_for_it(flags: bool, read: str) -> None:
    agent, _ = make_agent(1, 2, None)
    agent.model.flags_failures = flags
    agent.run_sync("go")
    result = agent.model.requests[1].messages[-1]
    assert (result.text, result.failed) == (read, flags)


@pytest.mark.parametrize(
    ("own", "options", "allowed"),
    [
        (None, {}, 1),
        (4, {}, 4),
        (0, {}, 0),
        (None, {"retries": 2}, 2),
        (None, {"retries": {"tools": 3}}, 3),
        (1, {"retries": 5}, 1),
    ],
)
def test_a_tool_may_fail_as_often_as_its_retries_say(
    own: int | None, options: Any, allowed: int
) -> None:
    agent, found = make_agent(9, 9, own, **options)
    with pytest.raises(
        UnexpectedModelBehavior, match=f"'roll' exceeded max retries count of {allowed}"
    ):
        agent.run_sync("go")
    assert found == [*range(allowed + 1)]
    agent, found = make_agent(allowed, allowed + 1, own, **options)
    assert agent.run_sync("go").output == "done"


def test_a_success_begins_the_count_anew() -> None:
    agent, found = make_agent(1, 3, None)
    assert agent.run_sync("go").output == "done"
    assert found == [0, 1, 0]


def test_an_output_validator_knows_how_often_the_answer_was_wrong() -> None:
    agent, found = Agent(Scripted(["a", "b", "c"]), retries=2), []

    @agent.output_validator
    def check(ctx: RunContext[None], answer: str) -> str:
        found.append(ctx.retry)
        if answer != "c":
            raise ModelRetry("another")
        return answer

    assert agent.run_sync("go").output == "c"
    assert found == [0, 1, 2]


def test_arguments_of_another_type_and_unknown_tools_count() -> None:
    agent: Any = Agent(Scripted([call("add", {"n": "x"})] * 2))

    @agent.tool_plain
    def add(n: int) -> int:
        """Add."""
        return n

    with pytest.raises(UnexpectedModelBehavior, match="'add' exceeded"):
        agent.run_sync("go")
    with pytest.raises(UnexpectedModelBehavior, match="'other' exceeded"):
        Agent(Scripted([call("other")] * 2)).run_sync("go")


def test_the_cause_of_the_exception_is_what_the_tool_said_last() -> None:
    agent, _ = make_agent(9, 9, None)
    with pytest.raises(UnexpectedModelBehavior) as caught:
        agent.run_sync("go")
    assert isinstance(caught.value.__cause__, ModelRetry)
    assert caught.value.__cause__.message == "again"
