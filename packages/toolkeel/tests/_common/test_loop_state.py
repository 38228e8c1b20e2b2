"""Parts of a run's context: an inner run has a state of its own within the scope of the outer one."""

from __future__ import annotations

from toolkeel._common.loop_state import RunScope
from toolkeel.context import RunContext


def test_a_scope_within_another_shares_limits_and_steps_and_is_one_deeper() -> None:
    outer: RunContext[None] = RunContext()
    outer.scope.step_state["step"] = 1
    inner = RunScope(outer)
    assert (inner.parent_id, inner.depth) == (outer.id, 1)
    assert inner.step_state is outer.scope.step_state and inner.deadline is None


def test_a_context_has_at_most_sixteen_slots() -> None:
    assert len(RunContext.__slots__) <= 16
