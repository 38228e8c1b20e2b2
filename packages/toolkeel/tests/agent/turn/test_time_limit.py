"""A run's time: bounded for all that runs within."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.agent.valid import problems
from toolkeel import Agent, Effects, tool
from toolkeel.agent.turn import time_limit
from toolkeel.approvals import Ticket
from toolkeel.runs import RunState
from toolkeel.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call


def test_time_bounds_what_runs_within_and_results_say_what_is_known() -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "never"

    clerk = Agent(Scripted([call("wait")]), [wait], name="clerk_agent")
    boss = Agent(Scripted([call("clerk_agent", {"input": "x"})]), [clerk.as_tool()])
    result = boss.run_sync("go", limits=RunLimits(seconds=0.05))
    assert (result.reason, result.limit) == ("limit", "seconds: 0.05")
    [inner] = result.state.inner.values()
    assert inner.state.messages[-1].kind == "cancelled"  # type: ignore[union-attr]
    assert problems(inner.state.messages) == []


def test_a_run_without_time_asks_nobody_and_runs_nothing() -> None:
    model = Scripted(["never asked"])
    result = Agent(model).run_sync("go", timeout=0)
    assert (result.reason, result.limit, result.usage.requests) == ("limit", "seconds: 0", 0)
    assert "NO_OUTPUT" in repr(result)


@pytest.mark.parametrize("where", ["saved state", "session"])
@pytest.mark.parametrize("form", ["run", "agent as a tool", "run in a body"])
def test_what_a_person_was_asked_at_the_end_of_the_time_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, where: str
) -> None:
    paid, asked, expire = list[int](), list[str](), list[Callable[[], None]]()

    class Clock:
        """Its time is over when the person is asked."""

        def get_running_loop(self) -> Any:
            return self

        def call_later(self, seconds: float, end: Callable[[], None]) -> Any:
            expire.append(end)
            return asyncio.get_running_loop().call_soon(bool)

    monkeypatch.setattr(time_limit, "asyncio", Clock())

    @tool(approval=True, effects=Effects(idempotent=False))
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    async def hesitate(ticket: Ticket) -> bool:
        asked.append(ticket.id)
        expire.pop()()
        await asyncio.Event().wait()
        return True

    def agree(ticket: Ticket) -> bool:
        asked.append(ticket.id)
        return True

    clerk = Agent(Scripted([call("pay", {"amount": 5}), "paid"]), [pay], name="clerk")

    @tool(name="clerk", effects=Effects(idempotent=True))
    async def body(input: str) -> str:
        """Ask."""
        return (await clerk.run(input)).output

    within = clerk.as_tool() if form == "agent as a tool" else body
    desk = Agent(Scripted([call("clerk", {"input": "go"}), "done"]), [within])
    agent = clerk if form == "run" else desk

    def run(prompt: Any, **options: Any) -> Any:
        if where == "session":
            with closing(Sessions(tmp_path / "talk.db")) as sessions:
                return agent.run_sync(prompt, session=sessions["ada"], **options)
        return agent.run_sync(prompt, **options)

    first = run("go", limits=RunLimits(seconds=3600), approver=hesitate)
    assert (first.reason, len(first.pending)) == (
        ("limit", 0) if form == "run in a body" else ("waiting", 1)
    )
    saved = None if where == "session" else RunState.from_json(first.state.to_json())
    last = run(saved, approver=agree)
    assert (last.reason, paid, problems(last.messages)) == ("answered", [5], [])
    assert len(asked) == 2 and len(set(asked)) == 1
    assert [each.kind for each in last.messages if hasattr(each, "kind")] == [None]
