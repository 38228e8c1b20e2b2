"""The waterfall shows what ran, how long, side by side, and cuts what was idle."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Decided,
    ModelAsked,
    ModelReplied,
    RunBegan,
    Waits,
)
from toolkeel._records.tickets import Ticket
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage
from toolkeel_studio.inspector.session_view import Story
from toolkeel_studio.inspector.timeline import build_timeline

TICKET = Ticket("t", "c", "rm", {}, "d", 2e9)


def story(*entries: tuple[float, object]) -> Story:
    made = Story()
    for seq, (at, entry) in enumerate(entries, 1):
        made.add(seq, at, entry)  # type: ignore[arg-type]
    return made


def parallel() -> Story:
    calls = tuple(ToolCall(id, "wait", "{}") for id in "ab")
    return story(
        (0.0, RunBegan("r")),
        (0.0, ModelAsked("r", 1, "m")),
        (1.0, ModelReplied("r", 1, AssistantMessage("", calls))),
        (1.0, CallIntended("r", 1, 0, "a", "wait")),
        (1.0, CallIntended("r", 1, 1, "b", "wait")),
        (2.0, CallEnded("r", 1, 0, ToolMessage("", "a", "wait", duration=1.0))),
        (3.0, CallEnded("r", 1, 1, ToolMessage("", "b", "wait", duration=2.0))),
    )


def test_parallel_calls_are_two_rows_over_each_other() -> None:
    line = build_timeline(parallel())
    assert [(row.name, row.seconds) for row in line.rows] == [
        ("m", 1.0),
        ("wait", 1.0),
        ("wait", 2.0),
    ]
    assert (line.seconds, line.lanes, line.gaps) == (3.0, 2, [])
    [[(what, left, width)]] = [row.bars for row in line.rows[2:]]
    assert (what, left, width) == ("runs", pytest.approx(100 / 3), pytest.approx(200 / 3))


def test_an_hour_of_waiting_does_not_flatten_a_second_of_work() -> None:
    line = build_timeline(
        story(
            (0.0, ModelAsked("r", 1, "m")),
            (0.5, ModelReplied("r", 1, AssistantMessage("", (ToolCall("c", "rm", "{}"),)))),
            (0.5, Waits("r", TICKET)),
            (3600.5, Decided("r", TICKET.approve(), "bob")),
            (3600.5, CallIntended("r", 1, 0, "c", "rm")),
            (3601.0, CallEnded("r", 1, 0, ToolMessage("", "c", "rm", duration=0.5))),
        )
    )
    [(_, idle)] = line.gaps
    assert idle == 3600.0
    [waits, runs] = line.rows[1].bars
    assert (waits[0], runs[0]) == ("waits", "runs")
    assert runs[2] > 45 and waits[2] < 3
    assert line.rows[1].seconds == 3600.5


def test_what_still_runs_grows_until_now() -> None:
    running = story((10.0, ModelAsked("r", 1, "m")))
    assert build_timeline(running, now=14.0).rows[0].seconds == 4.0
    assert build_timeline(Story()).rows == []


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e4)), min_size=1, max_size=8))
def test_bars_stay_on_the_axis_and_keep_their_order(times: list[tuple[float, float]]) -> None:
    entries: list[tuple[float, object]] = []
    for turn, (at, took) in enumerate(sorted(times), 1):
        entries.append((at, ModelAsked("r", turn, "m")))
        entries.append((at + took, ModelReplied("r", turn, AssistantMessage("x"))))
    line = build_timeline(story(*entries), now=2e6)
    lefts = [left for row in line.rows for _, left, _ in row.bars]
    assert lefts == sorted(lefts)
    for row in line.rows:
        for _, left, width in row.bars:
            assert -1e-6 <= left <= 100 + 1e-6 and width >= -1e-6 and left + width <= 100 + 1e-6


def many(n: int) -> Story:
    """A reply of many calls, each with a run within it or a question, and as many requests without a reply."""
    calls = tuple(ToolCall(f"c{i}", "wait", "{}") for i in range(n))
    asked = [Ticket(f"t{i}", f"c{i}", "wait", {}, "d", 2e9) for i in range(n)]
    return story(
        (0.0, RunBegan("r")),
        *((0.0, ModelAsked("r", turn, "m")) for turn in range(n)),
        (1.0, ModelReplied("r", n - 1, AssistantMessage("", calls))),
        *((1.0, Waits("r", ticket)) for ticket in asked),
        *((1.0, Decided("r", ticket.approve(), "bob")) for ticket in asked),
        *((1.0, RunBegan(f"i{i}", parent="r", call=f"r-1-{i}")) for i in range(n)),
        *((2.0 * i, CallIntended("r", n - 1, i, f"c{i}", "wait")) for i in range(n)),
        *((2.0, CallEnded("r", n - 1, i, ToolMessage("", f"c{i}", "wait", duration=1.0)))
          for i in range(n)),
    )  # fmt: skip


def test_what_a_session_of_many_entries_costs_grows_with_them_and_not_with_their_square() -> None:
    began = process_time()
    line = build_timeline(many(10_000))
    assert process_time() - began < 8  # a square of it takes minutes
    assert len(line.rows) == 20_000
    assert {row.status for row in line.rows if row.kind == "call"} == {"done"}
