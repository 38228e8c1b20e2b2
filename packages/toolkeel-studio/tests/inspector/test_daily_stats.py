"""Stats by day, and what the runs inside tools cost."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.shared import peer
from toolkeel import Agent, AssistantMessage, Usage, tool
from toolkeel._records.entries import CallEnded
from toolkeel.messages import ToolMessage
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.daily_stats import BARS, DailyStats, charts_of

NOON = datetime(2026, 11, 28, 12).timestamp()


@given(st.lists(st.tuples(st.integers(0, 1500), st.booleans()), min_size=1, max_size=30))
def test_every_call_is_in_one_period_and_no_chart_has_too_many(
    calls: list[tuple[int, bool]],
) -> None:
    counts = DailyStats()
    for days, failed in calls:
        kind = "timeout" if failed else None
        message = ToolMessage("", "1", "add", "error" if failed else "success", kind)
        counts.add(NOON + timedelta(days=days).total_seconds(), CallEnded("r", 1, 0, message))
    periods = counts.periods()
    assert sum(each.calls for each in periods) == len(calls) and len(periods) <= BARS
    assert sum(each.failed for each in periods) == sum(failed for _, failed in calls)
    steps = {b.start - a.start for a, b in pairwise(periods)}
    assert len(steps) <= 1
    [chart] = charts_of(periods)
    assert max(height for _, _, height, _ in chart.bars) == 100 and chart.total == len(calls)


def test_the_cost_of_an_agent_is_that_of_the_tools_it_is_inside_of() -> None:
    peer("genai_prices")

    def reply(text: str, tokens: int) -> AssistantMessage:
        return AssistantMessage(text, usage=Usage(input_tokens=tokens), model="gpt-4o")

    @tool
    def add(a: int) -> int:
        """Add."""
        return a

    inner = Agent(Scripted([call("add", {"a": 1}), reply("in", 2_000_000)]), [add], name="helper")
    outer = Agent(
        Scripted([call("helper", {"input": "?"}), reply("out", 1_000_000)]), [inner.as_tool()]
    )
    sessions = Sessions(":memory:")
    outer.run_sync("?", session=sessions["s"])
    counts = DailyStats()
    for each in sessions["s"].entries(0):
        counts.add(each.at, each.entry)
    assert counts.costs == {"helper": 5.0}
    [today] = counts.periods()
    assert (today.calls, today.tokens, today.cost) == (2, 3_000_000, 7.5)
