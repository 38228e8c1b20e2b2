"""Stats count first tries, corrections and wrong fields as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from toolkeel import Agent, tool
from toolkeel._records.entries import CallEnded, ModelAsked, ModelFailed, ModelReplied
from toolkeel.messages import AssistantMessage, ToolMessage, Usage
from toolkeel.observe.stats import percentile, stats_of
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

KINDS = (None, "invalid_arguments", "malformed_arguments", "crashed", "refused", "denied")


@tool
def add(a: int, b: Annotated[list[int], Field(max_length=3)]) -> int:
    """Add."""
    return a + sum(b)


def test_a_wrong_call_that_is_mended_is_counted_once_as_each(tmp_path: Path) -> None:
    lines = [
        [call("add", {"a": 1, "b": [2]}), call("add", {"a": "x", "b": ["y", 2]})],
        [call("add", {"a": 1, "b": ["z"]})],
        [call("add", {"a": 1, "b": [3]})],
        "4",
    ]
    sessions = Sessions(tmp_path / "talk.db")
    agent = Agent(Scripted(lines, name="play"), [add])
    agent.run_sync("Add.", session=sessions["ada"])
    entries = [(each.at, each.entry) for each in sessions["ada"].entries()]
    stats = stats_of(entries)
    found = stats.tools["add"]
    assert (found.calls, found.first, found.first_valid) == (4, 2, 1)
    assert (found.refused, found.corrected, found.turns) == (2, 1, 2)
    assert (found.first_try, found.correction) == (0.5, 0.5)
    assert found.fields == {"a": 1, "b.[]": 2}
    assert found.kinds == {"invalid_arguments": 2}
    median = found.rank(0.5)
    assert median is not None and median >= 0
    model = stats.models["play"]
    assert (model.requests, model.calls, model.refused) == (4, 4, 2)
    assert model.validity == 0.5
    sessions.close()


@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(KINDS)), max_size=30))
def test_counts_add_up_whatever_happened(ends: list[tuple[str, str | None]]) -> None:
    entries = [
        (
            float(turn),
            CallEnded("r", turn, 0, ToolMessage("", "", name, "error", kind)),  # type: ignore[arg-type]
        )
        for turn, (name, kind) in enumerate(ends, 1)
    ]
    stats = stats_of(entries)
    assert sum(each.calls for each in stats.tools.values()) == len(ends)
    for each in stats.tools.values():
        assert each.corrected <= each.refused <= each.calls
        assert each.first_valid <= each.first <= each.calls


def test_a_call_of_a_tool_that_is_none_is_no_first_try_that_was_right() -> None:
    ended = CallEnded("r", 1, 0, ToolMessage("", "", "tpyo", "error", "unknown_tool"))
    stats = stats_of([(0.0, ModelAsked("r", 1, "m")), (1.0, ended)])
    assert stats.tools["tpyo"].first_try == 0
    assert stats.models["m"].validity == 0


def test_failed_requests_belong_to_the_model_that_was_asked() -> None:
    stats = stats_of([(0.0, ModelAsked("r", 1, "m")), (1.0, ModelFailed("r", 1, 1, "down"))])
    assert stats.models["m"].failures == 1
    assert stats.models["m"].validity is None


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.95, 4.0), (0.25, 1.0), (1.0, 4.0)])
def test_ranks_are_the_nearest(share: float, value: float) -> None:
    assert percentile([4.0, 3.0, 2.0, 1.0], share) == value


def test_what_a_model_cost_is_told_where_its_price_is_known() -> None:
    def told(name: str) -> float | None:
        reply = AssistantMessage("ok", model=name, usage=Usage(1, 1000, 100))
        return stats_of([(0.0, ModelReplied("r", 1, reply))]).models[name].cost

    assert told("house-model") is None
    known = told("gpt-4o")
    assert known is not None and 0.0005 < known < 0.1
