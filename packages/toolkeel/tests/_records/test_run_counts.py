"""What a run has spent follows from its entries alone."""

from __future__ import annotations

from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Entry,
    ModelAsked,
    ModelReplied,
    RunBegan,
    Spent,
)
from toolkeel._records.run_counts import RunCounts
from toolkeel.messages import AssistantMessage, ToolMessage, Usage


def counted(*entries: Entry) -> RunCounts:
    made = RunCounts()
    made.open_calls = {}
    for entry in entries:
        made.spend(entry)
    return made


def test_a_run_counts_requests_tokens_calls_failures_and_cost() -> None:
    reply = AssistantMessage("x", usage=Usage(0, 7, 3))
    failed = ToolMessage("no", "c", "look", "error", "crashed")
    never = ToolMessage("no", "d", "pay", "error", "invalid_arguments")
    made = counted(
        RunBegan("r"),
        ModelAsked("r", 1),
        ModelReplied("r", 1, reply),
        CallIntended("r", 1, 0, "c", "look"),
        CallIntended("r", 1, 1, "d", "pay"),
        CallEnded("r", 1, 0, failed),
        CallEnded("r", 1, 1, never),
        Spent("r", 0.25),
    )
    assert made.counts["requests"] == 1 and made.counts["tokens"] == 10
    assert (made.counts["calls look"], made.counts["failures look"]) == (1, 1)
    assert "calls pay" not in made.counts and made.cost == 0.25


def test_the_next_run_counts_from_zero_and_the_session_goes_on() -> None:
    reply = AssistantMessage("x", usage=Usage(0, 7, 3))
    made = counted(RunBegan("r"), ModelReplied("r", 1, reply), RunBegan("s"))
    assert (made.run_usage, made.usage.total_tokens) == (Usage(), 10)
