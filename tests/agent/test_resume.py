"""Saved runs within runs: where their decisions go."""

from __future__ import annotations

from time import time
from typing import Any

import pytest

from toolwright import RunState, SetupError, UserMessage
from toolwright.agent.resume import Resumed, inner_runs, resume
from toolwright.agent.saved import InnerRun
from toolwright.approval import Decision, Ticket, new_id
from toolwright.context import Run
from toolwright.errors import Suspend

KEY = b"secret"


def ticket(call_id: str = "c1", digest: str = "d") -> Ticket:
    return Ticket(new_id(), call_id, "pay", {}, digest, time() + 60)


def nested() -> tuple[RunState, Ticket, Ticket]:
    own, inside = ticket("c1"), ticket("c1")
    inner = InnerRun(RunState((UserMessage("x"),), (inside,)), Decision("", "outer", "approve"))
    return RunState((UserMessage("y"),), (own, inside), {"c2": inner}), own, inside


def test_a_decision_reaches_its_own_run_though_another_has_the_same_call() -> None:
    state, own, inside = nested()
    run: Run[Any] = Run()
    resume(run, state, [inside.deny(), own.approve()])
    assert run.decisions["c1", "d"][1].verdict == "approve"
    waiting = run.waiting["c2"]
    assert isinstance(waiting, Resumed)
    within: Run[Any] = Run()
    resume(within, waiting, ())
    assert within.decisions["c1", "d"][1].verdict == "deny"


def test_what_let_the_call_through_is_not_asked_again() -> None:
    state, _, _ = nested()
    run: Run[Any] = Run()
    resume(run, state, ())
    assert run.decisions["c2", "outer"][1].verdict == "approve"


def test_a_decision_for_no_ticket_at_any_depth_is_refused() -> None:
    state, own, _ = nested()
    with pytest.raises(SetupError, match="no ticket"):
        resume(Run(), state, [own.approve(), ticket().approve()])
    resume(Run(), state, [own.approve()])  # the first attempt has used nothing up
    with pytest.raises(SetupError, match="no ticket"):
        resume(Run(), "a prompt", [ticket().approve()])


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
    run: Run[Any] = Run()
    state = RunState((UserMessage("x"),), (ticket(),))
    run.waiting["c1"] = Resumed(state, {})
    waits = {"c1": Suspend(ticket()), "c2": Suspend(ticket(), inner=state)}
    found = inner_runs(run, waits)
    assert found["c1"].state.pending == () and found["c2"].state is state
