"""Saved runs within runs: where their decisions go."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any

import pytest

from tests.agent.valid import problems
from toolkeel import (
    Agent,
    Effects,
    Rules,
    RunState,
    SetupError,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
    UserMessage,
    tool,
)
from toolkeel._records.tickets import Approver, Decision, Ticket, call_digest, new_id
from toolkeel.agent.resume import Resumed, collect_decisions, collect_inner_runs
from toolkeel.agent.resume import resume as resume_with
from toolkeel.agent.run_state import InnerRun
from toolkeel.call.batch import NO_LENDERS
from toolkeel.call.steps.approve import definition_of
from toolkeel.context import RunContext
from toolkeel.errors import Suspend
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

KEY = b"secret"


@tool(approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


DIGEST = call_digest("pay", definition_of(pay), {})


def resume(run: RunContext[Any], prompt: Any, decisions: Any, tools: Any = (pay,)) -> None:
    given = collect_decisions(prompt, decisions)
    state = prompt.state if isinstance(prompt, Resumed) else prompt
    if isinstance(state, RunState):
        known = Toolset(tools), NO_LENDERS
        resume_with(run, state, given, known, None, is_accepted=isinstance(prompt, Resumed))


def ticket(call_id: str = "c1", digest: str = DIGEST) -> Ticket:
    return Ticket(new_id(), call_id, "pay", {}, digest, time() + 60)


def nested() -> tuple[RunState, Ticket, Ticket]:
    own, inside = ticket("c1"), ticket("c1")
    inner = InnerRun(RunState((UserMessage("x"),), (inside,)), Decision("", "outer", "approve"))
    return RunState((UserMessage("y"),), (own, inside), {"c2": inner}), own, inside


def test_a_decision_reaches_its_own_run_though_another_has_the_same_call() -> None:
    state, own, inside = nested()
    run: RunContext[Any] = RunContext()
    resume(run, state, [inside.deny(), own.approve()])
    assert run.loop_state.decisions["c1", DIGEST][1].verdict == "approve"
    waiting = run.loop_state.inner_runs["c2"]
    assert isinstance(waiting, Resumed)
    within: RunContext[Any] = RunContext()
    within.scope.parent_id = run.id
    resume(within, waiting, ())
    assert within.loop_state.decisions["c1", DIGEST][1].verdict == "deny"


def test_what_let_the_call_through_is_not_asked_again() -> None:
    state, _, _ = nested()
    run: RunContext[Any] = RunContext()
    resume(run, state, ())
    assert run.loop_state.decisions["c2", "outer"][1].verdict == "approve"


def test_a_decision_for_no_ticket_at_any_depth_is_refused() -> None:
    state, own, _ = nested()
    with pytest.raises(SetupError, match="no ticket"):
        resume(RunContext(), state, [own.approve(), ticket().approve()])
    resume(RunContext(), state, [own.approve()])  # the first attempt has used nothing up
    with pytest.raises(SetupError, match="no ticket"):
        resume(RunContext(), "a prompt", [ticket().approve()])


def test_a_tool_that_is_gone_or_has_changed_is_refused_before_anything_is_used_up() -> None:
    @tool("pay", approval=True)
    def other(amount: int = 1) -> str:
        """Pay an amount."""
        return str(amount)

    state, own, _ = nested()
    for tools, problem in (((), "no such tool here"), ((other,), "has changed")):
        with pytest.raises(SetupError, match=problem) as refused:
            resume(RunContext(), state, [own.approve()], tools)
        assert "Nothing was used up" in str(refused.value)
    resume(RunContext(), state, [own.approve()])
    with pytest.raises(SetupError, match="used already"):
        resume(RunContext(), state, [own.approve()])


def test_inner_runs_are_saved_at_any_depth_and_read_back() -> None:
    state, _, _ = nested()
    deep = RunState((UserMessage("z"),), state.pending, {"c9": InnerRun(state)})
    back = RunState.from_json(deep.to_json(KEY), KEY)
    assert back == deep
    unsigned = RunState.from_json(deep.to_json())
    assert unsigned.inner["c9"].state.inner["c2"].decision is None


@pytest.mark.parametrize(
    "inner",
    ['{"c": 5}', '{"c": {}}', '{"c": {"state": {}}}', "[]", '{"c": {"state": {"messages": []}}}'],
)
def test_what_is_no_inner_run_is_refused(inner: str) -> None:
    text = f'{{"version": 1, "messages": [], "pending": [], "inner": {inner}}}'
    with pytest.raises(SetupError, match="not a saved run"):
        RunState.from_json(text)


def test_a_run_that_could_not_go_on_yet_waits_on() -> None:
    run: RunContext[Any] = RunContext()
    state = RunState((UserMessage("x"),), (ticket(),))
    run.loop_state.inner_runs["c1"] = Resumed(InnerRun(state), {})
    waits = {"c1": Suspend(ticket()), "c2": Suspend(ticket(), inner=state)}
    found = collect_inner_runs(run, waits)
    assert found["c1"].state.pending == () and found["c2"].state is state


def test_the_result_of_a_call_that_waited_stands_before_those_of_calls_behind_it() -> None:
    @tool
    def note() -> str:
        """Note."""
        return "noted"

    calls = [call("pay", id="a"), call("note", id="b"), call("pay", id="c"), call("note", id="d")]
    first = Agent(Scripted([calls]), [pay, note]).run_sync("go")
    assert [m.text for m in first.messages[2:]] == ["noted", "noted"]
    model = Scripted(["done"])
    decisions = [each.approve() for each in first.pending]
    state = RunState.from_json(first.state.to_json())
    second = Agent(model, [pay, note]).run_sync(state, decisions=decisions)
    for messages in (model.requests[0].messages, second.messages[:-1]):
        results = [(m.tool_call_id, m.text) for m in messages if isinstance(m, ToolMessage)]
        assert results == [("a", "paid"), ("b", "noted"), ("c", "paid"), ("d", "noted")]


def paying(ran: list[int], approval: Any, rules: Rules | None, *lines: Any) -> Agent:
    @tool(approval=approval)
    def pay(amount: int) -> str:
        """Pay an amount."""
        ran.append(amount)
        return "paid"

    return Agent(Scripted(lines), [pay], rules=rules)


ASKS: list[tuple[Any, Rules | None]] = [
    (True, None),
    (lambda arguments: True, None),
    (False, Rules(ask=["pay"])),
    (True, Rules(ask=["pay(amount=5)"], allow=["pay"])),
]
LOOSER: list[tuple[Any, Rules | None]] = [
    (False, None),
    (False, Rules(deny=["other*"])),
    (False, Rules(allow=["pay"])),
    (True, Rules(allow=["pay"])),
    (lambda arguments: True, Rules(allow=["pay(amount=5)"])),
]


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.parametrize("after", [*ASKS, *LOOSER])
@pytest.mark.parametrize("before", ASKS)
def test_a_call_that_waits_never_runs_unasked_because_the_rules_are_looser_now(
    before: tuple[Any, Rules | None], after: tuple[Any, Rules | None], in_session: bool
) -> None:
    ran: list[int] = []
    session = Sessions(":memory:")["ada"] if in_session else None
    first = paying(ran, *before, call("pay", {"amount": 5})).run_sync("go", session=session)
    [ticket] = first.pending
    prompt = None if in_session else first.state
    asked: list[Ticket] = []

    def approver(ticket: Ticket) -> bool:
        asked.append(ticket)
        return False

    second = paying(ran, *after, "done", "done")
    if after in LOOSER:
        with pytest.raises(
            SetupError, match="by the approval and rules given here it would run un"
        ):
            second.run_sync(prompt, session=session, approver=approver)
    else:
        assert second.run_sync(prompt, session=session, approver=approver).output == "done"
    assert ran == [] and len(asked) == (after not in LOOSER)
    if after in LOOSER:  # nothing was used up: a person decides, and it runs
        decided = second.run_sync(prompt, session=session, decisions=[ticket.approve()])
        assert (decided.output, ran) == ("done", [5])


async def stop(ticket: Ticket) -> bool:
    """The task of the run is cancelled while a person is asked."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.Event().wait()
    return True


