"""Stats of lines of JSON are those of the session of the same runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Agent, AssistantMessage, Usage, tool
from toolkeel.observe import JsonLines
from toolkeel.observe.event_entries import entries_of_lines, read_event_file
from toolkeel.observe.stats import stats_of
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_lines_and_journal_of_the_same_runs_have_the_same_stats() -> None:
    usage = Usage(requests=1, input_tokens=20, output_tokens=3)
    inner = Agent(
        Scripted([call("add", {"a": 1, "b": 2}), "3"], name="small"), [add], name="helper"
    )
    replies = [
        call("helper", {"input": "1 + 2?"}),
        [call("add", {"a": "x"}), call("add", {"a": 1, "b": 1})],
        call("add", {"a": 2, "b": 2}),
        AssistantMessage("4", usage=usage, model="big-1"),
    ]
    agent = Agent(Scripted(replies, name="big"), [inner.as_tool(), add])
    sessions, lines = Sessions(":memory:"), io.StringIO()
    agent.run_sync("?", session=sessions["s"], listeners=[JsonLines(lines)])
    of_journal = stats_of((each.at, each.entry) for each in sessions["s"].entries())
    of_lines = stats_of(entries_of_lines(lines.getvalue().splitlines(keepends=True)))
    for stats in (of_journal, of_lines):
        for each in (*stats.models.values(), *stats.tools.values()):
            each.seconds.clear()  # the two are written at other moments
    assert of_lines == of_journal
    assert of_lines.tools["add"].corrected == 1 and of_lines.models["big-1"].usage == usage


def test_a_line_that_is_still_written_is_skipped_and_one_that_is_no_event_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "events.jsonl"
    with JsonLines(path) as lines:
        Agent(Scripted(["Hello."])).run_sync("Hi", listeners=[lines])
    whole = path.read_text("utf-8")
    path.write_text(whole[:-5], "utf-8")
    assert stats_of(read_event_file(path)).models["scripted"].requests == 1
    path.write_text(whole + '{"type": "replied"}\n', "utf-8")
    with pytest.raises(ValueError, match=r"events\.jsonl: line \d+ is not an event of a run"):
        list(read_event_file(path))


@given(st.text())
def test_any_text_is_entries_or_a_value_error(text: str) -> None:
    try:
        list(entries_of_lines(text.splitlines(keepends=True)))
    except ValueError as error:
        assert "is not an event" in str(error)
