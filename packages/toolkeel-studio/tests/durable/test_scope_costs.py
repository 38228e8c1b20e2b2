"""What a scope may spend in a day: counted once, shared by workers, and told when it is used up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durable.working import working
from toolkeel import Agent
from toolkeel._records.entries import Queued, Spent
from toolkeel.messages import AssistantMessage, Usage, UserMessage
from toolkeel.sessions import Sessions
from toolkeel.spending import Price, RunLimits
from toolkeel.testing.scripted import Scripted
from toolkeel_studio.durable import Durable
from toolkeel_studio.durable.scope_costs import ScopeCosts, cost_of, with_cost_limit


def test_costs_of_a_scope_add_up_for_all_who_count_them(tmp_path: Path) -> None:
    one, other = (ScopeCosts(str(tmp_path / "talk.db"), 1.0) for _ in range(2))
    one.add("a", 0.25)
    other.add("a", 0.5)
    assert (one.left("a"), other.left("a"), one.left("")) == (0.25, 0.25, 1.0)
    one.close()
    other.close()


def test_a_run_gets_what_is_left_or_less_if_its_own_limit_is_lower() -> None:
    assert with_cost_limit({"deps": 1}, 2.0) == {"deps": 1, "limits": RunLimits(cost=2.0)}
    own = {"limits": RunLimits(cost=0.5, requests=3)}
    assert with_cost_limit(own, 2.0) == own


def test_what_was_spent_before_a_run_took_its_prompt_is_not_its_own() -> None:
    entries = [Spent("r", 1.0), Queued("r", "m", UserMessage("hi"), "mine"), Spent("r", 0.5)]
    assert cost_of(entries, "mine") == 0.5
    assert cost_of(entries, "another") == 1.5


@pytest.mark.slow
def test_a_scope_that_has_spent_its_limit_runs_no_more_today_and_others_do(tmp_path: Path) -> None:
    reply = AssistantMessage("done", usage=Usage(1, 1000, 1000))
    durable = Durable(
        Agent(Scripted([reply] * 5), name="clerk"),
        Sessions(tmp_path / "talk.db"),
        max_cost_per_scope=0.015,
        limits=RunLimits(prices={"scripted": Price(5.0, 5.0)}),  # $0.01 a run
    )
    with working(durable):
        ends = [durable.result(durable.start("hi", scope=scope), 20) for scope in "aaab"]
    assert [end.reason for end in ends] == ["answered", "answered", "failed", "answered"]
    assert "the scope 'a' has spent the $0.01 of today" in ends[2].error
    durable.close()
    durable.sessions.close()