def interrupt(ticket: Ticket) -> bool:
    raise KeyboardInterrupt


def leave(ticket: Ticket) -> bool:
    raise SystemExit(3)


@pytest.mark.parametrize("where", ["saved state", "session"])
@pytest.mark.parametrize("form", ["run", "agent as a tool"])
@pytest.mark.parametrize("end", [stop, interrupt, leave, None])
def test_what_a_person_was_asked_when_a_run_ended_is_asked_again(
    tmp_path: Path, end: Approver | None, form: str, where: str
) -> None:
    paid, asked = list[int](), list[str]()

    @tool(approval=True, effects=Effects(idempotent=False))
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    @tool
    def other() -> str:
        """Make a mistake of the program."""
        raise SetupError("mistake") if end is None and not paid else ToolError("no")

    calls = [call("pay", {"amount": 5}), *([call("other")] if end is None else [])]
    clerk = Agent(Scripted([calls, "paid"]), [pay, other], name="clerk")
    desk = Agent(Scripted([call("clerk", {"input": "go"}), "done"]), [clerk.as_tool()])
    agent = clerk if form == "run" else desk

    def run(prompt: Any, **options: Any) -> Any:
        if where == "session":
            with closing(Sessions(tmp_path / "talk.db")) as sessions:
                return agent.run_sync(prompt, session=sessions["ada"], **options)
        return agent.run_sync(prompt, **options)

    def agree(ticket: Ticket) -> bool:
        asked.append(ticket.id)
        return True

    ends = (asyncio.CancelledError, KeyboardInterrupt, SystemExit, SetupError)
    with pytest.raises(ends) as ended:
        run("go", approver=end)
    state = ended.value.run.state  # type: ignore[union-attr]
    [ticket] = state.pending
    saved = None if where == "session" else RunState.from_json(state.to_json())
    last = run(saved, approver=agree)
    assert (last.reason, paid, asked) == ("answered", [5], [ticket.id])
    assert problems(last.messages) == []


