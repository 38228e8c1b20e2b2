"""Runs that a tool's body starts continue when the body runs again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from toolkeel import Agent, AssistantMessage, Effects, ToolMessage, tool
from toolkeel.messages import unanswered
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.runs import RunLimits, RunState
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Line, Scripted, call

Plan = Callable[[str, int], Line]
"""What a model says to a prompt after so many replies."""


class Planned(Scripted):
    """A model whose replies depend on the transcript alone, so that it goes on in any process."""

    def __init__(self, plan: Plan) -> None:
        super().__init__([])
        self._plan = plan

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        replies = sum(isinstance(each, AssistantMessage) for each in request.messages)
        last = request.messages[-1].text
        self._lines = iter([self._plan(request.messages[0].text, replies) or f"end: {last}"])
        async for delta in super().stream(request):
            yield delta


def desk(paid: list[str], form: str = "one by one", *, idempotent: bool = True) -> Agent[Any, str]:
    """An agent whose tool runs another agent twice, which pays twice each time."""

    @tool(effects=Effects(idempotent=False))
    async def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return f"paid {to}"

    def pays(prompt: str, replies: int) -> Line:
        return call("pay", {"to": f"{prompt} {replies}"}) if replies < 2 else f"done {prompt}"

    clerk = Agent(Planned(pays), [pay], name="clerk")

    async def one_by_one() -> str:
        """Research."""
        return " ".join([(await clerk.run(prompt)).output for prompt in ("ada", "bob")])

    async def together() -> str:
        """Research."""
        both = await asyncio.gather(clerk.run("ada"), clerk.run("bob"))
        return " ".join(each.output for each in both)

    def in_a_thread() -> str:
        """Research."""
        return " ".join(clerk.run_sync(prompt).output for prompt in ("ada", "bob"))

    body: Any = {"one by one": one_by_one, "together": together, "thread": in_a_thread}[form]
    research = tool(body, name="research", effects=Effects(idempotent=idempotent))
    return Agent(Planned(lambda _, n: call("research") if not n else ""), [research], name="desk")


FORMS = ("one by one", "together", "thread")
ALL = ["ada 0", "ada 1", "bob 0", "bob 1"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bound", range(1, 8))
def test_runs_of_a_body_that_a_shared_bound_stopped_continue_from_a_saved_state(
    form: str, bound: int
) -> None:
    paid, agent = list[str](), desk([])
    agent = desk(paid, form)
    result = agent.run_sync("go", limits=RunLimits(requests=bound))
    while result.reason == "limit":
        bound += 1
        state = RunState.from_json(result.state.to_json())
        assert not any(isinstance(each, ToolMessage) and each.failed for each in state.messages)
        result = agent.run_sync(state, limits=RunLimits(requests=bound))
    assert result.output == "end: done ada done bob"
    assert sorted(paid) == ALL and result.usage.requests == 8


@pytest.mark.parametrize("form", FORMS)
def test_runs_of_a_body_that_a_shared_bound_stopped_continue_in_a_session(
    form: str, tmp_path: Path
) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    for first in range(1, 8):
        paid, session, bound = list[str](), sessions[str(first)], first
        result = desk(paid, form).run_sync("go", session=session, limits=RunLimits(requests=bound))
        while result.reason == "limit":
            bound += 1
            limits = RunLimits(requests=bound)
            result = desk(paid, form).run_sync(None, session=session, limits=limits)
        assert result.output == "end: done ada done bob" and sorted(paid) == ALL
        assert session.usage.requests == 8 and session.pending == ()
    sessions.close()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bound", [2, 3, 4])
def test_a_body_that_must_not_run_twice_and_fails_at_a_shared_bound_has_an_unknown_outcome(
    form: str, bound: int
) -> None:
    paid = list[str]()
    agent = desk(paid, form, idempotent=False)
    session = Sessions(":memory:")["ada"]
    result = agent.run_sync("go", session=session, limits=RunLimits(requests=bound))
    assert (result.reason, unanswered(result.messages)[0].name) == ("limit", "research")
    result = agent.run_sync(None, session=session)
    assert result.reason == "waiting"
    [ticket] = session.pending
    assert ticket.tool == "research" and "did this happen?" in ticket.reason
    assert session.decide(ticket.approve()) is None
    result = agent.run_sync(None, session=session)
    assert (result.output, sorted(paid)) == ("end: done ada done bob", ALL)

    paid.clear()
    result = agent.run_sync("go", limits=RunLimits(requests=bound))
    [told] = [each for each in result.messages if isinstance(each, ToolMessage)]
    assert (result.reason, told.kind) == ("limit", "unknown_outcome")
    before = list(paid)
    end = agent.run_sync(RunState.from_json(result.state.to_json()))
    assert end.output == f"end: {told.text}" and paid == before


def test_a_body_that_may_not_run_again_reads_that_its_run_met_the_bound() -> None:
    seen: list[str] = []
    clerk = Agent(Planned(lambda _, n: call("look")), [tool("look")(_look)], name="clerk")

    @tool
    async def research() -> str:
        """Research."""
        seen.append((await clerk.run("go")).reason)
        return "partly"

    agent = Agent(Planned(lambda _, n: call("research") if not n else ""), [research])
    result = agent.run_sync("go", limits=RunLimits(requests=3))
    assert (result.reason, seen, result.messages[-1].text) == ("limit", ["limit"], "partly")
    assert agent.run_sync(result.state, limits=RunLimits(requests=9)).output == "end: partly"
    assert seen == ["limit"]


async def _look() -> str:
    """Look."""
    return "seen"


def test_a_run_with_another_prompt_or_agent_begins_anew() -> None:
    paid: list[str] = []
    result = desk(paid).run_sync("go", limits=RunLimits(requests=6))
    assert paid == ALL
    kept = [each for each in result.state.inner.values() if each.joined]
    assert [each.state.messages[0].text for each in kept] == ["ada", "bob"]
    before = len(paid)

    @tool(effects=Effects(idempotent=True))
    async def research() -> str:
        """Research."""
        other = Agent(Planned(lambda prompt, _: f"new {prompt}"), name="other")
        return (await other.run("ada")).output

    agent = Agent(Planned(lambda _, n: call("research") if not n else ""), [research], name="desk")
    end = agent.run_sync(result.state, limits=RunLimits(requests=20))
    assert end.output == "end: new ada" and len(paid) == before


def test_runs_of_one_prompt_are_found_again_in_their_order() -> None:
    said = iter(["first", "second", "third"])

    class Asked(Scripted):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
            self._lines = iter([next(said)])
            async for delta in super().stream(request):
                yield delta

    clerk = Agent(Asked([]), name="clerk")

    @tool(effects=Effects(idempotent=True))
    async def research() -> str:
        """Research."""
        return " ".join([(await clerk.run("go")).output for _ in range(3)])

    agent = Agent(Planned(lambda _, n: call("research") if not n else ""), [research])
    stopped = agent.run_sync("go", limits=RunLimits(requests=3))
    assert stopped.reason == "limit"
    end = agent.run_sync(stopped.state, limits=RunLimits(requests=9))
    assert end.output == "end: first second third" and end.usage.requests == 5


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("how", ["task", "time", "cancel"])
def test_a_body_that_is_stopped_while_its_run_asks_a_person_is_unfinished_unless_cancelled(
    how: str, idempotent: bool, kept: bool
) -> None:
    paid: list[int] = []

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        paid.append(1)
        return "paid"

    clerk = Agent(Planned(lambda _, n: call("pay") if not n else ""), [pay], name="clerk")

    @tool(effects=Effects(idempotent=idempotent))
    async def desk() -> str:
        """Ask."""
        return (await clerk.run("go")).output

    boss = Agent(Planned(lambda _, n: call("desk") if not n else ""), [desk], name="boss")
    given: Any = {"session": Sessions(":memory:")["ada"]} if kept else {}

    async def stop() -> Any:
        async def approver(ticket: object) -> bool:
            if how == "task":
                working.cancel()
            elif how == "time":  # as when its time is over
                run.context.scope.spending.reached_limit = "seconds: 99"
            if how != "task":
                run.cancel("enough")
            await asyncio.Event().wait()
            return True

        run: Any = boss.stream("go", approver=approver, timeout=99, **given)
        working = asyncio.create_task(run.run())
        await asyncio.wait([working])
        assert working.cancelled() == (how == "task")
        return run

    run = asyncio.run(stop())
    told = [each.kind for each in run.messages if isinstance(each, ToolMessage)]
    assert told == {"cancel": ["cancelled"]}.get(
        how, ["unknown_outcome"] if not (idempotent or kept) else []
    )
    state = None if kept else RunState.from_json(run.state.to_json())
    end = boss.run_sync(state, approver=lambda ticket: True, **given).output
    assert (end == "end: end: paid", len(paid)) == ((True, 1) if not told else (False, 0))