def test_the_state_of_a_session_that_waits_continues_its_inner_run_outside(tmp_path: Path) -> None:
    done = list[str]()

    @tool(effects=Effects(idempotent=False))
    def note() -> str:
        """Note."""
        done.append("noted")
        return "noted"

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        done.append("paid")
        return "paid"

    clerk = Agent(Scripted([call("note"), call("pay"), "paid"]), [note, pay], name="clerk")
    desk = Agent(Scripted([call("clerk", {"input": "go"}), "done"]), [clerk.as_tool()])
    with closing(Sessions(tmp_path / "talk.db")) as sessions:
        desk.run_sync("go", session=sessions["ada"])
        waiting = desk.run_sync(None, session=sessions["ada"])
    state = RunState.from_json(waiting.state.to_json())
    result = desk.run_sync(state, decisions=[state.pending[0].approve()])
    assert (result.output, done) == ("done", ["noted", "paid"])


@pytest.mark.parametrize("where", ["saved state", "session"])
@pytest.mark.parametrize("form", ["run", "agent as a tool"])
def test_a_cancel_ends_what_waits_beside_a_running_call_and_leaves_inner_runs_unfinished(
    tmp_path: Path, form: str, where: str
) -> None:
    paid = list[str]()

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        paid.append("paid")
        return "paid"

    @tool(sequential=True)
    async def slow(context: ToolContext) -> str:
        """Run until the run is cancelled."""
        context.run.cancel.cancel("enough")
        await asyncio.Event().wait()
        return "never"

    clerk = Agent(Scripted([call("pay"), "paid"]), [pay], name="clerk")
    first = call("pay") if form == "run" else call("clerk", {"input": "go"})
    agent = Agent(Scripted([[first, call("slow")], "done"]), [pay, clerk.as_tool(), slow])
    with closing(Sessions(tmp_path / "talk.db")) as sessions:
        given: Any = {"session": sessions["ada"]} if where == "session" else {}
        result = agent.run_sync("go", **given)
        assert (result.reason, result.pending) == ("cancelled", ())
        assert sessions["ada"].pending == ()
        saved = None if given else RunState.from_json(result.state.to_json())
        last = agent.run_sync(saved, approver=lambda ticket: True, **given)
    kinds = [each.kind for each in last.messages if isinstance(each, ToolMessage)]
    was_inner = form != "run"
    assert (kinds, paid) == (
        [None if was_inner else "cancelled", "cancelled"],
        ["paid"] * was_inner,
    )
    assert (last.output, problems(last.messages)) == ("done", [])
